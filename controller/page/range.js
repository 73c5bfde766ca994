// What part of an axis is shown: one range for every chart that shares it, so that they zoom and move in step.
'use strict';

plimsoll.Range = class {
  // The whole of the axis; `format` makes text of a position on it, `smallest` is the least that a zoom can show.
  constructor(from, to, format, smallest) {
    this.full = [from, to];
    this.current = [from, to];
    this.format = format;
    this.smallest = Math.min(smallest, to - from);
    this.charts = new Set();
    this.outputs = new Set();
  }

  // Shows from..to in every chart, as far as the axis and the smallest range allow.
  set(from, to) {
    const [first, last] = this.full;
    const length = Math.min(Math.max(to - from, this.smallest), last - first);
    // Around the middle of what was asked for, and within the axis.
    const middle = (from + to) / 2;
    const start = Math.min(Math.max(middle - length / 2, first), last - length);
    if (start === this.current[0] && start + length === this.current[1]) return;
    this.current = [start, start + length];
    this.apply();
  }

  reset() {
    this.current = [...this.full];
    for (const chart of this.charts) chart.resetHeight();
    this.apply();
  }

  // factor 0.5 shows half as much, around the middle.
  zoom(factor) {
    const [from, to] = this.current;
    const middle = (from + to) / 2;
    const half = (to - from) / 2 * factor;
    this.set(middle - half, middle + half);
  }

  // Moves by a part of what is shown; below 0 to the left.
  pan(part) {
    const [from, to] = this.current;
    const by = Math.min(Math.max((to - from) * part, this.full[0] - from), this.full[1] - to);
    this.set(from + by, to + by);
  }

  apply() {
    for (const chart of this.charts) chart.showRange(this.current);
    this.say();
  }

  say() {
    const whole = this.current[0] === this.full[0] && this.current[1] === this.full[1];
    for (const output of this.outputs) {
      output.text.textContent = this.format(this.current[0]) + ' \u2013 ' + this.format(this.current[1]);
      output.reset.disabled = whole;
    }
  }

  // One chart shows the values at a position: so do all.
  hover(x) {
    for (const chart of this.charts) chart.showAt(x);
  }

  leave() {
    for (const chart of this.charts) chart.showAt(null);
  }

  // Buttons for all of this. `what` is what is zoomed, for those who cannot see it.
  toolbar(what) {
    const el = plimsoll.el;
    const button = (label, sign, action) =>
        el('button',
           {type: 'button', class: 'tool', 'aria-label': label + ' (' + what + ')', title: label, click: action}, sign);
    const text = el('output', {class: 'range'});
    const reset = button('Show all', 'Reset', () => this.reset());
    const bar =
        el('div', {class: 'toolbar', role: 'group', 'aria-label': 'Zoom: ' + what},
           button('Zoom in', '+', () => this.zoom(0.5)), button('Zoom out', '\u2212', () => this.zoom(2)),
           button('Move left', '\u25c2', () => this.pan(-0.5)), button('Move right', '\u25b8', () => this.pan(0.5)),
           reset, text);
    this.outputs.add({text, reset});
    this.say();
    return bar;
  }
};

// Ticks for a logarithmic axis: powers of ten, and 2 and 5 of each where there is room.
plimsoll.logTicks = (from, to, pixels, text) => {
  const decades = Math.log10(to / from);
  const room = pixels / 26;
  const parts = decades * 3 <= room ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / room));
  const ticks = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); ++power) {
    for (const part of power % every === 0 ? parts : []) {
      const value = part * 10 ** power;
      // A label at the very bottom would touch those of the other axis.
      const above = Math.log(value / from) / Math.log(to / from) * pixels;
      if (above >= 8 && value <= to) ticks.push({v: value, label: text(value)});
    }
  }
  return ticks;
};

// Ticks for an axis of seconds, at steps that a clock knows.
plimsoll.timeTicks = (from, to, pixels) => {
  const steps = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1,  0.2,  0.5,  1,     2,     5,     10,   15,
    30,    60,    120,   300,  600,  900,  1800, 3600, 7200, 14400, 21600, 43200, 86400
  ];
  const wanted = Math.max(2, pixels / 80);
  const step = steps.find((size) => (to - from) / size <= wanted) ||
      steps[steps.length - 1] * Math.ceil((to - from) / 86400 / wanted);
  const decimals = Math.max(0, Math.ceil(-Math.log10(step)));
  const ticks = [];
  for (let number = Math.ceil(from / step - 1e-9); number * step <= to + step * 1e-9; ++number) {
    ticks.push({v: number * step, label: plimsoll.format.elapsed(number * step, decimals)});
  }
  return ticks;
};
