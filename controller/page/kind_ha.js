// The parts of a drill's page: all rounds as a strip, one round in detail, and what became of the logs.
'use strict';

(() => {
  const {el, svg, format, haPicture} = plimsoll;
  const {PHASES} = haPicture;
  const NONE = -1;
  const COLUMNS = [
    'round', 'qm', 'fault', 'outcome', 'old_host', 'new_host', 'doubtful', 'lost', 'split_brain', 'released_late',
    'gap', 'gap_error', 'free', 'free_error', 'granted', 'granted_error', 'replayed', 'first_write', 'takeover'
  ];
  const OUTCOMES = {
    taken: 'taken over',
    kept: 'no takeover (expected)',
    none: 'LOCK NOT RELEASED',
    unwanted: 'TAKEN OVER during a hang',
    unknown: 'unknown',
  };

  // The takeovers as objects; times in nanoseconds, null where there is none.
  const takeoversOf = (packed) => {
    const columns =
        Object.fromEntries(COLUMNS.map((name) => [name, packed[name] ? plimsoll.unpack(packed[name]) : []]));
    const time = (name, row) => (columns[name][row] === NONE ? null : columns[name][row] * 1e3);
    return columns.round.map((round, row) => ({
                               round,
                               qm: columns.qm[row],
                               fault: packed.faults[columns.fault[row]].replace(/_/g, '-'),
                               outcome: packed.outcomes[columns.outcome[row]],
                               oldHost: packed.hosts[columns.old_host[row]],
                               newHost: packed.hosts[columns.new_host[row]],
                               doubtful: columns.doubtful[row] === 1,
                               lost: columns.lost[row],
                               splitBrain: columns.split_brain[row] === 1,
                               releasedLate: columns.released_late[row] === 1,
                               gap: time('gap', row),
                               gapError: time('gap_error', row),
                               free: time('free', row),
                               freeError: time('free_error', row),
                               granted: time('granted', row),
                               grantedError: time('granted_error', row),
                               replayed: time('replayed', row),
                               firstWrite: time('first_write', row),
                               takeover: time('takeover', row),
                             }));
  };

  // What speaks against a takeover, the worst first, as the verdict has it: [whether it applies, sign, class].
  const SIGNS = [
    [(one) => one.lost > 0 || one.splitBrain || one.outcome === 'unwanted', '\u2717', 'bad'],
    [(one) => one.outcome === 'none' || one.releasedLate, '>', 'bad'],
    [(one) => one.doubtful, '?', 'warn'],
    [() => true, '', ''],
  ];
  const signOf = (one) => SIGNS.findIndex(([applies]) => applies(one));
  const height = (one) => Math.max(one.gap || 0, one.takeover || 0);

  // The worst of several takeovers, and of those the longest.
  const worstOf = (list) => list.reduce((a, b) => {
    const rank = (one) => [-signOf(one), height(one)];
    const [left, right] = [rank(a), rank(b)];
    const at = left.findIndex((value, number) => value !== right[number]);
    return at >= 0 && right[at] > left[at] ? b : a;
  });

  // The takeovers of each round: [{round, list, worst}].
  const roundsOf = (takeovers) => {
    const rounds = new Map();
    for (const one of takeovers) {
      if (!rounds.has(one.round)) rounds.set(one.round, []);
      rounds.get(one.round).push(one);
    }
    return [...rounds].map(([round, list]) => ({round, list, worst: worstOf(list)}));
  };

  const swatch = (name) => el('span', {class: 'swatch block drill-' + name, 'aria-hidden': 'true'});

  const phaseKey = () => {
    const before =
        el('li', {}, swatch('phase-0'),
           plimsoll.term('last write \u2192 fault', 'a slow or missing write before the fault counts towards the gap'));
    const phases = PHASES.map(
        ([name, title, help], at) => el('li', {}, swatch(name), plimsoll.term((at + 1) + ' ' + title, help)));
    return el('ul', {class: 'key', 'aria-label': 'Shaded: phases of a takeover'}, before, phases);
  };

  // How long each part of a takeover's bar is, from below: what lay between the last write and the fault, and the
  // phases.
  const partsOf = (one) => {
    if (one.takeover === null || one.granted === null) return [['phase-0', height(one)]];
    const free = one.free === null ? one.granted : Math.min(one.free, one.granted);
    const replayed = one.replayed || 0;
    return [
      ['phase-0', Math.max((one.gap || 0) - one.takeover, 0)], ['phase-1', free], ['phase-2', one.granted - free],
      ['phase-3', replayed], ['phase-4', one.firstWrite || 0]
    ];
  };

  // With its error, where that counts; a bound where the time may be nothing.
  const span = (ns, error) => {
    if (ns === null) return null;
    if (error > 0 && error >= ns) return {ns: Math.max(ns + error, 0), most: true};
    return {ns, error: error > 1e6 && error * 10 > ns ? error : 0};
  };
  const spanOf = (known) => (known ? span(known.ns, known.error_ns) : null);

  const gapText = (one) => {
    const gap = span(one.gap, one.gapError);
    return gap === null ? '' : ', gap ' + (gap.most ? '\u2264 ' : '') + format.time(gap.ns);
  };

  const describe = (one) => 'Round ' + one.round + ', ' + one.fault + ', qm' + one.qm + ', ' + one.oldHost +
      ' \u2192 ' + one.newHost + ': ' + (OUTCOMES[one.outcome] || one.outcome) + gapText(one) +
      (one.doubtful ? '; inconclusive round' : '');

  const GUTTER = 58;
  const HIGH = 130;

  // All rounds: a bar for each, or for several neighbouring ones the worst of them.
  const strip = (rounds, pictured, chosen, width, choose) => {
    const inner = width - GUTTER - 6;
    const each = Math.max(1, Math.ceil(rounds.length / Math.max(inner / 3, 1)));
    const columns = [];
    for (let at = 0; at < rounds.length; at += each) columns.push(rounds.slice(at, at + each));
    const most = Math.max(...rounds.map((round) => height(round.worst)), 1);
    const wide = Math.min(inner / columns.length, 72);
    const top = 20;
    const base = top + HIGH;
    const y = (ns) => base - ns / most * HIGH;
    const image =
        svg('svg', {
          viewBox: '0 0 ' + width + ' ' + (base + 34),
          width,
          height: base + 34,
          class: 'drill strip',
          role: 'img',
          'aria-labelledby': 'drill-strip-title drill-strip-text'
        },
            svg('title', {id: 'drill-strip-title'}, 'The gap of each round, by phase'),
            svg('desc', {id: 'drill-strip-text'},
                format.plural(rounds.length, 'round') + '; the longest gap or takeover took ' + format.time(most) +
                    '; the table below has the figures'));
    const power = 10 ** Math.floor(Math.log10(most));
    const step = [0.2, 0.5, 1, 2, 5].map((part) => part * power).find((size) => most / size <= 4) || power;
    for (let at = 0; at <= most * 1.0001; at += step) {
      image.append(
          svg('line', {x1: GUTTER, x2: width - 6, y1: y(at), y2: y(at), class: 'grid'}),
          svg('text', {x: GUTTER - 6, y: y(at) + 4, 'text-anchor': 'end', class: 'row'},
              at === 0 ? '0' : format.shortTime(at)));
    }
    columns.forEach((column, number) => {
      const one = worstOf(column.map((round) => round.worst));
      // Where a bar stands for several rounds, the longest is drawn under the sign of the worst.
      const longest = column.flatMap((round) => round.list).reduce((a, b) => (height(b) > height(a) ? b : a));
      const x = GUTTER + number * wide;
      const bar = svg('g', {class: 'bar-of-round'});
      bar.append(
          svg('title', {}, (column.length > 1 ? 'The worst of ' + column.length + ' rounds. ' : '') + describe(one)));
      const room = Math.max(wide - (wide > 4 ? 2 : 0.5), 0.8);
      bar.append(svg('rect', {x, y: top - 16, width: wide, height: HIGH + 50, class: 'reach'}));
      let from = 0;
      for (const [name, length] of one.outcome === 'none' ? [['failed', most]] :
                                                            partsOf(column.length > 1 ? longest : one)) {
        if (length <= 0) continue;
        bar.append(svg(
            'rect', {x, y: y(from + length), width: room, height: Math.max(length / most * HIGH, 0.5), class: name}));
        from += length;
      }
      if (from === 0) bar.append(svg('rect', {x, y: base - 2, width: room, height: 2, class: 'phase-0'}));
      const [, sign, tone] = SIGNS[signOf(one)];
      if (sign !== '') {
        bar.append(
            svg('text', {x: x + room / 2, y: Math.max(y(from) - 4, 12), 'text-anchor': 'middle', class: 'sign ' + tone},
                sign));
      }
      const drawn = column.find((round) => round.round === chosen) || column.find((round) => pictured.has(round.round));
      if (drawn !== undefined) {
        const isChosen = drawn.round === chosen;
        bar.append(
            svg('rect',
                {x, y: base + 3, width: room, height: isChosen ? 5 : 2, class: isChosen ? 'drawn chosen' : 'drawn'}));
        bar.classList.add('has-picture');
        bar.addEventListener('click', () => choose(drawn.round));
      }
      const every = Math.max(1, Math.ceil(44 / wide));
      if (number % every === 0 && (number + every <= columns.length || number === 0)) {
        bar.append(svg(
            'text', {x: x + room / 2, y: base + 24, 'text-anchor': 'middle', class: 'row'}, String(column[0].round)));
      }
      image.append(bar);
    });
    return image;
  };

  const PHASE_NAMES = {
    gap: ['Gap', 'from the last acknowledged write of the old active instance to the first of the new one'],
    to_free: ['Fault to lock free', 'by an independent poller, which tries the lock every few milliseconds'],
    free_to_granted:
        ['Lock free to granted', 'until the standby instance noticed: with polling, after one interval at most'],
    to_granted: ['Fault to granted', 'until the standby instance had the lock'],
    to_replayed: ['Granted to log read', 'reading the log since the last checkpoint; not MQ\'s restart'],
    to_first_write: ['Log read to first write', 'until the first write of the new active instance was durable'],
    takeover: ['Takeover', 'from the fault to the first new durable write'],
    own: ['Own share', 'from the grant to the first write, minus the log read: what the instance itself adds'],
  };

  // Percentiles only where some phase has enough takeovers for them.
  const phaseTable = (report) => {
    const ranks = [['p90', 'p90_ns', 'p90_error_ns'], ['p99', 'p99_ns', 'p99_error_ns']].filter(
        ([, ns]) => report.phases.some((phase) => phase[ns] !== 0));
    return plimsoll.table(
        'Takeovers over all rounds',
        [
          {title: 'Time', head: true}, {title: 'Takeovers'}, {title: 'Min', time: 'phase'},
          {title: 'Median', time: 'phase'}, {title: 'Max', time: 'phase'},
          ...ranks.map(([title]) => ({title, time: 'phase'}))
        ],
        report.phases.map((phase) => {
          const [name, help] = PHASE_NAMES[phase.phase] || [phase.phase, ''];
          return [
            help ? plimsoll.term(name, help) : name, format.count(phase.count), spanOf(phase.min), spanOf(phase.median),
            spanOf(phase.max), ...ranks.map(([, ns, error]) => (phase[ns] === 0 ? null : span(phase[ns], phase[error])))
          ];
        }));
  };

  const roundTable = (takeovers) => plimsoll.table(
      'Rounds; lock free and granted: since the fault; log read: since the grant, not MQ\'s restart; first write: since the log was read',
      [
        {title: 'Round', head: true}, {title: 'Fault', text: true}, {title: 'From', text: true},
        {title: 'To', text: true}, {title: 'QM'}, {title: 'Result', text: true}, {title: 'Gap', time: 'gap'},
        {title: 'Lock free', time: 'phase'}, {title: 'Granted', time: 'phase'}, {title: 'Log read', time: 'phase'},
        {title: 'First write', time: 'phase'}, {title: 'Lost'}
      ],
      takeovers.map(
          (one) =>
              [String(one.round), one.fault, one.oldHost, one.newHost, String(one.qm),
               (OUTCOMES[one.outcome] || one.outcome) + (one.doubtful ? '; inconclusive' : ''),
               span(one.gap, one.gapError), span(one.free, one.freeError), span(one.granted, one.grantedError),
               one.replayed, one.firstWrite, format.count(one.lost)]));

  const logs = (report) => {
    const found = report.findings;
    const rows = report.queue_managers.map((qm) => {
      const one = qm.findings;
      return [
        'qm' + qm.qm, qm.hosts.join(', '), format.count(qm.active_instances), format.count(qm.acknowledged),
        format.count(one.missing), format.count(one.torn), format.count(one.misplaced), format.count(one.overwritten),
        format.count(one.split_brain), qm.scanned ? 'yes' : 'no'
      ];
    });
    return plimsoll.section(
        'logs', 'Logs after the drill',
        plimsoll.table(
            'Acknowledged writes, and defects found',
            [
              {title: 'Queue manager', head: true}, {title: 'Hosts', text: true}, {title: 'Active instances'},
              {title: 'Acknowledged'}, {title: 'Missing'}, {title: 'Torn'}, {title: 'Misplaced'},
              {title: 'Overwritten'}, {title: 'Split brain'}, {title: 'Scanned at the end', text: true}
            ],
            rows),
        el('p', {class: 'remark'},
           'Writes in flight at a fault were never acknowledged, so none of them counts as lost: ' +
               format.count(found.in_doubt_present) + ' in the log, ' + format.count(found.in_doubt_absent) +
               ' not in it, ' + format.count(found.in_doubt_late) + ' written later' +
               (found.overwritten_in_flight > 0 ?
                    ', over ' + format.plural(found.overwritten_in_flight, 'acknowledged block') + ', now lost.' :
                    '.')),
        report.max_in_doubt_window_ns > 0 ? el('p', {class: 'remark'},
                                               'Completed writes were in the controller\u2019s ledger within ' +
                                                   format.time(report.max_in_doubt_window_ns) + '.') :
                                            null);
  };

  const eventTable = (qm) => {
    const rows = [];
    const add = (at, what, where) => {
      if (at !== undefined) rows.push([at, what, where]);
    };
    add(qm.last_write_ns, 'last acknowledged write', qm.lanes.length > 0 ? qm.lanes[0].host : '');
    add(qm.fault_ns, 'fault, at the earliest', '');
    add(qm.fault_until_ns, 'fault, at the latest', '');
    add(qm.free_ns, 'lock found free by the poller', '');
    add(qm.first_write_ns, 'first new durable write', '');
    for (const lane of qm.lanes) {
      for (const one of lane.states) {
        add(one.from_ns,
            'instance ' + one.instance + ': ' + haPicture.STATES[one.state][0] + ' until ' + format.time(one.to_ns),
            lane.host);
      }
      for (const one of lane.locks) {
        add(one.from_ns, 'instance ' + one.instance + ': holds lock ' + one.lock + ' until ' + format.time(one.to_ns),
            lane.host);
      }
    }
    rows.sort((a, b) => a[0] - b[0]);
    return plimsoll.table(
        'qm' + qm.qm + ': events; times are relative to the fault, and cut off where the picture ends',
        [{title: 'At', head: true, time: 'at'}, {title: 'Event', text: true}, {title: 'Host', text: true}], rows);
  };

  const writesCells = (writes) =>
      [format.count(writes.count), writes.count > 0 ? writes.sum_ns / writes.count : null,
       writes.count > 0 ? writes.max_ns : null];

  const othersPart = (shown, width) => {
    const heading = el('h3', {}, 'Log writes of the other queue managers');
    if (shown.others.length === 0) {
      return [
        heading,
        el('p', {class: 'soft'},
           'None wrote at that time: the drill has one pair, or the others had no active instance.')
      ];
    }
    const rows =
        shown.others.map((one) => ['qm' + one.qm, one.host, ...writesCells(one.before), ...writesCells(one.during)]);
    if (shown.others_left_out > 0) {
      rows.push([
        'all', format.count(shown.others.length + shown.others_left_out) + ' queue managers',
        ...writesCells(shown.others_before), ...writesCells(shown.others_during)
      ]);
    }
    return [
      heading,
      el('p', {class: 'soft'},
         'Pairs that this fault did not affect, in frames of ' + format.length(shown.frame_ns) +
             ': each bar is the mean service time of the writes in a frame, each dot the end of the slowest one, with a ' +
             'line from its start. The axis is logarithmic. The shaded period lasts from the fault until the affected ' +
             'queue managers wrote again.'),
      haPicture.others(shown, 'Log writes of the other queue managers, round ' + shown.round, width),
      el('p', {class: 'remark'},
         'Before: frames that ended before the fault. During: frames that overlap the shaded period' +
             (shown.others_left_out > 0 ? '. Shown: the queue managers with the slowest writes in it.' : '.')),
      plimsoll.table(
          'Service time of their log writes',
          [
            {title: 'Queue manager', head: true}, {title: 'Host', text: true}, {title: 'Writes before'},
            {title: 'Mean', time: 'service'}, {title: 'Slowest', time: 'service'}, {title: 'Writes during'},
            {title: 'Mean', time: 'service'}, {title: 'Slowest', time: 'service'}
          ],
          rows)
    ];
  };

  const stateKey = () =>
      el('ul', {class: 'key', 'aria-label': 'States and locks'},
         Object.entries(haPicture.STATES)
             .map(
                 ([name, [word, help]]) =>
                     el('li', {}, el('span', {class: 'state-key ' + name, 'aria-hidden': 'true'}), word + ': ' + help)),
         el('li', {}, el('span', {class: 'state-key lock-active', 'aria-hidden': 'true'}), 'holds the active lock'),
         el('li', {}, el('span', {class: 'state-key lock-standby', 'aria-hidden': 'true'}), 'holds the standby lock'));

  // Makes the sections; `redraw` draws what depends on the width of the page, once they are in it.
  const sections = ({ha}) => {
    if (ha === null) return null;
    const takeovers = takeoversOf(ha.takeovers);
    const rounds = roundsOf(takeovers);
    const pictures = new Map(ha.pictures.map((one) => [one.round, one]));
    const longest = rounds.filter((round) => pictures.has(round.round)).map((round) => round.worst);
    let chosen = longest.length > 0 ? worstOf(longest).round : null;
    const stripPlace = el('figure', {class: 'drawing'});
    const picturePlace = el('div', {class: 'drawing'});
    const width = (place) => Math.max(Math.min(place.clientWidth, 1138), 280);
    const titleOf = (round) => {
      const found = rounds.find((one) => one.round === round);
      if (found === undefined) return 'Round ' + round;
      const one = found.worst;
      return 'Round ' + round + ': ' + one.fault + ' on ' + one.oldHost + gapText(one) + ' ' + SIGNS[signOf(one)][1];
    };
    const select =
        el('select', {id: 'round-chooser', change: () => show(Number(select.value))},
           [...pictures.keys()].map((round) => el('option', {value: round}, titleOf(round))));
    const show = (round) => {
      chosen = round;
      select.value = String(round);
      redraw();
    };
    const drawPicture = () => {
      const shown = pictures.get(chosen);
      const wide = width(picturePlace);
      const parts = [];
      for (const qm of shown.queue_managers) {
        const hosts = qm.lanes.map((lane) => lane.host);
        const takeover = takeovers.find((one) => one.round === chosen && one.qm === qm.qm);
        const title = 'qm' + qm.qm + ': ' + hosts.join(takeover && takeover.outcome === 'taken' ? ' \u2192 ' : ', ') +
            (takeover ? ', ' + (OUTCOMES[takeover.outcome] || takeover.outcome) : '');
        const phases = haPicture.phasesOf(qm);
        parts.push(
            el('h3', {}, title),
            phases.length === 0 ?
                null :
                el('ul', {class: 'key'},
                   phases.map(
                       (one) =>
                           el('li', {}, swatch('phase-' + one.number),
                              one.number + ' ' + PHASES[one.number - 1][1] + ' ' + format.time(one.to - one.from)))),
            haPicture.lanes(shown, qm, 'Round ' + chosen + ', ' + title, wide),
            plimsoll.tableBehind('The events of qm' + qm.qm + ' as a table', () => eventTable(qm)));
      }
      if (shown.queue_managers_left_out > 0) {
        parts.push(
            el('p', {class: 'remark'},
               format.plural(shown.queue_managers_left_out, 'queue manager') + ' with shorter gaps: not shown.'));
      }
      parts.push(...othersPart(shown, wide));
      picturePlace.replaceChildren(
          el('p', {class: 'soft'},
             'Fault at ' + format.timeOfDay(shown.zero) + ' UTC. ' +
                 (shown.error_ns > 0 ? 'Clock error between hosts: \u00b1 ' + format.time(shown.error_ns) + '. ' : '') +
                 'The row of writes shows completed writes per ' + format.shortTime(shown.bin_ns) + '.'),
          ...parts.filter((part) => part !== null));
    };
    const redraw = () => {
      if (rounds.length > 0) {
        stripPlace.replaceChildren(strip(rounds, new Set(pictures.keys()), chosen, width(stripPlace), show));
      }
      if (chosen !== null) drawPicture();
    };
    const all = plimsoll.section(
        'takeovers', 'Takeovers',
        rounds.length === 0 ?
            el('p', {class: 'nothing'}, 'No round started.') :
            el('div', {},
               el('p', {},
                  'Each bar shows the gap in log writes of one round' +
                      (takeovers.length > rounds.length || ha.takeovers.worst ?
                           ' (of the queue manager with the longest gap)' :
                           '') +
                      ', from the last acknowledged write of the old active instance to the first of the new one. ' +
                      'A flat bar: no takeover. \u2717: acknowledged writes were lost, or two instances held the lock. ' +
                      '>: the lock was not released in time. ?: the round is inconclusive.'),
               phaseKey(), stripPlace,
               pictures.size > 0 ?
                   el('p', {class: 'remark'},
                      'Rounds with a line below their bar are shown in detail below' +
                          (pictures.size < rounds.length ?
                               ': those that failed or are inconclusive, and those with the longest gaps.' :
                               '.')) :
                   null),
        ha.report.phases.length > 0 ? phaseTable(ha.report) : null,
        takeovers.length > 0 ? plimsoll.tableBehind('All rounds as a table', () => roundTable(takeovers)) : null);
    const detail = chosen === null ?
        null :
        plimsoll.section(
            'round', 'A round in detail', el('div', {class: 'controls'}, el('label', {class: 'pick'}, 'Round', select)),
            stateKey(), picturePlace);
    if (chosen !== null) select.value = String(chosen);
    let last = 0;
    window.addEventListener('resize', () => {
      if (window.innerWidth === last) return;
      last = window.innerWidth;
      redraw();
    });
    return {elements: [all, detail, logs(ha.report)].filter((part) => part !== null), redraw, show};
  };

  plimsoll.kinds.push({
    of: (report) => report.plan && report.plan.ha,
    title: 'HA drill',
    sections,
    sheet: ({ha}) => (ha !== null && ha.report.phases.length > 0 ? phaseTable(ha.report) : null)
  });
})();
