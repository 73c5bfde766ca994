// What a person wants to see while a run is under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// One host's figures in the running step, warm-up included.
struct LiveHost {
  uint64_t writes = 0;
  uint64_t bytes = 0;
  // Over the newest second for which all of the host's frames are there, or are being counted.
  uint64_t writes_per_second = 0;
  uint64_t bytes_per_second = 0;
  // Highest latency of that second.
  uint64_t max_latency_ns = 0;
};

// Takes the journal's records as they come. Some hundred bytes a host; not thread-safe.
class LiveStats {
 public:
  void Add(const v1::JournalRecord& record);
  // Figures of a host; zeros for one that has sent nothing.
  LiveHost host(size_t index) const { return index < hosts_.size() ? hosts_[index].shown : LiveHost(); }

 private:
  struct Sums {
    int64_t second = INT64_MIN;  // of the step's timeline, counted from the measured start
    uint64_t writes = 0;
    uint64_t bytes = 0;
    uint64_t max_latency_ns = 0;
  };
  struct PerHost {
    LiveHost shown;
    Sums open;  // the second that frames still come for
  };

  void AddFrame(const v1::Frame& frame, PerHost& host) const;

  int64_t intervals_per_second_ = 4;
  std::vector<PerHost> hosts_;
};

}  // namespace plimsoll
