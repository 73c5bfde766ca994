// The figures of each interval of a run, for xdisk's -i.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/histogram.h"
#include "controller/xdisk/xdisk_figures.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// Makes the figures of whole intervals from the records of a run with one step, as they come. An interval counts the
// operations that complete in it, and is given once all hosts that still run have passed its end. The interval in which
// the last host ends is left out, and so are the operations that are in flight at the end of the step. Not thread-safe.
class XdiskIntervals {
 public:
  using OnInterval = std::function<void(const XdiskResult& result)>;

  // `interval_ns` > 0.
  XdiskIntervals(int64_t interval_ns, OnInterval on_interval)
      : interval_ns_(interval_ns), on_interval_(std::move(on_interval)) {}

  void Add(const v1::JournalRecord& record);
  // How many intervals were given.
  uint64_t given() const { return static_cast<uint64_t>(next_); }

 private:
  struct Sides {
    Histogram reads;
    Histogram writes;
  };
  struct DiskSample {
    int64_t time_ns = 0;
    v1::DiskCounters counters;
  };
  struct HostState {
    std::string label;
    // The end of each writer's last frame, from the measured start.
    std::vector<int64_t> covered_ns;
    // The host sends no further frames: its step is over, or it is lost.
    bool ended = false;
    // By number of the interval.
    std::map<int64_t, Sides> sides;
    // The sample at the end of the interval before, and the newest one; time 0: there is no sample yet.
    DiskSample before;
    DiskSample newest;

    // The moment that all writers have passed.
    int64_t passed_ns() const;
    // Whether a frame of the measured part has come.
    bool measures() const;
    // Removes the operations of all intervals up to `last`. Frames that came late count in it.
    Sides TakeUntil(int64_t last);
    // The devices since the call before.
    XdiskDevices TakeDevices();
  };

  void AddFrame(const v1::Frame& frame, HostState& host);
  // Whether all hosts that still run have passed the end of the next interval, and at least one has.
  bool IsNextComplete() const;
  void GiveCompleteOnes();
  // The reads or the writes of one interval.
  XdiskSide SideOf(const Histogram& histogram) const;
  XdiskResult TakeNext();

  const int64_t interval_ns_;
  const OnInterval on_interval_;
  v1::RunBegin run_;
  std::map<uint32_t, HostState> hosts_;
  // Number of the next interval to give, from 0.
  int64_t next_ = 0;
};

}  // namespace plimsoll
