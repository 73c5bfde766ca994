#include "controller/analysis/live_stats.h"

#include <algorithm>

namespace plimsoll {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
// A host number beyond this is not one of ours.
constexpr size_t kMaxHosts = 1 << 16;

}  // namespace

void LiveStats::Add(const v1::JournalRecord& record) {
  if (record.has_run_begin() && record.run_begin().frame_interval_ns() > 0) {
    intervals_per_second_ = std::max<int64_t>(1, kNsPerSecond / record.run_begin().frame_interval_ns());
  } else if (record.has_step_begin()) {
    std::fill(hosts_.begin(), hosts_.end(), PerHost());
  } else if (record.has_frames() && record.frames().host() < kMaxHosts) {
    const size_t index = record.frames().host();
    if (index >= hosts_.size()) hosts_.resize(index + 1);
    for (const v1::Frame& frame : record.frames().frames()) AddFrame(frame, hosts_[index]);
  }
}

void LiveStats::AddFrame(const v1::Frame& frame, PerHost& host) const {
  host.shown.writes += frame.latency().count();
  host.shown.bytes += frame.bytes();
  // Rounds down, so that warm-up (negative) has seconds of its own.
  const int64_t interval = frame.first_interval();
  const int64_t second = (interval >= 0 ? interval : interval - intervals_per_second_ + 1) / intervals_per_second_;
  if (second > host.open.second) {
    if (host.open.second != INT64_MIN) {
      host.shown.writes_per_second = host.open.writes;
      host.shown.bytes_per_second = host.open.bytes;
      host.shown.max_latency_ns = host.open.max_latency_ns;
    }
    host.open = {.second = second};
  }
  host.open.writes += frame.latency().count();
  host.open.bytes += frame.bytes();
  host.open.max_latency_ns = std::max(host.open.max_latency_ns, frame.latency().max_ns());
  // The first second shows itself as it grows; later ones would make the figures jump.
  if (host.shown.writes_per_second <= host.open.writes) {
    host.shown.writes_per_second = host.open.writes;
    host.shown.bytes_per_second = host.open.bytes;
  }
  host.shown.max_latency_ns = std::max(host.shown.max_latency_ns, host.open.max_latency_ns);
}

}  // namespace plimsoll
