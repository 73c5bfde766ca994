// What the kernel counts as read from the storage below a directory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace plimsoll {

// The counter of the block device or the NFS mount that a directory is on. Counts the reads of every process. Not
// thread-safe.
class StorageReads {
 public:
  // Finds the device or mount. May hang with a hung file system; afterwards only /proc is read.
  explicit StorageReads(const std::string& directory);

  // Where it is counted: "sda1", "NFS mount /mnt/qm". Empty if there is no counter, as for tmpfs and btrfs.
  const std::string& counted_at() const { return counted_at_; }

  // Bytes read since boot or since the mount; nothing if they cannot be read.
  std::optional<uint64_t> Read() const;

 private:
  std::string counted_at_;
  dev_t device_ = 0;
  // Empty for a block device.
  std::string nfs_mount_point_;
};

}  // namespace plimsoll
