// The stall intervals of one writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "agent/writer/rate_schedule.h"
#include "agent/writer/writer_state.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Finds the stall intervals (v1::StalledInterval) of one writer. If a write was in flight for `stall_ns` or longer, or
// started that late, its stall interval reaches from when it was due to its end. In an open loop, the writes that a
// stall delayed were due before it ended: they overlap it and belong to the same stall interval. In a closed loop, a
// write is due when the one before it ends: successive slow writes do not overlap and are reported one by one, so that
// the analysis, which knows the writer's median, can separate unusually slow writes from normal ones.
//
// Costs two comparisons for a write that is neither slow nor late. Not thread-safe.
class StallWatch {
 public:
  // A frame reports at most this many stall intervals; any others are only counted.
  static constexpr size_t kMostStalls = 1'000;

  // `stall_ns` 0: finds nothing. `interval_ns`: the length of a frame, for which memory is reserved.
  StallWatch(int64_t stall_ns, const std::optional<RateSchedule>& schedule, int64_t interval_ns);

  // Takes the next completed write; `seq` counts from 1.
  void Take(uint64_t seq, const Sample& sample, int64_t due_ns) {
    if (sample.end_ns() - due_ns < stall_ns_ && !growing_) [[likely]] {
      previous_end_ns_ = sample.end_ns();
      return;
    }
    TakeLate(seq, sample, due_ns);
  }

  // Ends the series of writes. The next write was due at `due_ns`, and had not started by `until_ns`.
  void Finish(int64_t due_ns, int64_t until_ns);

  // Moves the stall intervals that are known to have ended by `until_ns` to the frame.
  void Report(int64_t until_ns, v1::Frame& frame);
  // A write that had not completed at `until_ns`. `start_ns` 0: it had not started.
  struct Pending {
    uint64_t seq = 0;
    int64_t due_ns = 0;
    int64_t start_ns = 0;
  };
  // Adds the stall interval that has not ended to the frame, up to `until_ns`.
  void ReportGrowing(int64_t until_ns, const Pending& next, v1::Frame& frame) const;
  // Whether there are stall intervals that have not been reported.
  bool unreported() const { return growing_ || !over_.empty() || left_out_ > 0; }

 private:
  struct StallInterval {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    uint64_t first_seq = 0;
    uint64_t writes = 0;
    int64_t in_flight_ns = 0;
    int64_t longest_ns = 0;
  };

  static void Set(const StallInterval& found, v1::StalledInterval& stall);
  void TakeLate(uint64_t seq, const Sample& sample, int64_t due_ns);
  void Close();

  int64_t stall_ns_;
  std::optional<RateSchedule> schedule_;
  int64_t previous_end_ns_ = 0;
  // The stall interval that later writes may overlap, and the writes since its end, which may turn out to be part of
  // it.
  bool growing_ = false;
  StallInterval open_;
  uint64_t writes_since_ = 0;
  int64_t in_flight_since_ns_ = 0;
  std::vector<StallInterval> over_;
  uint64_t left_out_ = 0;
};

}  // namespace plimsoll
