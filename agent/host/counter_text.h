// Reading the kernel's counter files, as functions of their text.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// One device's line of /proc/diskstats, counters since boot. Nothing where the device is not there. Kernels before 5.5
// tell no flushes: 0.
std::optional<v1::DiskCounters> ParseDiskStats(const std::string& text, dev_t device);

// WRITE and COMMIT of the NFS mount on `mount_point` in /proc/self/mountstats, counters since it was mounted; of
// several mounted over one another, the uppermost. Nothing where there is no such NFS mount. Where an operation is not
// listed its message is absent.
std::optional<v1::NfsCounters> ParseMountStats(const std::string& text, const std::string& mount_point);

// Time that a thread was runnable but waited for a CPU, from its schedstat ("<run ns> <wait ns> <slices>"). Nothing
// where the text is not understood.
std::optional<uint64_t> ParseRunDelayNs(const std::string& text);

// What was counted from `then` to `now`; gauges are those of `now`. Milliseconds of /proc/diskstats have 32 bits and
// may wrap once; other counters that went back (a remount) give 0.
v1::DiskCounters DiskSince(const v1::DiskCounters& now, const v1::DiskCounters& then);
v1::NfsCounters NfsSince(const v1::NfsCounters& now, const v1::NfsCounters& then);

}  // namespace plimsoll
