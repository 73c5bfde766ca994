// The hosts: their clocks against the timeline, what they are, what is mounted there; and the notes.
'use strict';

plimsoll.hosts = (() => {
  const {el, svg, format} = plimsoll;

  // When each host's last queue manager began after the first of all: a dot, and the bound of the clock error around
  // it.
  const startChart = (skew) => {
    const {main} = plimsoll.words;
    const hosts = skew.hosts.slice(0, 64);
    const most = Math.max(...hosts.map((host) => host.behind_ns + host.error_ns), 1);
    const least = Math.min(...hosts.map((host) => host.behind_ns - host.error_ns), 0);
    const row = 22;
    // As wide as there is room: its text is not scaled.
    const width = Math.min(760, document.getElementById('report').clientWidth - 64);
    const left = Math.min(190, width * 0.36);
    // Characters of a name.
    const room = Math.floor((left - 12) / 7.2);
    const height = row * hosts.length + 26;
    const at = (ns) => left + (ns - least) / (most - least) * (width - left - 70);
    const picture = svg('svg', {
      viewBox: '0 0 ' + width + ' ' + height,
      width,
      height,
      class: 'whiskers',
      role: 'img',
      'aria-label': main(
          'How long after the step\u2019s first write each host started, with the clock error; the table has the figures')
    });
    const base = row * hosts.length + 4;
    picture.append(svg('line', {x1: at(0), x2: at(0), y1: 0, y2: base, class: 'zero'}));
    const names = format.shortNames(hosts.map((host) => host.host), room);
    hosts.forEach((host, number) => {
      const y = row * number + 12;
      picture.append(
          svg('text', {x: left - 10, y: y + 4, class: 'name'}, names[number], svg('title', {}, host.host)),
          svg('line', {
            x1: at(host.behind_ns - host.error_ns),
            x2: at(host.behind_ns + host.error_ns),
            y1: y,
            y2: y,
            class: 'bound'
          }),
          svg('circle', {cx: at(host.behind_ns), cy: y, r: 4, class: 'dot'}),
          svg('text', {x: at(host.behind_ns + host.error_ns) + 8, y: y + 4, class: 'value'},
              format.time(host.behind_ns)));
    });
    picture.append(svg('text', {x: at(0), y: base + 16, class: 'value middle'}, main('first write')));
    return picture;
  };

  // Reports of earlier versions say nothing of the controller, and how large the error is was not shown of them.
  const timeSync = (report, clock) => {
    if (!clock.time_synchronized) return 'no';
    return report.run.controller && clock.time_error_ns > 0 ? '\u00b1' + format.time(clock.time_error_ns) : 'yes';
  };

  const clocks = (step, report) => {
    if (report.hosts.length === 0) return null;
    const {main} = plimsoll.words;
    const starts =
        new Map(step && step.step.start_skew ? step.step.start_skew.hosts.map((host) => [host.host, host]) : []);
    const rows = report.hosts.map((host) => {
      const clock = host.clock || {probes: 0, steps: []};
      const known = clock.probes > 0;
      const start = starts.get(host.label);
      return [
        host.label, known ? clock.offset_ns : null, known ? clock.error_ns : null,
        known ? format.fixed(clock.drift_ppm, 1) : format.DASH, known ? clock.min_round_trip_ns : null,
        start ? start.behind_ns : null, start ? start.error_ns : null, known ? clock.wall_clock_difference_ns : null,
        timeSync(report, clock), clock.steps.length > 0 ? format.count(clock.steps.length) : 'none'
      ];
    });
    const table = plimsoll.table(
        'Each host\u2019s clock relative to the controller\u2019s; the true values are within the error',
        [
          {title: 'Host', head: true, name: true}, {title: 'Offset', time: 'offset'},
          {title: 'Error', time: 'error', help: plimsoll.TERMS['\u00b1']},
          {title: 'Drift, ppm', help: plimsoll.TERMS['Drift']},
          {title: 'Probe round trip', time: 'trip', help: 'shortest round trip of a clock probe'}, {
            title: 'Start',
            time: 'start',
            help: main('how long after the step\u2019s first write this host\u2019s last writer started')
          },
          {title: '\u00b1', time: 'start'},
          {title: 'Wall clock', time: 'wall', help: 'difference of the wall clocks, for information only'}, {
            title: 'Time sync',
            help:
                'whether the host\u2019s kernel reports that its clock is synchronised (NTP, PTP), and the bound of its error then'
          },
          {title: 'Steps'}
        ],
        rows);
    const chart = step && step.step.start_skew && step.step.start_skew.hosts.length > 1 ?
        el('figure', {},
           el('figcaption', {class: 'soft'},
              main(
                  'How long after the step\u2019s first write each host\u2019s last writer started; bars show the clock error')),
           startChart(step.step.start_skew)) :
        null;
    return plimsoll.section('clocks', 'Clocks', chart, table);
  };

  const facts = (report) => {
    if (report.hosts.length === 0) return null;
    const rows = report.hosts.map(
        (host) =>
            [host.label, host.node ? host.address + ', node ' + host.node : host.address, host.kernel,
             format.count(host.usable_cpus) + (host.usable_cpus === host.cpus ? '' : ' of ' + format.count(host.cpus)),
             format.amount(host.memory_bytes), host.version, host.clock ? host.clock.source : '']);
    const mounts = report.hosts.flatMap(
        (host) => plimsoll.model.mounts(host).map(
            (mount) =>
                [host.label, host.storage > 0 ? String(host.storage) : format.DASH, mount.dir,
                 mount.fs_type || format.DASH, mount.remote || mount.fs_source || '', mount.mount_options || '',
                 mount.direct             ? 'yes' :
                     mount.direct_refused ? 'refused: ' + mount.direct_refused :
                                            'no',
                 mount.total_bytes > 0 ? format.amount(mount.free_bytes) + ' of ' + format.amount(mount.total_bytes) :
                                         format.DASH]));
    const troubles = [];
    for (const host of report.hosts) {
      if (host.lost) {
        troubles.push(
            host.label + ' was lost at ' + format.timeOfDay(host.lost.at) + ': ' + host.lost.reason +
            (host.lost.data_until ? '; its data end at ' + format.timeOfDay(host.lost.data_until) : ''));
      }
      for (const fault of host.faults) {
        troubles.push(
            (fault.qm > 0 ? plimsoll.model.writerName(host.label, fault.qm) : host.label) + ' at ' +
            format.timeOfDay(fault.at) + ': ' + fault.message);
      }
      for (const caveat of new Set(plimsoll.model.mounts(host).map((mount) => mount.caveat))) {
        if (caveat) troubles.push(host.label + ': ' + caveat);
      }
    }
    return plimsoll.section(
        'hosts', 'Hosts and mounts', troubles.map((text) => el('p', {class: 'warning'}, text)),
        plimsoll.table(
            'Hosts',
            [
              {title: 'Host', head: true}, {title: 'Address', text: true}, {title: 'Kernel', text: true},
              {title: 'CPUs'}, {title: 'Memory'}, {title: 'Agent', text: true}, {title: 'Clock source', text: true}
            ],
            rows),
        plimsoll.table(
            'The directory under test on each host',
            [
              {title: 'Host', head: true, name: true}, {title: 'Storage'}, {title: 'Directory', text: true},
              {title: 'Type', text: true}, {title: 'Source', text: true}, {title: 'Options', text: true},
              {title: 'O_DIRECT', text: true}, {title: 'Free'}
            ],
            mounts),
        programs(report));
  };

  // The programs that made the result; none in a report of an earlier version.
  const programs = (report) => {
    const {controller, version} = report.run;
    const rows = [
      ...(controller && controller.program_sha256 ? [['controller', 'plimsoll ' + version, controller.program_sha256]] :
                                                    []),
      ...report.hosts.filter((host) => host.program_sha256)
          .map((host) => [host.label, 'plimsoll-agent ' + host.version, host.program_sha256])
    ];
    return rows.length === 0 ?
        null :
        plimsoll.table(
            'Programs, each with its SHA-256',
            [{title: 'Host', head: true}, {title: 'Program', text: true}, {title: 'SHA-256', text: true}], rows);
  };

  const notes = (report) =>
      (report.notes.length === 0 ?
           null :
           plimsoll.section(
               'notes', 'Notes',
               el('ul', {class: 'notes'}, report.notes.map((note) => el('li', {class: 'words'}, note)))));

  return {clocks, facts, notes};
})();
