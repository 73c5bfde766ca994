// How latencies are distributed: cluster, storages and hosts over one another, and the parts of the cluster's writes.
'use strict';

plimsoll.distribution = (() => {
  const {model, format, percentiles} = plimsoll;
  // Lines besides the cluster's that are shown at first.
  const SHOWN = 24;

  // Makes a curve for each part of the cluster's writes, in a colour that no visible line has.
  const partLines = (step, others) => {
    if (step.isPart()) return [];
    const known = (part) => step.distributions(part.name).find((one) => one.kind === 'cluster' && one.count.length > 0);
    return step.parts.filter(known).map((part, at) => ({
                                          name: part.name,
                                          color: model.color(Math.min(others, SHOWN) + at),
                                          dash: model.dash(Math.min(others, SHOWN) + at),
                                          help: plimsoll.TERMS[part.name],
                                          distribution: known(part),
                                        }));
  };

  const section = (step) => {
    const known = step.distributions().filter((one) => one.count.length > 0);
    if (known.length === 0) return {element: null, chart: null};
    const chosen = known.filter((one) => one.kind === 'cluster')
                       .concat(
                           step.storages.length > 1 ? known.filter((one) => one.kind === 'storage') : [],
                           step.hosts.length > 1 ? known.filter((one) => one.kind === 'host') : []);
    if (chosen.length === 0) return {element: null, chart: null};
    const lines = chosen.map((one, at) => ({
                               name: model.nameOf(one),
                               color: one.kind === 'cluster' ? 'ink' : model.color(at - 1),
                               dash: one.kind === 'cluster' ? null : model.dash(at - 1),
                               hidden: at > SHOWN,
                               whole: one.kind !== 'host',
                               distribution: one,
                             }));
    const parts = chosen[0].kind === 'cluster' ? partLines(step, lines.length - 1) : [];
    lines.splice(1, 0, ...parts);
    const what = step.timeName() + (parts.length > 0 ? ', and the parts of the cluster\u2019s service time' : '');
    const chart = percentiles.chart(lines, what);
    const missing = step.times.distributions_left_out;
    const remark = missing > 0 ? 'The distributions of ' + format.plural(missing, 'more host') +
            ' are left out to keep this page small; report.json has them.' :
                                 null;
    return {element: percentiles.section(chart, remark), chart};
  };

  return {section};
})();
