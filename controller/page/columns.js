// The columns of the tables of figures, from the list that the text report and CSV are made of
// (controller/render/columns.h): headings, what they mean, and where a figure is in the report.
'use strict';

plimsoll.columns = (() => {
  const {format} = plimsoll;
  const groups = JSON.parse(document.getElementById('columns').textContent);
  const explained = Object.values(groups).flat().filter((column) => column.help);
  for (const {title, help} of explained) plimsoll.TERMS[title] = help;

  const messageOf = (scope, path) =>
      (path === '' ? scope : path.split('.').reduce((message, name) => message && message[name], scope));

  // Whether a message has the figure, by the name of its field with or without its unit: not where nothing was
  // measured, nor a percentile that is known only roughly.
  const isKnown = (message, field) => {
    if (!message) return false;
    if ('thin' in message) {
      const measured = 'count' in message ? message.count : message.max_ns;
      return measured > 0 && !message.thin.includes(field.replace(/_ns$/, ''));
    }
    return !('averaged_seconds' in message) || message.seconds > 0;
  };

  // The time between writes includes that of reads beside them, which a scope has as `reading_ns`.
  const idle = (scope) => {
    const {latency, time_between_writes_ns: between, reading_ns: reading = 0} = scope;
    const all = latency.sum_ns + between;
    return all > 0 ? format.fixed(100 * (between - reading) / all, 2) : format.DASH;
  };

  // `time`: how a latency is spelled; for plimsoll.table, which has a unit for all, itself.
  const cell = (column, scope, time) => {
    const message = messageOf(scope, column.in);
    if (!isKnown(message, column.field)) return format.DASH;
    const value = message[column.field];
    switch (column.format) {
      case 'count':
        return format.count(value);
      case 'rate':
        return format.rate(value);
      case 'throughput':
        return format.fixed(value, 2);
      case 'megabytes':
        return format.fixed(value / 1e6, 2);
      case 'latency':
        return time(value);
      case 'idle':
        return idle(message);
      default:
        return value ? 'held' : 'missed';
    }
  };

  // Columns for plimsoll.table, and the cells of a scope's row.
  const table = (columns) => ({
    heads: columns.map((column) => ({
                         title: plimsoll.words.all(column.title),
                         help: column.help && plimsoll.words.all(column.help),
                         text: column.format === 'held',
                         time: column.format === 'latency' ? 'latency' : null
                       })),
    cells: (scope, time) => columns.map((column) => cell(column, scope, time)),
  });

  return {
    isKnown,
    // Titles of the columns that plimsoll.TERMS explains.
    titles: explained.map((column) => column.title),
    // The columns of a step's tables, by the names of their groups.
    of: (...names) => table(names.flatMap((name) => groups[name].filter((column) => column.table))),
    // The columns of a table with a row for each step.
    summary: (...names) => table(names.flatMap((name) => groups[name].filter((column) => column.summary))),
    // Latencies by second: field, title and percent.
    series: groups.series,
  };
})();
