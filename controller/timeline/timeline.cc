#include "controller/timeline/timeline.h"

#include <algorithm>
#include <cmath>

#include "common/units.h"
#include "google/protobuf/util/time_util.h"

namespace plimsoll {
namespace {

constexpr double kDefaultMaxSlewPpm = 500;
constexpr double kLargestMaxSlewPpm = 10'000;
// 9999-12-31T23:59:59Z would be the last that a Timestamp holds; 2^62 ns end in 2116.
constexpr int64_t kMaxWallClockNs = int64_t{1} << 62;
// Numbers of the clocks of one host; more hosts than that has no run.
constexpr uint32_t kClocksApart = uint32_t{1} << 20;
constexpr uint32_t kMostRestarts = UINT32_MAX / kClocksApart - 1;

}  // namespace

struct Timeline::HostClock {
  explicit HostClock(double max_slew_ppm) : fit(max_slew_ppm) {}
  ClockFit fit;
  uint64_t probes = 0;
  uint64_t insane = 0;
  // The exchange with the shortest round trip gives the best difference of the wall clocks.
  int64_t best_round_trip_ns = INT64_MAX;
  int64_t best_agent_ns = 0;
  int64_t best_wall_clock_ns = 0;
  // The host's wall clock minus its monotonic one. Both are slewed alike: this moves only where the wall clock is set.
  int64_t least_wall_ahead_ns = INT64_MAX;
  int64_t largest_wall_ahead_ns = INT64_MIN;
  int64_t latest_agent_ns = INT64_MIN / 2;
};

Timeline::Timeline() = default;
Timeline::~Timeline() = default;

uint32_t Timeline::ClockNumber(uint32_t host, uint32_t restarts) {
  return host + std::min(restarts, kMostRestarts) * kClocksApart;
}

uint32_t Timeline::ClockOf(uint32_t host) const {
  const auto found = restarts_.find(host);
  return ClockNumber(host, found == restarts_.end() ? 0 : found->second);
}

const Timeline::HostClock* Timeline::LastOf(uint32_t host) const {
  const auto found = restarts_.find(host);
  for (uint32_t restarts = found == restarts_.end() ? 0 : found->second;; --restarts) {
    const auto clock = clocks_.find(ClockNumber(host, restarts));
    if (clock != clocks_.end()) return clock->second.get();
    if (restarts == 0) return nullptr;
  }
}

const Timeline::HostClock* Timeline::Find(uint32_t clock) const {
  const auto found = clocks_.find(clock);
  return found == clocks_.end() || found->second->fit.empty() ? nullptr : found->second.get();
}

void Timeline::Begin(int64_t time_ns, int64_t wall_clock_ns, double max_slew_ppm) {
  begin_ns_ = time_ns;
  begin_wall_clock_ns_ = std::clamp<int64_t>(wall_clock_ns, 0, kMaxWallClockNs);
  // Written so that not-a-number takes the default too.
  const bool credible = max_slew_ppm > 0 && max_slew_ppm <= kLargestMaxSlewPpm;
  max_slew_ppm_ = credible ? max_slew_ppm : kDefaultMaxSlewPpm;
}

void Timeline::NoteRestart(const v1::ProbeBatch& batch) {
  if (!away_.contains(batch.host())) return;
  const HostClock* const before = LastOf(batch.host());
  for (const v1::ProbeResult& probe : batch.probes()) {
    if (!IsSaneMoment(probe.agent_received_ns())) continue;
    away_.erase(batch.host());
    if (before != nullptr && probe.agent_received_ns() < before->latest_agent_ns - kNsPerSecond) {
      uint32_t& restarts = restarts_[batch.host()];
      restarts = std::min(restarts + 1, kMostRestarts);
    }
    return;
  }
}

void Timeline::AddProbes(const v1::ProbeBatch& batch) {
  NoteRestart(batch);
  std::unique_ptr<HostClock>& slot = clocks_[ClockOf(batch.host())];
  if (!slot) {
    slot = std::make_unique<HostClock>(max_slew_ppm_);
    if (sharing_.contains(batch.host()) && !restarts_.contains(batch.host())) slot->fit.AssumeSame();
  }
  HostClock& clock = *slot;
  for (const v1::ProbeResult& probe : batch.probes()) {
    if (!IsSaneMoment(probe.sent_ns()) || !IsSaneMoment(probe.received_ns()) ||
        !IsSaneMoment(probe.agent_received_ns()) || !IsSaneMoment(probe.agent_sent_ns())) {
      ++clock.insane;
      continue;
    }
    clock.fit.Add({probe.sent_ns(), probe.agent_received_ns(), probe.agent_sent_ns(), probe.received_ns()});
    ++clock.probes;
    clock.latest_agent_ns = std::max(clock.latest_agent_ns, probe.agent_sent_ns());
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
  return google::protobuf::util::TimeUtil::NanosecondsToTimestamp(
      static_cast<int64_t>(std::clamp<Int128>(exact_ns, 0, kMaxWallClockNs)));
}

std::optional<MappedMoment> Timeline::ToTimeline(uint32_t clock, int64_t agent_ns) const {
  const HostClock* found = Find(clock);
  if (found == nullptr) return std::nullopt;
  return found->fit.ToLocal(agent_ns);
}

std::optional<int64_t> Timeline::ErrorAt(uint32_t host, int64_t timeline_ns) const {
  const HostClock* clock = LastOf(host);
  if (clock == nullptr || clock->fit.empty()) return std::nullopt;
  return clock->fit.OffsetAtLocal(timeline_ns).error_ns;
}

ClockChange Timeline::ChangeOver(uint32_t host, int64_t from_ns, int64_t to_ns,
                                 const std::function<int64_t(int64_t from_ns, int64_t to_ns)>& paused_within) const {
  const HostClock* clock = LastOf(host);
  return clock == nullptr ? ClockChange() : clock->fit.ChangeOver(from_ns, to_ns, paused_within);
}

int64_t Timeline::UnseenNs(uint32_t host, int64_t from_ns, int64_t to_ns) const {
  const HostClock* clock = LastOf(host);
  return clock == nullptr ? std::max<int64_t>(to_ns - from_ns, 0) : clock->fit.UnseenNs(from_ns, to_ns);
}

int64_t Timeline::WallClockSetNs(uint32_t host) const {
  const HostClock* clock = LastOf(host);
  if (clock == nullptr || clock->least_wall_ahead_ns == INT64_MAX) return 0;
  return clock->largest_wall_ahead_ns - clock->least_wall_ahead_ns;
}

v1::ClockReport Timeline::MakeClockReport(uint32_t host, int64_t timeline_ns) const {
  v1::ClockReport report;
  const HostClock* found = LastOf(host);
  if (found == nullptr) return report;
  const HostClock& clock = *found;
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
