// The kernel's counters of one mount, for a controller that must not let it become slower.
#pragma once

#include <string>

#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Texts of /proc, all read at one moment.
struct MountTexts {
  // /proc/self/mountinfo, /proc/diskstats and /proc/self/mountstats.
  std::string mountinfo;
  std::string diskstats;
  std::string mountstats;
};

// The counters of the mount whose mount point is exactly `mount_point`; of several mounted over one another, the
// uppermost's. Otherwise the error says what is there instead, or that the kernel counts no writes of this file system.
// `sys_dev_block` is "/sys/dev/block", but for tests.
v1::MountCounters CountersOfMount(const std::string& mount_point, const MountTexts& texts,
                                  const std::string& sys_dev_block = "/sys/dev/block");

// CountersOfMount of this host, now. Reads /proc and /sys only: it neither opens the mount nor waits for it.
v1::MountCounters ReadMountCounters(const std::string& mount_point);

}  // namespace plimsoll
