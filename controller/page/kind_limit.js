// The part of a search's page: the limit, what it is, and the load-latency curve.
'use strict';

(() => {
  const {el, format} = plimsoll;
  const {isKnown} = plimsoll.columns;

  const CAUSES = {
    storage: 'the storage',
    host_path: 'one host\u2019s path',
    load_generator: 'the load generator',
    undetermined: 'undetermined',
  };
  const STATES = {meets: 'met', exceeds: 'exceeded'};
  // Name, member, colour and dashes of each figure of the curve.
  const FIGURES = [
    ['p50', 'p50_ns', 's1', null], ['p99', 'p99_ns', 'ink', null], ['p99.9', 'p99_9_ns', 's2', [8, 3]],
    ['max', 'max_ns', 's3', [2, 3]]
  ];

  const overRate = (limit) => limit.over === 'rate';
  const overClients = (limit) => limit.over === 'clients';
  const overLoadFactor = (limit) => limit.over === 'load_factor';
  const unit = (limit) =>
      (overRate(limit)           ? plimsoll.words.all('writes/s per queue manager') :
           overClients(limit)    ? 'clients per queue manager' :
           overLoadFactor(limit) ? 'times the recorded load' :
                                   'queue managers per host');
  // What is counted by the second. `of_commits`: throughput and latencies of the search are those of commits.
  const counted = (limit) => (limit.of_commits ? 'commits/s' : plimsoll.words.main('writes/s'));
  const load = (limit, value) =>
      (overRate(limit) || overLoadFactor(limit) ? format.targetRate(value) : format.count(value));

  const pointsOf = (limit) =>
      limit.points.filter((point) => point.curve && point.iops > 0).sort((a, b) => a.load - b.load);

  const isExceeded = (point) => point.state === 'exceeds';

  // The limit of each criterion about the curve's latency, in nanoseconds: [text, limit].
  const UNITS = {ns: 1, us: 1e3, '\u00b5s': 1e3, ms: 1e6, s: 1e9, m: 6e10};
  const OF_WRITES = /^\s*(?:service_)?(?:p[\d.]+|min|max|w?avg)[^<:]*[<:]=?\s*([\d.]+)\s*(\S+)\s*$/i;
  const OF_COMMITS = /^\s*commit_(?:p[\d.]+|min|max|w?avg)[^<:]*[<:]=?\s*([\d.]+)\s*(\S+)\s*$/i;
  const limitsOf = (criteria, ofCommits) =>
      (criteria || [])
          .map((text) => [text, (ofCommits ? OF_COMMITS : OF_WRITES).exec(text)])
          .filter(([, found]) => found && found[2].toLowerCase() in UNITS)
          .map(([text, found]) => [text, Number(found[1]) * UNITS[found[2].toLowerCase()]]);

  // An upright line with a word, at a load's throughput.
  const line = (x, word, color, row) => (context, area, toX) => {
    const at = toX(x);
    if (at < area.x || at > area.x + area.w) return;
    context.save();
    context.strokeStyle = plimsoll.token(color);
    context.fillStyle = plimsoll.token(color);
    context.lineWidth = 1.5;
    context.setLineDash(word.startsWith('limit') ? [] : [5, 4]);
    context.beginPath();
    context.moveTo(at, area.y);
    context.lineTo(at, area.y + area.h);
    context.stroke();
    context.font = '12px sans-serif';
    const right = at + 6 + context.measureText(word).width > area.x + area.w;
    context.textAlign = right ? 'right' : 'left';
    context.fillText(word, at + (right ? -5 : 5), area.y + 12 + 15 * row);
    context.restore();
  };

  // A cross at each figure of the loads that exceed the criteria.
  const crosses = (points) => (context, area, toX, toY) => {
    context.save();
    context.strokeStyle = plimsoll.token('bad');
    context.lineWidth = 1.5;
    context.beginPath();
    for (const point of points.filter(isExceeded)) {
      const x = toX(point.load);
      if (x < area.x || x > area.x + area.w) continue;
      for (const [, member] of FIGURES) {
        if (!isKnown(point.cluster, member)) continue;
        const y = toY(point.cluster[member]);
        context.moveTo(x - 5, y - 5);
        context.lineTo(x + 5, y + 5);
        context.moveTo(x - 5, y + 5);
        context.lineTo(x + 5, y - 5);
      }
    }
    context.stroke();
    context.restore();
  };

  // Positions and points, with a row without a point (null) where the line ends: between loads that exceed the criteria
  // and others.
  const rowsOf = (points) => {
    const rows = [];
    points.forEach((point, at) => {
      const x = point.load;
      if (at > 0 && isExceeded(point) !== isExceeded(points[at - 1])) rows.push({x: x * (1 - 1e-6), point: null});
      rows.push({x, point});
    });
    return rows;
  };

  const curve = (limit, hosts, criteria) => {
    const {all} = plimsoll.words;
    const points = pointsOf(limit);
    if (points.length === 0) return null;
    const rows = rowsOf(points);
    // Not a number: the line ends there.
    const values = (scope, member) => rows.map(
        ({point}) =>
            (point === null                    ? NaN :
                 isKnown(point[scope], member) ? point[scope][member] :
                                                 null));
    const series = FIGURES.map(([name, member, color, dash]) => ({
                                 name: 'all hosts, ' + name,
                                 values: values('cluster', member),
                                 color,
                                 dash,
                                 whole: true,
                               }));
    if (hosts.length > 1) {
      for (const [name, member, , dash] of FIGURES) {
        series.push({
          name: 'worst host, ' + name,
          values: values('worst', member),
          color: 's4',
          dash: dash || [4, 2],
          hidden: member !== 'p99_ns',
          help: 'The host with the highest p99 at each load',
        });
      }
    }
    for (const [text, ns] of limitsOf(criteria, limit.of_commits)) {
      series.push({name: 'limit of ' + text, values: rows.map(() => ns), color: 'bad', dash: [5, 4]});
    }
    const last = points[points.length - 1].load;
    const placeIn = (load) => (load > 0 && points.some((point) => point.load === load) ? load : null);
    const limitAt = placeIn(limit.limit);
    const kneeAt = placeIn(limit.knee);
    const both = limitAt !== null && limitAt === kneeAt;
    const text = (x, row) => {
      const {point} = rows[row];
      if (point === null) return 'between loads that meet and exceed the criteria';
      return load(limit, point.load) + ' ' + unit(limit) + ', ' + format.rate(point.iops) + ' ' + counted(limit) +
          ' of all hosts, ' +
          (isExceeded(point) ? 'criteria exceeded' : 'criteria ' + (STATES[point.state] || 'undecided'));
    };
    return new plimsoll.Chart({
      name: 'Latency by load',
      x: rows.map((row) => row.x),
      range: new plimsoll.Range(0, last * 1.02, (at) => (at === 0 ? '0' : format.rate(at)), last / 20),
      xTitle: overRate(limit)   ? all('Writes per second offered, of each queue manager') :
          overClients(limit)    ? 'Clients per queue manager' :
          overLoadFactor(limit) ? 'Load factor: times the recorded load' :
                                  'Queue managers per host',
      xText: text,
      xTicks: (from, to, pixels) => {
        const most = Math.max(2, Math.floor(pixels / 80));
        const power = 10 ** Math.floor(Math.log10(to - from));
        const step =
            [0.1, 0.2, 0.5, 1, 2, 5].map((part) => part * power).find((size) => (to - from) / size <= most) || power;
        const ticks = [];
        for (let at = Math.ceil(from / step) * step; at <= to; at += step)
          ticks.push({v: at, label: format.shortCount(at)});
        return ticks;
      },
      series,
      tableRows: new Set(rows.map((_, row) => row).filter((row) => rows[row].point !== null)),
      points: true,
      log: true,
      height: 320,
      underlays: [
        limitAt === null ? null : line(limitAt, both ? 'limit, knee' : 'limit', 'bad', 0),
        kneeAt === null || both ? null : line(kneeAt, 'knee', 'soft', 1),
        points.some(isExceeded) ? crosses(points) : null,
      ],
      remark: points.some(isExceeded) ? 'Crosses: loads that exceed the criteria.' : null,
      yTitle: overRate(limit) ? all('response time, by writes/s per queue manager') :
                                (limit.of_commits ? 'commit latency (simulated), by ' : 'service time, by ') +
              (overLoadFactor(limit) ? 'load factor' : unit(limit)),
      yTick: format.shortTime,
      yText: (value) => (Number.isNaN(value) ? format.DASH : format.time(value)),
    });
  };

  const facts = (limit, plan, reasons) => {
    const rows = [];
    const add = (name, value) => rows.push([name, value]);
    const bound = limit.cause === 'load_generator' ? 'at least ' : '';
    add('Limit',
        limit.limit > 0 ? bound + load(limit, limit.limit) + ' ' + unit(limit) + ', ' + format.rate(limit.iops) + ' ' +
                counted(limit) + ' of all hosts, ' + (limit.held ? 'held' : 'not held') :
                          'no load was shown to meet the criteria');
    if (limit.limit > 0 || limit.exceeded_at !== undefined) {
      add('Interval',
          limit.exceeded_at === undefined ? 'from ' + load(limit, limit.limit) + '; its upper end is not known' :
                                            (limit.limit > 0 ? 'from ' + load(limit, limit.limit) + ' to ' : 'below ') +
                  load(limit, limit.exceeded_at) + ' ' + unit(limit) +
                  (limit.limit > 0 ? '; ' + load(limit, limit.limit) + ' meets the criteria, ' +
                           load(limit, limit.exceeded_at) + ' exceeds them' :
                                     ', which exceeds the criteria'));
    }
    if (limit.cause in CAUSES || limit.cause_text) {
      // A cause that the verdict has given as its reason is not repeated.
      const told = limit.cause_text && reasons.some((reason) => reason.includes(limit.cause_text));
      add('Cause',
          [CAUSES[limit.cause] || 'not reached', told ? '' : limit.cause_text].filter((one) => one).join(': '));
    }
    if (limit.maximum > 0)
      add('Maximum',
          format.rate(limit.maximum) + ' ' + counted(limit) + ' per queue manager, ' +
              (overClients(limit)        ? 'with ' + format.plural(plan.group_commit.clients, 'client') :
                   overLoadFactor(limit) ? 'at ' + load(limit, plan.group_commit.load_factor) + ' ' + unit(limit) :
                                           'without a target rate'));
    if (limit.knee > 0)
      add('Knee',
          load(limit, limit.knee) + ' ' + unit(limit) + ': most ' + counted(limit) + ' relative to their mean latency');
    if (limit.ended) add('Ended', limit.ended);
    return plimsoll.table(
        'Result of the search', [{title: 'Figure', head: true}, {title: 'Value', text: true, long: true}], rows);
  };

  // "0.62 % (0.41 to 0.93 %, 1 % allowed)": what was measured, and its confidence interval.
  const share = (confidence) => {
    if (!confidence) return format.DASH;
    if (confidence.average_ns !== undefined) {
      return format.time(confidence.average_ns) + ' (' + format.time(confidence.low_ns) + ' to ' +
          format.time(confidence.high_ns) + ', ' + format.time(confidence.allowed_ns) + ' allowed)';
    }
    const number = (percent) => String(Number(percent.toPrecision(2)));
    return number(confidence.beyond_percent) + ' % (' + number(confidence.low_percent) + ' to ' +
        number(confidence.high_percent) + ' %, ' + number(confidence.allowed_percent) + ' % allowed)';
  };

  const beyond = (limit) =>
      (limit.of_commits ? 'Commits beyond the limit, or the average' :
                          plimsoll.words.main('Writes beyond the limit, or the average'));

  const steps = (limit) => plimsoll.table(
      'Steps of the search',
      [
        {title: 'Step'}, {title: 'Purpose', text: true}, {
          title: overRate(limit)    ? 'Rate per queue manager' :
              overClients(limit)    ? 'Clients' :
              overLoadFactor(limit) ? 'Load factor' :
                                      'Queue managers'
        },
        {title: limit.of_commits ? 'Commits/s' : 'IO/s'}, {title: 'p99', time: 'latency'},
        {title: 'Criteria', text: true}, {title: 'Decided by', text: true}, {title: beyond(limit), text: true}
      ],
      limit.points.map(
          (point) =>
              [String(point.step), point.purpose, point.load > 0 ? load(limit, point.load) : format.DASH,
               format.rate(point.iops), isKnown(point.cluster, 'p99_ns') ? point.cluster.p99_ns : null,
               (STATES[point.state] || 'undecided') + (point.not_recovered ? ', storage not recovered' : ''),
               [point.criterion, point.value].filter((one) => one).join(': '), share(point.confidence)]));

  // The parts of the page, and the chart to draw once they are in it.
  const sections = ({report}) => {
    if (!report.limit) return null;
    const limit = {...report.limit, of_commits: Boolean(report.plan.group_commit)};
    const chart = curve(limit, report.hosts, report.plan.criteria);
    const parts = [facts(limit, report.plan, report.verdict ? report.verdict.reasons : [])];
    if (chart !== null) {
      parts.push(el('div', {class: 'controls'}, chart.options.range.toolbar('load')), chart.element);
    }
    parts.push(plimsoll.tableBehind('Table: Steps of the search', () => steps(limit)));
    return {elements: [plimsoll.section('limit', 'Highest load', ...parts)], charts: chart === null ? [] : [chart]};
  };

  // "Step 7 of 21: search, 480 writes/s per queue manager".
  const stepTitle = (report, step) => {
    if (!step.purpose) return null;
    const what = step.rate_per_second ?
        format.rate(step.rate_per_second) + plimsoll.words.all(' writes/s per queue manager') :
        step.queue_managers ? format.plural(step.queue_managers, 'queue manager') + ' per host' :
        step.clients        ? format.plural(step.clients, 'client') + ' per queue manager' :
        step.load_factor    ? format.targetRate(step.load_factor) + ' times the recorded load' :
                              'no target rate';
    return 'Step ' + step.number + ' of ' + report.steps.length + ': ' + step.purpose + ', ' + what;
  };

  plimsoll.kinds.push({
    of: (report) => report.limit,
    title: 'Search for the limit',
    sections,
    stepTitle,
    answerStep: (report) => report.limit.step
  });
})();
