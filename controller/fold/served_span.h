// What a frame proves of the storage's service.
#pragma once

#include <cstdint>
#include <optional>

#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Writes of one writer that followed one another. Moments are the host's clock.
struct ServedSpan {
  // Start of the first write and end of the last one.
  int64_t first_start_ns = 0;
  int64_t last_end_ns = 0;
  // The latest moment at which the first write ended, and the earliest at which the last one began.
  int64_t first_end_ns = 0;
  int64_t last_start_ns = 0;
  // Every span of time between the first start and the last end that is longer held at least one whole write. 0: the
  // span is a single write.
  int64_t longest_gap_ns = 0;

  // Adds writes that began after these had ended.
  void Append(const ServedSpan& later);
};

// The writes of a frame. Nothing where it has none, or where its figures cannot be those of writes that followed one
// another.
std::optional<ServedSpan> ServedBy(const v1::Frame& frame);

}  // namespace plimsoll
