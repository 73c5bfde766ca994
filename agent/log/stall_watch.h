// Notices when one writer stood.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "agent/log/rate_schedule.h"
#include "agent/log/ring.h"
#include "google/protobuf/repeated_field.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Sees one writer's writes in their order and finds the stretches of v1::StalledStretch: from the moment at which a
// write was due to its end, where it was in flight, or late to start, for `stall_ns`. On a schedule the writes that a
// stall made late were due before it was over: they overlap, and are one stretch with it. Without one a write is due
// when the one before it is over: slow ones in a row touch, and are told one by one, so that who knows the writer's
// median can still tell those that are slow from those that are usual.
//
// Two compares for a write that is neither slow nor late. Not thread-safe.
class StallWatch {
 public:
  // A frame tells of no more stretches; those beyond are counted.
  static constexpr size_t kMostStalls = 1'000;

  // `stall_ns` 0: finds nothing. `interval_ns`: of a frame, for which room is made in advance.
  StallWatch(int64_t stall_ns, const std::optional<RateSchedule>& schedule, int64_t interval_ns);

  // A completed write, its number from 1, and when it was due.
  void Take(uint64_t seq, const Sample& sample, int64_t due_ns) {
    if (sample.end_ns() - due_ns < stall_ns_ && !growing_) [[likely]] {
      previous_end_ns_ = sample.end_ns();
      return;
    }
    TakeLate(seq, sample, due_ns);
  }

  // No write follows; one was due at `due_ns`, and was not started by `until_ns`.
  void Finish(int64_t due_ns, int64_t until_ns);

  // Adds the stretches that are known to be over, and were so by `until_ns`, to the frame, and forgets them.
  void Tell(int64_t until_ns, v1::Frame& frame);
  // A write that was not over at `until_ns`: its number, when it was due, and when it was started; 0: it was not.
  struct Pending {
    uint64_t seq = 0;
    int64_t due_ns = 0;
    int64_t start_ns = 0;
  };
  // Adds the stretch that is not over, as far as it had come by `until_ns`, to the frame.
  void TellGrowing(int64_t until_ns, const Pending& next, v1::Frame& frame) const;
  // Whether there is a stretch that was not told.
  bool untold() const { return growing_ || !over_.empty() || left_out_ > 0; }

 private:
  struct Stretch {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    uint64_t first_seq = 0;
    uint64_t writes = 0;
    int64_t in_flight_ns = 0;
    int64_t longest_ns = 0;
  };

  static void Set(const Stretch& stretch, v1::StalledStretch& stall);
  void TakeLate(uint64_t seq, const Sample& sample, int64_t due_ns);
  void Close();

  int64_t stall_ns_;
  std::optional<RateSchedule> schedule_;
  int64_t previous_end_ns_ = 0;
  // The stretch that later writes may overlap, and what came after its end but may turn out to lie in it.
  bool growing_ = false;
  Stretch open_;
  uint64_t writes_since_ = 0;
  int64_t in_flight_since_ns_ = 0;
  std::vector<Stretch> over_;
  uint64_t left_out_ = 0;
};

}  // namespace plimsoll
