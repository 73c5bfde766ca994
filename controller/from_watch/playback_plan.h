// The plan that plays a recording.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "controller/from_watch/watch_recording.h"
#include "plimsoll/v1/group_commit.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// What the plan names and how it plays.
struct PlaybackChoice {
  // Results of the watch as the user named them, for the command that compares.
  std::string results;
  // Absolute path of the pattern file, and its digest.
  std::string pattern;
  std::string sha256;
  v1::PlaybackMode playback = v1::PLAYBACK_MODE_DEMAND;
  double load_factor = 1;
};

// The plan in YAML, with comments: what was recorded, what keeps it from being complete, with which latencies to
// compare, and what is not simulated. It has no directory; with one, CheckPlan passes it. `report` is that of the
// recording's watch.
absl::StatusOr<std::string> MakePlaybackPlan(const v1::Report& report, const WatchRecording& recording,
                                             const PlaybackChoice& choice);

// "2 queue managers, 161,208 writes in 60s".
std::string RecordingInBrief(const WatchRecording& recording);

}  // namespace plimsoll
