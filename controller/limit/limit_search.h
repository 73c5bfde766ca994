// Decides what a search for the highest load measures next, and what is known of the limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plimsoll/v1/limit_report.pb.h"

namespace plimsoll {

// What one step showed. Loads are writes per second of each queue manager, or queue managers of each host.
struct LimitResult {
  v1::StepPurpose purpose = v1::STEP_PURPOSE_UNSPECIFIED;
  // 0: as fast as possible.
  double load = 0;
  v1::LimitState state = v1::LIMIT_STATE_UNDECIDED;
  // Measured length.
  int64_t duration_ns = 0;
  // Writes per second of each queue manager on average.
  double rate = 0;
  // Mean and median response time of all hosts.
  double mean_ns = 0;
  double median_ns = 0;
};

// What to measure.
struct LimitStep {
  v1::StepPurpose purpose = v1::STEP_PURPOSE_UNSPECIFIED;
  double load = 0;
  int64_t duration_ns = 0;
};

// What is known of the limit.
struct LimitBounds {
  // Highest load that meets the criteria, below any that was shown not to; 0: none.
  double meets = 0;
  // Its result, by number.
  size_t meets_result = 0;
  // Lowest load that was shown to exceed them.
  std::optional<double> exceeds;
  // Lowest load above `meets` that does not meet them for certain: `exceeds`, or one that stayed undecided.
  std::optional<double> above;
  // Highest load below `exceeds` that stayed undecided; `meets` where there is none above it.
  double undecided = 0;
};

// A pure function of the results and their times: given the same ones, it asks for the same steps. The plan's own first
// step is a probe at a low rate; the search goes on with the uncontrolled maximum; then probes find the baseline, to
// which the storage has to return after each overload; a bracket and bisection follow, and the answer is held for
// longer. Undecided loads are measured again, for twice as long each time. Last comes what the load-latency curve
// lacks. Not thread-safe.
class LimitSearch {
 public:
  struct Options {
    v1::LimitOver over = v1::LIMIT_OVER_RATE;
    // Largest load, of queue managers.
    double most_load = 0;
    // Queue managers of all hosts, and of the host with the fewest.
    double writers = 1;
    double host_writers = 1;
    // Width of the bracket at which the search ends, as a share of its lower end.
    double tolerance = 0.05;
    int64_t budget_ns = 0;
    int64_t duration_ns = 0;
    int64_t warmup_ns = 0;
    int64_t hold_ns = 0;
  };

  explicit LimitSearch(const Options& options) : options_(options) {}

  // The result of the step that Next chose. `elapsed_ns`: since the first step began.
  void Add(const LimitResult& result, int64_t elapsed_ns);

  // What to measure now; nothing: the search is over.
  std::optional<LimitStep> Next() const;

  LimitBounds bounds() const;
  // The load in `bounds().meets` was held.
  bool held() const;
  // Whether the storage was back at its baseline when the step with that result began, as far as a probe can show.
  bool recovered(size_t result) const { return RecoveryAfter(result) == Recovery::kDone; }
  // Writes per second of each queue manager where nothing holds them back; 0: not known.
  double maximum() const;
  // Load of the curve with the most writes per second for their mean response time (Kleinrock's power); 0: the curve
  // has fewer than three.
  double knee() const;
  // Why the search ended, or would end now, before it was done; empty: it is done, or goes on.
  std::string ended() const;
  // The last result of each load that the curve shows, by number, with rising load.
  std::vector<size_t> curve() const;
  const std::vector<LimitResult>& results() const { return results_; }

 private:
  // After an overload: the storage is back at its baseline, probes have to show it, or they were made in vain.
  enum class Recovery { kDone, kProbe, kInVain };

  bool over_rate() const { return options_.over == v1::LIMIT_OVER_RATE; }
  // What a step takes, with its warm-up and what comes between steps.
  int64_t CostNs(const LimitStep& step) const;
  bool Affords(const LimitStep& step, int64_t reserve_ns) const;
  // Whether the result is one of those that bracket the limit; and the last one of its load.
  bool Decides(const LimitResult& result) const;
  bool IsLast(const LimitResult& result) const;
  // The last result of the load among searched and held ones; null: there is none.
  const LimitResult* LastOf(double load) const;
  // How often the load has been measured and stayed undecided.
  int UndecidedCount(double load) const;
  // After the first so many results.
  Recovery RecoveryAfter(size_t results) const;
  LimitStep ProbeStep() const;
  std::optional<LimitStep> Probe() const;
  std::optional<LimitStep> Extension() const;
  std::optional<double> NextLoad() const;
  std::optional<LimitStep> CurvePoint() const;
  LimitStep CurveStep(double load) const;
  LimitStep Hold() const;

  const Options options_;
  std::vector<LimitResult> results_;
  int64_t elapsed_ns_ = 0;
};

}  // namespace plimsoll
