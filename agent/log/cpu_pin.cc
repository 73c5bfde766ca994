#include "agent/log/cpu_pin.h"

namespace plimsoll {

void CpuPin::Hold(uint32_t index) {
  if (held_) return;
  CPU_ZERO(&before_);
  if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  const auto usable = static_cast<uint32_t>(CPU_COUNT(&before_));
  if (usable < 2) return;
  uint32_t skip = index % usable;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before_)) continue;
    if (skip > 0) {
      --skip;
      continue;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    held_ = sched_setaffinity(0, sizeof one, &one) == 0;
    return;
  }
}

void CpuPin::Release() {
  if (!held_) return;
  held_ = false;
  sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace plimsoll
