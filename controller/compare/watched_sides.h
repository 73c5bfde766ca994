// Comparing a watched program with a run that writes as it does: the one step of a watch has writes of any size.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/compare/comparable.h"
#include "plimsoll/v1/compare.pb.h"

namespace plimsoll {

// Whether a run of some side was watched.
bool HasWatch(const std::vector<SideInput>& sides);

// Where some run was watched: gives the steps of all runs the one size that a watch has, mixed. FAILED_PRECONDITION
// where another run measured several block sizes, other than that of the watch. Changes nothing without a watch.
absl::Status AlignWithWatched(std::vector<SideInput>& sides);

// What to know of a comparison with a watch, as sentences; none without one.
std::vector<std::string> WatchWarnings(const std::vector<SideInput>& sides);

// How the sides differ in what they write: what wrote, how large and how often; first those of a storage. None without
// a watch, where the options of the plans say it.
std::vector<v1::ComparedDifference> WatchDifferences(const std::vector<SideInput>& sides);

}  // namespace plimsoll
