#include "agent/host/device_claim.h"

#include <blkid/blkid.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <sstream>
#include <system_error>
#include <type_traits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/host/storage_stack.h"
#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

std::string DeviceNumber(dev_t device) {
  return absl::StrCat(major(device), ":", minor(device));
}

std::string SysDevice(dev_t device) {
  return absl::StrCat("/sys/dev/block/", DeviceNumber(device));
}

absl::Status DeviceInUse(const std::string& path, const std::string& how) {
  return absl::FailedPreconditionError(absl::StrCat(path, " is in use: ", how));
}

absl::Status DeviceHolds(const std::string& path, const std::string& what) {
  return absl::FailedPreconditionError(absl::StrCat(
      path, " holds ", what, ", which --overwrite does not destroy; name an empty device, or wipe it first (wipefs)"));
}

bool IsSwap(dev_t device) {
  std::istringstream lines(ReadTextFile("/proc/swaps"));
  std::string line;
  while (std::getline(lines, line)) {
    struct stat info{};
    const std::string swap = DecodeMountText(line.substr(0, line.find_first_of(" \t")));
    if (absl::StartsWith(swap, "/dev/") && stat(swap.c_str(), &info) == 0 && S_ISBLK(info.st_mode) &&
        info.st_rdev == device) {
      return true;
    }
  }
  return false;
}

// First entry of a directory of /sys that holds `with`; empty: there is none.
std::string FirstEntry(const std::string& directory, const std::string& with) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (with.empty() || std::filesystem::exists(entry->path() / with, ignored)) return entry->path().filename();
  }
  return "";
}

// A value that udev has recorded of the device ("ID_FS_TYPE"); mostly empty.
std::string UdevValue(const std::string& record, const std::string& key) {
  std::istringstream lines(record);
  const std::string start = absl::StrCat("E:", key, "=");
  std::string line;
  while (std::getline(lines, line)) {
    if (absl::StartsWith(line, start)) return line.substr(start.size());
  }
  return "";
}

// Whether it is a part of LVM or Stratis that only they use. libblkid does not look at such devices at all.
bool IsInternalDevice(dev_t device) {
  const std::string id = ReadTextLine(absl::StrCat(SysDevice(device), "/dm/uuid"));
  if (absl::StartsWith(id, "stratis-1-private")) return true;
  // "LVM-" and 64 digits are a volume; more behind a hyphen is a part of one.
  return absl::StartsWith(id, "LVM-") && id.find('-', 4) != std::string::npos;
}

struct FreeProbe {
  void operator()(blkid_probe probe) const { blkid_free_probe(probe); }
};
using DeviceProbe = std::unique_ptr<std::remove_pointer_t<blkid_probe>, FreeProbe>;

std::string ProbedValue(blkid_probe probe, const char* name) {
  const char* value = nullptr;
  return blkid_probe_lookup_value(probe, name, &value, nullptr) == 0 && value != nullptr ? value : "";
}

absl::Status ProbeDevice(int fd, const std::string& path) {
  const DeviceProbe probe(blkid_new_probe());
  if (probe == nullptr || blkid_probe_set_device(probe.get(), fd, 0, 0) != 0 ||
      blkid_probe_enable_superblocks(probe.get(), 1) != 0 ||
      // What has a wrong checksum is damaged, not empty.
      blkid_probe_set_superblocks_flags(probe.get(), BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE | BLKID_SUBLKS_BADCSUM) !=
          0 ||
      blkid_probe_enable_partitions(probe.get(), 1) != 0 ||
      blkid_probe_set_partitions_flags(probe.get(), BLKID_PARTS_FORCE_GPT) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": what is on the device cannot be examined (libblkid)"));
  }
  switch (blkid_do_safeprobe(probe.get())) {
    case 1:
      return absl::OkStatus();
    case 0:
      break;
    case -2:
      return DeviceHolds(path, "several file systems, partition tables or the like at once");
    default:
      return absl::FailedPreconditionError(absl::StrCat(path, ": what is on the device cannot be read (libblkid)"));
  }
  if (const std::string type = ProbedValue(probe.get(), "TYPE"); !type.empty()) {
    const bool file_system = ProbedValue(probe.get(), "USAGE") == "filesystem";
    return DeviceHolds(path, absl::StrCat(file_system ? "a file system (" : "data of ", type, file_system ? ")" : ""));
  }
  return DeviceHolds(path, absl::StrCat("a partition table (", ProbedValue(probe.get(), "PTTYPE"), ")"));
}

}  // namespace

uint64_t DeviceBytes(dev_t device) {
  constexpr uint64_t kSysSectorBytes = 512;
  uint64_t sectors = 0;
  return absl::SimpleAtoi(ReadTextLine(absl::StrCat(SysDevice(device), "/size")), &sectors) ? sectors * kSysSectorBytes
                                                                                            : 0;
}

absl::StatusOr<uint64_t> DeviceBytesOf(int fd, const std::string& path) {
  uint64_t bytes = 0;
  if (ioctl(fd, BLKGETSIZE64, &bytes) != 0) return PosixError("ioctl BLKGETSIZE64", path, errno);
  if (bytes == 0) return absl::FailedPreconditionError(absl::StrCat(path, " has no size: nothing is attached to it"));
  return bytes;
}

absl::Status CheckDeviceUnused(dev_t device, const std::string& path) {
  for (const Mount& mount : ParseMountInfo(ReadTextFile("/proc/self/mountinfo"))) {
    if (mount.device == device) return DeviceInUse(path, absl::StrCat("it is mounted on ", mount.mount_point));
  }
  if (IsSwap(device)) return DeviceInUse(path, "it is swap space");
  if (const std::string part = FirstEntry(SysDevice(device), "partition"); !part.empty()) {
    return DeviceHolds(path, absl::StrCat("partitions (", part, ")"));
  }
  if (const std::string holder = FirstEntry(absl::StrCat(SysDevice(device), "/holders"), ""); !holder.empty()) {
    return DeviceInUse(path, absl::StrCat("it is a part of ", holder));
  }
  if (IsInternalDevice(device)) return DeviceInUse(path, "it is an internal device of LVM or Stratis");
  const std::string record = ReadTextFile(absl::StrCat("/run/udev/data/b", DeviceNumber(device)));
  if (UdevValue(record, "DM_MULTIPATH_DEVICE_PATH") == "1") {
    return DeviceInUse(path, "it is a path of a multipath device; name that one (/dev/mapper)");
  }
  if (const std::string type = UdevValue(record, "ID_FS_TYPE"); !type.empty()) {
    return DeviceHolds(path, absl::StrCat("data of ", type, " according to udev"));
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> ClaimDevice(int place_fd, const std::string& path) {
  struct stat info{};
  if (fstat(place_fd, &info) != 0) return PosixError("fstat", path, errno);
  if (!S_ISBLK(info.st_mode)) return absl::FailedPreconditionError(absl::StrCat(path, " is not a block device"));
  UniqueFd fd(open(absl::StrCat("/proc/self/fd/", place_fd).c_str(), O_RDWR | O_EXCL | O_CLOEXEC));
  if (!fd.valid() && errno == EBUSY) {
    PLIMSOLL_RETURN_IF_ERROR(CheckDeviceUnused(info.st_rdev, path));
    return DeviceInUse(path,
                       "it is mounted, or another device or process holds it (open: Device or resource busy (16))");
  }
  if (!fd.valid()) return PosixError("open", path, errno);
  PLIMSOLL_RETURN_IF_ERROR(CheckDeviceUnused(info.st_rdev, path));
  // What another host wrote is on the device, not in this host's cache.
  posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  PLIMSOLL_RETURN_IF_ERROR(ProbeDevice(fd.get(), path));
  return fd;
}

}  // namespace plimsoll
