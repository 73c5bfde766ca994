#include "tests/unit/analysis/journal_builder.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "common/histogram.h"
#include "common/protocol.h"
#include "controller/analysis/analyzer.h"
#include "tests/unit/analysis/frame_cutter.h"

namespace plimsoll::tests {
namespace {

// 2026-11-20 19:20:11 UTC, and the controller's clock then.
constexpr int64_t kWallClockNs = 1'795'202'411 * kNsPerSecond;
constexpr int64_t kRunBeginNs = 500 * kNsPerSecond;
constexpr int64_t kFirstStepNs = kRunBeginNs + 2 * kNsPerSecond;
constexpr int64_t kOneWayNs = 40'000;

bool AnySync(const SimRun& run) {
  return std::any_of(run.hosts.begin(), run.hosts.end(), [](const SimHost& host) { return host.sync_ns != nullptr; });
}

// Sets the figures that the totals of writes and of reads have.
void CountOperations(const SimWriter& operations, uint64_t block_bytes, v1::WriterTotals& totals) {
  for (const SimWrite& operation : operations) {
    const auto latency_ns = static_cast<uint64_t>(operation.latency_ns);
    totals.set_writes(totals.writes() + 1);
    totals.set_bytes(totals.bytes() + block_bytes);
    totals.set_latency_sum_ns(totals.latency_sum_ns() + latency_ns);
    totals.set_latency_max_ns(std::max(totals.latency_max_ns(), latency_ns));
  }
}

// Sets the number of operations that the writer never issued, and their ages.
void SetTotalsNotIssued(const SimHost& host, uint64_t not_issued, v1::WriterTotals& totals) {
  if (not_issued == 0) return;
  Histogram ages;
  ages.RecordN(static_cast<uint64_t>(host.not_issued_age_ns), not_issued);
  totals.set_not_issued(not_issued);
  *totals.mutable_not_issued_age() = ages.ToProto();
}

v1::WriterTotals Totals(const SimRun& run, const SimHost& host, uint32_t step, uint32_t qm, int64_t agent_start_ns) {
  v1::WriterTotals totals;
  totals.set_qm(qm);
  const SimWriter writes = OperationsOf(run, host, step, qm, /*reads=*/false);
  CountOperations(writes, BlockOf(run, host, step, qm), totals);
  SetTotalsNotIssued(host, host.not_issued, totals);
  if (!writes.empty()) totals.set_first_start_ns(agent_start_ns + writes.front().start_ns);
  const SimWriter& all = host.steps[step][qm - 1];
  if (!all.empty()) totals.set_last_end_ns(agent_start_ns + all.back().end_ns());
  return totals;
}

// The reads beside the writer's writes.
v1::WriterTotals ReadTotals(const SimRun& run, const SimHost& host, uint32_t step, uint32_t qm,
                            int64_t agent_start_ns) {
  v1::WriterTotals totals;
  totals.set_qm(qm);
  totals.set_operation(ReadOperation(run));
  const SimWriter reads = OperationsOf(run, host, step, qm, /*reads=*/true);
  CountOperations(reads, BlockOf(run, host, step, qm), totals);
  SetTotalsNotIssued(host, host.reads_not_issued, totals);
  if (!reads.empty()) totals.set_first_start_ns(agent_start_ns + reads.front().start_ns);
  return totals;
}

// The parts of the writer's writes.
void AddPartTotals(const SimRun& run, const SimHost& host, uint32_t step, uint32_t qm, v1::StepDone& done) {
  for (const uint32_t part : {kWriteCallOperation, kSyncOperation}) {
    v1::WriterTotals& totals = *done.add_writers();
    totals.set_qm(qm);
    totals.set_operation(part);
    for (const SimWrite& write : OperationsOf(run, host, step, qm, /*reads=*/false)) {
      totals.set_writes(totals.writes() + 1);
      const int64_t sync_ns = host.sync_ns(totals.writes());
      const auto time_ns = static_cast<uint64_t>(part == kSyncOperation ? sync_ns : write.latency_ns - sync_ns);
      totals.set_latency_sum_ns(totals.latency_sum_ns() + time_ns);
      totals.set_latency_max_ns(std::max(totals.latency_max_ns(), time_ns));
    }
  }
}

class JournalMaker {
 public:
  explicit JournalMaker(const SimRun& run) : run_(run) {}

  std::vector<v1::JournalRecord> Make() {
    Begin();
    for (uint32_t step = 0; step < run_.block_sizes.size(); ++step) MakeStep(step);
    AddProbes(now_ns_);
    now_ns_ += kNsPerMs;
    Next().mutable_run_end()->set_cut_short(run_.cut_short);
    return std::move(records_);
  }

 private:
  v1::JournalRecord& Next() {
    v1::JournalRecord& record = records_.emplace_back();
    record.set_time_ns(now_ns_);
    return record;
  }

  void Begin() {
    v1::RunBegin& begin = *Next().mutable_run_begin();
    begin.set_run_id("7f3a21");
    begin.set_version("0.1.0");
    begin.set_wall_clock_ns(kWallClockNs);
    begin.set_frame_interval_ns(run_.interval_ns);
    begin.set_verdict_rules(run_.verdict_rules);
    v1::TestPlan& plan = *begin.mutable_plan();
    plan.set_duration_ns(run_.duration_ns);
    plan.set_warmup_ns(run_.warmup_ns);
    plan.set_repeat(1);
    plan.set_max_slew_ppm(500);
    if (run_.stall_given) plan.set_stall_ns(run_.stall_ns);
    if (run_.read_percent > 0) plan.set_read_percent(run_.read_percent);
    for (const std::string& criterion : run_.criteria) plan.add_criteria(criterion);
    for (const uint64_t block : run_.block_sizes) {
      plan.add_block_size_bytes(block);
      v1::LogStep& step = *begin.add_steps();
      const auto number = static_cast<size_t>(begin.steps_size()) - 1;
      if (number < run_.down.size() && run_.down[number]) step.set_down_host(*run_.down[number]);
      step.set_block_size_bytes(block);
      step.set_duration_ns(run_.duration_ns);
      step.set_warmup_ns(run_.warmup_ns);
      if (run_.read_percent > 0) step.set_read_percent(run_.read_percent);
      SetOperations(AnySync(run_), step);
    }
    for (const SimHost& host : run_.hosts) {
      for (const v1::LogQueueManager& qm : host.queue_managers) {
        if (&run_.hosts[qm.home()] != &host) continue;
        v1::PlacedQueueManager& placed = *plan.add_placement();
        placed.set_qm(qm.name());
        placed.set_home(host.label + ":7461");
        placed.set_standby(run_.hosts[qm.standby()].label + ":7461");
        placed.set_block_size_bytes(qm.block_size_bytes());
        placed.set_rate_per_second(qm.rate_per_second());
      }
    }
    for (uint32_t host = 0; host < run_.hosts.size(); ++host) Join(host);
    AddProbes(now_ns_);
    for (uint32_t host = 0; host < run_.hosts.size(); ++host) Prepare(host);
  }

  void Join(uint32_t number) {
    const SimHost& host = run_.hosts[number];
    v1::HostJoined& joined = *Next().mutable_host_joined();
    joined.set_host(number);
    joined.set_label(host.label);
    joined.set_address(host.label + ":7461");
    v1::LogWorkload& workload = *joined.mutable_plan()->mutable_log()->mutable_workload();
    workload.set_dir("/mnt/mqlog");
    joined.mutable_plan()->mutable_log()->set_stall_ns(run_.stall_ns);
    workload.set_qm(static_cast<uint32_t>(host.steps.at(0).size()));
    workload.set_file_size_bytes(kExtentBytes);
    workload.set_num_files(3);
    workload.set_file_prefix("S");
    workload.set_sync(host.sync_ns ? v1::SYNC_MODE_FDATASYNC : v1::SYNC_MODE_DSYNC);
    workload.set_direct(v1::DIRECT_MODE_AUTO);
    for (const v1::LogQueueManager& qm : host.queue_managers) {
      *joined.mutable_plan()->mutable_log()->add_queue_managers() = qm;
    }
    if (host.rate_per_second > 0) workload.set_rate_per_second(host.rate_per_second);
    v1::HostDescription& description = *joined.mutable_description();
    description.set_version("0.1.0");
    description.set_kernel("Linux 6.1.0 x86_64");
    description.set_cpus(8);
    description.set_usable_cpus(8);
    description.set_clock_source("tsc");
    description.set_clock_resolution_ns(host.clock_resolution_ns);
    description.set_clock_read_ns(40);
    description.set_time_synchronized(true);
    v1::DirectoryDescription& directory = *description.add_directories();
    directory.set_path("/mnt/mqlog");
    directory.set_fs_type("nfs4");
    directory.set_fs_source("filer1:/mq");
    directory.set_remote("filer1:/mq");
    directory.set_mount_options("hard,wsize=131072");
  }

  void Prepare(uint32_t number) {
    v1::HostPrepared& prepared = *Next().mutable_host_prepared();
    prepared.set_host(number);
    const bool direct = run_.hosts[number].direct;
    prepared.mutable_prepared()->set_direct(direct);
    prepared.mutable_prepared()->set_open_flags(direct ? "O_RDWR|O_DSYNC|O_DIRECT" : "O_RDWR|O_DSYNC");
    prepared.mutable_prepared()->add_visible_hosts(run_.hosts[number].label);
    for (const std::string& label : run_.hosts[number].sees) prepared.mutable_prepared()->add_visible_hosts(label);
  }

  void AddProbes(int64_t from_ns) {
    for (uint32_t number = 0; number < run_.hosts.size(); ++number) {
      v1::ProbeBatch& batch = *Next().mutable_probes();
      batch.set_host(number);
      for (int64_t i = 0; i < 4; ++i) {
        v1::ProbeResult& probe = *batch.add_probes();
        const int64_t sent_ns = from_ns + i * kNsPerMs;
        const SimHost& host = run_.hosts[number];
        const int64_t gain_ns = host.clock_gain_ns ? host.clock_gain_ns(sent_ns + kOneWayNs - kRunBeginNs) : 0;
        const int64_t agent_ns = sent_ns + kOneWayNs + host.clock_ahead_ns + gain_ns;
        probe.set_sent_ns(sent_ns);
        probe.set_agent_received_ns(agent_ns);
        probe.set_agent_sent_ns(agent_ns);
        probe.set_received_ns(sent_ns + 2 * kOneWayNs);
        probe.set_agent_wall_clock_ns(kWallClockNs + sent_ns + kOneWayNs - kRunBeginNs);
      }
    }
    now_ns_ = std::max(now_ns_, from_ns + 5 * kNsPerMs);
  }

  void MakeStep(uint32_t step) {
    now_ns_ = std::max(now_ns_ + kNsPerSecond, kFirstStepNs);
    const int64_t start_ns = now_ns_ + 50 * kNsPerMs;
    const int64_t measured_ns = start_ns + run_.warmup_ns;
    v1::StepBegin& begin = *Next().mutable_step_begin();
    begin.set_step(step);
    begin.set_start_ns(start_ns);
    std::vector<std::vector<FrameCutter>> cutters;
    for (uint32_t number = 0; number < run_.hosts.size(); ++number) {
      const SimHost& host = run_.hosts[number];
      begin.add_host_start_ns(AnyWrites(number, step) ? start_ns + host.clock_ahead_ns : 0);
      std::vector<FrameCutter>& of_host = cutters.emplace_back();
      for (uint32_t qm = 1; qm <= host.steps.at(step).size(); ++qm) {
        if (!Writes(run_, number, step, qm)) continue;
        of_host.emplace_back(run_, host, step, qm, measured_ns + host.clock_ahead_ns);
      }
    }
    const int64_t intervals = (run_.duration_ns + run_.interval_ns - 1) / run_.interval_ns;
    std::vector<int64_t> sampled_seconds(run_.hosts.size());
    std::vector<int64_t> reported_pauses_ns(run_.hosts.size(), -run_.warmup_ns - run_.interval_ns);
    for (int64_t k = FloorDivide(-run_.warmup_ns, run_.interval_ns); k < intervals; ++k) {
      now_ns_ = measured_ns + (k + 1) * run_.interval_ns + 5 * kNsPerMs;
      for (uint32_t number = 0; number < run_.hosts.size(); ++number) {
        const SimHost& host = run_.hosts[number];
        if (!AnyWrites(number, step) || lost_.contains(number)) continue;
        if (host.lost_after_ns && (k + 1) * run_.interval_ns > *host.lost_after_ns) continue;
        const int64_t within = k < 0 ? 0 : k % host.coalesce;
        const bool last = k < 0 || within + 1 == host.coalesce || k + 1 == intervals;
        if (!last) continue;
        v1::HostFrames& frames = *Next().mutable_frames();
        frames.set_host(number);
        for (FrameCutter& cutter : cutters[number]) {
          *frames.add_frames() = cutter.Cut(k - within, static_cast<uint32_t>(within + 1), false);
          for (const v1::Frame& other : cutter.others()) *frames.add_frames() = other;
        }
        const int64_t since_start_ns = (k + 1) * run_.interval_ns + run_.warmup_ns;
        const bool sampled = host.sample && since_start_ns / kNsPerSecond > sampled_seconds[number];
        if (sampled) {
          sampled_seconds[number] = since_start_ns / kNsPerSecond;
          v1::HostSample& sample = *frames.mutable_sample();
          // The recorder cuts the frame, and takes the sample, a little after the second's end.
          const int64_t sampled_ns = since_start_ns + 2 * kNsPerMs;
          sample = host.sample(step, sampled_ns);
          sample.set_step(step);
          sample.set_time_ns(start_ns + sampled_ns + host.clock_ahead_ns);
        }
        // Pauses come with the next sample; a host that tells nothing of its kernel has samples for them alone.
        if (sampled || !host.sample) {
          const int64_t until_ns = (k + 1) * run_.interval_ns;
          AddPauses(step, number, measured_ns, std::exchange(reported_pauses_ns[number], until_ns), until_ns, frames);
        }
      }
      if ((k + 1) * run_.interval_ns % kNsPerSecond == 0) AddProbes(now_ns_);
    }
    for (uint32_t number = 0; number < run_.hosts.size(); ++number) {
      EndHost(step, number, intervals, measured_ns, cutters[number]);
    }
    now_ns_ += kNsPerMs;
    Next().mutable_step_end()->set_step(step);
  }

  // A sample with the pauses that ended in an interval of the step, where there are any.
  void AddPauses(uint32_t step, uint32_t number, int64_t measured_ns, int64_t from_ns, int64_t to_ns,
                 v1::HostFrames& frames) {
    const SimHost& host = run_.hosts[number];
    for (const SimPause& pause : host.pauses) {
      if (pause.step != step || pause.end_ns < from_ns || pause.end_ns >= to_ns) continue;
      frames.mutable_sample()->set_step(step);
      frames.mutable_sample()->set_time_ns(measured_ns + to_ns + host.clock_ahead_ns);
      v1::RecorderPause& told = *frames.mutable_sample()->add_pauses();
      told.set_begin_ns(measured_ns + pause.begin_ns + host.clock_ahead_ns);
      told.set_end_ns(measured_ns + pause.end_ns + host.clock_ahead_ns);
    }
  }

  void EndHost(uint32_t step, uint32_t number, int64_t intervals, int64_t measured_ns,
               std::vector<FrameCutter>& cutters) {
    const SimHost& host = run_.hosts[number];
    if (!AnyWrites(number, step) || lost_.contains(number)) return;
    if (host.lost_after_ns) {
      lost_.insert(number);
      v1::HostLost& lost = *Next().mutable_host_lost();
      lost.set_host(number);
      lost.set_reason("no message for 10 s");
      lost.set_step(static_cast<int32_t>(step));
      return;
    }
    v1::HostFrames frames;
    frames.set_host(number);
    for (FrameCutter& cutter : cutters) {
      const v1::Frame frame = cutter.Cut(intervals, 1, true);
      if (frame.latency().count() == 0 && cutter.others().empty()) continue;
      *frames.add_frames() = frame;
      for (const v1::Frame& other : cutter.others()) *frames.add_frames() = other;
    }
    if (frames.frames_size() > 0) *Next().mutable_frames() = frames;
    v1::HostStepDone& done = *Next().mutable_step_done();
    done.set_host(number);
    done.mutable_done()->set_step(step);
    for (uint32_t qm = 1; qm <= host.steps[step].size(); ++qm) {
      if (!Writes(run_, number, step, qm)) continue;
      const int64_t agent_start_ns = measured_ns + host.clock_ahead_ns;
      *done.mutable_done()->add_writers() = Totals(run_, host, step, qm, agent_start_ns);
      if (ReadOperation(run_) != kMainOperation) {
        *done.mutable_done()->add_writers() = ReadTotals(run_, host, step, qm, agent_start_ns);
      }
      if (host.sync_ns && run_.read_percent < kOnlyReads) AddPartTotals(run_, host, step, qm, *done.mutable_done());
    }
  }

  bool AnyWrites(uint32_t number, uint32_t step) const {
    for (uint32_t qm = 1; qm <= run_.hosts[number].steps.at(step).size(); ++qm) {
      if (Writes(run_, number, step, qm)) return true;
    }
    return false;
  }

  const SimRun& run_;
  std::set<uint32_t> lost_;
  std::vector<v1::JournalRecord> records_;
  int64_t now_ns_ = kRunBeginNs;
};

}  // namespace

bool Writes(const SimRun& run, uint32_t number, uint32_t step, uint32_t qm) {
  const SimHost& host = run.hosts[number];
  if (host.queue_managers.empty()) return true;
  const std::optional<uint32_t> down = step < run.down.size() ? run.down[step] : std::nullopt;
  return HostOf(host.queue_managers[qm - 1], down) == number;
}

uint64_t BlockOf(const SimRun& run, const SimHost& host, uint32_t step, uint32_t qm) {
  return host.queue_managers.empty() ? run.block_sizes[step] : host.queue_managers[qm - 1].block_size_bytes();
}

uint32_t ReadOperation(const SimRun& run) {
  if (run.read_percent == 0 || run.read_percent == kOnlyReads) return kMainOperation;
  return AnySync(run) ? kSyncOperation + 1 : kMainOperation + 1;
}

bool IsRead(const SimRun& run, const SimHost& host, uint64_t number) {
  if (run.read_percent == 0 || run.read_percent == kOnlyReads) return false;
  const uint64_t share = run.read_percent;
  return number <= host.reads_first || number * share / 100 > (number - 1) * share / 100;
}

SimWriter OperationsOf(const SimRun& run, const SimHost& host, uint32_t step, uint32_t qm, bool reads) {
  SimWriter operations;
  uint64_t number = 0;
  for (const SimWrite& operation : host.steps[step][qm - 1]) {
    if (IsRead(run, host, ++number) == reads) operations.push_back(operation);
  }
  return operations;
}

SimWriter ClosedLoop(int64_t duration_ns, int64_t gap_ns, const std::function<int64_t(uint64_t, int64_t)>& latency,
                     int64_t warmup_ns, int64_t first_delay_ns) {
  SimWriter writes;
  for (int64_t start_ns = first_delay_ns - warmup_ns; start_ns < duration_ns;) {
    writes.push_back({start_ns, latency(writes.size() + 1, start_ns)});
    start_ns = writes.back().end_ns() + gap_ns;
  }
  return writes;
}

std::function<int64_t(uint64_t, int64_t)> WithStalls(std::function<int64_t(uint64_t, int64_t)> latency,
                                                     std::vector<SimStall> stalls) {
  return [latency = std::move(latency), stalls = std::move(stalls)](uint64_t number, int64_t start_ns) {
    const int64_t usual_ns = latency(number, start_ns);
    for (const SimStall& stall : stalls) {
      if (start_ns < stall.end_ns && start_ns + usual_ns > stall.begin_ns) return stall.end_ns - start_ns;
    }
    return usual_ns;
  };
}

SimWriter Steady(int64_t duration_ns, int64_t latency_ns, int64_t gap_ns) {
  return ClosedLoop(duration_ns, gap_ns, [latency_ns](uint64_t, int64_t) { return latency_ns; });
}

SimRun TwoHosts(int64_t duration_ns) {
  SimRun run;
  run.duration_ns = duration_ns;
  for (const char* label : {"alpha", "beta"}) {
    SimHost host;
    host.label = label;
    host.steps = {{Steady(duration_ns, 999'000), Steady(duration_ns, 1'999'000)}};
    run.hosts.push_back(host);
  }
  return run;
}

SimRun Placement(int64_t duration_ns) {
  struct Placed {
    const char* name;
    uint32_t home;
    uint32_t standby;
    uint64_t block_size_bytes;
    int64_t rate_per_second;
  };
  constexpr Placed kPlaced[] = {{"PAYMENTS", 0, 1, 16384, 100}, {"ORDERS", 1, 2, 4096, 50}, {"STOCK", 1, 0, 4096, 200}};
  SimRun run;
  run.duration_ns = duration_ns;
  run.block_sizes = {0, 0, 0, 0};
  run.down = {std::nullopt, 0, 1, 2};
  for (const char* label : {"alpha", "beta", "gamma"}) {
    SimHost& host = run.hosts.emplace_back();
    host.label = label;
    host.rate_per_second = 1;  // its queue managers' own
    host.sees = {"alpha", "beta", "gamma"};
    host.steps.resize(4);
  }
  for (uint32_t number = 0; const Placed& one : kPlaced) {
    v1::LogQueueManager qm;
    qm.set_name(one.name);
    qm.set_block_size_bytes(one.block_size_bytes);
    qm.set_rate_per_second(static_cast<double>(one.rate_per_second));
    qm.set_home(one.home);
    qm.set_standby(one.standby);
    qm.set_number(number++);
    for (const uint32_t host : {one.home, one.standby}) {
      run.hosts[host].queue_managers.push_back(qm);
      for (auto& step : run.hosts[host].steps) {
        step.push_back(Steady(duration_ns, kNsPerMs, kNsPerSecond / one.rate_per_second - kNsPerMs));
      }
    }
  }
  return run;
}

std::vector<v1::JournalRecord> MakeJournal(const SimRun& run) {
  return JournalMaker(run).Make();
}

std::vector<v1::JournalRecord> WithFold(std::vector<v1::JournalRecord> records, int64_t whole_seconds) {
  for (v1::JournalRecord& record : records) {
    if (!record.has_step_begin()) continue;
    v1::StepFoldRules& rules = *record.mutable_step_begin()->mutable_fold();
    rules.set_whole_seconds(whole_seconds);
    rules.set_settle_seconds(10);
    rules.set_around_stall_seconds(3);
    rules.set_most_whole_of_hour(30);
  }
  return records;
}

v1::Report Analyze(const std::vector<v1::JournalRecord>& records) {
  Analyzer analyzer;
  for (const v1::JournalRecord& record : records) analyzer.Add(record);
  return analyzer.Finish();
}

const v1::ScopeReport& Scope(const v1::StepReport& step, v1::ScopeKind kind, const std::string& host, uint32_t qm) {
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() == kind && scope.host() == host && scope.qm() == qm) return scope;
  }
  throw std::runtime_error("no such scope");
}

const v1::SeriesReport& Series(const v1::StepReport& step, v1::ScopeKind kind, const std::string& host, uint32_t qm) {
  for (const v1::SeriesReport& series : step.series()) {
    if (series.kind() == kind && series.host() == host && series.qm() == qm) return series;
  }
  throw std::runtime_error("no such series");
}

const v1::OperationReport& OperationOf(const v1::StepReport& step, const std::string& name) {
  for (const v1::OperationReport& operation : step.operations()) {
    if (operation.name() == name) return operation;
  }
  throw std::runtime_error("no operation " + name);
}

v1::Outcome OutcomeOf(const v1::Report& report, const std::string& criterion) {
  for (const v1::CriterionReport& each : report.verdict().criteria()) {
    if (each.criterion() == criterion) return each.outcome();
  }
  throw std::runtime_error("no criterion " + criterion);
}

}  // namespace plimsoll::tests
