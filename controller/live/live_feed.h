// What a run is like while it is under way: one feed of its moments, and the views that observe it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/units.h"
#include "controller/analysis/analyzer.h"
#include "controller/fleet/fleet.h"
#include "controller/live/run_log.h"
#include "controller/render/live_view.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/log_step.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// The stalls of a step that are over and were shown. One thread.
class SettledStalls {
 public:
  // Takes a stall that is over, and returns whether to show it: false if all of it has been shown. A host that was
  // silent may extend a stall that has been shown; the extended stall replaces the shown one.
  bool Take(const LiveStall& stall);
  // The latest of them, oldest first.
  const std::deque<LiveStall>& latest() const { return latest_; }
  // How many there were.
  uint64_t count() const { return count_; }

 private:
  std::deque<LiveStall> latest_;
  std::set<std::tuple<uint32_t, uint32_t, int64_t>> keys_;
  uint64_t count_ = 0;
};

// kStarting: before the first figures of a step; kMeasured: all hosts have reported its end; kBetween: until the next
// one.
enum class LivePhase { kIdle, kPreparing, kSettling, kStarting, kRunning, kDraining, kMeasured, kBetween, kReleasing };

// A run at one moment.
struct LiveMoment {
  LivePhase phase = LivePhase::kIdle;
  // The phase has just begun: it has nothing to show yet.
  bool begins = false;
  MonotonicNs now;
  // What a run does that measures nothing, as a line; empty: there is nothing to show of it.
  std::string text;
  // The step that runs, or ran last; without messages.
  LiveView view;
  // Stalls of the step that are over, or that another host has extended, since the moment before.
  std::vector<LiveStall> settled;
};

// How soon after a moment a view wants the next one, and what must be the newest in it: each includes those before it.
// The analysis is waited for if any view needs figures.
enum class LiveNeed { kPhase, kFigures, kCriteria };
struct LiveWant {
  int64_t period_ns = kNsPerSecond;
  LiveNeed need = LiveNeed::kPhase;
};

// A view of a run that is under way. A moment that it is given never changes: it may keep it, and read it on any
// thread. All calls but OnStep come on the thread that drives the run.
class LiveObserver {
 public:
  virtual ~LiveObserver() = default;

  // Before the first record.
  virtual void OnBegin(Analyzer& /*analyzer*/) {}
  virtual LiveWant Wants(LivePhase /*phase*/) const { return {}; }
  virtual void OnMoment(const std::shared_ptr<const LiveMoment>& /*moment*/) {}
  // A line for people, such as a warning, also where quiet.
  virtual void OnLine(const std::string& /*line*/) {}
  // What the next step is; its moments have it, too.
  virtual void OnOutlook(const std::string& /*text*/) {}
  // Every record that is kept.
  virtual void OnRecord(const v1::JournalRecord& /*record*/) {}
  // The report of a step, once it is made, on the analysis' thread: never before the records of the step, nor after the
  // records of the next step.
  virtual void OnStep(const v1::StepReport& /*step*/) {}
  // After the last record, and with it everything that follows from it.
  virtual void OnEnd() {}
  // After OnEnd, once the run's results are written; not called if they could not be.
  virtual void OnReport(const v1::Report& /*report*/) {}
};

// Makes the moments of a run from what drives it and from the figures of its analysis, and gives them to the views. One
// thread.
class LiveFeed {
 public:
  LiveFeed() = default;
  LiveFeed(const LiveFeed&) = delete;
  LiveFeed& operator=(const LiveFeed&) = delete;

  void Add(std::shared_ptr<LiveObserver> view) { views_.push_back(std::move(view)); }
  // From now on lines for people are shown as `reword` returns them; empty: as they are.
  void Reword(std::function<std::string(const std::string& line)> reword) { reword_ = std::move(reword); }
  // Takes figures, records and steps from the log, which has none yet, and which the object outlives.
  void Attach(RunLog& log);

  // When Update wants to be called next.
  MonotonicNs next_update() const { return next_update_; }
  void Update(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts);

  void Preparing() { Enter(LivePhase::kPreparing); }
  // Waits for the storage; StepEnds ends it.
  void Settling(MonotonicNs now, int64_t length_ns);
  // `round_steps`: steps of a round, where they go on until they are steady; else 0.
  void StepStarts(uint32_t step, uint32_t steps, uint32_t round_steps, const v1::LogStep& spec, MonotonicNs now);
  void Draining(const std::string& reason);
  // All hosts have reported the end of the step: shows what is left to show of it.
  void StepMeasured(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts);
  void StepEnds();
  // `what`: what the hosts do meanwhile.
  void Releasing(const std::string& what = "removing the files");
  // Shows nothing until the next step starts.
  void Waiting() { Enter(LivePhase::kIdle); }
  // The log has its last record.
  void End();
  // The report is made, and its files are written.
  void Report(const v1::Report& report);

  // A line for people, also where quiet.
  void Line(const std::string& line);
  // A line for people behind the program's name.
  void Warn(const std::string& line);
  // What the next step is, and how much of the run's time is left before it.
  void ShowOutlook(const std::string& text, int64_t left_ns);

 private:
  void Enter(LivePhase phase);
  LiveWant Wanted() const;
  // Takes in what is new of the step. False where no view needs it, or the analysis has not come so far yet.
  bool Read(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts, int64_t patience_ns);
  // Stalls that are over, and that no other host can add to any more (`all`: whatever is known).
  void SettleStalls(bool all);
  void Publish();

  std::vector<std::shared_ptr<LiveObserver>> views_;
  std::function<std::string(const std::string& line)> reword_;
  // Null before Attach.
  RunLog* log_ = nullptr;
  std::vector<LiveCriterion> criteria_;
  // When they are looked at again, on this machine's own clock: looking takes a small part of the time at most.
  int64_t next_look_ns_ = 0;
  MonotonicNs next_update_;
  // The next one.
  LiveMoment moment_;
  SettledStalls settled_;
  std::string drain_reason_;
  std::string releasing_;
  std::string outlook_;
  int64_t left_ns_ = 0;
  int64_t settle_length_ns_ = 0;
  MonotonicNs settle_start_;
};

}  // namespace plimsoll
