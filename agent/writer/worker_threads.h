// Threads of a run: started with no signals, kept on a CPU of their own, or kept busy.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"

namespace plimsoll {

// Blocks every signal of the calling thread for a scope.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

// Starts `body` on a thread named `name` (at most 15 bytes) with every signal blocked, from its first instruction on:
// a signal is the main thread's business, and must not cut a measured write short. Throws std::system_error where the
// system gives no thread.
template <typename Body>
std::thread StartThread(const std::string& name, Body body) {
  const AllSignalsBlocked blocked;
  return std::thread([name, run = std::move(body)]() mutable {
    pthread_setname_np(pthread_self(), name.c_str());
    run();
  });
}

// Number of the first CPU for a process whose `threads` threads are held on one each: processes that share a machine,
// and were started one after the other, begin where the one before ends.
constexpr uint64_t FirstCpuOf(uint64_t process, uint64_t threads) {
  return process * threads;
}

// Spreads threads that wake at the same moment over the CPUs: left to itself, the kernel may wake two of them on one
// CPU while another is idle, and the second then waits for the first one's system call (some 0.1 ms at the start of a
// step). For the calling thread only. Where the kernel refuses, nothing changes: the pin is a help, not a need.
class CpuPin {
 public:
  using SetAffinity = int (*)(pid_t thread, size_t size_bytes, const cpu_set_t* cpus);
  // `set_affinity` is the system's, but in tests.
  explicit CpuPin(SetAffinity set_affinity = sched_setaffinity) : set_affinity_(set_affinity) {}

  // The calling thread runs on the `index`-th (modulo their number) of the CPUs that it may use, until Release.
  void Hold(uint64_t index);
  // Gives the thread its CPUs back, or all that the kernel lets it have where those are no longer to be had. Does
  // nothing where it holds none; where the kernel refuses that too it may be tried again.
  void Release();
  bool held() const { return held_; }

 private:
  SetAffinity set_affinity_;
  cpu_set_t before_{};
  bool held_ = false;
};

// Threads that keep CPUs busy while writers run, as applications beside a queue manager do.
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
