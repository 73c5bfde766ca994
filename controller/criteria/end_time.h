// The time of day at which a run has to be over (`end_by`).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"

namespace plimsoll {

// "04:30" or "04:30:15", the next time that this machine's clock shows it after `now`, or "2026-03-01 04:30". Where a
// change to or from summer time makes it two moments, or none, the earlier of the two that may be meant.
// INVALID_ARGUMENT where it is none of these, or is over.
absl::StatusOr<WallNs> ParseEndTime(const std::string& text, WallNs now);

// "04:30:00 CET (2026-03-01 03:30:00 UTC)".
std::string EndTimeText(WallNs moment);

}  // namespace plimsoll
