// Frames of one operation of a writer that follow one another, folded into one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/histogram.h"
#include "controller/fold/aged_seconds.h"
#include "controller/fold/served_span.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Whether a frame may be folded. One that may not stays whole: it is folded already, is a closing one, belongs to the
// warm-up, covers parts of several seconds, has a field that this version does not know, left stall intervals out, or
// contradicts itself.
bool CanFold(const v1::Frame& frame, int64_t intervals_per_second);

// Adds frames up. What any sum of frames has is exact in the result: counts, sums, extremes, the distribution, the ten
// slowest writes, stall intervals and trace blocks. Not thread-safe.
class FoldedFrame {
 public:
  explicit FoldedFrame(int64_t intervals_per_second) : intervals_per_second_(intervals_per_second) {}

  // Adds a frame that CanFold allows. Returns false, and changes nothing, where it does not follow the last one: its
  // intervals, its writes or its stalls do not go on where the others end.
  bool Add(const v1::Frame& frame);

  // No frame was added since the last Take.
  bool empty() const { return frames_ == 0; }
  // Median of the service times; 0: none.
  int64_t median_ns() const { return static_cast<int64_t>(latency_.PercentileNs(50)); }
  // The folded frame; it is empty after. Not called where it is empty.
  v1::Frame Take();

 private:
  bool Continues(const v1::Frame& frame, const std::optional<ServedSpan>& served) const;
  void AddToSecond(const v1::Frame& frame);
  void SetAged(v1::AgedSeconds& aged) const;

  const int64_t intervals_per_second_;
  // Every field but the distributions and the seconds.
  v1::Frame sum_;
  Histogram latency_;
  Histogram response_;
  // Their numbers are not set.
  std::vector<AgedSecond> seconds_;
  uint64_t frames_ = 0;
  int64_t next_interval_ = 0;
  // Number of the write after the last one; 0: none so far.
  uint64_t next_seq_ = 0;
  int64_t last_stall_end_ns_ = 0;
  std::optional<ServedSpan> served_;
};

}  // namespace plimsoll
