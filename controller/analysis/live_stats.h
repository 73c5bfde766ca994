// What a run shows while it runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// One host's line of the progress.
struct LiveHost {
  std::string label;
  // Over the last whole second of the step (or what there is of the first): per second, and the largest latency.
  double iops = 0;
  double mb_per_second = 0;
  uint64_t max_latency_ns = 0;
  // Longest that a write has been in flight by now; 0: none is.
  int64_t longest_in_flight_ns = 0;
  // Completed writes and bytes of the step so far, warm-up left out.
  uint64_t writes = 0;
  uint64_t bytes = 0;
  bool lost = false;
};

struct LiveSnapshot {
  // From 1; 0: none has begun.
  uint32_t step = 0;
  // Time of the step that has passed, warm-up left out (negative during it), and its asked length.
  int64_t elapsed_ns = 0;
  int64_t duration_ns = 0;
  // In the order of the plan.
  std::vector<LiveHost> hosts;
  // All hosts together; without a label.
  LiveHost cluster;
};

// Takes the same records as the analysis and keeps sums only: a few hundred bytes a writer. What it shows is for the
// eye; the report is made from the journal. Malformed frames may show wrong figures here, but nothing worse. Not
// thread-safe.
class LiveStats {
 public:
  void Add(const v1::JournalRecord& record);

  // `now_ns` is a moment of the timeline.
  LiveSnapshot Snapshot(int64_t now_ns) const;

 private:
  // One second of a host's writes.
  struct Second {
    int64_t second = -1;
    uint64_t writes = 0;
    uint64_t bytes = 0;
    uint64_t max_latency_ns = 0;
  };
  struct Host {
    std::string label;
    // The second that is being filled, and the one before it.
    Second current;
    Second last;
    uint64_t writes = 0;
    uint64_t bytes = 0;
    bool lost = false;
    // By QM: how long its write was in flight when its last frame was cut, and the timeline's moment of that frame.
    struct InFlight {
      int64_t age_ns = 0;
      int64_t told_ns = 0;
    };
    std::map<uint32_t, InFlight> in_flight;
    bool done = false;
  };

  void AddFrame(const v1::Frame& frame, int64_t time_ns, Host& host) const;

  // The second whose figures are shown: the one before the one that is being filled, zeros where a host is silent.
  static Second Shown(const Host& host, int64_t elapsed_ns);

  std::map<uint32_t, Host> hosts_;
  v1::RunBegin run_;
  uint32_t step_ = 0;
  int64_t measured_start_ns_ = 0;
};

}  // namespace plimsoll
