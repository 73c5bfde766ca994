// What a plan plays in place of simulated clients: recorded log writes (docs/playback.md).
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "plimsoll/v1/group_commit.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Whether a recording makes the log writes.
inline bool PlaysPattern(const v1::TestPlan& plan) {
  return plan.group_commit().has_pattern();
}
// Whether the recorded writes are issued as they are (--playback writes), so that the run is never judged.
inline bool PlaysWritesAsRecorded(const v1::TestPlan& plan) {
  return PlaysPattern(plan) && plan.group_commit().playback() == v1::PLAYBACK_MODE_WRITES;
}

// The label of such a run, in every output.
inline constexpr char kNotWhatMqIssues[] = "not what MQ would issue here";

// "1.5 times as fast as recorded".
inline std::string LoadFactorText(double factor) {
  return factor == 1 ? "as fast as recorded" : absl::StrCat(factor, " times as fast as recorded");
}

}  // namespace plimsoll
