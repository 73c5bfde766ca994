#include "agent/restart/restart_counter.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/host/counters.h"
#include "agent/host/storage_stack.h"
#include "common/posix.h"

namespace plimsoll {

StorageReads::StorageReads(const std::string& directory) {
  const UniqueFd fd(open(directory.c_str(), O_PATH | O_CLOEXEC));
  struct stat info{};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return;
  if (const std::optional<BlockDevice> device = FindBlockDevice(info.st_dev); device.has_value()) {
    device_ = device->number;
    counted_at_ = device->name;
    return;
  }
  const std::vector<Mount> mounts = ParseMountInfo(ReadTextFile("/proc/self/mountinfo"));
  const Mount* const mount = FindMount(mounts, MountIdOf(fd.get()), info.st_dev, directory);
  if (mount == nullptr || !IsNfs(*mount)) return;
  nfs_mount_point_ = mount->mount_point;
  counted_at_ = absl::StrCat("NFS mount ", nfs_mount_point_);
}

std::optional<uint64_t> StorageReads::Read() const {
  if (counted_at_.empty()) return std::nullopt;
  if (!nfs_mount_point_.empty()) {
    return ParseNfsReadBytes(ReadTextFile("/proc/self/mountstats"), nfs_mount_point_);
  }
  const auto disk = ParseDiskStats(ReadTextFile("/proc/diskstats"), device_);
  return disk.has_value() ? std::optional(disk->read_bytes()) : std::nullopt;
}

}  // namespace plimsoll
