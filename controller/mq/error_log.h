// Restarts of queue managers, read from their error logs: AMQERR01.LOG and the older files that MQ rotates it to, and
// the JSON logs beside them (AMQERR01.json).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "plimsoll/v1/restart_plan.pb.h"

namespace plimsoll {

// A larger file is INVALID_ARGUMENT. MQ rotates at 32 MiB, unless qm.ini has another ErrorLogSize.
inline constexpr size_t kMostErrorLogBytes = size_t{64} << 20U;

struct ErrorLogText {
  // Path, for messages and for RealRestart.file.
  std::string file;
  std::string text;
};

struct RestartLog {
  // By the time at which they began.
  std::vector<v1::RealRestart> restarts;
  // What was left out, and how uncertain times were read: a sentence each.
  std::vector<std::string> notes;
  // Notes by which a restart may have taken longer than any in the list: starts without an end, ends
  // without a start, and channel initiators that started late.
  std::vector<std::string> doubts;
};

// Finds the restarts of each queue manager (QMgr(...), ibm_serverName). Entries of all files are merged by time; an
// entry that several files hold counts once. The order of the files does not matter.
//
// A restart begins with AMQ5051I of the task LOGGER-IO. It ends with AMQ8024I (channel initiator started), or, if none
// follows within 10 minutes and before LOGGER-IO ends or starts again, with AMQ8003I (queue manager started); then
// `without_channel_initiator` is set. `records` is the largest count of AMQ7229I between. A start that reaches neither
// end is left out with a note, and so is an end whose start is not in the files. Messages may be in any language, with
// or without their severity (AMQ5051, AMQ5051I).
//
// Times are those of Time(...) or ibm_datetime, in UTC. An entry without them counts if its date is yyyy-mm-dd; any
// other date is INVALID_ARGUMENT, and so is a file without an entry of MQ, a line for each problem of all files:
//   AMQERR01.LOG:12: the date '11/22/17 04:20:46 PM' depends on the host's locale and could mean two days, and ...
// An empty file is left out with a note: MQ creates AMQERR02.LOG and AMQERR03.LOG empty.
absl::StatusOr<RestartLog> FindRestarts(const std::vector<ErrorLogText>& logs);

// Does the same with files, in little more memory than the entries of starts and ends need. A file that cannot be read
// is INVALID_ARGUMENT as well.
absl::StatusOr<RestartLog> ReadRestarts(const std::vector<std::string>& paths);

}  // namespace plimsoll
