// What is mounted where, as /proc/self/mountinfo tells it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll {

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

// statx's id of the mount below an open descriptor; 0 where the kernel does not tell.
uint64_t MountIdOf(int fd);

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

}  // namespace plimsoll
