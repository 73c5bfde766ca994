// What the terms of statistics, storage and this tool mean: explained where the pointer or the keyboard is.
'use strict';

plimsoll.TERMS = {
  // Figures; those of the tables come from the list of their columns (columns.js).
  'QM': 'queue manager: one writer with a log of its own',
  'stalls': 'times in which a write was in flight or overdue for longer than the threshold (--stall)',
  'Jain\u2019s index':
      '(\u03a3x)\u00b2 / (n\u03a3x\u00b2) of the writes per second: 1 if all wrote alike, 1/n if only ' +
      'one of n wrote',
  'SNIA\u2019s rule':
      'of the Storage Networking Industry Association\u2019s performance test specification: over five ' +
      'equal periods the range of IO/s is at most 20 % of their average, and the line fitted through them ' +
      'changes by at most 10 %',
  'Start skew': 'time between the first and the last writer\u2019s first write',
  '\u00b1': 'bound of the clock error: the true value lies within it',
  'Extent': 'one preallocated file of a queue manager\u2019s log',
  'Extents per QM': 'the preallocated files of a queue manager\u2019s log, written in a circle',
  'O_DIRECT': 'writes bypass the kernel\u2019s page cache',
  'dsync': 'O_DSYNC: a write returns once its data are on stable storage',
  // Load and clocks.
  'CPU wait':
      'share of the time in which a writer was ready to run and had no CPU; part of it is in the latencies, and ' +
      'it is not the storage\u2019s',
  'Max scheduling delay':
      'of the recorder, the agent\u2019s thread that collects the writers\u2019 results every few ' +
      'milliseconds: how late the operating system let it run',
  'Suspended':
      'time in which the recorder, the agent\u2019s thread that collects results, was due and did not run at all',
  'Suspensions': 'how often the agent did not run for a while: a paused virtual machine, no CPU, a stopped process',
  'Queue time': 'average time for which an NFS operation waited in the client to be sent',
  'Round trip': 'average time from sending to the answer: network and server',
  'Execute': 'average time of the whole NFS operation: queue time, round trip, and the client\u2019s own work',
  'Retransmitted': 'NFS operations that were sent again',
  'Offset': 'the host\u2019s monotonic clock minus the controller\u2019s',
  'Drift': 'how fast the host\u2019s clock gains on the controller\u2019s; 1 ppm is 1 \u00b5s a second',
  'Steps': 'how often the clock was set while the run lasted',
  // Statistics.
  'adjusted p':
      'how often chance alone would produce such a difference somewhere in the whole comparison (Holm\u2019s ' +
      'method)',
  '95 % interval': 'the ratios that these runs do not contradict, for this row by itself',
  'Holm':
      'Holm\u2019s method adjusts p-values for the number of tests, so that at most 5 of 100 comparisons of equal ' +
      'systems report any difference',
  'studentised': 'divided by its own standard error, so that uneven scatter does not make the intervals too narrow',
  'autocorrelation': 'how much a second resembles the one before it: 0 not at all, 1 completely',
  'resampled':
      'drawn again at random from what was measured (bootstrap), to see how much chance alone changes a figure',
  'Welch\'s t-test': 'compares two averages whose scatter may differ',
  'Student\'s t-test': 'compares two averages whose scatter is assumed to be the same',
  'geometric mean': 'the n-th root of the product of n figures, which is fair to ratios',
  'block, s': 'length of the runs of neighbouring seconds that are drawn together when seconds are resampled',
  'independent seconds': 'so many seconds that do not depend on one another would show as much',
  // Drills.
  'poller': 'an independent process that tries the lock every few milliseconds, to see when the storage releases it',
  'epoch': 'number of the active instance that wrote a page; each takeover raises it by one',
  'checkpoint': 'up to here the log needs no replay',
  'Torn': 'pages of which only a part is there',
  'Misplaced': 'pages that lie where another one should',
  'Overwritten': 'acknowledged pages that an older instance wrote over',
  'Split brain': 'two instances held the lock, or wrote, at the same time',
};

// A word with its meaning: shown where the pointer rests, and below it while it has the focus of keyboard or finger.
plimsoll.term = (word, help = plimsoll.TERMS[word]) => {
  const show = () => {
    const box = element.getBoundingClientRect();
    const tip = plimsoll.tip();
    tip.textContent = help;
    tip.hidden = false;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = Math.max(8, Math.min(box.left, room)) + window.scrollX + 'px';
    tip.style.top = box.bottom + window.scrollY + 4 + 'px';
  };
  const hide = () => {
    plimsoll.tip().hidden = true;
  };
  const element = plimsoll.el(
      'abbr', {
        class: 'term',
        tabindex: 0,
        title: help,
        focus: show,
        blur: hide,
        keydown: (event) => {
          if (event.key === 'Escape') hide();
        }
      },
      word);
  return element;
};

// The one element that shows a meaning.
plimsoll.tip = () => {
  let tip = document.getElementById('tip');
  if (tip === null) {
    tip = plimsoll.el('div', {id: 'tip', role: 'tooltip', hidden: true});
    document.body.append(tip);
  }
  return tip;
};

// A sentence, as text and elements, in which the first occurrence of each of these terms explains itself.
plimsoll.explain = (text, words) => {
  const parts = [];
  let rest = text;
  let left = [...words];
  while (left.length > 0) {
    const found = left.map((word) => ({word, at: rest.indexOf(word)})).filter((one) => one.at >= 0);
    if (found.length === 0) break;
    const {word, at} = found.reduce((a, b) => (b.at < a.at ? b : a));
    parts.push(rest.slice(0, at), plimsoll.term(word));
    rest = rest.slice(at + word.length);
    left = left.filter((other) => other !== word);
  }
  return [...parts, rest];
};
