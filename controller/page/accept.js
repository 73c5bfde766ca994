// The page of an acceptance: verdict, parts, spread, limits, hosts, and the lines to sign.
'use strict';

plimsoll.page = (() => {
  const {el, format} = plimsoll;
  const {report, left_out: leftOut, warnings, configuration: settings, digest} = plimsoll.readData();
  const NS = 1e9;
  const nameOf = (run) => (run.part === 'storage' ? 'storage' : run.part + ', run ' + run.run);
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

  // The best thing to look at of a run's results.
  const PAGES = {storage: 'storage.txt', fsck: 'fsck.txt', load: 'report.html', limit: 'report.html'};
  const linked = (run) =>
      (run.directory !== '' ? el('a', {href: run.directory + '/' + PAGES[run.part]}, nameOf(run)) : nameOf(run));
  const result = (run) => (run.began ? plimsoll.tag(run.outcome) : el('span', {class: 'tag warn'}, '? DID NOT RUN'));
  const found = (run) => (run.differs === undefined ? run.result : 'its results are not those that were recorded');
  const parts = () => plimsoll.section(
      'parts', 'Parts',
      plimsoll.table(
          'The runs of each part, with links to their results',
          [{title: 'Part', head: true}, {title: 'Result', text: true}, {title: 'Time'}, {title: 'Details', text: true}],
          report.runs.map((run) => [linked(run), result(run), run.began ? length(run.duration_ns) : '', found(run)])));

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
                    [figure.part, figure.name + (figure.unit === '' ? '' : ', ' + figure.unit),
                     ...numbers.map((run) => {
                       const found = figure.values.find((value) => value.run === run);
                       return found === undefined ? format.DASH : number(found.value);
                     }),
                     typeof figure.spread_percent !== 'number' ? format.DASH :
                                                                 format.fixed(figure.spread_percent, 1) + ' %'])));
  };

  const limits = () =>
      (report.limits.length === 0 ? null :
                                    plimsoll.section('limits', 'Limits of this verdict', sentences(report.limits)));

  const configuration = () => plimsoll.section(
      'options', 'What was tested',
      el('dl', {class: 'options'},
         settings.map(([title, text]) => el('div', {}, el('dt', {}, title), el('dd', {class: 'words'}, text)))));

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
                   report.hosts.map(
                       (host) =>
                           [host.label, host.directory, host.fs_type + ' from ' + host.fs_source, host.mount_options,
                            host.kernel, host.version]))));

  const notes = () => {
    const found = report.runs.flatMap((run) => run.notes.map((note) => nameOf(run) + ': ' + note));
    return found.length === 0 ? null : plimsoll.section('notes', 'Notes', sentences(found));
  };

  const signatures = () => plimsoll.section('signatures', 'Signatures', plimsoll.signatures());

  document.getElementById('top').append(heading());
  const content = [outcome(), parts(), spread(), limits(), configuration(), hosts(), notes(), signatures()];
  document.getElementById('acceptance').replaceChildren(...content.filter((part) => part !== null));
  document.getElementById('foot').append(
      el('p', {class: 'soft'},
         'The links open files in the directory of this page. accept.json has everything that is shown here.'),
      ...plimsoll.digestLine(digest));
  return {report};
})();
