// The page of a comparison: puts its parts together, and again when another block size is chosen.
'use strict';

plimsoll.page = (() => {
  const {el, compareSummary: summary, compareDetail: detail} = plimsoll;
  const data = plimsoll.comparison.read();
  const main = document.getElementById('comparison');
  const place = el('div', {id: 'block'});
  const links = el('ul');
  const state = {block: null, charts: [], sweep: []};

  const charts = () => plimsoll.chartsNow(state.charts);

  const showBlock = (block) => {
    for (const chart of charts()) chart.destroy();
    const seconds = detail.seconds(block);
    const distribution = detail.distribution(block);
    Object.assign(state, {block, charts: [seconds.chart, distribution.chart]});
    const parts = [detail.figures(block, data), seconds.element, distribution.element];
    place.replaceChildren(...parts.filter((part) => part !== null));
    for (const chart of charts()) chart.draw();
    plimsoll.linkSections(links, main);
  };

  const chooser = () => {
    const choices = data.blocks.map((block) => ({name: block.name, value: block}));
    return el('div', {class: 'bar'}, plimsoll.picker('Block size', choices, showBlock, 'block-chooser'));
  };

  const build = () => {
    document.getElementById('top').append(summary.heading(data));
    const sweep = summary.sweep(data);
    state.sweep = sweep.charts;
    const parts = [
      el('nav', {class: 'parts', 'aria-label': 'Parts of this page'}, links), summary.findings(data),
      summary.sides(data), summary.differences(data), sweep.element, data.blocks.length > 1 ? chooser() : null, place,
      summary.limits(data), summary.method(data)
    ];
    main.replaceChildren(...parts.filter((part) => part !== null));
    const has = (ofOperation) =>
        data.comparison.block_sizes.some((one) => (one.operations || []).some(({name}) => ofOperation(name)));
    document.getElementById('foot').append(el(
        'p', {class: 'soft'},
        'MB is 10\u2076 bytes. Latency is ' +
            plimsoll.words.main(
                data.comparison.response_times ? 'the response time, from a write\u2019s scheduled start to its end' :
                                                 'the time of the write call') +
            (has((name) => name !== 'read') ? ' with its sync; the times of write_call and sync are service times' :
                                              '') +
            (has((name) => name === 'read') ? '; that of the reads is the time of the read call' : '') +
            '. Figures of several runs are their ',
        plimsoll.term('geometric mean'), '. Point at a dotted word, or focus it, to see what it means.'));
    for (const chart of sweep.charts) chart.draw();
    showBlock(data.blocks[0]);
  };

  build();
  plimsoll.followSchemeAndPaper(charts, () => state.sweep);
  return {data, charts, showBlock, state};
})();
