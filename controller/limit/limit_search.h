// Decides what a search for the highest load measures next, and derives what is known about the limit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plimsoll/v1/limit_report.pb.h"

namespace plimsoll {

// What one step showed. Loads are operations per second of each queue manager, writes and reads together; queue
// managers of each host; clients of each queue manager; or load factors of a recording.
struct LimitResult {
  v1::StepPurpose purpose = v1::STEP_PURPOSE_UNSPECIFIED;
  // 0: as fast as possible.
  double load = 0;
  v1::LimitState state = v1::LIMIT_STATE_UNDECIDED;
  // Measured time.
  int64_t duration_ns = 0;
  // Operations per second of each queue manager on average.
  double rate = 0;
  // Mean response time over all hosts.
  double mean_ns = 0;
  // Median response time over all hosts; in a mixed run that of its writes or of its reads.
  double median_ns = 0;
  // The load generator may have been in the way: measuring for longer decides nothing then.
  bool generator_bound = false;
  // A criterion failed whose figures have no bounds of chance. Unless one failed in the step before at this load, too,
  // that decides nothing.
  bool failed_once = false;
  // In a mixed run, the median of the other operation; 0: it is not considered.
  double other_median_ns = 0;
};

// A step to measure.
struct LimitStep {
  v1::StepPurpose purpose = v1::STEP_PURPOSE_UNSPECIFIED;
  double load = 0;
  int64_t duration_ns = 0;
};

// What is known about the limit.
struct LimitBounds {
  // Highest load that meets the criteria and is below every load that was shown to exceed them; 0: none.
  double meets = 0;
  // Index of its result.
  size_t meets_result = 0;
  // Lowest load that was shown to exceed them, and is above `meets` if it is a point of the curve alone.
  std::optional<double> exceeds;
  // Lowest load above `meets` that is not certain to meet them: `exceeds`, or one that remained undecided.
  std::optional<double> above;
  // Highest load below `exceeds` that remained undecided; `meets` if there is none above it.
  double undecided = 0;
};

// A pure function of the results and their times: the same results lead to the same steps. The plan's first step is a
// probe at a low load. The search then measures the maximum (without a target rate, or at the highest load), and probes
// for the baseline to which the storage must return after each overload. It brackets the limit, bisects the bracket,
// and holds the answer for longer; the bracket's upper end is measured once more then. Undecided loads are measured
// again, each time for twice as long, unless the load generator is in the way: then the search goes down. Points that
// the load-latency curve still lacks come last; one that fails by what a single event can do is measured once more.
// Loads that contradict one another end the search. Not thread-safe.
class LimitSearch {
 public:
  struct Options {
    v1::LimitOver over = v1::LIMIT_OVER_RATE;
    // Highest load of a search over anything but the rate.
    double most_load = 0;
    // Queue managers on all hosts, and on the host with the fewest.
    double writers = 1;
    double host_writers = 1;
    // The share of the operations that the curve's latencies are of.
    double curve_share = 1;
    // Width of the bracket at which the search ends, as a share of its lower end.
    double tolerance = 0.05;
    int64_t budget_ns = 0;
    int64_t duration_ns = 0;
    int64_t warmup_ns = 0;
    int64_t hold_ns = 0;
    // RunBegin::verdict_rules. Below 4, searches did not measure the upper end again, took no contradiction from their
    // results, nor an upper end from the curve, and measured all undecided loads for longer. Below 5, they measured no
    // point of the curve again, and took an upper end for granted that the budget left unchecked.
    uint32_t rules = 5;
  };

  explicit LimitSearch(const Options& options) : options_(options) {}

  // Adds the result of the step that Next returned. `elapsed_ns`: time since the first step began.
  void Add(const LimitResult& result, int64_t elapsed_ns);

  // The step to measure next; nothing: the search is over.
  std::optional<LimitStep> Next() const;

  LimitBounds bounds() const;
  // The load that `bounds().exceeds` is; nothing where the answer was held and that load not measured once more since.
  std::optional<double> upper_end() const;
  // Whether the load `bounds().meets` was held.
  bool held() const;
  // Two results, the earlier one first, of which one met the criteria at the load of the other, which exceeded them, or
  // at a higher one: the storage changed between them. Of several such pairs one that is nearest to each other. Points
  // of the curve that failed once exceed the criteria where there are two of them.
  struct Contradiction {
    size_t first = 0;
    size_t second = 0;
  };
  std::optional<Contradiction> contradiction() const;
  // Whether the storage was back at its baseline when the step of that result began, as far as a probe can show.
  bool recovered(size_t result) const { return RecoveryAfter(result) == Recovery::kDone; }
  // Time that is left of the budget.
  int64_t left_ns() const { return std::max<int64_t>(options_.budget_ns - elapsed_ns_, 0); }
  // Operations per second of each queue manager without a target rate; 0: unknown.
  double maximum() const;
  // The load of the curve with the highest ratio of operations per second to mean response time (Kleinrock's power); 0:
  // the curve has fewer than three points.
  double knee() const;
  // Why the search ended early, or would end now; empty: it is complete, or continues.
  std::string ended() const;
  // Indexes of the last result of each load on the curve, in order of load.
  std::vector<size_t> curve() const;
  const std::vector<LimitResult>& results() const { return results_; }

 private:
  // After an overload: the storage is back at its baseline, probes must still show it, or they failed to show it. In
  // ascending order of what is left to be shown.
  enum class Recovery { kDone, kProbe, kInVain };

  bool over_rate() const { return options_.over == v1::LIMIT_OVER_RATE; }
  bool over_clients() const { return options_.over == v1::LIMIT_OVER_CLIENTS; }
  bool over_load_factor() const { return options_.over == v1::LIMIT_OVER_LOAD_FACTOR; }
  // Loads are whole numbers.
  bool counts() const { return !over_rate() && !over_load_factor(); }
  // Operations per second that each queue manager makes of a rate or a load factor, as far as the maximum shows it.
  double RateOf(double load) const;
  // How long a step takes, with its warm-up and the time between steps.
  int64_t CostNs(const LimitStep& step) const;
  bool Affords(const LimitStep& step, int64_t reserve_ns) const;
  // Whether the result is one of those that bracket the limit.
  bool Decides(const LimitResult& result) const;
  // Whether its load can be compared with those of others.
  bool IsOnCurve(const LimitResult& result) const;
  // Whether it is one of them, and the last one of its load.
  bool IsLast(const LimitResult& result) const;
  // The last such result of the load; null: none.
  const LimitResult* LastOf(double load) const;
  // How often the load has been measured and remained undecided.
  int UndecidedCount(double load) const;
  // The state of recovery after the first `results` results, by the median that is further from its baseline.
  Recovery RecoveryAfter(size_t results) const;
  // The state of recovery by one of the medians of LimitResult.
  Recovery RecoveryBy(double LimitResult::* median_ns, size_t results) const;
  LimitStep ProbeStep() const;
  std::optional<LimitStep> Probe() const;
  std::optional<LimitStep> Extension() const;
  std::optional<double> NextLoad() const;
  // Points of the curve below the answer that failed once and were not measured again.
  std::vector<size_t> FailedOnce() const;
  // The next step of the curve: at a point that failed once, if the budget has room for it, or at a new one.
  std::optional<LimitStep> CurvePoint() const;
  std::optional<LimitStep> NewCurvePoint() const;
  LimitStep CurveStep(double load) const;
  LimitStep Hold() const;
  // Measures the bracket's upper end a second time, after the hold, for as long as the first measurement took; nothing
  // where there is no upper end or that was done.
  std::optional<LimitStep> Check() const;

  const Options options_;
  std::vector<LimitResult> results_;
  int64_t elapsed_ns_ = 0;
};

}  // namespace plimsoll
