// A run that is under way, for Prometheus.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "common/mutex.h"
#include "controller/analysis/analyzer.h"
#include "controller/live/live_feed.h"
#include "controller/metrics/operation_times.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// What a scrape shows. Counts are of the measured parts of all steps so far.
struct MetricsSnapshot {
  // Labels of a sample: host, queue manager (its name, or its number where it has none), operation.
  using Writer = std::tuple<std::string, std::string, std::string>;
  struct HostState {
    bool up = true;
    // Bound of the error of its clock; 0: not known.
    int64_t clock_error_ns = 0;
  };

  std::string run_id;
  std::string name;
  std::string command;
  LivePhase phase = LivePhase::kIdle;
  // From 1; 0: none has begun. Steps: 0 where it is not known beforehand.
  uint32_t step = 0;
  uint32_t steps = 0;
  uint64_t stalls = 0;
  std::map<std::string, HostState> hosts;
  std::map<Writer, OperationTimes> operations;
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
};

// Prometheus' text format. A pure function.
std::string RenderMetrics(const MetricsSnapshot& snapshot);

// Takes what a run, or several in turn, shows of itself. Frames count once the analysis has taken them, so
// that the counts at the end are those of the report. Thread-safe.
class LiveMetrics final : public LiveObserver {
 public:
  // `of_parts`: it observes the parts of an acceptance, whose outcomes are not the verdict.
  explicit LiveMetrics(bool of_parts) : of_parts_(of_parts) {}

  void OnBegin(Analyzer& analyzer) override;
  LiveWant Wants(LivePhase phase) const override;
  void OnMoment(const std::shared_ptr<const LiveMoment>& moment) override;
  void OnRecord(const v1::JournalRecord& record) override;
  void OnReport(const v1::Report& report) override;
  void SetOutcome(v1::Outcome outcome);

  // As it is now, apart from what goes on.
  MetricsSnapshot Snapshot() const;

 private:
  // A host of the run that is under way, by its number.
  struct RunHost {
    std::string label;
    // The name of each queue manager that a frame has come from.
    std::map<uint32_t, std::string> qms;
    HostFacts facts;
  };

  void AddFrame(uint32_t host, const v1::Frame& frame);
  void SetStep(uint32_t step, const v1::LogStep& spec) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool of_parts_;
  mutable Mutex mutex_;
  MetricsSnapshot now_ ABSL_GUARDED_BY(mutex_);
  std::map<uint32_t, RunHost> run_hosts_ ABSL_GUARDED_BY(mutex_);
  // Names of the operations of each step, and which of them are parts of another one.
  struct StepOperation {
    std::string name;
    bool is_part = false;
  };
  std::map<uint32_t, std::vector<StepOperation>> steps_ ABSL_GUARDED_BY(mutex_);
  // Stalls of the steps before, and of the step that runs.
  uint64_t earlier_stalls_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t step_stalls_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace plimsoll
