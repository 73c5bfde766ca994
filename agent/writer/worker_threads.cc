#include "agent/writer/worker_threads.h"

namespace plimsoll {

void CpuPin::Hold(uint64_t index) {
  if (held_) return;
  CPU_ZERO(&before_);
  if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  const auto usable = static_cast<uint64_t>(CPU_COUNT(&before_));
  if (usable < 2) return;
  uint64_t skip = index % usable;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before_)) continue;
    if (skip > 0) {
      --skip;
      continue;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    held_ = set_affinity_(0, sizeof one, &one) == 0;
    return;
  }
}

void CpuPin::Release() {
  if (!held_) return;
  if (set_affinity_(0, sizeof before_, &before_) == 0) {
    held_ = false;
    return;
  }
  // None of those that it had is left, as where the host's cpuset was changed. The kernel cuts this down to what is.
  cpu_set_t all;
  CPU_ZERO(&all);
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
  held_ = set_affinity_(0, sizeof all, &all) != 0;
}

void CpuLoad::Start(uint32_t threads) {
  threads_.reserve(threads);
  for (uint32_t i = 0; i < threads; ++i) {
    threads_.push_back(StartThread("cpu-load", [this] { Run(); }));
  }
}

CpuLoad::~CpuLoad() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    busy_.store(false, std::memory_order_relaxed);
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void CpuLoad::Begin() {
  const MutexLock lock(mutex_);
  busy_.store(true, std::memory_order_relaxed);
  changed_.NotifyAll();
}

void CpuLoad::End() {
  busy_.store(false, std::memory_order_relaxed);
}

void CpuLoad::Run() {
  while (true) {
    {
      const MutexLock lock(mutex_);
      while (!closed_ && !busy_.load(std::memory_order_relaxed)) changed_.Wait(mutex_);
      if (closed_) return;
    }
    while (busy_.load(std::memory_order_relaxed)) {
    }
  }
}

}  // namespace plimsoll
