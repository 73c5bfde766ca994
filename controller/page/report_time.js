// Charts over the time of a step: throughput, and latency, with the stalls shaded. They share one range.
'use strict';

plimsoll.timeCharts = (() => {
  const {el, format, model, picker, slot, toggle} = plimsoll;
  // More lines than this at once would be neither readable nor quick: of a stack the smallest are drawn as one, others
  // are hidden at first.
  const MOST_LINES = 24;

  // The remark on series of a step that are thinned; nothing where no series is.
  const thinned = (step, found) => {
    const some = found.filter((one) => one.series.thinned);
    if (some.length === 0) return null;
    const text = some.every((one) => one.scope.kind === 'qm') ?
        plimsoll.THINNED :
        plimsoll.words.all(plimsoll.THINNED_TOGETHER[some[0].series.kept]);
    return step.rowSeconds > 1 ? text.replaceAll('second', 'minute').replace('timeline.csv', 'minutes.csv') : text;
  };

  // The range of a step's time, with its positions as text.
  const timeRange = (step) =>
      new plimsoll.Range(0, step.end_s, (at) => format.elapsed(at, step.end_s < 10 ? 1 : 0), step.rowSeconds / 2);

  const timeOptions = (step, range) => ({
    range,
    xTitle: 'Time in step' + (step.rowSeconds > 1 ? ', by minute' : ''),
    xTicks: plimsoll.timeTicks,
  });

  // What a kind of run draws behind the lines of a step; null: nothing.
  const ofKind = (step) => {
    const {shade} = plimsoll.kindOf(step.report);
    return shade ? shade(step) : null;
  };

  // "0:12 – 0:13 (19:20:25 UTC)".
  const second = (step, from, length) => {
    const decimals = Number.isInteger(from) && Number.isInteger(length) ? 0 : 3;
    const start = step.step.start;
    return format.elapsed(from, decimals) + ' \u2013 ' + format.elapsed(from + length, decimals) +
        (start ? ' (' + format.timeAfter(start, from) + ' UTC)' : '');
  };

  // Rates by second, or by rows of another length: rows that cover several fill all of them; the closing row has no
  // rate.
  const ratesByRow = (series, column, rowSeconds) => {
    const rates = new Map();
    series.second.forEach((from, row) => {
      const length = series.length_s[row];
      if (series.closing[row] || length <= 0) return;
      for (let at = 0; at < Math.max(1, length - 1e-9); at += rowSeconds) {
        rates.set(from + at, {rate: series[column][row] / length, length: Math.min(rowSeconds, length - at)});
      }
    });
    return rates;
  };

  // The lines of a stack, the smallest of them as one where they are too many.
  const fewer = (lines, kind) => {
    if (lines.length <= MOST_LINES) return lines;
    const total = (line) => line.values.reduce((sum, value) => sum + (value || 0), 0);
    const totals = new Map(lines.map((line) => [line, total(line)]));
    const kept = new Set([...lines].sort((a, b) => totals.get(b) - totals.get(a)).slice(0, MOST_LINES - 1));
    const rest = lines.filter((line) => !kept.has(line));
    const together = (row) => {
      const known = rest.map((line) => line.values[row]).filter((value) => value !== null);
      return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
    };
    return [
      ...lines.filter((line) => kept.has(line)), {
        name: format.count(rest.length) + ' other ' + kind + 's',
        color: 's8',
        dash: null,
        values: rest[0].values.map((_, row) => together(row))
      }
    ];
  };

  // Makes the chart of a view (viewsOf), as stacks or lines over the union of its seconds.
  const throughput = (step, range, {of, byOperation, stacked}, column) => {
    const {reads} = model.OPERATIONS;
    const all = of.map(({scope, operation}) => ({
                         scope,
                         operation,
                         series: step.seriesOf(scope, operation === reads ? step.readSeries : step.writeSeries)
                       }));
    const found = all.filter((one) => one.series !== null);
    const missing = byOperation ? all.find((one) => one.series === null) : undefined;
    const rates = found.map((one) => ratesByRow(one.series, column, step.rowSeconds));
    const seconds = [...new Set(rates.flatMap((one) => [...one.keys()]))].sort((a, b) => a - b);
    const lengths = seconds.map((at) => Math.max(...rates.map((one) => (one.has(at) ? one.get(at).length : 0))));
    const scale = column === 'bytes' ? 1e-6 : 1;
    let lines =
        found.map((one, at) => ({
                    name: byOperation           ? one.operation.name :
                        one.scope.kind === 'qm' ? 'qm' + one.scope.qm :
                                                  model.nameOf(one.scope),
                    color: byOperation ? one.operation.color : model.color(at),
                    dash: stacked ? null : model.dash(at),
                    values: seconds.map((from) => (rates[at].has(from) ? rates[at].get(from).rate * scale : null)),
                  }));
    const hidden = stacked ? 0 : Math.max(0, lines.length - MOST_LINES);
    lines = stacked ? fewer(lines, of.length > 0 ? of[0].scope.kind : '') :
                      lines.map((line, at) => ({...line, hidden: at >= MOST_LINES}));
    const unit = column === 'bytes' ? 'MB/s' : 'IO/s';
    const text = column === 'bytes' ? (value) => format.fixed(value, 2) : format.rate;
    const whose = step.reads && !byOperation && of.length > 0 ? ' of the ' + of[0].operation.name : '';
    return new plimsoll.Chart({
      ...timeOptions(step, range),
      name: 'Throughput over time (' + unit + ')',
      nothing: 'No data.',
      x: seconds.map((from, row) => from + lengths[row] / 2),
      xText: (x, row) => second(step, seconds[row], lengths[row]),
      series: lines,
      stacked,
      yTitle: unit + whose + (stacked ? ', stacked' : ''),
      yTick: format.shortCount,
      yText: (value) => text(value) + ' ' + unit,
      underlays: [plimsoll.stalls.shade(step), ofKind(step)],
      thinned: thinned(step, found),
      remark: hidden > 0 ? format.count(hidden) + ' of ' + format.count(lines.length) +
              ' queue managers are hidden; click a name in the legend to show it.' :
          missing ? 'The report does not have the ' + missing.operation.name + ' of each ' + step.rowName + '.' :
                    null,
    });
  };

  // How the latencies of each second are drawn.
  const LOOKS = {
    latency_avg_ns: {color: 's3', dash: null},
    p50_ns: {color: 'p50', dash: null},
    p99_ns: {color: 'p99', dash: null},
    p99_9_ns: {color: 'p999', dash: null},
    latency_max_ns: {color: 'max', dash: [2, 2]},
  };

  // An operation beside the main one has no percentiles: its average and maximum are drawn.
  const columnsOf = (step) => {
    const {series} = plimsoll.columns;
    if (step.isMain()) return series;
    return [{field: 'latency_avg_ns', title: 'avg', percent: 0}, ...series.filter((column) => column.percent === 0)];
  };

  // Returns a figure of a row, or null if it is not known. The maximum is always known, the average if the sum is.
  const figureOf = (series, {field, percent}, row) => {
    const writes = series.writes[row];
    if (field === 'latency_avg_ns') {
      const sum = series.latency_sum_ns[row];
      return writes > 0 && sum > 0 && sum < plimsoll.MOST_PACKED ? sum / writes : null;
    }
    const known = percent === 0 || plimsoll.percentiles.isKnown(writes, percent / 100);
    return known && series[field][row] > 0 ? series[field][row] : null;
  };

  // Stalls, and with `heat` the distribution of each second, which is known for the cluster.
  const behind = (step, scope, heat) =>
      [heat && scope !== null && scope.kind === 'cluster' ? plimsoll.heat.shade(step) : null,
       plimsoll.stalls.shade(step), ofKind(step)];

  // The longest time of a write that was in flight or not issued at the end, where no second has a longer one; else 0.
  const slowestAtEnd = (step, scope, series, rows) => {
    const closing = series.latency_max_ns.filter((_, row) => series.closing[row] && series.writes[row] > 0);
    const overdue = step.kind === 'response' && scope.rate && scope.rate.unserved > 0 ? scope.rate.response.max_ns : 0;
    const slowest = Math.max(0, overdue, ...closing);
    return slowest > rows.reduce((most, row) => Math.max(most, series.latency_max_ns[row]), 0) ? slowest : 0;
  };

  const latency = (step, range, scope, log, heat) => {
    const series = scope === null ? null : step.seriesOf(scope);
    // Writes that were in flight or not issued at the end belong to no second: where one of them is the slowest of all,
    // it is a point of its own at the end.
    const rows = series === null ? [] : series.second.map((_, row) => row).filter((row) => !series.closing[row]);
    const end = series === null ? 0 : slowestAtEnd(step, scope, series, rows);
    const lowest = scope !== null && scope.kind === 'cluster' ? plimsoll.heat.lowest(step) : null;
    const x = rows.map((row) => series.second[row] + series.length_s[row] / 2);
    const columns = columnsOf(step);
    const lines = columns.map((column) => ({
                                name: column.title,
                                ...LOOKS[column.field],
                                values: rows.map((row) => figureOf(series, column, row)),
                              }));
    const floor = lowest && rows.map((row) => (lowest.has(series.second[row]) ? lowest.get(series.second[row]) : null));
    if (end > 0) {
      x.push(step.end_s);
      columns.forEach(({field}, at) => lines[at].values.push(field === 'latency_max_ns' ? end : null));
      if (floor) floor.push(null);
    }
    const END = 'in flight or not issued at the end of the step';
    const remark = end === 0 ? null :
                               'The last point is the ' + (step.isPart() ? 'longest ' + step.timeName() : 'slowest') +
            ' of the ' + (step.kind === 'response' ? plimsoll.words.all('writes') : step.whose()) +
            ' that were in flight or not issued when the step ended: ' + format.time(end) + '.';
    return new plimsoll.Chart({
      ...timeOptions(step, range),
      name: 'Latency over time, ' + (scope === null ? 'cluster' : model.nameOf(scope)),
      nothing: 'No data.',
      x,
      xText: (_, at) => (at < rows.length ? second(step, series.second[rows[at]], series.length_s[rows[at]]) : END),
      series: lines,
      floor,
      yTitle: step.timeName() + ' of the ' + step.whose() + ' in each ' + step.rowName,
      yTick: format.shortTime,
      yText: format.time,
      log,
      height: 280,
      underlays: behind(step, scope, heat),
      thinned: series === null ? null : thinned(step, [{scope, series}]),
      remark,
    });
  };

  // What the chart of throughput can show: [{name, value: {of: [{scope, operation}], byOperation: true where the lines
  // are operations of one scope, otherwise they are scopes, stacked}}].
  const viewsOf = (step) => {
    const {writes, reads} = model.OPERATIONS;
    const views = [];
    const add = (name, value) => views.push({name, value});
    const scopesOf = (scopes, operation) => scopes.map((scope) => ({scope, operation}));
    const both = (scope) =>
        ({of: [writes, reads].map((operation) => ({scope, operation})), byOperation: true, stacked: true});
    if (step.reads) {
      if (step.cluster !== null) add('writes and reads, stacked', both(step.cluster));
      for (const host of step.hosts.length > 1 ? step.hosts : []) add('writes and reads of ' + host.host, both(host));
    }
    for (const operation of step.reads ? [writes, reads] : [writes]) {
      const whose = step.reads ? operation.name + ' of ' : '';
      add(whose + 'hosts, stacked', {of: scopesOf(step.hosts, operation), stacked: true});
      if (step.storages.length > 1)
        add(whose + 'storages, stacked', {of: scopesOf(step.storages, operation), stacked: true});
    }
    // The reads have no series of single queue managers.
    for (const host of step.hosts) {
      const qms = step.qms.get(host.host);
      if (qms.length < 2) continue;
      add((step.reads ? 'writes of ' : '') + 'queue managers of ' + host.host,
          {of: scopesOf(qms, writes), stacked: false});
    }
    return views;
  };

  const throughputSection = (step, range) => {
    const {place, put, chart} = slot();
    const views = viewsOf(step);
    let view = views[0].value;
    let column = 'writes';
    const show = () => put(throughput(step, range, view, column));
    const controls = el('div', {class: 'controls'}, views.length > 1 ? picker('Show', views, (value) => {
                          view = value;
                          show();
                        }) : null, toggle('MB/s', false, (on) => {
                          column = on ? 'bytes' : 'writes';
                          show();
                        }));
    show();
    const element = plimsoll.section('throughput', 'Throughput over time', controls, place, plimsoll.stalls.key(step));
    return {element, chart};
  };

  const latencySection = (step, range) => {
    const {place, put, chart} = slot();
    const scopes = [step.cluster, ...(step.storages.length > 1 ? step.storages : [])].filter((scope) => scope !== null);
    for (const host of step.hosts) {
      const qms = step.qms.get(host.host);
      // An operation beside the main one has no series of single queue managers.
      scopes.push(host, ...(qms.length > 1 && step.isMain() ? qms : []));
    }
    let scope = scopes.length > 0 ? scopes[0] : null;
    let log = true;
    let heat = false;
    const show = () => {
      put(latency(step, range, scope, log, heat));
      chart().setFloor(heat);
    };
    const heatSwitch = step.times.seconds ? toggle('Heat map', heat, (on) => {
      heat = on;
      chart().setUnderlays(behind(step, scope, heat));
      chart().setFloor(heat);
    }) : null;
    const controls = el(
        'div', {class: 'controls'},
        scopes.length > 1 ? picker('Scope', scopes.map((one) => ({name: model.nameOf(one), value: one})), (value) => {
          scope = value;
          // The distribution of each second is known for the cluster alone.
          if (heatSwitch !== null) heatSwitch.disabled = scope.kind !== 'cluster';
          show();
        }) : null, toggle('Log axis', log, (on) => {
          log = on;
          chart().setLog(on);
        }), heatSwitch);
    show();
    return {
      element: plimsoll.section('latency', 'Latency over time', controls, place, plimsoll.stalls.key(step)),
      chart
    };
  };

  return {timeRange, timeOptions, throughputSection, latencySection};
})();
