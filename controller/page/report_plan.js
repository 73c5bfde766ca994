// The configuration: the plan as it ran, each setting with the option that sets it.
'use strict';

// The rows of the text report (controller/render/text.h) as a list; those with one title are below one another. `cell`
// makes what is shown of a value.
plimsoll.settings = (rows, cell) => {
  const {el} = plimsoll;
  const entries = [];
  for (const [title, option, value] of rows) {
    if (entries.length === 0 || entries[entries.length - 1].title !== title) entries.push({title, option, values: []});
    entries[entries.length - 1].values.push(value);
  }
  return entries.map(
      ({title, option, values}) =>
          el('div', {},
             el('dt', {}, title in plimsoll.TERMS ? plimsoll.term(title) : title, option ? ' ' : '',
                option ? el('code', {class: 'soft'}, option) : null),
             values.map((value) => el('dd', {class: 'words'}, cell(value)))));
};

// Mount options without those that are the client's own and differ on every host, as in the text report: NFS's
// clientaddr.
plimsoll.sharedMountOptions = (options) =>
    options.split(',').filter((option) => !option.startsWith('clientaddr=')).join(',');

plimsoll.planOptions = (rows) => plimsoll.section(
    'options', 'Configuration', plimsoll.el('dl', {class: 'options'}, plimsoll.settings(rows, plimsoll.breakable)));
