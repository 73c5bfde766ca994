// What the page of a restart calls its ways and how it spells seconds; its charts over the share of the log that was
// used, and over the depth of queues.
'use strict';

plimsoll.restartCharts = (() => {
  const {el, format} = plimsoll;
  const known = Number.isFinite;

  // How log records reach the queue files, and how queues are loaded: names, dashes of lines, marks of points.
  const REDO = {
    coalesced: {
      name: 'coalesced',
      help: 'pages of many log records are sorted, and neighbours read and written in one call, as MQ does since 9.1.1'
    },
    per_record: {
      name: 'per-record',
      dash: [8, 3],
      mark: 'ring',
      help: 'calls to the queue files for each log record by itself, as MQ did before 9.1.1'
    },
  };
  const LOAD = {
    parallel: {name: 'parallel', help: 'the metadata of all queues is read at once, as MQ does since 9.1.1'},
    serial: {name: 'serial', dash: [8, 3], help: 'the metadata of each queue is read in turn, as MQ did before 9.1.1'},
  };

  const wayOf = (ways, way) => ways[way] || {name: way.replace(/_/g, '-'), dash: [2, 2]};
  const distinct = (values) => [...new Set(values)].sort((a, b) => a - b);
  // The ways that occur, in the order of `ways`.
  const waysIn = (ways, found) => [...new Set([...Object.keys(ways), ...found])].filter((way) => found.includes(way));

  // Decimals that leave so many significant digits.
  const decimals = (value, significant) =>
      (value === 0 ? 0 : Math.min(5, Math.max(0, significant - 1 - Math.floor(Math.log10(Math.abs(value))))));
  // "1,234", "12.34", "0.0123"; with an error as many decimals as it has two digits: "12.34 ± 0.41".
  const seconds = (value) =>
      (known(value) ? format.fixed(value, decimals(value, Math.abs(value) < 1 ? 3 : 4)) : format.DASH);
  const withError = (value, error) => {
    if (!known(value) || !known(error) || error <= 0) return seconds(value);
    const digits = decimals(error, 2);
    return format.fixed(value, digits) + '\u00a0\u00b1\u00a0' + format.fixed(error, digits);
  };
  const inSeconds = (value, error) => (known(value) ? withError(value, error) + '\u00a0s' : format.DASH);
  // Seconds and counts on an axis.
  const shortNumber = (value) => (value >= 1000 ? format.count(value) : String(parseFloat(value.toPrecision(4))));

  // Positions at even steps, of which as many as have room.
  const evenSteps = (from, to, most) => {
    const power = 10 ** Math.floor(Math.log10(to - from));
    const size = [0.1, 0.2, 0.5, 1, 2, 5].map((part) => part * power).find((one) => (to - from) / one <= most) || power;
    const steps = [];
    for (let number = Math.ceil(from / size - 1e-9); number * size <= to; ++number) steps.push(number * size);
    return steps;
  };
  const countTicks = (from, to, pixels) =>
      evenSteps(from, to, Math.max(2, Math.floor(pixels / 80))).map((at) => ({v: at, label: shortNumber(at)}));

  // Seconds to read and apply the log over the percentage of it that the records fill, for all sizes of messages; null
  // unless the plan gives several such percentages.
  const overLogUsed = (plan, sides) => {
    const percents = distinct((plan && plan.restart_time && plan.restart_time.log_used_percent) || []);
    const {file_size_bytes: size, num_files: files} = (plan && plan.workload) || {};
    if (percents.length < 2 || !(size * files > 0)) return null;
    const nearest = (point) => {
      const used = 100 * point.log_bytes / (size * files);
      return percents.reduce((best, one) => (Math.abs(one - used) < Math.abs(best - used) ? one : best));
    };
    const sizes = distinct(sides.flatMap((side) => side.redo.map((one) => one.message_size_bytes)));
    const series = sides.flatMap((side) => side.redo.map((one) => {
      const way = wayOf(REDO, one.way);
      const number = sizes.indexOf(one.message_size_bytes);
      const at = new Map(one.points.map((point) => [nearest(point), point.median_seconds]));
      return {
        name: side.short + ', ' + way.name + (sizes.length > 1 ? ', ' + format.size(one.message_size_bytes) : ''),
        values: percents.map((percent) => (at.has(percent) ? at.get(percent) : null)),
        color: side.color,
        // Each further size of messages has gaps of its own.
        dash: number > 0 ? [...(way.dash || [8, 2]), 2 * number, 2 * number] : way.dash,
        help: side.name + ': ' + way.help
      };
    }));
    if (series.length === 0) return null;
    const last = percents[percents.length - 1];
    const percentText = (at) => shortNumber(at) + '\u00a0%';
    const shown = new plimsoll.Range(0, last, percentText, last / 50);
    const chart = new plimsoll.Chart({
      name: 'Seconds by the share of the log that was used',
      x: percents,
      range: shown,
      // Room for the last point.
      beyond: last / 50,
      xTitle: 'Log used since the last checkpoint, %',
      xText: (x) => percentText(x) + ' of the log used',
      xTicks: countTicks,
      xWidth: 80,
      series,
      points: true,
      remark: 'The log has ' + format.amount(size * files) + '. Backing out uncommitted messages (UNDO) comes on top.',
      yTitle: 'Median seconds to read and apply the log (REDO), by the share of it that was used',
      yTick: shortNumber,
      yText: (value) => inSeconds(value),
    });
    return {element: el('div', {}, el('div', {class: 'controls'}, shown.toolbar('log used')), chart.element), chart};
  };

  // Seconds to load the queues over their depth; null unless there are several depths.
  const overDepth = (sides) => {
    const depths = distinct(sides.flatMap((side) => side.load.map((one) => one.depth)));
    if (depths.length < 2) return null;
    const series = sides.flatMap((side) => waysIn(LOAD, side.load.map((one) => one.way)).map((name) => {
      const way = wayOf(LOAD, name);
      const at = new Map(side.load.filter((one) => one.way === name).map((one) => [one.depth, one.median_seconds]));
      return {
        name: side.short + ', ' + way.name,
        values: depths.map((depth) => (at.has(depth) ? at.get(depth) : null)),
        color: side.color,
        dash: way.dash,
        help: side.name + ': ' + way.help
      };
    }));
    const last = depths[depths.length - 1];
    const shown = new plimsoll.Range(0, last, (at) => format.count(Math.round(at)), last / 50);
    const chart = new plimsoll.Chart({
      name: 'Seconds to load the queues, by depth',
      x: depths,
      range: shown,
      // Room for the last point.
      beyond: last / 50,
      xTitle: 'Messages on each queue',
      xText: (x) => format.plural(x, 'message') + ' on each queue',
      xTicks: countTicks,
      xWidth: 80,
      series,
      points: true,
      yTitle: 'Median seconds to load the queues (LOAD), by messages on each queue',
      yTick: shortNumber,
      yText: (value) => inSeconds(value),
    });
    return {element: el('div', {}, el('div', {class: 'controls'}, shown.toolbar('depth')), chart.element), chart};
  };

  return {
    REDO,
    LOAD,
    wayOf,
    waysIn,
    distinct,
    seconds,
    withError,
    inSeconds,
    shortNumber,
    evenSteps,
    countTicks,
    overLogUsed,
    overDepth
  };
})();
