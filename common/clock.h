// The two clocks. Monotonic time is what is measured with; wall time is for display only. The types do not mix.
#pragma once

#include <compare>
#include <cstdint>

#include "common/mutex.h"

namespace plimsoll {

// A moment of CLOCK_MONOTONIC, in nanoseconds.
struct MonotonicNs {
  int64_t value = 0;
  auto operator<=>(const MonotonicNs&) const = default;
};
inline MonotonicNs operator+(MonotonicNs t, int64_t duration_ns) {
  return {t.value + duration_ns};
}
inline MonotonicNs operator-(MonotonicNs t, int64_t duration_ns) {
  return {t.value - duration_ns};
}
inline int64_t operator-(MonotonicNs a, MonotonicNs b) {
  return a.value - b.value;
}

// A moment of CLOCK_REALTIME, in nanoseconds since 1970 UTC.
struct WallNs {
  int64_t value = 0;
  auto operator<=>(const WallNs&) const = default;
};

// Where the time comes from. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicNs Now() const = 0;
  virtual WallNs WallNow() const = 0;
  // Sleeps until the moment has come; returns at once where it has passed. Ignores signals.
  virtual void SleepUntil(MonotonicNs moment) const = 0;
  // Waits for `changed`, at most until the moment; returns false when the moment has passed first. May return true for
  // no reason: wait in a loop that checks the condition.
  virtual bool WaitUntil(Mutex& mutex, CondVar& changed, MonotonicNs moment) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) = 0;
};

// The kernel's clocks. CLOCK_MONOTONIC through the vDSO costs some 20 ns a read.
class SystemClock final : public Clock {
 public:
  MonotonicNs Now() const override { return Read(); }
  WallNs WallNow() const override;
  void SleepUntil(MonotonicNs moment) const override;
  bool WaitUntil(Mutex& mutex, CondVar& changed, MonotonicNs moment) const override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // For the hot path: no virtual call.
  static MonotonicNs Read();
};

}  // namespace plimsoll
