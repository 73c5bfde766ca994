// Distributions of whole seconds from the frames of many writers.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/histogram.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// A stretch of a step with the distribution of its writes. Times are from the step's measured start.
struct IntervalRow {
  // Place of the writer; kAllWriters for all of them.
  static constexpr uint32_t kAllWriters = UINT32_MAX;
  uint32_t writer = kAllWriters;
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  // The writes that were in flight when the step ended.
  bool closing = false;
  Histogram latency;
};

// A step's frames by whole seconds of the timeline, first all writers' row of a second, then each writer's. Where
// frames cover several seconds a row is as long. Holds the rows of seconds that some writer has not passed. Not
// thread-safe.
class IntervalRows {
 public:
  using Visit = std::function<absl::Status(const IntervalRow&)>;
  struct Shape {
    int64_t interval_ns = 0;
    int64_t duration_ns = 0;
    int64_t warmup_ns = 0;
  };

  // `frames` tells how many frames each writer has in the step, by place: after so many it holds nothing up.
  IntervalRows(const Shape& shape, const std::map<uint32_t, uint64_t>& frames, Visit visit);

  // A frame of the writer, in the order in which they came. `closing_to_ns`: for a closing frame, the end of its last
  // write. Passes on what `visit` returns.
  absl::Status Add(uint32_t writer, const v1::Frame& frame, int64_t closing_to_ns);
  // Visits what is left. Once, at the end.
  absl::Status Finish();

 private:
  struct Row {
    // Seconds that it covers, both included.
    int64_t first = 0;
    int64_t last = 0;
    IntervalRow row;
  };
  struct Lane {
    std::deque<Row> rows;
    uint64_t frames_left = 0;
    // The first second that is not complete.
    int64_t open_second = INT64_MIN;
  };

  int64_t SecondOf(int64_t moment_ns) const;
  absl::Status VisitBelow(int64_t second);
  absl::Status VisitGroup(std::vector<Row>& group);

  const Shape shape_;
  const Visit visit_;
  std::map<uint32_t, Lane> lanes_;
  std::vector<IntervalRow> closing_;
};

}  // namespace plimsoll
