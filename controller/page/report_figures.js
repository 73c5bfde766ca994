// The step's figures: a row for the cluster, each storage, host and queue manager, as in report.txt; where the step
// reads and writes, a row for each of the two.
'use strict';

plimsoll.figures = (step) => {
  const {el, format, model} = plimsoll;
  const unit = step.unit();
  const inUnit = (ns) => format.inUnit(ns, unit.ns);
  const head = [{title: 'Scope', head: true, name: true}, {title: 'QM', text: true}];
  const {columns} = plimsoll;
  const {main} = plimsoll.words;
  const rates = columns.of('rate');
  const responses = step.reads ? columns.of('response') : columns.of('rate', 'response');
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
  // A table of the main operation's figures, where the step reads and writes with a row for the reads below each row.
  const wholeTable = (caption, {heads, cells}, chosen) => {
    if (!step.reads) return table(caption, {heads, cells}, chosen);
    const rows = chosen.flatMap((scope) => {
      const reads = step.readsOf(scope);
      const writes = {...scope, reading_ns: reads?.latency.sum_ns ?? NaN};
      return [[scope, model.OPERATIONS.writes, writes], ...(reads ? [[scope, model.OPERATIONS.reads, reads]] : [])];
    });
    return plimsoll.table(
        caption, [...head, {title: 'Operation', text: true}, ...heads],
        rows.map(([scope, operation,
                   figures]) => [name(scope), qm(scope), model.operationMark(operation), ...cells(figures, inUnit)]),
        rows.map(([scope]) => mark(scope)));
  };
  const makeTables = (chosen) => {
    const tables = [];
    const paced = chosen.filter((scope) => scope.rate);
    if (paced.length > 0) {
      if (step.reads)
        tables.push(table('Target rate, of writes and reads together; lag in ' + unit.name, rates, paced));
      tables.push(wholeTable('Response time in ' + unit.name + ', from the scheduled start', responses, paced));
    }
    const call = main('write call') + (step.parts.length > 0 ? ' with its sync' : '');
    tables.push(wholeTable(
        'Service time of the ' + call + (step.reads ? ', and of the read call,' : '') + ' in ' + unit.name +
            '; \u2013: too few ' + (step.reads ? 'operations' : main('writes')) + ' for this percentile',
        services, chosen));
    for (const part of step.parts) {
      const own = chosen.map((scope) => step.figuresOf(part, scope)).filter((one) => one);
      tables.push(table('Part of the service time: ' + part.name + ', in ' + unit.name, columns.of('latency'), own));
    }
    for (const call of step.calls) {
      const own = chosen.map((scope) => step.wholeOf(call, scope)).filter((one) => one);
      const commits = Boolean(step.step.group_commit) && call.name === 'commit';
      const heads =
          services.heads.map((head) => (head.title === 'IO/s' ? {...head, title: 'Commits/s', help: null} : head));
      const recorded = Boolean(step.step.load_factor);
      const title = !commits ? call.name :
          recorded           ? 'Commit latency (simulated: a commit for each recorded write)' :
                               'Commit latency of simulated clients';
      tables.push(table(title + ', in ' + unit.name, commits ? {...services, heads} : services, own));
    }
    tables.push(plimsoll.tableBehind(
        'Table: counts, and MB/s over whole seconds',
        () => wholeTable('Counts, and MB/s over whole seconds', counts, chosen)));
    return tables;
  };

  // What simulated clients made of the log writes.
  const groupCommit = (commits) => 'Group commit (simulated): ' + format.rate(commits.commits_per_second) +
      ' commits/s, mean write ' + format.fixed(commits.mean_write_bytes / 1000, 1) + ' KB' +
      (typeof commits.physical_over_logical === 'number' ?
           ', ' + format.fixed(commits.physical_over_logical, 2) + ' bytes written for each byte logged' :
           '');
  // What a recording made of them.
  const playback = (commits) => {
    const asRecorded = step.report.plan.group_commit.playback === 'writes';
    const factor = step.step.load_factor;
    return 'Recording, ' + (asRecorded ? 'writes as recorded, not what MQ would issue here' : 'by demand (simulated)') +
        ', ' + (factor === 1 ? '' : format.targetRate(factor) + ' times ') +
        'as fast as recorded: ' + format.rate(commits.commits_per_second) +
        ' commits/s, each a recorded write; mean write ' + format.fixed(commits.mean_write_bytes / 1000, 1) + ' KB' +
        (asRecorded || !(step.cluster?.iops > 0) ?
             '' :
             '; ' + format.fixed(commits.commits_per_second / step.cluster.iops, 2) + ' recorded writes in each write');
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
  if (step.step.group_commit) {
    const text = step.step.load_factor ? playback : groupCommit;
    parts.push(el('p', {class: 'remark'}, text(step.step.group_commit)));
  }
  for (const scope of step.hosts) {
    if (scope.data_until)
      parts.push(
          el('p', {class: 'remark'},
             '* ' + scope.host + ': data end at ' + format.timeOfDay(scope.data_until) +
                 (scope.data_until_reason ? '; ended early: ' + scope.data_until_reason : '')));
  }
  const inFlight = step.step.in_flight.filter((write) => write.age_ns >= 100e6).slice(0, 20);
  const into = step.reads || plimsoll.words.onlyReads ? ', in ' : ', to ';
  for (const write of inFlight) {
    parts.push(
        el('p', {class: 'remark'},
           'In flight at the end of the data: ' + plimsoll.model.writerName(write.host, write.qm) + ', for ' +
               format.time(write.age_ns) + (write.path ? into + write.path : '')));
  }
  return plimsoll.section('figures', 'Figures', parts);
};
