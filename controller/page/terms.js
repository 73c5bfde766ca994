// What the terms of statistics, storage and this tool mean: explained where the pointer or the keyboard is.
'use strict';

plimsoll.TERMS = {
  // Figures; those of the tables come from the list of their columns (columns.js).
  'QM': 'queue manager: one writer with its own log',
  'stalls': 'periods in which a write was in flight or overdue for longer than the threshold (--stall)',
  'Jain\u2019s index':
      '(\u03a3x)\u00b2 / (n\u03a3x\u00b2) of the writes per second: 1 if all wrote equally, 1/n if only ' +
      'one of n wrote',
  'SNIA\u2019s rule':
      'from the performance test specification of the Storage Networking Industry Association: over five ' +
      'equal periods, the range of IO/s is at most 20 % of their average, and the fitted line changes by at ' +
      'most 10 %',
  'Start skew': 'time from the first write of the first writer to the first write of the last one',
  '\u00b1': 'bound on the clock error: the true value is within it',
  'Extent': 'one preallocated file of a queue manager\u2019s log',
  'Extents per QM': 'the preallocated files of a queue manager\u2019s log, written in a circular fashion',
  'O_DIRECT': 'writes bypass the kernel\u2019s page cache',
  'dsync': 'O_DSYNC: a write returns once its data are on stable storage',
  'write_call': 'part of the service time: the write\u2019s own system call, which may return before its data are on ' +
      'stable storage',
  'sync': 'part of the service time: the fdatasync after the write call',
  // Load and clocks.
  'CPU wait': 'share of the time in which a writer was ready to run but had no CPU; part of it is included in the ' +
      'latencies, although the storage did not cause it',
  'Max scheduling delay':
      'longest time for which the operating system delayed the recorder, the agent\u2019s thread that collects ' +
      'the writers\u2019 results every few milliseconds',
  'Suspended':
      'total time for which the recorder, the agent\u2019s thread that collects results, was due but did not run',
  'Suspensions': 'how often the agent was suspended: a paused virtual machine, no CPU, a stopped process',
  'Queue time': 'average time for which an NFS operation waited in the client before it was sent',
  'Round trip': 'average time from sending an operation to its reply: network and server',
  'Execute': 'average time of the whole NFS operation: queue time, round trip and processing in the client',
  'Retransmitted': 'NFS operations that the client sent more than once',
  'Offset': 'the host\u2019s monotonic clock minus the controller\u2019s',
  'Drift': 'how much faster the host\u2019s clock runs than the controller\u2019s; 1 ppm is 1 \u00b5s per second',
  'Steps': 'how often the clock was set during the run',
  // Statistics.
  'adjusted p':
      'probability that chance alone would produce such a difference anywhere in the comparison (Holm\u2019s ' +
      'method)',
  '95 % interval': 'ratios that are compatible with these runs, for this row alone',
  'Holm':
      'Holm\u2019s method adjusts p-values for the number of tests, so that at most 5 of 100 comparisons of equal ' +
      'systems report any difference',
  'studentised': 'divided by its own standard error, so that uneven variance does not make the intervals too narrow',
  'autocorrelation': 'how much each second resembles the one before it: 0 not at all, 1 completely',
  'resampled': 'drawn at random from what was measured (bootstrap), to see how much a figure varies by chance alone',
  'Welch\'s t-test': 'compares two averages whose variances may differ',
  'Student\'s t-test': 'compares two averages whose variances are assumed to be equal',
  'geometric mean': 'the n-th root of the product of n figures, the proper average of ratios',
  'block, s': 'how many consecutive seconds are drawn together when seconds are resampled',
  'independent seconds': 'the number of uncorrelated seconds that would carry the same information',
  // Drills.
  'poller': 'an independent process that tries the lock every few milliseconds, to see when the storage releases it',
  'epoch': 'number of the active instance that wrote a page; each takeover raises it by one',
  'checkpoint': 'the block up to which the log need not be read again',
  'Torn': 'pages that were only partly written',
  'Misplaced': 'pages found in the place of another page',
  'Overwritten': 'acknowledged pages that an older instance overwrote',
  'Split brain': 'two instances held the lock, or wrote, at the same time',
};

// Functions that make a text about writes one about a report's operations:
// - main(text): about the operations of the main figures, which are reads where all operations read
// - all(text): about writes and reads together, which are "operations" where a run has both
// - onlyReads: whether all operations read
// Where only calls of a program are watched, both are about calls.
plimsoll.wordsOf = ({plan}) => {
  const percent = (plan && plan.read_percent) || 0;
  const watch = plan && plan.watch;
  const onlyCalls = watch && (watch.queue_managers || []).length === 0 && !watch.log_dir;
  const speaker = (words) => (text) => text.replace(/\b(?:a write|write to|writes?|wrote|written)\b/gi, (found) => {
    const word = words[found.toLowerCase()];
    return found[0] === found[0].toUpperCase() ? word[0].toUpperCase() + word.slice(1) : word;
  });
  const same = (text) => text;
  if (onlyCalls) {
    const ofCalls = speaker({
      write: 'call',
      writes: 'calls',
      wrote: 'called',
      written: 'called',
      'a write': 'a call',
      'write to': 'call of'
    });
    return {main: ofCalls, all: ofCalls, onlyReads: false};
  }
  if (percent === 0) return {main: same, all: same, onlyReads: false};
  if (percent < 100) {
    const words = {write: 'operation', writes: 'operations', wrote: 'did', written: 'transferred'};
    return {main: same, all: speaker({...words, 'a write': 'an operation', 'write to': 'access'}), onlyReads: false};
  }
  const words = {write: 'read', writes: 'reads', wrote: 'read', written: 'read'};
  const ofReads = speaker({...words, 'a write': 'a read', 'write to': 'read from'});
  return {main: ofReads, all: ofReads, onlyReads: true};
};

// Until useWordsOf is called, the page speaks of writes.
plimsoll.words = plimsoll.wordsOf({});

// Makes the page's texts and the explanations of terms speak of a report's operations.
plimsoll.useWordsOf = (report) => {
  plimsoll.words = plimsoll.wordsOf(report);
  const {main, all} = plimsoll.words;
  const ofWritesAlone = ['dsync', 'write_call', 'sync'];
  const ofAll = ['stalls', 'O_DIRECT', ...plimsoll.columns.titles];
  for (const [name, help] of Object.entries(plimsoll.TERMS)) {
    if (!ofWritesAlone.includes(name)) plimsoll.TERMS[name] = (ofAll.includes(name) ? all : main)(help);
  }
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
