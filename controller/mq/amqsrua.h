// What `amqsrua -m QM -c DISK -t Log` printed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace plimsoll {

// Elements of DISK/Log, by MQ's number.
enum class LogElement : size_t {
  kBytesInUse,
  kBytesMax,
  kFileSystemBytesInUse,
  kFileSystemBytesMax,
  kPhysicalBytesWritten,
  kLogicalBytesWritten,
  kWriteLatency,
  kPrimarySpaceInUse,
  kPrimarySpaceWorkload,
  kMediaRecoveryBytes,
  kReusableBytes,
  kArchiveBytes,
  kWriteSize,
  kFileSystemFree,
  kDiskLsn,
  kQuorumLsn,
  kSlowestWrite,
  kSlowestWriteTime,
};
inline constexpr size_t kLogElements = 18;

// One publication: what the logger did in one interval.
struct LogInterval {
  // Of its heading.
  size_t line = 0;
  // "2017-10-04 13:56:01.70", when it was put; MQ has these in GMT.
  std::string put;
  int64_t length_ms = 0;
  // By LogElement; percentages in hundredths, everything else in the unit that is printed.
  std::array<std::optional<int64_t>, kLogElements> values;

  std::optional<int64_t> value(LogElement element) const { return values[static_cast<size_t>(element)]; }
  // Physical bytes by the interval's length; 0 where they are not given.
  double BytesPerSecond() const;
  // By the average size of a write; 0 where that is not given.
  double WritesPerSecond() const;
};

// A file of publications.
struct LogRecording {
  std::string file;
  uint64_t publications = 0;
  // Those in which MQ wrote to the log.
  uint64_t with_writes = 0;
  // Most physical bytes per second.
  LogInterval busiest;
  // Most writes per second.
  LogInterval most_writes;
  // What was left out, a sentence each.
  std::vector<std::string> notes;
};

// Reads all publications. Names of elements in either case; an interval of any length; a rate that is left out is
// computed, and one that contradicts its count is an error. Publications that cannot be judged (other classes, shorter
// than 10 ms) and elements that later versions may add are left out with a note. Anything else, and a file in which MQ
// wrote nothing, is INVALID_ARGUMENT, a line each:
//   log.txt:7: 'User CPU time percentage' is no element of DISK/Log; make the file with 'amqsrua -m QM -c DISK -t Log'
absl::StatusOr<LogRecording> ReadAmqsrua(const std::string& text, const std::string& file_name);

}  // namespace plimsoll
