// The comparison as the page's parts want it: sides, runs, block sizes in numbers.
'use strict';

plimsoll.comparison = (() => {
  const {format, percentiles} = plimsoll;
  const COLUMNS = ['writes', 'latency_sum_ns', 'latency_max_ns', 'p50_ns', 'p99_ns', 'p99_9_ns', 'second'];

  // What is compared, by its key: how it is called and spelled. And what a finding is called, and the class of its
  // colour. Both are set by read.
  const FIGURES = {};
  const FINDINGS = {};
  const TEXTS = {rate: format.rate, throughput: (value) => format.fixed(value, 2), latency: format.time};

  const finding = (row) => FINDINGS[row.finding] || FINDINGS.not_tested;

  // One run at one block size. Seconds count on through the repetitions of its step.
  const readRun = (packed, size, run, figures) => {
    const one = {...run, max_ns: figures.max_ns, thinned: false};
    for (const name of COLUMNS) one[name] = plimsoll.unpack(packed[name]);
    one.thinned = one.second.length < packed.of;
    one.to_ns = plimsoll.unpack(packed.to_ns);
    one.count = plimsoll.unpack(packed.count);
    // A percentile of a second that has too few writes beyond it is not known.
    const percentile = (name, share) =>
        one[name].map((value, row) => (value > 0 && percentiles.isKnown(one.writes[row], share) ? value : null));
    // A row is a minute where a step was so long that its seconds have no percentiles.
    one.rowSeconds = packed.row_seconds || 1;
    one.columns = {
      iops: one.writes.map((writes) => writes / one.rowSeconds),
      // The page has no bytes by second, and the block sizes of a mix differ.
      mb_per_second: one.writes.map((writes) => (size > 0 ? writes * size / 1e6 / one.rowSeconds : null)),
      avg: one.writes.map((writes, row) => (writes > 0 ? one.latency_sum_ns[row] / writes : null)),
      p50: percentile('p50_ns', 0.5),
      p99: percentile('p99_ns', 0.99),
      p99_9: percentile('p99_9_ns', 0.999),
      max: one.latency_max_ns.map((value) => value || null),
    };
    return one;
  };

  // "A3", "san 3".
  const runLabel = (side, at) =>
      side.runs.length === 1 ? side.label : side.label + (side.label.length > 2 ? ' ' : '') + (at + 1);

  const read = () => {
    const data = plimsoll.readData();
    const {comparison, title, figures, findings, block_sizes: packed} = data;
    plimsoll.useWordsOf(data);
    for (const one of figures) FIGURES[one.key] = {name: one.name, text: TEXTS[one.format]};
    for (const one of findings) FINDINGS[one.key] = one;
    const runs =
        comparison.sides.flatMap((side, number) => side.runs.map((run, at) => ({
                                                                   name: runLabel(side, at),
                                                                   side: number,
                                                                   run,
                                                                   // Runs of a side share its colour.
                                                                   color: 's' + (number % 8 + 1),
                                                                   dash: [null, [6, 3], [2, 2], [8, 3, 2, 3]][at % 4],
                                                                 })));
    const blocks = comparison.block_sizes.map(
        (compared, at) => ({
          compared,
          size: compared.block_size_bytes,
          name: compared.block_size_bytes > 0 ? format.size(compared.block_size_bytes) : 'mixed sizes',
          runs: packed[at].runs.map(
              (one, number) => readRun(
                  one, compared.block_size_bytes, runs[number], compared.sides.flatMap((side) => side.runs)[number])),
        }));
    return {comparison, title, runs, blocks};
  };

  // What is compared beside the main operation, as people read it: the reads, or a part of a write by its name.
  const READS = 'reads';
  const operationName = (operation) => (operation.name === 'read' ? READS : operation.name);

  // Returns what is compared at a block size: the main operation (`part` is ''), then the parts of the writes and the
  // reads beside them. Titles are unique.
  const quantities = ({name, compared: {sides, pairs, operations = []}}) => {
    const parts =
        operations.map((one) => ({...one, title: name + ', ' + operationName(one), part: operationName(one)}));
    return [{title: name, part: '', sides, pairs}, ...parts];
  };

  // "+12.3 %", or "3.4 times" where percent would be hard to read.
  const change = (ratio) => {
    if (!Number.isFinite(ratio)) return format.DASH;
    if (ratio >= 10) return format.fixed(ratio, 1) + ' times';
    return (ratio > 1 ? '+' : ratio < 1 ? '\u2212' : '') + format.fixed(Math.abs(ratio - 1) * 100, 1) + ' %';
  };

  const ratioText = (ratio) => format.fixed(ratio, ratio < 10 ? 3 : ratio < 100 ? 2 : 1);

  // "0.85 to 0.93"; ends that are not there are left out.
  const interval = (row) => {
    if (!('low' in row)) return format.DASH;
    const low = row.low > 0 ? row.low : null;
    if (low === null && row.high === null) return 'any';
    if (low === null) return 'up to ' + ratioText(row.high);
    return row.high === null ? 'from ' + ratioText(low) : ratioText(low) + ' to ' + ratioText(row.high);
  };

  return {READS, read, runLabel, quantities, change, ratioText, interval, finding, FIGURES};
})();
