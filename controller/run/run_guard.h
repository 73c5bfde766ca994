// Ends a run that harms what it should not: by conditions on its own figures, at a time of day, and for what else asks
// it to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "controller/criteria/abort_condition.h"
#include "controller/live/live_feed.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// What is left of the time until --end-by for ending the last writes and removing the files.
inline constexpr int64_t kCleanUpReserveNs = 15 * kNsPerSecond;
// A guard that has had no figures of a running step for so long cannot guard, and ends it.
inline constexpr int64_t kGuardBlindNs = 5 * kNsPerSecond;

// Looks at every second of a step, the warm-up's too, once its figures are complete, which they are within 0.75 s of
// its end. A write that has not returned counts with the time for which it has been in flight: in max, and in
// percentiles and avg where no write of its host (@host), or of any host, ended in that second. A second without
// anything to look at changes nothing. One thread, that of the run.
class RunGuard final : public LiveObserver {
 public:
  // Steps have to be over kCleanUpReserveNs before `moment`, which `text` has in words.
  struct End {
    MonotonicNs moment;
    std::string text;
  };
  RunGuard(std::vector<AbortCondition> conditions, std::optional<End> end)
      : conditions_(std::move(conditions)), runs_(conditions_.size()), end_(std::move(end)) {}

  // That of the plan; null where it has none of abort_if, end_by and journal_limit, whose size the caller lets it Ask
  // for. INVALID_ARGUMENT where `end_by` is over.
  static absl::StatusOr<std::shared_ptr<RunGuard>> Make(const v1::TestPlan& plan, const Clock& clock);

  // What else may end the run: returns why, or an empty text. Called on the thread of the run.
  void Ask(std::function<std::string(MonotonicNs now)> must_stop) { others_.push_back(std::move(must_stop)); }
  // What the report says at the end: sentences, or empty texts.
  void Tell(std::function<std::string()> note) { notes_.push_back(std::move(note)); }

  // Why the run must end; empty: it need not. What it once was stays so.
  std::string MustStop(MonotonicNs now);
  // Why what takes so long may not begin now; empty: it may.
  std::string MayNotBegin(int64_t length_ns, MonotonicNs now) const;
  // Once the files are removed: what to know.
  std::vector<std::string> Notes(MonotonicNs now) const;
  const std::optional<End>& end() const { return end_; }

  LiveWant Wants(LivePhase phase) const override;
  void OnMoment(const std::shared_ptr<const LiveMoment>& moment) override;

 private:
  // Seconds in a row of which a condition is true, and its values in them.
  struct Run {
    uint32_t seconds = 0;
    double least = 0;
    double most = 0;
  };
  void Look(const LiveSecond& second, uint32_t step);
  // Why the run must end now.
  std::string ReasonNow(MonotonicNs now) const;

  const std::vector<AbortCondition> conditions_;
  std::vector<Run> runs_;  // by condition
  const std::optional<End> end_;
  std::vector<std::function<std::string(MonotonicNs now)>> others_;
  std::vector<std::function<std::string()>> notes_;
  // The step whose seconds are looked at, and the last of them; -1: none.
  uint32_t step_ = 0;
  int64_t second_ = -1;
  // Since when figures are due; nothing: no step runs.
  std::optional<MonotonicNs> waiting_since_;
  std::string reason_;
};

}  // namespace plimsoll
