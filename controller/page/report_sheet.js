// The first printed page: what is filed of a run. Verdict, criteria by step, configuration, storage, hosts, signatures.
//
// It is on paper only, and always one page: long lists are cut and counted, and what is still too high is scaled.
'use strict';

plimsoll.sheet = (report, rows, steps, ha) => {
  const {el, format, model, summary} = plimsoll;
  const {sheet, stepName} = plimsoll.kindOf(report);
  // Between the margins of A4 and of letter, in pixels.
  const PAPER = {width: 680, height: 920};
  const MOST = {steps: 6, criteria: 12, reasons: 4, groups: 5, names: 8, rows: 10, text: 240};

  const cut = (text) => (text.length > MOST.text ? text.slice(0, MOST.text - 1) + '\u2026' : text);
  const more = (all, most, what) => (all > most ? 'and ' + format.plural(all - most, 'more ' + what) : null);
  const some = (names) => names.slice(0, MOST.names).join(', ') +
      (names.length > MOST.names ? ' and ' + format.count(names.length - MOST.names) + ' more' : '');

  // Outcomes in order, failures first: they must be on the sheet, however many there are.
  const RANK = ['fail', 'inconclusive', 'pass'];
  const rank = (one) => (RANK.includes(one.outcome) ? RANK.indexOf(one.outcome) : RANK.length);
  const all = report.verdict ? report.verdict.criteria : [];
  const criteria = [...all].sort((a, b) => rank(a) - rank(b)).slice(0, MOST.criteria);

  const outcome = (result) =>
      el('span', {}, plimsoll.tag(result.outcome), result.value_text ? ' ' + result.value_text : '');
  const nameOf = (criterion) => el('span', {}, el('code', {}, cut(criterion.criterion)));

  const figures = [
    ['IO/s', (cluster) => format.rate(cluster.iops)], ['MB/s', (cluster) => format.fixed(cluster.mb_per_second, 2)],
    ['median', (cluster) => model.percentile(summary.felt(cluster), 'p50', format.time)],
    ['p99', (cluster) => model.percentile(summary.felt(cluster), 'p99', format.time)],
    ['max', (cluster) => (summary.felt(cluster).count > 0 ? format.time(summary.felt(cluster).max_ns) : format.DASH)]
  ];
  // Where steps read and write, each figure is there for the writes and for the reads.
  const figuresOf = (what, scopeOf) => figures.map(([name, get]) => [name + what, (step) => {
                                                     const scope = scopeOf(step);
                                                     return scope === null ? format.DASH : get(scope);
                                                   }]);
  const ofCluster = (step) => step.cluster;
  const FIGURES = steps.some((step) => step.reads) ?
      [...figuresOf(', writes', ofCluster), ...figuresOf(', reads', (step) => step.readsOf(step.cluster))] :
      figuresOf('', ofCluster);
  const swept = report.plan && report.plan.sweep;
  const caption = () => 'Latencies are ' +
      (steps.some((step) => step.cluster !== null && step.cluster.rate) ? 'response' : 'service') +
      ' times of all hosts';

  // Criteria and figures, a column for each step.
  const matrix = () => {
    const ofStep = (criterion, step) => {
      const found = criterion.steps.find((result) => result.step === step.step.number);
      if (found) return outcome(found);
      return criterion.step === step.step.number ? outcome(criterion) : '';
    };
    const ofRun = (criterion) => criterion.steps.find((result) => result.step === 0) ||
        (criterion.steps.length === 0 && !criterion.step ? criterion : null);
    const runWide = criteria.some(ofRun);
    const rows = criteria.map(
        (criterion) =>
            [nameOf(criterion), ...steps.map((step) => ofStep(criterion, step)),
             ...(runWide ? [ofRun(criterion) ? outcome(ofRun(criterion)) : ''] : [])]);
    const rowsOfFigures = FIGURES.map(([name, get]) => [name, ...steps.map(get), ...(runWide ? [''] : [])]);
    return plimsoll.table(
        (criteria.length > 0 ? 'Criteria with their worst values, and figures by step. ' : 'Figures by step. ') +
            caption(),
        [
          {title: '', head: true}, ...steps.map((step) => ({
                                                  title: 'Step ' + step.step.number + ', ' +
                                                      (stepName ? stepName(step.step) : model.loadName(step.step))
                                                })),
          ...(runWide ? [{title: 'Run'}] : [])
        ],
        [...rows, ...rowsOfFigures]);
  };

  // The tables for many steps: the worst case of each criterion, and a row for each step.
  const lists = () =>
      [criteria.length === 0 ? null :
                               plimsoll.table(
                                   'Criteria, each with its worst value of all steps',
                                   [
                                     {title: 'Criterion', head: true}, {title: 'Worst', text: true}, {title: 'Step'},
                                     {title: 'Where', text: true}
                                   ],
                                   criteria.map(
                                       (one) =>
                                           [nameOf(one), outcome(one), one.step ? String(one.step) : 'run',
                                            one.value_text ? summary.where(one) : ''])),
       plimsoll.table(
           'Figures by step. ' + caption(),
           [
             {title: 'Step', head: true}, {title: swept ? 'Load' : 'Block'}, ...FIGURES.map(([name]) => ({title: name}))
           ],
           steps.slice(0, MOST.rows)
               .map(
                   (step) =>
                       [String(step.step.number),
                        swept ? model.loadName(step.step) : model.blockText(step.step.block_size_bytes),
                        ...FIGURES.map(([, get]) => get(step))])),
       steps.length > MOST.rows ? el('p', {class: 'soft'}, more(steps.length, MOST.rows, 'step')) : null];

  // Without steps: the criteria, and what the kind of run has for the sheet.
  const ofRun = () => {
    const remark = (one) => cut([one.host ? summary.where(one) : '', one.reason].filter((part) => part).join('; '));
    const remarks = criteria.some((one) => remark(one) !== '');
    return [
      criteria.length === 0 ?
          null :
          plimsoll.table(
              'Criteria',
              [
                {title: 'Criterion', head: true}, {title: 'Result', text: true},
                ...(remarks ? [{title: 'Remark', text: true}] : [])
              ],
              criteria.map((one) => [nameOf(one), outcome(one), ...(remarks ? [remark(one)] : [])])),
      sheet ? sheet({report, ha}) : null
    ];
  };

  const judgement = () => {
    const judged = report.verdict;
    const [tone, sign, word] = plimsoll.verdictOf(judged ? judged.outcome : 'done');
    const reasons = [
      ...(judged && judged.remark ? [judged.remark] : []), ...(judged && judged.warnings ? judged.warnings : []),
      ...(judged ? summary.otherReasons(judged) : []),
      ...summary.lostBesides(report).map((host) => host.label + ' was lost: ' + host.lost.reason)
    ];
    return el(
        'div', {class: 'judgement ' + tone},
        el('p', {class: 'word'}, sign + ' ' + word, judged && judged.outcome === 'done' ? ' (no criteria)' : '',
           judged && judged.scope ? ' ' + judged.scope : ''),
        el('div', {class: 'words'}, judged && judged.cause ? el('p', {}, el('strong', {}, cut(judged.cause))) : null,
           reasons.slice(0, MOST.reasons).map((reason) => el('p', {}, cut(reason))),
           reasons.length > MOST.reasons ? el('p', {}, more(reasons.length, MOST.reasons, 'reason')) : null));
  };

  // Hosts that are alike in what `describe` returns, as [description, hosts].
  const alike = (describe) => {
    const groups = new Map();
    for (const host of report.hosts) {
      const key = describe(host);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(host);
    }
    return [...groups];
  };
  const grouped = (title, groups, what) =>
      el('div', {class: 'group'}, el('h3', {}, title),
         groups.slice(0, MOST.groups)
             .map(
                 ([text, hosts]) =>
                     el('p', {class: 'words'}, el('strong', {}, cut(some(hosts.map((host) => host.label)))), ': ',
                        plimsoll.breakable(cut(text)))),
         groups.length > MOST.groups ? el('p', {class: 'soft'}, more(groups.length, MOST.groups, what)) : null);

  const storage = () => grouped(
      'Storage', alike((host) => {
        const storage = host.storage > 0 && report.storages.length > 1 ? 'storage ' + host.storage + ', ' : '';
        return storage +
            plimsoll.model.mounts(host)
                .map((mount) => {
                  const type = [mount.fs_type, mount.remote || mount.fs_source].filter((part) => part).join(' from ');
                  return [mount.dir, type, mount.mount_options ? plimsoll.sharedMountOptions(mount.mount_options) : '']
                      .filter((part) => part)
                      .join('; ');
                })
                .join('; ');
      }),
      'kind of storage');
  const hosts = () => grouped(
      'Hosts',
      alike(
          (host) => [host.kernel, host.usable_cpus ? format.plural(host.usable_cpus, 'CPU') : '',
                     host.memory_bytes > 0 ? format.amount(host.memory_bytes) + ' memory' : '',
                     host.version ? 'plimsoll-agent ' + host.version : '',
                     host.clock && host.clock.source ? 'clock ' + host.clock.source : '']
                        .filter((part) => part)
                        .join(', ')),
      'kind of host');

  const configuration = () =>
      el('div', {class: 'group'}, el('h3', {}, 'Configuration'),
         el('dl', {},
            plimsoll.settings(
                rows.filter(([title]) => !['File system', 'Directory', 'Criteria'].includes(title)),
                (value) => plimsoll.breakable(cut(value)))));

  const notes = () =>
      (report.notes.length === 0 ?
           null :
           el('p', {class: 'soft'}, format.plural(model.noteCount(report), 'note') + ': see the following pages.'));

  const results = steps.length === 0 ? ofRun() : steps.length > MOST.steps ? lists() : [matrix()];
  const content =
      el('div', {class: 'sheet-content'}, summary.heading(report), judgement(), results,
         all.length > MOST.criteria ?
             el('p', {class: 'soft'}, more(all.length, MOST.criteria, 'criterion').replace('criterions', 'criteria')) :
             null,
         configuration(), report.hosts.length === 0 ? null : [storage(), hosts()], notes(), plimsoll.signatures());
  const element = el('div', {id: 'sheet', class: 'sheet'}, content);

  // Scales it to one page while the page is on paper.
  const fit = (on) => {
    content.style.zoom = 1;
    if (on) content.style.zoom = Math.min(1, PAPER.height / content.getBoundingClientRect().height);
  };
  return {element, fit};
};
