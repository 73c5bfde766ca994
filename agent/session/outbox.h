// Holds what a session still has to send. Never makes a writer wait.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "common/mutex.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Adds `later`, of the same writer and step, to `frame`: counts, sums and histograms are added exactly, the interval
// range grows, the ten slowest writes of both are kept and their stalls up to StallWatch::kMostStalls, the rest of
// which is counted; the moment-in-time fields are those of `later`. With `keep_trace` false the trace blocks of `later`
// are dropped and its writes counted as untraced.
void CoalesceFrame(v1::Frame&& later, bool keep_trace, v1::Frame& frame);

// Adds every frame of `later` to its writer's in `batch` (closing frames only to closing ones), or appends it. Of two
// samples of the host the later one stays, with the recorder's pauses (up to kMostPauses, the rest is counted) and the
// largest lateness of both.
inline constexpr int kMostPauses = 10'000;
void CoalesceBatch(v1::FrameBatch&& later, bool keep_trace, v1::FrameBatch& batch);

// Adds every entry of `later`, which holds no events, to the last one of its instance where it follows without a gap,
// or appends it. The moments are those of the later entry.
void CoalesceLedger(v1::HaEvents&& later, v1::HaEvents& events);

// Drops the trace blocks of every frame and counts their writes as untraced.
void DropTraces(v1::FrameBatch& batch);

// Messages in order, bounded in bytes. Thread-safe.
//
// Above `coalesce_above_bytes` further frames are merged into the newest waiting batch (nothing is lost but the
// resolution in time), so are the ledgers of drills, and an Alive takes the place of one that waits; above
// `drop_traces_above_bytes` their traces are dropped and counted. Histograms are bounded by their layout, stalls and
// pauses by a number of which the rest is counted, so memory is bounded whatever the controller does.
class Outbox {
 public:
  struct Limits {
    size_t coalesce_above_bytes = size_t{4} << 20;
    size_t drop_traces_above_bytes = size_t{16} << 20;
  };

  explicit Outbox(Limits limits) : limits_(limits) {}
  Outbox() : Outbox(Limits{}) {}

  // Appends a message that is not a frame. Nothing is kept after Close.
  void Push(v1::AgentMessage message);
  void PushFrames(v1::FrameBatch frames);
  // The oldest message; none where the box is empty.
  std::optional<v1::AgentMessage> Pop();
  bool empty() const;
  // Drops what is there and all that comes.
  void Close();
  // Bytes that wait.
  size_t queued_bytes() const;

 private:
  struct Entry {
    v1::AgentMessage message;
    size_t bytes = 0;
  };

  bool Full() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return bytes_ > limits_.coalesce_above_bytes && !entries_.empty();
  }
  void Append(v1::AgentMessage message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The message of the entry has changed.
  void Resize(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The newest waiting message of this sort into which a further one may be merged; null where there is none.
  Entry* Newest(bool (*wanted)(const v1::AgentMessage&)) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  mutable Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll
