// The storage stack under a directory, as /proc and /sys show it: mounts, block devices, NFS exports.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Text of a file of /proc, /sys or /etc; empty where it cannot be read, which means "not known".
std::string ReadTextFile(const std::string& path);

// As ReadTextFile, without white space around the text.
std::string ReadTextLine(const std::string& path);

// One line of /proc/self/mountinfo.
struct Mount {
  uint64_t id = 0;
  dev_t device = 0;
  std::string mount_point;
  std::string fs_type;
  std::string source;
  // Options of the mount, then those of the file system that are not among them.
  std::string options;
};

// Reads the text of a mountinfo file (proc(5)); \040 and the like are decoded. Lines that are not understood are left
// out.
std::vector<Mount> ParseMountInfo(const std::string& text);

// The mount that an open file or directory lies on: the one of `mount_id` (statx's STATX_MNT_ID; 0: not known), else
// the one with the longest mount point above `path`, those of its device number first, the later (upper) of two alike.
// Null where there is none; points into `mounts`.
const Mount* FindMount(const std::vector<Mount>& mounts, uint64_t mount_id, dev_t device, const std::string& path);

// The id of the mount that an open descriptor lies on; 0 where neither statx nor /proc reports it.
uint64_t MountIdOf(int fd);

// What is known of the mount without /proc, or where its table does not list it, as in a root that was changed: the
// type of the file system by statfs, where it has one number; else empty.
Mount MountWithoutTable(int fd);

// Whether the options hold `name`, exactly ("nolock", "local_lock=all").
bool HasOption(const Mount& mount, const std::string& name);

bool IsNfs(const Mount& mount);

// Whether locks on it bind this host only: an NFS mount with nolock or local_lock, OCFS2 under o2cb.
bool LocksAreLocal(const Mount& mount);

// Server and export of a network file system ("filer:/mq"); empty for a local one.
std::string RemoteOf(const Mount& mount);

// The server's address and port and its number of the file system, "c0a80105:801 fd00:1", which two mounts of one file
// system have in common even where they mount different exports or name the server differently. `volumes` is the text
// of /proc/fs/nfsfs/volumes; empty where the device is not in it.
std::string NfsFileSystemOf(const std::string& volumes, dev_t device);

// What the file system is known for that spoils a measurement of stable storage, as a sentence; mostly empty.
std::string CaveatOf(const Mount& mount);

// Decodes the octal escapes of mountinfo and mountstats.
std::string DecodeMountText(const std::string& text);

// A block device as /sys describes it.
struct BlockDevice {
  // Name as in /proc/diskstats: "sda1", "dm-3".
  std::string name;
  dev_t number = 0;
  // The disk that a partition lies on; of a whole disk, its own number.
  dev_t disk_number = 0;
  // The name of that disk, of a partition; else empty.
  std::string partitioned_disk;
  uint32_t logical_block_bytes = 0;
};

// The block device of a device number (st_dev). Nothing where it does not belong to a block device: network file
// systems, and those that number their volumes themselves (btrfs, overlay, tmpfs). `sys_dev_block` is "/sys/dev/block",
// but for tests.
std::optional<BlockDevice> FindBlockDevice(dev_t number, const std::string& sys_dev_block = "/sys/dev/block");

// Layers from the top down: a partition, a volume or a multipath device, then what it is made of, each device once.
// Empty where `number` does not belong to a block device. `sys` is "/sys", but for tests.
std::vector<v1::BlockLayer> DescribeBlockStack(dev_t number, const std::string& sys = "/sys");

// The device that a file system which numbers its volumes itself (btrfs) names as what is mounted, such as "/dev/sda1";
// `device` where that is none.
dev_t DeviceOfSource(dev_t device, const std::string& source);

// What this host itself exports over NFS that holds `path`: "CLIENT(OPTIONS)", from nfsd's table of exports. Empty
// where it exports nothing there, or the table cannot be read. `etab` is "/var/lib/nfs/etab", but for tests.
std::vector<std::string> ExportsOf(const std::string& path, const std::string& etab = "/var/lib/nfs/etab");

}  // namespace plimsoll
