// One block size: its figures with their intervals, seconds and distributions of the sides over one another.
'use strict';

plimsoll.compareDetail = (() => {
  const {el, svg, format, comparison: model} = plimsoll;

  // Ratios of an axis at the finest steps whose labels stay apart; 1 is always one of them. `at`: where a ratio lies.
  const ratioMarks = (low, high, at) => {
    const APART = 40;
    const between = (marks) => marks.filter((mark) => mark >= low && mark <= high);
    for (const step of [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]) {
      const marks =
          between(Array.from({length: Math.floor(high / step)}, (_, i) => Math.round((i + 1) * step * 100) / 100));
      if (marks.every((mark, i) => i === 0 || at(mark) - at(marks[i - 1]) >= APART)) return marks;
    }
    const kept = [];
    for (const mark of between([1, 0.5, 2, 0.2, 5, 0.1, 10, 0.05, 20, 0.02, 50])) {
      if (kept.every((other) => Math.abs(at(mark) - at(other)) >= APART)) kept.push(mark);
    }
    return kept;
  };

  // Each figure's ratio with its interval, on a logarithmic axis; what lies far outside is cut off at its edge. `part`
  // names the part of a write, or the reads beside the writes; '' for the main operation.
  const ratios = (part, pair, first, minEffect) => {
    const whose = part === '' ? '' : ' of the ' + part;
    const rows = pair.rows.filter((row) => row.figure !== 'mb_per_second' && row.ratio > 0);
    const ends =
        rows.flatMap((row) => [row.ratio, row.low, row.high]).filter((value) => value > 0 && Number.isFinite(value));
    const reach = Math.min(Math.max(1.1, ...ends.map((value) => Math.max(value, 1 / value))) * 1.02, 50);
    const width = Math.min(760, Math.max(300, document.getElementById('comparison').clientWidth - 64));
    const left = 64;
    const right = 90;
    const step = 24;
    const base = step * rows.length + 6;
    const at = (ratio) => left +
        (Math.log(Math.min(Math.max(ratio, 1 / reach), reach)) / Math.log(reach) + 1) / 2 * (width - left - right);
    const picture = svg('svg', {
      viewBox: '0 0 ' + width + ' ' + (base + 22),
      width,
      height: base + 22,
      class: 'ratios',
      role: 'img',
      'aria-label': 'Ratio of each figure' + whose + ', ' + pair.side + ' / ' + first +
          ', with its interval; the table has the figures'
    });
    picture.append(svg('rect', {
      x: at(1 / (1 + minEffect)),
      y: 0,
      width: at(1 + minEffect) - at(1 / (1 + minEffect)),
      height: base,
      class: 'nothing-counts'
    }));
    for (const mark of ratioMarks(1 / reach, reach, at)) {
      picture.append(
          svg('line', {x1: at(mark), x2: at(mark), y1: 0, y2: base, class: mark === 1 ? 'one' : 'mark'}),
          svg('text', {x: at(mark), y: base + 16, class: 'value middle'}, String(mark)));
    }
    rows.forEach((row, number) => {
      const y = step * number + 15;
      const group = svg('g', {class: model.finding(row).tone});
      if ('low' in row) {
        group.append(
            svg('line', {x1: at(row.low), x2: at(row.high === null ? reach : row.high), y1: y, y2: y, class: 'bound'}));
      }
      group.append(svg('circle', {cx: at(row.ratio), cy: y, r: 4.5, class: 'dot'}));
      picture.append(
          svg('text', {x: left - 12, y: y + 4, class: 'name'}, model.FIGURES[row.figure].name), group,
          svg('text', {x: width - right + 12, y: y + 4, class: 'value'}, model.change(row.ratio)));
    });
    return el(
        'figure', {},
        el('figcaption', {class: 'soft'},
           'Ratio ' + pair.side + ' / ' + first + whose +
               ' with its 95 % interval; grey: below the minimum effect of ' + format.fixed(minEffect * 100, 1) + ' %'),
        picture);
  };

  const table = (part, pair, first) => plimsoll.table(
      (part === '' ? '' : part + ': ') + pair.side + ' against ' + first,
      [
        {title: 'Figure', head: true}, {title: first}, {title: pair.side}, {title: pair.side + ' / ' + first},
        {title: '95 % interval'}, {title: 'adjusted p'}, {title: 'Finding', text: true}, {title: 'Remark', text: true}
      ],
      pair.rows.map((row) => {
        const figure = model.FIGURES[row.figure];
        const found = model.finding(row);
        return [
          figure.name, figure.text(row.first), figure.text(row.second), model.ratioText(row.ratio), model.interval(row),
          row.adjusted_p === undefined ? format.DASH :
              row.adjusted_p < 0.001   ? '< 0.001' :
                                         format.fixed(row.adjusted_p, 3),
          el('span', {class: 'finding ' + found.tone}, found.name), row.reason
        ];
      }));

  // What the rows of all runs at a block size are, in seconds; they have the same.
  const rowSeconds = (block) => Math.max(1, ...block.runs.map((run) => run.rowSeconds));
  const rowName = (block) => (rowSeconds(block) > 1 ? 'minute' : 'second');

  const figures = (block, {comparison}) => {
    const first = comparison.sides[0].label;
    const parts = model.quantities(block).flatMap(
        ({part, pairs}) => pairs.flatMap(
            (pair) =>
                [table(part, pair, first), ratios(part, pair, first, comparison.options.min_effect_percent / 100)]));
    const runs = model.quantities(block).flatMap(
        ({part, sides}) => sides.flatMap(
            (side, at) => side.runs.map(
                (run, number) =>
                    [model.runLabel(comparison.sides[at], number) + (part === '' ? '' : ', ' + part),
                     format.count(run.writes), format.count(run.seconds),
                     run.effective_seconds > 0 ? format.fixed(run.autocorrelation, 2) : format.DASH,
                     run.block_length > 0 ? format.count(run.block_length) : format.DASH,
                     run.effective_seconds > 0 ? format.fixed(run.effective_seconds, 0) : format.DASH])));
    const hasReads = model.quantities(block).some(({part}) => part === model.READS);
    const count = hasReads ? 'operations' : plimsoll.words.main('writes');
    return plimsoll.section(
        'figures', 'Figures', parts,
        plimsoll.tableBehind(
            'Table: independent ' + rowName(block) + 's of each run',
            () => plimsoll.table(
                'Independent ' + rowName(block) + 's of each run',
                [
                  {title: 'Run', head: true}, {title: count}, {title: 'whole ' + rowName(block) + 's'},
                  {title: 'autocorrelation'}, {title: rowSeconds(block) > 1 ? 'block, min' : 'block, s'},
                  {title: 'independent ' + rowName(block) + 's'}
                ],
                runs)));
  };

  // One figure of all runs, second by second, or minute by minute.
  const overTime = (block, name, log, range) => {
    const figure = model.FIGURES[name];
    const rate = name === 'iops' || name === 'mb_per_second';
    const seconds = [...new Set(block.runs.flatMap((run) => run.second))].sort((a, b) => a - b);
    const lines = block.runs.map((run) => {
      const rows = new Map(run.second.map((second, row) => [second, run.columns[name][row]]));
      return {
        name: run.name,
        color: run.color,
        dash: run.dash,
        values: seconds.map((second) => (rows.has(second) ? rows.get(second) : null))
      };
    });
    const half = rowSeconds(block) / 2;
    const known = lines.some((line) => line.values.some((value) => value !== null));
    return new plimsoll.Chart({
      name: figure.name + ' over time',
      range,
      x: known ? seconds.map((second) => second + half) : [],
      xTitle: 'Time in run' + (half > 0.5 ? ', by minute' : ''),
      xTicks: plimsoll.timeTicks,
      xText: (at) => format.elapsed(at - half) + ' \u2013 ' + format.elapsed(at + half),
      series: lines,
      log: log && !rate,
      height: 280,
      yTitle: figure.name + (rate ? '' : plimsoll.words.main(' of the writes in each ' + rowName(block))),
      yTick: rate ? format.shortCount : format.shortTime,
      yText: (value) => figure.text(value) + (rate ? ' ' + figure.name : ''),
      nothing: 'The reports do not have this figure by ' + rowName(block) + '.',
      thinned: block.runs.some((run) => run.thinned) ? plimsoll.THINNED : null,
    });
  };

  const seconds = (block) => {
    const length = rowSeconds(block);
    const last = Math.max(1, ...block.runs.flatMap((run) => run.second.map((second) => second + length)));
    const range = new plimsoll.Range(0, last, (at) => format.elapsed(at, last < 10 ? 1 : 0), length / 2);
    const {place, put, chart} = plimsoll.slot();
    const state = {name: 'iops', log: true};
    const show = (change) => put(overTime(block, Object.assign(state, change).name, state.log, range));
    const choices = Object.entries(model.FIGURES).map(([value, {name}]) => ({name, value}));
    const figurePicker = plimsoll.picker('Show', choices, (name) => show({name}));
    const logSwitch = plimsoll.toggle('Log axis for latencies', true, (log) => show({log}));
    show({});
    const element = plimsoll.section(
        'seconds', 'Over time', el('div', {class: 'controls'}, figurePicker, logSwitch, range.toolbar('time')), place);
    return {element, chart};
  };

  const distribution = (block) => {
    const known = block.runs.filter((run) => run.count.length > 0);
    if (known.length === 0) return {element: null, chart: () => null};
    const chart = plimsoll.percentiles.chart(
        known.map((run) => ({name: run.name, color: run.color, dash: run.dash, distribution: run})));
    return {element: plimsoll.percentiles.section(chart), chart: () => chart};
  };

  return {figures, seconds, distribution};
})();
