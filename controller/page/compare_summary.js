// The top of a comparison: what was found, what was compared, in what else it differs, block sizes beside one another.
'use strict';

plimsoll.compareSummary = (() => {
  const {el, format, comparison: model} = plimsoll;

  const heading = ({comparison}) => {
    // By the runs' own names, where each side has one that is its alone.
    const names = comparison.sides.map((side) => side.runs[0].name);
    const named = names.every((name) => name !== '') && new Set(names).size === names.length;
    const labels = comparison.sides.map((side, at) => (named ? names[at] + ' (' + side.label + ')' : side.label));
    const others = labels.slice(1).join(' and ');
    return el(
        'div', {class: 'wide heading'},
        el('p', {class: 'brand'}, 'Plimsoll', el('span', {class: 'soft'}, 'MQ log storage test')),
        el('h1', {}, others + ' against ' + labels[0]),
        el('ul', {class: 'facts'}, el('li', {}, format.plural(comparison.block_sizes.length, 'block size')),
           el('li', {}, 'plimsoll ' + comparison.version)));
  };

  const label = (told) => {
    const {name, sign, tone} = model.finding(told);
    return el(
        'span', {class: 'finding ' + tone, title: name}, model.change(told.ratio) + ' ' + sign,
        el('span', {class: 'unseen'}, ' ' + name));
  };

  // Every pair and block size in one row.
  const glance = ({comparison, blocks}) => {
    const names = ['iops', 'avg', 'p50', 'p99', 'p99_9'];
    const several = comparison.sides.length > 2;
    const columns = [
      {title: 'Block', head: true}, ...(several ? [{title: 'Side', text: true}] : []),
      ...names.map((name) => ({title: model.FIGURES[name].name, help: 'against ' + comparison.sides[0].label}))
    ];
    const rows = blocks.flatMap(
        (block) => block.told.pairs.map((pair) => [block.name, ...(several ? [pair.side] : []), ...names.map((name) => {
                                          const told = pair.rows.find((row) => row.figure === name);
                                          return told === undefined ? format.DASH : label(told);
                                        })]));
    const table = plimsoll.table(
        'Change against ' + comparison.sides[0].label +
            ': \u25b2 clearly better, \u25bc clearly worse, ? not clear, \u2248 too small to count, \u2013 not tested',
        columns, rows);
    table.classList.add('glance');
    return table;
  };

  const findings = (data) => {
    const {comparison, blocks} = data;
    const words = blocks.flatMap(
        (block) => block.told.pairs.map(
            (pair) =>
                el('p', {class: 'in-words'},
                   el('strong', {}, block.name + (comparison.sides.length > 2 ? ', ' + pair.side : '') + ':'),
                   pair.summary)));
    const warnings = comparison.warnings.map((warning) => el('p', {class: 'warning'}, warning));
    const slower = comparison.slower.map((sentence) => el('p', {class: 'warning'}, sentence));
    const undecided = comparison.undecided.map((sentence) => el('p', {class: 'warning'}, 'Undecided: ' + sentence));
    return plimsoll.section(
        'findings', 'Findings', warnings, glance(data), el('h3', {}, 'In words'), words, slower, undecided);
  };

  const swatch = (run) => {
    const mark = el('span', {class: 'swatch' + (run.dash ? ' dashed' : ''), 'aria-hidden': 'true'});
    mark.style.setProperty('--swatch', 'var(--' + run.color + ')');
    return el('span', {class: 'side'}, mark, run.name);
  };

  const sides = ({runs}) => plimsoll.section(
      'sides', 'What was compared',
      plimsoll.table(
          'Each run',
          [
            {title: 'Side', head: true}, {title: 'Result', text: true}, {title: 'Name', text: true},
            {title: 'Began', text: true}, {title: 'Hosts'}, {title: 'QMs'}, {title: 'Storage', text: true},
            {title: 'Verdict', text: true}
          ],
          runs.map(
              (one) =>
                  [swatch(one), one.run.source, one.run.name, format.dateTime(one.run.begin),
                   format.count(one.run.hosts), format.count(one.run.queue_managers), one.run.storages.join(', '),
                   one.run.outcome])));

  const differences = ({comparison}) => {
    const {differences: told, sides: compared} = comparison;
    const content = told.length === 0 ?
        el('p', {}, 'The sides are alike in storage, hosts, kernels, versions and options.') :
        plimsoll.table(
            'Besides the figures',
            [{title: 'What', head: true}, ...compared.map((side) => ({title: side.label, text: true}))],
            told.map((one) => [one.what, ...one.values]));
    return plimsoll.section('differences', 'In what else they differ', content);
  };

  // Bandwidth and latency against the size of a write, for each side; of several runs their geometric mean.
  const sweep = ({comparison, blocks}) => {
    if (blocks.length < 2) return {element: null, charts: []};
    const x = blocks.map((block) => Math.log2(block.size));
    const middle = (block, side, name) => {
      const values =
          block.told.sides[side].runs.map((run) => run[name]).filter((value) => value !== undefined && value !== null);
      if (values.length === 0) return null;
      return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
    };
    const line = (side, name, what, dash) => ({
      name: comparison.sides[side].label + what,
      color: 's' + (side % 8 + 1),
      dash,
      values: blocks.map((block) => middle(block, side, name))
    });
    const all = comparison.sides.map((_, side) => side);
    const range = new plimsoll.Range(x[0] - 0.3, x[x.length - 1] + 0.3, (at) => format.size(Math.round(2 ** at)), 1);
    const chart = (options) => new plimsoll.Chart({
      x,
      range,
      points: true,
      height: 240,
      xTitle: 'Block',
      xText: (at) => format.size(Math.round(2 ** at)),
      xTicks: () => blocks.map((block) => ({v: Math.log2(block.size), label: block.name})),
      ...options,
    });
    const latencies = [
      ...all.map((side) => line(side, 'avg_ns', ' mean', null)),
      ...all.map((side) => line(side, 'p99_ns', ' p99', [6, 3]))
    ];
    // A logarithmic axis only where there is something to see on it.
    const known = latencies.flatMap((one) => one.values).filter((value) => value !== null);
    const wide = Math.max(...known) > 20 * Math.min(...known);
    const charts = [
      chart({
        name: 'Bandwidth by block size',
        yTitle: 'MB/s',
        yTick: format.shortCount,
        yText: (value) => format.fixed(value, 2) + ' MB/s',
        series: all.map((side) => line(side, 'mb_per_second', '', null))
      }),
      chart({
        name: 'Latency by block size',
        yTitle: 'latency',
        yTick: format.shortTime,
        yText: format.time,
        log: wide,
        series: latencies
      }),
    ];
    const element =
        plimsoll.section('sweep', 'By block size', el('div', {class: 'pair'}, charts.map((one) => one.element)));
    return {element, charts};
  };

  const list = (id, title, sentences) =>
      (sentences.length === 0 ?
           null :
           plimsoll.section(
               id, title, el('ul', {class: 'sentences'}, sentences.map((sentence) => el('li', {}, sentence)))));

  const method = ({comparison}) => list('method', 'How it was told from chance', comparison.method);
  const limits = ({comparison}) => list('limits', 'What this cannot tell', comparison.limits);

  return {heading, findings, sides, differences, sweep, method, limits};
})();
