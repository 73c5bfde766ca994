// How much of the traces of a run is kept.
#pragma once

#include <cstdint>

#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Counts the traces that come, up to the limit of the plan. One thread.
class TraceLimit {
 public:
  explicit TraceLimit(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // Drops the traces that an agent keeps sending after StopTrace; their writes count as untraced. Counts the others,
  // and returns true once: when the limit is reached, and the agents have to stop tracing.
  bool Take(v1::FrameBatch& frames);

 private:
  const uint64_t limit_bytes_;
  uint64_t bytes_ = 0;
  bool stopped_ = false;
};

}  // namespace plimsoll
