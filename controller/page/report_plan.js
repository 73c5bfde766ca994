// What was asked for: the plan as it ran, each with the option that sets it.
'use strict';

plimsoll.planOptions = (report) => {
  const {el, format} = plimsoll;
  const plan = report.plan || {block_size_bytes: [], criteria: []};

  // What all hosts have alike, or that they do not.
  const common = (get) => {
    const values = [...new Set(report.hosts.map(get))];
    return values.length === 1 ? values[0] : values.length === 0 ? '' : 'not the same on all hosts; see Hosts';
  };
  const workload = (get) => common((host) => (host.workload ? get(host.workload, host) : ''));

  const writes = (work, host) => {
    const mount = host.mount || {};
    const parts = [
      work.sync,
      mount.direct             ? 'O_DIRECT accepted' :
          mount.direct_refused ? 'O_DIRECT refused: ' + mount.direct_refused :
                                 'without O_DIRECT'
    ];
    const starts = {even: ', spread evenly', poisson: ' at random', aligned: ', all at once'};
    parts.push(
        work.rate_per_second > 0 ? format.rate(work.rate_per_second) + ' writes/s per queue manager, on schedule' +
                (starts[work.arrival] || '') :
                                   'one in flight per queue manager');
    if (work.delay_ns > 0) parts.push(format.length(work.delay_ns) + ' pause after each');
    if (work.cpu_load > 0) parts.push(format.plural(work.cpu_load, 'busy thread') + ' a host');
    return parts.join(', ');
  };
  const mount = (host) => {
    const {fs_type: type, fs_source: source, remote, mount_options: options} = host.mount || {};
    return type ? type + ' from ' + (remote || source) + (options ? ', ' + options : '') : '';
  };
  const loss = {abort: 'stop the other hosts', continue: 'go on with those that are left'};

  const options = [
    ['Write block size', '--bsize', plan.block_size_bytes.map(format.size).join(', ')],
    ['Directory', '--dir', workload((work) => work.dir || '')],
    ['File system', '', common(mount)],
    ['Queue managers', '--qm', workload((work) => format.count(work.qm) + ' a host')],
    [
      'Extents', '--num-files',
      workload(
          (work) =>
              format.count(work.num_files) + ' \u00d7 ' + format.size(work.file_size_bytes) + ' per queue manager')
    ],
    ['Duration', '--duration', plan.duration_ns ? format.length(plan.duration_ns) + ' a step' : ''],
    ['Warm-up', '--warmup', plan.warmup_ns > 0 ? format.length(plan.warmup_ns) : ''],
    ['Settling', '--settle', plan.settle_ns > 0 ? format.length(plan.settle_ns) : ''],
    ['Seed', '--seed', plan.seed !== undefined && plan.seed !== null ? String(plan.seed) : ''],
    ['Repetitions', '--repeat', plan.repeat > 1 ? format.count(plan.repeat) : ''],
    ['Writes', '--sync', workload(writes)],
    ['Open flags', '', common((host) => (host.mount ? host.mount.open_flags : ''))],
    ['Criteria', '--require', plan.criteria.join(', ')],
    ['Stall', '--stall', plan.stall_ns ? format.length(plan.stall_ns) : '100 ms or 20 medians, whichever is more'],
    ['Lost host', '--on-host-loss', loss[plan.on_host_loss] || ''],
    ['Lease', '--lease', plan.lease_ns ? format.length(plan.lease_ns) : ''],
  ];
  const list =
      el('dl', {class: 'options'},
         options.filter(([, , value]) => value)
             .map(
                 ([title, flag, value]) =>
                     el('div', {}, el('dt', {}, title, ' ', flag ? el('code', {class: 'soft'}, flag) : null),
                        el('dd', {class: 'words'}, value))));
  return plimsoll.section('options', 'What was asked for', list);
};
