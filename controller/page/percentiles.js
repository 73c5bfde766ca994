// How latencies are distributed, drawn by percentile, on an axis where every "nine" has the same width.
'use strict';

plimsoll.percentiles = (() => {
  const {format} = plimsoll;
  // Positions a nine.
  const GRID = 40;
  // A percentile with fewer writes beyond it is not known, here as in the report's tables.
  const FEWEST_BEYOND = 10;

  // What the table shows.
  const PERCENTILES = [10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99, 99.999, 99.9999, 99.99999];

  // Whether so many writes are enough for the percentile `share` (0.99).
  const isKnown = (writes, share) => writes * (1 - share) >= FEWEST_BEYOND * (1 - 1e-9);

  // 99.9 % is at 3 nines, 0 % at 0: minus the decimal logarithm of what lies beyond. As text with as many decimals as
  // distinguish it from 100: "99.95 %".
  const percentText = (nines) => {
    const decimals = Math.max(0, Math.ceil(nines - 1.0001));
    return parseFloat((100 - 100 * 10 ** -nines).toFixed(decimals + 1)) + ' %';
  };

  const total = (distribution) => distribution.count.reduce((sum, one) => sum + one, 0);

  // The latency at each of the rising positions: that share of the writes was not slower, so the highest value
  // of the bucket that holds the one in question, and at the last position the slowest of all. Not a number where it is
  // not known: a line must be interrupted there.
  //   distribution: {to_ns: highest value of each bucket, count, max_ns: the slowest write}
  const atPercentiles = (distribution, positions) => {
    const {to_ns: to, count, max_ns: max = to[to.length - 1]} = distribution;
    const all = total(distribution);
    const last = positions.length - 1;
    let bucket = 0;
    let below = count.length > 0 ? count[0] : 0;
    return positions.map((nines, at) => {
      if (all === 0) return NaN;
      if (at === last) return max;
      if (!isKnown(all, 1 - 10 ** -nines)) return NaN;
      // The nearest rank, as the report's percentiles have it.
      const rank = Math.max(1, Math.ceil(all * (1 - 10 ** -nines) - 1e-6));
      while (below < rank && bucket + 1 < count.length) below += count[++bucket];
      return Math.min(to[bucket], max);
    });
  };

  // Ticks for an axis that ends at `last`, the slowest write; whole nines first: no label touches another.
  const ticks = (last) => (from, to, pixels) => {
    const width = (at) => 18 + 7 * (at === last ? 3 : percentText(at).length);
    const marks = [0, Math.log10(2), 1, Math.log10(20)];
    for (let nines = 2; nines <= Math.ceil(last); ++nines) marks.push(nines);
    const position = (at) => (at - from) / (to - from) * pixels;
    const taken = to >= last ? [last] : [];
    const room = (at) => position(at) >= 0 && position(at) < pixels - width(at) / 2 &&
        taken.every((other) => Math.abs(position(at) - position(other)) >= (width(at) + width(other)) / 2);
    for (const at of [...marks.filter(Number.isInteger), ...marks.filter((mark) => !Number.isInteger(mark))]) {
      if (at < last && room(at)) taken.push(at);
    }
    return taken.sort((a, b) => a - b)
        .map((at) => (at === last ? {v: last * (1 - 1e-6), label: 'max'} : {v: at, label: percentText(at)}));
  };

  // A chart of several distributions: [{name, color, dash, hidden, distribution}], one of them with a write at least.
  // `what`: which times of the writes they are; `say`: makes a text about writes one about what the lines show
  // (plimsoll.words).
  const chart = (lines, what = 'latency', say = plimsoll.words.main) => {
    const last = Math.max(1, ...lines.map((line) => Math.log10(total(line.distribution))));
    const named = [0, ...PERCENTILES.map((percent) => -Math.log10(1 - percent / 100)).filter((at) => at < last), last];
    const grid = Array.from({length: Math.ceil(last * GRID)}, (_, at) => at / GRID);
    const positions = [...new Set([...named, ...grid])].sort((a, b) => a - b);
    return new plimsoll.Chart({
      name: 'Latency by percentile',
      x: positions,
      tableRows: new Set(named.map((at) => positions.indexOf(at))),
      range: new plimsoll.Range(0, last, (at) => (at === last ? 'max' : percentText(at)), 0.25),
      xTitle: 'Percentile',
      xText: (x) => say(x === last ? 'slowest write' : percentText(x) + ' of the writes took no longer'),
      xTicks: ticks(last),
      xWidth: 90,
      series: lines.map(({distribution, ...line}) => ({...line, values: atPercentiles(distribution, positions)})),
      ends: true,
      log: true,
      height: 300,
      yTitle: what + say('; the labels show the slowest writes'),
      yTick: format.shortTime,
      yText: format.time,
    });
  };

  // The part of a page that holds such a chart, with a remark if there is one.
  const section = (one, remark = null) => plimsoll.section(
      'distribution', 'Latency distribution',
      plimsoll.el('div', {class: 'controls'}, one.options.range.toolbar('percentiles')), one.element,
      remark === null ? null : plimsoll.el('p', {class: 'remark'}, remark));

  return {isKnown, atPercentiles, percentText, chart, section};
})();
