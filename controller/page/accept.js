// The page of an acceptance. First what is signed: verdict, what was accepted, criteria, outages, limits, and the lines
// to sign; then what it rests on: parts, spread, configuration, hosts, notes.
'use strict';

plimsoll.page = (() => {
  const {el, format} = plimsoll;
  const {report, left_out: leftOut, warnings, configuration: settings, digest, criteria, answers, notes} =
      plimsoll.readData();
  const NS = 1e9;
  // Notes on paper; the others are in accept.json.
  const MOST_PRINTED_NOTES = 6;
  // Parts that are done once.
  const ONCE = ['storage', 'restart_time', 'disturb'];
  const partName = (part) => part.replaceAll('_', '-');
  const nameOf = (run) => {
    if (ONCE.includes(run.part)) return partName(run.part);
    if (run.part === 'ha') return 'ha, extents ' + (run.run === 1 ? 'locked' : 'not locked');
    return run.part + ', run ' + run.run;
  };
  const sentences = (texts) =>
      el('ul', {class: 'sentences'}, texts.map((text) => el('li', {}, plimsoll.breakable(text))));
  // Whole seconds.
  const length = (ns) => {
    const all = Math.ceil(ns / NS);
    const [hours, minutes, seconds] = [Math.floor(all / 3600), Math.floor(all / 60) % 60, all % 60];
    return (hours > 0 ? hours + 'h ' : '') + (all >= 60 ? minutes + 'm ' : '') + seconds + 's';
  };

  const heading = () =>
      el('div', {class: 'wide heading'}, plimsoll.brand(),
         el('h1', {}, plimsoll.breakable('Acceptance test' + (report.name === '' ? '' : ': ' + report.name))),
         el('ul', {class: 'facts'}, el('li', {}, format.dateTime(report.begin)),
            el('li', {}, format.plural(report.hosts.length, 'host')), el('li', {}, 'acceptance ' + report.id),
            el('li', {}, 'plimsoll ' + report.version)));

  const outcome = () => {
    const [tone, sign, word] = plimsoll.verdictOf(report.outcome);
    return el(
        'section', {class: 'verdict ' + tone, id: 'verdict', 'aria-label': 'Verdict'},
        el('div', {class: 'outcome'}, el('span', {class: 'sign', 'aria-hidden': 'true'}, sign), el('h2', {}, word)),
        el('div', {class: 'because'},
           report.outcome === 'pass' ? el('p', {}, 'Every run of every part of the plan was completed and passed.') :
                                       null,
           report.reasons.length === 0 ? null : sentences(report.reasons), leftOut === '' ? null : el('p', {}, leftOut),
           warnings.map((warning) => el('p', {class: 'warning'}, plimsoll.breakable(warning)))));
  };

  // Rows of a title and a text; `wide` ones take the whole width.
  const listed = (rows, wide = []) =>
      el('dl', {class: 'options'},
         rows.filter(([, text]) => text !== '')
             .map(
                 ([title, text]) =>
                     el('div', {class: wide.includes(title) ? 'across' : null}, el('dt', {}, title),
                        el('dd', {class: 'words'}, plimsoll.breakable(text)))));

  // Who, what, when and where.
  const WHO = ['Change', 'Operator'];
  const settingOf = (name) => (settings.find(([title]) => title === name) || ['', ''])[1];
  // Each text once, in the order in which they come.
  const each = (texts) => [...new Set(texts)].join('; ');
  const record = () => {
    const seconds = (moment) => Date.parse(moment.slice(0, 19) + 'Z') / 1e3;
    const lasted = report.begin && report.end ? ', ' + length((seconds(report.end) - seconds(report.begin)) * NS) : '';
    return plimsoll.section(
        'record', 'What was accepted',
        listed(
            [
              ...WHO.map((name) => [name, settingOf(name)]), ['Date', format.dateTime(report.begin) + lasted],
              ['Hosts', report.hosts.map((host) => host.label).join(', ')],
              ['Directory', each(report.hosts.map((host) => host.directory))],
              ['Storage', each(report.hosts.map((host) => host.fs_type + ' from ' + host.fs_source))],
              ['Digest of the results', digest || '']
            ],
            ['Hosts', 'Digest of the results']));
  };

  const judged = () =>
      (criteria.length === 0 ?
           null :
           plimsoll.section(
               'criteria', 'Criteria',
               plimsoll.table(
                   'Each criterion with its worst value of all runs',
                   [
                     {title: 'Part', head: true}, {title: 'Criterion', text: true}, {title: 'Result', text: true},
                     {title: 'Worst value'}, {title: 'Where', text: true}
                   ],
                   criteria.map(
                       (one) =>
                           [one.part, el('code', {}, one.criterion), plimsoll.tag(one.outcome),
                            one.value === '' ? format.DASH : one.value,
                            [one.run === one.part ? '' : one.run.slice(one.part.length + 2), one.place]
                                .filter((text) => text !== '')
                                .join(', ')])),
               settingOf('Source') === '' ? null : el('p', {class: 'soft'}, settingOf('Source'))));

  const found = () => (
      answers.length === 0 ? null :
                             plimsoll.section(
                                 'answers', 'Limit, outages and restart',
                                 el('dl', {class: 'answers'},
                                    answers.flatMap(
                                        ({title, text}) =>
                                            [el('dt', {}, title),
                                             el('dd', {},
                                                // What is listed behind semicolons has lines of its own.
                                                text.split('; ').map((part) => el('div', {class: 'words'}, part)))]))));

  // The best thing to look at of a run's results.
  const PAGES = {storage: 'storage.txt', fsck: 'fsck.txt'};
  const linked = (run) =>
      (run.directory !== '' ? el('a', {href: run.directory + '/' + (PAGES[run.part] || 'report.html')}, nameOf(run)) :
                              nameOf(run));
  const result = (run) => (run.began ? plimsoll.tag(run.outcome) : el('span', {class: 'tag warn'}, '? DID NOT RUN'));
  const details = (run) => (run.differs === undefined ? run.result : 'its results are not those that were recorded');
  const parts = () => plimsoll.section(
      'parts', 'Parts',
      plimsoll.table(
          'The runs of each part, with links to their results',
          [{title: 'Part', head: true}, {title: 'Result', text: true}, {title: 'Time'}, {title: 'Details', text: true}],
          report.runs.map(
              (run) => [linked(run), result(run), run.began ? length(run.duration_ns) : '', details(run)])));

  const number = (value) => (value < 100 ? format.fixed(value, 3) : format.rate(value));
  const spread = () => {
    if (report.figures.length === 0) return null;
    const runs = Math.max(...report.figures.flatMap((figure) => figure.values.map((value) => value.run)));
    const numbers = Array.from({length: runs}, (_, at) => at + 1);
    return plimsoll.section(
        'spread', 'Spread',
        plimsoll.table(
            'Figures by run. Spread: largest minus smallest, in percent of the mean. Latencies are those of all hosts together.',
            [
              {title: 'Part', head: true}, {title: 'Figure', text: true},
              ...numbers.map((run) => ({title: 'Run ' + run})), {title: 'Spread'}
            ],
            report.figures.map(
                (figure) =>
                    [partName(figure.part), figure.name + (figure.unit === '' ? '' : ', ' + figure.unit),
                     ...numbers.map((run) => {
                       const value = figure.values.find((one) => one.run === run);
                       return value === undefined ? format.DASH : number(value.value);
                     }),
                     typeof figure.spread_percent !== 'number' ? format.DASH :
                                                                 format.fixed(figure.spread_percent, 1) + ' %']),
            // On paper the answers have those of parts that are done once.
            report.figures.map((figure) => (ONCE.includes(figure.part) ? 'unprinted' : null))));
  };

  const limits = () =>
      (report.limits.length === 0 ?
           null :
           plimsoll.section('limits', 'Limits of this verdict: what was not tested', sentences(report.limits)));

  const configuration = () => plimsoll.section(
      'options', 'What was tested',
      listed(settings.filter(([title]) => !WHO.includes(title) && title !== 'Source'), ['Criteria']));

  // Hosts that see the same share a row.
  const kindsOfHosts = () => {
    const kinds = new Map();
    for (const host of report.hosts) {
      const row =
          [host.directory, host.fs_type + ' from ' + host.fs_source, host.mount_options, host.kernel, host.version];
      const key = JSON.stringify(row);
      if (!kinds.has(key)) kinds.set(key, {labels: [], row});
      kinds.get(key).labels.push(host.node ? host.label + ' on node ' + host.node : host.label);
    }
    return [...kinds.values()].map(({labels, row}) => [plimsoll.listed(labels, ','), ...row]);
  };
  const hosts = () =>
      (report.hosts.length === 0 ?
           null :
           plimsoll.section(
               'hosts', 'Hosts',
               plimsoll.table(
                   'Storage as each host sees it',
                   [
                     {title: 'Host', head: true}, {title: 'Directory', text: true}, {title: 'Storage', text: true},
                     {title: 'Mount options', text: true}, {title: 'Kernel', text: true}, {title: 'Agent', text: true}
                   ],
                   kindsOfHosts())));

  const remarks = () => {
    if (notes.length === 0) return null;
    const list = sentences(notes.map((note) => note.runs + ': ' + note.text));
    const more = notes.length - MOST_PRINTED_NOTES;
    [...list.children].slice(MOST_PRINTED_NOTES).forEach((item) => item.classList.add('unprinted'));
    return plimsoll.section(
        'notes', 'Notes', list,
        more > 0 ? el('p', {class: 'soft printed'}, format.plural(more, 'more note') + ': see accept.txt.') : null);
  };

  const signatures = () => plimsoll.section('signatures', 'Signatures', plimsoll.signatures());

  document.getElementById('top').append(heading());
  const content = [
    outcome(), record(), judged(), found(), limits(), signatures(), parts(), spread(), configuration(), hosts(),
    remarks()
  ];
  document.getElementById('acceptance').replaceChildren(...content.filter((part) => part !== null));
  document.getElementById('foot').append(
      el('p', {class: 'soft'},
         'The links open files in the directory of this page. accept.json has everything that is shown here.'),
      ...plimsoll.digestLine(digest));
  return {report};
})();
