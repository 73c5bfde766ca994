// Everything that happens to a run, in one order, for the one thread that runs it.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

struct SessionClosed {
  absl::Status status;
};

// The agent has answered over another connection than the session's.
struct Renewed {};

struct Event {
  size_t host = 0;
  MonotonicNs time;  // when it came in
  std::variant<absl::StatusOr<v1::HostDescription>, v1::AgentMessage, SessionClosed, v1::ProbeBatch, Renewed> body;
};

// Push returns false when the queue is full, and OnRoom reports when there is room again: producers pause meanwhile, so
// that the queue is bounded. Thread-safe; one thread takes.
class EventQueue {
 public:
  static constexpr size_t kMostWaitingBytes = size_t{64} << 20;

  // Waits in the time of `clock`, which outlives the queue.
  explicit EventQueue(const Clock& clock, size_t most_waiting_bytes = kMostWaitingBytes)
      : clock_(clock), most_waiting_bytes_(most_waiting_bytes) {}

  // `bytes`: what the event counts. False where as much is waiting as should be: it is taken all the same.
  bool Push(Event event, size_t bytes = 0) {
    MutexLock lock(mutex_);
    events_.push_back(std::move(event));
    waiting_bytes_ += bytes;
    if (events_.size() == 1) changed_.NotifyOne();
    if (waiting_bytes_ < most_waiting_bytes_) return true;
    was_full_ = true;
    return false;
  }
  // Calls `room` on the thread that takes, once there is room after Push has returned false. Null: nothing is called.
  void OnRoom(std::function<void()> room) {
    MutexLock lock(mutex_);
    room_ = std::move(room);
  }

  // Ctrl-C: the first asks for an orderly end, the second for leaving at once.
  void Interrupt() {
    MutexLock lock(mutex_);
    ++interrupts_;
    changed_.NotifyOne();
  }
  int interrupts() const {
    MutexLock lock(mutex_);
    return interrupts_;
  }

  // All that is there, waiting for the first at most until the moment; empty where nothing came, or where an interrupt
  // came that no earlier call returned for.
  std::vector<Event> TakeUntil(MonotonicNs deadline) {
    std::vector<Event> taken;
    std::function<void()> room;
    {
      MutexLock lock(mutex_);
      while (events_.empty() && interrupts_ == seen_interrupts_ && clock_.WaitUntil(mutex_, changed_, deadline)) {
      }
      seen_interrupts_ = interrupts_;
      taken = std::exchange(events_, {});
      waiting_bytes_ = 0;
      if (std::exchange(was_full_, false)) room = room_;
    }
    if (room) room();
    return taken;
  }

  // Takes nothing; waits until the moment, or until an interrupt comes that no earlier call returned for.
  void WaitUntil(MonotonicNs deadline) {
    MutexLock lock(mutex_);
    while (interrupts_ == seen_interrupts_ && clock_.WaitUntil(mutex_, changed_, deadline)) {
    }
    seen_interrupts_ = interrupts_;
  }

 private:
  const Clock& clock_;
  const size_t most_waiting_bytes_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Event> events_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool was_full_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> room_ ABSL_GUARDED_BY(mutex_);
  int interrupts_ ABSL_GUARDED_BY(mutex_) = 0;
  int seen_interrupts_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace plimsoll
