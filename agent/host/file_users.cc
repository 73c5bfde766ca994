#include "agent/host/file_users.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "agent/host/storage_stack.h"
#include "common/posix.h"

namespace plimsoll {
namespace {

// The file's own directory and those above it: queues are in <queue manager>/queues/<queue>/.
constexpr int kQueueManagerLevels = 4;
constexpr const char* kQueueManagerSigns[] = {"amqhlctl.lfh", "qm.ini"};

bool SameInode(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

std::string NameOf(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Whether the two are one file, or one block device, whatever its names are.
bool SameFile(const struct stat& one, const struct stat& other) {
  if (S_ISBLK(one.st_mode) || S_ISBLK(other.st_mode)) {
    return S_ISBLK(one.st_mode) && S_ISBLK(other.st_mode) && one.st_rdev == other.st_rdev;
  }
  return SameInode(one, other);
}

// Whether one of a process's descriptors has the file open for writing, as far as this process may see.
bool WritesFile(const std::filesystem::path& descriptors, const std::string& name, const struct stat& info) {
  std::error_code error;
  for (std::filesystem::directory_iterator file(descriptors, error);
       !error && file != std::filesystem::directory_iterator(); file.increment(error)) {
    std::error_code ignored;
    // By its name first: looking at a file on a hung file system would hang.
    const std::string target = std::filesystem::read_symlink(file->path(), ignored).string();
    if (S_ISBLK(info.st_mode) ? !absl::StartsWith(target, "/dev/") : NameOf(target) != name) continue;
    struct stat held{};
    struct stat link{};
    if (stat(file->path().c_str(), &held) != 0 || !SameFile(held, info)) continue;
    if (lstat(file->path().c_str(), &link) != 0) continue;
    // The mode of the entry in /proc is that of the open file.
    if ((link.st_mode & S_IWUSR) != 0) return true;
  }
  return false;
}

constexpr int kLeaseAttempts = 5;

// Whether the file system grants a lease only while its server has delegated the file to this host: NFSv4 and SMB.
// Without a delegation, a refused lease does not show that the file is open elsewhere.
bool LeasesAreTheServers(int fd) {
  constexpr uint32_t kSmb1Type = 0xff534d42;
  constexpr uint32_t kSmb2Type = 0xfe534d42;
  struct statfs info{};
  if (fstatfs(fd, &info) != 0) return false;
  const auto type = static_cast<uint32_t>(info.f_type);
  return type == NFS_SUPER_MAGIC || type == kSmb1Type || type == kSmb2Type;
}

struct Writers {
  // A process, as a phrase; empty: no process but agents.
  std::string other;
  bool agents = false;
};

Writers FindWriters(const std::string& path, const struct stat& info) {
  Writers writers;
  struct stat own{};
  const bool own_known = stat("/proc/self/exe", &own) == 0;
  const std::string name = NameOf(path);
  std::error_code error;
  for (std::filesystem::directory_iterator process("/proc", error);
       !error && process != std::filesystem::directory_iterator(); process.increment(error)) {
    const std::string pid = process->path().filename();
    if (!std::all_of(pid.begin(), pid.end(), absl::ascii_isdigit)) continue;
    if (!WritesFile(process->path() / "fd", name, info)) continue;
    struct stat program{};
    if (pid == std::to_string(getpid()) ||
        (own_known && stat((process->path() / "exe").c_str(), &program) == 0 && SameInode(program, own))) {
      writers.agents = true;
      continue;
    }
    writers.other = absl::StrCat("process ", pid, " (", ReadTextLine(absl::StrCat("/proc/", pid, "/comm")), ")");
    return writers;
  }
  return writers;
}

}  // namespace

absl::Status CheckNoQueueManager(int directory_fd, const std::string& path) {
  UniqueFd directory(openat(directory_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::string where = path;
  for (int level = 0; level < kQueueManagerLevels && directory.valid(); ++level) {
    for (const char* sign : kQueueManagerSigns) {
      struct stat info{};
      if (fstatat(directory.get(), sign, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      return absl::FailedPreconditionError(absl::StrCat(path, " belongs to a queue manager (",
                                                        where == "/" ? "" : where, "/", sign,
                                                        "); name files outside its directories"));
    }
    if (where == "/") break;
    const size_t slash = where.rfind('/');
    where = slash == 0 || slash == std::string::npos ? "/" : where.substr(0, slash);
    directory = UniqueFd(openat(directory.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return absl::OkStatus();
}

absl::Status CheckNoLoopDevice(const struct stat& info, const std::string& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator device("/sys/block", error);
       !error && device != std::filesystem::directory_iterator(); device.increment(error)) {
    const std::string name = device->path().filename();
    if (name.rfind("loop", 0) != 0) continue;
    const std::string text = ReadTextFile((device->path() / "loop/backing_file").string());
    absl::string_view backing = text;
    while (absl::ConsumeSuffix(&backing, "\n")) {
    }
    struct stat other{};
    if (backing.empty() || stat(std::string(backing).c_str(), &other) != 0 || !SameFile(other, info)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is in use: /dev/", name, " is made of it; detach that first (losetup -d)"));
  }
  return absl::OkStatus();
}

absl::Status CheckNoDeviceWriter(const struct stat& info, const std::string& path) {
  const Writers writers = FindWriters(path, info);
  if (writers.other.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path, " is in use: ", writers.other, " has it open for writing; end that first, or name another device"));
}

absl::Status CheckNoWriter(int place_fd, const std::string& path, AgentWriters agents) {
  const UniqueFd fd(
      open(absl::StrCat("/proc/self/fd/", place_fd).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid() && errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is in use: another process holds a lease on it"));
  }
  if (!fd.valid()) return PosixError("open", path, errno);
  // The kernel grants a read lease only where the file is open for writing nowhere, by the kernel itself included. A
  // process that opens it in that moment has a signal sent here: one that is ignored by default, not SIGIO.
  fcntl(fd.get(), F_SETSIG, SIGURG);
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) return PosixError("fstat", path, errno);
  Writers writers;
  // A process may close the file before the search comes to it, for example an agent that checks it at the same time.
  for (int attempt = 0; attempt < kLeaseAttempts && writers.other.empty() && !writers.agents; ++attempt) {
    if (fcntl(fd.get(), F_SETLEASE, F_RDLCK) == 0) {
      fcntl(fd.get(), F_SETLEASE, F_UNLCK);
      return absl::OkStatus();
    }
    if (errno != EAGAIN) return absl::OkStatus();
    writers = FindWriters(path, info);
  }
  const bool found = !writers.other.empty() || writers.agents;
  if (!found && LeasesAreTheServers(fd.get())) return absl::OkStatus();
  if (found && writers.other.empty() && agents == AgentWriters::kAllowed) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(path, " is in use: ", writers.other.empty() ? "another process" : writers.other,
                   " has it open for writing; end that first, or name another file"));
}

}  // namespace plimsoll
