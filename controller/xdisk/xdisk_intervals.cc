#include "controller/xdisk/xdisk_intervals.h"

#include <algorithm>
#include <utility>

#include "common/protocol.h"
#include "controller/report/main_operation.h"

namespace plimsoll {
namespace {

// Far beyond any step, for a damaged frame.
constexpr int64_t kMostIntervalNumber = 1'000'000'000;

}  // namespace

int64_t XdiskIntervals::HostState::passed_ns() const {
  return covered_ns.empty() ? 0 : *std::ranges::min_element(covered_ns);
}

bool XdiskIntervals::HostState::measures() const {
  return std::ranges::any_of(covered_ns, [](int64_t covered) { return covered > 0; });
}

XdiskIntervals::Sides XdiskIntervals::HostState::TakeUntil(int64_t last) {
  Sides taken;
  const auto end = sides.upper_bound(last);
  for (auto interval = sides.begin(); interval != end; ++interval) {
    taken.reads.Merge(interval->second.reads);
    taken.writes.Merge(interval->second.writes);
  }
  sides.erase(sides.begin(), end);
  return taken;
}

XdiskDevices XdiskIntervals::HostState::TakeDevices() {
  if (newest.time_ns <= before.time_ns) return {};
  const XdiskDevices devices = XdiskDevicesOf(before.counters, newest.counters, newest.time_ns - before.time_ns);
  before = newest;
  return devices;
}

void XdiskIntervals::Add(const v1::JournalRecord& record) {
  switch (record.record_case()) {
    case v1::JournalRecord::kRunBegin:
      run_ = record.run_begin();
      return;
    case v1::JournalRecord::kHostJoined: {
      HostState& host = hosts_[record.host_joined().host()];
      host.label = record.host_joined().label();
      host.covered_ns.assign(WorkloadOf(record.host_joined().plan()).qm(), 0);
      return;
    }
    case v1::JournalRecord::kFrames: {
      HostState& host = hosts_[record.frames().host()];
      for (const v1::Frame& frame : record.frames().frames()) AddFrame(frame, host);
      if (const v1::HostSample& sample = record.frames().sample(); sample.has_disk()) {
        host.newest = {sample.time_ns(), sample.disk()};
        // The warm-up is in no interval.
        if (host.before.time_ns == 0 || !host.measures()) host.before = host.newest;
      }
      break;
    }
    case v1::JournalRecord::kStepDone:
      hosts_[record.step_done().host()].ended = true;
      break;
    case v1::JournalRecord::kHostLost:
      hosts_[record.host_lost().host()].ended = true;
      break;
    default:
      return;
  }
  GiveCompleteOnes();
}

void XdiskIntervals::AddFrame(const v1::Frame& frame, HostState& host) {
  const int64_t frame_ns = run_.frame_interval_ns();
  if (frame.step() != 0 || frame.closing() || frame.first_interval() < 0 || run_.steps().empty()) return;
  // A frame over several intervals counts in the one in which it ends.
  const int64_t end = int64_t{frame.first_interval()} + std::max<uint32_t>(frame.interval_count(), 1);
  const int64_t number = std::clamp((end * frame_ns - 1) / interval_ns_, next_, kMostIntervalNumber);
  const bool main = frame.operation() == kMainOperation;
  if (main && frame.qm() >= 1 && frame.qm() <= host.covered_ns.size()) host.covered_ns[frame.qm() - 1] = end * frame_ns;
  if (frame.latency().count() == 0) return;
  const bool reads_beside = frame.operation() == ReadOperationOf(run_.steps(0));
  if (!main && !reads_beside) return;
  Sides& sides = host.sides[number];
  // The analysis refuses, and reports, a frame that contradicts itself.
  const bool reads = !main || OnlyReads(run_.plan());
  (reads ? sides.reads : sides.writes).Merge(frame.latency()).IgnoreError();
}

bool XdiskIntervals::IsNextComplete() const {
  const int64_t end_ns = (next_ + 1) * interval_ns_;
  const auto passed = [end_ns](const auto& host) { return host.second.passed_ns() >= end_ns; };
  // A host that has ended before does not hold back the others.
  return std::ranges::any_of(hosts_, passed) &&
         std::ranges::all_of(hosts_, [&passed](const auto& host) { return host.second.ended || passed(host); });
}

void XdiskIntervals::GiveCompleteOnes() {
  while (next_ < kMostIntervalNumber && IsNextComplete()) {
    const XdiskResult result = TakeNext();
    ++next_;
    on_interval_(result);
  }
}

XdiskSide XdiskIntervals::SideOf(const Histogram& histogram) const {
  return XdiskSideOf(histogram, static_cast<double>(histogram.count()) * 1e9 / static_cast<double>(interval_ns_));
}

XdiskResult XdiskIntervals::TakeNext() {
  XdiskResult result;
  Sides all;
  for (auto& [number, host] : hosts_) {
    const Sides sides = host.TakeUntil(next_);
    all.reads.Merge(sides.reads);
    all.writes.Merge(sides.writes);
    const XdiskFigures& figures = result.hosts.emplace_back(
        XdiskFigures{host.label, SideOf(sides.reads), SideOf(sides.writes), host.TakeDevices()});
    result.all.devices.Add(figures.devices);
  }
  result.all.reads = SideOf(all.reads);
  result.all.writes = SideOf(all.writes);
  return result;
}

}  // namespace plimsoll
