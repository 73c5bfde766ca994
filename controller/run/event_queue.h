// Everything that happens to a run, in one order, for the one thread that conducts it.
#pragma once

#include <cstddef>
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

// The agent has been heard over another connection than the session's.
struct Renewed {};

struct Event {
  size_t host = 0;
  MonotonicNs time;  // when it came in
  std::variant<absl::StatusOr<v1::HostDescription>, v1::AgentMessage, SessionClosed, v1::ProbeBatch, Renewed> body;
};

// Thread-safe; one thread takes.
class EventQueue {
 public:
  // Waits in the time of `clock`, which outlives the queue.
  explicit EventQueue(const Clock& clock) : clock_(clock) {}

  void Push(Event event) {
    MutexLock lock(mutex_);
    events_.push_back(std::move(event));
    if (events_.size() == 1) changed_.NotifyOne();
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
    MutexLock lock(mutex_);
    while (events_.empty() && interrupts_ == seen_interrupts_ && clock_.WaitUntil(mutex_, changed_, deadline)) {
    }
    seen_interrupts_ = interrupts_;
    return std::exchange(events_, {});
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
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Event> events_ ABSL_GUARDED_BY(mutex_);
  int interrupts_ ABSL_GUARDED_BY(mutex_) = 0;
  int seen_interrupts_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace plimsoll
