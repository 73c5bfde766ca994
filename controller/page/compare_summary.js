// The top of a comparison: findings, runs, configuration differences, block sizes side by side.
'use strict';

plimsoll.compareSummary = (() => {
  const {el, format, comparison: model} = plimsoll;

  const heading = ({comparison, title}) => {
    return el(
        'div', {class: 'wide heading'}, plimsoll.brand(), el('h1', {}, plimsoll.breakable(title)),
        el('ul', {class: 'facts'}, el('li', {}, format.plural(comparison.block_sizes.length, 'block size')),
           el('li', {}, 'plimsoll ' + comparison.version)));
  };

  // The change and, below it, whether it is better or worse: of a latency less is better.
  const label = (row) => {
    const {name, tone} = model.finding(row);
    return el('span', {class: 'finding ' + tone}, el('span', {}, model.change(row.ratio)), ' ', el('small', {}, name));
  };

  // Every pair and block size in one row.
  const glance = ({comparison, blocks}) => {
    const names = ['iops', 'avg', 'p50', 'p99', 'p99_9'];
    const several = comparison.sides.length > 2;
    const columns = [
      {title: 'Block', head: true}, ...(several ? [{title: 'Side', text: true}] : []),
      ...names.map((name) => ({title: model.FIGURES[name].name}))
    ];
    const rows = blocks.flatMap(model.quantities)
                     .flatMap(
                         ({title, pairs}) =>
                             pairs.map((pair) => [title, ...(several ? [pair.side] : []), ...names.map((name) => {
                                         const found = pair.rows.find((row) => row.figure === name);
                                         return found === undefined ? format.DASH : label(found);
                                       })]));
    const table = plimsoll.table('Change of each figure relative to ' + comparison.sides[0].label, columns, rows);
    table.classList.add('glance');
    return el(
        'div', {}, table,
        el('p', {class: 'remark'},
           'Better, worse: a significant difference of more than ' +
               format.fixed(comparison.options.min_effect_percent, 1) +
               ' %. Within minimum: a significant difference, but no more than that. Not significant: chance may explain ' +
               'the difference, which does not prove that the sides are equal. Inconclusive: the difference may not come from the ' +
               'storage. For IO/s, more is better; for latencies, less.'));
  };

  // Each figure's ratio by round, for sides measured in turn.
  const rounds = ({comparison, blocks}) => {
    const {paired} = comparison;
    if (!paired) return null;
    const names = ['iops', 'avg', 'p50', 'p99'];
    const several = blocks.length > 1;
    const columns = [
      {title: 'Round'}, {title: 'Order', text: true},
      ...blocks.flatMap(
          (block) => names.map((name) => ({title: model.FIGURES[name].name + (several ? ', ' + block.name : '')})))
    ];
    const [first, second] = comparison.sides.map((side) => side.label);
    const order = (at) => ({AB: first + ', ' + second, BA: second + ', ' + first})[paired.order[at]] || format.DASH;
    const ratio = (block, name, at) => {
      const row = block.compared.pairs[0].rows.find((one) => one.figure === name);
      const value = row && row.rounds ? row.rounds.ratio[at] : undefined;
      return value === undefined || value === null ? format.DASH : format.fixed(value, 3);
    };
    const rows = Array.from(
        {length: paired.complete_rounds},
        (_, at) => [at + 1, order(at), ...blocks.flatMap((block) => names.map((name) => ratio(block, name, at)))]);
    return el(
        'div', {}, el('h3', {}, 'Rounds'),
        el('p', {},
           format.plural(paired.complete_rounds, 'complete round') +
               (paired.planned_rounds > paired.complete_rounds ? ' of at most ' + paired.planned_rounds : '') + '. ' +
               paired.ended),
        plimsoll.table('Ratios of ' + second + ' to ' + first + ' in each round', columns, rows));
  };

  const findings = (data) => {
    const {comparison, blocks} = data;
    const words = blocks.flatMap(model.quantities)
                      .flatMap(
                          ({title, pairs}) => pairs.map(
                              (pair) => el(
                                  'p', {class: 'in-words'},
                                  el('strong', {}, title + (comparison.sides.length > 2 ? ', ' + pair.side : '') + ':'),
                                  ' ', plimsoll.explain(pair.summary, ['autocorrelation']))));
    const warnings = comparison.warnings.map((warning) => el('p', {class: 'warning'}, warning));
    const slower = comparison.slower.map((sentence) => el('p', {class: 'warning'}, sentence));
    const undecided = comparison.undecided.map((sentence) => el('p', {class: 'warning'}, 'Undecided: ' + sentence));
    const gate = comparison.gate_summary ?
        el('p', {class: 'answer ' + comparison.gate}, el('strong', {}, 'Gate: '), comparison.gate_summary) :
        null;
    return plimsoll.section(
        'findings', 'Findings', el('p', {class: 'answer'}, el('strong', {}, comparison.headline)), gate, slower,
        undecided, glance(data), el('h3', {}, 'In words'), words, rounds(data), warnings);
  };

  const VERDICTS = {pass: 'PASS', fail: 'FAIL', inconclusive: 'INCONCLUSIVE', done: 'COMPLETED (no criteria)'};

  const swatch = (run) => el('span', {class: 'side'}, plimsoll.swatch(run), run.name);

  const sides = ({runs}) => plimsoll.section(
      'sides', 'Runs',
      plimsoll.table(
          'Runs of each side, with their lines in the charts',
          [
            {title: 'Side', head: true}, {title: 'Result', text: true}, {title: 'Name', text: true},
            {title: 'Start', text: true}, {title: 'Hosts'}, {title: 'QMs'}, {title: 'Storage', text: true},
            {title: 'Verdict', text: true}
          ],
          runs.map(
              (one) =>
                  [swatch(one), one.run.source, one.run.name, format.dateTime(one.run.begin),
                   format.count(one.run.hosts), format.count(one.run.queue_managers), one.run.storages.join(', '),
                   (VERDICTS[one.run.outcome] || one.run.outcome)])));

  const differences = ({comparison}) => {
    const {differences: found, sides: compared} = comparison;
    const content = found.length === 0 ?
        el('p', {}, 'None: storage, hosts, kernels, versions and options are the same.') :
        plimsoll.table(
            'Settings and facts that differ between the sides',
            [{title: 'Setting', head: true}, ...compared.map((side) => ({title: side.label, text: true}))],
            found.map((one) => [one.what, ...one.values]));
    return plimsoll.section('differences', 'Configuration differences', content);
  };

  // Bandwidth and latency against the size of a write, for each side; of several runs their geometric mean.
  const sweep = ({comparison, blocks}) => {
    if (blocks.length < 2) return {element: null, charts: []};
    const x = blocks.map((block) => Math.log2(block.size));
    const middle = (block, side, name) => {
      const values = block.compared.sides[side]
                         .runs.map((run) => run[name])
                         .filter((value) => value !== undefined && value !== null);
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
        name: (comparison.response_times ? 'Response time' : 'Latency') + ' by block size',
        yTitle: comparison.response_times ? 'response time' : 'latency',
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
               id, title,
               el('ul', {class: 'sentences'}, sentences.map((sentence) => el('li', {}, plimsoll.explain(sentence, [
                                                              'resampled', 'autocorrelation', 'studentised', 'Holm',
                                                              'Welch\'s t-test', 'Student\'s t-test'
                                                            ]))))));

  const method = ({comparison}) => list('method', 'Method', comparison.method);
  const limits = ({comparison}) => list('limits', 'Limits', comparison.limits);

  return {heading, findings, sides, differences, sweep, method, limits};
})();
