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
// operations that complete in it; it is given once all hosts that still run have passed its end. An interval in which
// the last host ends, and what is in flight at the end of the step, are in none. Not thread-safe.
class XdiskIntervals {
 public:
  using OnInterval = std::function<void(const XdiskResult& result)>;

  // `interval_ns` > 0.
  XdiskIntervals(int64_t interval_ns, OnInterval on_interval)
      : interval_ns_(interval_ns), on_interval_(std::move(on_interval)) {}

  void Add(const v1::JournalRecord& record);
  // How many intervals were given.
  uint64_t given() const { return given_; }

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
    // How far each writer's frames reach, from the measured start.
    std::vector<int64_t> covered_ns;
    // No further frames come.
    bool done = false;
    bool lost = false;
    // By number of the interval.
    std::map<int64_t, Sides> sides;
    // The sample at the end of the interval before, and the newest one; time 0: none.
    DiskSample before;
    DiskSample newest;

    // What all writers have passed.
    int64_t passed_ns() const;
  };

  void AddFrame(const v1::Frame& frame, HostState& host);
  void GiveWhatIsPassed();
  void Give();

  const int64_t interval_ns_;
  const OnInterval on_interval_;
  v1::RunBegin run_;
  std::map<uint32_t, HostState> hosts_;
  // Number of the next interval, from 0.
  int64_t next_ = 0;
  uint64_t given_ = 0;
};

}  // namespace plimsoll
