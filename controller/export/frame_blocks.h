// The trace blocks of one frame, checked against it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/trace_codec.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// What one block of a frame holds.
struct BlockContents {
  uint64_t writes = 0;
  // Number of its first write in the step; 0: not known.
  uint64_t first_seq = 0;
};

// Unpacks every block of `frame` and compares it with the frame's figures. INVALID_ARGUMENT where a block is not well
// made or they contradict each other: another number of writes, moments that no clock shows or that go back, or, where
// no write is untraced, another sum, minimum or maximum.
//
// Where some writes of the frame are in no block, a block's numbers are known only if it begins with the frame's first
// write or ends with its last one. `scratch` is overwritten.
absl::StatusOr<std::vector<BlockContents>> ReadFrameBlocks(const v1::Frame& frame, std::vector<TracedWrite>& scratch);

}  // namespace plimsoll
