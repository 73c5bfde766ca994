#include "agent/host/storage_stack.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/host/beneath.h"
#include "common/files.h"

namespace plimsoll {
namespace {

// Far more than the tables of a host with thousands of devices and mounts.
constexpr size_t kMostSystemBytes = size_t{64} << 20;

}  // namespace

std::string ReadTextFile(const std::string& path) {
  return ReadFile(path, kMostSystemBytes).value_or("");
}

std::string ReadTextLine(const std::string& path) {
  std::string text = ReadTextFile(path);
  absl::StripAsciiWhitespace(&text);
  return text;
}

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
     {"zfs", "zfs before OpenZFS 2.3 accepts O_DIRECT but still buffers"},
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
  if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &info) == 0 && (info.stx_mask & STATX_MNT_ID) != 0) {
    return info.stx_mnt_id;
  }
  // Before Linux 5.8.
  return MountOfDescriptor(fd).value_or(0);
}

Mount MountWithoutTable(int fd) {
  Mount mount;
  struct statfs info{};
  if (fstatfs(fd, &info) != 0) return mount;
  mount.options = (static_cast<uint64_t>(info.f_flags) & ST_RDONLY) != 0 ? "ro" : "rw";
  // The numbers that linux/magic.h does not have are from the file systems' own sources.
  constexpr std::pair<uint32_t, const char*> kTypes[] = {
      {BTRFS_SUPER_MAGIC, "btrfs"}, {CEPH_SUPER_MAGIC, "ceph"},   {CIFS_SUPER_MAGIC, "cifs"},
      {EXT4_SUPER_MAGIC, "ext4"},   {F2FS_SUPER_MAGIC, "f2fs"},   {FUSE_SUPER_MAGIC, "fuse"},
      {0x01161970, "gfs2"},         {0x47504653, "gpfs"},         {0x0BD00BD3, "lustre"},
      {NFS_SUPER_MAGIC, "nfs"},     {OCFS2_SUPER_MAGIC, "ocfs2"}, {OVERLAYFS_SUPER_MAGIC, "overlay"},
      {SMB2_SUPER_MAGIC, "cifs"},   {TMPFS_MAGIC, "tmpfs"},       {XFS_SUPER_MAGIC, "xfs"},
  };
  for (const auto& [number, name] : kTypes) {
    if (static_cast<uint32_t>(info.f_type) == number) mount.fs_type = name;
  }
  return mount;
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

std::optional<BlockDevice> FindBlockDevice(dev_t number, const std::string& sys_dev_block) {
  const std::string link = absl::StrCat(sys_dev_block, "/", major(number), ":", minor(number));
  std::error_code error;
  std::filesystem::path directory = std::filesystem::canonical(link, error);
  if (error) return std::nullopt;
  BlockDevice device;
  device.name = directory.filename().string();
  device.number = number;
  device.disk_number = number;
  // A partition has no queue of its own: its disk's directory is the one above.
  if (std::filesystem::exists(directory / "partition", error)) {
    directory = directory.parent_path();
    device.partitioned_disk = directory.filename().string();
    const std::vector<std::string> parts = absl::StrSplit(ReadTextLine(directory / "dev"), ':');
    uint32_t disk_major = 0;
    uint32_t disk_minor = 0;
    if (parts.size() == 2 && absl::SimpleAtoi(parts[0], &disk_major) && absl::SimpleAtoi(parts[1], &disk_minor)) {
      device.disk_number = makedev(disk_major, disk_minor);
    }
  }
  if (!absl::SimpleAtoi(ReadTextLine(directory / "queue" / "logical_block_size"), &device.logical_block_bytes)) {
    device.logical_block_bytes = 0;
  }
  return device;
}

namespace {

namespace fs = std::filesystem;

// Far more than volumes are made of; a loop in /sys would be the kernel's fault, but must not hang the agent.
constexpr size_t kMaxLayers = 256;

// "none [mq-deadline] bfq": the one in brackets. "none" alone stands without.
std::string ChosenScheduler(const std::string& text) {
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  return open == std::string::npos || close < open ? text : text.substr(open + 1, close - open - 1);
}

uint64_t Number(const fs::path& file) {
  uint64_t value = 0;
  return absl::SimpleAtoi(ReadTextLine(file.string()), &value) ? value : 0;
}

v1::BlockLayer::Kind KindOf(const fs::path& directory, const std::string& mapper_uuid) {
  std::error_code error;
  if (fs::exists(directory / "partition", error)) return v1::BlockLayer::KIND_PARTITION;
  if (fs::exists(directory / "md", error)) return v1::BlockLayer::KIND_RAID;
  if (mapper_uuid.empty()) return v1::BlockLayer::KIND_DISK;
  // A partition of a mapped device has "part1-" in front.
  if (absl::StrContains(mapper_uuid, "mpath-")) return v1::BlockLayer::KIND_MULTIPATH;
  if (absl::StartsWith(mapper_uuid, "LVM-")) return v1::BlockLayer::KIND_VOLUME;
  if (absl::StartsWith(mapper_uuid, "CRYPT-")) return v1::BlockLayer::KIND_ENCRYPTED;
  return v1::BlockLayer::KIND_MAPPED;
}

std::string WorldWideName(const fs::path& directory) {
  const std::string name = ReadTextLine((directory / "device" / "wwid").string());
  return name.empty() ? ReadTextLine((directory / "wwid").string()) : name;
}

// Finds the other disks that are the same unit, reached over another path.
void FindOtherPaths(const fs::path& sys, v1::BlockLayer& disk) {
  if (disk.world_wide_name().empty()) return;
  std::error_code error;
  for (fs::directory_iterator entry(sys / "block", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name != disk.name() && WorldWideName(entry->path()) == disk.world_wide_name()) disk.add_other_paths(name);
  }
  std::sort(disk.mutable_other_paths()->begin(), disk.mutable_other_paths()->end());
}

v1::BlockLayer Describe(const fs::path& sys, const fs::path& directory) {
  constexpr uint64_t kSysSectorBytes = 512;  // of /sys, whatever the device's are
  v1::BlockLayer layer;
  layer.set_name(directory.filename().string());
  const std::string mapper_uuid = ReadTextLine((directory / "dm" / "uuid").string());
  layer.set_kind(KindOf(directory, mapper_uuid));
  layer.set_mapped_name(ReadTextLine((directory / "dm" / "name").string()));
  layer.set_size_bytes(Number(directory / "size") * kSysSectorBytes);
  // A partition has no queue of its own.
  const fs::path queue = directory / "queue";
  layer.set_scheduler(ChosenScheduler(ReadTextLine((queue / "scheduler").string())));
  layer.set_write_cache(ReadTextLine((queue / "write_cache").string()));
  layer.set_forced_unit_access(Number(queue / "fua") != 0);
  layer.set_rotational(Number(queue / "rotational") != 0);
  layer.set_logical_block_bytes(static_cast<uint32_t>(Number(queue / "logical_block_size")));
  layer.set_physical_block_bytes(static_cast<uint32_t>(Number(queue / "physical_block_size")));
  const std::string vendor = ReadTextLine((directory / "device" / "vendor").string());
  const std::string model = ReadTextLine((directory / "device" / "model").string());
  layer.set_model(vendor.empty() || model.empty() ? model : absl::StrCat(vendor, " ", model));
  layer.set_state(ReadTextLine((directory / "device" / "state").string()));
  layer.set_world_wide_name(WorldWideName(directory));
  if (layer.kind() == v1::BlockLayer::KIND_DISK) FindOtherPaths(sys, layer);
  return layer;
}

void Descend(const fs::path& sys, const fs::path& directory, std::set<std::string>& seen,
             std::vector<v1::BlockLayer>& layers) {
  if (layers.size() >= kMaxLayers || !seen.insert(directory.filename().string()).second) return;
  layers.push_back(Describe(sys, directory));
  const size_t self = layers.size() - 1;
  if (layers[self].kind() == v1::BlockLayer::KIND_PARTITION) {
    const fs::path disk = directory.parent_path();
    layers[self].add_below(disk.filename().string());
    Descend(sys, disk, seen, layers);
    return;
  }
  std::vector<fs::path> below;
  std::error_code error;
  for (fs::directory_iterator entry(directory / "slaves", error), end; !error && entry != end; entry.increment(error)) {
    std::error_code broken;
    fs::path device = fs::canonical(entry->path(), broken);
    if (!broken) below.push_back(std::move(device));
  }
  std::sort(below.begin(), below.end());
  for (const fs::path& device : below) layers[self].add_below(device.filename().string());
  for (const fs::path& device : below) Descend(sys, device, seen, layers);
}

bool Holds(const std::string& directory, const std::string& path) {
  return path == directory || directory == "/" || absl::StartsWith(path, directory + "/");
}

}  // namespace

std::vector<v1::BlockLayer> DescribeBlockStack(dev_t number, const std::string& sys) {
  std::vector<v1::BlockLayer> layers;
  std::error_code error;
  const fs::path directory = fs::canonical(absl::StrCat(sys, "/dev/block/", major(number), ":", minor(number)), error);
  if (error) return layers;
  std::set<std::string> seen;
  Descend(sys, directory, seen, layers);
  return layers;
}

dev_t DeviceOfSource(dev_t device, const std::string& source) {
  struct stat info{};
  if (major(device) != 0 || !absl::StartsWith(source, "/dev/")) return device;
  return stat(source.c_str(), &info) == 0 && S_ISBLK(info.st_mode) ? info.st_rdev : device;
}

std::vector<std::string> ExportsOf(const std::string& path, const std::string& etab) {
  std::vector<std::string> exports;
  std::string best;
  std::istringstream lines(ReadTextFile(etab));
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    const std::string directory = DecodeMountText(line.substr(0, tab));
    if (!Holds(directory, path) || directory.size() < best.size()) continue;
    if (directory.size() > best.size()) exports.clear();
    best = directory;
    exports.push_back(line.substr(tab + 1));
  }
  return exports;
}

}  // namespace plimsoll
