// How long the agent may go on without hearing from its controller.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/clock.h"

namespace plimsoll {

// A deadline that every message moves, and that never moves again once it has passed: a process that was frozen and
// woken finds old messages in its socket, and they must not revive what has expired. Thread-safe.
class Lease {
 public:
  Lease(MonotonicNs now, int64_t length_ns) : length_ns_(length_ns), deadline_ns_(now.value + length_ns) {}

  // A message came. Returns false, and moves nothing, where the lease had run out.
  bool Renew(MonotonicNs now) {
    int64_t deadline = deadline_ns_.load(std::memory_order_relaxed);
    // A compare-and-swap, so that a late renewal cannot undo another thread's.
    while (now.value < deadline) {
      const int64_t moved = now.value + length_ns_.load(std::memory_order_relaxed);
      if (moved <= deadline) return true;
      if (deadline_ns_.compare_exchange_weak(deadline, moved, std::memory_order_relaxed)) return true;
    }
    return false;
  }

  // Takes effect with the next renewal; a shorter length at once.
  void SetLength(MonotonicNs now, int64_t length_ns) {
    length_ns_.store(length_ns, std::memory_order_relaxed);
    int64_t deadline = deadline_ns_.load(std::memory_order_relaxed);
    while (now.value < deadline && deadline > now.value + length_ns) {
      if (deadline_ns_.compare_exchange_weak(deadline, now.value + length_ns, std::memory_order_relaxed)) return;
    }
  }

  int64_t length_ns() const { return length_ns_.load(std::memory_order_relaxed); }
  // What writers compare the start of each write with. Relaxed: the value stands alone.
  const std::atomic<int64_t>& deadline_ns() const { return deadline_ns_; }
  bool Expired(MonotonicNs now) const { return now.value >= deadline_ns_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> length_ns_;
  std::atomic<int64_t> deadline_ns_;
};

}  // namespace plimsoll
