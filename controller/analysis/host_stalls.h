// What one host told of its stalls in one step.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "controller/analysis/covered_time.h"
#include "controller/analysis/step_shape.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// How many stretches and pauses the analysis of a step still takes, and how many it could not.
struct StallBudget {
  uint64_t stretches_left = 100'000;
  uint64_t stretches_left_out = 0;
  uint64_t pauses_left = 1'000'000;
  uint64_t pauses_left_out = 0;
};

// A stretch in which a writer stood; the host's clock.
struct WriterStretch {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  // Of its first write; 0: not known.
  uint64_t first_seq = 0;
  int64_t in_flight_ns = 0;
  // Still open when the data end.
  bool open = false;
  int64_t length_ns() const { return end_ns - begin_ns; }
};

// Keeps what may turn out to be a stall. Where the plan says how long one is, stretches of a writer that touch are one
// at once. Else that depends on the writer's median of the whole step; what is so short beside the median so far that
// it will hardly be one is not kept, but its length is, so that it is known in the end whether that was right. Not
// thread-safe.
class HostStalls {
 public:
  // `shape.stall_ns` is what the plan says, or 0. The budget is the step's, and outlives the object.
  HostStalls(const StepShape& shape, StallBudget& budget) : stall_ns_(shape.stall_ns), budget_(&budget) {}

  // INVALID_ARGUMENT where the frame's stretches contradict themselves or those before them.
  absl::Status Check(const v1::Frame& frame) const;
  // Takes the stretches of a frame that was checked. `median_ns`, of `writes`: the writer's so far.
  void Take(const v1::Frame& frame, int64_t median_ns, uint64_t writes);
  // INVALID_ARGUMENT, and nothing is changed, where the pauses contradict themselves.
  absl::Status AddPauses(const v1::HostSample& sample);

  // A writer's stretches that are stalls by `threshold_ns`, in order, those that touch as one; and those that are not.
  // Counts what was left out wrongly, so it is called once a writer.
  struct Stretches {
    std::vector<WriterStretch> stalls;
    std::vector<WriterStretch> others;
  };
  Stretches OfWriter(uint32_t qm, int64_t threshold_ns);
  // When the host's agent did not run; the host's clock.
  const std::vector<TimeStretch>& pauses() const { return pauses_; }

 private:
  struct Writer {
    std::vector<WriterStretch> stretches;
    int64_t last_end_ns = 0;
    uint64_t not_kept = 0;
    int64_t longest_not_kept_ns = 0;
  };

  int64_t stall_ns_;
  StallBudget* budget_;
  std::map<uint32_t, Writer> writers_;
  std::vector<TimeStretch> pauses_;
};

}  // namespace plimsoll
