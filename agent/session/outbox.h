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
// resolution in time); above `drop_traces_above_bytes` their traces are dropped and counted. Histograms are bounded by
// their layout, so memory is bounded whatever the controller does.
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

  void Append(v1::AgentMessage message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  mutable Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll
