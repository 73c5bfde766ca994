// Threads of a run: started with no signals, kept on a CPU of their own, released together, or kept busy.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
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
// and were started in turn, begin where the previous one ends.
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

// Waiters sleep on a condition until shortly before the start, so that another Arm, a stop or the end of the work gets
// through; then in one clock_nanosleep with an absolute time; and in the final phase they may spin.
//
// Whether a step has begun is decided by one atomic word: either all waiters go, or, where the arming was replaced in
// time, none does. Thread-safe.
class StartGate {
 public:
  // A start nearer than this cannot be promised: threads must be woken and be given a CPU first.
  static constexpr int64_t kLeastLeadNs = 2'000'000;
  // A start further away than this, a day, is refused.
  static constexpr int64_t kMostLeadNs = 86'400 * int64_t{1'000'000'000};

  struct Start {
    uint64_t arming = 0;  // grows with each
    uint32_t step = 0;
    int64_t start_ns = 0;
  };

  // False where the armed step has begun. Replaces an arming that has not.
  bool Arm(uint32_t step, int64_t start_ns);
  // Takes the arming back. False where the step has begun.
  bool Disarm();
  // Begins the armed step at once: for a stop, so that it ends like any other. Does nothing if no step is armed.
  void OpenNow();
  // The step that had begun is over and another one may be armed.
  void End();
  // Every wait returns nothing, now and later.
  void Close();

  // The armed step has begun and is not over.
  bool begun() const { return (word_.load(std::memory_order_acquire) & kBegun) != 0; }

  // Waits for an arming after the one with number `after` (0: any) to be there.
  std::optional<Start> AwaitArming(uint64_t after);
  // Waits until the step armed after `after` begins: at its start plus `offset_ns` (>= 0), of which the last `spin_ns`
  // are spent looking at the clock. Nothing where the gate was closed.
  std::optional<Start> AwaitStart(uint64_t after, int64_t offset_ns, int64_t spin_ns);

 private:
  static constexpr uint64_t kBegun = 1;

  // True if the arming is in force or has begun already, false if it was replaced.
  bool Begin(uint64_t arming);
  // Waits for an arming and on to `lead_ns` before its start plus `offset_ns`.
  std::optional<Start> AwaitFinalPhase(uint64_t after, int64_t offset_ns, int64_t lead_ns);

  Mutex mutex_;
  CondVar changed_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool armed_ ABSL_GUARDED_BY(mutex_) = false;
  Start start_ ABSL_GUARDED_BY(mutex_);
  // Number of the last arming (or of its end) times two, plus kBegun. Changes from "armed" to "replaced" under the
  // lock; from "armed" to "begun" by the first thread that comes.
  std::atomic<uint64_t> word_{0};
};

}  // namespace plimsoll
