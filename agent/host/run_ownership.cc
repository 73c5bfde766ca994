#include "agent/host/run_ownership.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <map>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/host/sandbox.h"
#include "common/page_stamp.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace plimsoll {
namespace {

constexpr char kFirstLine[] = "plimsoll-owner 1";
constexpr size_t kMaxMarkerBytes = 4096;

}  // namespace

std::string FormatOwnerMarker(const OwnerMarker& marker) {
  const std::string token(marker.run_token.begin(), marker.run_token.end());
  return absl::StrCat(kFirstLine, "\nagent ", marker.agent_id, "\nrun ", marker.run_id, "\ntoken ",
                      absl::BytesToHexString(token), "\nhost ", marker.host_label, "\nkept ",
                      marker.kept ? "yes" : "no", marker.shared ? "\nshared yes\n" : "\n");
}

absl::StatusOr<OwnerMarker> ParseOwnerMarker(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != kFirstLine) {
    return absl::InvalidArgumentError("the marker does not start with 'plimsoll-owner 1'");
  }
  std::map<std::string, std::string> fields;
  while (std::getline(lines, line)) {
    const size_t space = line.find(' ');
    if (space != std::string::npos) fields[line.substr(0, space)] = line.substr(space + 1);
  }
  OwnerMarker marker;
  marker.agent_id = fields["agent"];
  marker.run_id = fields["run"];
  marker.host_label = fields["host"];
  const std::string token = absl::HexStringToBytes(fields["token"]);
  const std::string kept = fields["kept"];
  marker.kept = kept == "yes";
  marker.shared = fields.count("shared") > 0;
  if (token.size() == marker.run_token.size()) std::copy(token.begin(), token.end(), marker.run_token.begin());
  // What was parsed must be the same when it is written again: no half-written marker passes.
  if (FormatOwnerMarker(marker) != text) return absl::InvalidArgumentError("the marker is incomplete");
  return marker;
}

LockOutcome LockFile(int fd) {
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  while (fcntl(fd, F_OFD_SETLK, &whole) != 0) {
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EACCES ? LockOutcome::kHeldByAnother : LockOutcome::kNotSupported;
  }
  return LockOutcome::kLocked;
}

bool IsLockedByAnother(int fd) {
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

absl::StatusOr<OwnerMarker> ReadMarker(int fd, const std::string& path) {
  std::array<char, kMaxMarkerBytes> buffer{};
  const ssize_t size = pread(fd, buffer.data(), buffer.size(), 0);
  if (size < 0) return PosixError("pread", path, errno);
  return ParseOwnerMarker(std::string(buffer.data(), static_cast<size_t>(size)));
}

std::string MarkerPath(const std::string& host_path) {
  return absl::StrCat(host_path, "/", kOwnerMarkerName);
}

absl::StatusOr<MarkerView> LookAtMarker(int host_fd, const std::string& host_path) {
  const std::string path = MarkerPath(host_path);
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, OpenRegular(host_fd, kOwnerMarkerName, O_RDONLY, path));
  PLIMSOLL_ASSIGN_OR_RETURN(OwnerMarker marker, ReadMarker(fd.get(), path));
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) return PosixError("fstat", path, errno);
  return MarkerView{std::move(marker), IsLockedByAnother(fd.get()), info.st_mtim.tv_sec};
}

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

RunContent HoldsRun(int directory_fd, const std::string& name, const std::array<uint8_t, 16>& run_token) {
  const auto fd = OpenRegular(directory_fd, name, O_RDONLY, name);
  if (!fd.ok()) return RunContent::kForeign;
  std::array<std::byte, kStampedPageBytes> page{};
  const ssize_t size = pread(fd->get(), page.data(), page.size(), 0);
  if (size == 0) return RunContent::kEmpty;
  if (size != static_cast<ssize_t>(page.size())) return RunContent::kForeign;
  PageStamp stamp;
  // A torn page is ours all the same: a block smaller than a page, or a write that a kill cut.
  if (ReadStamp(page, stamp) == StampState::kForeign) return RunContent::kForeign;
  return stamp.run_token == run_token ? RunContent::kThisRun : RunContent::kForeign;
}

}  // namespace plimsoll
