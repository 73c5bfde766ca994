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
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

// The kernel asks to try again where a rename ran beside the look-up; this often in a row means that somebody means it.
constexpr int kOpenAttempts = 100;

constexpr size_t kMaxNameLength = 64;

absl::Status OpenError(const std::string& path, int error_number) {
  absl::Status status = PosixError("openat2", path, error_number);
  const std::string text(status.message());
  switch (error_number) {
    case ELOOP:
      return absl::PermissionDeniedError(absl::StrCat(text, "; symbolic links are not followed here"));
    case EXDEV:
      return absl::PermissionDeniedError(absl::StrCat(text, "; the path leaves the directory or enters a mount"));
    case ENOSYS:
      return absl::UnimplementedError(absl::StrCat(text, "; Linux 5.6 or later is needed"));
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
  // Not every file system tells the type with the name.
  struct stat info{};
  if (fstatat(directory_fd, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) return EntryKind::kOther;
  if (S_ISREG(info.st_mode)) return EntryKind::kFile;
  return S_ISDIR(info.st_mode) ? EntryKind::kDirectory : EntryKind::kOther;
}

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

}  // namespace

absl::StatusOr<UniqueFd> OpenBeneath(int directory_fd, const std::string& relative, int flags, MountRule mounts,
                                     const std::string& path, mode_t mode) {
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

absl::StatusOr<UniqueFd> OpenRegular(int directory_fd, const std::string& name, int flags, const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd place,
                            OpenBeneath(directory_fd, name, O_PATH | O_NOFOLLOW, MountRule::kMustStay, path));
  struct stat info{};
  if (fstat(place.get(), &info) != 0) return PosixError("fstat", path, errno);
  if (!S_ISREG(info.st_mode)) return absl::FailedPreconditionError(absl::StrCat(path, " is no regular file"));
  // By way of the descriptor: whatever has the name now, this is what was looked at. Without O_NONBLOCK the kernel
  // waits (/proc/sys/fs/lease-break-time) for whoever holds a lease on the file, which its owner can take at will.
  UniqueFd fd(open(absl::StrCat("/proc/self/fd/", place.get()).c_str(), flags | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid() && errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": another process holds a lease on it"));
  }
  if (!fd.valid()) return PosixError("open", path, errno);
  return fd;
}

bool IsRunId(const std::string& text) {
  if (text.empty() || text.size() > kMaxNameLength) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
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
  std::sort(entries.begin(), entries.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });
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
