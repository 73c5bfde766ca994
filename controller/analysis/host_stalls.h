// What one host reported of its stalls in one step, and when its frames do not prove that the storage served it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <vector>

#include "absl/status/status.h"
#include "controller/timeline/timeline.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Moments of one clock, within plus or minus 2^62.
struct TimeRange {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// Intervals of one clock; where they overlap they count once. Immutable.
class CoveredTime {
 public:
  CoveredTime() = default;
  // In any order. One that ends before it begins covers nothing.
  explicit CoveredTime(std::vector<TimeRange> intervals);

  // How much of [from_ns, to_ns) is covered.
  int64_t Within(int64_t from_ns, int64_t to_ns) const;

 private:
  int64_t Before(int64_t moment_ns) const;

  // Disjoint, in order.
  std::vector<TimeRange> intervals_;
  // What those before each of them cover.
  std::vector<int64_t> before_ns_;
};

// A span of time within which no write may have both started and completed for up to `longest_ns` at a time. The
// span shows where; the length is a bound.
struct ServiceGap {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t longest_ns = 0;
};

// Reduces one writer's frames of a step to the gaps in its service: every span of time that is longer than any gap
// that it overlaps held at least one whole write. A frame proves this with its number of writes, the start of the
// first, the end of the last, the sum of their latencies and the longest one; it proves nothing else about where in
// it they were. Frames that are missing or contradict themselves make gaps longer, never shorter.
//
// Keeps a bounded number of gaps, the longest ones. Moments are the host's clock. Not thread-safe.
class ServiceGaps {
 public:
  static constexpr size_t kMostGaps = 512;

  // Frames come in order.
  void Take(const v1::Frame& frame);

  // Gaps between the first known write and the last one, in the order of time; those shorter than least_ns() may be
  // missing.
  const std::vector<ServiceGap>& gaps() const { return gaps_; }
  int64_t least_ns() const { return least_ns_; }
  // The latest moment at which the first known write ended, and the earliest at which the last one started: a gap
  // lasts up to the first and from the second on. Both 0: no write is known.
  int64_t first_end_ns() const { return first_end_ns_; }
  int64_t last_start_ns() const { return last_start_ns_; }

 private:
  void Keep(int64_t begin_ns, int64_t end_ns, int64_t longest_ns);

  std::vector<ServiceGap> gaps_;
  int64_t least_ns_ = 1'000'000;
  int64_t first_end_ns_ = 0;
  int64_t last_start_ns_ = 0;
  int64_t last_end_ns_ = 0;
};

class HostStalls;

// An interval that is kept, by which it is found again.
struct KeptInterval {
  // As long as it was when it was entered: a row may have grown since.
  int64_t length_ns = 0;
  // In the order in which they came.
  uint64_t number = 0;
  HostStalls* host = nullptr;
  uint32_t qm = 0;
  int64_t begin_ns = 0;
};

// How many intervals and pauses the analysis of a step still takes, and how many it could not, or did not get. Of too
// many intervals the longest are kept, of equally long ones those that came first.
struct StallBudget {
  struct GoesLater {
    bool operator()(const KeptInterval& a, const KeptInterval& b) const {
      return a.length_ns != b.length_ns ? a.length_ns > b.length_ns : a.number < b.number;
    }
  };

  uint64_t intervals_left = 100'000;
  uint64_t intervals_left_out = 0;
  uint64_t pauses_left = 1'000'000;
  uint64_t pauses_left_out = 0;
  // One entry for each that is kept; on top the one that goes first.
  std::priority_queue<KeptInterval, std::vector<KeptInterval>, GoesLater> kept{};
  uint64_t next_number = 0;
};

// An interval in which a writer stalled; the host's clock.
struct WriterStallInterval {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  // Number of its first write; 0: not known.
  uint64_t first_seq = 0;
  int64_t in_flight_ns = 0;
  // How many writes it holds; 0: not known.
  uint64_t writes = 0;
  // The longest for which one of its writes was in flight, or late to start. Whether it is a stall goes by this.
  int64_t longest_ns = 0;
  // Still open when the data end.
  bool open = false;
  // A run of slow writes: all usual for the writer, though each is as long as the plan's stall threshold.
  bool in_a_row = false;
  int64_t length_ns() const { return end_ns - begin_ns; }
};

// How long one of a writer's writes must be in flight, or late to start, to be a stall: the plan's threshold (0: it
// does not), or 100 ms or 20 times the writer's median, whichever is greater.
inline constexpr int64_t kLeastStallNs = 100 * kNsPerMs;
inline constexpr int64_t kMediansOfStall = 20;
inline int64_t StallThresholdNs(int64_t plan_stall_ns, int64_t median_ns) {
  return plan_stall_ns > 0 ? plan_stall_ns : std::max(kLeastStallNs, kMediansOfStall * median_ns);
}

// What is shorter than so many of its writer's medians is usual for it.
inline constexpr int64_t kMediansUsual = 2;

// Keeps what may turn out to be a stall, or to keep its host from vouching that it was well. That depends on the
// writer's median of the whole step: intervals that are usual, by the final median, never keep a host from vouching,
// and if by the plan writes as long as that are stalls, those that follow one another are one interval in a
// row. What is short beside the median so far is put into a row at once, or not kept; its length is, so that it is
// known in the end whether that was right. Not thread-safe.
class HostStalls {
 public:
  // `shape.stall_ns` is the plan's threshold, or 0. The budget is the step's, and outlives the object.
  HostStalls(const StepShape& shape, StallBudget& budget) : stall_ns_(shape.stall_ns), budget_(&budget) {}
  // The budget refers to it.
  HostStalls(const HostStalls&) = delete;
  HostStalls& operator=(const HostStalls&) = delete;

  // INVALID_ARGUMENT where the frame's intervals contradict themselves or those before them.
  absl::Status Check(const v1::Frame& frame) const;
  // Takes the intervals of a frame that was checked. `median_ns`, of `writes`: the writer's so far; not looked
  // at where no interval of the frame is over.
  void Take(const v1::Frame& frame, int64_t median_ns, uint64_t writes);
  // INVALID_ARGUMENT, and nothing is changed, where the pauses contradict themselves.
  absl::Status AddPauses(const v1::HostSample& sample);

  // A writer's intervals that are stalls by `threshold_ns`, in order; and those that are not, but are not usual beside
  // the median either. Counts what was left out wrongly, so it is called once a writer.
  struct Intervals {
    std::vector<WriterStallInterval> stalls;
    std::vector<WriterStallInterval> others;
    // From here on something may be missing, beside what was left_out(); INT64_MAX: nothing is.
    int64_t complete_until_ns = INT64_MAX;
  };
  Intervals OfWriter(uint32_t qm, int64_t threshold_ns, int64_t median_ns);
  // The writer's intervals so far that ended after the moment of the host's clock, the latest first.
  std::vector<WriterStallInterval> EndedAfter(uint32_t qm, int64_t moment_ns) const;
  // The writer's interval that was not over when its last frame was cut, where there was one.
  std::optional<WriterStallInterval> GrowingOf(uint32_t qm) const;
  // What the writer's frames prove of the storage; null where no frame was taken.
  const ServiceGaps* ServiceOf(uint32_t qm) const;
  // Where intervals of its writers were left out that there was no room for; disjoint, in order, a bounded number of
  // spans. The host's clock.
  const std::vector<TimeRange>& left_out() const { return left_out_; }
  // When the host's agent did not run; the host's clock.
  const std::vector<TimeRange>& pauses() const { return pauses_; }

 private:
  // An interval that is missing, longer than any that was missing before it.
  struct Missing {
    int64_t begin_ns = 0;
    int64_t length_ns = 0;
  };
  struct Writer {
    // By their begins.
    std::map<int64_t, WriterStallInterval> intervals;
    std::optional<WriterStallInterval> growing;
    int64_t last_end_ns = 0;
    uint64_t not_kept = 0;
    int64_t longest_not_kept_ns = 0;
    // In the order of time.
    std::vector<Missing> missing;

    void Miss(int64_t begin_ns, int64_t length_ns);
  };

  void Keep(const WriterStallInterval& interval, uint32_t qm, Writer& writer);
  // Whether there is room for one of that length, made by leaving out the shortest one that is kept where that is
  // shorter.
  bool MakeRoomFor(int64_t length_ns);
  void LeaveOut(const WriterStallInterval& interval);

  int64_t stall_ns_;
  StallBudget* budget_;
  std::map<uint32_t, Writer> writers_;
  std::map<uint32_t, ServiceGaps> service_;
  std::vector<TimeRange> left_out_;
  std::vector<TimeRange> pauses_;
};

}  // namespace plimsoll
