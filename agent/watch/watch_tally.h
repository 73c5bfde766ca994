// The frames of one watched writer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/writer/writer_tally.h"
#include "google/protobuf/repeated_field.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// An operation of a watched process that has completed.
struct WatchedOperation {
  // Its place in the step's list of operations.
  uint32_t operation = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint64_t bytes = 0;
  BlockPlace place;
};

// The stall intervals of a writer whose writes may overlap: times in which at least one write was in flight that took
// `least_ns` or longer. They are disjoint and in the order of time, as v1::StalledInterval wants them. Not thread-safe.
class OverlappingStalls {
 public:
  // `least_ns` 0: finds nothing.
  explicit OverlappingStalls(int64_t least_ns) : least_ns_(least_ns) {}

  // Takes the next completed write, in the order of their ends.
  void Take(uint64_t seq, int64_t start_ns, int64_t end_ns);
  // Moves what has ended to the frame, and adds the interval of a write that is in flight since `open_start_ns` (0: no
  // write is), up to `until_ns`. `next_seq`: the number that the next completed write will get.
  void Report(int64_t until_ns, int64_t open_start_ns, uint64_t next_seq, v1::Frame& frame);

 private:
  int64_t least_ns_;
  int64_t reported_until_ns_ = 0;
  std::vector<v1::StalledInterval> over_;
  uint64_t left_out_ = 0;
};

// Puts each operation of one writer into the interval in which it completed. The caller knows when an interval is
// complete (see SettledTime), and cuts all writers' at once.
//
// Writes of a watched writer may overlap, because several threads write. All of them count in the figures, in the order
// of their ends. A frame's between_ns is the sum of each write's start less the end of the one before, negative where
// they overlap; over all frames it still adds up to the time that passed. Traces need starts that do not go back: the
// class sorts the writes of a frame, and leaves out a write that started before the last one of an earlier block
// (untraced_writes). Not thread-safe.
class WatchTally {
 public:
  struct Params {
    uint32_t step = 0;
    uint32_t qm = 0;
    StepTimes times;
    // Number of the step's operations.
    uint32_t operations = 1;
    bool trace = false;
    // As LogWork.stall_ns.
    int64_t stall_ns = 0;
  };
  explicit WatchTally(const Params& params);

  // Takes the next operation: one that ended in the open interval, and not before the one taken last.
  void Take(const WatchedOperation& operation, bool traced);
  // Appends a frame of each operation for the open interval, and opens the next one. `in_flight_since_ns`: start of the
  // oldest write in flight at the interval's end; 0: none.
  void Cut(int64_t now_ns, int64_t in_flight_since_ns, google::protobuf::RepeatedPtrField<v1::Frame>& frames);

  // The longest time of an operation that completed; 0: none did.
  int64_t longest_ns(uint32_t operation) const {
    return static_cast<int64_t>(parts_[operation].totals.latency_max_ns());
  }
  int32_t open_interval() const { return interval_; }
  int64_t interval_end_ns() const { return params_.times.EndOf(interval_); }
  // What was counted apart from the frames, one of each operation.
  void AddTotals(v1::StepDone& done) const;

 private:
  struct Traced {
    int64_t start_ns = 0;
    uint64_t latency_ns = 0;
    uint64_t bytes = 0;
  };
  // One operation's open frame.
  struct Part {
    OperationTally figures;
    SlowestWrites slowest;
    uint64_t bytes = 0;
    uint64_t untraced = 0;
    uint64_t taken = 0;
    int64_t last_traced_start_ns = INT64_MIN;
    std::vector<Traced> traced;
    v1::WriterTotals totals;
  };

  void AddTrace(Part& part, v1::Frame& frame) const;
  static void SetSample(const SlowestWrites::Entry& entry, v1::WriteSample& reported);

  const Params params_;
  int32_t interval_;
  std::vector<Part> parts_;
  int64_t between_ns_ = 0;
  int64_t previous_end_ns_;
  OverlappingStalls stalls_;
};

}  // namespace plimsoll
