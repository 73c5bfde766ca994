// Logs the connections and calls that were refused: at most so many lines, however many come.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/units.h"

namespace plimsoll {

// Sums refusals by peer and reason. The first of a pair is reported at once, with the connection's own name; further
// ones are counted, and reported as a number every ten seconds. No more than `kLinesPerPeriod` lines come in ten
// seconds, and no more than `kMaxPairs` pairs are remembered; what is beyond is summed as "other peers". Thread-safe.
class Refusals {
 public:
  static constexpr int64_t kPeriodNs = 10 * kNsPerSecond;
  static constexpr int kLinesPerPeriod = 20;
  static constexpr size_t kMaxPairs = 256;

  using Print = std::function<void(const std::string& line)>;

  Refusals(const Clock& clock, Print print) : clock_(clock), print_(std::move(print)) {}

  // `who` is what is summed over ("10.0.0.5"), `name` this one ("10.0.0.5:41234"), `reason` why, without a full stop.
  void Add(const std::string& who, const std::string& name, const std::string& reason);
  // Reports the sums that are due; called about once a second.
  void Tick();

 private:
  struct Sum {
    uint64_t unreported = 0;
    MonotonicNs last_reported;
  };

  // Under mutex_. False: no line is left for this period.
  bool TakeLine(MonotonicNs now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(MonotonicNs now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  const Print print_;
  Mutex mutex_;
  std::map<std::pair<std::string, std::string>, Sum> sums_ ABSL_GUARDED_BY(mutex_);
  MonotonicNs period_start_ ABSL_GUARDED_BY(mutex_);
  int lines_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Without anything that could disturb a log: control characters and what is not ASCII as escapes, at most 400 bytes.
std::string PlainText(const std::string& text);

}  // namespace plimsoll
