// Makes the report of a run from its journal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "controller/analysis/figures.h"
#include "controller/analysis/host_facts.h"
#include "controller/analysis/judge.h"
#include "controller/analysis/live_stats.h"
#include "controller/analysis/note_book.h"
#include "controller/analysis/second_budget.h"
#include "controller/analysis/step_report.h"
#include "controller/analysis/step_stats.h"
#include "controller/analysis/whole_run.h"
#include "controller/disturb/disturb_analysis.h"
#include "controller/fold/step_fold.h"
#include "controller/timeline/section_analysis.h"
#include "controller/timeline/timeline.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Takes the records of a journal once, in order, and makes the report. Pure: the same records give the same report.
//
// Memory holds the histograms of the running step (some 30 KiB a writer) and, for the whole run, the per-second sums
// and percentiles. It also holds, each with its own limit, the cluster's distribution of each second (some 1 KB,
// figures.h), stall intervals and pauses of agents (100,000 and a million a step, host_stalls.h) and rows of the hosts'
// load (64 bytes, host_facts.h), but never the frames. Any prefix of a journal gives a report that shows where it ends.
// A record that contradicts itself or an earlier one is left out, is named in the verdict's reasons, and makes the
// result inconclusive; it never corrupts a sum. Not thread-safe.
class Analyzer {
 public:
  // `series_rows`: the most rows that all per-second series may take together; those of single QMs are left out first.
  explicit Analyzer(uint64_t series_rows = kSeriesRows);
  ~Analyzer();
  Analyzer(const Analyzer&) = delete;
  Analyzer& operator=(const Analyzer&) = delete;

  // Returns whether the record was taken; its frames and samples are taken or left out one by one.
  bool Add(const v1::JournalRecord& record);

  // Adds damage that the journal's reader found, as a sentence ("The journal is cut off at byte 4,711."), which makes
  // the result inconclusive.
  void AddDamage(const std::string& sentence);

  // Once, after the last record.
  v1::Report Finish();
  // The facts about run and hosts known so far, without a verdict, and the reports of the completed steps from index
  // `first_step` on.
  v1::Report SoFar(size_t first_step) const;

  // The running step's figures for the live display, the same as in its report (live_stats.h). `now_ns` is a moment of
  // the timeline.
  LiveSnapshot Live(int64_t now_ns, int64_t after_second) const;
  // The state of each criterion so far; where a step's frames are folded by age, as far as they were. Costs some 0.2 ms
  // for each scope that a criterion tests.
  std::vector<LiveCriterion> LiveCriteria() const;

  // Called with every frame after it went into the report, in the records' order. Default: none. In a step whose frames
  // are folded by age, it is called when a frame comes, for what live views show.
  using FrameListener = std::function<void(uint32_t host, const v1::Frame& frame)>;
  void SetFrameListener(FrameListener listener) { on_frame_ = std::move(listener); }

  // Called with the report of each step when it is made. Default: none.
  using StepListener = std::function<void(const v1::StepReport& report)>;
  void SetStepListener(StepListener listener) { on_step_ = std::move(listener); }

  // Called with the rows of each step in intervals of that length, whole seconds, as soon as each is complete. Set
  // before the first record. Nothing by default.
  void SetIntervalListener(int64_t interval_ns, IntervalRows::OnRow listener) {
    rows_.emplace(interval_ns, std::move(listener));
  }

  // What to measure next, where earlier steps decide it; nothing: the run has no further step.
  std::optional<v1::LogStep> NextStep() const {
    if (rounds_) return rounds_->NextStep();
    return section_ ? section_->NextStep() : std::nullopt;
  }

  // What the last step showed, where that decides the next one; mostly empty.
  std::string LastStepText() const {
    if (rounds_) return rounds_->last_text();
    return section_ ? section_->LastStepText() : "";
  }

  // What the last round of a drill showed; empty where there was none.
  std::string LastRoundText() const { return section_ ? section_->LastRoundText(timeline_) : ""; }
  // As SectionAnalysis::NextStepOutlook.
  std::optional<SectionAnalysis::Outlook> NextStepOutlook() const {
    return section_ ? section_->NextStepOutlook() : std::nullopt;
  }

  // Reports of the completed steps, in order; none after Finish.
  const std::vector<v1::StepReport>& reports() const { return reports_; }

  // The clocks known so far; all of them after Finish.
  const Timeline& timeline() const { return timeline_; }

 private:
  absl::Status Take(const v1::JournalRecord& record);
  absl::Status OnRunBegin(const v1::RunBegin& begin);
  absl::Status OnHostJoined(const v1::HostJoined& joined);
  absl::Status OnPrepared(const v1::HostPrepared& prepared);
  absl::Status OnStepBegin(const v1::StepBegin& begin);
  absl::Status OnFrames(const v1::HostFrames& frames);
  // Takes one frame into the report, or refuses it.
  bool TakeFrame(uint32_t host, const v1::Frame& frame, bool may_be_folded);
  // As OnFrames, in a step whose frames are folded by age.
  void OnFramesToFold(const v1::HostFrames& frames);
  absl::Status OnMinutesSettled(const v1::MinutesSettled& settled);
  // Prepares the step that begins for folding, where its record says so.
  absl::Status BeginFold(const v1::StepBegin& begin);
  // Whether series of single writers over that many seconds may fit into a report.
  bool KeepsWriterSeconds(int64_t whole_seconds) const;
  // Gives all that the fold holds to the report, and what came after it.
  void FinishFold();
  // What live views show of the step that runs; null where none does.
  StepStats* LiveStepStats() const { return live_step_ ? live_step_.get() : step_.get(); }
  // The host reported the step's end. `reported`: what cannot be taken is named in the report.
  void TakeStepDone(const v1::HostStepDone& done, StepStats& step, bool reported);
  absl::Status OnSample(uint32_t host, const v1::HostSample& sample);
  absl::Status OnStepDone(const v1::HostStepDone& done);
  absl::Status OnHostLost(const v1::HostLost& lost);
  absl::Status OnFault(const v1::HostFault& fault);
  absl::Status OnStepEnd(const v1::StepEnd& end);
  void OnRunEnd(const v1::RunEnd& end);

  // Whether the run is of a kind that has no steps.
  bool IsDrill() const { return section_ && !section_->HasSteps(); }
  // NOT_FOUND unless there is a host of that number.
  absl::Status CheckHost(uint32_t host) const;
  // An error unless `step` is the running step.
  absl::Status CheckStep(uint32_t step) const;
  // Sets the storage of every host.
  void SetStorages();
  // Makes the running step's report.
  void CloseStep();
  void Refuse(const std::string& what);
  std::string NameOf(uint32_t host) const;

  void SetRun(v1::Report& report) const;
  void SetHosts(v1::Report& report) const;
  void SetLoss(const HostFacts& facts, const v1::Report& report, v1::HostReport& host) const;
  // The clock's figures, with the largest error while steps ran.
  v1::ClockReport ClockOf(const HostFacts& facts) const;
  void AddHostNotes(const v1::Report& report);

  std::optional<v1::RunBegin> run_;
  int64_t begin_ns_ = 0;
  int64_t last_ns_ = 0;
  int64_t interval_ns_ = 250 * kNsPerMs;
  std::optional<v1::RunEnd> run_end_;
  Timeline timeline_;
  HostTable hosts_;
  // hosts_ has the storages of all prepared hosts.
  bool storages_set_ = false;
  std::unique_ptr<Judge> judge_;
  // Null for a log run.
  std::unique_ptr<SectionAnalysis> section_;
  // The analysis of disturbances, in a run with some, which is judged as a log run.
  std::optional<DisturbAnalysis> disturb_;
  // With --until-steady.
  std::optional<SteadyRounds> rounds_;
  NoteBook notes_;
  NoteBook reasons_;
  // Reasons that follow from the loss of hosts; notes where the plan accepts that.
  NoteBook loss_reasons_;
  const uint64_t series_rows_;
  uint64_t series_rows_left_ = series_rows_;
  uint64_t unreported_rows_left_ = kUnreportedRows;
  SecondBudget seconds_budget_;
  uint64_t distribution_buckets_left_ = kDistributionBuckets;
  uint64_t operation_rows_left_ = kSeriesRows;
  uint64_t operation_buckets_left_ = kDistributionBuckets;
  uint64_t load_rows_left_ = kLoadRows;
  std::unique_ptr<StepStats> step_;
  bool step_ended_ = false;
  // Where the frames of the step are folded by age: the fold, whose output alone goes into the report; hosts that sent
  // their last frame, which the report learns after these; and the step for live views, which takes every frame as it
  // comes.
  std::unique_ptr<StepFold> fold_;
  std::vector<v1::HostStepDone> dones_to_take_;
  std::vector<uint32_t> hosts_to_leave_;
  std::set<uint32_t> hosts_with_settled_;
  std::unique_ptr<StepStats> live_step_;
  // Earlier steps are over.
  uint32_t least_step_ = 0;
  std::vector<v1::StepReport> reports_;
  // RunContext::wrong_speeds_ppm.
  std::map<uint32_t, double> wrong_speeds_ppm_;
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
