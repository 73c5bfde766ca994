// What all scripts of a page build upon: the page's data, elements, tables.
//
// Text from hosts and plans is only ever put into text nodes and attributes; nothing here, or above, makes HTML from
// it.
'use strict';

// Everything that scripts share, by name. Nothing else is global.
const plimsoll = {};

// The page's JSON. Characters that steer instead of showing, such as those that turn the direction of text, become
// U+FFFD, as in the text report.
plimsoll.readData = () => {
  const steering =
      /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;
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

// The value of a colour, or another token, of base.css as it is now.
plimsoll.token = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

// A table that can be scrolled sideways where it is too wide.
//   columns: [{title, text: true for words, head: true for the row's name}], numbers are set right;
//   rows: arrays of text or elements, as long as columns; marks: a class for a row, or nothing.
plimsoll.table = (caption, columns, rows, marks = []) => {
  const el = plimsoll.el;
  const head =
      el('tr', {},
         columns.map(
             (column) =>
                 el('th', {scope: 'col', class: column.text || column.head ? 'text' : null, title: column.help},
                    column.title)));
  const body = el('tbody');
  rows.forEach((row, number) => {
    body.append(el('tr', {class: marks[number]}, row.map((cell, at) => {
      const column = columns[at];
      // Short words stay on one line, others break where they must.
      const words = typeof cell === 'string' && cell.length > 20 ? 'text long' : 'text';
      if (column.head) return el('th', {scope: 'row', class: words}, cell);
      return el('td', {class: column.text ? words : null}, cell);
    })));
  });
  // Focusable, so that the keyboard can scroll it.
  return el(
      'div', {class: rows.length > 20 ? 'scroll tall' : 'scroll', tabindex: 0, role: 'region', 'aria-label': caption},
      el('table', {}, el('caption', {}, caption), el('thead', {}, head), body));
};

// A table behind a chart: made when it is first opened, since it may have thousands of rows.
plimsoll.tableBehind = (title, make) => {
  const details = plimsoll.el('details', {class: 'behind'}, plimsoll.el('summary', {}, title));
  details.addEventListener('toggle', () => {
    if (details.open && details.childElementCount === 1) details.append(make());
  });
  return details;
};

// Has screen readers say a text.
plimsoll.announce = (text) => {
  let live = document.getElementById('live');
  if (live === null) {
    live = plimsoll.el('div', {id: 'live', class: 'unseen', 'aria-live': 'polite'});
    document.body.append(live);
  }
  live.textContent = text;
};

// A titled part of the page.
plimsoll.section = (id, title, ...children) => plimsoll.el(
    'section', {id, 'aria-labelledby': id + '-title'}, plimsoll.el('h2', {id: id + '-title'}, title), ...children);
