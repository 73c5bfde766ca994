// The recording that a plan plays: opened before any agent is asked, and shared out over the writers of all hosts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/fleet/fleet.h"
#include "controller/playback/pattern_file.h"
#include "plimsoll/v1/group_commit.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// The plan's pattern file, checked as a whole; nothing for a plan without one. The error names the file.
absl::StatusOr<std::optional<PatternFile>> OpenRecording(const v1::TestPlan& plan);

// What one host plays of a recording.
struct HostRecording {
  v1::PatternParts parts;
  // The file's number of each of the host's streams, in rising order.
  std::vector<uint32_t> streams;
};
// By host. The writers of all hosts, in order, play the streams of the file in order, and begin again with the first
// one if there are more writers than streams. A host gets each of its streams once.
std::vector<HostRecording> ShareRecording(const v1::PatternHeader& recording,
                                          const std::vector<v1::LogWorkload>& workloads);

// What a reader of the run must know of the recording, in sentences: whose writes it has, first of all, and what of it
// the plan does not play, or not as it was. The plan has its defaults.
std::vector<std::string> RecordingNotes(const v1::PatternHeader& recording, const v1::TestPlan& plan,
                                        const std::vector<v1::LogWorkload>& workloads);

// A table of the recorded queue managers, and of the writers that play them: lines without line ends.
std::vector<std::string> DescribeRecording(const PatternFile& file, const std::vector<std::unique_ptr<Host>>& hosts,
                                           const std::vector<v1::LogWorkload>& workloads);

}  // namespace plimsoll
