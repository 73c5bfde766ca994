#include "controller/xdisk/xdisk_intervals.h"

#include <algorithm>
#include <utility>

#include "common/protocol.h"
#include "controller/report/main_operation.h"

namespace plimsoll {
namespace {

// Far beyond any step, for a damaged frame.
constexpr int64_t kMostIntervalNumber = 1'000'000'000;

double PerSecondOver(uint64_t count, int64_t length_ns) {
  return static_cast<double>(count) * 1e9 / static_cast<double>(length_ns);
}

}  // namespace

int64_t XdiskIntervals::HostState::passed_ns() const {
  return covered_ns.empty() ? 0 : *std::ranges::min_element(covered_ns);
}

void XdiskIntervals::Add(const v1::JournalRecord& record) {
  switch (record.record_case()) {
    case v1::JournalRecord::kRunBegin:
      run_ = record.run_begin();
      break;
    case v1::JournalRecord::kHostJoined: {
      HostState& host = hosts_[record.host_joined().host()];
      host.label = record.host_joined().label();
      host.covered_ns.assign(WorkloadOf(record.host_joined().plan()).qm(), 0);
      break;
    }
    case v1::JournalRecord::kFrames: {
      HostState& host = hosts_[record.frames().host()];
      for (const v1::Frame& frame : record.frames().frames()) AddFrame(frame, host);
      if (record.frames().has_sample() && record.frames().sample().has_disk()) {
        host.newest = {record.frames().sample().time_ns(), record.frames().sample().disk()};
        if (host.before.time_ns == 0) host.before = host.newest;
      }
      GiveWhatIsPassed();
      break;
    }
    case v1::JournalRecord::kStepDone:
      hosts_[record.step_done().host()].done = true;
      GiveWhatIsPassed();
      break;
    case v1::JournalRecord::kHostLost:
      hosts_[record.host_lost().host()].lost = true;
      GiveWhatIsPassed();
      break;
    default:
      break;
  }
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
  const auto& operations = run_.steps(0).operations();
  const int place = static_cast<int>(frame.operation());
  const v1::OperationKind kind = place < operations.size() ? operations.at(place).kind() : v1::OPERATION_UNSPECIFIED;
  if (!main && kind != v1::OPERATION_READ) return;
  Sides& sides = host.sides[number];
  // The analysis refuses, and reports, a frame that contradicts itself.
  const bool reads = !main || OnlyReads(run_.plan());
  (reads ? sides.reads : sides.writes).Merge(frame.latency()).IgnoreError();
}

void XdiskIntervals::GiveWhatIsPassed() {
  while (next_ < kMostIntervalNumber) {
    const int64_t end_ns = (next_ + 1) * interval_ns_;
    bool any = false;
    for (const auto& [number, host] : hosts_) {
      const bool passed = host.passed_ns() >= end_ns;
      // A host that has ended before does not hold back the others.
      if (!passed && !host.done && !host.lost) return;
      any = any || passed;
    }
    if (!any) return;
    Give();
  }
}

void XdiskIntervals::Give() {
  XdiskResult result;
  Histogram all_reads;
  Histogram all_writes;
  for (auto& [number, host] : hosts_) {
    Sides sides;
    // What came late is counted here.
    while (!host.sides.empty() && host.sides.begin()->first <= next_) {
      sides.reads.Merge(host.sides.begin()->second.reads);
      sides.writes.Merge(host.sides.begin()->second.writes);
      host.sides.erase(host.sides.begin());
    }
    XdiskFigures& figures = result.hosts.emplace_back();
    figures.host = host.label;
    figures.reads = XdiskSideOf(sides.reads, PerSecondOver(sides.reads.count(), interval_ns_));
    figures.writes = XdiskSideOf(sides.writes, PerSecondOver(sides.writes.count(), interval_ns_));
    if (host.newest.time_ns > host.before.time_ns) {
      figures.devices =
          XdiskDevicesOf(host.before.counters, host.newest.counters, host.newest.time_ns - host.before.time_ns);
      host.before = host.newest;
    }
    all_reads.Merge(sides.reads);
    all_writes.Merge(sides.writes);
    result.all.devices.Add(figures.devices);
  }
  result.all.reads = XdiskSideOf(all_reads, PerSecondOver(all_reads.count(), interval_ns_));
  result.all.writes = XdiskSideOf(all_writes, PerSecondOver(all_writes.count(), interval_ns_));
  ++next_;
  ++given_;
  on_interval_(result);
}

}  // namespace plimsoll
