#include "agent/host/mount_counters.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/host/counters.h"
#include "agent/host/storage_stack.h"

namespace plimsoll {
namespace {

v1::MountCounters NoCounters(v1::MountCounters mount, absl::StatusCode code, const std::string& why) {
  mount.set_error(why);
  mount.set_error_code(static_cast<int32_t>(code));
  return mount;
}

}  // namespace

v1::MountCounters CountersOfMount(const std::string& mount_point, const MountTexts& texts,
                                  const std::string& sys_dev_block) {
  v1::MountCounters counters;
  const std::vector<Mount> mounts = ParseMountInfo(texts.mountinfo);
  const auto mount =
      std::find_if(mounts.rbegin(), mounts.rend(), [&](const Mount& each) { return each.mount_point == mount_point; });
  if (mount == mounts.rend()) {
    const Mount* const above = FindMount(mounts, /*mount_id=*/0, /*device=*/0, mount_point);
    return NoCounters(std::move(counters), absl::StatusCode::kNotFound,
                      absl::StrCat("nothing is mounted on ", mount_point,
                                   above == nullptr ? "" : absl::StrCat("; the mount above it is ", above->mount_point),
                                   ": name a mount point, as `findmnt -T ", mount_point, "` shows it"));
  }
  counters.set_fs_type(mount->fs_type);
  counters.set_fs_source(mount->source);
  counters.set_device(mount->device);
  if (IsNfs(*mount)) {
    if (auto nfs = ParseMountStats(texts.mountstats, mount_point); nfs.has_value() && nfs->has_write()) {
      *counters.mutable_nfs() = *std::move(nfs);
      if (const auto unanswered = ParseNfsUnanswered(texts.mountstats, mount_point); unanswered.has_value()) {
        counters.set_nfs_unanswered(*unanswered);
        counters.set_idle(*unanswered == 0);
      }
      return counters;
    }
  } else if (const auto device = FindBlockDevice(mount->device, sys_dev_block); device.has_value()) {
    if (auto disk = ParseDiskStats(texts.diskstats, *device); disk.has_value()) {
      counters.set_idle(disk->in_flight() == 0);
      *counters.mutable_disk() = *std::move(disk);
      counters.set_partitioned_disk(device->partitioned_disk);
      return counters;
    }
  }
  return NoCounters(std::move(counters), absl::StatusCode::kFailedPrecondition,
                    absl::StrCat("the kernel counts no writes of ", mount_point, " (", mount->fs_type, ")"));
}

v1::MountCounters ReadMountCounters(const std::string& mount_point) {
  return CountersOfMount(mount_point, {ReadTextFile("/proc/self/mountinfo"), ReadTextFile("/proc/diskstats"),
                                       ReadTextFile("/proc/self/mountstats")});
}

}  // namespace plimsoll
