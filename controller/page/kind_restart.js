// The parts of a restart's page: the seconds of each directory, all measurements, and restarts of a real queue manager.
'use strict';

(() => {
  const {el, svg, format, model, restartCharts} = plimsoll;
  const {REDO, LOAD, wayOf, waysIn, distinct, seconds, withError, inSeconds, shortNumber, evenSteps, countTicks} =
      restartCharts;
  const known = Number.isFinite;

  const MODEL = 'The storage\u2019s share of a restart, in a model: not MQ\u2019s restart time.';
  const UNDO_HELP = 'uncommitted messages are backed out: the first page of each is read and written';
  // Bars have a logarithmic axis if the longest is more than so many times the shortest.
  const MOST_RATIO = 30;
  // Characters of a directory beside the name of a way; directories in the answer.
  const [SHORT, MOST_NAMED] = [17, 4];

  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
  // The median, and the range of all rounds below it.
  const median = (one) =>
      el('span', {}, seconds(one.median_seconds),
         one.rounds > 1 ? el('span', {class: 'more'}, seconds(one.min_seconds) + ' to ' + seconds(one.max_seconds)) :
                          null);
  // Directories with names that differ, and colours.
  const sidesOf = (restart) => {
    const seen = new Map();
    const names = restart.sides.map(({directory}) => {
      const number = (seen.get(directory) || 0) + 1;
      seen.set(directory, number);
      return (directory || 'directory') + (number > 1 ? ' (' + number + ')' : '');
    });
    const [cells, short] = [format.shortNames(names, plimsoll.CELL_NAME), format.shortNames(names, SHORT)];
    return restart.sides.map(
        (side, at) =>
            ({...side, number: at, name: names[at], cell: cells[at], short: short[at], color: model.color(at)}));
  };
  const fileSystem = (side) => [side.fs_type, side.fs_source].filter((part) => part).join(' from ');
  const sideMark = (side) =>
      el('span', {title: side.cell === side.name ? null : side.name},
         model.operationMark({name: side.cell, color: side.color}));

  const redoOf = (side, way, size) => side.redo.find((one) => one.way === way && one.message_size_bytes === size);
  const sizesOf = (sides) =>
      distinct(sides.flatMap((side) => [...side.redo, ...side.undo].map((one) => one.message_size_bytes)));
  const redoSizes = (sides) => distinct(sides.flatMap((side) => side.redo.map((one) => one.message_size_bytes)));
  const redoWays = (sides) => waysIn(REDO, sides.flatMap((side) => side.redo.map((one) => one.way)));
  const loadWays = (sides) => waysIn(LOAD, sides.flatMap((side) => side.load.map((one) => one.way)));
  const mostRecords = (sides) =>
      Math.max(0, ...sides.flatMap((side) => side.redo.flatMap((one) => one.points.map((point) => point.records))));

  // The answer: a row for each directory and message size. Of several depths the largest; of several numbers of
  // uncommitted messages the largest, too.
  const answerTable = (restart, sides) => {
    const sizes = sizesOf(sides);
    const depth = Math.max(0, ...sides.flatMap((side) => side.load.map((one) => one.depth)));
    const loads = loadWays(sides);
    const [undo] = sides.flatMap((side) => side.undo).sort((a, b) => b.uncommitted - a.uncommitted);
    const same = (one, size) => one.message_size_bytes === size && one.uncommitted === undo.uncommitted &&
        one.transactions === undo.transactions;
    const loadCell = (side, way) => {
      const found = side.load.find((one) => one.way === way && one.depth === depth);
      return found ? seconds(found.median_seconds) : format.DASH;
    };
    const undoCell = (side, size) => {
      const found = side.undo.find((one) => same(one, size));
      return found ? seconds(found.median_seconds) : format.DASH;
    };
    const redoCell = (side, way, size) => {
      const found = redoOf(side, way, size);
      return found ? withError(found.extended_seconds, found.extended_error_seconds) : format.DASH;
    };
    const ways = redoWays(sides);
    const caption = 'Seconds to read and apply ' + format.count(restart.extended_to_records) +
        ' log records, \u00b1 95 % confidence' +
        (loads.length > 0 ? '; LOAD: ' + format.plural(depth, 'message') + ' on each queue' : '') +
        (undo ? '; UNDO: ' + format.plural(undo.uncommitted, 'uncommitted message') + ' in ' +
                 format.plural(undo.transactions, 'transaction') :
                '');
    return plimsoll.table(
        caption,
        [
          {title: 'Directory', head: true}, ...(sizes.length > 1 ? [{title: 'Message size'}] : []),
          ...ways.map((way) => ({title: capital(wayOf(REDO, way).name) + ', s', help: wayOf(REDO, way).help})),
          ...loads.map((way) => ({title: 'LOAD, ' + wayOf(LOAD, way).name + ', s', help: wayOf(LOAD, way).help})),
          ...(undo ? [{title: 'UNDO, s', help: UNDO_HELP}] : []), {title: 'File system', text: true}
        ],
        sides.flatMap(
            (side) => (sizes.length > 0 ? sizes : [null])
                          .map(
                              (size, at) =>
                                  [sideMark(side), ...(sizes.length > 1 ? [format.size(size)] : []),
                                   ...ways.map((way) => redoCell(side, way, size)),
                                   // Loading, as the file system, does not depend on the size of messages.
                                   ...loads.map((way) => (at === 0 ? loadCell(side, way) : '')),
                                   ...(undo ? [undoCell(side, size)] : []),
                                   at === 0 ? fileSystem(side) || format.DASH : ''])));
  };

  // The answer in a sentence, by the first of the ways.
  const answer = ({restart_time: restart}) => {
    const nothing = 'In a model, not MQ\u2019s restart time: too few complete measurements to fit a line.';
    if (!restart) return nothing;
    const sides = sidesOf(restart);
    const [way] = redoWays(sides);
    const [size] = redoSizes(sides);
    const found =
        sides.map((side) => [side, redoOf(side, way, size)])
            .filter(([, redo]) => redo && known(redo.extended_seconds))
            .map(([side, redo]) => side.name + ' ' + inSeconds(redo.extended_seconds, redo.extended_error_seconds));
    if (found.length === 0) return nothing;
    const more = found.length - MOST_NAMED;
    return MODEL + ' ' + format.count(restart.extended_to_records) + ' log records of ' + format.size(size) +
        ' messages, ' + wayOf(REDO, way).name + ': ' + found.slice(0, MOST_NAMED).join(', ') +
        (more > 0 ? ' and ' + more + ' more.' : '.');
  };

  // A bar for each directory, message size and way, with its seconds; drawn as wide as its place.
  const bars = (restart, sides) => {
    const sizes = redoSizes(sides);
    const groups =
        sides
            .flatMap(
                (side) => sizes.map((size) => ({
                                      side,
                                      size,
                                      redo: redoWays(sides).map((way) => redoOf(side, way, size)).filter((one) => one),
                                    })))
            .filter((group) => group.redo.length > 0);
    const values = groups.flatMap(({redo}) => redo.map((one) => one.extended_seconds))
                       .filter((value) => known(value) && value > 0);
    if (values.length === 0) return null;
    const ends =
        groups.flatMap(({redo}) => redo.map((one) => one.extended_seconds + (one.extended_error_seconds || 0)));
    const most = Math.max(...values, ...ends.filter((end) => known(end)));
    const least = Math.min(...values);
    const log = Math.max(...values) / least > MOST_RATIO;
    const records = format.count(restart.extended_to_records);
    const place = el('div');
    const caption = 'Seconds to read and apply ' + records + ' log records, with 95 % confidence intervals. ' +
        (log ? 'The axis is logarithmic: a bar twice as long is far more than twice the time.' : '');

    const picture = (width) => {
      const [GUTTER, ROOM, BAR, GAP, HEAD] = [74, 112, 17, 4, 22];
      const from = log ? 10 ** Math.floor(Math.log10(least * 0.7)) : 0;
      const inner = Math.max(width - GUTTER - ROOM, 40);
      const share = (value) => (log ? Math.log(value / from) / Math.log(most / from) : value / most);
      const x = (value) => GUTTER + inner * Math.min(Math.max(value > 0 ? share(value) : 0, 0), 1);
      const base = groups.reduce((sum, {redo}) => sum + HEAD + redo.length * (BAR + GAP) + 8, 0);
      const image =
          svg('svg', {
            viewBox: '0 0 ' + width + ' ' + (base + 22),
            width,
            height: base + 22,
            class: 'drill bars',
            role: 'img',
            'aria-labelledby': 'restart-bars-title restart-bars-text'
          },
              svg('title', {id: 'restart-bars-title'}, 'Seconds at ' + records + ' log records'),
              svg('desc', {id: 'restart-bars-text'}, 'The table above has the figures.'));
      const ticks = log ?
          [{v: from, label: shortNumber(from)}, ...plimsoll.logTicks(from, most, inner / 2.4, shortNumber)] :
          evenSteps(0, most, Math.max(2, Math.floor(inner / 70))).map((at) => ({v: at, label: shortNumber(at)}));
      for (const {v, label} of ticks) {
        const at = log && v === from ? GUTTER : x(v);
        image.append(
            svg('line', {x1: at, x2: at, y1: 4, y2: base, class: 'grid'}),
            svg('text', {x: at, y: base + 15, 'text-anchor': 'middle', class: 'row'}, label));
      }
      image.append(svg('text', {x: width - 2, y: base + 15, 'text-anchor': 'end', class: 'row'}, 'seconds'));
      let y = 0;
      const headings = groups.map(
          ({side, size}) => [side.fs_type, sizes.length > 1 ? format.size(size) + ' messages' : '']
                                .filter((one) => one)
                                .join(', '));
      // So many characters have room, roughly.
      const room = Math.floor(width / 7.6);
      const longest = Math.max(...headings.map((one) => one.length)) + 3;
      const names = format.shortNames(groups.map(({side}) => side.name), Math.max(room - longest, SHORT));
      groups.forEach(({side, redo}, number) => {
        const more = headings[number];
        image.append(
            svg('text', {x: 0, y: y + 15, class: 'host'},
                names[number] + (more !== '' && room - longest >= SHORT ? ' (' + more + ')' : '')));
        y += HEAD;
        for (const one of redo) {
          const value = one.extended_seconds;
          const error = one.extended_error_seconds;
          const group = svg(
              'g', {},
              svg('text', {x: GUTTER - 8, y: y + 13, 'text-anchor': 'end', class: 'row'}, wayOf(REDO, one.way).name));
          group.style.setProperty('--swatch', 'var(--' + side.color + ')');
          let end = GUTTER;
          if (known(value)) {
            end = x(value);
            group.append(
                svg('rect', {x: GUTTER, y, width: Math.max(end - GUTTER, 1), height: BAR, class: 'way-' + one.way}));
            if (error > 0) {
              const [left, right] = [x(value - error), x(value + error)];
              const middle = y + BAR / 2;
              group.append(svg('path', {
                d: 'M' + left + ' ' + middle + 'H' + right + 'M' + left + ' ' + (middle - 4) + 'v8M' + right + ' ' +
                    (middle - 4) + 'v8',
                class: 'error'
              }));
              end = right;
            }
          }
          group.append(svg('text', {x: end + 7, y: y + 13}, known(value) ? inSeconds(value, error) : 'not known'));
          image.append(group);
          y += BAR + GAP;
        }
        y += 8;
      });
      return image;
    };

    const show = (width) => place.replaceChildren(picture(width > 0 ? width : Math.max(place.clientWidth, 280)));
    let last = 0;
    window.addEventListener('resize', () => {
      if (window.innerWidth === last || document.documentElement.classList.contains('on-paper')) return;
      last = window.innerWidth;
      show(0);
    });
    return {
      element: el('figure', {class: 'drawing'}, el('figcaption', {}, caption), place),
      draw: () => show(0),
      restyle: () => {},
      fit: show
    };
  };

  // Rows of the chart for one size of messages: those of the measurements, of real restarts, and positions between
  // them.
  const chartRows = (restart, size, last) => {
    const rows = new Map();
    for (const one of restart.measurements) {
      if (one.message_size_bytes !== size) continue;
      const key = one.records + '/' + one.round;
      if (!rows.has(key)) rows.set(key, {x: one.records, round: one.round, seconds: new Map()});
      rows.get(key).seconds.set(one.side + '/' + one.way, one.seconds);
    }
    const real =
        restart.real.filter((one) => one.records > 0 && known(one.seconds)).map((one) => ({x: one.records, real: one}));
    // More than the chart would draw with dots.
    const between =
        Array.from({length: plimsoll.FEW_POINTS + 2}, (_, at) => ({x: at / (plimsoll.FEW_POINTS + 1) * last}));
    return [...between, ...rows.values(), ...real].sort((a, b) => a.x - b.x || (a.round || 0) - (b.round || 0));
  };

  // Seconds over log records, for one size of messages, of `several`: {element, chart}; null where there is nothing to
  // draw.
  const overRecords = (restart, sides, size, several) => {
    const measured =
        Math.max(0, ...restart.measurements.filter((one) => one.message_size_bytes === size).map((one) => one.records));
    const real = restart.real.filter((one) => one.records > 0 && known(one.seconds));
    const last = Math.max(measured, ...real.map((one) => one.records));
    if (last === 0) return null;
    const rows = chartRows(restart, size, last);
    const series = sides.flatMap((side) => side.redo.filter((one) => one.message_size_bytes === size).flatMap((one) => {
      const way = wayOf(REDO, one.way);
      const name = side.short + ', ' + way.name;
      const hasLine = known(one.slope_us) && known(one.intercept_us);
      const lineAt = (x) => {
        const at = (one.intercept_us + one.slope_us * x) / 1e6;
        return at > 0 ? at : null;
      };
      const key = side.number + '/' + one.way;
      const points = {
        name,
        values: rows.map((row) => (row.seconds && row.seconds.has(key) ? row.seconds.get(key) : null)),
        color: side.color,
        dash: way.dash,
        dots: 3,
        mark: way.mark,
        line: hasLine,
        help: side.name + ': ' + way.help
      };
      if (!hasLine) return [points];
      const line = {
        name: name + ', line',
        values: rows.map(({x}) => lineAt(x)),
        color: side.color,
        dash: way.dash,
        part: 'line'
      };
      return [points, line];
    }));
    if (real.length > 0) {
      series.push({
        name: 'real restarts',
        values: rows.map((row) => (row.real ? row.real.seconds : null)),
        color: 'ink',
        dots: 4,
        mark: 'diamond',
        help: 'Restarts of a queue manager, by its error log: not only the storage\u2019s share'
      });
    }
    const text = (x, row) => {
      const {round, real: one} = rows[row];
      return format.count(Math.round(x)) + ' records' + (round ? ', round ' + round : '') +
          (one ? ', restart of ' + (one.queue_manager || 'a queue manager') + ' at ' + beganAt(one) : '');
    };
    const measurements = new Set(rows.map((_, row) => row).filter((row) => rows[row].seconds || rows[row].real));
    const shown = new plimsoll.Range(0, last, (at) => format.count(Math.round(at)), last / 50);
    const chart = new plimsoll.Chart({
      name: 'Seconds by log records, messages of ' + format.size(size),
      x: rows.map((row) => row.x),
      range: shown,
      // Room for the last point.
      beyond: last / 50,
      xTitle: 'Log records since the last checkpoint',
      xText: text,
      xTicks: countTicks,
      series,
      tableRows: measurements,
      stops: measurements,
      height: 320,
      remark: 'Each point is a measurement.' +
          (series.some((one) => one.part) ? ' Lines: least squares over the measurements of a directory and way' +
                   (last > measured ? ', extrapolated beyond ' + format.count(measured) + ' records.' : '.') :
                                            ''),
      yTitle: 'Seconds to read and apply the log (REDO), by log records; messages of ' + format.size(size),
      yTick: shortNumber,
      yText: (value) => inSeconds(value),
    });
    const element =
        el('div', {}, several ? el('h3', {}, 'Messages of ' + format.size(size)) : null,
           el('div', {class: 'controls'}, shown.toolbar('records'), plimsoll.toggle('Log axis', false, (on) => {
             chart.setLog(on);
           })), chart.element);
    return {element, chart};
  };

  const loadTable = (sides) => plimsoll.table(
      'Seconds to read the metadata of all queues',
      [
        {title: 'Directory', head: true}, {title: 'Way', text: true}, {title: 'Messages on each queue'},
        {title: 'Rounds'}, {title: 'Median, s'}, {title: 'Min, s'}, {title: 'Max, s'},
        {title: 'Read', help: 'in one round, of all queues together'}, {title: 'Calls', help: 'of one round'}
      ],
      sides.flatMap(
          (side) => side.load.map(
              (one) =>
                  [sideMark(side), wayOf(LOAD, one.way).name, format.count(one.depth), format.count(one.rounds),
                   seconds(one.median_seconds), seconds(one.min_seconds), seconds(one.max_seconds),
                   format.amount(one.bytes), format.count(one.calls)])));

  // A row for each combination that was measured, with the seconds of each directory.
  const undoTable = (sides) => {
    const key = (one) => [one.message_size_bytes, one.uncommitted, one.transactions].join('/');
    const rows = new Map(sides.flatMap((side) => side.undo.map((one) => [key(one), one])));
    const cell = (side, row) => {
      const found = side.undo.find((one) => key(one) === row);
      return found ? median(found) : format.DASH;
    };
    return plimsoll.table(
        'Median seconds to back out all uncommitted messages, and the range of all rounds',
        [
          {title: 'Message size', head: true}, {title: 'Uncommitted'},
          {title: 'Transactions', help: 'each writes one record to the log'},
          ...sides.map((side) => ({title: side.short + ', s', help: side.name}))
        ],
        [...rows].map(
            ([row, one]) =>
                [format.size(one.message_size_bytes), format.count(one.uncommitted), format.count(one.transactions),
                 ...sides.map((side) => cell(side, row))]));
  };

  // Columns that name a line, and their cells; the size of messages where there are several.
  const lineColumns = (sides) => {
    const sizes = redoSizes(sides);
    const several = sizes.length > 1;
    return {
      // For captions.
      of: sizes.length === 1 ? '; messages of ' + format.size(sizes[0]) : '',
      heads:
          [{title: 'Directory', head: true}, {title: 'Way', text: true}, ...(several ? [{title: 'Message size'}] : [])],
      cells: (
          side,
          one) => [sideMark(side), wayOf(REDO, one.way).name, ...(several ? [format.size(one.message_size_bytes)] : [])]
    };
  };

  const pointTable = (sides) => {
    const {of, heads, cells} = lineColumns(sides);
    const rounds =
        distinct(sides.flatMap((side) => side.redo.flatMap((one) => one.points.map((point) => point.rounds))));
    const differ = rounds.length > 1;
    return plimsoll.table(
        'Seconds to read and apply the log' + (rounds.length === 1 ? ', ' + format.plural(rounds[0], 'round') : '') +
            of,
        [
          ...heads, {title: 'Records'}, ...(differ ? [{title: 'Rounds'}] : []), {title: 'Median, s'}, {title: 'Min, s'},
          {title: 'Max, s'}, {title: 'Log, s', help: 'median time of reading the log'},
          {title: 'Queues, s', help: 'median time of reading and writing queue files, with their flushes'}
        ],
        sides.flatMap(
            (side) => side.redo.flatMap(
                (one) => one.points.map(
                    (point) =>
                        [...cells(side, one), format.count(point.records),
                         ...(differ ? [format.count(point.rounds)] : []), seconds(point.median_seconds),
                         seconds(point.min_seconds), seconds(point.max_seconds), seconds(point.log_seconds),
                         seconds(point.queue_seconds)]))));
  };

  // Microseconds for a record are milliseconds for 1,000.
  const perThousand = ({slope_us: slope, slope_error_us: error}) =>
      (known(slope) ? withError(slope / 1e3, known(error) ? error / 1e3 : null) : format.DASH);

  const lineTable = (sides) => {
    const {of, heads, cells} = lineColumns(sides);
    return plimsoll.table(
        'Fitted lines, \u00b1 half the width of the 95 % confidence interval' + of,
        [
          ...heads, {title: 'Calls per record', help: 'calls to queue files for each log record'},
          {title: 'Seconds per 1,000 records', help: 'slope of the line'},
          {title: 'R\u00b2', help: 'share of the variance that the line explains; 1: all points are on it'}
        ],
        sides.flatMap(
            (side) => side.redo.map(
                (one) =>
                    [...cells(side, one), format.fixed(one.calls_per_record, 2), perThousand(one),
                     format.fixed(one.r_squared, 3)])));
  };

  const beganAt = ({begin_s: begin}) =>
      (known(begin) && Math.abs(begin) < 8e12 ? format.dateTime(new Date(begin * 1e3).toISOString()) : format.DASH);

  const realTable = (real) => plimsoll.table(
      'Restarts of a queue manager, by its error log: not only the storage\u2019s share',
      [
        {title: 'Queue manager', head: true}, {title: 'Began', text: true}, {title: 'Seconds'},
        {title: 'Records', help: 'log records that AMQ7229I counts'}, {title: 'Seconds per 1,000 records'},
        {title: 'Measured', text: true}
      ],
      real.map(
          (one) =>
              [one.queue_manager || format.DASH, beganAt(one), seconds(one.seconds),
               known(one.records) ? format.count(one.records) : format.DASH,
               one.records > 0 ? seconds(one.seconds / one.records * 1e3) : format.DASH,
               one.without_channel_initiator ? 'until AMQ8003I: no channel initiator' : 'until AMQ8024I']));

  const coldText = ({cold}) =>
      (cold === true      ? 'read from the storage' :
           cold === false ? 'NOT all from the storage: caches answered' :
                            'not known: the kernel has no counter for it');

  const assumptions = (restart, sides) => plimsoll.section(
      'restart-assumptions', 'Assumptions of the model',
      el('ul', {class: 'notes'}, restart.assumptions.map((text) => el('li', {}, text))),
      sides.length === 0 ? null : el('h3', {}, 'Where reads were served from'),
      el('ul', {class: 'notes'},
         sides.map((side) => el('li', {class: 'words'}, plimsoll.breakable(side.name), ': ', coldText(side)))));

  // What the figures rest on, as words beside them.
  const remarks = (restart, sides) => {
    const measured = mostRecords(sides);
    const extended = restart.extended_to_records;
    const hasLines = sides.some((side) => side.redo.some((one) => known(one.extended_seconds)));
    return [
      !hasLines && measured > 0 ?
          el('p', {class: 'remark'},
             'No line is fitted: it takes three measurements, of two numbers of log records at least.') :
          null,
      hasLines && extended > measured ?
          el('p', {class: 'remark'},
             'Measured up to ' + format.plural(measured, 'log record') + ', and extrapolated to ' +
                 format.count(extended) + ' by the fitted lines.') :
          null,
      ...sides.filter((side) => side.cold === false)
          .map((side) => el('p', {class: 'warning'}, side.name + ': ' + coldText(side)))
    ];
  };

  const sections = ({report: {restart_time: restart, plan}}) => {
    if (!restart) return null;
    const sides = sidesOf(restart);
    const picture = bars(restart, sides);
    const sizes = redoSizes(sides);
    const redo = sizes.map((size) => overRecords(restart, sides, size, sizes.length > 1)).filter((one) => one !== null);
    const used = restartCharts.overLogUsed(plan, sides);
    const load = restartCharts.overDepth(sides);
    const has = (member) => sides.some((side) => side[member].length > 0);
    const elements = [
      plimsoll.section(
          'restart', 'Seconds of each directory', el('p', {class: 'answer'}, el('strong', {}, MODEL)),
          ['redo', 'load', 'undo'].some(has) ? answerTable(restart, sides) :
                                               el('p', {class: 'nothing'}, 'No measurement is complete.'),
          remarks(restart, sides), picture === null ? null : picture.element),
      has('redo') ? plimsoll.section(
                        'restart-redo', 'Reading and applying the log (REDO)', redo.map((one) => one.element),
                        used === null ? null : used.element, lineTable(sides), pointTable(sides)) :
                    null,
      has('load') ?
          plimsoll.section(
              'restart-load', 'Loading the queues (LOAD)', load === null ? null : load.element, loadTable(sides)) :
          null,
      has('undo') ? plimsoll.section('restart-undo', 'Backing out messages (UNDO)', undoTable(sides)) : null,
      restart.real.length > 0 ?
          plimsoll.section('restart-real', 'Restarts of a real queue manager', realTable(restart.real)) :
          null,
      assumptions(restart, sides)
    ];
    return {
      elements: elements.filter((one) => one !== null),
      charts: [picture, ...redo.map((one) => one.chart), used && used.chart, load && load.chart].filter(
          (one) => one !== null)
    };
  };

  plimsoll.kinds.push({
    of: (report) => report.restart_time || (report.plan && report.plan.restart_time),
    title: 'Storage\u2019s share of a restart',
    sections,
    answer,
    sheet: ({report: {restart_time: restart}}) =>
        (restart ? el('div', {}, el('p', {}, MODEL), answerTable(restart, sidesOf(restart))) : null)
  });
})();
