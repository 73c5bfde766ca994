// The picture of one fault of an HA drill: a lane for each host with states, locks and writes, the phases of the
// takeover shaded behind them; and the log writes of the queue managers that the fault did not affect.
'use strict';

plimsoll.haPicture = (() => {
  const {svg, format} = plimsoll;
  const GUTTER = 58;
  const RIGHT = 14;
  const TOP = 46;
  const LANE = 78;
  const OTHER = 74;

  // The phases of a takeover, in the order of time.
  const PHASES = [
    ['phase-1', 'fault \u2192 lock free', 'until the storage had released the lock of the old active instance'],
    [
      'phase-2', 'lock free \u2192 granted',
      'until the standby instance had it; it polls, or blocks until the storage grants the lock'
    ],
    [
      'phase-3', 'granted \u2192 log read',
      'raising the epoch and reading the log since the last checkpoint; not MQ\'s restart'
    ],
    ['phase-4', 'log read \u2192 first write', 'until the first write of the new active instance was durable'],
  ];

  const STATES = {
    standby: ['standby', 'runs, and waits for the lock'],
    replaying: ['reading the log', 'has the lock and reads the log'],
    active: ['active', 'may write'],
    stopped: ['stopped', 'by SIGSTOP, until SIGCONT'],
    unknown: ['unknown', 'no contact with its host'],
  };

  const middle = (from, to) => from + (to - from) / 2;

  // Where the phases of a queue manager lie: [{class, from, to}]. A poller that noticed the free lock only after the
  // grant leaves no second phase.
  const phasesOf = (qm) => {
    if (qm.fault_ns === undefined) return [];
    const fault = middle(qm.fault_ns, qm.fault_until_ns);
    const granted = qm.granted_ns;
    const free = qm.free_ns !== undefined && granted !== undefined ? Math.min(qm.free_ns, granted) : qm.free_ns;
    const marks = [fault, free, granted, qm.replayed_ns, qm.first_write_ns];
    const shown = [];
    for (let phase = 0; phase < PHASES.length; ++phase) {
      const [from, to] = [marks[phase], marks[phase + 1]];
      if (from !== undefined && to !== undefined && to > from) shown.push({number: phase + 1, from, to});
    }
    return shown;
  };

  // A scale from the picture's time to the drawing, and its ticks.
  const scaleOf = (picture, width) => {
    const [from, to] = [picture.from_ns, picture.to_ns];
    const inner = width - GUTTER - RIGHT;
    const x = (ns) => GUTTER + Math.min(Math.max((ns - from) / (to - from), 0), 1) * inner;
    const least = (to - from) / Math.max(inner / 66, 1);
    const power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((part) => part * power).find((size) => size >= least);
    const ticks = [];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(Math.round(at));
    return {x, ticks, step};
  };

  const axis = (scale, picture, width, y) => {
    const group = svg('g', {class: 'axis'}, svg('line', {x1: GUTTER, x2: width - RIGHT, y1: y, y2: y}));
    for (const at of scale.ticks) {
      const x = scale.x(at);
      group.append(svg('line', {x1: x, x2: x, y1: y, y2: y + 4}));
      const place = x > width - 40 ? 'end' : 'middle';
      group.append(
          svg('text', {x: place === 'end' ? width - 2 : x, y: y + 17, 'text-anchor': place},
              at === 0 ? 'fault' : (at > 0 ? '+' : '') + format.shortTime(at)));
    }
    return group;
  };

  const titled = (element, text) => {
    element.append(svg('title', {}, text));
    return element;
  };

  const picture = (width, height, title, description, number) => {
    const id = 'drill-picture-' + number;
    return svg(
        'svg', {
          viewBox: '0 0 ' + width + ' ' + height,
          width,
          height,
          class: 'drill',
          role: 'img',
          'aria-labelledby': id + '-title ' + id + '-text'
        },
        svg('title', {id: id + '-title'}, title), svg('desc', {id: id + '-text'}, description));
  };

  // Patterns that a figure's bars are filled with; each figure has its own, by its number.
  const patterns = (number) => {
    const stripes =
        svg('pattern', {
          id: 'drill-stripes-' + number,
          width: 6,
          height: 6,
          patternUnits: 'userSpaceOnUse',
          patternTransform: 'rotate(45)'
        },
            svg('rect', {width: 2.4, height: 6, class: 'stripe'}));
    return svg('defs', {}, stripes);
  };

  const laneRole = (lane) => {
    const states =
        [...new Set(lane.states.filter((one) => one.state !== 'unknown').map((one) => STATES[one.state][0]))];
    return states.length === 0 ? 'no instance' : states.join(', ');
  };

  const drawLane = (lane, number, top, context) => {
    const {scale, picture: shown, most, figure, names} = context;
    const group = svg('g', {class: 'lane host-' + (number + 1)});
    const text = (x, y, words, attributes = {}) => svg('text', {x, y, ...attributes}, words);
    const name = titled(svg('tspan', {class: 'host'}, names[number]), lane.host);
    group.append(
        text(0, top + 13, name), text(0, top + 32, 'state', {class: 'row'}), text(0, top + 46, 'lock', {class: 'row'}),
        text(0, top + 66, 'writes', {class: 'row'}));
    for (const one of lane.states) {
      const [word, meaning] = STATES[one.state] || STATES.unknown;
      const x = scale.x(one.from_ns);
      const wide = Math.max(scale.x(one.to_ns) - x, 1.5);
      const bar = svg('rect', {x, y: top + 20, width: wide, height: 16, rx: 2, class: 'state ' + one.state});
      if (one.state === 'replaying' || one.state === 'stopped') bar.style.fill = 'url(#drill-stripes-' + figure + ')';
      group.append(titled(
          bar,
          lane.host + ', instance ' + one.instance + ': ' + word + ' (' + meaning + '), ' + format.time(one.from_ns) +
              ' to ' + format.time(one.to_ns)));
      // As wide as the words are, roughly: nothing measures text that is not in the page yet.
      if (wide > word.length * 6.6 + 8) group.append(text(x + 5, top + 32, word, {class: 'inside'}));
    }
    for (const one of lane.locks) {
      if (one.lock !== 'active' && one.lock !== 'standby') continue;
      const x = scale.x(one.from_ns);
      group.append(titled(
          svg('rect', {
            x,
            y: one.lock === 'active' ? top + 40 : top + 42,
            width: Math.max(scale.x(one.to_ns) - x, 1.5),
            height: one.lock === 'active' ? 6 : 2,
            class: 'lock ' + one.lock
          }),
          lane.host + ', instance ' + one.instance + ': lock ' + one.lock + ', ' + format.time(one.from_ns) + ' to ' +
              format.time(one.to_ns)));
    }
    const base = top + 70;
    group.append(
        svg('line', {x1: scale.x(shown.from_ns), x2: scale.x(shown.to_ns), y1: base, y2: base, class: 'base'}));
    let path = '';
    lane.writes.forEach((writes, bin) => {
      if (writes === 0) return;
      const from = scale.x(shown.from_ns + bin * shown.bin_ns);
      const to = scale.x(shown.from_ns + (bin + 1) * shown.bin_ns);
      const high = Math.max(writes / most * 18, 2);
      path += 'M' + from.toFixed(1) + ' ' + base + 'v' + (-high).toFixed(1) + 'h' + Math.max(to - from, 1).toFixed(1) +
          'v' + high.toFixed(1) + 'z';
    });
    if (path !== '') group.append(svg('path', {d: path, class: 'writes'}));
    return group;
  };

  // What happened, in a sentence for screen readers.
  const describe = (shown, qm) => {
    const parts = qm.lanes.map((lane) => lane.host + ': ' + laneRole(lane));
    const phases = phasesOf(qm).map((one) => PHASES[one.number - 1][1] + ' ' + format.time(one.to - one.from));
    return [...parts, ...phases].join('; ');
  };

  let figures = 0;

  // The lanes of one queue manager. `width` in pixels: text is not scaled.
  const lanes = (shown, qm, title, width) => {
    const figure = ++figures;
    const commands = shown.commands.length > 0 ? 24 : 0;
    const height = TOP + LANE * qm.lanes.length + commands + 26;
    const scale = scaleOf(shown, width);
    const image = picture(width, height, title, describe(shown, qm), figure);
    const bottom = TOP + LANE * qm.lanes.length + commands;
    image.append(patterns(figure));
    const shade = svg('g', {class: 'phases'});
    for (const one of phasesOf(qm)) {
      const x = scale.x(one.from);
      const wide = Math.max(scale.x(one.to) - x, 1.5);
      shade.append(titled(
          svg('rect', {x, y: TOP - 16, width: wide, height: bottom - TOP + 16, class: 'phase-' + one.number}),
          PHASES[one.number - 1][1] + ': ' + format.time(one.to - one.from)));
      if (wide > 12)
        shade.append(svg('text', {x: x + wide / 2, y: TOP - 4, 'text-anchor': 'middle'}, String(one.number)));
    }
    image.append(shade);
    // Where the fault may have been, and the gap.
    if (qm.fault_ns !== undefined) {
      const [from, to] = [scale.x(qm.fault_ns), scale.x(qm.fault_until_ns)];
      if (to - from > 2) {
        image.append(titled(
            svg('rect', {x: from, y: TOP - 16, width: to - from, height: 5, class: 'doubt'}),
            'The fault happened between ' + format.time(qm.fault_ns) + ' and ' + format.time(qm.fault_until_ns)));
      }
    }
    image.append(svg('line', {x1: scale.x(0), x2: scale.x(0), y1: TOP - 20, y2: bottom, class: 'fault'}));
    if (qm.last_write_ns !== undefined && qm.first_write_ns !== undefined) {
      const [from, to] = [scale.x(qm.last_write_ns), scale.x(qm.first_write_ns)];
      const words = 'gap ' + format.time(qm.first_write_ns - qm.last_write_ns);
      const half = words.length * 3.4;
      const at = Math.min(Math.max((from + to) / 2, half), width - half);
      image.append(
          svg('path', {d: 'M' + from + ' 26v-7H' + to + 'v7', class: 'gap'}),
          svg('text', {x: at, y: 13, 'text-anchor': 'middle', class: 'gap-text'}, words));
    }
    const most = Math.max(1, ...qm.lanes.flatMap((lane) => lane.writes));
    const names = format.shortNames(qm.lanes.map((lane) => lane.host), 28);
    const context = {scale, picture: shown, most, figure, names};
    qm.lanes.forEach((lane, number) => image.append(drawLane(lane, number, TOP + LANE * number, context)));
    if (commands > 0) {
      image.append(svg('text', {x: 0, y: bottom - 8, class: 'row'}, 'command'));
      for (const one of shown.commands) {
        const x = scale.x(one.from_ns);
        const wide = Math.max(scale.x(one.to_ns) - x, 3);
        const word = (one.undo ? 'undo' : 'do') + (one.failed ? ' failed' : '');
        image.append(
            titled(
                svg('rect',
                    {x, y: bottom - 18, width: wide, height: 12, class: one.failed ? 'command failed' : 'command'}),
                'Command ' + word + ': ' + format.time(one.from_ns) + ' to ' + format.time(one.to_ns)),
            svg('text', {x: Math.min(x + 4, width - RIGHT - word.length * 6.4), y: bottom - 8, class: 'inside'}, word));
      }
    }
    image.append(axis(scale, shown, width, bottom));
    return image;
  };

  // The log writes of one queue manager that the fault did not strike: of each frame the mean, and the slowest write
  // from its start to its end. The axis of latency is logarithmic, and the same for all of a picture.
  const drawOther = (other, top, range, scale, width) => {
    const group = svg('g', {class: 'other'});
    const [low, high] = range;
    const y = (ns) =>
        top + 66 - Math.min(Math.max((Math.log(ns) - Math.log(low)) / (Math.log(high) - Math.log(low)), 0), 1) * 44;
    group.append(svg('text', {x: 0, y: top + 13}, svg('tspan', {class: 'host'}, 'qm' + other.qm), ' on ' + other.host));
    for (let power = Math.ceil(Math.log10(low)); 10 ** power <= high; ++power) {
      const at = y(10 ** power);
      group.append(
          svg('line', {x1: GUTTER, x2: width - RIGHT, y1: at, y2: at, class: 'grid'}),
          svg('text', {x: GUTTER - 6, y: at + 4, 'text-anchor': 'end', class: 'row'}, format.shortTime(10 ** power)));
    }
    for (const frame of other.frames) {
      if (frame.count === 0) continue;
      const mean = frame.sum_ns / frame.count;
      const caption = 'qm' + other.qm + ', ' + format.time(frame.from_ns) + ' to ' + format.time(frame.to_ns) + ': ' +
          format.plural(frame.count, 'write') + ', mean ' + format.time(mean) + ', slowest ' +
          format.time(frame.slowest_ns);
      const [from, to] = [scale.x(frame.from_ns), scale.x(frame.to_ns)];
      if (to - from > 0) {
        group.append(titled(
            svg('rect', {x: from + 0.5, y: y(mean) - 1.5, width: Math.max(to - from - 1, 1), height: 3, class: 'mean'}),
            caption));
      }
      const [start, end] = [scale.x(frame.slowest_from_ns), scale.x(frame.slowest_from_ns + frame.slowest_ns)];
      const at = y(frame.slowest_ns);
      group.append(
          svg('line', {x1: start, x2: end, y1: at, y2: at, class: 'slowest'}),
          titled(svg('circle', {cx: end, cy: at, r: 2.5, class: 'slowest'}), caption));
    }
    return group;
  };

  // When the last queue manager that the fault struck wrote again, or could after a hang; the end of what is shown
  // where none did.
  const overAt = (shown) => {
    const ends = shown.queue_managers.flatMap((qm) => {
      const stops = qm.lanes.flatMap((lane) => lane.states.filter((one) => one.state === 'stopped'));
      return qm.first_write_ns !== undefined ? [qm.first_write_ns] : stops.map((one) => one.to_ns);
    });
    return ends.length > 0 ? Math.max(...ends) : shown.to_ns;
  };

  const others = (shown, title, width) => {
    const figure = ++figures;
    const means = shown.others.flatMap((other) => other.frames.filter((one) => one.count > 0));
    if (means.length === 0) return null;
    const low = Math.min(...means.map((one) => one.sum_ns / one.count)) / 1.6;
    const high = Math.max(...means.map((one) => one.slowest_ns)) * 1.6;
    const range = [Math.max(Math.min(low, high / 10), 1), high];
    const scale = scaleOf(shown, width);
    const bottom = OTHER * shown.others.length + 6;
    const image = picture(
        width, bottom + 26, title,
        shown.others.map((one) => 'qm' + one.qm + ': slowest write ' + format.time(one.during.max_ns)).join('; '),
        figure);
    const until = scale.x(overAt(shown));
    image.append(titled(
        svg('rect', {x: scale.x(0), y: 0, width: Math.max(until - scale.x(0), 1.5), height: bottom, class: 'takeover'}),
        'From the fault until the affected queue managers wrote again'));
    image.append(svg('line', {x1: scale.x(0), x2: scale.x(0), y1: 0, y2: bottom, class: 'fault'}));
    shown.others.forEach((other, number) => image.append(drawOther(other, 4 + OTHER * number, range, scale, width)));
    image.append(axis(scale, shown, width, bottom));
    return image;
  };

  return {PHASES, STATES, lanes, others, phasesOf};
})();
