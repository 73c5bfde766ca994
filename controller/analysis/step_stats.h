// Everything that the hosts reported of one step.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/analysis/folded_series.h"
#include "controller/analysis/host_facts.h"
#include "controller/analysis/host_stalls.h"
#include "controller/analysis/scope_sums.h"
#include "controller/analysis/seconds.h"
#include "controller/timeline/timeline.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// One host's part of a step.
class HostStep {
 public:
  // `blocks`: its writers by number, with the sizes of their blocks, or nothing where they are silent by plan.
  // `operations`: their number in the step. `read`: place of the read beside the writes, kMainOperation if there is
  // none. `first_call`: place of the first watched call; all that follow are calls. `warmup_sinks`: where the seconds
  // of the warm-up go.
  HostStep(const StepShape& shape, std::vector<std::optional<BlockRange>> blocks, uint32_t operations, uint32_t read,
           uint32_t first_call, const PerTime<PercentileSinks>& sinks, const PerTime<PercentileSinks>& warmup_sinks,
           StallBudget& stalls)
      : shape_(shape),
        percentiles_{HostPercentiles(static_cast<uint32_t>(blocks.size()), sinks[TimeKind::kService]),
                     HostPercentiles(static_cast<uint32_t>(blocks.size()), sinks[TimeKind::kResponse])},
        warmup_{HostPercentiles(1, warmup_sinks[TimeKind::kService]),
                HostPercentiles(1, warmup_sinks[TimeKind::kResponse])},
        stalls_(shape, stalls),
        writers_(operations),
        read_(read),
        first_call_(first_call),
        blocks_(std::move(blocks)) {
    for (auto& writers : writers_) writers.resize(blocks_.size());
  }

  // Before the first frame, in a step whose frames are folded by age.
  void Fold(std::unique_ptr<FoldedHost> folded);
  // INVALID_ARGUMENT: what is wrong with the frame, which changes nothing.
  absl::Status AddFrame(const v1::Frame& frame, SumGuard& guard);
  absl::Status SetTotals(const v1::WriterTotals& totals, SumGuard& guard);
  // Something that the agent sent of a writer could not be taken.
  void NoteRefusal(uint32_t qm);
  // INVALID_ARGUMENT: what is wrong with the sample, which changes nothing.
  absl::Status AddSample(const v1::HostSample& sample);
  // How many seconds all writers have passed: of the measured part, and of the warm-up from its begin.
  uint32_t passed_seconds() const { return static_cast<uint32_t>(all_covered_ns() / kNsPerSecond); }
  uint32_t passed_warmup_seconds() const;
  // Closes them.
  void ClosePassedSeconds();
  // Forgets most of what is known by second of the measured seconds below that one, which all writers have passed.
  void ForgetBelow(uint32_t second);
  void SetDone(const std::string& stopped);
  // Closes all seconds: nothing more comes.
  void Finish() {
    for (const TimeKind kind : TimeKindsOf(shape_.rated)) {
      percentiles_[kind].Finish();
      warmup_[kind].Finish();
    }
    if (folded_) folded_->Finish();
  }

  // Whether the writer writes in the step, by plan; from 1. And how many do.
  bool Writes(size_t qm) const { return blocks_[qm - 1].has_value(); }
  uint32_t active_writers() const;
  // Writers by number - 1, with their figures of one operation of the step; null if nothing of it was received of one.
  const std::vector<std::unique_ptr<WriterStats>>& writers(uint32_t operation = kMainOperation) const {
    return writers_[operation];
  }
  // Figures of a writer's reads beside its writes; null if it has none, or if no frame of them was received.
  const WriterStats* reads(uint32_t qm) const {
    return read_ == kMainOperation ? nullptr : writers_[read_][qm - 1].get();
  }
  // End of the writer's last measured operation, whether it wrote or read, in the agent's clock; 0: none.
  int64_t last_end_ns(uint32_t qm) const;
  // How long the writer's operations usually take: the median of its writes or that of its reads, whichever is greater.
  int64_t usual_ns(uint32_t qm) const;
  const HostPercentiles& percentiles(TimeKind kind = TimeKind::kService) const { return percentiles_[kind]; }
  // Percentiles of the warm-up, for live views: by second from its begin, all writers together.
  const SecondTable& warmup_percentiles(TimeKind kind) const { return warmup_[kind].host(); }
  const SecondSeries& warmup_series(TimeKind kind) const { return warmup_series_[kind]; }
  // What is known by minute of the host; null: the step's frames are not folded.
  const FoldedHost* folded() const { return folded_.get(); }
  HostStalls& stalls() { return stalls_; }
  const HostStalls& stalls() const { return stalls_; }
  // The host reported that the step is over.
  bool done() const { return done_; }
  // Why its writers were stopped before the step's end; empty: they were not.
  const std::string& stopped() const { return stopped_; }
  // How long its data cover, by the last frames of its writers. The second one is what all its writers cover.
  int64_t covered_ns() const;
  int64_t all_covered_ns() const;
  // The interval after the last one that is known of all its writers, negative in the warm-up; nothing where a writer
  // reported nothing.
  std::optional<int64_t> all_next_interval() const;

 private:
  WriterStats* Writer(uint32_t qm, uint32_t operation);
  // Why there is no such writer, or operation.
  absl::Status NoWriter(uint32_t qm, uint32_t operation) const;
  void AddWarmup(const v1::Frame& frame);
  // The percentiles of the seconds of a folded frame are not known.
  void SpoilAged(const v1::Frame& frame);
  // Whether the operation has response times: the part of a write has no schedule of its own.
  bool IsRated(uint32_t operation) const { return shape_.rated && IsWhole(operation); }
  bool IsWhole(uint32_t operation) const {
    return operation == kMainOperation || operation == read_ || operation >= first_call_;
  }

  StepShape shape_;
  PerTime<HostPercentiles> percentiles_;
  PerTime<HostPercentiles> warmup_;
  PerTime<SecondSeries> warmup_series_;
  HostStalls stalls_;
  // By operation, then by writer.
  std::vector<std::vector<std::unique_ptr<WriterStats>>> writers_;
  uint32_t read_;
  uint32_t first_call_;
  std::vector<std::optional<BlockRange>> blocks_;
  std::unique_ptr<FoldedHost> folded_;
  bool done_ = false;
  std::string stopped_;
};

// A scope of a step whose figures were added up. Refers to the step.
struct StepScope {
  v1::ScopeKind kind = v1::SCOPE_KIND_CLUSTER;
  // For a writer or a host: the host's number, what is known of it, and its part.
  uint32_t host = 0;
  const HostFacts* facts = nullptr;
  const HostStep* part = nullptr;
  // For a writer: its number and statistics; else 0 and null.
  uint32_t qm = 0;
  const WriterStats* writer = nullptr;
  // Number of the storage, for all but the cluster; 0: not known.
  uint32_t storage = 0;
  // Its data end before the step does, for a reason of its own: see LeftEarly.
  bool left_early = false;
  // What the figures are about, by its place in the step's list.
  uint32_t operation = kMainOperation;
};

// What is found while a step's scopes are added up.
class ScopeVisitor {
 public:
  virtual ~ScopeVisitor() = default;
  // In this order: each host's writers, and then the host; storages; the cluster. All of that for the writes, and then
  // for each further operation of the step.
  virtual void OnScope(const StepScope& scope, const ScopeSums& sums) = 0;
  // The host reported the step's end, and of a writer nothing, or nothing of an operation other than the write.
  virtual void OnSilentWriter(const HostFacts& /*facts*/, uint32_t /*qm*/, uint32_t /*operation*/) {}
  // The host took no part in the step, although the plan has it write.
  virtual void OnAbsentHost(const HostFacts& /*facts*/) {}
};

// Whether a step is under way, or nothing more comes of it: hosts that did not report its end left it early then.
enum class StepPhase { kUnderWay, kOver };

// A write of which the end is not known: start and age in the host's clock, and its file where that is known.
struct OpenWrite {
  int64_t since_ns = 0;
  int64_t age_ns = 0;
  std::string path = {};
};

// One step. Not thread-safe.
class StepStats {
 public:
  // `keep_seconds`: the distribution of every second is kept.
  StepStats(uint32_t index, const v1::LogStep& step, const StepShape& shape, bool keep_seconds)
      : index_(index), step_(step), shape_(shape), percentiles_(keep_seconds) {}

  // The common start, and each host's; a later one replaces the first. INVALID_ARGUMENT where no clock shows them.
  // Storages of `hosts` are set.
  absl::Status Begin(const v1::StepBegin& begin, const HostTable& hosts);
  // After Begin and before the first frame: the step's frames are folded by age, from the second `whole_seconds` of the
  // measured part on. Sums by second of single hosts and writers then end there, and go on by minute.
  // `keep_writer_seconds`: see FoldedStep.
  void Fold(uint32_t whole_seconds, bool keep_writer_seconds, const HostTable& hosts);
  void End(const std::string& cut_short) { cut_short_ = cut_short; }
  // The host's part, made where there is none.
  HostStep& Host(uint32_t host, const HostFacts& facts);
  // All frames of one message of the host were added.
  void ClosePassedSeconds(uint32_t host);
  // INVALID_ARGUMENT: what is wrong with the sample. One of a host that was not armed is ignored.
  absl::Status AddSample(uint32_t host, const HostFacts& facts, const v1::HostSample& sample, uint64_t& rows_left);
  // The host sends nothing more.
  void Leave(uint32_t host);
  // Nothing more comes: closes all seconds.
  void Finish();
  // Forgets most of what is known by second of the measured seconds below that one, which all hosts have passed: for
  // what shows the last seconds alone.
  void ForgetBelow(uint32_t second);

  // Adds writers up to hosts, hosts to storages, and all of them to the cluster, whose sums of the writes it returns:
  // the figures of the step's report, and of the step so far. `rules`: RunBegin::verdict_rules.
  ScopeSums AddUp(const HostTable& hosts, uint32_t rules, StepPhase phase, ScopeVisitor& visitor) const;
  // The write of the host's writer that was in flight when its data end; nothing where there is none.
  // The writer's write that was in flight in its last message. Of a watch that has ended: the operation that was in
  // flight at its end.
  std::optional<OpenWrite> OpenWriteOf(const HostFacts& facts, const HostStep& part, uint32_t qm,
                                       uint32_t operation = kMainOperation) const;

  // The host was lost in this step.
  bool WasLostHere(const HostFacts& facts) const;
  // The host's data end before the step does for a reason of its own: it was lost, or its writers stopped without
  // an order.
  bool LeftEarly(const HostFacts& facts, const HostStep& part, StepPhase phase) const;

  // How long the step lasts on a host: as asked, or where it ends with a pass, to the host's last operation.
  int64_t LengthNs(uint32_t host, const HostFacts& facts, const HostStep& part) const;
  // How long the step lasts, as asked, or where it ends with a pass, as far as frames have come from any host.
  int64_t CoveredNs() const;

  uint32_t index() const { return index_; }
  // Operations of the step that this version knows: the first one, and the others up to one that it does not know.
  uint32_t operations() const { return KnownOperations(step_); }
  // Place of the read beside the writes; kMainOperation if there is none.
  uint32_t read_operation() const {
    const uint32_t read = ReadOperationOf(step_).value_or(kMainOperation);
    return read < operations() ? read : kMainOperation;
  }
  // Place of the first watched call; operations() if there is none.
  uint32_t first_call() const {
    uint32_t first = 0;
    while (first < operations() && !IsCall(step_, first)) ++first;
    return first;
  }
  // Whether the operation is a part of another one, without a schedule, bytes and a rate of its own.
  bool IsPart(uint32_t operation) const {
    return operation != kMainOperation && operation != read_operation() && !IsCall(step_, operation);
  }
  const v1::LogStep& step() const { return step_; }
  const StepShape& shape() const { return shape_; }
  const std::string& cut_short() const { return cut_short_; }
  SumGuard& guard() { return guard_; }
  // Parts of the hosts that reported something, by number of the host.
  std::map<uint32_t, HostStep>& hosts() { return hosts_; }
  const std::map<uint32_t, HostStep>& hosts() const { return hosts_; }
  StepPercentiles& percentiles(TimeKind kind = TimeKind::kService) { return percentiles_[kind]; }
  const StepPercentiles& percentiles(TimeKind kind = TimeKind::kService) const { return percentiles_[kind]; }
  const StepPercentiles& warmup_percentiles(TimeKind kind) const { return warmup_percentiles_[kind]; }
  // What callers felt.
  TimeKind felt() const { return shape_.rated ? TimeKind::kResponse : TimeKind::kService; }
  // What is known by minute of the step; null: its frames are not folded.
  const FoldedStep* folded() const { return folded_.get(); }
  // Whether frames reach beyond the seconds that the fold leaves whole; false without a fold.
  bool OutlastsWholeSeconds() const;
  const StallBudget& stall_budget() const { return stall_budget_; }
  // Loads of the hosts that reported them.
  const std::map<uint32_t, HostLoad>& loads() const { return loads_; }
  // Whether the host was ordered to start.
  bool IsArmed(uint32_t host) const { return HostStartNs(host).has_value(); }
  // Start of the measured part on the timeline, and in a host's clock; nothing where the host was not armed.
  int64_t measured_start_ns() const { return begin_.start_ns() + shape_.warmup_ns; }
  std::optional<int64_t> HostMeasuredStartNs(uint32_t host) const;

 private:
  std::optional<int64_t> HostStartNs(uint32_t host) const;
  // Hosts that were ordered to start and are not lost, with their storages.
  std::map<uint32_t, uint32_t> StoragesOfArmed(const HostTable& hosts) const;
  // With a fold: gives the storage's sums the series of its hosts.
  void SetStorageSeries(const HostTable& hosts, uint32_t storage, uint32_t operation, ScopeSums& sums) const;
  // A write of the host failed in the step.
  bool Failed(const HostFacts& facts) const;
  MeasuredPart MeasuredPartOf(uint32_t host, const HostFacts& facts, const HostStep& part, StepPhase phase) const;
  // The sums of the host, after those of its writers.
  // `any_rate`: some queue manager of the step has a target rate.
  ScopeSums AddUpHost(uint32_t host, const HostFacts& facts, const HostStep& part, uint32_t rules, StepPhase phase,
                      bool any_rate, uint32_t operation, ScopeVisitor& visitor) const;
  ScopeSums AddUpOperation(const HostTable& hosts, uint32_t rules, StepPhase phase, uint32_t operation,
                           ScopeVisitor& visitor) const;

  uint32_t index_;
  v1::LogStep step_;
  StepShape shape_;
  v1::StepBegin begin_;
  std::string cut_short_;
  SumGuard guard_;
  // Before the hosts, which refer to them.
  PerTime<StepPercentiles> percentiles_;
  PerTime<StepPercentiles> warmup_percentiles_{/*keep_seconds=*/false};
  std::unique_ptr<FoldedStep> folded_;
  StallBudget stall_budget_;
  std::map<uint32_t, HostStep> hosts_;
  std::map<uint32_t, HostLoad> loads_;
  // With a fold: from so long after the measured start on, a row of a host's load is a minute.
  int64_t load_minutes_from_ns_ = 0;
};

}  // namespace plimsoll
