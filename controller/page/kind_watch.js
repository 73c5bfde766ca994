// The part of a watch's page: what was watched, at what cost, and how the log was written.
'use strict';

(() => {
  const {el, format} = plimsoll;
  const MOST_NAMED = 4;

  const list = (items) => (items.length === 0 ? format.DASH : plimsoll.listed(items, ','));
  const processes = ({processes: all}) => {
    const named = all.slice(0, MOST_NAMED).map((one) => one.name + '[' + one.pid + ']');
    return list(all.length > named.length ? [...named, all.length - named.length + ' more'] : named);
  };
  const cost = (ns) => (ns > 0 ? format.fixed(ns / 1e3, 2) + ' \u00b5s' : format.DASH);
  const percent = (value) => format.fixed(value, 3) + ' %';

  const writers = ({hosts}, names) => plimsoll.table(
      'Watched processes',
      [
        {title: 'Host', head: true}, {title: 'Writer', text: true}, {title: 'Log directory', text: true, long: true},
        {title: 'Processes', text: true, long: true}, {title: 'Probes', text: true, long: true}
      ],
      hosts.flatMap(
          (host) => host.writers.map(
              (one, at) =>
                  [host.host, names[at] || String(at + 1), one.log_dir || format.DASH, processes(one),
                   list(one.probes)])));

  const costs = ({hosts}) => plimsoll.table(
      'Cost of watching, to the watched processes',
      [
        {title: 'Host', head: true}, {title: 'Of a write'}, {title: 'Of a call'},
        {title: 'CPU', help: 'share of one CPU that the probes took, on average'},
        {title: 'CPU, most', help: 'the largest share over one second'}, {title: 'Records lost'}
      ],
      hosts.map(
          ({host, write_overhead_ns: write, call_overhead_ns: call, counts}) =>
              [host, cost(write), cost(call), counts ? percent(counts.overhead_percent) : format.DASH,
               counts ? percent(counts.max_overhead_percent) : format.DASH,
               counts ? format.count(counts.lost_records) : format.DASH]));

  const profile = ({aspects, simulation}) => {
    if (aspects.length === 0) return [];
    return [
      plimsoll.table(
          'How the log was written, beside how plimsoll run writes one',
          [
            {title: 'What', head: true}, {title: 'Seen', text: true, long: true},
            {title: 'plimsoll run', text: true, long: true}, {title: 'Differs', text: true}
          ],
          aspects.map((one) => [one.aspect, one.seen, one.assumed, one.differs ? 'yes' : ''])),
      simulation ? el('p', {}, 'To simulate it on a storage, with DIR on it: ', el('code', {}, simulation)) : null
    ];
  };

  const doubts = ({hosts}) =>
      hosts.flatMap((host) => host.doubts.map((doubt) => el('p', {class: 'remark'}, 'Bounds only: ' + doubt)));

  const sections = ({report}) => {
    const {watch, plan} = report;
    if (!watch) return null;
    const managers = (plan && plan.watch && plan.watch.queue_managers) || [];
    const names = managers.length > 0 ? managers : ['pid ' + ((plan && plan.watch && plan.watch.pid) || '')];
    const parts = [...doubts(watch), writers(watch, names), costs(watch), ...profile(watch)];
    return {elements: [plimsoll.section('watch', 'Watched', ...parts.filter((part) => part !== null))]};
  };

  plimsoll.kinds.push({
    of: (report) => report.watch,
    title: 'Watch',
    sections,
    stepName: () => 'watched',
    stepTitle: () => 'Watched',
  });
})();
