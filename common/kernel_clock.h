// Which clock a process reads: that of its kernel, in its time namespace.
#pragma once

#include <string>

namespace plimsoll {

struct KernelClock {
  // Random, made anew at each start of the kernel.
  std::string boot_id;
  // As /proc/self/ns/time names it; the kernel may have none.
  std::string time_namespace;

  // Whether both are known, and are those of the other one. Cloned machines have one boot id for two kernels: only
  // where nothing but this kernel can lie between two processes do they read one clock.
  bool IsThatOf(const KernelClock& other) const {
    return !boot_id.empty() && !time_namespace.empty() && boot_id == other.boot_id &&
           time_namespace == other.time_namespace;
  }
};

// That of this process; what cannot be read is empty.
KernelClock ReadKernelClock();

}  // namespace plimsoll
