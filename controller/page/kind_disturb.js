// The part of the page of a run with disturbances: what each command did to the load, and whether every acknowledged
// write is still there; and marks of the commands behind the charts over time.
'use strict';

(() => {
  const {el, format} = plimsoll;
  const MOST_FINDINGS = 20;

  const seconds = (ns) => format.fixed(ns / 1e9, 3) + ' s';
  const began = (ns) => format.elapsed(ns / 1e9, 1);
  const known = (value) => value !== null && value !== undefined;

  const whose = (one) => (one.pause_host ? plimsoll.model.writerName(one.pause_host, one.pause_qm) : format.DASH);
  const pause = (one, open) =>
      (one.longest_pause_ns > 0 ? (open ? '\u2265 ' : '') + seconds(one.longest_pause_ns) : format.DASH);
  const recovery = (one) => {
    if (known(one.recovery_ns)) return seconds(one.recovery_ns);
    return one.recovery_unknown ? el('span', {title: one.recovery_unknown}, format.DASH) :
                                  'not within ' + seconds(one.observed_ns);
  };

  const commandRow = (name, command) =>
      [name, began(command.start_ns), known(command.duration_ns) ? seconds(command.duration_ns) : format.DASH,
       command.exit_code < 0 ? format.DASH : String(command.exit_code), pause(command, command.pause_open), '',
       recovery(command), command.error, command.arguments.join(' ')];

  // A row for each disturbance, and below it one for each of its commands.
  const rowsOf = (disturb) => disturb.disturbances.flatMap((one) => {
    if (!one.do) return [[one.name, format.DASH, '', '', '', '', '', 'was not started', '']];
    const failed = one.failed_writers > 0 ? format.plural(one.failed_writers, 'queue manager') + ' failed' : '';
    return [
      [one.name, began(one.do.start_ns), '', '', pause(one, one.pause_open), whose(one), recovery(one), failed, ''],
      commandRow('do', one.do), ...(one.undo ? [commandRow('undo', one.undo)] : [])
    ];
  });

  const table = (disturb) => plimsoll.table(
      'What the disturbances did to the load',
      [
        {title: 'Disturbance', head: true}, {title: 'Began', help: 'from the beginning of the measured time'},
        {title: 'Took'}, {title: 'Exit code'},
        {title: 'Longest pause', help: 'longest time for which a write of one queue manager was in flight'},
        {title: 'Queue manager', text: true}, {
          title: 'As before after',
          help: 'from the start of the command to the first second from which on the load is as before'
        },
        {title: 'What failed', text: true, long: true}, {title: 'Command', text: true, long: true}
      ],
      rowsOf(disturb));

  const rule = (disturb, rated) => (
      disturb.baseline_seconds === 0 ?
          'There are too few seconds with writes before the first disturbance to say when the load is as before.' :
          'The load is as before with the first of three seconds in a row that have at least 90 % of the writes of the ' +
              'least of the ' + disturb.baseline_seconds + ' seconds before the first disturbance (' +
              format.rate(disturb.least_writes_per_second) + '), and an average ' +
              (rated ? 'response time' : 'latency') + ' of at most 110 % of the largest of theirs (' +
              format.time(disturb.most_average_latency_ns) + ').');

  const readBackText = (disturb) => {
    const lookedFor = disturb.looked_for_writes;
    const writes = (lookedFor < disturb.acknowledged_writes ? 'the last ' + format.count(lookedFor) + ' of ' : '') +
        format.plural(disturb.acknowledged_writes, 'acknowledged write');
    const all = disturb.read_back.length > 0 && disturb.read_back.every((host) => !host.error);
    if (disturb.lost_blocks > 0) {
      return 'Read back: ' + format.plural(disturb.lost_blocks, 'block') +
          (disturb.lost_blocks === 1 ? ' does' : ' do') + ' not hold the last acknowledged write, of ' + writes +
          (all ? '.' : '; not everything was read.');
    }
    return all ? 'Read back: ' + writes + ', all there.' :
                 'Not everything was read back; no loss was found among ' +
            format.plural(lookedFor, 'acknowledged write') + ' that the hosts looked for.';
  };

  const problems = (disturb) => disturb.read_back.filter((host) => host.error)
                                    .slice(0, MOST_FINDINGS)
                                    .map((host) => el('p', {class: 'remark'}, host.host + ': ' + host.error));

  const findings = (disturb) => {
    const rows = disturb.read_back.flatMap(
        (host) => host.writers.flatMap(
            (writer) => writer.findings.map(
                (one) =>
                    [plimsoll.model.writerName(host.host, writer.qm), one.path, format.count(one.offset_bytes),
                     one.expected_sequence > 0 ? format.count(one.expected_sequence) : format.DASH, one.text])));
    if (rows.length === 0) return null;
    return plimsoll.table(
        'Blocks that do not hold what they should',
        [
          {title: 'Queue manager', head: true}, {title: 'File', text: true}, {title: 'Offset, bytes'},
          {title: 'Write', help: 'number of the last acknowledged write to it'},
          {title: 'Found', text: true, long: true}
        ],
        rows.slice(0, MOST_FINDINGS));
  };

  const sections = ({report}) => {
    const {disturb} = report;
    if (!disturb) return null;
    const rated = report.steps.some((step) => step.response);
    return {
      elements: [plimsoll.section(
          'disturbances', 'Disturbances', el('p', {}, el('strong', {}, readBackText(disturb))), table(disturb),
          el('p', {class: 'remark'}, rule(disturb, rated)), ...problems(disturb), findings(disturb))]
    };
  };

  // Upright lines where commands began, behind the lines of a chart over the step's time.
  const shade = (step) => {
    const marks = step.report.disturb.disturbances.flatMap(
        (one) =>
            [...(one.do ? [{at: one.do.start_ns / 1e9, word: one.name}] : []),
             ...(one.undo ? [{at: one.undo.start_ns / 1e9, word: 'undo'}] : [])]);
    return (context, area, toX) => {
      context.save();
      context.strokeStyle = plimsoll.token('ink');
      context.fillStyle = plimsoll.token('ink');
      context.lineWidth = 1;
      context.setLineDash([5, 4]);
      context.font = '12px sans-serif';
      marks.forEach(({at, word}, number) => {
        const x = toX(at);
        if (x < area.x || x > area.x + area.w) return;
        context.beginPath();
        context.moveTo(x, area.y);
        context.lineTo(x, area.y + area.h);
        context.stroke();
        const right = x + 6 + context.measureText(word).width > area.x + area.w;
        context.textAlign = right ? 'right' : 'left';
        context.fillText(word, x + (right ? -5 : 5), area.y + 12 + 15 * (number % 2));
      });
      context.restore();
    };
  };

  plimsoll.kinds.push({of: (report) => report.disturb, title: 'Disturbed run', sections, shade});
})();
