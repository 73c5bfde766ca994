// What measuring cost each host, and what its kernel says of the storage below.
'use strict';

plimsoll.load = (() => {
  const {el, format, model} = plimsoll;

  const percent = (value) => format.fixed(value, 1) + ' %';
  const milliseconds = (value) => format.fixed(value, 3) + ' ms';

  // Columns of a host's samples: title, name as packed, what one is worth, text, title of the axis.
  const COLUMNS = [
    ['CPU of the agent', 'agent_cpu', 0.01, percent, '% of one CPU'],
    ['Writers waiting for a CPU', 'writer_cpu_wait', 0.01, percent, '% of their time'],
    ['Disk: time of a write', 'disk_write_us', 0.001, milliseconds, 'ms'],
    ['Disk: busy', 'disk_busy', 0.01, percent, '%'],
    ['NFS: round trip', 'nfs_round_trip_us', 0.001, milliseconds, 'ms'],
    ['NFS: round trip and queue', 'nfs_execute_us', 0.001, milliseconds, 'ms'],
    ['NFS: retransmits', 'nfs_retransmits', 1, format.count, 'a sample'],
  ];

  const makeChart = (step, range, loads, [title, name, scale, text, axis]) => {
    const hosts = loads.filter((load) => name in load);
    const offsets = hosts.map((load) => load.offset_ms);
    const x = [...new Set(offsets.flat())].sort((a, b) => a - b);
    const place = new Map(x.map((at, row) => [at, row]));
    return new plimsoll.Chart({
      ...plimsoll.timeCharts.timeOptions(step, range),
      name: title + ' over time',
      x: x.map((at) => at / 1000),
      nothing: 'No sample was taken.',
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

  const operation = (name, told) =>
      [name, format.count(told.operations), format.count(told.retransmits), format.count(told.timeouts),
       milliseconds(told.queue_ms), milliseconds(told.round_trip_ms), milliseconds(told.execute_ms)];

  const tables = (loads) => {
    const list = [plimsoll.table(
        'What measuring cost',
        [
          {title: 'Host', head: true}, {title: 'Agent, % of a CPU'}, {title: 'Writers waiting for a CPU'},
          {title: 'Recorder late'}, {title: 'Pauses'}, {title: 'Paused'}
        ],
        loads.map(
            (load) =>
                [load.host, percent(load.agent_cpu_percent), percent(load.writer_cpu_wait_percent),
                 format.time(load.recorder_late_max_ns), format.count(load.pauses),
                 load.pauses > 0 ? format.time(load.paused_ns) : format.DASH]))];
    const disks = loads.filter((load) => load.disk);
    if (disks.length > 0) {
      list.push(plimsoll.table(
          'Disks, as the kernels have it',
          [
            {title: 'Host', head: true}, {title: 'Device', text: true}, {title: 'Writes'}, {title: 'Written'},
            {title: 'A write'}, {title: 'Flushes'}, {title: 'A flush'}, {title: 'Busy'}
          ],
          disks.map(
              ({host, disk}) =>
                  [host, disk.device, format.count(disk.writes), format.amount(disk.written_bytes),
                   disk.writes > 0 ? milliseconds(disk.write_ms) : format.DASH, format.count(disk.flushes),
                   disk.flushes > 0 ? milliseconds(disk.flush_ms) : format.DASH, percent(disk.busy_percent)])));
    }
    const mounts = loads.filter((load) => load.nfs);
    if (mounts.length > 0) {
      const rows = mounts.flatMap(
          ({host, nfs}) => [['WRITE', nfs.write], ['COMMIT', nfs.commit]]
                               .filter(([, told]) => told)
                               .map(([name, told]) => [host, ...operation(name, told)]));
      list.push(plimsoll.table(
          'NFS, as the kernels have it',
          [
            {title: 'Host', head: true}, {title: 'Operation', text: true}, {title: 'Number'}, {title: 'Retransmits'},
            {title: 'Timeouts'}, {title: 'Queue'}, {title: 'Round trip'}, {title: 'All of it'}
          ],
          rows));
    }
    return list;
  };

  const section = (step, range) => {
    const told = step.step.load;
    if (told.length === 0) return {element: null, chart: () => null};
    const samples = step.packed.load.map((load) => {
      const unpacked = {host: load.host, of: load.of};
      for (const name of ['offset_ms', ...COLUMNS.map((column) => column[1])]) {
        if (name in load) unpacked[name] = plimsoll.unpack(load[name]);
      }
      return unpacked;
    });
    const columns = COLUMNS.filter(([, name]) => samples.some((load) => name in load && load[name].length > 0));
    const {place, put, chart} = plimsoll.timeCharts.slot();
    if (columns.length > 0) put(makeChart(step, range, samples, columns[0]));
    const warnings = told.filter((load) => load.bottleneck)
                         .map((load) => el('p', {class: 'warning'}, load.host + ': ' + load.bottleneck));
    const element = plimsoll.section(
        'load', 'Load of the hosts', warnings,
        columns.length > 1 ? el('div', {class: 'controls'},
                                plimsoll.timeCharts.picker(
                                    'Show', columns.map((column) => ({name: column[0], value: column})),
                                    (column) => put(makeChart(step, range, samples, column)))) :
                             null,
        place, tables(told));
    return {element, chart};
  };

  return {section};
})();
