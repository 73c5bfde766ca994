// Whether a block device is empty and unused, so that a run may write to it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/posix.h"

namespace plimsoll {

// Size of a block device as /sys has it, without opening it; 0: not known.
uint64_t DeviceBytes(dev_t device);

// Size of the block device that `fd` is open on. FAILED_PRECONDITION where it is 0: no medium, or nothing attached.
absl::StatusOr<uint64_t> DeviceBytesOf(int fd, const std::string& path);

// FAILED_PRECONDITION for what shows without opening the device: it is mounted here, is swap, has partitions, is part
// of another device, is a path of a multipath device or an internal one of LVM, or udev has found something on it.
absl::Status CheckDeviceUnused(dev_t device, const std::string& path);

// Opens the block device that `place_fd` (O_PATH) is open on for writing, and exclusively: the kernel refuses that for
// a device that is mounted or held, and for as long as the result is open, refuses to mount or hold it. Then looks for
// what is on it by this descriptor. FAILED_PRECONDITION where it is in use, or holds a file system, a partition table
// or a member of a volume group, an array or the like; also where that cannot be found out.
//
// Another host that has the same unit mounted is seen only by what it left on it.
absl::StatusOr<UniqueFd> ClaimDevice(int place_fd, const std::string& path);

}  // namespace plimsoll
