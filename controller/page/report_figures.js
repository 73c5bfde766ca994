// The step's figures: a row for the cluster, each storage, host and queue manager, as in report.txt.
'use strict';

plimsoll.figures = (step) => {
  const {el, format, model} = plimsoll;
  const unit = step.unit();
  const inUnit = (ns) => format.inUnit(ns, unit.ns);
  const DASH = format.DASH;

  const latencies = (latency) => {
    const some = latency && latency.count > 0;
    const percentile = (name) => model.percentile(latency, name, inUnit);
    return [
      some ? inUnit(latency.min_ns) : DASH, some ? inUnit(latency.avg_ns) : DASH, some ? inUnit(latency.wavg_ns) : DASH,
      percentile('p50'), percentile('p90'), percentile('p99'), percentile('p99_9'), percentile('p99_99'),
      some ? inUnit(latency.max_ns) : DASH
    ];
  };
  const head = [{title: 'Scope', head: true}, {title: 'QM', text: true}];
  const latencyHead = ['min', 'avg', 'wavg', 'p50', 'p90', 'p99', 'p99.9', 'p99.99', 'max'].map((title) => ({title}));

  // The scopes of the text report's tables, those of the whole first.
  const storages = step.storages.length > 1 ? step.storages : [];
  const scopes = [step.cluster, ...storages].filter((scope) => scope !== null);
  for (const host of step.hosts) {
    scopes.push(host);
    const qms = step.qms.get(host.host);
    if (qms.length > 1) scopes.push(...qms);
  }
  const mark = (scope) => (scope.kind === 'cluster' ? 'strong' : scope.kind === 'qm' ? 'sub' : null);
  const name = (scope) => (scope.kind === 'qm' ? scope.host : model.nameOf(scope)) + (scope.data_until ? ' *' : '');
  const qm = (scope) => (scope.kind === 'qm' ? String(scope.qm) : 'all');

  const bandwidth = (scope, value) =>
      (scope.bandwidth && scope.bandwidth.seconds > 0 ? format.fixed(value / 1e6, 2) : DASH);
  const between = (scope) => {
    const all = scope.latency.sum_ns + scope.time_between_writes_ns;
    return all > 0 ? format.fixed(100 * scope.time_between_writes_ns / all, 2) : DASH;
  };

  const makeTables = (chosen) => {
    const marks = chosen.map(mark);
    const tables = [];
    const paced = chosen.filter((scope) => scope.rate);
    if (paced.length > 0) {
      tables.push(plimsoll.table(
          'Response time in ' + unit.name + ', from the scheduled start',
          [...head, {title: 'target rate', text: true}, {title: 'not issued'}, {title: 'lag'}, ...latencyHead],
          paced.map(
              (scope) =>
                  [name(scope), qm(scope), scope.rate.held ? 'held' : 'missed', format.count(scope.rate.unserved),
                   inUnit(scope.rate.max_behind_ns), ...latencies(scope.rate.response)]),
          paced.map(mark)));
    }
    tables.push(plimsoll.table(
        'Service time of the write call in ' + unit.name + '; \u2013: too few writes for this percentile',
        [...head, {title: 'IO/s'}, {title: 'MB/s'}, ...latencyHead],
        chosen.map(
            (scope) =>
                [name(scope), qm(scope), format.rate(scope.iops), format.fixed(scope.mb_per_second, 2),
                 ...latencies(scope.latency)]),
        marks));
    tables.push(plimsoll.tableBehind(
        'Table: counts, and MB/s over whole seconds',
        () => plimsoll.table(
            'Counts, and MB/s over whole seconds',
            [
              ...head, {title: 'writes'}, {title: 'bytes'}, {title: 'idle %'}, {title: 'max MB/s'}, {title: 'min MB/s'},
              {title: 'avg MB/s'}
            ],
            chosen.map(
                (scope) =>
                    [name(scope), qm(scope), format.count(scope.writes), format.count(scope.bytes), between(scope),
                     bandwidth(scope, scope.bandwidth.max_bytes_per_second),
                     bandwidth(scope, scope.bandwidth.min_bytes_per_second),
                     bandwidth(scope, scope.bandwidth.avg_bytes_per_second)]),
            marks)));
    return tables;
  };

  // Many queue managers would hide the hosts.
  const wide = scopes.filter((scope) => scope.kind !== 'qm');
  const many = scopes.length > 24 && wide.length < scopes.length;
  const parts = makeTables(many ? wide : scopes);
  if (many) {
    const behind = plimsoll.tableBehind('Table: every queue manager', () => el('div', {}, makeTables(scopes)));
    behind.id = 'every-qm';
    parts.push(behind);
  }
  for (const scope of step.hosts) {
    if (scope.data_until)
      parts.push(
          el('p', {class: 'remark'},
             '* ' + scope.host + ': data end at ' + format.timeOfDay(scope.data_until) +
                 (scope.data_until_reason ? '; ended early: ' + scope.data_until_reason : '')));
  }
  const inFlight = step.step.in_flight.filter((write) => write.age_ns >= 100e6).slice(0, 20);
  for (const write of inFlight) {
    parts.push(
        el('p', {class: 'remark'},
           'In flight at the end of the data: ' + plimsoll.model.writerName(write.host, write.qm) + ', for ' +
               format.time(write.age_ns) + (write.path ? ', to ' + write.path : '')));
  }
  return plimsoll.section('figures', 'Figures', parts);
};
