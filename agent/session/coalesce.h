// Making one frame of two, for a controller that reads more slowly than the writers write.
#pragma once

#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Adds `later`, of the same writer and step, to `frame`: counts, sums and histograms are added exactly, the interval
// range grows, the ten slowest writes of both are kept and their stalls up to StallWatch::kMostStalls, the rest of
// which is counted; the moment-in-time fields are those of `later`. With `keep_trace` false the trace blocks of `later`
// are dropped and its writes counted as untraced.
void CoalesceFrame(v1::Frame&& later, bool keep_trace, v1::Frame& frame);

// Adds every frame of `later` to its writer's in `batch` (closing frames only to closing ones), or appends it. Of two
// samples of the host the later one stays, with the recorder's pauses (up to kMostPauses, the rest is counted) and the
// largest lateness of both.
inline constexpr int kMostPauses = 10'000;
void CoalesceBatch(v1::FrameBatch&& later, bool keep_trace, v1::FrameBatch& batch);

// Drops the trace blocks of every frame and counts their writes as untraced.
void DropTraces(v1::FrameBatch& batch);

}  // namespace plimsoll
