// What all scripts of a page build upon: the page's data, elements, tables.
//
// Text from hosts and plans is only ever put into text nodes and attributes; nothing here, or above, makes HTML from
// it.
'use strict';

// Everything that scripts share, by name. Nothing else is global.
const plimsoll = {};

// The page's JSON. Characters that do not show, such as those that turn the direction of text, become
// U+FFFD, as in the text report.
plimsoll.readData = () => {
  const steering =
      /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\ufff0-\ufffb\p{Default_Ignorable_Code_Point}]/gu;
  return JSON.parse(
      document.getElementById('data').textContent,
      (key, value) => (typeof value === 'string' ? value.replace(steering, '\ufffd') : value));
};

// Makes an element. Attributes that are null, undefined or false are left out, true ones are empty; functions listen to
// the event that they are named by. Children are elements or text; null and undefined are left out.
plimsoll.el = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function')
      element.addEventListener(name, value);
    else
      element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
};

// Makes an element of a picture. Children are elements or text.
plimsoll.svg = (tag, attributes = {}, ...children) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

// The value of a colour, or another token, of base.css as it is now.
plimsoll.token = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

// Text that may be broken behind the joints of a path, a list of options or an identifier, never within a word.
plimsoll.breakable = (text) => {
  const parts = text.match(/[^/,;=|+@]*[/,;=|+@]*/g).filter((part) => part !== '');
  return parts.flatMap((part, at) => (at === 0 ? [part] : [document.createElement('wbr'), part]));
};

// The digest of the results for the foot of a page, in pieces that may stand on lines of their own; as a list that is
// empty where it is not known.
plimsoll.digestLine = (digest) => {
  if (!digest) return [];
  const pieces = digest.startsWith('sha256:') ? digest.match(/.{1,16}/g) : [digest];
  return [plimsoll.el(
      'p', {class: 'soft', id: 'digest'}, 'Digest of the results: ',
      pieces.flatMap((piece, at) => (at === 0 ? [piece] : [document.createElement('wbr'), piece])),
      '. \u201cplimsoll verify\u201d shows whether the files are still the same; pages are not among them.')];
};

// Points of a chart that are not filled circles, as the path of an SVG around (0, 0).
plimsoll.MARKS = {
  ring: 'M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0',
  diamond: 'M0 -6L5 0L0 6L-5 0Z'
};

// The mark of a series as its chart draws it: a line with its pattern of dashes, an area, or points, which may have a
// line through them. `one`: {color, dash, mark: of plimsoll.MARKS, line}.
plimsoll.swatch = (one, area = false) => {
  const {svg} = plimsoll;
  const isLine = !area || one.line;
  const [width, height] = [isLine ? 30 : 14, 12];
  const line = svg('path', {d: 'M0 6H30'});
  if (one.dash) line.setAttribute('stroke-dasharray', one.dash.join(' '));
  const points = one.mark ? svg('path', {d: plimsoll.MARKS[one.mark], transform: 'translate(' + width / 2 + ' 6)'}) :
                            svg('rect', one.line ? {x: 11, y: 2, width: 8, height: 8, rx: 4} : {width, height});
  const picture =
      svg('svg', {viewBox: '0 0 ' + width + ' ' + height, width, height, class: 'swatch', 'aria-hidden': 'true'},
          ...(isLine ? [line] : []), ...(area ? [points] : []));
  picture.style.setProperty('--swatch', 'var(--' + one.color + ')');
  return picture;
};

// Items of a list in a table's cell, between which it may break, but not within one.
plimsoll.listed = (items, separator) => {
  const {el} = plimsoll;
  const parts =
      items.flatMap((item, at) => [el('span', {class: 'whole'}, item + (at + 1 < items.length ? separator : '')), ' ']);
  return el('span', {}, parts.slice(0, -1));
};

// Characters of a host's name in a table.
plimsoll.CELL_NAME = 24;

// A table that can be scrolled sideways where it is too wide.
//   columns: [{title, text: true for words, long: true where they may take several lines, head: true for the row's
//   name, name: true for names of hosts, which are shortened, help: what the title means, time: of times a name; the
//   columns with the same one have one unit, which is in their headings}], numbers are set right; titles that
//   plimsoll.TERMS has explain themselves; rows: arrays of text or elements, as long as columns; marks: a class for a
//   row, or nothing; notes: text below a row, across all columns, or nothing.
plimsoll.table = (caption, columns, rows, marks = [], notes = []) => {
  const {el} = plimsoll;
  const units = plimsoll.unitsOf(columns, rows);
  const names = new Map();
  columns.forEach((column, at) => {
    if (column.name) names.set(at, plimsoll.format.shortNames(rows.map((row) => row[at]), plimsoll.CELL_NAME));
  });
  const head = el('tr', {}, columns.map((column) => {
    const help = column.help || plimsoll.TERMS[column.title];
    return el(
        'th', {scope: 'col', class: column.text || column.head ? 'text' : null},
        help ? plimsoll.term(column.title, help) : column.title,
        units.has(column.time) ? ', ' + units.get(column.time).name : null);
  }));
  const body = el('tbody');
  rows.forEach((row, number) => {
    body.append(el('tr', {class: marks[number]}, row.map((given, at) => {
      const column = columns[at];
      const cell = column.time ? plimsoll.timeText(given, units.get(column.time)) :
          column.name          ? names.get(at)[number] :
                                 given;
      const isText = typeof cell === 'string';
      const long = isText ? cell.length > 20 && !column.name : column.long;
      const title = cell === given || column.time ? null : given;
      // Short words stay on one line, others break between words.
      const words = long ? 'text long' : 'text';
      const parts = isText && long && (column.text || column.head) ? plimsoll.breakable(cell) : [cell];
      const content = long && column.text ? el('span', {}, parts) : parts;
      if (column.head) return el('th', {scope: 'row', class: words, title}, content);
      return el('td', {class: column.text ? words : null, title}, content);
    })));
    if (notes[number]) {
      body.append(
          el('tr', {class: 'note'}, el('td', {class: 'text', colspan: columns.length}, el('span', {}, notes[number]))));
    }
  });
  // Focusable, so that the keyboard can scroll it.
  return el(
      'div', {
        class: 'scroll' +
            (rows.length > 20     ? ' tall' :
                 rows.length <= 8 ? ' few' :
                                    ''),
        tabindex: 0,
        role: 'region',
        'aria-label': caption
      },
      el('table', {}, el('caption', {}, el('span', {}, caption)), el('thead', {}, head), body));
};

// The unit of each group of a table's columns of times, by its name; none where no time is known.
plimsoll.unitsOf = (columns, rows) => {
  const times = new Map();
  columns.forEach(({time}, at) => {
    if (!time) return;
    const known =
        rows.map((row) => row[at]).map((cell) => (cell !== null && typeof cell === 'object' ? cell.ns : cell));
    times.set(time, [...(times.get(time) || []), ...known.filter((ns) => Number.isFinite(ns))]);
  });
  return new Map(
      [...times].filter(([, all]) => all.length > 0).map(([name, all]) => [name, plimsoll.format.timeUnit(all)]));
};

// A cell of such a column: nanoseconds, or {ns, error: a bound in nanoseconds, most: it is not longer, note: words};
// null where it is not known.
plimsoll.timeText = (cell, unit) => {
  const {format} = plimsoll;
  if (typeof cell === 'string') return cell;
  const {ns, error, most, note} = cell !== null && typeof cell === 'object' ? cell : {ns: cell};
  if (!Number.isFinite(ns)) return format.DASH;
  const text = (time) => (unit.ns === 1 ? format.count(time) : format.inUnit(time, unit.ns));
  return (most ? '\u2264 ' : '') + text(ns) + (error > 0 ? ' \u00b1 ' + text(error) : '') + (note ? ', ' + note : '');
};

// A table behind a chart: made when it is first opened, since it may have thousands of rows.
plimsoll.tableBehind = (title, make) => {
  const details = plimsoll.el('details', {class: 'behind'}, plimsoll.el('summary', {}, title));
  details.addEventListener('toggle', () => {
    if (details.open && details.childElementCount === 1) details.append(make());
  });
  return details;
};

// Makes screen readers speak a text.
plimsoll.announce = (text) => {
  let live = document.getElementById('live');
  if (live === null) {
    live = plimsoll.el('div', {id: 'live', class: 'unseen', 'aria-live': 'polite'});
    document.body.append(live);
  }
  live.textContent = text;
};

// The name of the tool, with the ship's mark that it is named after.
plimsoll.brand = () => {
  const {svg} = plimsoll;
  const picture =
      svg('svg', {viewBox: '0 0 32 32', width: 26, height: 26, 'aria-hidden': 'true', class: 'mark'},
          svg('circle', {cx: 16, cy: 16, r: 9.5}), svg('path', {d: 'M1 16H31'}));
  return plimsoll.el(
      'p', {class: 'brand'}, picture, 'Plimsoll', plimsoll.el('span', {class: 'soft'}, 'MQ log storage test'));
};

// How outcomes are shown: class, sign and word. What is none of them is inconclusive.
plimsoll.verdictOf = (outcome) => {
  const verdicts = {
    pass: ['good', '\u2713', 'PASS'],
    fail: ['bad', '\u2717', 'FAIL'],
    inconclusive: ['warn', '?', 'INCONCLUSIVE'],
    done: ['plain', '\u2013', 'COMPLETED'],
  };
  return verdicts[outcome] || verdicts.inconclusive;
};

// An outcome in a table.
plimsoll.tag = (outcome) => {
  const [tone, sign, word] = plimsoll.verdictOf(outcome);
  return plimsoll.el('span', {class: 'tag ' + tone}, sign + ' ' + word);
};

// Where a test is signed on paper.
plimsoll.signatures = () => {
  const {el} = plimsoll;
  const lines = () => el('ul', {}, ['Name', 'Date', 'Signature'].map((field) => el('li', {}, el('span', {}, field))));
  return el(
      'div', {class: 'signatures'},
      ['Tested by', 'Accepted by'].map((who) => el('div', {}, el('p', {}, who), lines())));
};

// A list to choose from: choices as {name, value}. Calls `pick` with the value of the one that is chosen.
plimsoll.picker = (label, choices, pick, id = null) => {
  const {el} = plimsoll;
  const select =
      el('select', {id, change: () => pick(choices[select.selectedIndex].value)},
         choices.map((choice) => el('option', {}, choice.name)));
  return el('label', {class: 'pick'}, label, select);
};

// A button that is on or off.
plimsoll.toggle = (name, on, change) => {
  const button = plimsoll.el(
      'button', {
        type: 'button',
        class: 'switch',
        'aria-pressed': String(on),
        click: () => {
          const pressed = button.getAttribute('aria-pressed') !== 'true';
          button.setAttribute('aria-pressed', String(pressed));
          change(pressed);
        }
      },
      name);
  return button;
};

// A chart that can be replaced by another one in its place.
plimsoll.slot = () => {
  const place = plimsoll.el('div');
  let chart = null;
  const put = (next) => {
    if (chart !== null) chart.destroy();
    chart = next;
    place.append(chart.element);
    if (place.isConnected) chart.draw();
  };
  return {place, put, chart: () => chart};
};

// A titled part of the page.
plimsoll.section = (id, title, ...children) => plimsoll.el(
    'section', {id, 'aria-labelledby': id + '-title'}, plimsoll.el('h2', {id: id + '-title'}, title), ...children);
