// The configuration: the plan as it ran, each setting with the option that sets it.
'use strict';

// [[title, option, value]]
plimsoll.settings = (report) => {
  const {format} = plimsoll;
  const plan = report.plan || {block_size_bytes: [], criteria: []};

  // What all hosts have alike of those that have it, or that they differ.
  const common = (get) => {
    const values = [...new Set(report.hosts.map(get))].filter((value) => value);
    return values.length === 1 ? values[0] : values.length === 0 ? '' : 'differs between hosts; see Hosts and mounts';
  };
  const workload = (get) => common((host) => (host.workload ? get(host.workload, host) : ''));

  // What a placement has instead of a number of queue managers.
  const placed = plan.placement || [];
  const placedText = (qm) => qm.qm + ': ' + qm.home + ', standby ' + qm.standby + ', ' +
      format.size(qm.block_size_bytes) + ', ' + format.rate(qm.rate_per_second) + ' writes/s' +
      (qm.dir ? ', in ' + qm.dir : '');

  // "qm1, qm3-qm8", as in the text report.
  const writerNumbers = (writers) => {
    const MOST_NAMED = 8;
    const parts = [];
    for (let begin = 0, end = 0; begin < writers.length; begin = end) {
      while (end < writers.length && writers[end] - writers[begin] === end - begin) ++end;
      if (end - begin === 2) end = begin + 1;
      if (parts.length === MOST_NAMED) {
        parts.push((writers.length - begin) + ' more');
        break;
      }
      parts.push('qm' + writers[begin] + (end - begin > 1 ? '-qm' + writers[end - 1] : ''));
    }
    return parts.join(', ');
  };
  // A host's directories, with who writes in which; those of a placement are listed with their directories.
  const directories = (work, host) => {
    const dirs = work.qm_dirs || [];
    if (dirs.length === 0 || placed.length > 0) {
      return plimsoll.model.mounts(host).map((mount) => mount.dir).join(', ');
    }
    const writers = new Map();
    dirs.forEach((dir, at) => writers.set(dir, [...(writers.get(dir) || []), at + 1]));
    return [...writers].map(([dir, numbers]) => dir + ' (' + writerNumbers(numbers) + ')').join(', ');
  };

  // What is true of all directories of a host, or of each.
  const ofMounts = (host, get) => {
    const mounts = plimsoll.model.mounts(host);
    const different = new Set(mounts.map(get));
    return different.size === 1 ? [...different][0] : mounts.map((mount) => mount.dir + ': ' + get(mount)).join('; ');
  };
  const writes = (work, host) => {
    const parts = [
      work.sync,
      ofMounts(
          host,
          (mount) => mount.direct  ? 'O_DIRECT accepted' :
              mount.direct_refused ? 'O_DIRECT refused: ' + mount.direct_refused :
                                     'without O_DIRECT')
    ];
    const starts = {even: ', spread evenly', poisson: ', at random (Poisson)', aligned: ', all at once'};
    parts.push(
        placed.length > 0            ? 'each queue manager at its own rate, open loop' + (starts[work.arrival] || '') :
            work.rate_per_second > 0 ? format.rate(work.rate_per_second) + ' writes/s per queue manager, open loop' +
                (starts[work.arrival] || '') :
                                       'closed loop: one in flight per queue manager');
    if (work.delay_ns > 0) parts.push(format.length(work.delay_ns) + ' pause after each write');
    if (work.cpu_load > 0) parts.push(format.plural(work.cpu_load, 'busy thread') + ' per host');
    return parts.join(', ');
  };
  const mount = (host) => ofMounts(host, ({fs_type: type, fs_source: source, remote, mount_options: options}) => {
    return type ? type + ' from ' + (remote || source) + (options ? ', ' + plimsoll.sharedMountOptions(options) : '') :
                  '';
  });
  const listsDirs = report.hosts.some((host) => host.workload && (host.workload.qm_dirs || []).length > 0);
  const loss = {abort: 'stop the other hosts', continue: 'continue with the other hosts'};

  // What a drill has instead.
  const drill = plan.ha;
  const drillOptions = !drill ? [] : [
    ['Pairs', '--pairs', drill.pairs.join(', ')],
    ['Directory for locks', '--data-dir', drill.data_dir || ''],
    ['Faults', '--fault', drill.faults.map((fault) => fault.replace(/_/g, '-')).join(', ')],
    [
      'Rounds', '--rounds',
      format.count(drill.rounds) +
          (drill.window_ns ? ', each at a random moment within ' + format.length(drill.window_ns) : '')
    ],
    [
      'Lock wait', '--lock-wait',
      drill.lock_wait === 'block' ?
          'blocking' :
          'polling' + (drill.lock_poll_ns ? ', every ' + format.length(drill.lock_poll_ns) : '')
    ],
    ['Fence', '--fence', drill.fence === 'none' ? 'none' : 'locks on every extent'],
    ['Takeover limit', '--takeover-limit', drill.takeover_limit_ns ? format.length(drill.takeover_limit_ns) : ''],
  ];
  const options = [
    ...drillOptions,
    ['Write block size', '--bsize', placed.length > 0 ? '' : plan.block_size_bytes.map(format.size).join(', ')],
    ['Placement', '', placed.slice(0, 64).map(placedText).join('; ') + (placed.length > 64 ? '; …' : '')],
    [
      listsDirs ? 'Directories' : 'Directory',
      !listsDirs            ? '--dir' :
          placed.length > 0 ? '' :
                              '--qm-dirs',
      workload(directories)
    ],
    ['File system', '', common(mount)],
    [
      'Queue managers', '--qm',
      placed.length > 0 ? format.count(placed.length) + ', each on a home and a standby host' :
                          workload((work) => format.count(work.qm) + (drill ? ' per pair' : ' per host'))
    ],
    [
      'Extents', '--num-files',
      workload(
          (work) =>
              format.count(work.num_files) + ' \u00d7 ' + format.size(work.file_size_bytes) + ' per queue manager')
    ],
    ['Duration', '--duration', plan.duration_ns && !drill ? format.length(plan.duration_ns) + ' per step' : ''],
    ['Warm-up', '--warmup', plan.warmup_ns > 0 && !drill ? format.length(plan.warmup_ns) : ''],
    ['Settling', '--settle', plan.settle_ns > 0 ? format.length(plan.settle_ns) : ''],
    [
      'Rounds until steady', '--until-steady',
      plan.until_steady_ns > 0 ? 'at most ' + format.length(plan.until_steady_ns) : ''
    ],
    ['Seed', '--seed', plan.seed !== undefined && plan.seed !== null ? String(plan.seed) : ''],
    ['Repetitions', '--repeat', plan.repeat > 1 ? format.count(plan.repeat) : ''],
    ['Writes', '--sync', workload(writes)],
    ['Open flags', '', common((host) => ofMounts(host, (mount) => mount.open_flags || ''))],
    ['Criteria', '--require', plan.criteria.join(', ')],
    [
      'Stall threshold', '--stall',
      drill             ? '' :
          plan.stall_ns ? format.length(plan.stall_ns) :
                          '100 ms or 20\u00d7 the writer\u2019s median, whichever is greater'
    ],
    ['Lost host', '--on-host-loss', drill ? '' : loss[plan.on_host_loss] || ''],
    ['Lease', '--lease', plan.lease_ns ? format.length(plan.lease_ns) : ''],
  ];
  return options.filter(([, , value]) => value);
};

// Mount options without those that are the client's own and differ on every host, as in the text report: NFS's
// clientaddr.
plimsoll.sharedMountOptions = (options) =>
    options.split(',').filter((option) => !option.startsWith('clientaddr=')).join(',');

plimsoll.planOptions = (report) => {
  const {el} = plimsoll;
  const list =
      el('dl', {class: 'options'},
         plimsoll.settings(report).map(
             ([title, flag, value]) =>
                 el('div', {},
                    el('dt', {}, title in plimsoll.TERMS ? plimsoll.term(title) : title, ' ',
                       flag ? el('code', {class: 'soft'}, flag) : null),
                    el('dd', {class: 'words'}, plimsoll.breakable(value)))));
  return plimsoll.section('options', 'Configuration', list);
};
