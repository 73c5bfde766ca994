// The page: puts its parts together, and again when another step is chosen.
'use strict';

plimsoll.page = (() => {
  const {el, format, model} = plimsoll;
  const {report, configuration, digest, ha, steps} = model.read();
  const main = document.getElementById('report');

  // What depends on the chosen step, between the parts about the run.
  const keyPlace = el('div');
  const stepPlace = el('div', {id: 'step'});
  const timePlace = el('div');
  const rangePlace = el('div', {class: 'range-place'});
  const state = {step: null, kind: null, range: null, charts: []};
  // Shown before another one is chosen: the one that is the answer.
  const {answerStep} = plimsoll.kindOf(report);
  const first = steps.find((step) => answerStep && step.step.number === answerStep(report)) || steps[0];

  // Every chart that is on the page now.
  const charts = () => plimsoll.chartsNow(state.charts);

  // Chooses the times that the charts show, for all steps alike: response or service times, those of a part of the
  // writes, or those of the reads. Null where the step has one kind only.
  const timeChooser = (step) => {
    if (step.kinds.length < 2) return null;
    const select =
        el('select', {
          id: 'time-chooser',
          change: () => {
            state.kind = step.kinds[select.selectedIndex];
            showStep(step);
            document.getElementById('time-chooser').focus();
          }
        },
           step.kinds.map((kind) => el('option', {selected: kind === step.kind}, step.kindTitle(kind))));
    return el('label', {class: 'pick'}, 'Latency', select);
  };

  const showStep = (step) => {
    for (const chart of charts()) chart.destroy();
    step.choose(step.kinds.includes(state.kind) ? state.kind : step.kinds[0]);
    const range = plimsoll.timeCharts.timeRange(step);
    const throughput = plimsoll.timeCharts.throughputSection(step, range);
    const latency = plimsoll.timeCharts.latencySection(step, range);
    const distribution = plimsoll.distribution.section(step);
    const load = plimsoll.load.section(step, range);
    Object.assign(
        state, {step, range, charts: [throughput.chart, latency.chart, () => distribution.chart, load.chart]});
    const parts = [
      plimsoll.figures(step), throughput.element, latency.element, distribution.element,
      plimsoll.stalls.slowSection(step), plimsoll.stalls.stallSection(step), load.element,
      plimsoll.hosts.clocks(step, report)
    ];
    keyPlace.replaceChildren(plimsoll.summary.keyFigures(step));
    stepPlace.replaceChildren(...parts.filter((part) => part !== null));
    const chooseTime = timeChooser(step);
    timePlace.replaceChildren(...(chooseTime === null ? [] : [chooseTime]));
    rangePlace.replaceChildren(range.toolbar('time'));
    for (const chart of charts()) chart.draw();
    nav();
  };

  // Links to the parts that are there.
  const links = el('ul');
  const nav = () => plimsoll.linkSections(links, main, ['verdict', 'key']);

  const chooser = () => {
    if (steps.length < 2) return null;
    const select =
        el('select', {id: 'step-chooser', change: () => showStep(steps[select.selectedIndex])},
           steps.map((step) => el('option', step === first ? {selected: ''} : {}, step.title())));
    return el('label', {class: 'pick'}, 'Step', select);
  };

  const build = () => {
    document.getElementById('top').append(plimsoll.summary.heading(report));
    const sheet = plimsoll.sheet(report, configuration, steps, ha);
    const sweep = plimsoll.summary.sweep(steps);
    const kinds = plimsoll.kinds.map((kind) => kind.sections({report, ha})).filter((kind) => kind !== null);
    const parts = [
      sheet.element, plimsoll.summary.verdict(report),
      el('nav', {class: 'parts', 'aria-label': 'Parts of this page'}, links), ...kinds.flatMap((kind) => kind.elements),
      steps.length === 0 ? null : el('div', {class: 'bar'}, chooser(), timePlace, rangePlace), keyPlace, sweep.element,
      plimsoll.planOptions(configuration), stepPlace, plimsoll.hosts.facts(report), plimsoll.hosts.notes(report)
    ];
    main.replaceChildren(...parts.filter((part) => part !== null));
    const hasParts = steps.some((step) => step.parts.length > 0);
    const latency = plimsoll.words.main('Latency is the time of the write call') + (hasParts ? ' with its sync' : '') +
        (steps.some((step) => step.reads) ? ', or of the read call' : '') + ', unless it is labelled response time' +
        (hasParts ? ', write_call or sync.' : '.');
    document.getElementById('foot').append(
        el('p', {class: 'soft'},
           'MB is 10\u2076 bytes. ' + latency + ' Times of day are UTC, by the controller\u2019s clock. \u2013: not ' +
               plimsoll.words.all('known, or too few writes for this percentile. ') +
               'Point at a dotted word, or focus it, to see what it means.'),
        ...plimsoll.digestLine(digest));
    state.ofKinds = kinds.flatMap((kind) => kind.charts || []);
    state.ofSteps = sweep.charts;
    state.sweep = [...state.ofKinds, ...state.ofSteps];
    for (const chart of state.sweep) chart.draw();
    kinds.forEach(({redraw}) => redraw && redraw());
    state.sheet = sheet;
    if (steps.length > 0)
      showStep(first);
    else
      nav();
  };

  build();
  plimsoll.followSchemeAndPaper(() => [...state.ofKinds, ...charts()], () => state.ofSteps, [state.sheet]);
  return {report, steps, charts, showStep, state};
})();
