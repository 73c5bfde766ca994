#include "controller/analysis/live_stats.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/analysis/figures.h"
#include "controller/analysis/judge.h"
#include "controller/analysis/scope_sums.h"
#include "controller/analysis/step_stats.h"
#include "controller/report/swept_load.h"
#include "controller/timeline/timeline.h"

namespace plimsoll {
namespace {

constexpr size_t kMostSeconds = 600;
// A host that is later than this does not hold back the others' figures.
constexpr int64_t kLateHostNs = 750 * kNsPerMs;
constexpr int64_t kStallsShownNs = 60 * kNsPerSecond;
constexpr size_t kMostIntervals = 2'000;
constexpr size_t kMostNames = 16;
// Rows of --interval, whatever a damaged journal claims: those that are given, those that wait, and those of them that
// have percentiles, 50 KiB each.
constexpr uint64_t kMaxRows = 1'000'000;
constexpr size_t kMaxPending = 100'000;
constexpr size_t kMaxHistograms = 256;

// The seconds of a step as they are shown: those of the warm-up first.
class LiveStep {
 public:
  LiveStep(const StepStats& step, const HostTable& hosts, const Timeline& timeline)
      : step_(step),
        shape_(step.shape()),
        hosts_(hosts),
        timeline_(timeline),
        warmup_seconds_(shape_.SecondOf(shape_.warmup_intervals())),
        length_ns_(step.CoveredNs()) {}

  int64_t seconds() const {
    return std::min(warmup_seconds_ + (length_ns_ + kNsPerSecond - 1) / kNsPerSecond, kMaxSeriesSeconds);
  }
  bool IsComplete(int64_t number, int64_t now_ns) const;
  LiveSecond Second(int64_t number) const;
  LiveHost Host(uint32_t number, const HostFacts& facts, int64_t shown, int64_t now_ns) const;
  // Stall intervals that ended after the offset, and those that are not over, in groups.
  std::vector<LiveStall> Stalls(int64_t after_ns) const;

 private:
  struct Interval {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    bool open = false;
    uint32_t host = 0;
    uint32_t qm = 0;
    int64_t key_ns = 0;
  };

  bool IsWarmup(int64_t number) const { return number < warmup_seconds_; }
  // How long the second is: the last one may be a part of one.
  int64_t LengthNs(int64_t number) const {
    return IsWarmup(number) ? kNsPerSecond
                            : std::min(kNsPerSecond, length_ns_ - (number - warmup_seconds_) * kNsPerSecond);
  }
  // From the measured start; negative in the warm-up.
  int64_t EndNs(int64_t number) const {
    const int64_t begin_ns = IsWarmup(number) ? number * kNsPerSecond - shape_.warmup_intervals() * shape_.interval_ns
                                              : (number - warmup_seconds_) * kNsPerSecond;
    return begin_ns + LengthNs(number);
  }
  // The number of the first second that the host has not passed.
  int64_t Passed(const HostStep& part) const;
  bool HasPassed(uint32_t host, int64_t number) const;
  LiveFigures MakeFigures(const WriteSums& sums, const SecondQuantiles& quantiles, int64_t number) const;
  WriteSums SumsOf(const HostStep& part, int64_t number) const;
  LiveFigures FiguresOf(const HostStep& part, int64_t number) const;
  // Adds the host's writes that were in flight at the second's end, and still are. `idle`: none ended in the second.
  void AddWaiting(uint32_t host, const HostStep& part, bool idle, int64_t end_ns, LiveSecond& second) const;
  // A moment of the host's clock, from the measured start.
  int64_t OffsetNs(uint32_t host, int64_t agent_ns) const;
  void AddIntervals(uint32_t host, const HostStep& part, int64_t after_ns, std::vector<Interval>& intervals) const;

  const StepStats& step_;
  const StepShape& shape_;
  const HostTable& hosts_;
  const Timeline& timeline_;
  const int64_t warmup_seconds_;
  // Of the measured part; of a pass, as far as frames have come.
  const int64_t length_ns_;
};

int64_t LiveStep::Passed(const HostStep& part) const {
  if (part.done() && part.stopped().empty()) return seconds();
  if (!part.all_next_interval()) return 0;
  return std::min<int64_t>(part.passed_warmup_seconds(), warmup_seconds_) + part.passed_seconds();
}

bool LiveStep::HasPassed(uint32_t host, int64_t number) const {
  const auto part = step_.hosts().find(host);
  return part != step_.hosts().end() && Passed(part->second) > number;
}

bool LiveStep::IsComplete(int64_t number, int64_t now_ns) const {
  bool all = true;
  bool any = false;
  for (const auto& [host, facts] : hosts_) {
    const bool passed = HasPassed(host, number);
    any = any || passed;
    all = all && (passed || facts.lost || !step_.IsArmed(host));
  }
  return any && (all || now_ns >= step_.measured_start_ns() + EndNs(number) + kLateHostNs);
}

LiveFigures LiveStep::MakeFigures(const WriteSums& sums, const SecondQuantiles& quantiles, int64_t number) const {
  LiveFigures figures;
  figures.writes = sums.writes;
  figures.iops = PerSecond(sums.writes, LengthNs(number));
  figures.mb_per_second = PerSecond(sums.bytes, LengthNs(number)) / kBytesPerMegabyte;
  figures.p50_ns = quantiles.p50_ns;
  figures.p99_ns = quantiles.p99_ns;
  figures.p99_9_ns = quantiles.p99_9_ns;
  figures.max_ns = sums.latency_max_ns;
  if (sums.writes > 0) {
    figures.avg_ns = static_cast<double>(sums.latency_sum_ns) / static_cast<double>(sums.writes);
  }
  return figures;
}

WriteSums LiveStep::SumsOf(const HostStep& part, int64_t number) const {
  if (IsWarmup(number)) return part.warmup_series(step_.felt()).At(static_cast<uint32_t>(number));
  WriteSums sums;
  for (const auto& writer : part.writers()) {
    if (writer) sums.Merge(writer->series(step_.felt()).At(static_cast<uint32_t>(number - warmup_seconds_)));
  }
  return sums;
}

LiveFigures LiveStep::FiguresOf(const HostStep& part, int64_t number) const {
  const WriteSums sums = SumsOf(part, number);
  return MakeFigures(sums,
                     IsWarmup(number)
                         ? part.warmup_percentiles(step_.felt()).Get(static_cast<uint32_t>(number), sums.latency_max_ns)
                         : part.percentiles(step_.felt())
                               .host()
                               .Get(static_cast<uint32_t>(number - warmup_seconds_), sums.latency_max_ns),
                     number);
}

void LiveStep::AddWaiting(uint32_t host, const HostStep& part, bool idle, int64_t end_ns, LiveSecond& second) const {
  const HostFacts& facts = hosts_.at(host);
  if (facts.lost || part.done()) return;
  for (uint32_t qm = 1; qm <= part.writers().size(); ++qm) {
    const WriterStats* const writer = part.writers()[qm - 1].get();
    if (writer == nullptr || writer->closed() || writer->in_flight_since_ns() == 0) continue;
    const int64_t waiting_ns = end_ns - OffsetNs(host, writer->in_flight_since_ns());
    if (idle) second.idle_waiting_ns = std::max(second.idle_waiting_ns, waiting_ns);
    if (waiting_ns <= second.waiting_ns) continue;
    second.waiting_ns = waiting_ns;
    second.waiting_writer = facts.WriterName(qm);
  }
}

LiveSecond LiveStep::Second(int64_t number) const {
  LiveSecond second;
  second.number = number;
  second.warmup = IsWarmup(number);
  second.end_ns = EndNs(number) + (second.warmup ? shape_.warmup_intervals() * shape_.interval_ns : 0);
  for (const auto& [host, facts] : hosts_) {
    if (second.missing_host.empty() && step_.IsArmed(host) && !HasPassed(host, number)) {
      second.missing_host = facts.label();
    }
  }
  WriteSums all;
  for (const auto& [host, part] : step_.hosts()) {
    if (Passed(part) <= number) continue;
    const WriteSums sums = SumsOf(part, number);
    all.Merge(sums);
    AddWaiting(host, part, sums.writes == 0, EndNs(number), second);
    if (hosts_.size() < 2) continue;
    const LiveFigures figures = FiguresOf(part, number);
    if (second.worst_host.empty() ||
        std::pair(figures.p99_ns, figures.max_ns) > std::pair(second.worst.p99_ns, second.worst.max_ns)) {
      second.worst = figures;
      second.worst_host = hosts_.at(host).label();
    }
  }
  const auto at = static_cast<uint32_t>(second.warmup ? number : number - warmup_seconds_);
  const StepPercentiles& percentiles =
      second.warmup ? step_.warmup_percentiles(step_.felt()) : step_.percentiles(step_.felt());
  second.cluster = MakeFigures(all, percentiles.ClusterSoFar(at, all.latency_max_ns), number);
  return second;
}

int64_t LiveStep::OffsetNs(uint32_t host, int64_t agent_ns) const {
  if (const auto moment = timeline_.ToTimeline(host, agent_ns)) {
    return std::clamp(moment->local_ns, -kMaxMomentNs, kMaxMomentNs) - step_.measured_start_ns();
  }
  return agent_ns - step_.HostMeasuredStartNs(host).value_or(agent_ns);
}

LiveHost LiveStep::Host(uint32_t number, const HostFacts& facts, int64_t shown, int64_t now_ns) const {
  LiveHost host;
  host.label = facts.label();
  host.lost = facts.lost.has_value();
  const auto found = step_.hosts().find(number);
  if (found == step_.hosts().end()) return host;
  const HostStep& part = found->second;
  host.done = part.done();
  if (shown >= 0 && Passed(part) > shown) {
    host.has_figures = true;
    host.figures = FiguresOf(part, shown);
  }
  if (host.lost || host.done) return host;
  const WriterStats* oldest = nullptr;
  for (uint32_t qm = 1; qm <= part.writers().size(); ++qm) {
    const WriterStats* writer = part.writers()[qm - 1].get();
    if (writer == nullptr || writer->closed() || writer->in_flight_since_ns() == 0) continue;
    if (oldest != nullptr && oldest->in_flight_since_ns() <= writer->in_flight_since_ns()) continue;
    oldest = writer;
    host.oldest_write_qm = qm;
    host.oldest_write_name = facts.QmName(qm);
  }
  if (oldest == nullptr) return host;
  host.oldest_write_ns = std::max<int64_t>(oldest->last_cut_ns() - oldest->in_flight_since_ns(), 1);
  // A usual write has ended since; one that outlasted an interval is taken to be in flight until a frame denies it.
  if (host.oldest_write_ns >= shape_.interval_ns) {
    const int64_t age_ns = now_ns - step_.measured_start_ns() - OffsetNs(number, oldest->in_flight_since_ns());
    host.oldest_write_ns = std::max(host.oldest_write_ns, age_ns);
  }
  return host;
}

void LiveStep::AddIntervals(uint32_t host, const HostStep& part, int64_t after_ns,
                            std::vector<Interval>& intervals) const {
  const std::optional<int64_t> start_ns = step_.HostMeasuredStartNs(host);
  if (!start_ns) return;
  for (uint32_t qm = 1; qm <= part.writers().size() && intervals.size() < kMostIntervals; ++qm) {
    const WriterStats* writer = part.writers()[qm - 1].get();
    if (writer == nullptr) continue;
    std::vector<WriterStallInterval> known = part.stalls().EndedAfter(qm, *start_ns + after_ns);
    if (!part.done() && !writer->closed() && !hosts_.at(host).lost) {
      const std::optional<WriterStallInterval> growing = part.stalls().GrowingOf(qm);
      const int64_t since_ns = writer->in_flight_since_ns();
      const int64_t age_ns = writer->last_cut_ns() - since_ns;
      if (growing) {
        known.push_back(*growing);
        known.back().open = true;
      } else if (since_ns != 0 && age_ns >= StallThresholdNs(shape_.stall_ns, 0)) {
        known.push_back({.begin_ns = since_ns, .end_ns = since_ns + age_ns, .longest_ns = age_ns, .open = true});
      }
    }
    if (known.empty()) continue;
    const int64_t threshold_ns =
        StallThresholdNs(shape_.stall_ns, static_cast<int64_t>(writer->latency().PercentileNs(50)));
    for (const WriterStallInterval& each : known) {
      if (each.longest_ns < threshold_ns || each.end_ns <= *start_ns || intervals.size() >= kMostIntervals) continue;
      const int64_t begin_ns = OffsetNs(host, each.begin_ns);
      intervals.push_back({begin_ns, begin_ns + each.length_ns(), each.open, host, qm, each.begin_ns});
    }
  }
}

std::vector<LiveStall> LiveStep::Stalls(int64_t after_ns) const {
  std::vector<Interval> intervals;
  for (const auto& [host, part] : step_.hosts()) AddIntervals(host, part, after_ns, intervals);
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
    return std::tuple(a.begin_ns, a.host, a.qm) < std::tuple(b.begin_ns, b.host, b.qm);
  });
  std::vector<LiveStall> stalls;
  std::map<std::pair<uint32_t, uint32_t>, bool> writers;
  for (const Interval& each : intervals) {
    if (stalls.empty() || each.begin_ns >= stalls.back().end_ns) {
      stalls.emplace_back().begin_ns = each.begin_ns;
      writers.clear();
    }
    LiveStall& stall = stalls.back();
    stall.end_ns = std::max(stall.end_ns, each.end_ns);
    stall.open = stall.open || each.open;
    stall.keys.emplace_back(each.host, each.qm, each.key_ns);
    const auto of_host = writers.lower_bound({each.host, 0});
    const bool known_host = of_host != writers.end() && of_host->first.first == each.host;
    if (!writers.emplace(std::pair(each.host, each.qm), true).second) continue;
    ++stall.writers;
    if (!known_host) ++stall.hosts;
    if (stall.names.size() < kMostNames) {
      stall.names.push_back(hosts_.at(each.host).WriterName(each.qm));
    }
  }
  return stalls;
}

// What a snapshot and a row of an interval say of the run.
template <typename View>
void SetSteps(const v1::RunBegin& run, View& view) {
  view.steps = static_cast<uint32_t>(run.steps_size());
  view.round_steps = run.plan().until_steady_ns() > 0 ? view.steps : 0;
}

// And of the step that runs.
template <typename View>
void SetStep(const v1::RunBegin& run, const StepStats& step, const HostTable& hosts, View& view) {
  SetSteps(run, view);
  view.step = step.index() + 1;
  view.steps = std::max(view.steps, view.step);
  view.block_size_bytes = step.shape().block_size_bytes;
  const auto down = step.step().has_down_host() ? hosts.find(step.step().down_host()) : hosts.end();
  if (down != hosts.end()) view.down_host = down->second.label();
  view.swept = SweptParts(step.step());
}

void SetRun(const v1::RunBegin& run, LiveSnapshot& snapshot) {
  SetSteps(run, snapshot);
  for (const v1::LogStep& step : run.steps()) {
    snapshot.repetitions = std::max(snapshot.repetitions, step.repetition() + 1);
  }
}

// Shows the judge the scopes of the step as far as they were measured.
class ScopesSoFar : public ScopeVisitor {
 public:
  ScopesSoFar(const StepStats& step, Judge& judge) : step_(step), judge_(judge) {}

  void OnScope(const StepScope& place, const ScopeSums& sums) override {
    cpu_bound_ = cpu_bound_ || sums.generator_bound;
    // Nothing is known of it yet.
    if (sums.measured_ns <= 0 || !judge_.LooksAt(place.kind, step_.shape().block_size_bytes)) return;
    const SecondExtremes extremes = sums.series.Extremes(WholeSecondsIn(sums.whole_ns));
    const bool of_writes = place.operation == kMainOperation;
    v1::ScopeReport scope = MakeScopeReport(sums, extremes.seconds);
    scope.set_kind(place.kind);
    if (place.facts != nullptr) scope.set_host(place.facts->label());
    scope.set_qm(place.qm);
    scope.set_storage(place.storage);
    if (place.qm != 0) scope.set_queue_manager(place.facts->QmName(place.qm));
    Histogram both;
    judge_.Observe(step_.index() + 1, step_.shape().block_size_bytes,
                   {scope, sums, FeltLatency(sums, both), extremes, false,
                    of_writes ? "" : step_.step().operations(static_cast<int>(place.operation)).name()});
  }
  // The load generator of a host may be CPU-bound.
  bool cpu_bound() const { return cpu_bound_; }

 private:
  const StepStats& step_;
  Judge& judge_;
  bool cpu_bound_ = false;
};

LiveState StateOf(v1::Outcome outcome) {
  return outcome == v1::OUTCOME_FAIL   ? LiveState::kFailing
         : outcome == v1::OUTCOME_PASS ? LiveState::kPassing
                                       : LiveState::kUndecided;
}

// Stalls are counted from what is known of them; of which class they are is not. On a host without a CPU to spare, a
// stall may be none of the storage.
void AddStallsSoFar(const Criterion& criterion, const std::vector<LiveStall>& stalls, bool cpu_bound,
                    LiveCriterion& live) {
  if (!WantsSmall(criterion) && criterion.limit != 0) return;
  if (criterion.stall_class != v1::STALL_CLASS_UNSPECIFIED) return;
  int64_t longest_ns = 0;
  for (const LiveStall& stall : stalls) longest_ns = std::max(longest_ns, stall.end_ns - stall.begin_ns);
  const bool counts = criterion.metric == Metric::kStalls;
  const double value = counts ? static_cast<double>(stalls.size()) : static_cast<double>(longest_ns);
  const bool fulfilled = Fulfils(criterion, value);
  const LiveState failing = cpu_bound ? LiveState::kUndecided : LiveState::kFailing;
  if (live.state != LiveState::kFailing) live.state = fulfilled ? LiveState::kPassing : failing;
  live.value = FormatMetricValue(InfoOf(criterion.metric), value);
  live.place.clear();
}

}  // namespace

LiveSnapshot MakeIdleSnapshot(const v1::RunBegin& run, const HostTable& hosts) {
  LiveSnapshot snapshot;
  SetRun(run, snapshot);
  for (const auto& [number, facts] : hosts) {
    LiveHost& host = snapshot.hosts.emplace_back();
    host.label = facts.label();
    host.lost = facts.lost.has_value();
  }
  return snapshot;
}

LiveSnapshot MakeLiveSnapshot(const v1::RunBegin& run, const StepStats& step, const HostTable& hosts,
                              const Timeline& timeline, int64_t now_ns, int64_t after_second) {
  LiveSnapshot snapshot;
  SetRun(run, snapshot);
  SetStep(run, step, hosts, snapshot);
  const StepShape& shape = step.shape();
  snapshot.repetition = step.step().repetition() + 1;
  snapshot.response_times = shape.rated;
  snapshot.elapsed_ns = Clamp64(Int128{now_ns} - step.measured_start_ns());
  snapshot.duration_ns = shape.duration_ns;
  snapshot.one_pass = shape.one_pass && !shape.watched;
  snapshot.warmup_ns = shape.warmup_ns;
  // How many rounds are left is not known.
  for (int later = static_cast<int>(snapshot.step); snapshot.round_steps == 0 && later < run.steps_size(); ++later) {
    const v1::LogStep& each = run.steps(later);
    snapshot.later_steps_ns = Clamp64(Int128{snapshot.later_steps_ns} + each.warmup_ns() + each.duration_ns());
  }
  const LiveStep live(step, hosts, timeline);
  // The newest one that is complete: those before it are, too.
  const int64_t known = std::clamp<int64_t>(after_second, -1, live.seconds() - 1);
  int64_t shown = known;
  for (int64_t end = live.seconds(); shown + 1 < end;) {
    const int64_t middle = shown + 1 + (end - shown - 2) / 2;
    if (live.IsComplete(middle, now_ns)) {
      shown = middle;
    } else {
      end = middle;
    }
  }
  for (int64_t number = std::max(known + 1, shown + 1 - static_cast<int64_t>(kMostSeconds)); number <= shown;
       ++number) {
    snapshot.seconds.push_back(live.Second(number));
  }
  for (const auto& [number, facts] : hosts) snapshot.hosts.push_back(live.Host(number, facts, shown, now_ns));
  snapshot.stalls = live.Stalls(snapshot.elapsed_ns - kStallsShownNs);
  return snapshot;
}

std::vector<LiveCriterion> MakeLiveCriteria(const Judge& judge, const StepStats* step, const HostTable& hosts,
                                            const Timeline& timeline) {
  Judge so_far = judge;
  bool cpu_bound = false;
  if (step != nullptr) {
    ScopesSoFar scopes(*step, so_far);
    step->AddUp(hosts, judge.rules(), StepPhase::kUnderWay, scopes);
    cpu_bound = scopes.cpu_bound();
  }
  std::vector<LiveCriterion> criteria;
  std::optional<std::vector<LiveStall>> stalls;
  for (const Judge::SoFar& each : so_far.CriteriaSoFar()) {
    LiveCriterion& live = criteria.emplace_back();
    live.text = each.report.criterion();
    live.state = StateOf(each.report.outcome());
    live.value = each.report.value_text();
    if (!live.value.empty()) {
      live.place = FormatPlace(each.report.step(), each.report.host(), each.report.qm(), each.report.storage(),
                               each.report.queue_manager());
    }
    if (each.criterion == nullptr || step == nullptr) continue;
    const Metric metric = each.criterion->metric;
    if (metric != Metric::kStalls && metric != Metric::kLongestStall) continue;
    if (!stalls) stalls = LiveStep(*step, hosts, timeline).Stalls(0);
    AddStallsSoFar(*each.criterion, *stalls, cpu_bound, live);
  }
  return criteria;
}

IntervalRows::IntervalRows(int64_t interval_ns, OnRow on_row) : interval_ns_(interval_ns), on_row_(std::move(on_row)) {}

void IntervalRows::Pending::Add(const v1::Distribution& added, bool keep) {
  sums.Merge({WriteSumsOf(added, 0), added.min_ns()});
  if (keep && latency == nullptr) latency = std::make_unique<Histogram>();
  percentiles_unknown = percentiles_unknown || !keep || !latency->Merge(added).ok();
}

void IntervalRows::Pending::Merge(const Pending& other) {
  if (other.sums.latency_max_ns > sums.latency_max_ns) {
    max_host = other.max_host;
    max_qm = other.max_qm;
    max_name = other.max_name;
  }
  sums.Merge(other.sums);
  percentiles_unknown = percentiles_unknown || other.percentiles_unknown;
  if (other.latency != nullptr) {
    if (latency == nullptr) latency = std::make_unique<Histogram>();
    latency->Merge(*other.latency);
  }
  blurred = blurred || other.blurred;
}

void IntervalRows::Begin(const v1::RunBegin& run, const StepStats& step, const HostTable& hosts) {
  head_ = {};
  SetStep(run, step, hosts, head_);
  head_.response_times = step.shape().rated;
  next_row_ = 0;
  pending_.clear();
  so_far_ = {};
}

void IntervalRows::Add(const StepStats& step, const HostFacts& facts, const v1::Frame& frame) {
  const int64_t first = frame.first_interval();
  // Below 0 is the warm-up.
  if (first < 0 || frame.latency().count() == 0) return;
  const StepShape& shape = step.shape();
  const int64_t last_row = LastRow(shape);
  const int64_t seconds = interval_ns_ / kNsPerSecond;
  const int64_t begin_row = shape.SecondOf(first) / seconds;
  const int64_t end_row = shape.SecondOf(first + std::max<int64_t>(frame.interval_count(), 1) - 1) / seconds;
  if (frame.has_aged() && begin_row != end_row) return AddAged(step, facts, frame);
  // A frame over several rows counts in its last one; so does, in the next row, one that comes too late.
  const int64_t first_row = std::clamp(begin_row, std::min(next_row_, last_row), last_row);
  const int64_t row = frame.closing() ? last_row : std::clamp(end_row, first_row, last_row);
  Pending& pending = pending_[row];
  const v1::Distribution& times = TimesOf(frame, step.felt());
  if (times.max_ns() > pending.sums.latency_max_ns) {
    const bool known = frame.has_slowest();
    pending.max_host = known ? facts.label() : std::string();
    pending.max_qm = known ? frame.qm() : 0;
    pending.max_name = known ? facts.QmName(frame.qm()) : "";
  }
  pending.Add(times, pending_.size() <= kMaxHistograms);
  if (frame.closing() || (first_row == row && begin_row == row)) return;
  for (int64_t shared = first_row; shared <= row && pending_.size() < kMaxPending; ++shared) {
    pending_[shared].blurred = true;
  }
}

int64_t IntervalRows::LastRow(const StepShape& shape) const {
  return (shape.duration_ns - 1) / interval_ns_;
}

void IntervalRows::GivePassed(const StepStats& step) {
  const int64_t passed_seconds = step.percentiles().passed_seconds();
  if (passed_seconds == INT64_MAX) return;
  // The last row waits for the step's end: writes are still in flight.
  const int64_t row = passed_seconds / (interval_ns_ / kNsPerSecond);
  GiveRowsBelow(std::min(row, LastRow(step.shape())), step.shape());
}

void IntervalRows::GiveRowsBelow(int64_t row, const StepShape& shape) {
  while (next_row_ < row && rows_given_ < kMaxRows) {
    GiveRow(std::min((next_row_ + 1) * interval_ns_, shape.duration_ns));
  }
  next_row_ = std::max(next_row_, row);
}

void IntervalRows::GiveRow(int64_t end_ns) {
  Pending row;
  // What is left from rows before counts here.
  while (!pending_.empty() && pending_.begin()->first <= next_row_) {
    row.Merge(pending_.begin()->second);
    pending_.erase(pending_.begin());
  }
  IntervalRow given = head_;
  given.end_ns = end_ns;
  given.interval = row.sums;
  if (row.latency != nullptr && !row.percentiles_unknown) {
    given.p50_ns = row.latency->PercentileNs(50);
    given.p99_ns = row.latency->PercentileNs(99);
  }
  given.blurred = row.blurred;
  given.max_before_ns = so_far_.sums.latency_max_ns;
  row.latency.reset();
  so_far_.Merge(row);
  given.total = so_far_.sums;
  given.max_host = so_far_.max_host;
  given.max_qm = so_far_.max_qm;
  given.max_name = so_far_.max_name;
  ++next_row_;
  ++rows_given_;
  on_row_(given);
}

void IntervalRows::End(const StepStats& step) {
  const StepShape& shape = step.shape();
  int64_t reached_ns = 0;
  for (const auto& [host, part] : step.hosts()) reached_ns = std::max(reached_ns, part.covered_ns());
  const int64_t final_row =
      reached_ns >= shape.duration_ns ? LastRow(shape) : std::max((reached_ns - 1) / interval_ns_, next_row_);
  GiveRowsBelow(final_row, shape);
  // Where the data end with a row that was given, only writes in flight remain.
  const bool complete = next_row_ * interval_ns_ >= reached_ns && pending_.empty();
  if (complete || rows_given_ >= kMaxRows) return;
  next_row_ = std::max(final_row, pending_.empty() ? 0 : pending_.rbegin()->first);
  GiveRow(std::max(reached_ns, std::min(final_row * interval_ns_, shape.duration_ns)));
}

}  // namespace plimsoll
