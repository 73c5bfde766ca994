// Numbers, times and moments for people; the same rules as those of the text report (controller/render/plain_text.h).
'use strict';

plimsoll.format = (() => {
  const DASH = '\u2013';
  const NS_PER_MS = 1e6;
  const NS_PER_S = 1e9;

  // 1234567.891 with two decimals is "1,234,567.89". Rounded as printf does, so that every output shows the same
  // digits: to the nearest, and to an even digit where a number lies exactly in the middle.
  const fixed = (value, decimals) => {
    if (value === null || value === undefined || !Number.isFinite(value)) return DASH;
    const size = Math.abs(value);
    const scaled = size * 10 ** decimals;
    const below = Math.floor(scaled);
    const inTheMiddle = scaled - below === 0.5 && Number.isInteger(size * 2 ** (decimals + 1));
    const digits = (inTheMiddle && below % 2 === 0 ? below / 10 ** decimals : size).toFixed(decimals);
    const sign = value < 0 && /[1-9]/.test(digits) ? '-' : '';
    const [whole, fraction] = digits.split('.');
    return sign + whole.replace(/\B(?=(\d{3})+$)/g, ',') + (decimals > 0 ? '.' + fraction : '');
  };

  const count = (value) => fixed(value, 0);

  // Writes per second: whole from 100 on, with two decimals below.
  const rate = (perSecond) => fixed(perSecond, perSecond < 100 ? 2 : 0);

  // A rate that was given: "12.5", "503.1", "1,538", "1,000,000".
  const targetRate = (perSecond) =>
      (perSecond < 1000      ? String(Number(perSecond.toPrecision(6))) :
           perSecond < 10000 ? fixed(perSecond, (String(Number(perSecond.toPrecision(6))).split('.')[1] || '').length) :
                               fixed(perSecond, 0));

  // A latency in a unit of so many nanoseconds, with about five digits: "0.912", "14.211", "120.41", "71,902".
  const inUnit = (ns, unitNs) => {
    const value = ns / unitNs;
    return fixed(value, value < 100 ? 3 : value < 1000 ? 2 : value < 10000 ? 1 : 0);
  };

  // The unit for times that are read beside one another, as {ns, name}: that of the longest, or the next smaller one
  // where the shortest would be too small in it.
  const timeUnit = (times) => {
    const units = [[1, 'ns'], [1e3, 'µs'], [1e6, 'ms'], [1e9, 's']];
    const sizes = times.map(Math.abs).filter((size) => size > 0);
    const longest = Math.max(1, ...sizes);
    let at = units.filter(([ns]) => ns <= longest).length - 1;
    if (at > 0 && Math.min(...sizes) < 0.01 * units[at][0]) --at;
    return {ns: units[at][0], name: units[at][1]};
  };

  // A time in the unit that suits it: "4.0 µs", "1.204 ms", "-3.200 s".
  const time = (ns) => {
    if (ns === null || ns === undefined || !Number.isFinite(ns)) return DASH;
    const size = Math.abs(ns);
    if (size < 1e3) return fixed(ns, 0) + ' ns';
    if (size < 1e4) return fixed(ns / 1e3, 1) + ' µs';
    if (size < 1e6) return fixed(ns / 1e3, 0) + ' µs';
    if (size < 1e9) return fixed(ns / 1e6, size < 1e8 ? 3 : 1) + ' ms';
    return fixed(ns / 1e9, 3) + ' s';
  };

  // A time for an axis, as short as it can be: "400 µs", "1 ms", "2.5 s".
  const shortTime = (ns) => {
    const units = [[1, 'ns'], [1e3, 'µs'], [1e6, 'ms'], [1e9, 's']];
    const [size, name] = units.filter(([unit]) => Math.abs(ns) >= unit * 0.9999).pop() || units[0];
    return parseFloat((ns / size).toPrecision(4)) + ' ' + name;
  };

  // For an axis: 1500 is "1.5k".
  const shortCount = (value) => {
    const units = [[1, ''], [1e3, 'k'], [1e6, 'M'], [1e9, 'G']];
    const [size, name] = units.filter(([unit]) => Math.abs(value) >= unit * 0.9999).pop() || units[0];
    return parseFloat((value / size).toPrecision(4)) + name;
  };

  // A size that people know by its power of two: 4096 is "4 KiB"; others in bytes.
  const size = (bytes) => {
    const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    let value = bytes;
    while (unit + 1 < units.length && value >= 1024 && value % 1024 === 0) {
      value /= 1024;
      ++unit;
    }
    return count(value) + ' ' + units[unit];
  };

  // An amount that need not be exact: "1.82 TB".
  const amount = (bytes) => {
    const units = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];
    let unit = 0;
    let value = bytes;
    while (unit + 1 < units.length && value >= 1000) {
      value /= 1000;
      ++unit;
    }
    return (unit === 0 ? count(value) : parseFloat(value.toPrecision(3))) + ' ' + units[unit];
  };

  // A length as a plan has it: "30 s", "2 min", "1 h 30 min", "250 ms".
  const length = (ns) => {
    if (ns < NS_PER_S) return shortTime(ns);
    const seconds = Math.round(ns / NS_PER_MS) / 1000;
    if (seconds < 120) return parseFloat(seconds.toFixed(3)) + ' s';
    const parts = [];
    if (seconds >= 3600) parts.push(Math.floor(seconds / 3600) + ' h');
    if (Math.floor(seconds / 60) % 60 > 0) parts.push(Math.floor(seconds / 60) % 60 + ' min');
    const rest = parseFloat((seconds % 60).toFixed(3));
    if (rest > 0) parts.push(rest + ' s');
    return parts.join(' ');
  };

  // Seconds as a clock counts them: "0:07", "12:30", "1:00:05"; with so many decimals.
  const elapsed = (seconds, decimals = 0) => {
    const sign = seconds < 0 ? '-' : '';
    const scale = 10 ** decimals;
    const total = Math.round(Math.abs(seconds) * scale);
    const whole = Math.floor(total / scale);
    const pad = (value) => String(value).padStart(2, '0');
    const fraction = decimals > 0 ? '.' + String(total % scale).padStart(decimals, '0') : '';
    const hours = Math.floor(whole / 3600);
    const minutes = Math.floor(whole / 60) % 60;
    return sign + (hours > 0 ? hours + ':' + pad(minutes) : minutes) + ':' + pad(whole % 60) + fraction;
  };

  // "19:20:32.114" of an RFC 3339 moment in UTC.
  const timeOfDay = (moment, decimals = 3) =>
      moment ? moment.slice(11, 19) + (decimals > 0 ? moment.slice(19, 20 + decimals) : '') : DASH;

  // "2026-11-20 19:20:11 UTC".
  const dateTime = (moment) => (moment ? moment.slice(0, 10) + ' ' + moment.slice(11, 19) + ' UTC' : DASH);

  // The moment that lies so many seconds after another, as a time of day in UTC.
  const timeAfter = (moment, seconds, decimals = 0) => {
    const milliseconds =
        Date.parse(moment.slice(0, 19) + 'Z') + Number('0' + moment.slice(19, 29).replace('Z', '')) * 1e3;
    const at = new Date(Math.round(milliseconds + seconds * 1e3));
    return Number.isFinite(at.getTime()) ? timeOfDay(at.toISOString(), decimals) : DASH;
  };

  // "1 host", "3 hosts".
  const plural = (number, what) => count(number) + ' ' + what + (number === 1 ? '' : 's');

  // These names with at most `room` characters each, cut in the middle, or as near to it as leaves them different, as
  // in the text report (ShortenNames). Where that is not enough, they begin shortly before their first difference;
  // numbered where nothing helps.
  const shortNames = (names, room) => {
    const all = names.map((name) => [...name]);
    const different = new Set(names).size;
    const kept = Math.max(room - 1, 1);
    const cut = (tail) => all.map((name) => (name.length <= room ? name : [
                                              ...name.slice(0, kept - tail), '\u2026', ...name.slice(name.length - tail)
                                            ]).join(''));
    const half = Math.floor(kept / 2);
    for (let moved = 0; moved <= kept; ++moved) {
      for (const tail of [half + moved, half - moved]) {
        if (tail < 0 || tail > kept) continue;
        const found = cut(tail);
        if (new Set(found).size === different) return found;
      }
    }
    const long = all.filter((name) => name.length > room);
    const shared = long[0].findIndex((letter, at) => long.some((name) => name[at] !== letter));
    const from = Math.max(shared - 3, 1);
    const found = all.map((name) => {
      const end = from + Math.max(room - 2, 0);
      return name.length <= room ? name.join('') :
                                   '\u2026' + name.slice(from, end).join('') + (end < name.length ? '\u2026' : '');
    });
    if (new Set(found).size === different) return found;
    return all.map((name, at) => {
      const number = '\u2026#' + (at + 1);
      return name.length <= room ? name.join('') : name.slice(0, Math.max(room - number.length, 0)).join('') + number;
    });
  };

  return {
    DASH,
    fixed,
    count,
    rate,
    targetRate,
    inUnit,
    timeUnit,
    time,
    shortTime,
    shortCount,
    size,
    amount,
    length,
    elapsed,
    timeOfDay,
    dateTime,
    timeAfter,
    plural,
    shortNames,
  };
})();
