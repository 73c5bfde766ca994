// How latencies are distributed: cluster, storages and hosts over one another.
'use strict';

plimsoll.distribution = (() => {
  const {model, format, percentiles} = plimsoll;

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
                               hidden: at > 24,
                               whole: one.kind !== 'host',
                               distribution: one,
                             }));
    const chart = percentiles.chart(lines, step.timeName());
    const missing = step.times.distributions_left_out;
    const remark = missing > 0 ? 'The distributions of ' + format.plural(missing, 'more host') +
            ' are left out to keep this page small; report.json has them.' :
                                 null;
    return {element: percentiles.section(chart, remark), chart};
  };

  return {section};
})();
