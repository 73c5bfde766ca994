// The step's figures: a row for the cluster, each storage, host and queue manager, as in report.txt.
'use strict';

plimsoll.figures = (step) => {
  const {el, format, model} = plimsoll;
  const unit = step.unit();
  const inUnit = (ns) => format.inUnit(ns, unit.ns);
  const head = [{title: 'Scope', head: true, name: true}, {title: 'QM', text: true}];
  const {columns} = plimsoll;
  const responses = columns.of('rate', 'response');
  const services = columns.of('throughput', 'latency');
  const counts = columns.of('writes', 'time', 'bandwidth');

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

  const table = (caption, {heads, cells}, chosen) => plimsoll.table(
      caption, [...head, ...heads], chosen.map((scope) => [name(scope), qm(scope), ...cells(scope, inUnit)]),
      chosen.map(mark));
  const makeTables = (chosen) => {
    const tables = [];
    const paced = chosen.filter((scope) => scope.rate);
    if (paced.length > 0) {
      tables.push(table('Response time in ' + unit.name + ', from the scheduled start', responses, paced));
    }
    tables.push(table(
        'Service time of the write call' + (step.parts.length > 0 ? ' with its sync' : '') + ' in ' + unit.name +
            '; \u2013: too few writes for this percentile',
        services, chosen));
    for (const part of step.parts) {
      const own = chosen.map((scope) => step.partOf(part, scope)).filter((one) => one);
      tables.push(table('Part of the service time: ' + part.name + ', in ' + unit.name, columns.of('latency'), own));
    }
    tables.push(plimsoll.tableBehind(
        'Table: counts, and MB/s over whole seconds',
        () => table('Counts, and MB/s over whole seconds', counts, chosen)));
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
