// How long writes that were never started had been due.
#pragma once

#include <cstdint>

#include "agent/log/rate_schedule.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// The distribution of end_ns - schedule.DueAt(n) over the writes n in [from, to), of which each is due before `end_ns`:
// the same as recording them one by one in a Histogram, but by the edges of its buckets, in some milliseconds however
// many writes there are. Only the sum of random arrivals takes as many steps as there are writes: a second for the
// 2^24 of `most_summed`. The sum of more than that is accurate to 0.01 %.
v1::Distribution UnservedAges(const RateSchedule& schedule, uint64_t from, uint64_t to, int64_t end_ns,
                              uint64_t most_summed = uint64_t{1} << 24);

}  // namespace plimsoll
