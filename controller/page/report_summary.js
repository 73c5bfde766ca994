// The top of the page: what ran, the verdict, the step's key figures, and block sizes or loads beside one another.
'use strict';

plimsoll.summary = (() => {
  const {el, format, model} = plimsoll;

  // Hosts and queue managers, or threads on named files, in words.
  const size = (report) => {
    const qms = new Set(report.hosts.map((host) => (host.workload ? host.workload.qm : 0)));
    const upTo = report.plan && report.plan.sweep && report.plan.sweep.qm.length > 0 ? 'up to ' : '';
    const usesFiles = report.hosts.some((host) => host.workload && (host.workload.files || []).length > 0);
    const writer = usesFiles ? 'thread' : 'queue manager';
    // Restart I/O has no writers.
    if ([...qms].every((count) => !count) && report.restart_time) return format.plural(report.run.hosts, 'host');
    if (qms.size === 1 && !report.placement) {
      return format.plural(report.run.hosts, 'host') + ' \u00d7 ' + upTo + format.plural([...qms][0], writer);
    }
    return format.plural(report.run.hosts, 'host') + ', ' + format.plural(report.run.queue_managers, writer);
  };

  const heading = (report) => {
    const {run} = report;
    const what = plimsoll.kindOf(report).title + ' ';
    // A run without a name is called by its id, which then is not repeated.
    const facts = run.id === '' ?
        [run.state_reason] :
        [run.name ? what + run.id : '', format.dateTime(run.begin), size(report), 'plimsoll ' + run.version];
    return el(
        'div', {class: 'wide heading'}, plimsoll.brand(),
        el('h1', {},
           run.id === '' ? run.name || 'No run' : (run.name && what === 'Run ' ? '' : what) + (run.name || run.id)),
        el('ul', {class: 'facts'}, facts.filter((fact) => fact).map((fact) => el('li', {}, fact))));
  };

  // "beta/qm2", "storage 2", "cluster".
  const where = (result) => {
    if (result.host) return result.qm ? model.writerName(result.host, result.qm) : result.host;
    return result.kind === 'storage' ? 'storage ' + result.storage : 'cluster';
  };

  // Rows of a criterion: its worst value in each step, and the reason where it did not pass: [{row, reason}].
  const criterionRows = (criterion) => {
    const name = el('code', {}, criterion.criterion);
    const row = (result, step) =>
        [plimsoll.tag(result.outcome), name.cloneNode(true), step, result.value_text || format.DASH,
         el('span', {class: 'whole'}, result.value_text ? where(result) : '')];
    const withReason = (result, step) => ({
      row: row(result, step),
      reason: [criterion.added ? 'added for the target rate' : '', result.reason].filter((one) => one).join('; ')
    });
    if (criterion.steps.length === 0)
      return [withReason(criterion, criterion.step ? String(criterion.step) : format.DASH)];
    return criterion.steps.map((result) => withReason(result, result.step ? String(result.step) : 'run'));
  };

  // The reasons beside the primary cause: of INCONCLUSIVE that is the first of them.
  const otherReasons = (judged) => (judged.outcome === 'inconclusive' ? judged.reasons.slice(1) : judged.reasons);

  // The lost hosts that the verdict's reasons do not name; an interrupt explains what is missing.
  const lostBesides = (report) =>
      (report.run.state === 'interrupted' ?
           [] :
           report.hosts.filter(
               (host) => host.lost &&
                   !(report.verdict ? report.verdict.reasons : [])
                        .some((reason) => reason.startsWith(host.label + ' was lost'))));

  const verdict = (report) => {
    const {verdict: judged} = report;
    const [tone, sign, word] = plimsoll.verdictOf(judged ? judged.outcome : 'done');
    const lines = [];
    for (const reason of judged ? otherReasons(judged) : []) lines.push(el('p', {}, reason));
    for (const host of lostBesides(report)) {
      lines.push(el('p', {}, host.label + ' was lost at ' + format.timeOfDay(host.lost.at) + ': ' + host.lost.reason));
    }
    for (const warning of (judged && judged.warnings) || []) lines.push(el('p', {class: 'warning'}, warning));
    const notes = model.noteCount(report);
    if (notes > 0) {
      lines.push(
          el('p', {}, 'Read the ', el('a', {href: '#notes'}, notes === 1 ? 'note' : format.count(notes) + ' notes'),
             ' before the figures.'));
    }
    const criteria = judged ? judged.criteria : [];
    const rows = criteria.flatMap(criterionRows);
    const {answer} = plimsoll.kindOf(report);
    if (judged && judged.remark) lines.unshift(el('p', {}, el('strong', {}, judged.remark)));
    return el(
        'section', {class: 'verdict ' + tone, id: 'verdict', 'aria-labelledby': 'verdict-title'},
        el('div', {class: 'outcome'}, el('span', {class: 'sign', 'aria-hidden': 'true'}, sign),
           el('h2', {id: 'verdict-title'}, el('span', {class: 'unseen'}, 'Verdict: '), word),
           judged && judged.outcome === 'done' ? el('span', {class: 'soft'}, ' (no criteria)') : null,
           judged && judged.scope ? el('span', {}, ' ' + judged.scope) : null,
           judged && judged.cause ? el('span', {class: 'cause'}, judged.cause) : null),
        el('div', {class: 'because'}, answer ? el('p', {class: 'answer'}, el('strong', {}, answer(report))) : null,
           rows.length === 0 ? null :
                               plimsoll.table(
                                   'Criteria',
                                   [
                                     {title: 'Result', text: true}, {title: 'Criterion', text: true}, {title: 'Step'},
                                     {title: 'Worst value', text: true}, {title: 'Where', text: true}
                                   ],
                                   rows.map((one) => one.row), [], rows.map((one) => one.reason)),
           lines));
  };

  const card = (title, value, unit, more) =>
      el('div', {class: 'card'}, el('dt', {}, title in plimsoll.TERMS ? plimsoll.term(title) : title),
         el('dd', {}, el('span', {class: 'big'}, value), unit ? el('span', {class: 'unit'}, unit) : null,
            more ? el('span', {class: 'more words'}, plimsoll.breakable(more)) : null));

  const percentileCard = (title, latency, name, operations) => {
    const text = model.percentile(latency, name, format.time);
    const [value, unit] = text.split(' ');
    return card(title, value, unit, text === format.DASH ? 'too few ' + operations : null);
  };

  // Steadiness and fairness, in a sentence or two.
  const remarks = (step) => {
    const {trend, fairness} = step.step;
    const {main} = plimsoll.words;
    // In a step that reads as well, fairness is about the writes.
    const ofWrites = step.reads ? ' of the writes' : '';
    const signed = (value) => (value > 0 ? '+' : '') + format.fixed(value, 1) + ' %';
    const lines = [];
    if (trend) {
      lines.push([
        trend.steady ? 'Steady' : 'Not steady',
        ' by SNIA\u2019s rule: over five periods of ' + format.length(trend.stretch_ns) + ', IO/s vary by ' +
            format.fixed(trend.range_percent, 1) + ' % (limit 20 %) and drift by ' +
            format.fixed(trend.slope_percent, 1) + ' % (limit 10 %)'
      ]);
      lines.push([
        'From the first to the last third',
        ': IO/s ' + signed(trend.iops_change_percent) + ', mean latency ' + signed(trend.avg_change_percent)
      ]);
    }
    if (fairness) {
      const parts = [];
      if (fairness.hosts > 0) parts.push('hosts ' + format.fixed(fairness.hosts, 3));
      if (fairness.queue_managers > 0) parts.push('queue managers ' + format.fixed(fairness.queue_managers, 3));
      if (parts.length > 0)
        lines.push(['Fairness' + ofWrites, main(' by Jain\u2019s index (1: all wrote equally): ') + parts.join(', ')]);
    }
    return lines;
  };

  // Makes the cards of one operation in a scope. `operation`: "write"; `known`: a slow one, if any; `target`: what to
  // say of the target rate.
  const operationCards = (scope, operation, known, target) => {
    const {rate, bandwidth} = scope;
    // The longest response time may be that of an operation that was not issued: `known` is another one then.
    const slowest = known && (!rate || known.response_ns === rate.response.max_ns) ? known : null;
    // What a caller experienced; without a target rate it is the service time.
    const latency = felt(scope);
    const what = rate ? 'Response time, ' : 'Service time, ';
    const operations = operation + 's';
    const list = [
      card('Throughput', format.rate(scope.iops), 'IO/s', target),
      card(
          'Bandwidth', format.fixed(scope.mb_per_second, 2), 'MB/s',
          bandwidth && bandwidth.seconds > 0 ?
              'slowest second ' + format.fixed(bandwidth.min_bytes_per_second / 1e6, 2) :
              null),
      percentileCard(what + 'median', latency, 'p50', operations),
      percentileCard(what + 'p99', latency, 'p99', operations),
      percentileCard(what + 'p99.9', latency, 'p99_9', operations),
    ];
    if (rate) list.push(percentileCard('Service time, p99', scope.latency, 'p99', operations));
    const [longest, longestUnit] = latency.count > 0 ? format.time(latency.max_ns).split(' ') : [format.DASH, ''];
    list.push(card(
        'Slowest ' + operation + ', ' + (rate ? 'response' : 'service') + ' time', longest, longestUnit,
        slowest ? model.writerName(slowest.host, slowest.qm) +
                (slowest.start ? ' at ' + format.timeOfDay(slowest.start) : '') :
                  null));
    return list;
  };

  // Writes and reads beside one another, each with its colour in the charts.
  const bothOperations = (step, known) => {
    const {cluster} = step;
    const reads = step.readsOf(cluster);
    const part = ({name, color}, cards) =>
        el('div', {}, el('h3', {}, model.operationMark({name: name[0].toUpperCase() + name.slice(1), color})),
           cards.length > 0 ? el('dl', {class: 'cards'}, cards) : el('p', {class: 'nothing'}, 'No data.'));
    return el(
        'div', {class: 'pair operations'}, part(model.OPERATIONS.writes, operationCards(cluster, 'write', known, null)),
        part(model.OPERATIONS.reads, reads ? operationCards(reads, 'read', reads.slowest, null) : []));
  };

  const cards = (step) => {
    const {cluster, step: report} = step;
    const {main} = plimsoll.words;
    if (cluster === null) return [el('p', {class: 'nothing'}, main('No writes were measured in this step.'))];
    const {rate} = cluster;
    const known = rate ? (report.response ? report.response.slowest : [])[0] : cluster.slowest;
    const target = rate ? (rate.held ? 'target ' : 'target rate missed: ') + format.rate(rate.asked_iops) : null;
    const list = step.reads ? [] : operationCards(cluster, main('write'), known, target);
    if (step.reads && rate) {
      const reads = step.readsOf(cluster);
      list.push(card(
          'Writes and reads together', reads ? format.rate(cluster.iops + reads.iops) : format.DASH, 'IO/s', target));
    }
    if (report.start_skew) {
      const [skew, unit] = format.time(report.start_skew.skew_ns).split(' ');
      list.push(card(
          'Start skew', skew, unit,
          report.start_skew.error_ns > 0 ? '\u00b1 ' + format.time(report.start_skew.error_ns) : null));
    }
    if (report.stalls) {
      list.push(card(
          'Stalls', format.count(report.stalls.count), null,
          'threshold ' + plimsoll.stalls.threshold(report.stalls, step)));
    }
    return [step.reads ? bothOperations(step, known) : null, list.length > 0 ? el('dl', {class: 'cards'}, list) : null];
  };

  const keyFigures = (step) => plimsoll.section(
      'key', step.title(),
      step.step.cut_short ? el('p', {class: 'warning'}, 'Ended early: ' + step.step.cut_short) : null, cards(step),
      remarks(step).map(([head, rest]) => el('p', {class: 'remark'}, el('strong', {}, head), plimsoll.explain(rest, [
                          'SNIA\u2019s rule', 'Jain\u2019s index'
                        ]))));

  // What callers experienced: the response time where there is a target rate, else the service time.
  const felt = (scope) => (scope.rate ? scope.rate.response : scope.latency);

  // What steps differ in: the title of the axis, the value of a step, its text on the axis and in the name of a line,
  // and its place on the axis where that is not its place in the list.
  const BLOCKS = {
    title: 'Block',
    by: 'block size',
    of: (step) => step.block_size_bytes,
    text: format.size,
    place: Math.log2,
    at: (place) => format.size(Math.round(2 ** place)),
  };
  // A closed loop is the most that the storage can do.
  const ratesOf = ({all}) => ({
    title: all('Writes per second offered, of each queue manager'),
    head: 'Rate per queue manager',
    by: 'rate',
    of: (step) => step.rate_per_second || Infinity,
    text: (rate) => (rate === Infinity ? 'closed loop' : format.targetRate(rate)),
    name: (rate) => (rate === Infinity ? 'closed loop' : format.targetRate(rate) + all(' writes/s')),
  });
  const QMS = {
    title: 'Queue managers per host',
    head: 'Queue managers per host',
    by: 'number of queue managers',
    of: (step) => step.queue_managers,
    text: format.count,
    name: (count) => format.plural(count, 'queue manager'),
  };
  const valuesOf = (one, steps) => [...new Set(steps.map(({step}) => one.of(step)))].sort((a, b) => a - b);

  // What a sweep goes through, that with the most values first; nothing in other runs.
  const sweptIn = (steps) => {
    const {plan} = steps[0].report;
    const {rate_per_second: rates, qm} = (plan && plan.sweep) || {rate_per_second: [], qm: []};
    const swept = [...(rates.length > 0 ? [ratesOf(plimsoll.words)] : []), ...(qm.length > 0 ? [QMS] : [])];
    return qm.length > rates.length ? swept.reverse() : swept;
  };

  // Block sizes, or the loads of a sweep, beside one another: a table, throughput and latency as charts. Nothing where
  // there is but one step.
  const sweep = (steps) => {
    const shown = steps.filter((step) => step.cluster !== null);
    if (shown.length < 2) return {element: null, charts: []};
    const swept = sweptIn(shown);
    const [axis] = [...swept, BLOCKS];
    const {columns} = plimsoll;
    const services = columns.summary('throughput', 'latency');
    const responses = columns.summary('throughput', 'response');
    const paced = shown.some((step) => step.cluster.rate);
    const mixed = shown.some((step) => step.reads);
    const row = (step, scope, operation) =>
        [model.blockText(step.block_size_bytes), String(step.number), ...swept.map((one) => one.text(one.of(step))),
         ...(mixed ? [model.operationMark(operation)] : []),
         ...(scope.rate ? responses : services).cells(scope, (ns) => ns)];
    const rows = shown.flatMap((one) => {
      const reads = one.readsOf(one.cluster);
      return [
        row(one.step, one.cluster, model.OPERATIONS.writes),
        ...(reads ? [row(one.step, reads, model.OPERATIONS.reads)] : [])
      ];
    });
    const table = plimsoll.table(
        'Cluster, by ' + axis.by + '; ' + (paced ? 'response' : 'service') + ' time',
        [
          {title: 'Block', head: true}, {title: 'Step'}, ...swept.map(({head}) => ({title: head})),
          ...(mixed ? [{title: 'Operation', text: true}] : []), ...services.heads
        ],
        rows);
    const values = valuesOf(axis, shown);
    if (values.length < 2) return {element: plimsoll.section('sweep', 'All steps', table), charts: []};
    const charts = sweepCharts(shown, axis, values, swept);
    const element = plimsoll.section(
        'sweep', 'By ' + axis.by, table, el('div', {class: 'pair'}, charts.map((chart) => chart.element)));
    return {element, charts};
  };

  // Charts over the values of `axis`, with a line for each combination of what else steps differ in.
  const sweepCharts = (steps, axis, values, swept) => {
    const others = [BLOCKS, ...swept].filter((one) => one !== axis && valuesOf(one, steps).length > 1);
    const repeated = valuesOf({of: (step) => step.repetition}, steps).length > 1;
    const lineOf = ({step}) => [...others.map((one) => (one.name || one.text)(one.of(step))),
                                ...(repeated ? ['repetition ' + step.repetition] : [])]
                                   .join(', ');
    const names = [...new Set(steps.map(lineOf))];
    const place = axis.place || ((value) => values.indexOf(value));
    const textAt = axis.at || ((at) => axis.text(values[Math.min(Math.max(Math.round(at), 0), values.length - 1)]));
    const x = values.map(place);
    const valueOf = (value, name, get, scopeOf) => {
      const found = steps.find((step) => axis.of(step.step) === value && lineOf(step) === name);
      const scope = found === undefined ? null : scopeOf(found);
      return scope === null || felt(scope).count === 0 ? null : get(scope);
    };
    // Several loads have colours of their own; those of their latencies that have dashes are not shown at first.
    const own = others.length > 0;
    const ofCluster = (step) => step.cluster;
    const lines = (what, color, get, dash, scopeOf = ofCluster) =>
        names.map((name, at) => ({
                    name: name === '' ? what : what + ', ' + name,
                    color: own ? model.color(at) : color,
                    dash: own || scopeOf !== ofCluster ? dash : model.dash(8 * at),
                    hidden: own && dash !== null,
                    values: values.map((value) => valueOf(value, name, get, scopeOf)),
                  }));
    // Makes the lines of the writes and, where steps also read, those of the reads, which all have dashes.
    const mixed = steps.some((step) => step.reads);
    const {writes, reads} = model.OPERATIONS;
    const ofReads = (step) => step.readsOf(step.cluster);
    const ofBoth = (what, color, get, dash = null, ofRead = [6, 3]) =>
        [...lines(what + (mixed ? ' of the writes' : ''), color, get, dash),
         ...(mixed ? lines(what + ' of the reads', reads.color, get, ofRead, ofReads) : [])];
    const chart = (options) => new plimsoll.Chart({
      x,
      points: true,
      height: 200,
      xTitle: axis.title,
      range: new plimsoll.Range(x[0] - 0.3, x[x.length - 1] + 0.3, textAt, 1),
      xText: textAt,
      xTicks: () => values.map((value) => ({v: place(value), label: axis.text(value)})),
      ...options,
    });
    const known = (id) => (cluster) => (plimsoll.columns.isKnown(felt(cluster), id) ? felt(cluster)[id + '_ns'] : null);
    const what = steps.some((step) => step.cluster.rate) ? 'response time' : 'service time';
    const p50 = ofBoth('p50', 'p50', known('p50'), [2, 2], [2, 5]);
    const p99 = ofBoth('p99', 'p99', known('p99'));
    const max = ofBoth('max', 'max', (cluster) => felt(cluster).max_ns, [8, 3], [8, 3, 2, 3]);
    const throughput = swept.length > 0 ?
        {
          name: 'IO/s by ' + axis.by,
          yTitle: 'IO/s',
          yText: (v) => format.rate(v) + ' IO/s',
          log: true,
          series: ofBoth('IO/s', writes.color, (cluster) => cluster.iops)
        } :
        {
          name: 'Bandwidth by block size',
          yTitle: 'MB/s',
          yText: (v) => format.fixed(v, 2) + ' MB/s',
          series: ofBoth('bandwidth', writes.color, (cluster) => cluster.mb_per_second)
        };
    return [
      chart({...throughput, yTick: format.shortCount}),
      chart({
        name: (what === 'response time' ? 'Response' : 'Service') + ' time by ' + axis.by,
        yTitle: what,
        yTick: format.shortTime,
        yText: format.time,
        log: true,
        series: own ? [...p99, ...p50, ...max] : [...p50, ...p99, ...max]
      }),
    ];
  };

  return {heading, verdict, otherReasons, lostBesides, keyFigures, sweep, criterionRows, felt, where};
})();
