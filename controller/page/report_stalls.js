// Stalls and slow writes: the shading behind the time charts, and the tables.
'use strict';

plimsoll.stalls = (() => {
  const {el, format} = plimsoll;
  const MOST_SHADED = 100;

  // How classes are called, drawn, and read.
  const CLASSES = {
    all_hosts: ['all hosts', 's6', 'every host of the storage stood: the storage, or what they share on the way to it'],
    some_hosts: ['some hosts', 's2', 'several hosts of the storage stood, others did not'],
    one_host: ['one host', 's4', 'one host stood, no other one of the storage: its path'],
    one_qm: ['one queue manager', 's5', 'one queue manager of a host with several'],
    some_qms: ['some queue managers', 's3', 'several queue managers of one host, not all'],
    single_host: ['single host', 's1', 'the storage has one host here: its path and the storage cannot be told apart'],
    host_paused: ['host paused', 's8', 'the agent itself did not run: says nothing of the storage'],
    unspecified: ['unknown', 's7', ''],
  };
  const known = (name) => CLASSES[name] || CLASSES.unspecified;

  const stallsOf = (step) => (step.step.stalls ? step.step.stalls.stalls : []).slice(0, MOST_SHADED);

  // Draws the step's stalls behind a chart; nothing where there is none.
  const shade = (step) => {
    const stalls = stallsOf(step);
    if (stalls.length === 0) return null;
    return (context, area, toX) => {
      context.save();
      for (const stall of stalls) {
        const from = toX(stall.offset_ns / 1e9);
        const to = toX((stall.offset_ns + stall.length_ns) / 1e9);
        const left = Math.max(from, area.x);
        const right = Math.min(Math.max(to, from + 3), area.x + area.w);
        if (right <= left) continue;
        context.fillStyle = plimsoll.token(known(stall.stall_class)[1]);
        context.globalAlpha = 0.22;
        context.fillRect(left, area.y, right - left, area.h);
        // A mark on top, for those that are thin.
        context.globalAlpha = 0.9;
        context.fillRect(left, area.y, right - left, 4);
      }
      context.restore();
    };
  };

  // What the shades mean: those that occur.
  const key = (step) => {
    const present = [...new Set(stallsOf(step).map((stall) => stall.stall_class))];
    if (present.length === 0) return null;
    return el('ul', {class: 'key', 'aria-label': 'Shaded: stalls'}, present.map((name) => {
      const [title, color, help] = known(name);
      const swatch = el('span', {class: 'swatch block', 'aria-hidden': 'true'});
      swatch.style.setProperty('--swatch', 'var(--' + color + ')');
      return el('li', {title: help}, swatch, 'stall: ' + title);
    }));
  };

  // Hosts by name; many are counted.
  const names = (hosts) =>
      (hosts.length > 6 ? hosts.slice(0, 5).join(', ') + ' and ' + (hosts.length - 5) + ' more' : hosts.join(', '));

  const writers = (stall) => {
    const shown = stall.writers.slice(0, 4).map(
        (one) => one.host + '/qm' + one.qm + ' ' + format.time(one.length_ns) + (one.open ? ', open' : ''));
    const more = stall.writers_count - shown.length;
    return shown.join('; ') + (more > 0 ? '; and ' + more + ' more' : '');
  };

  const stallSection = (step) => {
    const told = step.step.stalls;
    if (!told) return null;
    const threshold = format.length(told.threshold_ns) +
        (told.threshold_by_median ? ', or 20 medians of the writer where that is more' : '');
    const parts =
        [el('p', {},
            told.count === 0 ? 'No queue manager stood for longer than ' + threshold + '.' :
                               format.plural(told.count, 'stall') + ' of ' +
                    format.plural(told.stretches, 'stretch').replace('stretchs', 'stretches') +
                    ' in which a queue manager stood for longer than ' + threshold + '.')];
    if (told.classes.length > 0) {
      parts.push(el('ul', {class: 'classes'}, told.classes.map((one) => {
        const [title, color, help] = known(one.stall_class);
        const swatch = el('span', {class: 'swatch block', 'aria-hidden': 'true'});
        swatch.style.setProperty('--swatch', 'var(--' + color + ')');
        return el(
            'li', {}, swatch,
            el('span', {}, el('strong', {}, format.count(one.count) + ' \u00d7 ' + title), help ? ': ' + help : ''));
      })));
    }
    if (told.stalls.length > 0) {
      parts.push(plimsoll.table(
          told.stalls.length < told.count ? 'The ' + told.stalls.length + ' longest stalls, in the order of time' :
                                            'Stalls, in the order of time',
          [
            {title: 'From the start', head: true}, {title: 'UTC'}, {title: 'Length'}, {title: '\u00b1'},
            {title: 'Class', text: true}, {title: 'Stood', text: true}, {title: 'Ran', text: true},
            {title: 'Longest', text: true}
          ],
          told.stalls.map(
              (stall) =>
                  [format.elapsed(stall.offset_ns / 1e9, 3), format.timeOfDay(stall.begin),
                   format.time(stall.length_ns) + (stall.open ? ', open' : ''), format.time(stall.error_ns),
                   known(stall.stall_class)[0], names(stall.hosts), names(stall.others), writers(stall)])));
    }
    if (told.left_out > 0)
      parts.push(
          el('p', {class: 'remark'}, format.count(told.left_out) + ' further stretches are in none of these figures.'));
    return plimsoll.section('stalls', 'Stalls', parts);
  };

  const slowSection = (step) => {
    const {report} = step;
    const told =
        step.step.slowest.length > 0 ? step.step.slowest : [step.cluster && step.cluster.slowest].filter((one) => one);
    if (told.length === 0) return null;
    const prefixes = new Map(report.hosts.map(
        (host) =>
            [host.label, host.workload && host.workload.file_prefix !== undefined ? host.workload.file_prefix : 'S']));
    const extent = (write) => (prefixes.get(write.host) || 'S') + String(write.extent).padStart(7, '0') + '.LOG';
    const offset = (write) => {
      const start = step.step.start;
      if (!start || !write.start) return format.DASH;
      const seconds = (moment) =>
          Date.parse(moment.slice(0, 19) + 'Z') / 1000 + Number('0' + moment.slice(19).replace('Z', ''));
      return format.elapsed(seconds(write.start) - seconds(start), 3);
    };
    return plimsoll.section(
        'slowest', told.length > 1 ? 'Slowest writes' : 'Slowest write',
        plimsoll.table(
            'The slowest first',
            [
              {title: 'Latency', head: true}, {title: 'Host', text: true}, {title: 'QM'}, {title: 'Write'},
              {title: 'Extent', text: true}, {title: 'Offset'}, {title: 'From the start'}, {title: 'UTC'},
              {title: '\u00b1'}
            ],
            told.map(
                (write) =>
                    [format.time(write.latency_ns), write.host, String(write.qm), '#' + format.count(write.number),
                     extent(write), format.count(write.offset_bytes), offset(write), format.timeOfDay(write.start, 6),
                     format.time(write.error_ns)])));
  };

  return {shade, key, stallSection, slowSection};
})();
