// The block device below a directory, as /sys tells it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace plimsoll {

struct BlockDevice {
  // Name as in /proc/diskstats: "sda1", "dm-3".
  std::string name;
  dev_t number = 0;
  // The disk that a partition lies on; of a whole disk, its own number.
  dev_t disk_number = 0;
  uint32_t logical_block_bytes = 0;
};

// The block device of a device number (st_dev). Nothing where it is no block device's: network file systems, and those
// that number their volumes themselves (btrfs, overlay, tmpfs). `sys_dev_block` is "/sys/dev/block", but for tests.
std::optional<BlockDevice> FindBlockDevice(dev_t number, const std::string& sys_dev_block = "/sys/dev/block");

}  // namespace plimsoll
