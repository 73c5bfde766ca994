// The part of a placement's page: does the cluster carry its load with any one host down?
'use strict';

(() => {
  const {columns, el, format} = plimsoll;
  const MOST_NAMED = 8;

  const state = (step) => (step.down_host ? step.down_host + ' down' : 'all up');
  const stepName = (step) => (step.down_host ? step.down_host + ' down' : 'all hosts up');
  const moved = (step) => {
    const names = step.moved.slice(0, MOST_NAMED).map((one) => one.queue_manager + ' to ' + one.host);
    const more = step.moved.length - names.length;
    return names.length === 0 ? format.DASH :
                                plimsoll.listed(more > 0 ? [...names, 'and ' + more + ' more'] : names, ',');
  };
  const time = (step, name) => (columns.isKnown(step, name) ? step[name + '_ns'] : null);

  const table = ({steps}) => plimsoll.table(
      'Response times of all hosts; worst host: highest p99 (–: too few writes)',
      [
        {title: 'Hosts', head: true}, {title: 'Result', text: true}, {title: 'Step'}, {title: 'Target IO/s'},
        {title: 'IO/s'}, {title: 'p50', time: 'latency'}, {title: 'p99', time: 'latency'},
        {title: 'max', time: 'latency'}, {title: 'Worst host', text: true},
        {title: 'Moved', text: true, long: true, help: 'queue managers that write on their standby hosts'}
      ],
      steps.map(
          (step) =>
              [state(step), plimsoll.tag(step.outcome), String(step.step), format.rate(step.asked_iops),
               step.max_ns > 0 ? format.rate(step.iops) : format.DASH, time(step, 'p50'), time(step, 'p99'),
               time(step, 'max'), step.worst_host || format.DASH, moved(step)]));

  // Why a step is no PASS.
  const reasons = ({steps}) =>
      steps.filter((step) => step.reason)
          .map((step) => el('p', {class: 'remark'}, 'Step ' + step.step + ', ' + state(step) + ': ' + step.reason));

  const sections = ({report: {placement}}) =>
      (placement ? {
        elements: [plimsoll.section(
            'placement', 'Does the cluster carry its load with any one host down?', el('p', {}, placement.answer),
            table(placement), ...reasons(placement))]
      } :
                   null);

  plimsoll.kinds.push({
    of: (report) => report.placement,
    title: 'Placement',
    sections,
    stepName,
    stepTitle: (report, step) => 'Step ' + step.number + ' of ' + report.placement.steps.length + ': ' + stepName(step),
    answer: (report) => report.placement.answer
  });
})();
