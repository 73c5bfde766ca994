#include "agent/log/cpu_load.h"

#include "agent/log/worker_thread.h"

namespace plimsoll {

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
