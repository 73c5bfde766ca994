#include "agent/host/target_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/host/beneath.h"
#include "agent/host/describe.h"
#include "agent/host/device_claim.h"
#include "agent/host/file_users.h"
#include "agent/host/kept_files.h"
#include "agent/host/run_ownership.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr char kDevices[] = "/dev/";
constexpr int kMaxDeviceLinks = 8;
// The mode of extents, too.
constexpr mode_t kKeptFileMode = 0600;
// Every marker and every hidden directory of an agent begins so.
constexpr char kOwnPrefix[] = ".plimsoll-";

std::string DescriptorPath(int fd) {
  return absl::StrCat("/proc/self/fd/", fd);
}

bool IsAtOrBelow(const std::string& path, const std::string& directory) {
  if (directory == "/") return true;
  return absl::StartsWith(path, directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

// Without ".", doubled and trailing slashes; the path has no "..".
std::string WithoutDetours(const std::string& path) {
  std::string text = std::filesystem::path(path).lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  // POSIX leaves to the system what two slashes at the start mean.
  const size_t first = text.find_first_not_of('/');
  return first == std::string::npos ? "/" : text.substr(first - 1);
}

std::vector<std::string> PartsOf(const std::string& path) {
  return absl::StrSplit(path, '/', absl::SkipEmpty());
}

// What a file is instead of a regular file or a block device.
std::string OtherKind(mode_t mode) {
  if (S_ISLNK(mode)) return "a symbolic link, which is not followed here";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode)) return "a character device";
  return "of an unknown kind";
}

// Writing a file of these does something in the kernel, and reading one may.
bool IsKernelFileSystem(int fd) {
  struct statfs info{};
  if (fstatfs(fd, &info) != 0) return false;
  // Not in the kernel's list of numbers for programs: configfs, nfsd, rpc_pipefs, resctrl, fusectl and mqueue.
  constexpr std::array<uint32_t, 6> kUnlistedTypes = {0x62656570, 0x6e667364, 0x67596969,
                                                      0x07655821, 0x65735543, 0x19800202};
  const auto type = static_cast<uint32_t>(info.f_type);
  if (std::ranges::find(kUnlistedTypes, type) != kUnlistedTypes.end()) return true;
  constexpr std::array<uint32_t, 14> kTypes = {PROC_SUPER_MAGIC, SYSFS_MAGIC,   CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
                                               DEBUGFS_MAGIC,    TRACEFS_MAGIC, SECURITYFS_MAGIC,   SELINUX_MAGIC,
                                               EFIVARFS_MAGIC,   BPF_FS_MAGIC,  PSTOREFS_MAGIC,     NSFS_MAGIC,
                                               SMACK_MAGIC,      BINFMTFS_MAGIC};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

// Whether root alone can have made the entries of every directory from /dev down to `directory`.
bool IsRootsAlone(const std::string& directory) {
  std::string path;
  for (const std::string& part : PartsOf(directory)) {
    absl::StrAppend(&path, "/", part);
    struct stat info{};
    if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != 0 ||
        (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
      return false;
    }
  }
  return true;
}

// The name of the block device that a link below /dev leads to (/dev/mapper/x, /dev/disk/by-id/x); the path itself
// where it is not such a link. Only links that root made are followed, and only within /dev.
absl::StatusOr<std::string> ResolveDeviceName(const std::string& path) {
  std::string name = path;
  for (int followed = 0; absl::StartsWith(name, kDevices); ++followed) {
    struct stat info{};
    if (lstat(name.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return name;
    const std::filesystem::path directory = std::filesystem::path(name).parent_path();
    if (!IsRootsAlone(directory.string())) {
      return absl::FailedPreconditionError(absl::StrCat(
          name, " is a symbolic link in a directory that others than root may write to; name the device itself"));
    }
    std::array<char, PATH_MAX> target{};
    const ssize_t size = readlink(name.c_str(), target.data(), target.size() - 1);
    if (size < 0) return PosixError("readlink", name, errno);
    if (followed == kMaxDeviceLinks) return PosixError("open", path, ELOOP);
    name = (directory / std::string(target.data(), static_cast<size_t>(size))).lexically_normal().string();
  }
  return absl::FailedPreconditionError(absl::StrCat(path, " is a symbolic link that leads out of /dev"));
}

// Whether this process's user may use the file so.
absl::Status CheckAccess(int fd, int mode, const std::string& path) {
  if (faccessat(AT_FDCWD, DescriptorPath(fd).c_str(), mode, AT_EACCESS) == 0) return absl::OkStatus();
  return DirectoryError((mode & W_OK) != 0 ? "write access to" : "read access to", path, errno, fd);
}

// Locks a kept file among agents until `fd` closes: LOCK_SH to use it, LOCK_EX to empty it. Without locks on its file
// system it does nothing.
absl::Status LockKeptFile(int fd, int operation, const std::string& path) {
  if (flock(fd, operation | LOCK_NB) == 0 || errno != EWOULDBLOCK) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(path, " is in use: another session on this host ",
                                                    operation == LOCK_EX ? "uses it" : "is emptying it",
                                                    "; wait until it has ended, or name another file"));
}

// Names that only Plimsoll itself may use.
absl::Status CheckForeign(const std::string& path, bool change) {
  for (const std::string& part : PartsOf(path)) {
    if (absl::StartsWith(part, kOwnPrefix)) {
      return absl::PermissionDeniedError(absl::StrCat(path, ": '", part, "' is a name of Plimsoll's own"));
    }
    if (change && !RunIdOf(part).empty()) {
      return absl::PermissionDeniedError(absl::StrCat(path, " is in a run's directory (", part, ")"));
    }
  }
  // Not only beside a control file: that may be on another host, or hidden from this process.
  if (change && IsQueueManagerLog(path)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " has the name of a queue manager's log file; a run does not write to it"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<UniqueFd> TargetFile::Open(int flags) const {
  constexpr int kAllowed = O_ACCMODE | O_DSYNC | O_SYNC | O_DIRECT | O_NOATIME | O_CLOEXEC;
  const int access = flags & O_ACCMODE;
  if ((flags & ~kAllowed) != 0 || (access != O_RDONLY && access != O_RDWR)) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": these flags do not open a file that exists"));
  }
  if (access == O_RDWR && !writable_) {
    return absl::PermissionDeniedError(absl::StrCat(path_, " was checked for reading, not for writing"));
  }
  // Without O_NONBLOCK the kernel waits for the holder of a lease. For a device the flag has other meanings.
  const int wait = block_device_ ? 0 : O_NONBLOCK;
  UniqueFd fd(open(DescriptorPath(place_.get()).c_str(), flags | wait | O_CLOEXEC));
  if (!fd.valid() && errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(absl::StrCat(path_, " is in use: another process holds a lease on it"));
  }
  if (!fd.valid()) return PosixError("open", path_, errno);
  if (wait != 0) {
    const int now = fcntl(fd.get(), F_GETFL);
    if (now < 0 || fcntl(fd.get(), F_SETFL, now & ~O_NONBLOCK) != 0) return PosixError("fcntl", path_, errno);
  }
  return fd;
}

absl::StatusOr<bool> TargetFile::RemoveNew() {
  if (!new_) return false;
  const Making made = *std::exchange(new_, std::nullopt);
  const int directory = made.directory.fd.get();
  // Another session may use it by now.
  if (!LockKeptFile(place_.get(), LOCK_EX, path_).ok()) return false;
  const bool ours = IsSameFile(directory, made.entry.name, place_.get());
  // NFS keeps an open file under another name.
  place_.Reset();
  if (ours && unlinkat(directory, made.entry.name.c_str(), 0) != 0 && errno != ENOENT) {
    return PosixError("unlink", path_, errno);
  }
  PLIMSOLL_RETURN_IF_ERROR(ForgetKept(directory, made.directory.path, made.entry));
  return ours;
}

absl::StatusOr<std::unique_ptr<TargetFiles>> TargetFiles::Create(const Sandbox& sandbox, FilePermissions permissions) {
  for (std::string& target : permissions.targets) {
    if (target.empty() || target[0] != '/') {
      return absl::InvalidArgumentError(absl::StrCat("--allow-target '", target, "' is not an absolute path"));
    }
    target = WithoutDetours(target);
  }
  return std::unique_ptr<TargetFiles>(new TargetFiles(sandbox, std::move(permissions)));
}

absl::StatusOr<TargetFiles::Named> TargetFiles::Parse(const std::string& path) {
  if (path.empty() || path[0] != '/') {
    return absl::InvalidArgumentError(absl::StrCat("file '", path, "' is not an absolute path"));
  }
  // A zero byte ends a path for the kernel; a line's end would end an entry in a marker.
  if (std::ranges::any_of(path, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
    return absl::InvalidArgumentError("the name of a file holds a control character");
  }
  const std::vector<std::string> parts = PartsOf(path);
  if (path.back() == '/' || parts.empty() || parts.back() == "." || std::ranges::find(parts, "..") != parts.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not the path of a file; write it without '..' and without '/' at its end"));
  }
  Named named;
  named.path = WithoutDetours(path);
  const size_t slash = named.path.rfind('/');
  named.directory = slash == 0 ? "/" : named.path.substr(0, slash);
  named.name = named.path.substr(slash + 1);
  return named;
}

bool TargetFiles::Covers(const std::string& path) const {
  return std::ranges::any_of(permissions_.targets,
                             [&](const std::string& target) { return IsAtOrBelow(path, target); });
}

bool TargetFiles::MayBeKept(const Named& named) const {
  return permissions_.kept && sandbox_.PathOf(named.directory).ok();
}

bool TargetFiles::MayDescribe(const std::string& dir) const {
  if (dir.empty() || dir[0] != '/') return false;
  const std::vector<std::string> parts = PartsOf(dir);
  if (std::ranges::find(parts, "..") != parts.end()) return false;
  const std::string path = WithoutDetours(dir);
  return std::ranges::any_of(permissions_.targets, [&](const std::string& target) {
    const size_t slash = target.rfind('/');
    return IsAtOrBelow(path, target) || path == (slash == 0 ? "/" : target.substr(0, slash));
  });
}

absl::StatusOr<TargetFiles::Found> TargetFiles::Find(const std::string& path) const {
  Found found;
  PLIMSOLL_ASSIGN_OR_RETURN(found.named, Parse(path));
  const Named given = found.named;
  PLIMSOLL_RETURN_IF_ERROR(CheckForeign(given.path, false));
  found.target = Covers(given.path);
  const bool may_be_kept = MayBeKept(given);
  bool device_link = false;
  if (absl::StartsWith(given.path, kDevices)) {
    absl::StatusOr<std::string> resolved = ResolveDeviceName(given.path);
    found.target = found.target || (resolved.ok() && Covers(*resolved));
    if (found.target) {
      PLIMSOLL_RETURN_IF_ERROR(resolved.status());
      device_link = *resolved != given.path;
      if (device_link) {
        PLIMSOLL_ASSIGN_OR_RETURN(found.named, Parse(*resolved));
      }
    }
  }
  // Before anything is looked at: an agent does not say what exists where it opens nothing.
  if (!found.target && !may_be_kept) {
    return absl::PermissionDeniedError(absl::StrCat(
        given.path,
        ": this agent opens no files that a run did not make; to allow it, start the agent with --allow-target ",
        given.path,
        permissions_.kept ? "" : ", or for files below its --root that --create leaves, with --allow-kept"));
  }
  if (may_be_kept && !device_link) {
    PLIMSOLL_ASSIGN_OR_RETURN(found.directory, sandbox_.LocateForFiles(given.directory));
  } else {
    PLIMSOLL_ASSIGN_OR_RETURN(found.directory.fd, OpenFromRoot(found.named.directory, kOpenDirectory));
    found.directory.path = found.named.directory;
  }
  absl::StatusOr<UniqueFd> fd =
      OpenBeneath(found.directory.fd.get(), found.named.name, O_PATH | O_NOFOLLOW, MountRule::kMayCross, given.path);
  if (absl::IsNotFound(fd.status())) return absl::NotFoundError(absl::StrCat(given.path, " does not exist"));
  PLIMSOLL_RETURN_IF_ERROR(fd.status());
  found.fd = *std::move(fd);
  struct stat info{};
  if (fstat(found.fd.get(), &info) != 0) return PosixError("fstat", given.path, errno);
  found.block_device = S_ISBLK(info.st_mode);
  if ((!S_ISREG(info.st_mode) && !found.block_device) || (device_link && !found.block_device)) {
    return absl::FailedPreconditionError(
        absl::StrCat(given.path, " is ", S_ISREG(info.st_mode) ? "a link to a regular file" : OtherKind(info.st_mode),
                     "; name a regular file or a block device"));
  }
  found.size_bytes = found.block_device ? DeviceBytes(info.st_rdev) : static_cast<uint64_t>(info.st_size);
  if (may_be_kept && !found.block_device && !device_link) {
    PLIMSOLL_ASSIGN_OR_RETURN(const KeptFile entry,
                              KeptEntryOf(found.fd.get(), found.directory.agent_id, found.named.name, given.path));
    const absl::StatusOr<bool> kept = IsKept(found.directory.fd.get(), found.directory.path, entry);
    // A marker that is not trusted claims nothing, and forbids nothing.
    if (!kept.ok() && !found.target) return kept.status();
    found.kept = kept.ok() && *kept;
  }
  found.named = given;
  if (found.target || found.kept) return found;
  return absl::PermissionDeniedError(
      absl::StrCat(given.path, " is not a file that --create left by this agent (", kKeptMarkerName,
                   " in its directory lists those); to allow it, start the agent with --allow-target ", given.path));
}

absl::Status TargetFiles::CheckUse(const Found& found, FileUse use) {
  const std::string& path = found.named.path;
  const bool write = use == FileUse::kWrite;
  PLIMSOLL_RETURN_IF_ERROR(CheckForeign(path, write));
  struct stat info{};
  if (fstat(found.fd.get(), &info) != 0) return PosixError("fstat", path, errno);
  PLIMSOLL_RETURN_IF_ERROR(CheckNoQueueManager(found.directory.fd.get(), found.directory.path));
  if (found.block_device) {
    if (write) {
      PLIMSOLL_RETURN_IF_ERROR(CheckDeviceUnused(info.st_rdev, path));
      PLIMSOLL_RETURN_IF_ERROR(CheckNoLoopDevice(info, path));
    }
  } else {
    if (IsKernelFileSystem(found.fd.get())) {
      return absl::FailedPreconditionError(absl::StrCat(path, " is not a stored file, but one of the kernel's"));
    }
    if (info.st_nlink != 1 && write) {
      return absl::FailedPreconditionError(absl::StrCat(
          path, " has ", info.st_nlink, " names (hard links), so that it may be somebody else's file as well"));
    }
    if (write) PLIMSOLL_RETURN_IF_ERROR(CheckNoLoopDevice(info, path));
  }
  return CheckAccess(found.fd.get(), write ? R_OK | W_OK : R_OK, path);
}

TargetFile TargetFiles::Hold(Found found, FileUse use) {
  TargetFile file;
  file.path_ = std::move(found.named.path);
  file.block_device_ = found.block_device;
  file.kept_ = found.kept;
  file.writable_ = use == FileUse::kWrite;
  file.size_bytes_ = found.size_bytes;
  file.place_ = std::move(found.fd);
  return file;
}

absl::StatusOr<TargetFile> TargetFiles::Open(const std::string& path, FileUse use, bool overwrite) const {
  PLIMSOLL_ASSIGN_OR_RETURN(Found found, Find(path));
  const bool write = use == FileUse::kWrite;
  // What no option changes comes first.
  PLIMSOLL_RETURN_IF_ERROR(CheckUse(found, use));
  if (write && !found.kept && !overwrite) {
    return absl::PermissionDeniedError(absl::StrCat(
        found.named.path,
        " exists, and --create of this agent did not make it; to overwrite what it holds, pass --overwrite"));
  }
  TargetFile file = Hold(std::move(found), use);
  const int place = file.place_.get();
  if (write && !file.block_device_) {
    PLIMSOLL_RETURN_IF_ERROR(CheckNoWriter(place, file.path_, AgentWriters::kAllowed));
  }
  if (write && file.block_device_) {
    struct stat info{};
    if (fstat(place, &info) != 0) return PosixError("fstat", file.path_, errno);
    // Not every user claims the device for itself, which the exclusive opening would show.
    PLIMSOLL_RETURN_IF_ERROR(CheckNoDeviceWriter(info, file.path_));
    PLIMSOLL_ASSIGN_OR_RETURN(file.claim_, ClaimDevice(place, file.path_));
  }
  // Whether it opens at all shows now, on every host, and not after others have written.
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd opened, file.Open(write ? O_RDWR : O_RDONLY));
  if (file.block_device_) {
    PLIMSOLL_ASSIGN_OR_RETURN(file.size_bytes_, DeviceBytesOf(opened.get(), file.path_));
  }
  if (file.kept_) {
    PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd locked, file.Open(O_RDONLY));
    PLIMSOLL_RETURN_IF_ERROR(LockKeptFile(locked.get(), LOCK_SH, file.path_));
    struct stat info{};
    // Another session may have made the file again before the lock.
    if (fstat(locked.get(), &info) != 0) return PosixError("fstat", file.path_, errno);
    file.size_bytes_ = static_cast<uint64_t>(info.st_size);
    file.place_ = std::move(locked);
  }
  return file;
}

absl::StatusOr<TargetFiles::Found> TargetFiles::FindToMake(const std::string& path) const {
  Found found;
  PLIMSOLL_ASSIGN_OR_RETURN(found.named, Parse(path));
  const Named& named = found.named;
  if (!permissions_.kept) {
    return absl::PermissionDeniedError(absl::StrCat(
        named.path, ": this agent makes no files that are kept; to allow --create, start it with --allow-kept"));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckForeign(named.path, true));
  PLIMSOLL_ASSIGN_OR_RETURN(found.directory, sandbox_.LocateForFiles(named.directory));
  const Sandbox::FileDirectory& directory = found.directory;
  if (IsKernelFileSystem(directory.fd.get())) {
    return absl::FailedPreconditionError(absl::StrCat(directory.path, " holds no stored files, but the kernel's"));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckNoQueueManager(directory.fd.get(), directory.path));
  if (faccessat(directory.fd.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return DirectoryError("write access to", directory.path, errno, directory.fd.get());
  }
  absl::StatusOr<UniqueFd> former =
      OpenBeneath(directory.fd.get(), named.name, O_PATH | O_NOFOLLOW, MountRule::kMustStay, named.path);
  if (absl::IsNotFound(former.status())) return found;
  PLIMSOLL_RETURN_IF_ERROR(former.status());
  found.fd = *std::move(former);
  PLIMSOLL_ASSIGN_OR_RETURN(const KeptFile entry,
                            KeptEntryOf(found.fd.get(), directory.agent_id, named.name, named.path));
  PLIMSOLL_ASSIGN_OR_RETURN(found.kept, IsKept(directory.fd.get(), directory.path, entry));
  if (!found.kept) {
    return absl::AlreadyExistsError(absl::StrCat(
        named.path, " exists, and --create of this agent did not make it; remove it, or name another file"));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckUse(found, FileUse::kWrite));
  return found;
}

absl::StatusOr<TargetFiles::Room> TargetFiles::RoomOf(const Found& found) {
  Room room;
  struct stat info{};
  if (fstat(found.directory.fd.get(), &info) != 0) return PosixError("fstat", found.directory.path, errno);
  room.device = info.st_dev;
  PLIMSOLL_ASSIGN_OR_RETURN(room.space, SpaceOf(found.directory.fd.get(), found.directory.path));
  room.exists = found.kept;
  if (room.exists) {
    PLIMSOLL_ASSIGN_OR_RETURN(room.reusable_bytes, AllocatedBytes(found.fd.get(), found.named.path));
  }
  return room;
}

absl::StatusOr<TargetFiles::Room> TargetFiles::CheckMake(const std::string& path) const {
  PLIMSOLL_ASSIGN_OR_RETURN(Found found, FindToMake(path));
  PLIMSOLL_ASSIGN_OR_RETURN(Room room, RoomOf(found));
  room.directory = std::move(found.directory);
  return room;
}

absl::StatusOr<TargetFile> TargetFiles::Make(const std::string& path, uint64_t size_bytes,
                                             std::optional<uint64_t> min_free_asked) const {
  if (size_bytes == 0 || size_bytes > static_cast<uint64_t>(INT64_MAX)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " cannot have ", size_bytes, " bytes"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(Found found, FindToMake(path));
  PLIMSOLL_ASSIGN_OR_RETURN(const Room room, RoomOf(found));
  const uint64_t free_bytes = room.space.free_bytes + room.reusable_bytes;
  const uint64_t min_free_bytes = MinFreeBytes(min_free_asked, room.space.total_bytes);
  if (room.space.total_bytes > 0 && !LeavesFree(free_bytes, size_bytes, min_free_bytes)) {
    return TooLittleSpace(absl::StrCat(found.named.path, " takes ", FormatSizeForPeople(size_bytes)), free_bytes,
                          min_free_bytes, "a smaller --file-size");
  }
  return found.kept ? MakeAgain(std::move(found), size_bytes) : MakeNew(std::move(found), size_bytes);
}

absl::StatusOr<TargetFile> TargetFiles::MakeNew(Found found, uint64_t size_bytes) {
  const int directory = found.directory.fd.get();
  const std::string& path = found.named.path;
  PLIMSOLL_ASSIGN_OR_RETURN(found.fd, OpenBeneath(directory, found.named.name, O_RDWR | O_CREAT | O_EXCL,
                                                  MountRule::kMustStay, path, kKeptFileMode));
  found.kept = true;
  found.size_bytes = size_bytes;
  const int fd = found.fd.get();
  KeptFile entry;
  absl::Status made = [&]() -> absl::Status {
    // Whatever the umask: the agent itself must be able to open it again.
    if (fchmod(fd, kKeptFileMode) != 0) return PosixError("fchmod", path, errno);
    if (ftruncate(fd, static_cast<off_t>(size_bytes)) != 0) return PosixError("ftruncate", path, errno);
    PLIMSOLL_RETURN_IF_ERROR(LockKeptFile(fd, LOCK_SH, path));
    PLIMSOLL_ASSIGN_OR_RETURN(entry, KeptEntryOf(fd, found.directory.agent_id, found.named.name, path));
    return EnterKept(directory, found.directory.path, entry);
  }();
  if (!made.ok()) {
    if (IsSameFile(directory, found.named.name, fd)) unlinkat(directory, found.named.name.c_str(), 0);
    return made;
  }
  TargetFile::Making making{std::move(found.directory), std::move(entry)};
  TargetFile file = Hold(std::move(found), FileUse::kWrite);
  file.new_ = std::move(making);
  return file;
}

absl::StatusOr<TargetFile> TargetFiles::MakeAgain(Found found, uint64_t size_bytes) {
  // A process that takes no part in the lock may write to it.
  PLIMSOLL_RETURN_IF_ERROR(CheckNoWriter(found.fd.get(), found.named.path, AgentWriters::kRefused));
  TargetFile file = Hold(std::move(found), FileUse::kWrite);
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd locked, file.Open(O_RDWR));
  PLIMSOLL_RETURN_IF_ERROR(LockKeptFile(locked.get(), LOCK_EX, file.path_));
  if (ftruncate(locked.get(), 0) != 0 || ftruncate(locked.get(), static_cast<off_t>(size_bytes)) != 0) {
    return PosixError("ftruncate", file.path_, errno);
  }
  PLIMSOLL_RETURN_IF_ERROR(LockKeptFile(locked.get(), LOCK_SH, file.path_));
  file.size_bytes_ = size_bytes;
  file.place_ = std::move(locked);
  return file;
}

v1::FileDescription TargetFiles::Describe(const std::string& path) const {
  v1::FileDescription description;
  description.set_path(path);
  description.set_create_error(std::string(CheckMake(path).status().message()));
  const auto refuse = [&](const absl::Status& status) {
    description.set_error(std::string(status.message()));
    description.set_error_code(static_cast<int32_t>(status.code()));
  };
  const absl::StatusOr<Found> found = Find(path);
  if (!found.ok()) {
    refuse(found.status());
    description.set_write_error(std::string(found.status().message()));
    return description;
  }
  description.set_size_bytes(found->size_bytes);
  description.set_block_device(found->block_device);
  description.set_kept(found->kept);
  if (const absl::Status read = CheckUse(*found, FileUse::kRead); !read.ok()) refuse(read);
  description.set_write_error(std::string(CheckUse(*found, FileUse::kWrite).message()));
  return description;
}

}  // namespace plimsoll
