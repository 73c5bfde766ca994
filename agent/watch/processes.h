// What /proc shows of the processes that are watched.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/watch/watched_files.h"
#include "common/posix.h"

namespace plimsoll {

// A file as a process has it open.
struct OpenedFile {
  // As the process sees it.
  std::string path;
  // 0: not known.
  uint64_t inode = 0;
  // Number of its file system, of mountinfo; 0: not known. Called only where it matters.
  std::function<dev_t()> device;
};

// The files of a log: those below its directory. Except for List, it reads /proc alone, never the storage: looking at a
// file on a file system that hangs would hang. Not thread-safe.
class LogDirectory {
 public:
  // Whose name for the directory it is. A process in a container may have another directory by the same name.
  enum class Named : uint8_t { kByHost, kByProcess };
  explicit LogDirectory(std::string path, Named named = Named::kByHost);

  const std::string& path() const { return path_; }
  // Whether the file is the log's. It is if its path is below the directory, on the same file system; or if it is on
  // the directory's file system and the directory had a file of that name and inode when it was last listed: in a
  // container its path is another one. From then on files below that other path are the log's, too.
  bool Holds(const OpenedFile& file);
  // The file that a process opens by that name. Nothing where the name leaves open whether it is the log's: a relative
  // one, or one that ends like a file of the log in another place. Links that lead into the directory by a name that is
  // not in it are not seen.
  std::optional<DescriptorFile> FileOfName(const std::string& name);
  // Reads the directory, and follows the links in its path. May hang with a hung file system.
  void List();
  // Place of the file as v1::WriteSample has it: the number in an extent's name, else its place in the order of their
  // appearance.
  uint32_t ExtentOf(const std::string& path);

 private:
  // Whether the path is below the directory by one of the names that this host has for it.
  bool IsBelow(const std::string& path) const;

  const std::string path_;
  const Named named_;
  // Without links; as path_ until it was listed.
  std::string resolved_path_;
  dev_t device_ = 0;
  // By which other names processes know it.
  std::set<std::string> other_paths_;
  std::map<std::string, uint64_t> inodes_;
  std::map<std::string, uint32_t> numbers_;
};

// What a line of /proc/PID/fdinfo/N shows.
struct FdInfo {
  uint64_t position = 0;
  // As fcntl(F_GETFL) has them.
  int flags = 0;
  // 0 before Linux 5.15.
  uint64_t inode = 0;
  uint64_t mount_id = 0;
};
FdInfo ParseFdInfo(const std::string& text);

// One descriptor of a process; nothing where it is closed or cannot be read.
std::optional<DescriptorFile> ReadDescriptor(uint32_t pid, int fd, LogDirectory& log);
// The text at an address of a process, up to its first zero; empty where it cannot be read.
std::string ReadText(uint32_t pid, uint64_t address);
// Whether the memory at the address cannot be written by the process: what is there was there before.
bool IsConstant(uint32_t pid, uint64_t address);
// All of them. PERMISSION_DENIED names the capability that is missing, NOT_FOUND a process that does not exist.
absl::StatusOr<std::map<int, DescriptorFile>> ReadDescriptors(uint32_t pid, LogDirectory& log);
// The open flags of the log files that it may write, in words, each once.
std::vector<std::string> ReadOpenFlags(uint32_t pid, LogDirectory& log);
// Whether it has a file of the log open to write.
bool HasLogToWrite(uint32_t pid, LogDirectory& log);

// Whether a thread of the kernel submits I/O for the process from a ring of io_uring (IORING_SETUP_SQPOLL), so that no
// system call shows it. Not seen before Linux 5.12.
bool HasSubmissionThread(uint32_t pid);

// The processes of this host that have a file of the log open. `hidden` counts the processes that could not be looked
// at.
std::vector<uint32_t> FindHolders(LogDirectory& log, size_t& hidden);
// The directory of a process's MQ extents; empty where it has none open.
std::string FindLogDirectory(uint32_t pid);

// A process that is watched, recognised even after its number was given to another.
class WatchedProcess {
 public:
  // Checks that it can be watched: it exists, is not a thread, and runs a 64-bit program. An error has the way out.
  static absl::StatusOr<WatchedProcess> Open(uint32_t pid);

  uint32_t pid() const { return pid_; }
  const std::string& name() const { return name_; }
  // After it has started another program.
  void ReadName();
  bool ended() const;
  uint32_t CountThreads() const;

 private:
  WatchedProcess(uint32_t pid, std::string name, UniqueFd directory)
      : pid_(pid), name_(std::move(name)), directory_(std::move(directory)) {}

  uint32_t pid_;
  std::string name_;
  // Its directory in /proc.
  UniqueFd directory_;
};

// Locks of /proc/locks on the files, "master: POSIX WRITE, pid 4711, held", in order. `inodes`: names by inode.
std::vector<std::string> DescribeLocks(const std::string& proc_locks, const std::map<uint64_t, std::string>& inodes);

}  // namespace plimsoll
