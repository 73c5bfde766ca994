// What a session still has to send. Never makes a writer wait.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "common/mutex.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Messages in order, bounded in bytes. Thread-safe.
//
// Above `coalesce_above_bytes` further frames are merged into the newest waiting batch (nothing is lost but the
// resolution in time), and an Alive takes the place of one that waits; above `drop_traces_above_bytes` their traces are
// dropped and counted. Histograms are bounded by their layout, stalls and pauses by a number of which the rest is
// counted (coalesce.h), so memory is bounded whatever the controller does.
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
  // The waiting batch into which further frames may be merged; null where there is none.
  Entry* NewestFrames() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  mutable Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll
