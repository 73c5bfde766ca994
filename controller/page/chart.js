// One chart: lines or stacked areas by dygraphs, with buttons that show and hide its series, values where the pointer
// or the keyboard is, and a table behind it.
//
// dygraphs is given names of our own for the series ("s0"), never text from elsewhere: it makes HTML from what it is
// given.
'use strict';

// dygraphs' own legend sets a style in a way that the page's policy forbids; ours are buttons.
Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);

// The remark where rows are left out: of series that have rows of their own, and of those that share them.
plimsoll.THINNED =
    'This long run is thinned: for each interval, the chart shows only the seconds with the smallest and the ' +
    'largest values. timeline.csv has every second.';
plimsoll.THINNED_TOGETHER = {
  each: 'This long run is thinned: for each interval, the chart shows only the seconds with the smallest and the ' +
      'largest values of the cluster and, for longer intervals, those with the fewest, the most and the slowest writes ' +
      'of each storage and host. timeline.csv has every second.',
  longest:
      'This long run of many hosts is thinned: for each interval, the chart shows only the seconds with the smallest ' +
      'and the largest values of the cluster, and those with the slowest writes of the hosts. timeline.csv has every ' +
      'second.',
};

// Lines of so many points are drawn with dots.
plimsoll.FEW_POINTS = 60;

// Characters of a name in a legend.
plimsoll.CHIP_NAME = 32;

plimsoll.Chart = class {
  // options:
  // - name: what the chart shows, for its table and for those who cannot see it
  // - x: positions, rising; xTitle; xText(x, row) for people; xTicks(from, to, pixels), their labels xWidth pixels wide
  // - series: [{name, values: as long as x, null where there is none, color: a token of base.css, dash: [on, off] or
  //   nothing, hidden, help, whole: true where it sums up others, dots: the radius of points without a line, mark: one
  //   of plimsoll.MARKS in place of such points, part: what it is called where it belongs to the series before it and
  //   has no button of its own, line: true of points whose part is a line through them}]
  // - range: the plimsoll.Range that the chart shows, alone or with others
  // - beyond: how far the axis goes beyond the end of the range, for what is drawn there
  // - yTitle; yTick(value) for the axis; yText(value) with its unit
  // - stacked, log, steps, points: true where areas are stacked, the axis is logarithmic, lines are steps, points drawn
  // - underlays: [draw(context, area, toX, toY)], behind the lines; null ones are left out
  // - floor: as long as x, values that the axis must reach down to once setFloor(true) was called
  // - tableRows: a Set of the rows that the table has, where that is not all
  // - stops: a Set of the rows whose values pointer and keyboard show, where that is not all
  // - ends: true where the value at the last position of each series is labelled at the right edge
  // - thinned: the remark on rows that are left out, null where there are none; remark: another one
  // - nothing: the text shown without rows; height in pixels
  constructor(options) {
    this.options =
        {steps: false, points: false, stacked: false, log: false, height: 240, xWidth: 64, beyond: 0, ...options};
    this.visible = options.series.map((one) => !one.hidden);
    this.underlays = (options.underlays || []).filter((draw) => draw !== null);
    // Of several rows at one position they show the first.
    const {x, stops} = options;
    this.stops = x.map((_, row) => row)
                     .filter((row) => !stops || stops.has(row))
                     .filter((row, at, all) => at === 0 || x[all[at - 1]] !== x[row]);
    this.places = this.stops.map((row) => x[row]);
    this.row = null;
    this.scale = 1;
    this.element = this.makeElement();
    this.graph = null;
  }

  // Draws it: once its element is in the page, since it takes the width that it finds.
  draw() {
    const {options} = this;
    if (options.x.length === 0) return;
    this.graph = new Dygraph(this.plot, this.rows(), {
      labels: ['x', ...options.series.map((_, at) => 's' + at), ...(options.floor ? ['floor'] : [])],
      visibility: this.visibility(),
      dateWindow: this.window(options.range.current),
      stackedGraph: options.stacked,
      // A series adds nothing before its first value or after its last one.
      stackedGraphNaNFill: 'inside',
      includeZero: !options.log,
      stepPlot: options.steps,
      // Few points are seen as such.
      drawPoints: options.points || (!options.stacked && options.x.length <= plimsoll.FEW_POINTS),
      pointSize: 2.5,
      // A line goes on over rows that it has no value for, but not over one that is not a number.
      connectSeparatedPoints: true,
      legend: 'never',
      animatedZooms: false,
      labelsKMB: false,
      highlightCircleSize: 3,
      yRangePad: this.yPad(),
      rightGap: options.ends ? this.endsWidth() : 8,
      ...this.look(),
      interactionModel: this.interaction(),
      underlayCallback: (context, area, graph) => {
        for (const draw of this.underlays)
          draw(context, area, (x) => graph.toDomXCoord(x), (y) => graph.toDomYCoord(y));
      },
      drawCallback: (graph, initial) => {
        if (!initial) this.follow(graph);
        if (options.ends) this.drawEnds(graph);
      },
      highlightCallback: (event, x) => options.range.hover(x),
      unhighlightCallback: () => options.range.leave(),
    });
    options.range.charts.add(this);
  }

  // Takes it away; it cannot be drawn again.
  destroy() {
    this.options.range.charts.delete(this);
    if (this.graph !== null) this.graph.destroy();
    this.graph = null;
    this.element.remove();
  }

  rows() {
    const {x, series} = this.options;
    const columns = series.map((one) => one.values);
    if (this.options.floor) columns.push(this.options.floor);
    return x.map((at, row) => [at, ...columns.map((values) => (values[row] === undefined ? null : values[row]))]);
  }

  // Visibility of the series, and of the floor, which is there for the axis only.
  visibility() {
    return this.options.floor ? [...this.visible, this.floored === true] : this.visible;
  }

  setFloor(on) {
    this.floored = on;
    this.graph?.updateOptions({visibility: this.visibility()});
  }

  // What depends on the colour scheme.
  look() {
    const {options} = this;
    const series = {};
    options.series.forEach((one, at) => {
      series['s' + at] = {
        color: plimsoll.token(one.color),
        strokePattern: one.dash || null,
        strokeWidth: one.dots ? 0 :
            options.stacked   ? 1 :
                                1.5,
        fillGraph: options.stacked,
        ...(one.dots ? {drawPoints: true, pointSize: one.dots} : {}),
        ...(one.mark ? {drawPointCallback: this.drawMark(plimsoll.MARKS[one.mark])} : {}),
      };
    });
    if (options.floor) series.floor = {color: 'transparent', highlightCircleSize: 0, drawPoints: false, pointSize: 0};
    return {
      series,
      fillAlpha: 0.6,
      gridLineColor: plimsoll.token('grid'),
      gridLineWidth: 1,
      // On paper as large as the axes have room for.
      axisLabelFontSize: this.scale < 1 ? 16 : 12,
      xAxisHeight: 22,
      axisLineColor: plimsoll.token('line'),
      axes: {
        x: {
          ticker: (from, to, pixels) => options.xTicks(from, to, pixels * this.scale),
          drawGrid: true,
          axisLabelWidth: options.xWidth,
        },
        y: {
          axisLabelFormatter: (value) => options.yTick(value),
          axisLabelWidth: 58,
          pixelsPerLabel: 36,
          logscale: options.log,
          ...(options.log ?
                  {ticker: (from, to, pixels) => plimsoll.logTicks(from, to, pixels * this.scale, options.yTick)} :
                  {}),
        },
      },
    };
  }

  // Pixels beyond the highest and the lowest value: as many as a mark there needs.
  yPad() {
    if (this.options.log) return 14;
    return this.options.series.some((one) => one.mark) ? 9 : 4;
  }

  // Makes a function that draws a mark at each point of a series.
  drawMark(path) {
    return (graph, name, context, x, y, color) => {
      context.save();
      context.translate(x, y);
      context.strokeStyle = color;
      context.lineWidth = 1.5;
      context.setLineDash([]);
      context.stroke(new Path2D(path));
      context.restore();
    };
  }

  // After the colour scheme has changed.
  restyle() {
    this.graph?.updateOptions(this.look());
  }

  // Fits the chart to a sheet so many pixels wide, or (0) to the screen again. It is scaled, with larger words: what is
  // drawn on a canvas of a new size while a page is made ready for paper would not be printed.
  fit(width) {
    if (this.graph === null) return;
    this.scale = width === 0 ? 1 : width / this.plot.clientWidth;
    this.frame.style.zoom = this.scale;
    this.restyle();
  }

  makeElement() {
    const {el} = plimsoll;
    const {options} = this;
    const own = options.series.filter((one) => !one.part);
    const names = plimsoll.format.shortNames(own.map((one) => one.name), plimsoll.CHIP_NAME);
    this.chips = [];
    options.series.forEach((one, at) => this.chips.push(this.makeChip(one, at, names[own.indexOf(one)])));
    const buttons = own.map((one) => this.chips[options.series.indexOf(one)].button);
    if (buttons.length > 3) {
      const all = (shown) => options.series.map(() => shown);
      buttons.push(
          el('span', {class: 'all-or-none'},
             el('button', {type: 'button', class: 'quiet', click: () => this.show(all(true))}, 'All'),
             el('button', {type: 'button', class: 'quiet', click: () => this.show(all(false))}, 'None')));
    }
    this.cursor = el('div', {class: 'cursor', hidden: true});
    this.plot = el('div', {class: 'plot'});
    this.plot.style.height = options.height + 'px';
    this.where = el('p', {class: 'where'});
    // The keyboard reads values here; the table has all of them.
    this.frame =
        el('div', {
          class: 'frame',
          tabindex: 0,
          role: 'application',
          'aria-roledescription': 'chart',
          'aria-label': options.name +
              '. Left and right arrow keys read values, plus and minus zoom, Shift with an arrow key moves, 0 shows all.',
          keydown: (event) => this.key(event),
          blur: () => options.range.leave(),
        },
           this.plot, this.cursor);
    const drawn = options.x.length === 0 ? [el('p', {class: 'nothing'}, options.nothing || 'No data.')] : [
      el('div', {class: 'legend', role: 'group', 'aria-label': 'Show or hide'}, buttons),
      el('div', {class: 'above'}, el('p', {}, options.yTitle), this.where), this.frame,
      options.thinned ? el('p', {class: 'remark'}, options.thinned) : null,
      options.remark ? el('p', {class: 'remark'}, options.remark) : null,
      plimsoll.tableBehind('Table: ' + options.name, () => this.table())
    ];
    return el('div', {class: 'chart'}, drawn);
  }

  makeChip(one, at, name) {
    const {el} = plimsoll;
    const value = el('span', {class: 'value'});
    if (one.part) {
      const {button} = this.chips[at - 1];
      button.append(value);
      return {button, value};
    }
    const swatch = plimsoll.swatch(one, this.options.stacked || one.dots > 0);
    const button =
        el('button', {
          type: 'button',
          class: 'chip',
          'aria-pressed': String(this.visible[at]),
          title: [name === one.name ? '' : one.name, one.help].filter((part) => part).join(': ') || null,
          click: () => this.show(this.visible.map((shown, other) => (other === at ? !shown : shown))),
        },
           swatch, el('span', {class: 'name'}, name), value);
    return {button, value};
  }

  // Shows the series for which `visible` is true.
  show(visible) {
    this.visible = [];
    this.options.series.forEach((one, at) => this.visible.push(one.part ? this.visible[at - 1] : visible[at]));
    this.chips.forEach((chip, at) => chip.button.setAttribute('aria-pressed', String(this.visible[at])));
    if (this.graph !== null) this.graph.updateOptions({visibility: this.visibility()});
  }

  // The room for labels right of the lines: with the series' names where there is space.
  endsWidth() {
    return this.plot.clientWidth < 560 ? 80 : 170;
  }

  // Labels the value at the last position of each series that is shown; series with the same value share a label.
  drawEnds(graph) {
    const {options} = this;
    const {svg} = plimsoll;
    if (this.ends === undefined) {
      this.ends = svg('svg', {class: 'ends', 'aria-hidden': 'true'});
      this.frame.append(this.ends);
    }
    this.ends.replaceChildren();
    const last = options.x.length - 1;
    const area = graph.getArea();
    const x = graph.toDomXCoord(options.x[last]);
    const [low, high] = graph.yAxisRange();
    if (x > area.x + area.w + 1) return;
    const groups = new Map();
    options.series.forEach((one, at) => {
      const value = one.values[last];
      if (!this.visible[at] || !Number.isFinite(value) || value < low || value > high) return;
      const text = options.yText(value);
      if (!groups.has(text))
        groups.set(text, {text, y: graph.toDomYCoord(value), color: one.color, names: [], wholes: []});
      (one.whole ? groups.get(text).wholes : groups.get(text).names).push(one.name);
    });
    const row = this.scale < 1 ? 19 : 15;
    const labels = [...groups.values()].sort((a, b) => a.y - b.y).slice(0, Math.floor(area.h / row));
    // Each below the one before it, and the lowest of them within the chart.
    labels.forEach((label, at) => {
      label.at = at === 0 ? Math.max(label.y, area.y + row / 2) : Math.max(label.y, labels[at - 1].at + row);
    });
    let floor = area.y + area.h - row / 2;
    for (const label of [...labels].reverse()) {
      label.at = Math.min(label.at, floor);
      floor = label.at - row;
    }
    const all = options.series.map((one) => one.name);
    // So many characters have room, roughly.
    const room = Math.floor((this.plot.clientWidth - x - 12) / (this.scale < 1 ? 9.4 : 6.9));
    for (const {text, y, at, color, names, wholes} of labels) {
      const [name, ...others] = names.length > 0 ? names : wholes;
      const more = others.length > 0 ? ' +' + others.length : '';
      const left = room - text.length - 1 - more.length;
      const short = plimsoll.format.shortNames(all, left)[all.indexOf(name)];
      const group =
          svg('g', {}, svg('circle', {cx: x, cy: y, r: 3}),
              svg('path', {d: 'M' + (x + 3) + ' ' + y + 'L' + (x + 9) + ' ' + at}),
              svg('text', {x: x + 12, y: at + 4}, left >= 5 ? text + ' ' + short + more : text));
      group.style.setProperty('--swatch', 'var(--' + color + ')');
      this.ends.append(group);
    }
  }

  // What is drawn behind the lines.
  setUnderlays(underlays) {
    this.underlays = underlays.filter((draw) => draw !== null);
    this.graph?.updateOptions({});
  }

  setLog(log) {
    this.options.log = log;
    this.graph?.updateOptions({...this.look(), includeZero: !log, yRangePad: this.yPad()});
  }

  // What the axis shows of a range.
  window([from, to]) {
    return [from, to + this.options.beyond];
  }

  showRange(range) {
    const [from, to] = this.window(range);
    const [oldFrom, oldTo] = this.graph.xAxisRange();
    if (oldFrom !== from || oldTo !== to) this.graph.updateOptions({dateWindow: [from, to]});
  }

  resetHeight() {
    if (this.graph.isZoomed('y')) this.graph.resetZoom();
  }

  // The user has zoomed or moved this chart by the pointer: so shall the others.
  follow(graph) {
    const [from, to] = graph.xAxisRange();
    const {range, beyond} = this.options;
    const [oldFrom, oldTo] = this.window(range.current);
    if (from === oldFrom && to === oldTo) return;
    if (this.following) return;
    this.following = true;
    range.set(from, to - beyond);
    // What the range does not allow is taken back.
    this.showRange(range.current);
    this.following = false;
  }

  // Shows the values at the position nearest to x; null: none.
  showAt(x) {
    const {options} = this;
    this.row = x === null ? null : this.stops[plimsoll.nearest(this.places, x)];
    const at = this.row === null ? null : options.x[this.row];
    this.chips.forEach((chip, number) => {
      const {values, part} = options.series[number];
      const value = at === null ? null : values[this.row];
      chip.value.textContent = at === null      ? '' :
          value === null || value === undefined ? (part ? '' : '\u2013') :
                                                  (part ? part + ' ' : '') + options.yText(value);
    });
    this.where.textContent = at === null ? '' : options.xText(at, this.row);
    this.cursor.hidden = at === null;
    if (at !== null) this.cursor.style.left = this.graph.toDomXCoord(at) + 'px';
  }

  // In words, what is shown at the keyboard's position.
  say() {
    const {options} = this;
    const values = options.series.filter((_, at) => this.visible[at]).map((one) => {
      const value = one.values[this.row];
      return one.name + ' ' + (value === null || value === undefined ? 'no value' : options.yText(value));
    });
    plimsoll.announce(options.xText(options.x[this.row], this.row) + ': ' + values.join(', '));
  }

  key(event) {
    const {places, row, options: {range, x}} = this;
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const move = (to) => {
      const [from, until] = range.current;
      const first = plimsoll.nearest(places, from);
      const last = plimsoll.nearest(places, until);
      range.hover(places[Math.min(Math.max(to, first), last)]);
      this.say();
    };
    const here = row === null ? plimsoll.nearest(places, range.current[0]) - 1 : plimsoll.nearest(places, x[row]);
    const actions = {
      ArrowLeft: () => (event.shiftKey ? range.pan(-0.25) : move(here - 1)),
      ArrowRight: () => (event.shiftKey ? range.pan(0.25) : move(here + 1)),
      Home: () => move(0),
      End: () => move(places.length - 1),
      '+': () => range.zoom(0.5),
      '=': () => range.zoom(0.5),
      '-': () => range.zoom(2),
      0: () => range.reset(),
      Escape: () => range.leave(),
    };
    if (!(event.key in actions)) return;
    actions[event.key]();
    event.preventDefault();
  }

  // Dragging selects a range, shift moves, a double click shows all. One finger scrolls the page, two zoom.
  interaction() {
    const {range} = this.options;
    const positions = (event, graph) => [...event.touches].map(
        (touch) => touch.clientX - graph.graphDiv.getBoundingClientRect().left);
    return {
      mousedown: Dygraph.defaultInteractionModel.mousedown,
      willDestroyContextMyself: true,
      dblclick: () => range.reset(),
      touchstart: (event, graph, context) => {
        context.pinch = null;
        if (event.touches.length !== 2) return;
        event.preventDefault();
        context.pinch = positions(event, graph).sort((a, b) => a - b).map((at) => graph.toDataXCoord(at));
      },
      touchmove: (event, graph, context) => {
        if (!context.pinch || event.touches.length !== 2) return;
        event.preventDefault();
        const [left, right] = positions(event, graph).sort((a, b) => a - b);
        const area = graph.getArea();
        const perPixel = (context.pinch[1] - context.pinch[0]) / Math.max(right - left, 10);
        const from = context.pinch[0] - (left - area.x) * perPixel;
        range.set(from, from + area.w * perPixel - this.options.beyond);
      },
      touchend: (event, graph, context) => {
        context.pinch = null;
      },
    };
  }

  table() {
    const {options} = this;
    const columns = [{title: options.xTitle, head: true}, ...options.series.map((one) => ({title: one.name}))];
    const text = (value) => (value === null || value === undefined ? '\u2013' : options.yText(value));
    const rows = [];
    options.x.forEach((x, row) => {
      if (options.tableRows && !options.tableRows.has(row)) return;
      rows.push([options.xText(x, row), ...options.series.map((one) => text(one.values[row]))]);
    });
    return plimsoll.table(options.name, columns, rows);
  }
};

// Which of the rising positions is nearest to x.
plimsoll.nearest = (positions, x) => {
  let low = 0;
  let high = positions.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (positions[middle] < x)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && x - positions[low - 1] < positions[low] - x ? low - 1 : low;
};
