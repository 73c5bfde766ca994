#include "controller/analysis/live_stats.h"

#include <algorithm>

#include "common/units.h"
#include "controller/analysis/step_shape.h"

namespace plimsoll {

void LiveStats::Add(const v1::JournalRecord& record) {
  switch (record.record_case()) {
    case v1::JournalRecord::kRunBegin:
      run_ = record.run_begin();
      break;
    case v1::JournalRecord::kHostJoined:
      hosts_[record.host_joined().host()].label = record.host_joined().label();
      break;
    case v1::JournalRecord::kStepBegin: {
      const v1::StepBegin& begin = record.step_begin();
      if (begin.step() >= static_cast<uint32_t>(run_.steps_size()) || !IsSaneMoment(begin.start_ns())) break;
      const int64_t warmup_ns = run_.steps(static_cast<int>(begin.step())).warmup_ns();
      step_ = begin.step() + 1;
      measured_start_ns_ = begin.start_ns() + (IsSaneMoment(warmup_ns) ? warmup_ns : 0);
      for (auto& [number, host] : hosts_) {
        Host fresh;
        fresh.label = host.label;
        fresh.lost = host.lost;
        host = fresh;
      }
      break;
    }
    case v1::JournalRecord::kFrames: {
      const auto found = hosts_.find(record.frames().host());
      if (found == hosts_.end() || !IsSaneMoment(record.time_ns())) break;
      for (const v1::Frame& frame : record.frames().frames()) {
        if (frame.step() + 1 == step_) AddFrame(frame, record.time_ns(), found->second);
      }
      break;
    }
    case v1::JournalRecord::kStepDone: {
      const auto found = hosts_.find(record.step_done().host());
      if (found != hosts_.end()) found->second.done = true;
      break;
    }
    case v1::JournalRecord::kHostLost: {
      const auto found = hosts_.find(record.host_lost().host());
      if (found != hosts_.end()) found->second.lost = true;
      break;
    }
    default:
      break;
  }
}

void LiveStats::AddFrame(const v1::Frame& frame, int64_t time_ns, Host& host) const {
  if (frame.in_flight_since_ns() > 0 && frame.cut_ns() > frame.in_flight_since_ns()) {
    host.in_flight[frame.qm()] = {frame.cut_ns() - frame.in_flight_since_ns(), time_ns};
  } else {
    host.in_flight.erase(frame.qm());
  }
  if (frame.first_interval() < 0) return;
  host.writes += frame.latency().count();
  host.bytes += frame.bytes();
  const int64_t interval_ns = std::clamp<int64_t>(run_.frame_interval_ns(), kNsPerMs, kNsPerSecond);
  const int64_t last_interval = int64_t{frame.first_interval()} + std::max<int64_t>(frame.interval_count(), 1) - 1;
  const int64_t second = last_interval / (kNsPerSecond / interval_ns);
  if (second > host.current.second) {
    host.last = host.current;
    host.current = {second, 0, 0, 0};
  }
  Second& sums = second == host.current.second ? host.current : host.last;
  sums.writes += frame.latency().count();
  sums.bytes += frame.bytes();
  sums.max_latency_ns = std::max<uint64_t>(sums.max_latency_ns, frame.latency().max_ns());
}

LiveStats::Second LiveStats::Shown(const Host& host, int64_t elapsed_ns) {
  // Frames of a second come up to one interval after its end; a host whose newest frame is older than that is silent.
  const int64_t whole_second = elapsed_ns / kNsPerSecond - 1;
  if (host.current.second < whole_second - 1) return {};
  if (host.current.second == 0) return host.current;
  return host.last.second == host.current.second - 1 ? host.last : Second{};
}

LiveSnapshot LiveStats::Snapshot(int64_t now_ns) const {
  LiveSnapshot snapshot;
  snapshot.step = step_;
  if (step_ > 0) {
    snapshot.elapsed_ns = now_ns - measured_start_ns_;
    snapshot.duration_ns = run_.steps(static_cast<int>(step_ - 1)).duration_ns();
  }
  for (const auto& [number, host] : hosts_) {
    LiveHost& line = snapshot.hosts.emplace_back();
    line.label = host.label;
    line.lost = host.lost;
    line.writes = host.writes;
    line.bytes = host.bytes;
    const Second shown = Shown(host, snapshot.elapsed_ns);
    // In the first second there is no whole one yet.
    const double length = host.current.second == 0 && shown.second == 0
                              ? std::clamp(static_cast<double>(snapshot.elapsed_ns) / 1e9, 0.1, 1.0)
                              : 1.0;
    line.iops = static_cast<double>(shown.writes) / length;
    line.mb_per_second = static_cast<double>(shown.bytes) / length / 1e6;
    line.max_latency_ns = shown.max_latency_ns;
    for (const auto& [qm, write] : host.in_flight) {
      // Frames come a few times a second; a host that is still heard of has its write in flight since.
      if (host.done || host.lost) continue;
      line.longest_in_flight_ns =
          std::max(line.longest_in_flight_ns, write.age_ns + std::max<int64_t>(now_ns - write.told_ns, 0));
    }
    snapshot.cluster.iops += line.iops;
    snapshot.cluster.mb_per_second += line.mb_per_second;
    snapshot.cluster.max_latency_ns = std::max(snapshot.cluster.max_latency_ns, line.max_latency_ns);
    snapshot.cluster.longest_in_flight_ns = std::max(snapshot.cluster.longest_in_flight_ns, line.longest_in_flight_ns);
    snapshot.cluster.writes += line.writes;
    snapshot.cluster.bytes += line.bytes;
  }
  return snapshot;
}

}  // namespace plimsoll
