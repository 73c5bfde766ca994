// From the journal of a run to its report.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "controller/analysis/host_facts.h"
#include "controller/analysis/judge.h"
#include "controller/analysis/live_stats.h"
#include "controller/analysis/figures.h"
#include "controller/analysis/note_book.h"
#include "controller/analysis/section_analysis.h"
#include "controller/analysis/step_report.h"
#include "controller/analysis/step_stats.h"
#include "controller/analysis/timeline.h"
#include "controller/analysis/whole_run.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Takes the records in their order, once, and makes the report. A pure function: the same records give the same report.
//
// Memory holds the histograms of the step that is running (some 30 KiB a writer) and, of the whole run, the per-second
// sums and percentiles; within bounds of their own, the cluster's distribution of each second (some 1 KB,
// figures.h), intervals of stalls and pauses of agents (100,000 and a million a step, host_stalls.h) and rows of
// the hosts' load (64 bytes, host_facts.h). Never the frames. Any beginning of a journal gives a report that shows
// where it ends. A record that contradicts itself or what came before is left out, named in the verdict's reasons, and
// makes the result inconclusive; it never spoils a sum. Not thread-safe.
class Analyzer {
 public:
  // `series_rows`: the most rows that all per-second series may take together; those of single QMs are left out first.
  explicit Analyzer(uint64_t series_rows = kSeriesRows);
  ~Analyzer();
  Analyzer(const Analyzer&) = delete;
  Analyzer& operator=(const Analyzer&) = delete;

  // Returns whether it was taken; of frames and samples each is taken or left out by itself.
  bool Add(const v1::JournalRecord& record);

  // What the journal's reader found wrong, as a sentence ("The journal is cut off at byte 4,711."). The result is
  // inconclusive.
  void AddDamage(const std::string& sentence);

  // Once, after the last record.
  v1::Report Finish();
  // The facts about run and hosts as far as they are known, without a verdict, and the reports of the steps that are
  // over, from the one with index `first_step` on.
  v1::Report SoFar(size_t first_step) const;

  // What there is to show of the step that runs, from the same figures as its report (live_stats.h). `now_ns` is a
  // moment of the timeline.
  LiveSnapshot Live(int64_t now_ns, int64_t after_second) const;
  // The criteria by what was measured so far. Costs some 0.2 ms a scope that they look at.
  std::vector<LiveCriterion> LiveCriteria() const;

  // Called with every frame that goes into the report, once it is in it, in the records' order. Nothing by default.
  using FrameListener = std::function<void(uint32_t host, const v1::Frame& frame)>;
  void SetFrameListener(FrameListener listener) { on_frame_ = std::move(listener); }

  // Called with the report of each step, once it is made. Nothing by default.
  using StepListener = std::function<void(const v1::StepReport& report)>;
  void SetStepListener(StepListener listener) { on_step_ = std::move(listener); }

  // Called with the rows of each step in intervals of that length, whole seconds, as soon as each is complete. Set
  // before the first record. Nothing by default.
  void SetIntervalListener(int64_t interval_ns, IntervalRows::OnRow listener) {
    rows_.emplace(interval_ns, std::move(listener));
  }

  // What to measure next, where the steps before decide it; nothing: the run has no further step.
  std::optional<v1::LogStep> NextStep() const {
    if (rounds_) return rounds_->NextStep();
    return section_ ? section_->NextStep() : std::nullopt;
  }

  // What the last step has shown, where it decides about the next one; mostly empty.
  std::string LastStepText() const {
    if (rounds_) return rounds_->last_text();
    return section_ ? section_->LastStepText() : "";
  }

  // Of the steps that are over, in order; none after Finish.
  const std::vector<v1::StepReport>& reports() const { return reports_; }

  // The clocks as far as they are known: all of them after Finish.
  const Timeline& timeline() const { return timeline_; }

 private:
  absl::Status Take(const v1::JournalRecord& record);
  absl::Status OnRunBegin(const v1::RunBegin& begin);
  absl::Status OnHostJoined(const v1::HostJoined& joined);
  absl::Status OnPrepared(const v1::HostPrepared& prepared);
  absl::Status OnStepBegin(const v1::StepBegin& begin);
  absl::Status OnFrames(const v1::HostFrames& frames);
  absl::Status OnSample(uint32_t host, const v1::HostSample& sample);
  absl::Status OnStepDone(const v1::HostStepDone& done);
  absl::Status OnHostLost(const v1::HostLost& lost);
  absl::Status OnFault(const v1::HostFault& fault);
  absl::Status OnStepEnd(const v1::StepEnd& end);
  void OnRunEnd(const v1::RunEnd& end);

  // Whether the run is of a kind that has no steps.
  bool IsDrill() const { return section_ && !section_->HasSteps(); }
  // The host of that number, or NOT_FOUND.
  absl::Status CheckHost(uint32_t host) const;
  // The running step, if it is that one.
  absl::Status CheckStep(uint32_t step) const;
  // Sets the storage of every host.
  void SetStorages();
  // Whether the distribution of every second of a step of that shape is kept.
  bool KeepsSeconds(const StepShape& shape);
  // Makes the running step's report.
  void CloseStep();
  void Refuse(const std::string& what);
  std::string NameOf(uint32_t host) const;

  void SetRun(v1::Report& report) const;
  void SetHosts(v1::Report& report) const;
  void SetLoss(const HostFacts& facts, const v1::Report& report, v1::HostReport& host) const;
  // The clock's figures, with the largest error while steps ran.
  v1::ClockReport ClockOf(const HostFacts& facts) const;
  // Why the run as a whole cannot carry a PASS: how it ended, what failed.
  NoteBook RunReasons(const v1::Report& report, bool mid_step) const;
  void AddHostNotes(const v1::Report& report);

  std::optional<v1::RunBegin> run_;
  int64_t begin_ns_ = 0;
  int64_t last_ns_ = 0;
  int64_t interval_ns_ = 250 * kNsPerMs;
  std::optional<v1::RunEnd> run_end_;
  Timeline timeline_;
  HostTable hosts_;
  // The storages of hosts_ are those of all that was prepared.
  bool storages_set_ = false;
  std::unique_ptr<Judge> judge_;
  // Null for a log run.
  std::unique_ptr<SectionAnalysis> section_;
  // With --until-steady.
  std::optional<SteadyRounds> rounds_;
  NoteBook notes_;
  NoteBook reasons_;
  // Those that follow from the loss of hosts; notes where the plan accepts that.
  NoteBook loss_reasons_;
  const uint64_t series_rows_;
  uint64_t series_rows_left_ = series_rows_;
  uint64_t untold_rows_left_ = kUntoldRows;
  int64_t distribution_seconds_left_ = kDistributionSeconds;
  uint64_t distribution_buckets_left_ = kDistributionBuckets;
  uint64_t load_rows_left_ = kLoadRows;
  std::unique_ptr<StepStats> step_;
  bool step_ended_ = false;
  // Steps before it are over.
  uint32_t least_step_ = 0;
  std::vector<v1::StepReport> reports_;
  struct MeasuredTime {
    int64_t from_ns = 0;
    int64_t to_ns = 0;
  };
  std::vector<MeasuredTime> measured_;
  FrameListener on_frame_;
  StepListener on_step_;
  std::optional<IntervalRows> rows_;
};

}  // namespace plimsoll
