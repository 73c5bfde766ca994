// Keeps a thread on one CPU for a while.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>

namespace plimsoll {

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

}  // namespace plimsoll
