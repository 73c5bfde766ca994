#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/algorithm.h"
#include "common/protocol.h"
#include "controller/analysis/bottleneck.h"
#include "controller/analysis/stalls.h"
#include "controller/analysis/step_report.h"

namespace plimsoll {
namespace {

constexpr size_t kShown = 10;

}  // namespace

v1::SlowestReport MakeSlowestReport(const RunContext& run, uint32_t host, uint32_t qm, const v1::WriteSample& write) {
  v1::SlowestReport slowest;
  slowest.set_host(run.hosts.at(host).label());
  slowest.set_qm(qm);
  slowest.set_number(write.seq());
  slowest.set_extent(write.extent());
  slowest.set_offset_bytes(write.offset_bytes());
  slowest.set_latency_ns(write.latency_ns());
  if (write.has_response_ns()) slowest.set_response_ns(write.response_ns());
  if (const auto moment = run.timeline.ToTimeline(host, write.start_ns())) {
    *slowest.mutable_start() = run.timeline.ToUtc(moment->local_ns);
    slowest.set_error_ns(moment->error_ns);
  }
  return slowest;
}

namespace {

void AddSlowestBy(TimeKind kind, const StepStats& stats, const RunContext& run,
                  google::protobuf::RepeatedPtrField<v1::SlowestReport>& report) {
  struct Candidate {
    uint32_t host = 0;
    uint32_t qm = 0;
    const v1::WriteSample* write = nullptr;
  };
  std::vector<Candidate> slowest;
  for (const auto& [number, part] : stats.hosts()) {
    if (!run.hosts.contains(number)) continue;
    for (uint32_t qm = 1; qm <= part.writers().size(); ++qm) {
      const WriterStats* writer = part.writers()[qm - 1].get();
      if (writer == nullptr) continue;
      for (const v1::WriteSample& write : writer->slow(kind)) slowest.push_back({number, qm, &write});
    }
  }
  const auto time_ns = [kind](const Candidate& one) {
    return kind == TimeKind::kService ? one.write->latency_ns() : one.write->response_ns();
  };
  StableSort(slowest, [&time_ns](const Candidate& a, const Candidate& b) { return time_ns(a) > time_ns(b); });
  slowest.resize(std::min(slowest.size(), kShown));
  for (const Candidate& one : slowest) *report.Add() = MakeSlowestReport(run, one.host, one.qm, *one.write);
}

}  // namespace

void AddSlowest(StepStats& stats, const RunContext& run, v1::StepReport& report) {
  AddSlowestBy(TimeKind::kService, stats, run, *report.mutable_slowest());
  if (!stats.shape().rated) return;
  AddSlowestBy(TimeKind::kResponse, stats, run, *report.mutable_response()->mutable_slowest());
}

namespace {

constexpr size_t kStallsShown = 100;
constexpr int kWritersShown = 16;

// The limits that stalls.h allows. Figures beyond them would be of no use.
constexpr int64_t kMostMomentNs = int64_t{1} << 61;
constexpr int64_t kMostErrorNs = int64_t{1} << 59;

class StallsOfStep {
 public:
  StallsOfStep(StepStats& stats, const RunContext& run, const std::map<uint32_t, double>& cpu_waits)
      : stats_(stats), run_(run), cpu_waits_(cpu_waits) {}

  void AddHost(uint32_t number, const HostFacts& facts, HostStep& part);
  // Returns the evidence of each stall where a host is CPU-bound; else nothing.
  std::vector<StallEvidence> Report(v1::StallsReport& report);

 private:
  void AddWriter(uint32_t number, const HostFacts& facts, uint32_t qm, const WriterStats& writer, HostStep& part,
                 const CoveredTime& pauses);
  void AddInterval(StalledInterval interval, const WriterStallInterval& reported, const CoveredTime& pauses);
  // Where the data of all of a host's writers end, on the timeline; nothing if one reported nothing.
  std::optional<int64_t> EndOf(uint32_t number, const HostStep& part) const;
  // The interval that was not over when the writer's data ended.
  std::vector<WriterStallInterval> OpenOnes(const std::optional<WriterStallInterval>& growing,
                                            const WriterStats& writer, int64_t threshold_ns) const;
  // What the writer's frames prove of the storage; null where there is nothing.
  const ServedTime* ServedTimeOf(uint32_t host, uint32_t qm);
  ServedTime MakeServedTime(uint32_t host, const ServiceGaps& known) const;
  // A moment of a host's clock within the bounds of stalls.h; nothing if no probe covers it.
  std::optional<MappedMoment> Map(uint32_t host, int64_t agent_ns) const;
  StallEvidence EvidenceOf(const Stall& stall) const;
  void SetStall(const Stall& stall, v1::StallReport& report) const;
  void AddWriters(const Stall& stall, v1::StallReport& report) const;
  void AddNotes(const std::vector<Stall>& stalls);

  StepStats& stats_;
  const RunContext& run_;
  const std::map<uint32_t, double>& cpu_waits_;
  std::map<uint32_t, StallHost> hosts_;
  // What counted as a stall of a writer, by host and number.
  std::map<std::pair<uint32_t, uint32_t>, int64_t> thresholds_ns_;
  std::vector<StalledInterval> intervals_;
  // Served time of the requested writers.
  std::map<std::pair<uint32_t, uint32_t>, ServedTime> served_;
  // What counted as a stall, over the writers that reported something.
  int64_t least_threshold_ns_ = INT64_MAX;
  int64_t largest_threshold_ns_ = 0;
  uint64_t unmapped_ = 0;
};

std::optional<MappedMoment> StallsOfStep::Map(uint32_t host, int64_t agent_ns) const {
  std::optional<MappedMoment> moment = run_.timeline.ToTimeline(host, agent_ns);
  if (moment) {
    moment->local_ns = std::clamp(moment->local_ns, -kMostMomentNs, kMostMomentNs);
    moment->error_ns = std::clamp<int64_t>(moment->error_ns, 0, kMostErrorNs);
  }
  return moment;
}

const ServedTime* StallsOfStep::ServedTimeOf(uint32_t host, uint32_t qm) {
  if (const auto found = served_.find({host, qm}); found != served_.end()) return &found->second;
  const auto part = stats_.hosts().find(host);
  const ServiceGaps* known = part == stats_.hosts().end() ? nullptr : part->second.stalls().ServiceOf(qm);
  if (known == nullptr || known->first_end_ns() == 0) return nullptr;
  return &served_.emplace(std::pair(host, qm), MakeServedTime(host, *known)).first->second;
}

ServedTime StallsOfStep::MakeServedTime(uint32_t host, const ServiceGaps& known) const {
  constexpr int64_t kUnboundedNs = INT64_MAX;
  ServedTime served;
  served.least_ns = known.least_ns();
  const auto earliest = [this, host](int64_t agent_ns) {
    const auto moment = Map(host, agent_ns);
    return moment ? moment->local_ns - moment->error_ns : -2 * kMostMomentNs;
  };
  const auto latest = [this, host](int64_t agent_ns) {
    const auto moment = Map(host, agent_ns);
    return moment ? moment->local_ns + moment->error_ns : 2 * kMostMomentNs - 1;
  };
  served.gaps.push_back({-2 * kMostMomentNs, latest(known.first_end_ns()), kUnboundedNs});
  for (const ServiceGap& gap : known.gaps()) {
    served.gaps.push_back({earliest(gap.begin_ns), latest(gap.end_ns), gap.longest_ns});
  }
  // From where the host's data end, or intervals of it are missing, nothing is proved.
  const int64_t until_ns = std::min(earliest(known.last_start_ns()), hosts_.at(host).to_ns);
  served.gaps.push_back({until_ns, 2 * kMostMomentNs - 1, kUnboundedNs});
  for (size_t i = 1; i < served.gaps.size(); ++i) {
    served.gaps[i].end_ns = std::max(served.gaps[i].end_ns, served.gaps[i - 1].end_ns);
  }
  for (size_t i = served.gaps.size() - 1; i > 0; --i) {
    served.gaps[i - 1].begin_ns = std::min(served.gaps[i - 1].begin_ns, served.gaps[i].begin_ns);
  }
  return served;
}

std::optional<int64_t> StallsOfStep::EndOf(uint32_t number, const HostStep& part) const {
  // Negative in the warm-up.
  const std::optional<int64_t> next_interval = part.all_next_interval();
  if (!next_interval) return std::nullopt;
  const StepShape& shape = stats_.shape();
  const int64_t known_ns = std::min(*next_interval * shape.interval_ns, shape.duration_ns);
  int64_t measured_ns = part.done() ? shape.duration_ns : known_ns;
  const std::optional<int64_t> start_ns = stats_.HostMeasuredStartNs(number);
  if (part.done() && (!part.stopped().empty() || shape.one_pass) && start_ns) {
    int64_t last_ns = 0;
    int64_t last_cut_ns = 0;
    for (uint32_t qm = 1; qm <= part.writers().size(); ++qm) {
      const auto& writer = part.writers()[qm - 1];
      last_ns = std::max(last_ns, part.last_end_ns(qm));
      last_cut_ns = std::max(last_cut_ns, writer ? writer->last_cut_ns() : 0);
    }
    // Where no measured write ended it was stopped before, at the latest when its last frames were cut.
    const int64_t until_ns = last_ns != 0 ? last_ns : std::min(last_cut_ns, *start_ns + known_ns);
    measured_ns = std::min(until_ns - *start_ns, measured_ns);
  }
  return std::clamp(stats_.measured_start_ns() + measured_ns, -kMostMomentNs, kMostMomentNs);
}

void StallsOfStep::AddHost(uint32_t number, const HostFacts& facts, HostStep& part) {
  StallHost& host = hosts_[number];
  // Alone where others may not be on the same file system.
  host.storage = facts.mixed_storage ? 0 : facts.storage;
  host.qms = part.active_writers();
  host.last_qm = static_cast<uint32_t>(part.writers().size());
  const std::vector<std::string> dirs = DirsOf(facts.workload());
  for (uint32_t qm = 1; dirs.size() > 1 && qm <= host.last_qm; ++qm) {
    const auto dir = std::ranges::find(dirs, DirOf(facts.workload(), qm));
    if (part.Writes(qm)) host.directory_of[qm] = static_cast<size_t>(dir - dirs.begin());
  }
  const int64_t start_ns =
      std::clamp(stats_.measured_start_ns() - stats_.shape().warmup_ns, -kMostMomentNs, kMostMomentNs);
  host.from_ns = start_ns;
  host.to_ns = std::max(EndOf(number, part).value_or(start_ns), start_ns);
  const int64_t delay_ns = std::max<int64_t>(facts.workload().delay_ns(), 0);
  const double rate = facts.least_rate_per_second(stats_.step());
  // One in a thousand random intervals is longer than seven times the average.
  const double longest_interval = facts.random_arrivals(stats_.step()) ? 7 : 1;
  host.between_writes_ns = rate > 0 ? static_cast<int64_t>(std::min(1e9 / rate * longest_interval, 1e15)) : delay_ns;
  std::vector<TimeRange> mapped;
  for (const TimeRange& pause : part.stalls().pauses()) {
    const auto begin = Map(number, pause.begin_ns);
    const auto end = Map(number, pause.end_ns);
    if (begin && end) mapped.push_back({begin->local_ns, end->local_ns});
  }
  host.paused = CoveredTime(std::move(mapped));
  std::vector<TimeRange> missing;
  for (const TimeRange& span : part.stalls().left_out()) {
    const auto begin = Map(number, span.begin_ns);
    const auto end = Map(number, span.end_ns);
    missing.push_back({begin ? begin->local_ns - begin->error_ns : -2 * kMostMomentNs,
                       end ? end->local_ns + end->error_ns : 2 * kMostMomentNs - 1});
  }
  host.left_out = CoveredTime(std::move(missing));
  const CoveredTime pauses(part.stalls().pauses());
  for (uint32_t qm = 1; qm <= part.writers().size(); ++qm) {
    if (const WriterStats* writer = part.writers()[qm - 1].get()) AddWriter(number, facts, qm, *writer, part, pauses);
  }
}

std::vector<WriterStallInterval> StallsOfStep::OpenOnes(const std::optional<WriterStallInterval>& growing,
                                                        const WriterStats& writer, int64_t threshold_ns) const {
  std::vector<WriterStallInterval> open;
  int64_t since_ns = writer.in_flight_since_ns();
  if (growing) {
    WriterStallInterval& interval = open.emplace_back(*growing);
    interval.open = true;
    // The frame was cut a little later than its interval ended.
    if (since_ns != 0 && since_ns < interval.end_ns && writer.last_cut_ns() > interval.end_ns) {
      const int64_t more_ns = writer.last_cut_ns() - interval.end_ns;
      interval.end_ns += more_ns;
      interval.in_flight_ns += more_ns;
      interval.longest_ns = std::max(interval.longest_ns, writer.last_cut_ns() - since_ns);
    }
    if (since_ns < interval.end_ns) since_ns = 0;
  }
  const int64_t age_ns = writer.last_cut_ns() - since_ns;
  if (since_ns != 0 && age_ns >= threshold_ns) {
    open.push_back({.begin_ns = since_ns,
                    .end_ns = writer.last_cut_ns(),
                    .in_flight_ns = age_ns,
                    .writes = 1,
                    .longest_ns = age_ns,
                    .open = true});
  }
  return open;
}

void StallsOfStep::AddWriter(uint32_t number, const HostFacts& facts, uint32_t qm, const WriterStats& writer,
                             HostStep& part, const CoveredTime& pauses) {
  const int64_t median_ns = part.usual_ns(qm);
  const int64_t threshold_ns = StallThresholdNs(stats_.shape().stall_ns, median_ns);
  least_threshold_ns_ = std::min(least_threshold_ns_, threshold_ns);
  largest_threshold_ns_ = std::max(largest_threshold_ns_, threshold_ns);
  if (cpu_waits_.contains(number)) thresholds_ns_[{number, qm}] = threshold_ns;
  HostStalls::Intervals reported = part.stalls().OfWriter(qm, threshold_ns, median_ns);
  // A watch ends while the program goes on.
  const bool ended = part.done() && !stats_.OpenWriteOf(facts, part, qm);
  if (!ended && !writer.closed()) {
    for (const WriterStallInterval& interval : OpenOnes(part.stalls().GrowingOf(qm), writer, threshold_ns)) {
      (interval.longest_ns >= threshold_ns ? reported.stalls : reported.others).push_back(interval);
    }
  }
  if (reported.complete_until_ns != INT64_MAX) {
    // Something of the host is not known from here on.
    StallHost& host = hosts_.at(number);
    const auto until = Map(number, reported.complete_until_ns);
    host.to_ns = std::clamp(until ? until->local_ns - until->error_ns : host.from_ns, host.from_ns, host.to_ns);
  }
  const StalledInterval of_writer{.host = number, .qm = qm};
  for (const WriterStallInterval& interval : reported.stalls) AddInterval(of_writer, interval, pauses);
  StalledInterval too_short = of_writer;
  too_short.counts = false;
  for (const WriterStallInterval& interval : reported.others) AddInterval(too_short, interval, pauses);
}

void StallsOfStep::AddInterval(StalledInterval interval, const WriterStallInterval& reported,
                               const CoveredTime& pauses) {
  const std::optional<int64_t> measured_start_ns = stats_.HostMeasuredStartNs(interval.host);
  if (measured_start_ns && reported.end_ns <= *measured_start_ns) return;
  const auto begin = Map(interval.host, reported.begin_ns);
  const auto end = Map(interval.host, reported.end_ns);
  if (!begin || !end) {
    if (interval.counts) {
      ++unmapped_;
      run_.notes.Add("stalls-unmapped",
                     absl::StrCat(run_.hosts.at(interval.host).WriterName(interval.qm), ", step ", stats_.index() + 1,
                                  ": a stall is left out, since no clock probe places it in time."));
    }
    return;
  }
  // The host's clock knows best how long it was.
  interval.begin_ns = begin->local_ns;
  interval.end_ns = std::min(begin->local_ns + reported.length_ns(), kMostMomentNs);
  if (interval.end_ns <= interval.begin_ns) return;
  const int64_t drift_ns = end->local_ns - interval.end_ns;
  interval.error_ns =
      std::min(std::max(begin->error_ns, end->error_ns + (drift_ns < 0 ? -drift_ns : drift_ns)), kMostErrorNs);
  interval.in_flight_ns = reported.in_flight_ns;
  interval.paused_ns = pauses.Within(reported.begin_ns, reported.end_ns);
  // Where reads are beside the writes, it counts them together, and is the number of neither.
  interval.number = stats_.read_operation() == kMainOperation ? reported.first_seq : 0;
  interval.open = reported.open;
  interval.writes = reported.writes;
  interval.row_of_ns = reported.in_a_row ? reported.longest_ns : 0;
  interval.longest_ns = reported.longest_ns;
  intervals_.push_back(interval);
}

void StallsOfStep::AddWriters(const Stall& stall, v1::StallReport& report) const {
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (const size_t place : stall.intervals) {
    const StalledInterval& interval = intervals_[place];
    // A writer is shown by its longest one.
    if (!seen.insert({interval.host, interval.qm}).second || report.writers_size() >= kWritersShown) continue;
    v1::StalledWriterReport& writer = *report.add_writers();
    writer.set_host(run_.hosts.at(interval.host).label());
    writer.set_qm(interval.qm);
    *writer.mutable_begin() = run_.timeline.ToUtc(interval.begin_ns);
    writer.set_length_ns(interval.end_ns - interval.begin_ns);
    writer.set_in_flight_ns(interval.in_flight_ns);
    writer.set_number(interval.number);
    writer.set_paused_ns(interval.paused_ns);
    writer.set_open(interval.open);
    writer.set_writes(interval.writes);
    writer.set_in_a_row(interval.row_of_ns > 0);
  }
  report.set_writers_count(static_cast<uint32_t>(seen.size()));
}

StallEvidence StallsOfStep::EvidenceOf(const Stall& stall) const {
  StallEvidence evidence;
  evidence.stall_class = stall.stall_class;
  bool bound = false;
  bool unbound = false;
  for (const size_t place : stall.intervals) {
    const StalledInterval& interval = intervals_[place];
    const auto wait = cpu_waits_.find(interval.host);
    if (wait == cpu_waits_.end()) {
      unbound = true;
      evidence.least_length_ns =
          std::max(evidence.least_length_ns, static_cast<double>(interval.end_ns - interval.begin_ns));
      continue;
    }
    bound = true;
    // Writes that were not in flight, and an unknown number of writes, are known only to have been late.
    if (interval.writes == 0) continue;
    const auto writes = static_cast<double>(interval.writes);
    const auto in_flight_ns = static_cast<double>(interval.in_flight_ns);
    const auto threshold_ns = static_cast<double>(thresholds_ns_.at({interval.host, interval.qm}));
    evidence.excess_ns += std::max(in_flight_ns - writes * threshold_ns, 0.0);
    evidence.least_length_ns = std::max(evidence.least_length_ns, (in_flight_ns - wait->second) / writes);
  }
  if (unbound) evidence.excess_ns = kNoBound;
  evidence.mixed = bound && unbound;
  return evidence;
}

void StallsOfStep::SetStall(const Stall& stall, v1::StallReport& report) const {
  report.set_stall_class(stall.stall_class);
  report.set_storage(stall.storage);
  *report.mutable_begin() = run_.timeline.ToUtc(stall.begin_ns);
  report.set_length_ns(stall.end_ns - stall.begin_ns);
  report.set_error_ns(stall.error_ns);
  report.set_offset_ns(Clamp64(Int128{stall.begin_ns} - stats_.measured_start_ns()));
  report.set_open(stall.open);
  for (const uint32_t host : stall.hosts) report.add_hosts(run_.hosts.at(host).label());
  for (const uint32_t host : stall.others) report.add_others(run_.hosts.at(host).label());
  AddWriters(stall, report);
}

void StallsOfStep::AddNotes(const std::vector<Stall>& stalls) {
  uint64_t unsure = 0;
  int64_t error_ns = 0;
  for (const Stall& stall : stalls) {
    if (!stall.unsure) continue;
    ++unsure;
    error_ns = std::max(error_ns, stall.error_ns);
  }
  const std::string step = absl::StrCat("step ", stats_.index() + 1);
  if (unsure > 0) {
    run_.notes.Add(
        "stalls-clock",
        absl::StrFormat("%s: for %s stalls it is undetermined, within the clock error (up to +/- %.3f ms a "
                        "host), whether other hosts stalled at the same time; those hosts are left out of them.",
                        step, FormatCount(unsure), static_cast<double>(error_ns) / static_cast<double>(kNsPerMs)));
  }
  if (const uint64_t left_out = stats_.stall_budget().pauses_left_out; left_out > 0) {
    run_.notes.Add("stalls-pauses",
                   absl::StrCat(step, ": ", FormatCount(left_out),
                                " pauses of agents are left out; stalls may be theirs without being called so."));
  }
}

std::vector<StallEvidence> StallsOfStep::Report(v1::StallsReport& report) {
  report.set_threshold_ns(stats_.shape().stall_ns > 0 ? stats_.shape().stall_ns : kLeastStallNs);
  report.set_threshold_by_median(stats_.shape().stall_ns == 0);
  report.set_left_out(stats_.stall_budget().intervals_left_out + unmapped_);
  if (largest_threshold_ns_ > 0) {
    report.set_least_threshold_ns(least_threshold_ns_);
    report.set_largest_threshold_ns(largest_threshold_ns_);
  }
  const std::vector<Stall> stalls = FindStalls(
      hosts_, intervals_,
      [this](uint32_t host, int64_t moment_ns) {
        return std::clamp<int64_t>(run_.timeline.ErrorAt(host, moment_ns).value_or(kMostErrorNs), 0, kMostErrorNs);
      },
      [this](uint32_t host, uint32_t qm) { return ServedTimeOf(host, qm); });
  std::map<v1::StallClass, uint64_t> classes;
  for (const Stall& stall : stalls) {
    ++classes[stall.stall_class];
    report.set_stretches(report.stretches() + stall.intervals.size());
  }
  report.set_count(stalls.size());
  for (const auto& [stall_class, count] : classes) {
    v1::StallCount& line = *report.add_classes();
    line.set_stall_class(stall_class);
    line.set_count(count);
  }
  std::vector<size_t> longest(stalls.size());
  std::iota(longest.begin(), longest.end(), size_t{0});
  StableSort(longest, [&](size_t a, size_t b) {
    return stalls[a].end_ns - stalls[a].begin_ns > stalls[b].end_ns - stalls[b].begin_ns;
  });
  longest.resize(std::min(longest.size(), kStallsShown));
  std::ranges::sort(longest);
  for (const size_t stall : longest) SetStall(stalls[stall], *report.add_stalls());
  AddNotes(stalls);
  std::vector<StallEvidence> evidence;
  if (cpu_waits_.empty()) return evidence;
  evidence.reserve(stalls.size());
  for (const Stall& stall : stalls) evidence.push_back(EvidenceOf(stall));
  return evidence;
}

}  // namespace

std::vector<StallEvidence> AddStalls(StepStats& stats, const RunContext& run,
                                     const std::map<uint32_t, double>& cpu_waits, v1::StepReport& report) {
  const bool wanted = std::ranges::any_of(run.hosts, [](const auto& host) { return host.second.reports_stalls(); });
  if (!wanted) return {};
  StallsOfStep stalls(stats, run, cpu_waits);
  for (auto& [number, part] : stats.hosts()) {
    if (const auto facts = run.hosts.find(number); facts != run.hosts.end()) {
      stalls.AddHost(number, facts->second, part);
    }
  }
  return stalls.Report(*report.mutable_stalls());
}

void AddStartSkew(StepStats& stats, const RunContext& run, v1::StepReport& report) {
  struct First {
    int64_t earliest_ns = INT64_MAX;
    int64_t latest_ns = INT64_MIN;
    int64_t error_ns = 0;
  };
  std::map<uint32_t, First> firsts;
  std::set<uint32_t> unknown;
  for (const auto& [number, part] : stats.hosts()) {
    const HostFacts& facts = run.hosts.at(number);
    for (uint32_t qm = 1; qm <= part.writers().size(); ++qm) {
      // A writer's first operation may be a read.
      const WriterStats* writer = part.writers()[qm - 1].get();
      const WriterStats* const reads = part.reads(qm);
      if (writer == nullptr) continue;
      const bool reads_first = reads != nullptr && reads->first_start_ns() != 0 &&
                               (writer->first_start_ns() == 0 || reads->first_start_ns() < writer->first_start_ns());
      if (reads_first) writer = reads;
      if (writer->first_start_ns() == 0) continue;
      // Writers whose starts are spread over a period, or random, are as late as they are after their own.
      if (!writer->first_phase_ns() && facts.spreads_starts(stats.step())) {
        unknown.insert(number);
        continue;
      }
      const auto moment =
          run.timeline.ToTimeline(number, writer->first_start_ns() - writer->first_phase_ns().value_or(0));
      if (!moment) continue;
      First& first = firsts[number];
      first.earliest_ns = std::min(first.earliest_ns, moment->local_ns);
      first.latest_ns = std::max(first.latest_ns, moment->local_ns);
      first.error_ns = std::max(first.error_ns, moment->error_ns);
    }
  }
  for (const uint32_t number : unknown) firsts.erase(number);
  if (firsts.empty()) return;
  const auto earliest = std::ranges::min_element(
      firsts, [](const auto& a, const auto& b) { return a.second.earliest_ns < b.second.earliest_ns; });
  const auto latest = std::ranges::max_element(
      firsts, [](const auto& a, const auto& b) { return a.second.latest_ns < b.second.latest_ns; });
  v1::StartSkewReport& skew = *report.mutable_start_skew();
  skew.set_skew_ns(Clamp64(Int128{latest->second.latest_ns} - earliest->second.earliest_ns));
  // Within their errors any two hosts may be the earliest and the latest; a host's own writers share its clock.
  Int128 most_ns = skew.skew_ns();
  for (const auto& [late, of_late] : firsts) {
    for (const auto& [early, of_early] : firsts) {
      if (late == early) continue;
      most_ns =
          std::max(most_ns, Int128{of_late.latest_ns} + of_late.error_ns - of_early.earliest_ns + of_early.error_ns);
    }
  }
  skew.set_error_ns(Clamp64(most_ns - skew.skew_ns()));
  for (const auto& [number, first] : firsts) {
    v1::HostStartReport& host = *skew.add_hosts();
    host.set_host(run.hosts.at(number).label());
    host.set_behind_ns(Clamp64(Int128{first.latest_ns} - earliest->second.earliest_ns));
    host.set_error_ns(first.error_ns);
  }
}

std::string StepReporter::BottleneckOfHost(uint32_t number, const v1::HostLoadReport& load) const {
  const auto share = ring_wait_share_.find(number);
  return BottleneckOf(load, share == ring_wait_share_.end() ? 0 : share->second);
}

bool StepReporter::HostsWereTroubled() const {
  const bool lost = std::any_of(run_.hosts.begin(), run_.hosts.end(),
                                [this](const auto& host) { return stats_.WasLostHere(host.second); });
  return lost || std::any_of(stats_.loads().begin(), stats_.loads().end(), [this](const auto& host) {
           const auto& [number, load] = host;
           // A recorder that was suspended ran late, which is a bottleneck, too.
           return !load.empty() && run_.hosts.contains(number) && !BottleneckOfHost(number, load.Make()).empty();
         });
}

void StepReporter::AddLoad() {
  bool rows_missing = false;
  for (const auto& [number, load] : stats_.loads()) {
    if (load.empty() || !run_.hosts.contains(number)) continue;
    v1::HostLoadReport& report = *report_.add_load();
    report = load.Make();
    report.set_host(run_.hosts.at(number).label());
    const std::string who = absl::StrCat(report.host(), ", ", StepName(), ": ");
    // What a watched program was short of is in its own latencies.
    if (!stats_.shape().watched) report.set_bottleneck(BottleneckOfHost(number, report));
    if (!report.bottleneck().empty()) {
      run_.notes.Add("bottleneck",
                     absl::StrCat(who, "the load generator may be CPU-bound: ", report.bottleneck(), "."));
    }
    if (load.went_back()) {
      run_.notes.Add("went-back", absl::StrCat(who,
                                               "a counter of its kernel went back; that sample is left out "
                                               "of the load's figures."));
    }
    rows_missing = rows_missing || load.rows_missing();
  }
  if (rows_missing) {
    run_.notes.Add("load",
                   absl::StrCat(StepName(), ": the load's columns end before the step does: they would have more than ",
                                FormatCount(kLoadRows), " rows."));
  }
}

}  // namespace plimsoll
