// The intervals of a recording in which MQ wrote to its log: which of them a plan plays, and all of them as points.
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
  // Line of its heading.
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

// What a plan and its comments need of one interval, in little space: a week has 60,000 of them.
struct StoredInterval {
  size_t line = 0;
  // "2017-10-04 13:56:01.70" as 2017100413560170.
  int64_t put = 0;
  int64_t length_ms = 0;
  // Of each element that is stored; -1: not given.
  int64_t physical_bytes = -1;
  int64_t logical_bytes = -1;
  int64_t write_size = -1;
  int64_t latency_us = -1;
  int64_t slowest_us = -1;
  int64_t slowest_time = -1;

  static StoredInterval Of(const LogInterval& interval);
  // With the elements that are stored.
  LogInterval ToInterval() const;
};

// Which interval of a recording is played.
struct IntervalChoice {
  enum class By { kPeak, kPercentile, kLine };
  By by = By::kPeak;
  // By physical bytes per second, among the intervals with writes: 95 is the interval that 95 % of them do not exceed.
  double percentile = 100;
  // Line of its heading.
  size_t line = 0;

  // "the peak", "p95", "the interval at line 21".
  std::string Text() const;
};

// Reads "peak", "median", a percentile such as "p95" or "p99.9", or the line of an interval's heading.
absl::StatusOr<IntervalChoice> ParseIntervalChoice(const std::string& text);

// The interval of that rank by physical bytes per second (nearest rank); of intervals with the same figure, earlier
// ones rank higher. `intervals` is not empty.
const StoredInterval& IntervalAt(const std::vector<StoredInterval>& intervals, double percentile);

// Points of a sweep: the average write and the bytes per second of an interval, or of several.
struct LoadPoint {
  uint64_t write_size_bytes = 0;
  double bytes_per_second = 0;
  // So many intervals it stands for: itself, and those with fewer bytes per second down to the next point.
  uint32_t intervals = 1;
};

// The points of all intervals that have an average write, by rising bytes per second, at most `most` (10 or more). Of
// more, those at even distances by rank stay, with the highest one, p95 and the median (so that these are exact), and
// with those of the smallest and the largest writes.
std::vector<LoadPoint> LoadPoints(const std::vector<StoredInterval>& intervals, size_t most);

// Block sizes for writes of these sizes: powers of two that enclose them, from 4 KiB to `largest`. Ascending.
std::vector<uint64_t> SweepSizes(uint64_t smallest_write, uint64_t largest_write, uint64_t largest);

}  // namespace plimsoll
