#include "agent/host/beneath.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

// The kernel asks to try again where a rename ran beside the look-up; this often in a row means that somebody means it.
constexpr int kOpenAttempts = 100;

absl::Status OpenError(const std::string& path, int error_number) {
  absl::Status status = PosixError("open", path, error_number);
  const std::string text(status.message());
  switch (error_number) {
    case ELOOP:
      return absl::PermissionDeniedError(absl::StrCat(text, "; symbolic links are not followed here"));
    case EXDEV:
      return absl::PermissionDeniedError(absl::StrCat(text, "; the path leaves the directory or enters a mount"));
    default:
      return status;
  }
}

EntryKind KindOf(int directory_fd, const dirent& entry) {
  switch (entry.d_type) {
    case DT_REG:
      return EntryKind::kFile;
    case DT_DIR:
      return EntryKind::kDirectory;
    case DT_UNKNOWN:
      break;
    default:
      return EntryKind::kOther;
  }
  // Not every file system returns the type with the name.
  struct stat info{};
  if (fstatat(directory_fd, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) return EntryKind::kOther;
  if (S_ISREG(info.st_mode)) return EntryKind::kFile;
  return S_ISDIR(info.st_mode) ? EntryKind::kDirectory : EntryKind::kOther;
}

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

// Whether the kernel has openat2 (Linux 5.6) and lets this process call it: filters of containers that do not know the
// call refuse it as unknown, or as not permitted.
bool HasOpenat2() {
  static const bool has = [] {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    const UniqueFd fd(static_cast<int>(syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how))));
    return fd.valid() || (errno != ENOSYS && errno != EPERM);
  }();
  return has;
}

// The place that a walk has reached.
struct WalkedPlace {
  UniqueFd fd;  // O_PATH
  struct stat info{};
  uint64_t mount = 0;
};

// The entry `name` of the directory, itself where it is a symbolic link; neither read nor waited for. The error is an
// errno.
int Reach(int directory_fd, const std::string& name, WalkedPlace& place) {
  place.fd = UniqueFd(openat(directory_fd, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!place.fd.valid() || fstat(place.fd.get(), &place.info) != 0) return errno;
  const std::optional<uint64_t> mount = MountOfDescriptor(place.fd.get());
  if (!mount) return ENOSYS;
  place.mount = *mount;
  return 0;
}

// openat2's promises without it: one component at a time, none of them "..", and no symbolic link or other mount where
// the next begins. The target of a bind mount is on another mount of the same device, so mounts are distinguished by
// their ids. The result, or minus an errno.
int WalkBeneath(int directory_fd, const std::string& relative, int flags, MountRule mounts, mode_t mode) {
  if (!relative.empty() && relative.front() == '/') return -EXDEV;
  WalkedPlace here;
  if (const int error = Reach(directory_fd, ".", here); error != 0) return -error;
  std::vector<std::string> names = absl::StrSplit(relative, '/', absl::SkipEmpty());
  std::erase(names, ".");
  if (absl::c_linear_search(names, "..")) return -EXDEV;
  const std::string last = names.empty() ? "." : names.back();
  if (!names.empty()) names.pop_back();
  for (const std::string& name : names) {
    WalkedPlace next;
    if (const int error = Reach(here.fd.get(), name, next); error != 0) return -error;
    if (S_ISLNK(next.info.st_mode)) return -ELOOP;
    if (!S_ISDIR(next.info.st_mode)) return -ENOTDIR;
    if (mounts == MountRule::kMustStay && next.mount != here.mount) return -EXDEV;
    here = std::move(next);
  }
  if ((flags & O_CREAT) != 0) {
    // Without O_EXCL it might open a file that another process put there.
    if ((flags & O_EXCL) == 0) return -EINVAL;
    const int fd = openat(here.fd.get(), last.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode);
    return fd >= 0 ? fd : -errno;
  }
  WalkedPlace place;
  if (const int error = Reach(here.fd.get(), last, place); error != 0) return -error;
  if (S_ISLNK(place.info.st_mode) && (flags & (O_PATH | O_NOFOLLOW)) != (O_PATH | O_NOFOLLOW)) return -ELOOP;
  if ((flags & O_DIRECTORY) != 0 && !S_ISDIR(place.info.st_mode)) return -ENOTDIR;
  if (mounts == MountRule::kMustStay && place.mount != here.mount) return -EXDEV;
  if ((flags & O_PATH) != 0) return place.fd.Release();
  UniqueFd fd(openat(here.fd.get(), last.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  struct stat opened{};
  if (!fd.valid() || fstat(fd.get(), &opened) != 0) return -errno;
  // Whatever had the name when it was looked at.
  const bool same = opened.st_dev == place.info.st_dev && opened.st_ino == place.info.st_ino &&
                    MountOfDescriptor(fd.get()) == place.mount;
  return same ? fd.Release() : -EAGAIN;
}

}  // namespace

std::optional<uint64_t> MountOfDescriptor(int fd) {
  std::ifstream info(absl::StrCat("/proc/self/fdinfo/", fd));
  std::string line;
  while (std::getline(info, line)) {
    absl::string_view text = line;
    uint64_t id = 0;
    if (absl::ConsumePrefix(&text, "mnt_id:") && absl::SimpleAtoi(text, &id)) return id;
  }
  return std::nullopt;
}

absl::StatusOr<UniqueFd> OpenBeneath(int directory_fd, const std::string& relative, int flags, MountRule mounts,
                                     const std::string& path, mode_t mode) {
  if (!HasOpenat2()) {
    int result = -EAGAIN;
    for (int attempt = 0; attempt < kOpenAttempts && (result == -EAGAIN || result == -EINTR); ++attempt) {
      result = WalkBeneath(directory_fd, relative, flags, mounts, mode);
    }
    if (result == -ENOSYS) {
      return absl::UnimplementedError(
          absl::StrCat(path,
                       ": this kernel, or a filter of this container, has no openat2, and /proc is not mounted; mount "
                       "/proc, or use Linux 5.6 or later"));
    }
    if (result < 0) return OpenError(path, -result);
    return UniqueFd(result);
  }
  open_how how{};
  how.flags = static_cast<uint64_t>(static_cast<unsigned>(flags | O_CLOEXEC));
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  if (mounts == MountRule::kMustStay) how.resolve |= RESOLVE_NO_XDEV;
  const char* name = relative.empty() ? "." : relative.c_str();
  int error_number = 0;
  for (int attempt = 0; attempt < kOpenAttempts; ++attempt) {
    const long fd = syscall(SYS_openat2, directory_fd, name, &how, sizeof(how));
    if (fd >= 0) return UniqueFd(static_cast<int>(fd));
    error_number = errno;
    if (error_number != EAGAIN && error_number != EINTR) break;
  }
  return OpenError(path, error_number);
}

absl::StatusOr<UniqueFd> OpenFromRoot(const std::string& path, int flags) {
  const UniqueFd root(open("/", kOpenDirectory | O_CLOEXEC));
  if (!root.valid()) return PosixError("open", "/", errno);
  const size_t first = path.find_first_not_of('/');
  absl::StatusOr<UniqueFd> fd =
      OpenBeneath(root.get(), first == std::string::npos ? "" : path.substr(first), flags, MountRule::kMayCross, path);
  if (absl::IsNotFound(fd.status())) return absl::NotFoundError(absl::StrCat(path, " does not exist"));
  return fd;
}

absl::StatusOr<UniqueFd> OpenRegular(int directory_fd, const std::string& name, int flags, const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd place,
                            OpenBeneath(directory_fd, name, O_PATH | O_NOFOLLOW, MountRule::kMustStay, path));
  struct stat info{};
  if (fstat(place.get(), &info) != 0) return PosixError("fstat", path, errno);
  if (!S_ISREG(info.st_mode)) return absl::FailedPreconditionError(absl::StrCat(path, " is not a regular file"));
  // By way of the descriptor: whatever has the name now, this is what was looked at. Without O_NONBLOCK the kernel
  // waits (/proc/sys/fs/lease-break-time) for the holder of a lease on the file, which its owner can take at will.
  UniqueFd fd(open(absl::StrCat("/proc/self/fd/", place.get()).c_str(), flags | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid() && errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": another process holds a lease on it"));
  }
  if (!fd.valid()) return PosixError("open", path, errno);
  return fd;
}

absl::StatusOr<std::vector<DirectoryEntry>> ListDirectory(int directory_fd, const std::string& path, size_t limit) {
  // A descriptor of its own: readdir moves the offset. Opening also makes NFS ask its server anew.
  UniqueFd fd(openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return PosixError("openat", path, errno);
  const std::unique_ptr<DIR, CloseDirectory> directory(fdopendir(fd.get()));
  if (directory == nullptr) return PosixError("fdopendir", path, errno);
  const int listed_fd = fd.Release();  // the DIR owns it now
  std::vector<DirectoryEntry> entries;
  while (entries.size() < limit) {
    errno = 0;
    const dirent* entry = readdir(directory.get());
    if (entry == nullptr) {
      if (errno != 0) return PosixError("readdir", path, errno);
      break;
    }
    const std::string name = entry->d_name;
    if (name != "." && name != "..") entries.push_back({name, KindOf(listed_fd, *entry)});
  }
  std::ranges::sort(entries, [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });
  return entries;
}

absl::Status DirectoryError(const std::string& operation, const std::string& path, int error_number, int directory_fd) {
  struct statfs info{};
  const bool on_nfs = fstatfs(directory_fd, &info) == 0 && info.f_type == NFS_SUPER_MAGIC;
  return ExplainDenial(PosixError(operation, path, error_number), geteuid(), on_nfs);
}

absl::Status ExplainDenial(const absl::Status& status, uid_t user, bool on_nfs) {
  if (!absl::IsPermissionDenied(status) || user != 0 || !on_nfs) return status;
  return absl::PermissionDeniedError(
      absl::StrCat(std::string(status.message()),
                   "; the agent is root and this is NFS, whose server may treat root as nobody (root_squash): run the "
                   "agent as the owner of the directory"));
}

}  // namespace plimsoll
