#include "agent/host/staging.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/host/beneath.h"
#include "common/posix_error.h"

namespace plimsoll {
namespace {

constexpr char kRunPrefix[] = "plimsoll-";
constexpr char kStagingPrefix[] = ".plimsoll-";

bool Exists(int directory_fd, const std::string& name) {
  struct stat info{};
  return fstatat(directory_fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace

std::string FormatStagingName(const OwnerMarker& owner, int number) {
  return absl::StrCat(kStagingPrefix, owner.agent_id, "-", owner.run_id, "-", owner.host_label, "~", number);
}

std::optional<StagedHost> ParseStagingName(const std::string& name, const std::string& agent_id) {
  const std::string prefix = absl::StrCat(kStagingPrefix, agent_id, "-");
  const size_t tilde = name.rfind('~');
  if (!absl::StartsWith(name, prefix) || tilde == std::string::npos || tilde < prefix.size()) return std::nullopt;
  const std::string parts = name.substr(prefix.size(), tilde - prefix.size());
  const size_t dash = parts.find('-');
  if (dash == std::string::npos) return std::nullopt;
  StagedHost staged{parts.substr(0, dash), parts.substr(dash + 1)};
  if (!IsRunId(staged.run_id) || !IsPlainName(staged.host_label)) return std::nullopt;
  return staged;
}

std::string RunDirectoryName(const std::string& run_id) {
  return absl::StrCat(kRunPrefix, run_id);
}

std::string RunIdOf(const std::string& name) {
  if (!absl::StartsWith(name, kRunPrefix)) return "";
  const std::string run_id = name.substr(sizeof(kRunPrefix) - 1);
  return IsRunId(run_id) ? run_id : "";
}

absl::Status RenameToFree(int from_fd, const std::string& from, int to_fd, const std::string& to,
                          const std::string& path) {
  if (renameat2(from_fd, from.c_str(), to_fd, to.c_str(), RENAME_NOREPLACE) == 0) return absl::OkStatus();
  int error_number = errno;
  if (error_number == EINVAL || error_number == ENOSYS) {
    // NFS among others has no such flag. A plain rename never replaces a directory that holds something, and what is
    // ours always holds its marker; so at worst an empty directory that came this very moment goes.
    if (Exists(to_fd, to)) {
      error_number = EEXIST;
    } else if (renameat(from_fd, from.c_str(), to_fd, to.c_str()) == 0) {
      return absl::OkStatus();
    } else {
      error_number = errno;
    }
  }
  if (error_number == ENOTEMPTY) error_number = EEXIST;
  return PosixError("rename", path, error_number);
}

bool IsSameFile(int directory_fd, const std::string& name, int fd) {
  struct stat named{};
  struct stat open{};
  return fstatat(directory_fd, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

absl::Status RemoveRunDirectory(int parent_fd, const std::string& run_id, const std::string& run_path) {
  if (unlinkat(parent_fd, RunDirectoryName(run_id).c_str(), AT_REMOVEDIR) == 0) return absl::OkStatus();
  const int error_number = errno;
  switch (error_number) {
    case ENOTEMPTY:
    case EEXIST:
    case ENOENT:
    case ENOTDIR:
      return absl::OkStatus();
    default:
      return PosixError("rmdir", run_path, error_number);
  }
}

absl::Status Withdraw(int parent_fd, int run_fd, int host_fd, const OwnerMarker& owner, const std::string& host_path,
                      std::string& staged) {
  if (!IsSameFile(run_fd, owner.host_label, host_fd)) {
    if (!Exists(run_fd, owner.host_label)) return PosixError("rename", host_path, ENOENT);
    return absl::FailedPreconditionError(
        absl::StrCat(host_path, " is not the directory that this run made; it is left as it is"));
  }
  absl::Status status;
  for (int number = 0; number < kStagingNames; ++number) {
    staged = FormatStagingName(owner, number);
    status = RenameToFree(run_fd, owner.host_label, parent_fd, staged, host_path);
    if (!absl::IsAlreadyExists(status)) break;
  }
  return status;
}

}  // namespace plimsoll
