// How latencies are distributed: cluster, storages and hosts over one another, the parts of the cluster's writes, and
// its reads beside them.
'use strict';

plimsoll.distribution = (() => {
  const {model, format, percentiles} = plimsoll;
  // Lines besides the cluster's that are shown at first.
  const SHOWN = 24;

  // The cluster's distribution of an operation; undefined where there is none.
  const clusterOf = (step, operation) =>
      step.distributions(operation.name).find((one) => one.kind === 'cluster' && one.count.length > 0);

  // Makes a curve for each part of the cluster's writes and each call, in a colour that no visible line has.
  const partLines = (step, others) => {
    if (!step.isMain()) return [];
    return [...step.parts, ...step.calls]
        .filter((part) => clusterOf(step, part))
        .map((part, at) => ({
               name: part.name,
               color: model.color(Math.min(others, SHOWN) + at),
               dash: model.dash(Math.min(others, SHOWN) + at),
               help: plimsoll.TERMS[part.name],
               distribution: clusterOf(step, part),
             }));
  };

  // Makes the curve of the reads beside the cluster's writes, if there are any.
  const readLines = (step) => {
    const distribution = step.reads && step.isMain() ? clusterOf(step, step.reads) : undefined;
    if (!distribution) return [];
    const {name, color} = model.OPERATIONS.reads;
    return [{name: 'cluster, ' + name, color, dash: null, whole: true, distribution}];
  };

  const section = (step) => {
    const known = step.distributions().filter((one) => one.count.length > 0);
    if (known.length === 0) return {element: null, chart: null};
    const chosen = known.filter((one) => one.kind === 'cluster')
                       .concat(
                           step.storages.length > 1 ? known.filter((one) => one.kind === 'storage') : [],
                           step.hosts.length > 1 ? known.filter((one) => one.kind === 'host') : []);
    if (chosen.length === 0) return {element: null, chart: null};
    // Where the step reads and writes, the cluster's curves have the colours of writes and reads, which no other solid
    // curve has.
    const whose = step.whose();
    const taken = step.reads ? Object.keys(model.OPERATIONS).length : 0;
    const ink = step.reads ? model.OPERATIONS[whose].color : 'ink';
    const lines = chosen.map((one, at) => ({
                               name: model.nameOf(one) + (step.reads ? ', ' + whose : ''),
                               color: one.kind === 'cluster' ? ink : model.color(at - 1 + taken),
                               dash: one.kind === 'cluster' ? null : model.dash(at - 1 + taken),
                               hidden: at > SHOWN,
                               whole: one.kind !== 'host',
                               distribution: one,
                             }));
    const parts = chosen[0].kind === 'cluster' ? partLines(step, lines.length - 1 + taken) : [];
    const reads = chosen[0].kind === 'cluster' ? readLines(step) : [];
    lines.splice(1, 0, ...reads, ...parts);
    const besides = [
      ...(step.parts.length > 0 && parts.length > 0 ? ['the parts of the cluster\u2019s service time'] : []),
      ...(step.calls.length > 0 && parts.length > 0 ?
              [step.step.group_commit ? 'commit latency (simulated)' :
                                        'service time of ' + step.calls.map((call) => call.name).join(', ')] :
              []),
      ...(reads.length > 0 ? ['service time of the reads'] : [])
    ];
    const what = step.kindTitle(step.kind) +
        besides.map((text, at) => (at + 1 < besides.length ? ', ' : ', and ') + text).join('');
    const chart = percentiles.chart(lines, what, plimsoll.words.all);
    const missing = step.times.distributions_left_out;
    const remark = missing > 0 ? 'The distributions of ' + format.plural(missing, 'more host') +
            ' are left out to keep this page small; report.json has them.' :
                                 null;
    return {element: percentiles.section(chart, remark), chart};
  };

  return {section};
})();
