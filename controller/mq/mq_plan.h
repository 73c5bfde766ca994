// From MQ's description of its logs to a plan.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/mq/mq_files.h"

namespace plimsoll {

struct MqPlan {
  // The plan, with comments that name the source of each value and what is unknown.
  std::string yaml;
  // "2 queue managers, 3 extents of 64 MiB each, blocks of 300 KiB, 1,202.31 writes/s each".
  std::string brief;
  // What was chosen where a plan cannot express everything, and what was left out.
  std::vector<std::string> notes;
};

// Size of a block for writes of `average_bytes` on average: the nearest whole number of log pages (4096 bytes), at
// least one.
uint64_t BlockSizeFor(int64_t average_bytes);

// Writes per second for blocks of that size: so many that neither the writes nor the bytes per second of the interval
// are undercut.
double RateFor(const LogInterval& interval, uint64_t block_size_bytes);

// Directories in place of the logs' own; both empty: none.
struct MqPlaces {
  // For all queue managers.
  std::string dir;
  // For each, in the order of the logs.
  std::vector<std::string> qm_dirs;
};

// Which load of the recordings the plan has.
struct MqLoad {
  // Of each recording; the one with the most bytes per second is played.
  IntervalChoice interval;
  // In place of one interval: measure the storage at the write sizes of all of them, and keep these as points (mq_log).
  bool sweep = false;
};

// One plan for all of `logs`, at least one, with a queue manager in each LogPath, or where `places` has it; where a log
// has no LogPath that a plan can name, the plan has no directory, with a note. A plan has one load and one size of log
// for all queue managers of a host: the largest log, and of the chosen interval of each recording the one with the most
// bytes per second are taken, with a note. INVALID_ARGUMENT, a line each, where two queue managers have one LogPath, a
// plan cannot hold a value, a recording has no such interval, or a sweep has no recording.
absl::StatusOr<MqPlan> MakeMqPlan(const std::vector<QmLog>& logs, const std::vector<LogRecording>& recordings,
                                  const MqPlaces& places = {}, const MqLoad& load = {});

}  // namespace plimsoll
