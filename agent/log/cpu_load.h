// Threads that keep CPUs busy while writers run, as applications beside a queue manager do.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"

namespace plimsoll {

// Between Begin and End each thread is in a plain busy loop; else it sleeps. Not thread-safe.
class CpuLoad {
 public:
  CpuLoad() = default;
  ~CpuLoad();
  CpuLoad(const CpuLoad&) = delete;
  CpuLoad& operator=(const CpuLoad&) = delete;

  // Makes the threads. Throws std::system_error where the system gives none.
  void Start(uint32_t threads);

  void Begin();
  void End();

 private:
  void Run();

  Mutex mutex_;
  CondVar changed_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  // Relaxed in the loop: nothing else is read by way of it.
  std::atomic<bool> busy_{false};
  std::vector<std::thread> threads_;
};

}  // namespace plimsoll
