#include "controller/run/trace_limit.h"

#include <string>

namespace plimsoll {
namespace {

// An agent stops sending traces at StopTrace; what was in transit is far less. This bounds the cost of one that does
// not.
constexpr uint64_t kOnTheirWayBytes = uint64_t{32} << 20;

uint64_t TraceBytes(const v1::Frame& frame) {
  uint64_t bytes = 0;
  for (const std::string& block : frame.trace()) bytes += block.size();
  return bytes;
}

}  // namespace

bool TraceLimit::Take(v1::FrameBatch& frames) {
  uint64_t bytes = bytes_;
  for (v1::Frame& frame : *frames.mutable_frames()) {
    bytes += TraceBytes(frame);
    if (!stopped_ || frame.trace().empty() || bytes < limit_bytes_ + kOnTheirWayBytes) continue;
    frame.clear_trace();
    frame.set_untraced_writes(frame.latency().count());
  }
  for (const v1::Frame& frame : frames.frames()) bytes_ += TraceBytes(frame);
  if (stopped_ || bytes_ < limit_bytes_) return false;
  stopped_ = true;
  return true;
}

}  // namespace plimsoll
