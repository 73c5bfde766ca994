// What every page does once its parts are there: links to them, the colour scheme, paper.
'use strict';

// The charts that are there now, of functions that each return one, or null.
plimsoll.chartsNow = (functions) => functions.map((get) => get()).filter((chart) => chart !== null);

// Makes a list of links to the sections of an element, all but those with certain ids. Skip links to parts that are not
// there are hidden.
plimsoll.linkSections = (list, main, without = []) => {
  const sections = [...main.querySelectorAll('section')].filter((section) => !without.includes(section.id));
  list.replaceChildren(...sections.map(
      (section) =>
          plimsoll.el('li', {}, plimsoll.el('a', {href: '#' + section.id}, section.querySelector('h2').textContent))));
  for (const link of document.querySelectorAll('.skip')) link.hidden = document.querySelector(link.hash) === null;
};

// Has charts follow the colour scheme, and fit the paper while the page is printed. `wide` and `half` return the charts
// that are then as wide as the sheet, and half as wide; `sheets` fit themselves.
plimsoll.followSchemeAndPaper = (wide, half, sheets = []) => {
  // A4 and letter leave this many pixels between their margins.
  const PAPER_WIDTH = 680;
  const restyle = () => {
    for (const chart of [...half(), ...wide()]) chart.restyle();
  };
  // Paper is light.
  const paper = (on) => {
    document.documentElement.classList.toggle('on-paper', on);
    for (const sheet of sheets) sheet.fit(on);
    for (const chart of wide()) chart.fit(on ? PAPER_WIDTH : 0);
    for (const chart of half()) chart.fit(on ? PAPER_WIDTH / 2 - 14 : 0);
  };
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', restyle);
  window.addEventListener('beforeprint', () => paper(true));
  window.addEventListener('afterprint', () => paper(false));
};
