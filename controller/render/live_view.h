// What a person sees of a run that is under way: a table for a terminal, or lines, those of --interval too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/units.h"
#include "controller/analysis/live_stats.h"

namespace plimsoll {

enum class LiveStyle { kPlain, kBold, kDim, kGood, kUnsure, kBad };

// Text of one style. It holds no control characters.
struct LiveSpan {
  std::string text;
  LiveStyle style = LiveStyle::kPlain;
};
using LiveLine = std::vector<LiveSpan>;

// With the escape codes of its styles where `color`.
std::string EncodeLine(const LiveLine& line, bool color);

// Everything that the table shows. Texts may come from agents.
struct LiveView {
  LiveSnapshot now;
  // LogStep.read_percent of the step. Figures are those of its main operation.
  uint32_t read_percent = 0;
  // Seconds of this step, oldest first.
  std::vector<LiveSecond> seconds;
  std::vector<LiveCriterion> criteria;
  // Oldest first; `stalls_so_far` counts those of the step that are over.
  std::vector<LiveStall> stalls;
  uint64_t stalls_so_far = 0;
  // Oldest first.
  std::vector<std::string> messages;
  // What happens instead of measuring; empty: measuring.
  std::string phase;
  // For a step that was chosen: what it is, with what was known before it, and the time that was left then; empty: the
  // plan has the step.
  std::string outlook;
  int64_t left_ns = 0;
};

// An operation in flight for this long is shown.
inline constexpr int64_t kLongInFlightNs = kNsPerSecond;
// "node1/qm2 in one write for 12 s". `read_percent`: as in LiveView.
std::string InOneWriteText(const std::string& writer, int64_t age_ns, uint32_t read_percent);

// "4 min 10 s of the budget left".
std::string BudgetText(int64_t left_ns);

// A pure function. No line is wider than `width` and there are no more than `height`: columns, rows and sections that
// do not fit are left out, the least important first, and hosts that do not fit are counted.
std::vector<LiveLine> DrawLive(const LiveView& view, size_t width, size_t height);

// One second as a line: the cluster, the worst of several hosts, and hosts that make no progress. `read_percent`: as in
// LiveView.
std::string SecondLine(const LiveSnapshot& now, const LiveSecond& second, uint32_t read_percent = 0);
// The line where there is nothing to show of a second.
std::string WaitingLine(const LiveSnapshot& now, uint32_t read_percent = 0);
// "stall at 12.3 s for 1.240 s: alpha/qm1, beta/qm1".
std::string StallLine(const LiveStall& stall);

// Makes a line of every row, at most 80 columns wide unless figures grow beyond what any run reaches. A heading stands
// above the first line of a step and above every tenth; where the largest latency of the step grows, a warning follows
// with the old one and the new one. Not thread-safe.
class IntervalLines {
 public:
  explicit IntervalLines(int64_t interval_ns) : interval_ns_(interval_ns) {}

  // Sets what rows are about: reads where all operations read, else writes. `read_percent`: as in the plan.
  void SetReadPercent(uint32_t read_percent) { read_percent_ = read_percent; }
  // The lines that the row adds, without line breaks.
  std::vector<std::string> Add(const IntervalRow& row);

 private:
  void AddHeading(std::vector<std::string>& lines) const;

  int64_t interval_ns_;
  uint32_t read_percent_ = 0;
  uint32_t step_ = 0;
  uint32_t lines_ = 0;
};

}  // namespace plimsoll
