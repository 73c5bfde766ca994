// How latencies are distributed: the latency at each percentile, on an axis where every "nine" has the same width.
'use strict';

plimsoll.distribution = (() => {
  const {model, format} = plimsoll;
  // Positions a nine.
  const GRID = 40;

  // What the table shows.
  const PERCENTILES = [10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 99.999, 99.9999, 99.99999];

  // 99.9 % is at 3 nines, 0 % at 0: minus the decimal logarithm of what lies beyond.
  const percentOf = (nines) => 100 - 100 * 10 ** -nines;

  // "99.95 %", with as many decimals as tell it from 100.
  const percentText = (nines) => {
    const decimals = Math.max(0, Math.ceil(nines - 1.0001));
    return parseFloat(percentOf(nines).toFixed(decimals + 1)) + ' %';
  };

  // The latency at each of the rising positions: the smallest value of the bucket that holds it; null beyond the data.
  const atPercentiles = (distribution, positions) => {
    const {from_ns: from, count} = distribution;
    const total = count.reduce((sum, one) => sum + one, 0);
    let bucket = 0;
    let below = count.length > 0 ? count[0] : 0;
    return positions.map((nines) => {
      if (total === 0 || nines > Math.log10(total) + 1e-9) return null;
      // The nearest rank, as the report's percentiles have it.
      const rank = Math.max(1, Math.ceil(total * (1 - 10 ** -nines) - 1e-6));
      while (below < rank && bucket + 1 < count.length) below += count[++bucket];
      return from[bucket];
    });
  };

  const section = (step) => {
    const told = step.distributions().filter((one) => one.count.length > 0);
    if (told.length === 0) return {element: null, chart: null};
    const chosen = told.filter((one) => one.kind === 'cluster')
                       .concat(
                           step.storages.length > 1 ? told.filter((one) => one.kind === 'storage') : [],
                           step.hosts.length > 1 ? told.filter((one) => one.kind === 'host') : []);
    const most = Math.max(...chosen.map((one) => one.count.reduce((sum, count) => sum + count, 0)));
    const last = Math.max(1, Math.log10(most));
    const named = [0, ...PERCENTILES.map((percent) => -Math.log10(1 - percent / 100)).filter((at) => at < last), last];
    const grid = Array.from({length: Math.ceil(last * GRID)}, (_, at) => at / GRID);
    const positions = [...new Set([...named, ...grid])].sort((a, b) => a - b);
    const chart = new plimsoll.Chart({
      name: 'Latency by percentile',
      x: positions,
      tableRows: new Set(named.map((at) => positions.indexOf(at))),
      range: new plimsoll.Range(0, last, (at) => (at === last ? 'slowest' : percentText(at)), 0.25),
      xTitle: 'Percentile',
      xText: (x) => (x === last ? 'the slowest' : percentText(x) + ' of the writes were not slower'),
      xTicks: (from, to, pixels) => {
        const marks = [0, Math.log10(2), 1, Math.log10(20)];
        for (let nines = 2; nines <= Math.ceil(last); ++nines) marks.push(nines);
        // Whole nines first: a label must neither hang over the edge nor touch another.
        const position = (at) => (at - from) / (to - from) * pixels;
        const taken = [];
        const room = (at) => position(at) >= 0 && position(at) < pixels - 40 &&
            taken.every((other) => Math.abs(position(at) - position(other)) >= 80);
        for (const at of [...marks.filter(Number.isInteger), ...marks.filter((mark) => !Number.isInteger(mark))]) {
          if (room(at)) taken.push(at);
        }
        return taken.sort((a, b) => a - b).map((at) => ({v: at, label: percentText(at)}));
      },
      series: chosen.map((one, at) => ({
                           name: model.nameOf(one),
                           color: one.kind === 'cluster' ? 'ink' : model.color(at - 1),
                           dash: one.kind === 'cluster' ? null : model.dash(at - 1),
                           values: atPercentiles(one, positions),
                           hidden: at > 24,
                         })),
      log: true,
      xWidth: 90,
      height: 300,
      yTitle: 'latency',
      yTick: format.shortTime,
      yText: format.time,
    });
    const element = plimsoll.section(
        'distribution', 'Latency distribution',
        plimsoll.el('div', {class: 'controls'}, chart.options.range.toolbar('percentiles')), chart.element);
    return {element, chart};
  };

  return {section, atPercentiles, percentText};
})();
