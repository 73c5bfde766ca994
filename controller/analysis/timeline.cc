#include "controller/analysis/timeline.h"

#include <algorithm>
#include <cmath>

#include "common/units.h"
#include "controller/analysis/step_shape.h"

namespace plimsoll {
namespace {

constexpr double kDefaultMaxSlewPpm = 500;
constexpr double kLargestMaxSlewPpm = 10'000;
// 9999-12-31T23:59:59Z would be the last that a Timestamp holds; 2^62 ns end in 2116.
constexpr int64_t kMaxWallClockNs = int64_t{1} << 62;

}  // namespace

struct Timeline::HostClock {
  explicit HostClock(double max_slew_ppm) : fit(max_slew_ppm) {}
  ClockFit fit;
  uint64_t probes = 0;
  uint64_t insane = 0;
  // The exchange with the shortest round trip tells the wall clocks' difference best.
  int64_t best_round_trip_ns = INT64_MAX;
  int64_t best_agent_ns = 0;
  int64_t best_wall_clock_ns = 0;
  // The host's wall clock minus its monotonic one. Both are slewed alike: this moves only where the wall clock is set.
  int64_t least_wall_ahead_ns = INT64_MAX;
  int64_t largest_wall_ahead_ns = INT64_MIN;
};

Timeline::Timeline() = default;
Timeline::~Timeline() = default;

const Timeline::HostClock* Timeline::Find(uint32_t host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() || found->second->fit.empty() ? nullptr : found->second.get();
}

void Timeline::Begin(int64_t time_ns, int64_t wall_clock_ns, double max_slew_ppm) {
  begin_ns_ = time_ns;
  begin_wall_clock_ns_ = std::clamp<int64_t>(wall_clock_ns, 0, kMaxWallClockNs);
  // Written so that not-a-number takes the default too.
  const bool credible = max_slew_ppm > 0 && max_slew_ppm <= kLargestMaxSlewPpm;
  max_slew_ppm_ = credible ? max_slew_ppm : kDefaultMaxSlewPpm;
}

void Timeline::AddProbes(const v1::ProbeBatch& batch) {
  std::unique_ptr<HostClock>& slot = hosts_[batch.host()];
  if (!slot) slot = std::make_unique<HostClock>(max_slew_ppm_);
  HostClock& clock = *slot;
  for (const v1::ProbeResult& probe : batch.probes()) {
    if (!IsSaneMoment(probe.sent_ns()) || !IsSaneMoment(probe.received_ns()) ||
        !IsSaneMoment(probe.agent_received_ns()) || !IsSaneMoment(probe.agent_sent_ns())) {
      ++clock.insane;
      continue;
    }
    clock.fit.Add({probe.sent_ns(), probe.agent_received_ns(), probe.agent_sent_ns(), probe.received_ns()});
    ++clock.probes;
    const int64_t wall_clock_ns = std::clamp<int64_t>(probe.agent_wall_clock_ns(), 0, kMaxWallClockNs);
    if (wall_clock_ns != 0) {
      clock.least_wall_ahead_ns = std::min(clock.least_wall_ahead_ns, wall_clock_ns - probe.agent_sent_ns());
      clock.largest_wall_ahead_ns = std::max(clock.largest_wall_ahead_ns, wall_clock_ns - probe.agent_sent_ns());
    }
    const int64_t round_trip_ns =
        (probe.received_ns() - probe.sent_ns()) - (probe.agent_sent_ns() - probe.agent_received_ns());
    if (round_trip_ns >= 0 && round_trip_ns < clock.best_round_trip_ns) {
      clock.best_round_trip_ns = round_trip_ns;
      clock.best_agent_ns = probe.agent_sent_ns();
      clock.best_wall_clock_ns = wall_clock_ns;
    }
  }
}

google::protobuf::Timestamp Timeline::ToUtc(int64_t timeline_ns) const {
  const Int128 exact_ns = Int128{begin_wall_clock_ns_} + timeline_ns - begin_ns_;
  const auto utc_ns = static_cast<int64_t>(std::clamp<Int128>(exact_ns, 0, kMaxWallClockNs));
  google::protobuf::Timestamp moment;
  moment.set_seconds(utc_ns / kNsPerSecond);
  moment.set_nanos(static_cast<int32_t>(utc_ns % kNsPerSecond));
  return moment;
}

std::optional<MappedMoment> Timeline::ToTimeline(uint32_t host, int64_t agent_ns) const {
  const HostClock* clock = Find(host);
  if (clock == nullptr) return std::nullopt;
  return clock->fit.ToLocal(agent_ns);
}

std::optional<int64_t> Timeline::ErrorAt(uint32_t host, int64_t timeline_ns) const {
  const HostClock* clock = Find(host);
  if (clock == nullptr) return std::nullopt;
  return clock->fit.OffsetAtLocal(timeline_ns).error_ns;
}

int64_t Timeline::WallClockSetNs(uint32_t host) const {
  const auto found = hosts_.find(host);
  if (found == hosts_.end() || found->second->least_wall_ahead_ns == INT64_MAX) return 0;
  return found->second->largest_wall_ahead_ns - found->second->least_wall_ahead_ns;
}

v1::ClockReport Timeline::MakeClockReport(uint32_t host, int64_t timeline_ns) const {
  v1::ClockReport report;
  const auto found = hosts_.find(host);
  if (found == hosts_.end()) return report;
  const HostClock& clock = *found->second;
  report.set_probes(clock.probes - std::min(clock.probes, clock.fit.ignored()));
  report.set_ignored_probes(clock.fit.ignored() + clock.insane);
  if (clock.fit.empty()) return report;
  const ClockOffset offset = clock.fit.OffsetAtLocal(timeline_ns);
  report.set_offset_ns(offset.offset_ns);
  report.set_error_ns(offset.error_ns);
  const double drift_ppm = clock.fit.DriftPpm();
  report.set_drift_ppm(std::isfinite(drift_ppm) ? drift_ppm : 0);
  report.set_min_round_trip_ns(clock.fit.MinRoundTripNs());
  for (const int64_t step_ns : clock.fit.steps_local_ns()) *report.add_steps() = ToUtc(step_ns);
  if (clock.best_round_trip_ns != INT64_MAX && clock.best_wall_clock_ns != 0) {
    const int64_t timeline_then_ns = clock.fit.ToLocal(clock.best_agent_ns).local_ns;
    const google::protobuf::Timestamp controller = ToUtc(timeline_then_ns);
    report.set_wall_clock_difference_ns(clock.best_wall_clock_ns -
                                        (controller.seconds() * kNsPerSecond + controller.nanos()));
  }
  return report;
}

}  // namespace plimsoll
