#include "agent/watch/settled_time.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>

#include "agent/writer/worker_threads.h"
#include "common/clock.h"

namespace plimsoll {
namespace {

// Pause after each grace period: the kernel has other uses for its time.
constexpr std::chrono::milliseconds kGracePause{20};

bool AwaitGracePeriod() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0;
}

bool HasGracePeriods() {
  const long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  return commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL) != 0 && AwaitGracePeriod();
}

}  // namespace

SettledTime::SettledTime() : proven_(HasGracePeriods()) {
  if (proven_) thread_ = StartThread("settle", [this] { Loop(); });
}

SettledTime::~SettledTime() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void SettledTime::Run(bool running) {
  const MutexLock lock(mutex_);
  running_ = running;
  changed_.NotifyAll();
}

int64_t SettledTime::settled_ns() const {
  if (!proven_) return SystemClock::Read().value - kMarginNs;
  // Acquire: the drain that follows sees what was published before the grace period ended.
  return settled_ns_.load(std::memory_order_acquire);
}

void SettledTime::Loop() {
  while (true) {
    {
      const MutexLock lock(mutex_);
      while (!closed_ && !running_) changed_.Wait(mutex_);
      if (closed_) return;
    }
    const int64_t now_ns = SystemClock::Read().value;
    if (AwaitGracePeriod()) settled_ns_.store(now_ns, std::memory_order_release);
    const MutexLock lock(mutex_);
    if (!closed_) changed_.WaitFor(mutex_, kGracePause);
  }
}

}  // namespace plimsoll
