// What one host told of its stalls in one step.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "controller/analysis/covered_time.h"
#include "controller/analysis/step_shape.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// How many stretches and pauses the analysis of a step still takes, and how many it could not, or was not told.
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
  // How many writes it holds; 0: not known.
  uint64_t writes = 0;
  // The longest for which one of its writes was in flight, or late to start. Whether it is a stall goes by this.
  int64_t longest_ns = 0;
  // Still open when the data end.
  bool open = false;
  // Writes one after the other that are all usual for the writer, though each is as long as a stall of the plan.
  bool in_a_row = false;
  int64_t length_ns() const { return end_ns - begin_ns; }
};

// What is shorter than so many of its writer's medians is usual for it.
inline constexpr int64_t kMediansUsual = 2;

// Keeps what may turn out to be a stall, or to keep its host from vouching that it was well. That depends on the
// writer's median of the whole step: stretches that are usual, by the final median, never keep a host from vouching,
// and where the plan says that writes as long as that are stalls, those that follow one another are one stretch in a
// row. What is short beside the median so far is put into a row at once, or not kept; its length is, so that it is
// known in the end whether that was right. Not thread-safe.
class HostStalls {
 public:
  // `shape.stall_ns` is what the plan says, or 0. The budget is the step's, and outlives the object.
  HostStalls(const StepShape& shape, StallBudget& budget) : stall_ns_(shape.stall_ns), budget_(&budget) {}

  // INVALID_ARGUMENT where the frame's stretches contradict themselves or those before them.
  absl::Status Check(const v1::Frame& frame) const;
  // Takes what a frame that was checked tells of stretches. `median_ns`, of `writes`: the writer's so far; not looked
  // at where no stretch of the frame is over.
  void Take(const v1::Frame& frame, int64_t median_ns, uint64_t writes);
  // INVALID_ARGUMENT, and nothing is changed, where the pauses contradict themselves.
  absl::Status AddPauses(const v1::HostSample& sample);

  // A writer's stretches that are stalls by `threshold_ns`, in order; and those that are not, but are not usual beside
  // the median either. Counts what was left out wrongly, so it is called once a writer.
  struct Stretches {
    std::vector<WriterStretch> stalls;
    std::vector<WriterStretch> others;
    // From here on something may be missing; INT64_MAX: nothing is.
    int64_t complete_until_ns = INT64_MAX;
  };
  Stretches OfWriter(uint32_t qm, int64_t threshold_ns, int64_t median_ns);
  // The writer's stretch that was not over when its last frame was cut, where there was one.
  std::optional<WriterStretch> GrowingOf(uint32_t qm) const;
  // When the host's agent did not run; the host's clock.
  const std::vector<TimeStretch>& pauses() const { return pauses_; }

 private:
  // A stretch that is missing, longer than any that was missing before it.
  struct Missing {
    int64_t begin_ns = 0;
    int64_t length_ns = 0;
  };
  struct Writer {
    std::vector<WriterStretch> stretches;
    std::optional<WriterStretch> growing;
    int64_t last_end_ns = 0;
    uint64_t not_kept = 0;
    int64_t longest_not_kept_ns = 0;
    // In the order of time.
    std::vector<Missing> missing;

    void Miss(int64_t begin_ns, int64_t length_ns);
  };

  void Keep(const WriterStretch& stretch, Writer& writer);

  int64_t stall_ns_;
  StallBudget* budget_;
  std::map<uint32_t, Writer> writers_;
  std::vector<TimeStretch> pauses_;
};

}  // namespace plimsoll
