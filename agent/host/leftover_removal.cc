#include "agent/host/leftover_removal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/host/beneath.h"
#include "agent/host/mounts.h"
#include "agent/host/run_content.h"
#include "agent/host/staging.h"
#include "agent/host/text_file.h"
#include "common/posix_error.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxMarkerBytes = 4096;
constexpr char kExtentEnd[] = ".LOG";
constexpr size_t kExtentDigits = 7;

bool AllDigits(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
}

// "<prefix><seven digits>.LOG", as LogFiles names them.
bool IsExtentName(const std::string& name) {
  const size_t tail = kExtentDigits + sizeof(kExtentEnd) - 1;
  if (name.size() <= tail || !IsPlainName(name)) return false;
  return AllDigits(name.substr(name.size() - tail, kExtentDigits)) &&
         name.compare(name.size() - sizeof(kExtentEnd) + 1, std::string::npos, kExtentEnd) == 0;
}

// Whether a lock on the file shuts out agents on other hosts. Where it does not, a clone of this machine (same machine
// id, same names) may be writing there.
bool LocksBindEverybody(int fd, const std::string& path) {
  struct stat info{};
  if (fstat(fd, &info) != 0) return false;
  const std::vector<Mount> mounts = ParseMountInfo(ReadTextFile("/proc/self/mountinfo"));
  const Mount* mount = FindMount(mounts, MountIdOf(fd), info.st_dev, path);
  return mount == nullptr || !LocksAreLocal(*mount);
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

absl::StatusOr<UniqueFd> LockMarker(UniqueFd fd, const std::string& path) {
  if (!LocksBindEverybody(fd.get(), path)) {
    return absl::FailedPreconditionError("locks bind one host only on this mount, so its owner may live");
  }
  switch (LockFile(fd.get())) {
    case LockOutcome::kLocked:
      return fd;
    case LockOutcome::kHeldByAnother:
      return absl::FailedPreconditionError("its owner lives");
    case LockOutcome::kNotSupported:
      break;
  }
  return absl::FailedPreconditionError("the file system has no locks, so its owner may live");
}

struct Claim {
  OwnerMarker marker;
  UniqueFd fd;  // locked
};

absl::StatusOr<Claim> ClaimMarker(int host_fd, const std::string& host_path, const RemovalRight& right,
                                  const std::string& run_id, const std::string& host_label) {
  const std::string path = MarkerPath(host_path);
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, OpenRegular(host_fd, kOwnerMarkerName, O_RDWR, path));
  // Looked at before it is locked: a lock tried on another agent's new marker would make that agent fail. Looked at
  // again afterwards: its owner may have kept the files just before it went.
  PLIMSOLL_ASSIGN_OR_RETURN(const OwnerMarker before, ReadMarker(fd.get(), path));
  PLIMSOLL_RETURN_IF_ERROR(CheckRight(before, right, run_id, host_label));
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd locked, LockMarker(std::move(fd), path));
  PLIMSOLL_ASSIGN_OR_RETURN(OwnerMarker marker, ReadMarker(locked.get(), path));
  PLIMSOLL_RETURN_IF_ERROR(CheckRight(marker, right, run_id, host_label));
  return Claim{std::move(marker), std::move(locked)};
}

// The first thing that keeps a directory from being removed.
absl::Status Stays(const std::string& path, const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat(path, " ", why, "; it is left as it is"));
}

// Removes the extents in `qm<N>/active`, and both directories when they are empty.
absl::Status RemoveWriterDirectory(int host_fd, const std::string& name, const std::string& host_path,
                                   const OwnerMarker& owner, const RemovalRight& right, RemovedFiles& removed) {
  const std::string writer_path = absl::StrCat(host_path, "/", name);
  const std::string path = absl::StrCat(writer_path, "/active");
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd writer_fd,
                            OpenBeneath(host_fd, name, kOpenDirectory, MountRule::kMustStay, writer_path));
  const auto fd = OpenBeneath(writer_fd.get(), "active", kOpenDirectory, MountRule::kMustStay, path);
  if (!fd.ok() && !absl::IsNotFound(fd.status())) return fd.status();
  absl::Status first;
  if (fd.ok()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(fd->get(), path));
    for (const DirectoryEntry& entry : entries) {
      if (right.may_continue) PLIMSOLL_RETURN_IF_ERROR(right.may_continue());
      const std::string file_path = absl::StrCat(path, "/", entry.name);
      if (entry.kind != EntryKind::kFile || !IsExtentName(entry.name)) {
        first.Update(Stays(file_path, "is nothing that a run makes"));
        continue;
      }
      if (HoldsRun(fd->get(), entry.name, owner.run_token) == RunContent::kForeign) {
        first.Update(Stays(file_path, "was not written by this run"));
        continue;
      }
      struct stat info{};
      const bool known = fstatat(fd->get(), entry.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
      if (unlinkat(fd->get(), entry.name.c_str(), 0) != 0) {
        if (errno != ENOENT) first.Update(PosixError("unlink", file_path, errno));
        continue;
      }
      ++removed.files;
      removed.bytes += known ? static_cast<uint64_t>(info.st_size) : 0;
    }
    if (unlinkat(writer_fd.get(), "active", AT_REMOVEDIR) != 0) first.Update(PosixError("rmdir", path, errno));
  }
  if (unlinkat(host_fd, name.c_str(), AT_REMOVEDIR) != 0) first.Update(PosixError("rmdir", writer_path, errno));
  return first;
}

absl::Status RemoveMarkerAndDirectory(int parent_fd, const std::string& name, int host_fd, UniqueFd marker,
                                      const std::string& path) {
  // Closed first: NFS would keep it under another name, and the directory could not go.
  marker.Reset();
  if (unlinkat(host_fd, kOwnerMarkerName, 0) != 0 && errno != ENOENT) {
    return PosixError("unlink", MarkerPath(path), errno);
  }
  if (unlinkat(parent_fd, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) return PosixError("rmdir", path, errno);
  return absl::OkStatus();
}

}  // namespace

bool IsWriterDirectory(const std::string& name) {
  return name.size() > 2 && name.compare(0, 2, "qm") == 0 && AllDigits(name.substr(2));
}

absl::Status CheckRight(const OwnerMarker& marker, const RemovalRight& right, const std::string& run_id,
                        const std::string& host_label) {
  if (marker.run_id != run_id || marker.host_label != host_label) {
    return absl::FailedPreconditionError("its marker belongs elsewhere");
  }
  if (marker.agent_id != right.agent_id && !(marker.shared && right.run_was_named)) {
    return absl::FailedPreconditionError("it is another agent's");
  }
  if (right.run_was_named) return absl::OkStatus();
  if (marker.kept) return absl::FailedPreconditionError("its files were to be kept");
  if (marker.shared) return absl::FailedPreconditionError("hosts share it");
  return absl::OkStatus();
}

absl::StatusOr<MarkerView> LookAtMarker(int host_fd, const std::string& host_path) {
  const std::string path = MarkerPath(host_path);
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, OpenRegular(host_fd, kOwnerMarkerName, O_RDONLY, path));
  PLIMSOLL_ASSIGN_OR_RETURN(OwnerMarker marker, ReadMarker(fd.get(), path));
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) return PosixError("fstat", path, errno);
  return MarkerView{std::move(marker), IsLockedByAnother(fd.get()), info.st_mtim.tv_sec};
}

absl::StatusOr<RemovedFiles> RemoveHostDirectory(const RunParent& parent, const std::string& run_id,
                                                 const std::string& host_label, const RemovalRight& right) {
  const std::string run_name = RunDirectoryName(run_id);
  const std::string run_path = absl::StrCat(parent.path == "/" ? "" : parent.path, "/", run_name);
  const std::string path = absl::StrCat(run_path, "/", host_label);
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd run_fd,
                            OpenBeneath(parent.fd, run_name, kOpenDirectory, MountRule::kMustStay, run_path));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd host_fd,
                            OpenBeneath(run_fd.get(), host_label, kOpenDirectory, MountRule::kMustStay, path));
  PLIMSOLL_ASSIGN_OR_RETURN(Claim claim, ClaimMarker(host_fd.get(), path, right, run_id, host_label));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(host_fd.get(), path));
  RemovedFiles removed;
  absl::Status first;
  for (const DirectoryEntry& entry : entries) {
    if (entry.name == kOwnerMarkerName) continue;
    if (entry.kind == EntryKind::kDirectory && IsWriterDirectory(entry.name)) {
      first.Update(RemoveWriterDirectory(host_fd.get(), entry.name, path, claim.marker, right, removed));
    } else {
      first.Update(Stays(absl::StrCat(path, "/", entry.name), "is nothing that a run makes"));
    }
  }
  // While anything is there the marker stays, so that it can be seen whose it was, and tried again.
  PLIMSOLL_RETURN_IF_ERROR(first);
  // Back to its hidden name: from here on it carries its owner's id in its name, whatever happens to the marker. One
  // that hosts share carries the remover's.
  OwnerMarker owner = claim.marker;
  owner.agent_id = right.agent_id;
  std::string staged;
  PLIMSOLL_RETURN_IF_ERROR(Withdraw(parent.fd, run_fd.get(), host_fd.get(), owner, path, staged));
  PLIMSOLL_RETURN_IF_ERROR(RemoveRunDirectory(parent.fd, run_id, run_path));
  PLIMSOLL_RETURN_IF_ERROR(RemoveMarkerAndDirectory(parent.fd, staged, host_fd.get(), std::move(claim.fd), path));
  return removed;
}

absl::Status RemoveStaged(const RunParent& parent, const std::string& name, const RemovalRight& right) {
  const std::optional<StagedHost> staged = ParseStagingName(name, right.agent_id);
  if (!staged.has_value()) return absl::InvalidArgumentError(absl::StrCat(name, " is no staging name of this agent"));
  const std::string path = absl::StrCat(parent.path == "/" ? "" : parent.path, "/", name);
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd host_fd,
                            OpenBeneath(parent.fd, name, kOpenDirectory, MountRule::kMustStay, path));
  // The marker may be missing, or not be whole: then the name alone tells whose it is. Who lives holds its lock.
  UniqueFd marker;
  absl::StatusOr<UniqueFd> opened = OpenRegular(host_fd.get(), kOwnerMarkerName, O_RDWR, path);
  if (opened.ok()) {
    PLIMSOLL_ASSIGN_OR_RETURN(marker, LockMarker(*std::move(opened), path));
  } else if (!absl::IsNotFound(opened.status())) {
    return opened.status();
  }
  PLIMSOLL_RETURN_IF_ERROR(
      RemoveRunDirectory(parent.fd, staged->run_id,
                         absl::StrCat(parent.path == "/" ? "" : parent.path, "/", RunDirectoryName(staged->run_id))));
  return RemoveMarkerAndDirectory(parent.fd, name, host_fd.get(), std::move(marker), path);
}

}  // namespace plimsoll
