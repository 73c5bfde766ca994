#include "agent/writer/worker_threads.h"

#include <chrono>

#include "agent/writer/file_env.h"

namespace plimsoll {
namespace {

std::chrono::steady_clock::time_point AsSteady(int64_t moment_ns) {
  // libstdc++'s steady clock is CLOCK_MONOTONIC.
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(moment_ns));
}

}  // namespace

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
  // Its former CPUs are all gone, as where the host's cpuset was changed. The kernel cuts this down to what is there.
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

bool StartGate::Arm(uint32_t step, int64_t start_ns) {
  const MutexLock lock(mutex_);
  uint64_t word = word_.load(std::memory_order_acquire);
  if ((word & kBegun) != 0) return false;
  // Acquire and release: Begin's threads see what was done before the arming, and we what was done in the step before.
  if (!word_.compare_exchange_strong(word, word + 2, std::memory_order_acq_rel)) return false;
  armed_ = true;
  start_ = {(word + 2) / 2, step, start_ns};
  changed_.NotifyAll();
  return true;
}

bool StartGate::Disarm() {
  const MutexLock lock(mutex_);
  uint64_t word = word_.load(std::memory_order_acquire);
  if ((word & kBegun) != 0) return false;
  if (!word_.compare_exchange_strong(word, word + 2, std::memory_order_acq_rel)) return false;
  armed_ = false;
  changed_.NotifyAll();
  return true;
}

void StartGate::OpenNow() {
  const MutexLock lock(mutex_);
  if (!armed_) return;
  Begin(start_.arming);
  changed_.NotifyAll();
}

void StartGate::End() {
  const MutexLock lock(mutex_);
  armed_ = false;
  word_.store((word_.load(std::memory_order_acquire) & ~kBegun) + 2, std::memory_order_release);
}

void StartGate::Close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  changed_.NotifyAll();
}

std::optional<StartGate::Start> StartGate::AwaitArming(uint64_t after) {
  const MutexLock lock(mutex_);
  while (!closed_ && !(armed_ && start_.arming > after)) changed_.Wait(mutex_);
  if (closed_) return std::nullopt;
  return start_;
}

std::optional<StartGate::Start> StartGate::AwaitFinalPhase(uint64_t after, int64_t offset_ns, int64_t lead_ns) {
  const MutexLock lock(mutex_);
  while (true) {
    if (closed_) return std::nullopt;
    if (!armed_ || start_.arming <= after) {
      changed_.Wait(mutex_);
      continue;
    }
    const int64_t wake_ns = start_.start_ns + offset_ns - lead_ns;
    if (begun() || MonotonicNowNs() >= wake_ns) return start_;
    changed_.WaitUntil(mutex_, AsSteady(wake_ns));
  }
}

std::optional<StartGate::Start> StartGate::AwaitStart(uint64_t after, int64_t offset_ns, int64_t spin_ns) {
  while (true) {
    const std::optional<Start> start = AwaitFinalPhase(after, offset_ns, kLeastLeadNs);
    if (!start) return std::nullopt;
    const int64_t go_ns = start->start_ns + offset_ns;
    // Where the step was begun early, for a stop, there is nothing to wait for.
    if (word_.load(std::memory_order_acquire) != start->arming * 2 + kBegun || MonotonicNowNs() >= start->start_ns) {
      SleepUntilNs(go_ns - spin_ns);
      while (MonotonicNowNs() < go_ns) {
      }
    }
    if (Begin(start->arming)) return start;
  }
}

bool StartGate::Begin(uint64_t arming) {
  uint64_t word = arming * 2;
  if (word_.compare_exchange_strong(word, arming * 2 + kBegun, std::memory_order_acq_rel)) return true;
  return word == arming * 2 + kBegun;
}

}  // namespace plimsoll
