// The course of a step as lines, as `--interval` prints them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/analysis/live_stats.h"

namespace plimsoll {

// Makes a line of every row, at most 80 columns wide unless figures grow beyond what any run reaches. A heading stands
// above the first line of a step and above every tenth; where the largest latency of the step grows, a warning follows
// with the old one and the new one. Not thread-safe.
class IntervalLines {
 public:
  explicit IntervalLines(int64_t interval_ns) : interval_ns_(interval_ns) {}

  // The lines that the row adds, without line breaks.
  std::vector<std::string> Add(const IntervalRow& row);

 private:
  void AddHeading(std::vector<std::string>& lines) const;

  int64_t interval_ns_;
  uint32_t step_ = 0;
  uint32_t lines_ = 0;
};

}  // namespace plimsoll
