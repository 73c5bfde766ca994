// The part of a search's page: the limit, what it is, and the load-latency curve.
'use strict';

plimsoll.limit = (() => {
  const {el, format} = plimsoll;

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
  const unit = (limit) => (overRate(limit) ? 'writes/s per queue manager' : 'queue managers per host');
  const load = (limit, value) => (overRate(limit) ? format.rate(value) : format.count(value));

  const isKnown = (latency, member) =>
      latency && latency.max_ns > 0 && !latency.thin.includes(member.replace('_ns', ''));

  // The curve's points, with rising throughput: a load beyond the limit may carry no more than one within it.
  const pointsOf = (limit) => limit.points.filter((point) => point.curve && point.iops > 0)
                                  .sort((a, b) => a.iops - b.iops)
                                  .filter((point, at, all) => at === 0 || point.iops > all[at - 1].iops);

  // An upright line with a word, at a load's throughput.
  const line = (x, word, color, row) => (context, area, toX) => {
    const at = toX(x);
    if (at < area.x || at > area.x + area.w) return;
    context.save();
    context.strokeStyle = plimsoll.token(color);
    context.fillStyle = plimsoll.token(color);
    context.lineWidth = 1.5;
    context.setLineDash(word === 'limit' ? [] : [5, 4]);
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

  const iopsAt = (points, value) => {
    const found = points.find((point) => point.load === value);
    return found ? found.iops : null;
  };

  const curve = (limit, hosts) => {
    const points = pointsOf(limit);
    if (points.length === 0) return null;
    const values = (latencies, member) =>
        latencies.map((latency) => (isKnown(latency, member) ? latency[member] : null));
    const series = FIGURES.map(([name, member, color, dash]) => ({
                                 name: 'all hosts, ' + name,
                                 values: values(points.map((point) => point.cluster), member),
                                 color,
                                 dash,
                                 whole: true,
                               }));
    if (hosts > 1) {
      series.push({
        name: 'worst host, p99',
        values: values(points.map((point) => point.worst), 'p99_ns'),
        color: 's4',
        dash: [4, 2],
        help: 'The host with the highest p99 at each load',
      });
    }
    const last = points[points.length - 1].iops;
    const limitAt = limit.limit > 0 ? iopsAt(points, limit.limit) : null;
    const kneeAt = limit.knee > 0 ? iopsAt(points, limit.knee) : null;
    const text = (x) => {
      const point = points.find((one) => one.iops === x);
      return format.rate(x) + ' writes/s' + (point ? ', ' + load(limit, point.load) + ' ' + unit(limit) : '');
    };
    return new plimsoll.Chart({
      name: 'Latency by load',
      x: points.map((point) => point.iops),
      range: new plimsoll.Range(0, last * 1.02, (at) => (at === 0 ? '0' : format.rate(at)), last / 20),
      xTitle: 'Writes per second of all hosts',
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
      points: true,
      log: true,
      height: 320,
      underlays: [
        limitAt === null ? null : line(limitAt, 'limit', 'bad', 0),
        kneeAt === null || kneeAt === limitAt ? null : line(kneeAt, 'knee', 'soft', 1),
      ],
      yTitle: overRate(limit) ? 'response time' : 'service time',
      yTick: format.shortTime,
      yText: format.time,
    });
  };

  const facts = (limit) => {
    const rows = [];
    const add = (name, value) => rows.push([name, value]);
    const bound = limit.cause === 'load_generator' ? 'at least ' : '';
    add('Limit',
        limit.limit > 0 ? bound + load(limit, limit.limit) + ' ' + unit(limit) + ', ' + format.rate(limit.iops) +
                ' writes/s of all hosts, ' + (limit.held ? 'held' : 'not held') :
                          'no load was shown to meet the criteria');
    if (limit.limit > 0 || limit.exceeded_at !== undefined) {
      add('Interval',
          limit.exceeded_at === undefined ?
              'from ' + load(limit, limit.limit) + '; no load above was shown to exceed the criteria' :
              (limit.limit > 0 ? 'from ' + load(limit, limit.limit) + ' to ' : 'below ') +
                  load(limit, limit.exceeded_at) + ' ' + unit(limit));
    }
    if (limit.cause in CAUSES || limit.cause_text) {
      add('Cause', [CAUSES[limit.cause] || 'not reached', limit.cause_text].filter((one) => one).join(': '));
    }
    if (limit.maximum > 0)
      add('Maximum', format.rate(limit.maximum) + ' writes/s per queue manager, without a target rate');
    if (limit.knee > 0)
      add('Knee', load(limit, limit.knee) + ' ' + unit(limit) + ': most writes/s relative to their mean latency');
    if (limit.ended) add('Ended', limit.ended);
    return plimsoll.table(
        'Result of the search', [{title: 'Figure', head: true}, {title: 'Value', text: true, long: true}], rows);
  };

  const steps = (limit) => plimsoll.table(
      'Steps of the search',
      [
        {title: 'Step'}, {title: 'Purpose', text: true},
        {title: overRate(limit) ? 'Rate per queue manager' : 'Queue managers'}, {title: 'IO/s'},
        {title: 'p99', time: 'latency'}, {title: 'Criteria', text: true}, {title: 'Decided by', text: true}
      ],
      limit.points.map(
          (point) =>
              [String(point.step), point.purpose, point.load > 0 ? load(limit, point.load) : format.DASH,
               format.rate(point.iops), isKnown(point.cluster, 'p99_ns') ? point.cluster.p99_ns : null,
               STATES[point.state] || 'undecided', [point.criterion, point.value].filter((one) => one).join(': ')]));

  // The parts of the page, and the chart to draw once they are in it.
  const sections = (report) => {
    const {limit} = report;
    if (!limit) return {elements: [], charts: []};
    const chart = curve(limit, report.hosts.length);
    const parts = [facts(limit)];
    if (chart !== null) {
      parts.push(el('div', {class: 'controls'}, chart.options.range.toolbar('load')), chart.element);
    }
    parts.push(plimsoll.tableBehind('Table: Steps of the search', () => steps(limit)));
    return {elements: [plimsoll.section('limit', 'Highest load', ...parts)], charts: chart === null ? [] : [chart]};
  };

  return {sections};
})();
