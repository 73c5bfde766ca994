#include "agent/host/mounts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace plimsoll {
namespace {

bool IsOctal(char c) {
  return c >= '0' && c <= '7';
}

std::vector<std::string> Options(const std::string& text) {
  return absl::StrSplit(text, ',', absl::SkipEmpty());
}

// The options of the mount, then those of the file system that it does not repeat.
std::string JoinOptions(const std::string& of_mount, const std::string& of_file_system) {
  std::string joined = of_mount;
  const std::vector<std::string> first = Options(of_mount);
  std::set<std::string> seen(first.begin(), first.end());
  // A read-only mount of a writable file system shows both: the mount's word counts.
  if (seen.count("ro") != 0) seen.insert("rw");
  for (const std::string& option : Options(of_file_system)) {
    if (seen.insert(option).second) absl::StrAppend(&joined, joined.empty() ? "" : ",", option);
  }
  return joined;
}

bool ParseDevice(const std::string& text, dev_t& device) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  uint32_t major_number = 0;
  uint32_t minor_number = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &major_number) || !absl::SimpleAtoi(parts[1], &minor_number)) {
    return false;
  }
  device = makedev(major_number, minor_number);
  return true;
}

// 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue: between the options and the dash
// stand any number of fields.
bool ParseLine(const std::string& line, Mount& mount) {
  const std::vector<std::string> fields = absl::StrSplit(line, ' ');
  const auto dash = std::find(fields.begin() + std::min<std::ptrdiff_t>(6, std::ssize(fields)), fields.end(), "-");
  if (std::distance(dash, fields.end()) < 4) return false;
  if (!absl::SimpleAtoi(fields[0], &mount.id) || !ParseDevice(fields[2], mount.device)) return false;
  mount.mount_point = DecodeMountText(fields[4]);
  mount.fs_type = DecodeMountText(*(dash + 1));
  mount.source = DecodeMountText(*(dash + 2));
  mount.options = JoinOptions(DecodeMountText(fields[5]), DecodeMountText(*(dash + 3)));
  return true;
}

bool IsAbove(const std::string& mount_point, const std::string& path) {
  if (mount_point == "/") return absl::StartsWith(path, "/");
  return path == mount_point || absl::StartsWith(path, mount_point + "/");
}

constexpr std::array<std::pair<const char*, const char*>, 10> kCaveats = {
    {{"tmpfs", "tmpfs keeps data in memory: no device is measured and nothing survives a restart"},
     {"ramfs", "ramfs keeps data in memory: no device is measured and nothing survives a restart"},
     {"devtmpfs", "devtmpfs keeps data in memory: no device is measured and nothing survives a restart"},
     {"hugetlbfs", "hugetlbfs keeps data in memory: no device is measured and nothing survives a restart"},
     {"overlay", "overlay is a layer over another file system, whose properties count"},
     {"zfs", "zfs before OpenZFS 2.3 accepts O_DIRECT but buffers all the same"},
     {"9p", "9p passes writes on to another system, which may buffer them"},
     {"virtiofs", "virtiofs passes writes on to another system, which may buffer them"},
     {"vboxsf", "vboxsf passes writes on to another system, which may buffer them"},
     {"ecryptfs", "ecryptfs is a layer over another file system and buffers"}}};

}  // namespace

std::string DecodeMountText(const std::string& text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && IsOctal(text[i + 1]) && IsOctal(text[i + 2]) &&
        IsOctal(text[i + 3])) {
      const int value = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
      decoded.push_back(static_cast<char>(static_cast<unsigned char>(value)));
      i += 3;
    } else {
      decoded.push_back(text[i]);
    }
  }
  return decoded;
}

std::vector<Mount> ParseMountInfo(const std::string& text) {
  std::vector<Mount> mounts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (Mount mount; ParseLine(line, mount)) mounts.push_back(std::move(mount));
  }
  return mounts;
}

const Mount* FindMount(const std::vector<Mount>& mounts, uint64_t mount_id, dev_t device, const std::string& path) {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts) {
    if (mount_id != 0 && mount.id == mount_id) return &mount;
    if (!IsAbove(mount.mount_point, path)) continue;
    const auto rank = [&](const Mount& m) { return std::make_pair(m.device == device, m.mount_point.size()); };
    if (best == nullptr || rank(mount) >= rank(*best)) best = &mount;
  }
  return best;
}

uint64_t MountIdOf(int fd) {
  struct statx info{};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &info) != 0 || (info.stx_mask & STATX_MNT_ID) == 0) return 0;
  return info.stx_mnt_id;
}

bool HasOption(const Mount& mount, const std::string& name) {
  const std::vector<std::string> options = Options(mount.options);
  return std::find(options.begin(), options.end(), name) != options.end();
}

bool IsNfs(const Mount& mount) {
  return mount.fs_type == "nfs" || mount.fs_type == "nfs4";
}

bool LocksAreLocal(const Mount& mount) {
  if (mount.fs_type == "ocfs2") {
    // Under its own cluster stack, o2cb, fcntl locks bind one host; that is the one that is not named.
    const std::vector<std::string> options = Options(mount.options);
    return std::none_of(options.begin(), options.end(), [](const std::string& option) {
      return absl::StartsWith(option, "cluster_stack=") && option != "cluster_stack=o2cb";
    });
  }
  return IsNfs(mount) &&
         (HasOption(mount, "nolock") || HasOption(mount, "local_lock=all") || HasOption(mount, "local_lock=posix"));
}

std::string RemoteOf(const Mount& mount) {
  static constexpr std::array<const char*, 9> kNetworkTypes = {
      "nfs", "nfs4", "cifs", "smb3", "ceph", "fuse.ceph", "lustre", "fuse.glusterfs", "fuse.sshfs"};
  const bool remote = std::find(kNetworkTypes.begin(), kNetworkTypes.end(), mount.fs_type) != kNetworkTypes.end();
  return remote ? mount.source : "";
}

std::string NfsFileSystemOf(const std::string& volumes, dev_t device) {
  // NV SERVER   PORT DEV          FSID                              FSC
  // v4 c0a80105  801 0:52         fd00:1                            no
  std::istringstream lines(volumes);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
    dev_t listed = 0;
    if (fields.size() < 5 || !ParseDevice(fields[3], listed) || listed != device) continue;
    return absl::StrCat(fields[1], ":", fields[2], " ", fields[4]);
  }
  return "";
}

std::string CaveatOf(const Mount& mount) {
  for (const auto& [type, caveat] : kCaveats) {
    if (mount.fs_type == type) return caveat;
  }
  // fuseblk (ntfs-3g and the like) and fuse.<name>.
  if (absl::StartsWith(mount.fs_type, "fuse")) {
    return absl::StrCat(mount.fs_type, " passes writes to a process, which may buffer them");
  }
  if (HasOption(mount, "nobarrier") || HasOption(mount, "barrier=0")) {
    return "mounted without barriers: writes may still be in the device's volatile cache";
  }
  return "";
}

}  // namespace plimsoll
