// Moments of hosts' clocks as stretches of the timeline, and times between them.
#pragma once

#include <cstdint>
#include <optional>

#include "controller/analysis/timeline.h"
#include "plimsoll/v1/ha_report.pb.h"

namespace plimsoll {

// A moment of the timeline that is known within bounds.
struct HaMoment {
  int64_t low_ns = 0;
  int64_t high_ns = 0;
};

// A moment of a host's clock (Timeline::ClockOf); nothing where that was never probed.
inline std::optional<HaMoment> MomentOf(const Timeline& timeline, uint32_t clock, int64_t agent_ns) {
  const std::optional<MappedMoment> mapped = timeline.ToTimeline(clock, agent_ns);
  if (!mapped.has_value() || mapped->error_ns > INT64_MAX / 4) return std::nullopt;
  return HaMoment{mapped->local_ns - mapped->error_ns, mapped->local_ns + mapped->error_ns};
}

// From one moment to another.
inline v1::HaSpan SpanOf(const HaMoment& from, const HaMoment& to) {
  v1::HaSpan span;
  const int64_t least_ns = to.low_ns - from.high_ns;
  const int64_t most_ns = to.high_ns - from.low_ns;
  span.set_ns(least_ns + (most_ns - least_ns) / 2);
  span.set_error_ns((most_ns - least_ns + 1) / 2);
  return span;
}

// Between two moments of one clock.
inline v1::HaSpan ExactSpan(int64_t from_ns, int64_t to_ns) {
  v1::HaSpan span;
  span.set_ns(to_ns - from_ns);
  return span;
}

}  // namespace plimsoll
