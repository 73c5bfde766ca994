// How the cluster's latencies are distributed in each second, or in each minute of a long step, as shades behind the
// lines of the latency chart.
'use strict';

plimsoll.heat = (() => {
  // Buckets of the report are powers of 2^(1/32).
  const PARTS = 32;
  const LEAST_HEIGHT = 3;
  const LEAST_WIDTH = 1;

  // Rows of {second, buckets: [[bucket, count], ...]}, or null where the report has none.
  const read = (step) => {
    const packed = step.times.seconds;
    if (!packed) return null;
    const [second, buckets, bucket, count] =
        ['second', 'buckets', 'bucket', 'count'].map((name) => plimsoll.unpack(packed[name]));
    let at = 0;
    return second.map((from, row) => {
      const start = at;
      at += buckets[row];
      return {second: from, bucket: bucket.slice(start, at), count: count.slice(start, at)};
    });
  };

  // The lowest latency of each second that is known, by second.
  const lowest = (step) => {
    const rows = read(step);
    return rows === null ?
        null :
        new Map(rows.filter((row) => row.bucket.length > 0).map((row) => [row.second, 2 ** (row.bucket[0] / PARTS)]));
  };

  // Adds up the seconds that fall into one column of pixels, and the buckets that fall into one height:
  // [column][height].
  const cells = (rows, seconds, parts) => {
    const columns = new Map();
    for (const row of rows) {
      const column = Math.floor(row.second / seconds);
      if (!columns.has(column)) columns.set(column, new Map());
      const heights = columns.get(column);
      row.bucket.forEach((bucket, at) => {
        const height = Math.floor(bucket / parts);
        heights.set(height, (heights.get(height) || 0) + row.count[at]);
      });
    }
    return columns;
  };

  // Makes a function that draws the shades of what is in sight; null where there is nothing to draw.
  const shade = (step) => {
    const rows = read(step);
    if (rows === null) return null;
    return (context, area, toX, toY) => {
      const perSecond = toX(1) - toX(0);
      const perBucket = toY(1e6) - toY(1e6 * 2 ** (1 / PARTS));
      const seconds = step.rowSeconds * Math.max(1, Math.ceil(LEAST_WIDTH / (perSecond * step.rowSeconds)));
      const parts = Math.max(1, Math.ceil(LEAST_HEIGHT / perBucket));
      const seen =
          rows.filter((row) => toX(row.second + step.rowSeconds) > area.x && toX(row.second) < area.x + area.w);
      const columns = cells(seen, seconds, parts);
      let most = 1;
      for (const heights of columns.values())
        for (const count of heights.values()) most = Math.max(most, count);
      context.save();
      context.beginPath();
      context.rect(area.x, area.y, area.w, area.h);
      context.clip();
      context.fillStyle = plimsoll.token('heat');
      for (const [column, heights] of columns) {
        // On whole pixels, or there were seams.
        const left = Math.round(toX(column * seconds));
        const width = Math.round(toX((column + 1) * seconds)) - left;
        for (const [height, count] of heights) {
          const top = Math.round(toY(2 ** ((height + 1) * parts / PARTS)));
          // By the logarithm: one write among thousands shall be seen.
          context.globalAlpha = 0.12 + 0.68 * Math.log1p(count) / Math.log1p(most);
          context.fillRect(left, top, width, Math.round(toY(2 ** (height * parts / PARTS))) - top);
        }
      }
      context.restore();
    };
  };

  return {lowest, shade};
})();
