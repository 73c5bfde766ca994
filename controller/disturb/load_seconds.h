// The load of a step by second: what it was before anything disturbed it, and when it is again as before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plimsoll/v1/step.pb.h"

namespace plimsoll {

// Seconds in a row that show that the load is as before, and that a baseline has at least.
inline constexpr size_t kCalmSeconds = 3;
// A second is as before if its writes are at least so many percent of the least of the baseline's seconds, and its
// average latency at most so many percent of the largest.
inline constexpr double kLeastWritesPercent = 90;
inline constexpr double kMostLatencyPercent = 110;

// Of all hosts together.
struct LoadSecond {
  // Only the sum over several seconds is known.
  bool averaged = false;
  // A write of a queue manager that was in flight for a second or longer was so in this one, too: among many writers,
  // neither number nor average shows it.
  bool paused = false;
  uint64_t writes = 0;
  double average_ns = 0;
};

// The whole seconds of the measured time: number n begins n seconds after its beginning. Latencies are response times
// where the step has a target rate: they show a backlog until it is worked off, while the writes of that time are more
// than before.
std::vector<LoadSecond> LoadSecondsOf(const v1::StepReport& step);

struct LoadBaseline {
  uint32_t seconds = 0;
  double writes_per_second = 0;
  uint64_t least_writes = 0;
  double most_average_ns = 0;
};

// The seconds that end by `until_ns` after the beginning. Nothing if fewer than kCalmSeconds of them are known, or one
// has no write: the load is too small to compare seconds.
std::optional<LoadBaseline> BaselineOf(const std::vector<LoadSecond>& seconds, int64_t until_ns);

bool IsAsBefore(const LoadSecond& second, const LoadBaseline& baseline);

// A time of the step, from its beginning.
struct StepTime {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// Whether the phase has kCalmSeconds whole seconds after the one in which it begins. A shorter one does not show
// whether the load is as before.
bool IsLongEnough(const std::vector<LoadSecond>& seconds, StepTime phase);

// How long after the beginning of `phase` the load is as before: 0 where each second of it is, that in which it begins
// included. Otherwise the first of kCalmSeconds seconds in a row that are as before decides, after the first second
// that is not, and after `pause`, the longest one of the phase, if a second that is not as before overlaps it: a
// command may take a while before it disturbs anything. Nothing where that does not come before the phase ends, or the
// phase is not long enough.
std::optional<int64_t> RecoveryOf(const std::vector<LoadSecond>& seconds, const LoadBaseline& baseline, StepTime phase,
                                  StepTime pause);

}  // namespace plimsoll
