// A queue manager's log against the storage: the bandwidth that the run measured by write size, and MQ's intervals over
// it. No kind of run of its own: any run whose plan has such intervals shows it.
'use strict';

(() => {
  const {el, format} = plimsoll;

  const mbps = (value) => format.fixed(value, 2) + ' MB/s';
  const percent = (value) => format.fixed(value, 1) + ' %';

  // A row for each point of MQ's and for each size that was measured, by rising write size: {size, mq, storage,
  // percent, count, measured, named}; null is not there.
  const rowsOf = (log) => {
    const points = log.write_size_bytes.map((size, at) => ({
                                              size,
                                              mq: log.mb_per_second[at],
                                              storage: log.storage_mb_per_second[at] || null,
                                              percent: log.percent[at] || null,
                                              count: log.count[at],
                                              measured: null,
                                            }));
    const named = (row) =>
        log.intervals.filter((one) => one.write_size_bytes === row.size && one.mb_per_second === row.mq)
            .map((one) => one.name);
    const sizes = log.sizes.map((one) => ({
                                  size: one.block_size_bytes,
                                  mq: null,
                                  storage: one.mb_per_second,
                                  percent: null,
                                  count: 0,
                                  measured: one.mb_per_second,
                                }));
    // A size of 0 has no place on a logarithmic axis.
    return [...points.map((row) => ({...row, named: named(row)})), ...sizes.map((row) => ({...row, named: []}))]
        .filter((row) => row.size > 0)
        .sort((a, b) => a.size - b.size);
  };

  // Powers of two, as many as have room.
  const ticks = (from, to, pixels) => {
    const every = Math.max(1, Math.ceil((to - from) / Math.max(pixels / 80, 2)));
    const list = [];
    for (let at = Math.ceil(from / every) * every; at <= to; at += every)
      if (at >= 0) list.push({v: at, label: format.size(2 ** at)});
    return list;
  };

  const textOf = (row) => {
    const parts = [format.size(row.size)];
    if (row.measured !== null) parts.push('measured');
    if (row.named.length > 0) parts.push(row.named.join(', '));
    if (row.percent !== null) parts.push('MQ at ' + percent(row.percent) + ' of the storage');
    if (row.mq !== null && row.percent === null) parts.push('not between two measured sizes');
    if (row.count > 1) parts.push('stands for ' + format.count(row.count) + ' intervals');
    return parts.join(', ');
  };

  const chart = (rows, options) => {
    const x = rows.map((row) => Math.log2(row.size));
    return new plimsoll.Chart({
      x,
      range: new plimsoll.Range(
          x[0] - 0.3, x[x.length - 1] + 0.3, (at) => format.size(Math.round(2 ** Math.max(at, 0))), 0.5),
      xTitle: 'Average write size',
      xText: (at, row) => textOf(rows[row]),
      xTicks: ticks,
      log: true,
      ...options,
    });
  };

  const charts = (log) => {
    const rows = rowsOf(log);
    if (rows.length === 0) return [];
    const values = (get) => rows.map((row) => get(row));
    const isNamed = (row) => (row.named.length > 0 ? row.mq : null);
    const bandwidth = chart(rows, {
      name: 'Bandwidth by write size',
      series: [
        {
          name: 'storage',
          values: values((row) => row.storage),
          color: 's1',
          whole: true,
          help: 'Between measured sizes, the time of a write grows evenly with its size'
        },
        {name: 'storage, measured', values: values((row) => row.measured), color: 's1', dots: 4},
        {name: 'MQ\u2019s intervals', values: values((row) => row.mq), color: 's2', dots: 2.5},
        {name: 'MQ: peak, p95, median', values: values(isNamed), color: 'ink', dots: 4.5},
      ],
      yTitle: 'Bandwidth of one queue manager, MB/s, by write size',
      yTick: format.shortCount,
      yText: mbps,
      height: 320,
    });
    const compared = rows.filter((row) => row.percent !== null);
    if (compared.length === 0) return [bandwidth];
    return [
      bandwidth, chart(compared, {
        name: 'MQ\u2019s share of the storage\u2019s bandwidth',
        series: [
          {name: 'MQ\u2019s intervals', values: compared.map((row) => row.percent), color: 's2', dots: 2.5}, {
            name: 'MQ: peak, p95, median',
            values: compared.map((row) => (row.named.length > 0 ? row.percent : null)),
            color: 'ink',
            dots: 4.5
          },
          {name: 'storage', values: compared.map(() => 100), color: 's1', whole: true}
        ],
        yTitle: 'Percent of the storage\u2019s bandwidth at the same write size',
        yTick: (value) => parseFloat(value.toPrecision(4)) + ' %',
        yText: percent,
        height: 240,
      })
    ];
  };

  const table = (log) => plimsoll.table(
      'Intervals by rank of their bandwidth; MB/s of one queue manager',
      [
        {title: 'Interval', head: true}, {title: 'Average write, bytes'}, {title: 'MQ, MB/s'},
        {title: 'Storage, MB/s', help: 'measured at this write size, or interpolated between the two next to it'},
        {title: 'MQ / storage'}
      ],
      log.intervals.map(
          (one) =>
              [one.name, format.count(one.write_size_bytes), format.fixed(one.mb_per_second, 2),
               format.fixed(one.storage_mb_per_second, 2),
               one.percent === undefined ? format.DASH : percent(one.percent)]));

  const uncompared = (count, where, size, which) =>
      (count > 0 ? el('p', {class: 'remark'},
                      format.plural(count, 'interval') + (count === 1 ? ' has writes ' : ' have writes ') + where +
                          ' ' + format.size(size) + ', the ' + which + ' size measured: not compared.') :
                   null);

  const sections = ({report: {mq_log: log}}) => {
    if (!log) return null;
    const shown = charts(log);
    const {sizes} = log;
    const beyond = sizes.length === 0 ? [] : [
      uncompared(log.below_sizes, 'below', sizes[0].block_size_bytes, 'smallest'),
      uncompared(log.above_sizes, 'above', sizes[sizes.length - 1].block_size_bytes, 'largest')
    ];
    return {
      elements: [plimsoll.section(
          'mq-log', 'MQ\u2019s log against the storage', log.source ? el('p', {}, log.source) : null, table(log),
          ...beyond, ...log.notes.map((note) => el('p', {class: 'remark'}, note)), ...shown.map((one) => one.element))],
      charts: shown
    };
  };

  plimsoll.kinds.push({of: () => false, sections});
})();
