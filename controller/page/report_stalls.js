// Stalls and slow writes: the shading behind the time charts, and the tables.
'use strict';

plimsoll.stalls = (() => {
  const {el, format} = plimsoll;
  const MOST_SHADED = 100;
  const MOST_SLOW = 10;

  // How classes are called, drawn (colour and hatching), and read.
  const CLASSES = {
    all_hosts: [
      'all hosts', 'stall-all', 'rising',
      'every host on the storage stalled: suspect the storage, or the part of the path that all hosts share'
    ],
    some_hosts: [
      'some hosts', 'stall-some', 'falling',
      'several hosts stalled, at least one did not: suspect what only the affected hosts share'
    ],
    one_host: [
      'one host', 'stall-one', 'upright',
      'one host stalled, the others on its storage did not: suspect its path to the storage'
    ],
    one_qm: [
      'one queue manager', 'stall-qm', 'dotted',
      'one queue manager of a host stalled, the others did not: suspect a file, a lock or a lack of CPU, not the path'
    ],
    some_qms: [
      'some queue managers', 'stall-qms', 'level',
      'several queue managers of a host stalled, but not all that write to the same directory: the path, which they share, is not the cause'
    ],
    single_host: [
      'storage or path (undetermined)', 'stall-single', 'crossed',
      'one host stalled, and no other host on its storage has data for comparison, so storage and path look alike: measure with two hosts'
    ],
    host_paused: ['host paused', 'stall-paused', 'plain', 'the agent was suspended: no evidence about the storage'],
    unspecified: ['unknown', 'stall-unknown', 'plain', ''],
  };
  // Looks up a class; its help names the report's operations.
  const known = (name) => {
    const [title, color, hatching, help] = CLASSES[name] || CLASSES.unspecified;
    return [title, color, hatching, plimsoll.words.main(help)];
  };

  // The strokes of a hatching that fills a rectangle, as [x1, y1, x2, y2]; those that slope hang over its edges.
  const strokes = (hatching, width, height, gap = 6) => {
    const lines = [];
    const sloped = (rising) => {
      for (let at = -height; at < width; at += gap)
        lines.push(rising ? [at, height, at + height, 0] : [at, 0, at + height, height]);
    };
    if (hatching === 'rising' || hatching === 'crossed') sloped(true);
    if (hatching === 'falling' || hatching === 'crossed') sloped(false);
    if (hatching === 'level') {
      for (let y = gap / 2; y < height; y += gap) lines.push([0, y, width, y]);
    }
    if (hatching === 'upright') {
      for (let x = gap / 2; x < width; x += gap) lines.push([x, 0, x, height]);
    }
    if (hatching === 'dotted') {
      for (let y = gap / 2; y < height; y += gap)
        for (let x = gap / 2; x < width; x += gap) lines.push([x - 1, y, x + 1, y]);
    }
    return lines;
  };

  const stallsOf = (step) => (step.step.stalls ? step.step.stalls.stalls : []).slice(0, MOST_SHADED);

  // What of a class overlaps, as one: shades would add up.
  const merged = (stalls) => {
    const spans = [];
    const last = new Map();
    for (const stall of [...stalls].sort((a, b) => a.offset_ns - b.offset_ns)) {
      const name = stall.stall_class;
      const to = stall.offset_ns + stall.length_ns;
      const before = last.get(name);
      if (before !== undefined && stall.offset_ns <= before.to_ns) {
        before.to_ns = Math.max(before.to_ns, to);
        continue;
      }
      last.set(name, {name, from_ns: stall.offset_ns, to_ns: to});
      spans.push(last.get(name));
    }
    return spans;
  };

  // Draws the step's stalls behind a chart; nothing where there is none.
  const shade = (step) => {
    const stalls = merged(stallsOf(step));
    if (stalls.length === 0) return null;
    return (context, area, toX) => {
      for (const stall of stalls) {
        const from = toX(stall.from_ns / 1e9);
        const to = toX(stall.to_ns / 1e9);
        const left = Math.max(from, area.x);
        const right = Math.min(Math.max(to, from + 3), area.x + area.w);
        if (right <= left) continue;
        const [, color, hatching] = known(stall.name);
        context.save();
        context.beginPath();
        context.rect(left, area.y, right - left, area.h);
        context.clip();
        context.fillStyle = context.strokeStyle = plimsoll.token(color);
        context.globalAlpha = 0.16;
        context.fillRect(left, area.y, right - left, area.h);
        context.globalAlpha = 0.55;
        context.lineWidth = 1;
        context.beginPath();
        for (const [x1, y1, x2, y2] of strokes(hatching, right - left, area.h)) {
          context.moveTo(left + x1, area.y + y1);
          context.lineTo(left + x2, area.y + y2);
        }
        context.stroke();
        // A mark on top, for those that are thin.
        context.globalAlpha = 1;
        context.fillRect(left, area.y, right - left, 5);
        context.restore();
      }
    };
  };

  // The shade of a class, as the charts draw it.
  const swatch = (name) => {
    const [, color, hatching] = known(name);
    const [width, height] = [24, 14];
    const {svg} = plimsoll;
    const lines = strokes(hatching, width, height).map(([x1, y1, x2, y2]) => 'M' + x1 + ' ' + y1 + 'L' + x2 + ' ' + y2);
    const picture =
        svg('svg', {width, height, viewBox: '0 0 24 14', class: 'stall-swatch', 'aria-hidden': 'true'},
            svg('rect', {width, height, class: 'shade'}), svg('path', {d: lines.join('')}),
            svg('rect', {width, height: 3, class: 'top'}));
    picture.style.setProperty('--swatch', 'var(--' + color + ')');
    return picture;
  };

  // What the shades mean: those that occur.
  const key = (step) => {
    const present = [...new Set(stallsOf(step).map((stall) => stall.stall_class))];
    if (present.length === 0) return null;
    return el(
        'ul', {class: 'key', 'aria-label': 'Shaded: stalls'},
        present.map((name) => el('li', {}, swatch(name), plimsoll.term('stall: ' + known(name)[0], known(name)[3]))));
  };

  // Hosts by name; many are counted.
  const names = (hosts) =>
      plimsoll.listed(hosts.length > 6 ? [...hosts.slice(0, 5), 'and ' + (hosts.length - 5) + ' more'] : hosts, ',');

  const writers = (stall) => {
    const shown = stall.writers.slice(0, 4).map(
        (one) => plimsoll.model.writerName(one.host, one.qm) + ' ' + format.time(one.length_ns).replace(' ', '\u00a0') +
            (one.open ? ', open' : ''));
    const more = stall.writers_count - shown.length;
    return plimsoll.listed(more > 0 ? [...shown, 'and ' + more + ' more'] : shown, ';');
  };

  // How long a writer must stall to count. Where a step reads and writes, the greater of the two medians counts.
  const threshold = (stalls, {reads}) => format.length(stalls.threshold_ns) +
      (stalls.threshold_by_median ?
           ', or 20\u00d7 the writer\u2019s median' + (reads ? ' write or read' : '') + ', whichever is greater' :
           '');

  const stallSection = (step) => {
    const {stalls} = step.step;
    if (!stalls) return null;
    const both = step.reads ? ' Writes and reads count alike.' : '';
    const parts =
        [el('p', {},
            stalls.count === 0 ? 'No queue manager stalled. Threshold: ' + threshold(stalls, step) + '.' + both :
                                 format.plural(stalls.count, 'stall') + ', consisting of ' +
                    format.plural(stalls.stretches, 'stall interval') +
                    ' of single queue managers. Threshold: ' + threshold(stalls, step) + '.' + both)];
    if (stalls.classes.length > 0) {
      parts.push(el('ul', {class: 'classes'}, stalls.classes.map((one) => {
        const [title, , , help] = known(one.stall_class);
        return el(
            'li', {}, swatch(one.stall_class),
            el('span', {}, el('strong', {}, format.count(one.count) + ' \u00d7 ' + title), help ? ': ' + help : ''));
      })));
    }
    if (stalls.stalls.length > 0) {
      parts.push(plimsoll.table(
          stalls.stalls.length < stalls.count ? 'The ' + stalls.stalls.length + ' longest stalls, by time' :
                                                'Stalls, by time; open: not over when the data end',
          [
            {title: 'Time in step', head: true}, {title: 'Time (UTC)'}, {title: 'Length', time: 'length'},
            {title: '\u00b1', time: 'length'}, {title: 'Class', text: true}, {title: 'Stalled', text: true, long: true},
            {title: 'Unaffected', text: true, long: true}, {title: 'Longest', text: true, long: true}
          ],
          stalls.stalls.map(
              (stall) =>
                  [format.elapsed(stall.offset_ns / 1e9, 3), format.timeOfDay(stall.begin),
                   {ns: stall.length_ns, note: stall.open ? 'open' : ''}, stall.error_ns, known(stall.stall_class)[0],
                   names(stall.hosts), names(stall.others), writers(stall)])));
    }
    if (stalls.left_out > 0)
      parts.push(
          el('p', {class: 'remark'}, format.count(stalls.left_out) + ' further stall intervals are not counted.'));
    return plimsoll.section('stalls', 'Stalls', parts);
  };

  // Makes a table of slow operations; `title` heads the column of their numbers.
  const slowTable = (step, caption, title, kinds, slow) => {
    const {report} = step;
    const times = {response: (write) => write.response_ns, service: (write) => write.latency_ns};
    const prefixes = new Map(report.hosts.map(
        (host) =>
            [host.label, host.workload && host.workload.file_prefix !== undefined ? host.workload.file_prefix : 'S']));
    const files = new Map(report.hosts.map((host) => [host.label, (host.workload && host.workload.files) || []]));
    const extent = (write) => (files.get(write.host) || [])[write.extent] ||
        (prefixes.get(write.host) || 'S') + String(write.extent).padStart(7, '0') + '.LOG';
    const offset = (write) => {
      const start = step.step.start;
      if (!start || !write.start) return format.DASH;
      const seconds = (moment) =>
          Date.parse(moment.slice(0, 19) + 'Z') / 1000 + Number('0' + moment.slice(19).replace('Z', ''));
      return format.elapsed(seconds(write.start) - seconds(start), 3);
    };
    return plimsoll.table(
        caption,
        [
          ...kinds.map(
              (kind, at) =>
                  ({title: kind === 'response' ? 'Response time' : 'Service time', head: at === 0, time: 'latency'})),
          {title: 'Host', text: true, name: true}, {title: 'QM'}, {title}, {title: 'Extent', text: true},
          {title: 'Offset, bytes'}, {title: 'Time in step'}, {title: 'Time (UTC)'}, {title: '\u00b1', time: 'latency'}
        ],
        slow.map(
            (write) =>
                [...kinds.map((kind) => times[kind](write)), write.host, String(write.qm),
                 '#' + format.count(write.number), extent(write), format.count(write.offset_bytes), offset(write),
                 format.timeOfDay(write.start, 6), write.error_ns]));
  };

  const hasResponse = (write) => write.response_ns !== undefined;

  // Makes a table of the slowest read of each queue manager: the report does not have the ten slowest reads of all.
  const slowestReads = (step) => {
    const slowest = step.reads ? step.reads.scopes.filter((scope) => scope.kind === 'qm' && scope.slowest) : [];
    const reads = slowest.map((scope) => scope.slowest).sort((a, b) => b.latency_ns - a.latency_ns).slice(0, MOST_SLOW);
    if (reads.length === 0) return null;
    const kinds = reads.every(hasResponse) ? ['service', 'response'] : ['service'];
    return slowTable(
        step, 'The slowest read of each queue manager, slowest first, by service time', 'Read', kinds, reads);
  };

  const slowSection = (step) => {
    const {main} = plimsoll.words;
    const all = step.slowest();
    const slowest = all.length > 0 ? all : [step.cluster && step.cluster.slowest].filter((one) => one);
    const reads = slowestReads(step);
    // Shows the two times where the agents report them, first the one by which the writes were chosen.
    const both = slowest.every(hasResponse);
    const kinds = !both ? ['service'] : step.kind === 'response' ? ['response', 'service'] : ['service', 'response'];
    if (slowest.length === 0 && reads === null) return null;
    const title = main(slowest.length > 1 ? 'Slowest writes' : 'Slowest write') + (reads === null ? '' : ' and reads');
    const caption = (reads === null ? 'Slowest' : 'Writes, slowest') + ' first, by ' + kinds[0] + ' time';
    return plimsoll.section(
        'slowest', title, slowest.length > 0 ? slowTable(step, caption, main('Write'), kinds, slowest) : null, reads);
  };

  return {CLASSES, shade, key, threshold, stallSection, slowSection};
})();
