// The load of each host: what measuring cost, and its kernel's statistics of the storage.
'use strict';

plimsoll.load = (() => {
  const {el, format, model} = plimsoll;

  const percent = (value) => format.fixed(value, 1) + ' %';
  const milliseconds = (value) => format.fixed(value, 3) + ' ms';

  // Columns of a host's samples: title, name as packed, the value of 1, text, unit of the axis.
  const COLUMNS = [
    ['Agent CPU', 'agent_cpu', 0.01, percent, '% of one CPU'],
    ['CPU wait of writers', 'writer_cpu_wait', 0.01, percent, '% of their time'],
    ['Device: read time', 'disk_read_us', 0.001, milliseconds, 'ms'],
    ['Device: write time', 'disk_write_us', 0.001, milliseconds, 'ms'],
    ['Device: busy', 'disk_busy', 0.01, percent, '% of the time'],
    ['NFS: read round trip', 'nfs_read_round_trip_us', 0.001, milliseconds, 'ms'],
    ['NFS: read execute', 'nfs_read_execute_us', 0.001, milliseconds, 'ms'],
    ['NFS: round trip', 'nfs_round_trip_us', 0.001, milliseconds, 'ms'],
    ['NFS: execute', 'nfs_execute_us', 0.001, milliseconds, 'ms'],
    ['NFS: retransmitted operations', 'nfs_retransmits', 1, format.count, 'per sample'],
  ];

  const NS_PER_MS = 1e6;
  // In seconds.
  const HALF_A_SAMPLE = 0.5;

  const makeChart = (step, range, loads, [title, name, scale, text, axis]) => {
    const hosts = loads.filter((load) => name in load);
    const offsets = hosts.map((load) => load.offset_ms);
    const x = [...new Set(offsets.flat())].sort((a, b) => a - b);
    const place = new Map(x.map((at, row) => [at, row]));
    return new plimsoll.Chart({
      ...plimsoll.timeCharts.timeOptions(step, range),
      name: title + ' over time',
      x: x.map((at) => at / 1000),
      // The last samples are at the very end, or just after it, where their dots would be cut in half.
      beyond: x.length === 0 || x.length > plimsoll.FEW_POINTS ?
          0 :
          Math.max(0, x[x.length - 1] / 1000 + HALF_A_SAMPLE - range.full[1]),
      nothing: 'No samples.',
      xText: (at) =>
          format.elapsed(at, 1) + (step.step.start ? ' (' + format.timeAfter(step.step.start, at) + ' UTC)' : ''),
      series: hosts.map((load, number) => {
        const values = x.map(() => null);
        load[name].forEach((value, row) => {
          values[place.get(load.offset_ms[row])] = value * scale;
        });
        return {name: load.host, color: model.color(number), dash: model.dash(number), values, hidden: number >= 24};
      }),
      yTitle: title + ', ' + axis,
      yTick: format.shortCount,
      yText: text,
      height: 200,
      thinned: loads.some((load) => load.offset_ms.length < load.of) ? plimsoll.THINNED : null,
    });
  };

  const operation = (name, done) =>
      [name, format.count(done.operations), format.count(done.retransmits), format.count(done.timeouts),
       done.queue_ms * NS_PER_MS, done.round_trip_ms * NS_PER_MS, done.execute_ms * NS_PER_MS];

  const tables = (loads, step) => {
    const averages = new Map(step.hosts.map((scope) => [scope.host, scope.latency]));
    // The host's average service time, shown beside the kernel's figures.
    const measured = (host) => {
      const latency = averages.get(host);
      return latency && latency.count > 0 ? latency.avg_ns : null;
    };
    const measuredHead = {
      title: 'Measured avg',
      time: 'service',
      help: plimsoll.words.main('average service time of this host\u2019s writes')
    };
    const list = [plimsoll.table(
        'Load generator',
        [
          {title: 'Host', head: true, name: true}, measuredHead,
          {title: 'Agent CPU', help: 'CPU time of the agent, in percent of one CPU'}, {title: 'CPU wait'},
          {title: 'Max scheduling delay', time: 'delay'}, {title: 'Suspensions'},
          {title: 'Suspended', time: 'suspended'}
        ],
        loads.map(
            (load) =>
                [load.host, measured(load.host), percent(load.agent_cpu_percent), percent(load.writer_cpu_wait_percent),
                 load.recorder_late_max_ns, format.count(load.pauses), load.pauses > 0 ? load.paused_ns : null]))];
    // Where a run only reads and no agent reports the kernel's reads, there is no time to compare with.
    const {onlyReads} = plimsoll.words;
    const comparedIf = (reads) => onlyReads && !reads ? [] : [measuredHead];
    const disks = loads.filter((load) => load.disk);
    if (disks.length > 0) {
      const reads = disks.some(({disk}) => 'reads' in disk);
      const compared = comparedIf(reads);
      const readHeads = [{title: 'Reads'}, {title: 'Read'}, {title: 'Read time', time: 'service'}];
      const readCells = (disk) => 'reads' in disk ?
          [format.count(disk.reads), format.amount(disk.read_bytes), disk.reads > 0 ? disk.read_ms * NS_PER_MS : null] :
          ['\u2013', '\u2013', null];
      list.push(plimsoll.table(
          'Block devices (kernel statistics, including the I/O of other programs)',
          [
            {title: 'Host', head: true, name: true}, ...compared, {title: 'Device', text: true},
            ...(reads ? readHeads : []), {title: 'Writes'}, {title: 'Written'}, {title: 'Write time', time: 'service'},
            {title: 'Flushes'}, {title: 'Flush time', time: 'service'}, {title: 'Busy'}
          ],
          disks.map(
              ({host, disk}) =>
                  [host, ...compared.map(() => measured(host)), disk.device, ...(reads ? readCells(disk) : []),
                   format.count(disk.writes), format.amount(disk.written_bytes),
                   disk.writes > 0 ? disk.write_ms * NS_PER_MS : null, format.count(disk.flushes),
                   disk.flushes > 0 ? disk.flush_ms * NS_PER_MS : null, percent(disk.busy_percent)])));
    }
    const mounts = loads.filter((load) => load.nfs);
    if (mounts.length > 0) {
      const compared = comparedIf(mounts.some(({nfs}) => nfs.read));
      // The measured average is that of reads or of writes.
      const besides = (host, name) => compared.map(() => (name === 'READ') === onlyReads ? measured(host) : null);
      const rows = mounts.flatMap(
          ({host, nfs}) => [['READ', nfs.read], ['WRITE', nfs.write], ['COMMIT', nfs.commit]]
                               .filter(([, done]) => done)
                               .map(([name, done]) => [host, ...besides(host, name), ...operation(name, done)]));
      list.push(plimsoll.table(
          'NFS (kernel statistics)',
          [
            {title: 'Host', head: true, name: true}, ...compared, {title: 'Operation', text: true}, {title: 'Count'},
            {title: 'Retransmitted'}, {title: 'Timeouts'}, {title: 'Queue time', time: 'service'},
            {title: 'Round trip', time: 'service'}, {title: 'Execute', time: 'service'}
          ],
          rows));
    }
    return list;
  };

  const section = (step, range) => {
    const loads = step.step.load;
    if (loads.length === 0) return {element: null, chart: () => null};
    const samples = step.packed.load.map((load) => {
      const unpacked = {host: load.host, of: load.of};
      for (const name of ['offset_ms', ...COLUMNS.map((column) => column[1])]) {
        if (name in load) unpacked[name] = plimsoll.unpack(load[name]);
      }
      return unpacked;
    });
    const columns = COLUMNS.filter(([, name]) => samples.some((load) => name in load && load[name].length > 0));
    const {place, put, chart} = plimsoll.slot();
    if (columns.length > 0) put(makeChart(step, range, samples, columns[0]));
    const warnings = loads.filter((load) => load.bottleneck)
                         .map((load) => el('p', {class: 'warning'}, load.host + ': ' + load.bottleneck));
    const element = plimsoll.section(
        'load', 'Host load', warnings,
        columns.length > 1 ? el('div', {class: 'controls'},
                                plimsoll.picker(
                                    'Show', columns.map((column) => ({name: column[0], value: column})),
                                    (column) => put(makeChart(step, range, samples, column)))) :
                             null,
        place, tables(loads, step));
    return {element, chart};
  };

  return {section};
})();
