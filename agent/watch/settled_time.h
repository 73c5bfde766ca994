// Up to when nothing more can arrive in any perf ring.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"

namespace plimsoll {

// The time of a record is read, and the record is published in its ring, in one section of the kernel that cannot be
// preempted. The clock alone does not show that such a section is over: the hypervisor may suspend its CPU for any
// length of time. membarrier(MEMBARRIER_CMD_GLOBAL) does: the kernel implements it as an RCU grace period, which ends
// only when every section that had begun before has ended. So, with `settled` the clock's reading before a membarrier
// that has returned, a drain that begins afterwards finds every record with a time before `settled`: its section began
// before `settled`, hence before the membarrier, hence has ended.
//
// A grace period takes some 10 to 50 ms, so a thread of its own waits for them in turn. Where the kernel has no
// such membarrier (CPUs with nohz_full), or a filter forbids it, `settled` is the time `kMarginNs` ago, which proves
// nothing where a CPU can be suspended.
class SettledTime {
 public:
  static constexpr int64_t kMarginNs = 200'000'000;

  SettledTime();
  ~SettledTime();
  SettledTime(const SettledTime&) = delete;
  SettledTime& operator=(const SettledTime&) = delete;

  // Begins or ends waiting for grace periods. While it does not wait, settled_ns() keeps its value.
  void Run(bool running);

  // A moment of CLOCK_MONOTONIC. Read it before the drain that is to have every record before it. Never goes back.
  int64_t settled_ns() const;

 private:
  void Loop();

  // Whether the kernel vouches for settled_ns().
  const bool proven_;
  std::atomic<int64_t> settled_ns_{0};
  Mutex mutex_;
  CondVar changed_;
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace plimsoll
