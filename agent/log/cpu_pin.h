// Keeps a thread on one CPU for a while.
#pragma once

#include <sched.h>

#include <cstdint>

namespace plimsoll {

// Spreads threads that wake at the same moment over the CPUs: left to itself, the kernel may wake two of them on one
// CPU while another is idle, and the second then waits for the first one's system call (some 0.1 ms at the start of a
// step). For the calling thread only. Where the kernel refuses, nothing changes: the pin is a help, not a need.
class CpuPin {
 public:
  // The calling thread runs on the `index`-th (modulo their number) of the CPUs that it may use, until Release.
  void Hold(uint32_t index);
  // Gives the thread its CPUs back. Does nothing where it holds none.
  void Release();

 private:
  cpu_set_t before_{};
  bool held_ = false;
};

}  // namespace plimsoll
