// The report as the page's parts want it: steps, scopes, series in numbers.
'use strict';

// The kinds of run with a section of their own, in the order of their parts on the page; the script of each adds it:
// - of: whether a report is of the kind; title
// - sections: its parts of the page as {elements, charts, redraw}, the latter two where it has them; null: it has no
// part
// - where it has them: answer, above the criteria; answerStep, shown first; sheet, what the printed sheet has of it;
//   stepName; stepTitle, null where it is that of a log run
plimsoll.kinds = [];
plimsoll.kindOf = (report) => plimsoll.kinds.find((kind) => kind.of(report)) || {title: 'Run'};

plimsoll.model = (() => {
  const NS_PER_S = 1e9;
  // Name of the reads beside writes in the report.
  const READ = 'read';
  // Names and colours of the operations of a step that reads and writes; distinct with any kind of colour blindness.
  const OPERATIONS = {writes: {name: 'writes', color: 's1'}, reads: {name: 'reads', color: 's2'}};
  const COLUMNS = ['second', 'writes', 'bytes', 'latency_sum_ns', 'latency_max_ns', 'p50_ns', 'p99_ns', 'p99_9_ns'];

  // Unpacks a series, with the length of each row and whether it is the closing one. `kept`: which rows are left of it
  // (THINNED_TOGETHER). `rowSeconds`: see Step.
  const readSeries = (packed, blockSize, kept, rowSeconds) => {
    const series = {...packed, kept};
    for (const name of COLUMNS) {
      if (name in packed) series[name] = plimsoll.unpack(packed[name]);
    }
    series.bytes = series.bytes || series.writes.map((writes) => writes * blockSize);
    series.length_s = series.second.map(() => rowSeconds);
    series.closing = series.second.map(() => false);
    for (const row of packed.irregular) {
      series.length_s[row.row] = row.length_ns / NS_PER_S;
      series.closing[row.row] = row.closing;
    }
    series.thinned = series.second.length < packed.of;
    return series;
  };

  // Makes a function that works out its value once.
  const once = (make) => {
    let value;
    let made = false;
    return () => {
      if (!made) value = make();
      made = true;
      return value;
    };
  };

  const key = (kind, host, qm, storage) =>
      JSON.stringify([kind, host, kind === 'qm' ? qm : 0, kind === 'storage' ? storage : 0]);

  // The highest value of the bucket that begins there: 128 buckets for each power of two, below 128 ns one each.
  const bucketEnd = (from) => from + 2 ** Math.max(Math.floor(Math.log2(Math.max(from, 1))) - 7, 0) - 1;

  // The load that a sweep gives to a step: ["100 writes/s per queue manager", "2 queue managers per host"].
  const loadParts = (step) => {
    const {format} = plimsoll;
    const parts = [];
    if (step.purpose) return parts;
    if (step.rate_per_second > 0) {
      parts.push(format.targetRate(step.rate_per_second) + plimsoll.words.all(' writes/s per queue manager'));
    }
    if (step.rate_per_second === 0) parts.push('closed loop');
    if (step.queue_managers) parts.push(format.plural(step.queue_managers, 'queue manager') + ' per host');
    return parts;
  };
  // The size of a step's blocks; 0: they differ.
  const blockText = (bytes) => (bytes > 0 ? plimsoll.format.size(bytes) : 'mixed');
  // "64 KiB", in a sweep with the load.
  const loadName = (step) => [blockText(step.block_size_bytes), ...loadParts(step)].join(', ');

  // One step: its message of the report, and what was packed beside it.
  class Step {
    constructor(report, step, packed) {
      Object.assign(this, {report, step, packed});
      this.measured_s = step.measured_ns / NS_PER_S;
      // A row of a series is a second; or a minute, where the step was so long that its later seconds have no
      // percentiles.
      this.rowSeconds = packed.row_seconds || 1;
      this.rowName = this.rowSeconds > 1 ? 'minute' : 'second';
      // What was measured beside the main operation: reads, and the parts of a write.
      this.operations = step.operations || [];
      this.reads = this.operations.find((one) => one.name === READ) || null;
      // Operations with a throughput of their own: calls of a watched program, and commits.
      this.calls = this.operations.filter((one) => one !== this.reads && one.scopes.some((scope) => scope.throughput));
      this.parts = this.operations.filter((one) => one !== this.reads && !this.calls.includes(one));
      // Where there are response times they are what callers felt. An operation has the name that the report gives it.
      this.kinds = [...(packed.response ? ['response'] : []), 'service', ...this.operations.map((one) => one.name)];
      this.unpackedDistributions = new Map();
      this.choose(this.kinds[0]);
      this.cluster = step.scopes.find((scope) => scope.kind === 'cluster') || null;
      this.hosts = step.scopes.filter((scope) => scope.kind === 'host');
      this.storages = step.scopes.filter((scope) => scope.kind === 'storage');
      this.qms = new Map(this.hosts.map((scope) => [scope.host, []]));
      for (const scope of step.scopes) {
        if (scope.kind === 'qm' && this.qms.has(scope.host)) this.qms.get(scope.host).push(scope);
      }
      // Where the last row ends: the closing row's writes may have lasted longer than the step.
      this.end_s = Math.max(this.measured_s, 0.001);
    }

    // Chooses which times series, distributions and latencies are: 'response', 'service', or an operation's name.
    choose(kind) {
      this.kind = kind;
      this.times = this.timesOf(kind);
      this.series = this.readAll(this.times);
      // Throughput is always that of the writes, and that of the reads beside them: a part counts no bytes. An
      // operation beside the main one has no series of single queue managers.
      this.writeSeries = this.isMain() ? this.series : this.readAll(this.packed);
      this.readSeries = this.reads && (kind === READ ? this.series : this.readAll(this.timesOf(READ)));
    }

    // Whether the chosen times are those of the main operation: the write, or the read where all operations read.
    isMain() {
      return this.operations.every((one) => one.name !== this.kind);
    }

    // Whether the chosen times are those of a part of the writes.
    isPart() {
      return this.parts.some((part) => part.name === this.kind);
    }

    // The packed times of a kind.
    timesOf(kind) {
      const at = this.operations.findIndex((one) => one.name === kind);
      if (at >= 0) return this.packed.operations[at];
      return kind === 'response' ? this.packed.response : this.packed;
    }

    // The series of these times by scope, each a function that unpacks it.
    readAll(times) {
      return new Map(times.series.map(
          (one) =>
              [key(one.kind, one.host, one.qm, one.storage),
               once(() => readSeries(one, this.step.block_size_bytes, times.kept, this.rowSeconds))]));
    }

    timeName(kind = this.kind) {
      return (kind === READ ? 'service' : kind) + ' time';
    }

    // Operations that the times of a kind are of: "writes" or "reads".
    whose(kind = this.kind) {
      return kind === READ ? 'reads' : plimsoll.words.main('writes');
    }

    // A kind of times as it can be chosen: "service time", where the step reads and writes "service time of the reads".
    kindTitle(kind) {
      return this.timeName(kind) + (this.reads ? ' of the ' + this.whose(kind) : '');
    }

    // What the report has of an operation in a scope; undefined where it has nothing.
    figuresOf(operation, scope) {
      return operation.scopes.find(
          (one) => one.kind === scope.kind && one.host === scope.host && one.qm === scope.qm &&
              one.storage === scope.storage);
    }

    // The reads of a scope as the scope has its writes, without what is not known of them; null where there are none.
    readsOf(scope) {
      return this.reads && scope ? this.wholeOf(this.reads, scope) : null;
    }

    // Figures of an operation with a throughput of its own, in the form of the writes'.
    wholeOf(operation, scope) {
      const own = this.figuresOf(operation, scope);
      if (!own || !own.throughput) return null;
      const {count: writes, bytes, iops, mb_per_second} = own.throughput;
      const {kind, host, qm, storage, latency, slowest, response} = own;
      const rate = response ? {rate: {response}} : {};
      return {kind, host, qm, storage, writes, bytes, iops, mb_per_second, latency, slowest, ...rate};
    }

    // The scope's figures of a kind of times; undefined where it has none.
    latencyOf(scope, kind) {
      const operation = this.operations.find((one) => one.name === kind);
      if (operation) return this.figuresOf(operation, scope)?.latency;
      return kind === 'response' && scope.rate ? scope.rate.response : scope.latency;
    }

    // The slowest writes by the chosen times; by service time where the agents report no others.
    slowest() {
      const {response, slowest} = this.step;
      return this.kind === 'response' && response.slowest.length > 0 ? response.slowest : slowest;
    }

    // The series of a scope; null where there is none. The only QM of a host is the host, the only storage the cluster.
    seriesOf(scope, all = this.series) {
      const onlyQm = scope.kind === 'qm' && (this.qms.get(scope.host) || []).length === 1;
      const onlyStorage = scope.kind === 'storage' && this.storages.length === 1;
      const found = all.get(key(scope.kind, scope.host, scope.qm, scope.storage)) ||
          (onlyQm && all.get(key('host', scope.host, 0, 0))) || (onlyStorage && all.get(key('cluster', '', 0, 0)));
      return found ? found() : null;
    }

    // How latencies of a kind are distributed: [{kind, host, storage, to_ns: highest value of each bucket, count,
    // max_ns: the slowest write}].
    distributions(kind = this.kind) {
      if (!this.unpackedDistributions.has(kind)) {
        this.unpackedDistributions.set(kind, this.timesOf(kind).distributions.map((one) => {
          const scope = this.step.scopes.find(
              (other) => key(other.kind, other.host, 0, other.storage) === key(one.kind, one.host, 0, one.storage));
          const to = plimsoll.unpack(one.from_ns).map(bucketEnd);
          const latency = scope && this.latencyOf(scope, kind);
          const max = latency ? latency.max_ns : to[to.length - 1];
          return {...one, to_ns: to, count: plimsoll.unpack(one.count), max_ns: max};
        }));
      }
      return this.unpackedDistributions.get(kind);
    }

    // "Step 2 of 4: 64 KiB, repetition 2", in a sweep "Step 2 of 4: 64 KiB, 100 writes/s per queue manager".
    title() {
      const {report, step} = this;
      const {stepTitle} = plimsoll.kindOf(report);
      const ofKind = stepTitle ? stepTitle(report, step) : null;
      if (ofKind !== null) return ofKind;
      const repeat = Math.max(report.plan ? report.plan.repeat || 1 : 1, 1);
      const {sweep} = report.plan || {};
      const loads = sweep ? Math.max(sweep.rate_per_second.length, 1) * Math.max(sweep.qm.length, 1) : 1;
      const sizes = report.plan ? report.plan.block_size_bytes.length : 0;
      const oneStep = report.plan && (report.plan.block_size_mix || report.plan.group_commit);
      const planned = repeat * loads * (oneStep ? 1 : sizes);
      const repetition = repeat > 1 ? ', repetition ' + step.repetition : '';
      return 'Step ' + step.number + ' of ' + Math.max(planned, step.number) + ': ' + loadName(step) + repetition;
    }

    // Which unit suits the step's latencies: {ns, name}. Other operations are shown in that of the main one.
    unit() {
      const latency = this.cluster && this.latencyOf(this.cluster, this.isMain() ? this.kind : 'service');
      const fast = latency !== null && latency.count > 0 && latency.p50_ns < 100000;
      return fast ? {ns: 1e3, name: 'µs'} : {ns: 1e6, name: 'ms'};
    }
  }

  // Names of the queue managers of a placement, by "host/number".
  const names = new Map();
  // "beta/qm2", or "beta/PAYMENTS".
  const writerName = (host, qm) => host + '/' + (names.get(host + '/' + qm) || 'qm' + qm);

  // What a scope is called.
  const nameOf = (scope) => {
    if (scope.kind === 'cluster') return 'cluster';
    if (scope.kind === 'storage') return 'storage ' + scope.storage;
    return scope.kind === 'host' ? scope.host : writerName(scope.host, scope.qm);
  };

  // A percentile of a LatencyReport for people; a dash where it is known only roughly.
  const percentile = (latency, name, text) =>
      (plimsoll.columns.isKnown(latency, name) ? text(latency[name + '_ns']) : plimsoll.format.DASH);

  // The series' colours and dashes, by number: eight colours, then again with dashes.
  const color = (number) => 's' + (number % 8 + 1);
  const dash = (number) => [null, [6, 3], [2, 2], [8, 3, 2, 3]][Math.floor(number / 8) % 4];

  // The name of an operation of a step that reads and writes, with its colour in the charts.
  const operationMark = ({name, color}) =>
      plimsoll.el('span', {class: 'operation'}, plimsoll.swatch({color}, true), name);

  const read = () => {
    const {report, cause, configuration, steps, ha, digest} = plimsoll.readData();
    plimsoll.useWordsOf(report);
    if (report.verdict) report.verdict.cause = cause || '';
    for (const host of report.hosts) {
      (host.queue_managers || []).forEach((qm, at) => names.set(host.label + '/' + (at + 1), qm.name));
    }
    return {
      report,
      configuration,
      digest,
      ha: ha || null,
      steps: report.steps.map((step, at) => new Step(report, step, steps[at]))
    };
  };

  // A host's directories under test, each with its name in the plan: one, or where queue managers have directories of
  // their own, each of them.
  const mounts = (host) => {
    const work = host.workload || {};
    const dirs = [...new Set(work.qm_dirs || [])];
    const known = [host.mount || {}, ...(host.more_mounts || [])];
    return known.map((mount, i) => ({...mount, dir: dirs[i] || (i === 0 && work.dir) || mount.directory || ''}));
  };

  // How many notes there are, with those that a note "... and 1,234 more like it." stands for.
  const noteCount = (report) => report.notes.reduce((count, note) => {
    const more = note.match(/^\.\.\. and ([\d,]+) more like it\.$/);
    return count + (more === null ? 1 : Number(more[1].replaceAll(',', '')));
  }, 0);

  return {
    OPERATIONS,
    read,
    loadName,
    nameOf,
    operationMark,
    writerName,
    mounts,
    blockText,
    percentile,
    color,
    dash,
    noteCount,
    NS_PER_S,
  };
})();
