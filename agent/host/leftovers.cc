#include "agent/host/leftovers.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/host/beneath.h"
#include "agent/host/run_directory.h"
#include "agent/host/run_ownership.h"
#include "agent/host/storage_stack.h"
#include "common/clock.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr char kExtentEnd[] = ".LOG";
constexpr size_t kExtentDigits = 7;

bool AllDigits(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
}

// "<prefix><seven digits>.LOG", as LogFiles names them.
bool IsExtentName(const std::string& name) {
  const size_t tail = kExtentDigits + sizeof(kExtentEnd) - 1;
  if (name.size() <= tail || !IsPlainName(name)) return false;
  return AllDigits(name.substr(name.size() - tail, kExtentDigits)) &&
         name.compare(name.size() - sizeof(kExtentEnd) + 1, std::string::npos, kExtentEnd) == 0;
}

// The files of a queue manager of an HA drill beside its extents (agent/ha/qm_files.h).
bool IsDrillFileName(const std::string& directory, const std::string& name) {
  if (directory == "active") return name == "checkpoint";
  return directory == "data" && (name == "master" || name == "active" || name == "standby" || name == "poll");
}

// "queue" and digits, in kQueuesDirectory.
bool IsQueueFileName(const std::string& name) {
  constexpr char kQueue[] = "queue";
  return absl::StartsWith(name, kQueue) && name.size() >= sizeof(kQueue) && AllDigits(name.substr(sizeof(kQueue) - 1));
}

// Whether a run makes files with this name in such a directory of a host: extents and what a drill has beside them,
// queue files, or files that the plan names.
bool IsRunFileName(const std::string& directory, const std::string& name) {
  if (directory == kFilesDirectory) return IsPlainName(name);
  if (directory == kQueuesDirectory) return IsQueueFileName(name);
  return (directory == "active" && IsExtentName(name)) || IsDrillFileName(directory, name);
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

absl::StatusOr<UniqueFd> LockMarker(UniqueFd fd, const std::string& path) {
  if (!LocksBindEverybody(fd.get(), path)) {
    return absl::FailedPreconditionError("locks are local to each host on this mount, so its owner may be alive");
  }
  switch (LockFile(fd.get())) {
    case LockOutcome::kLocked:
      return fd;
    case LockOutcome::kHeldByAnother:
      return absl::FailedPreconditionError("its owner is alive");
    case LockOutcome::kNotSupported:
      break;
  }
  return absl::FailedPreconditionError("the file system has no locks, so its owner may be alive");
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

// Removes the run's files in the directory `name` of a writer or of the host, and that directory when it is empty. One
// that is not there is no error.
absl::Status RemoveRunFiles(int above_fd, const std::string& name, const std::string& path, const OwnerMarker& owner,
                            const RemovalRight& right, RemovedFiles& removed) {
  const auto fd = OpenBeneath(above_fd, name, kOpenDirectory, MountRule::kMustStay, path);
  if (absl::IsNotFound(fd.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(fd.status());
  absl::Status first;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(fd->get(), path));
  for (const DirectoryEntry& entry : entries) {
    if (right.may_continue) PLIMSOLL_RETURN_IF_ERROR(right.may_continue());
    const std::string file_path = absl::StrCat(path, "/", entry.name);
    if (entry.kind != EntryKind::kFile || !IsRunFileName(name, entry.name)) {
      first.Update(Stays(file_path, "is not a file of a run"));
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
  if (unlinkat(above_fd, name.c_str(), AT_REMOVEDIR) != 0) first.Update(PosixError("rmdir", path, errno));
  return first;
}

// Removes the extents in `qm<N>/active`, what a drill put beside them, queue files, and the directories when they are
// empty.
absl::Status RemoveWriterDirectory(int host_fd, const std::string& name, const std::string& host_path,
                                   const OwnerMarker& owner, const RemovalRight& right, RemovedFiles& removed) {
  const std::string writer_path = absl::StrCat(host_path, "/", name);
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd writer_fd,
                            OpenBeneath(host_fd, name, kOpenDirectory, MountRule::kMustStay, writer_path));
  absl::Status first;
  for (const char* directory : {"active", "data", kQueuesDirectory}) {
    const std::string path = absl::StrCat(writer_path, "/", directory);
    first.Update(RemoveRunFiles(writer_fd.get(), directory, path, owner, right, removed));
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

// `former_id` may be empty: then it matches no id.
bool IsOneOf(const std::string& id, const std::string& agent_id, const std::string& former_id) {
  return id == agent_id || (!former_id.empty() && id == former_id);
}

// As ParseStagingName, of either id.
std::optional<StagedHost> StagedByAny(const std::string& name, const std::string& agent_id,
                                      const std::string& former_id) {
  std::optional<StagedHost> staged = ParseStagingName(name, agent_id);
  return staged.has_value() || former_id.empty() ? staged : ParseStagingName(name, former_id);
}

}  // namespace

bool IsWriterDirectory(const std::string& name) {
  return name.size() > 2 && name.compare(0, 2, "qm") == 0 && AllDigits(name.substr(2));
}

absl::Status CheckRight(const OwnerMarker& marker, const RemovalRight& right, const std::string& run_id,
                        const std::string& host_label) {
  if (marker.run_id != run_id || marker.host_label != host_label) {
    return absl::FailedPreconditionError("its marker belongs to another directory");
  }
  const bool own = IsOneOf(marker.agent_id, right.agent_id, right.former_id);
  if (!own && !(marker.shared && right.run_was_named)) {
    return absl::FailedPreconditionError("it belongs to another agent");
  }
  if (right.run_was_named) return absl::OkStatus();
  if (marker.kept) return absl::FailedPreconditionError("its files were to be kept");
  if (marker.shared) return absl::FailedPreconditionError("hosts share it");
  return absl::OkStatus();
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
    } else if (entry.kind == EntryKind::kDirectory && entry.name == kFilesDirectory) {
      const std::string files_path = absl::StrCat(path, "/", entry.name);
      first.Update(RemoveRunFiles(host_fd.get(), entry.name, files_path, claim.marker, right, removed));
    } else {
      first.Update(Stays(absl::StrCat(path, "/", entry.name), "is not a file of a run"));
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
  const std::optional<StagedHost> staged = StagedByAny(name, right.agent_id, right.former_id);
  if (!staged.has_value())
    return absl::InvalidArgumentError(absl::StrCat(name, " is not a staging name of this agent"));
  const std::string path = absl::StrCat(parent.path == "/" ? "" : parent.path, "/", name);
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd host_fd,
                            OpenBeneath(parent.fd, name, kOpenDirectory, MountRule::kMustStay, path));
  // The marker may be missing, or not be whole: then the name alone identifies the owner. A live owner holds its lock.
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

namespace {

constexpr int kMaxLeftoverDepth = 3;
constexpr size_t kMaxLeftoverEntries = 10'000;

// A directory below a root that holds what runs left.
struct Place {
  std::string relative;  // to the root
  std::vector<std::string> run_ids;
  std::vector<std::string> staged;
};

// Where run directories stand below a root, by a bounded search.
std::vector<Place> FindPlaces(int root_fd, const std::string& root, const RemovalRight& right) {
  struct Level {
    std::string relative;
    int depth;
  };
  std::vector<Place> found;
  std::deque<Level> open_ends = {{"", 0}};
  size_t entries_left = kMaxLeftoverEntries;
  while (!open_ends.empty() && entries_left > 0) {
    const Level level = open_ends.front();
    open_ends.pop_front();
    const std::string path = absl::StrCat(root, "/", level.relative);
    const auto fd = OpenBeneath(root_fd, level.relative, kOpenDirectory, MountRule::kMayCross, path);
    if (!fd.ok()) continue;
    const auto entries = ListDirectory(fd->get(), path, entries_left);
    if (!entries.ok()) continue;
    entries_left -= entries->size();
    Place place{level.relative, {}, {}};
    for (const DirectoryEntry& entry : *entries) {
      if (entry.kind != EntryKind::kDirectory) continue;
      if (entry.name[0] == '.') {
        if (StagedByAny(entry.name, right.agent_id, right.former_id).has_value()) place.staged.push_back(entry.name);
      } else if (const std::string run_id = RunIdOf(entry.name); !run_id.empty()) {
        place.run_ids.push_back(run_id);
      } else if (level.depth + 1 < kMaxLeftoverDepth) {
        open_ends.push_back(
            {absl::StrCat(level.relative, level.relative.empty() ? "" : "/", entry.name), level.depth + 1});
      }
    }
    if (!place.run_ids.empty() || !place.staged.empty()) found.push_back(std::move(place));
  }
  if (entries_left == 0) {
    spdlog::info("searched only the first {} entries below {} for leftovers", kMaxLeftoverEntries, root);
  }
  return found;
}

// True where the host's directory is gone.
bool RemoveOne(const RunParent& parent, const std::string& run_id, const std::string& host_label,
               const RemovalRight& right) {
  const auto removed = RemoveHostDirectory(parent, run_id, host_label, right);
  if (removed.ok()) return true;
  const std::string path = absl::StrCat(parent.path, "/", RunDirectoryName(run_id), "/", host_label);
  const std::string why(removed.status().message());
  // Warns only if the directory is ours and not in use; the others are not this agent's to report.
  const auto fd = OpenBeneath(parent.fd, absl::StrCat(RunDirectoryName(run_id), "/", host_label), kOpenDirectory,
                              MountRule::kMustStay, path);
  const auto view = fd.ok() ? LookAtMarker(fd->get(), path) : fd.status();
  if (view.ok() && !view->in_use && CheckRight(view->marker, right, run_id, host_label).ok()) {
    spdlog::warn("{} is a leftover of a previous run and remains: {}", path, why);
  } else {
    spdlog::debug("{} is left: {}", path, why);
  }
  return false;
}

}  // namespace

std::vector<std::string> RemoveLeftoversBelow(int root_fd, const std::string& root, const std::string& agent_id,
                                              const std::string& former_id) {
  std::vector<std::string> removed;
  const RemovalRight right{agent_id, false, {}, former_id};
  for (const Place& place : FindPlaces(root_fd, root, right)) {
    const std::string path = absl::StrCat(root == "/" ? "" : root, place.relative.empty() ? "" : "/", place.relative);
    const auto fd = OpenBeneath(root_fd, place.relative, kOpenDirectory, MountRule::kMayCross, path);
    if (!fd.ok()) continue;
    const RunParent parent{fd->get(), path.empty() ? "/" : path};
    for (const std::string& name : place.staged) {
      const absl::Status status = RemoveStaged(parent, name, right);
      if (!status.ok()) spdlog::debug("{}/{} is left: {}", path, name, std::string(status.message()));
    }
    for (const std::string& run_id : place.run_ids) {
      const std::string run_name = RunDirectoryName(run_id);
      const std::string run_path = absl::StrCat(path, "/", run_name);
      const auto run_fd = OpenBeneath(fd->get(), run_name, kOpenDirectory, MountRule::kMustStay, run_path);
      if (!run_fd.ok()) continue;
      const auto hosts = ListDirectory(run_fd->get(), run_path);
      if (!hosts.ok()) continue;
      for (const DirectoryEntry& host : *hosts) {
        if (host.kind != EntryKind::kDirectory || !IsPlainName(host.name)) continue;
        if (RemoveOne(parent, run_id, host.name, right)) removed.push_back(absl::StrCat(run_path, "/", host.name));
      }
    }
  }
  return removed;
}

absl::StatusOr<std::vector<v1::CleanedDirectory>> CleanRunDirectories(const RunParent& parent,
                                                                      const std::string& run_id,
                                                                      const RemovalRight& right) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<v1::RunDirectoryDescription> listed,
                            ListRunDirectories(parent.fd, parent.path, right.agent_id, right.former_id));
  std::vector<v1::CleanedDirectory> cleaned;
  for (const v1::RunDirectoryDescription& entry : listed) {
    const bool named = !run_id.empty() && entry.run_id() == run_id;
    if (!run_id.empty() && !named) continue;
    const bool own = entry.owner() == v1::RUN_DIRECTORY_OWNER_THIS_AGENT;
    // A directory that this agent may not remove is for others to report; one that is kept on purpose is reported only
    // where its run was named.
    if (!own && !(named && entry.shared())) continue;
    if (!named && (entry.kept() || entry.shared() || entry.in_use())) continue;
    if (right.may_continue) PLIMSOLL_RETURN_IF_ERROR(right.may_continue());
    v1::CleanedDirectory& done = cleaned.emplace_back();
    done.set_run_id(entry.run_id());
    done.set_host_label(entry.host_label());
    done.set_path(entry.path());
    const std::string name = entry.path().substr(entry.path().rfind('/') + 1);
    if (StagedByAny(name, right.agent_id, right.former_id).has_value()) {
      const absl::Status status = RemoveStaged(parent, name, right);
      if (!status.ok()) done.set_left(std::string(status.message()));
      continue;
    }
    const auto removed = RemoveHostDirectory(parent, entry.run_id(), entry.host_label(), right);
    if (absl::IsNotFound(removed.status())) {
      cleaned.pop_back();  // another agent was first
    } else if (removed.ok()) {
      done.set_removed_files(removed->files);
      done.set_removed_bytes(removed->bytes);
    } else {
      done.set_left(std::string(removed.status().message()));
    }
  }
  return cleaned;
}

namespace {

// Extents of one host that are counted: as many as a plan can ask for in one host directory of ordinary size.
constexpr size_t kMaxCountedEntries = 100'000;

// Adds up the files in `qm<N>/active`, in `qm<N>/queues` and in `files`.
void CountFiles(int host_fd, const std::string& path, v1::RunDirectoryDescription& of) {
  const auto writers = ListDirectory(host_fd, path);
  if (!writers.ok()) return;
  std::vector<std::string> directories;
  for (const DirectoryEntry& writer : *writers) {
    if (writer.kind != EntryKind::kDirectory) continue;
    if (writer.name == kFilesDirectory) directories.push_back(writer.name);
    if (!IsWriterDirectory(writer.name)) continue;
    for (const char* in : {"active", kQueuesDirectory}) directories.push_back(absl::StrCat(writer.name, "/", in));
  }
  size_t entries_left = kMaxCountedEntries;
  for (const std::string& directory : directories) {
    const auto fd = OpenBeneath(host_fd, directory, kOpenDirectory, MountRule::kMustStay, path);
    if (!fd.ok()) continue;
    const auto entries = ListDirectory(fd->get(), path, entries_left);
    if (!entries.ok()) continue;
    entries_left -= entries->size();
    for (const DirectoryEntry& entry : *entries) {
      struct stat info{};
      if (entry.kind != EntryKind::kFile || fstatat(fd->get(), entry.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
        continue;
      }
      of.set_files(of.files() + 1);
      of.set_bytes(of.bytes() + static_cast<uint64_t>(info.st_size));
    }
  }
}

int64_t AgeNs(int64_t written_s) {
  return std::max<int64_t>(SystemClock().WallNow().value - written_s * kNsPerSecond, 0);
}

void DescribeOwner(int host_fd, const std::string& agent_id, const std::string& former_id,
                   v1::RunDirectoryDescription& of) {
  struct stat info{};
  if (fstat(host_fd, &info) == 0) of.set_age_ns(AgeNs(info.st_mtim.tv_sec));
  const auto view = LookAtMarker(host_fd, of.path());
  if (!view.ok()) {
    of.set_owner(v1::RUN_DIRECTORY_OWNER_UNKNOWN);
    of.set_note(std::string(view.status().message()));
    return;
  }
  if (view->marker.run_id != of.run_id() || view->marker.host_label != of.host_label()) {
    of.set_owner(v1::RUN_DIRECTORY_OWNER_UNKNOWN);
    of.set_note("its marker belongs to another directory");
    return;
  }
  of.set_owner(IsOneOf(view->marker.agent_id, agent_id, former_id) ? v1::RUN_DIRECTORY_OWNER_THIS_AGENT
                                                                   : v1::RUN_DIRECTORY_OWNER_OTHER_AGENT);
  of.set_in_use(view->in_use);
  of.set_kept(view->marker.kept);
  of.set_shared(view->marker.shared);
  of.set_age_ns(AgeNs(view->written_s));
}

v1::RunDirectoryDescription DescribeHost(int fd, std::string path, const std::string& run_id, const std::string& label,
                                         const std::string& agent_id, const std::string& former_id) {
  v1::RunDirectoryDescription of;
  of.set_run_id(run_id);
  of.set_host_label(label);
  of.set_path(std::move(path));
  DescribeOwner(fd, agent_id, former_id, of);
  CountFiles(fd, of.path(), of);
  return of;
}

}  // namespace

absl::StatusOr<std::vector<v1::RunDirectoryDescription>> ListRunDirectories(int directory_fd, const std::string& path,
                                                                            const std::string& agent_id,
                                                                            const std::string& former_id) {
  const std::string base = path == "/" ? "" : path;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(directory_fd, path));
  std::vector<v1::RunDirectoryDescription> found;
  for (const DirectoryEntry& entry : entries) {
    if (entry.kind != EntryKind::kDirectory || found.size() >= kMaxListedDirectories) continue;
    const std::string entry_path = absl::StrCat(base, "/", entry.name);
    const std::optional<StagedHost> staged = StagedByAny(entry.name, agent_id, former_id);
    const std::string run_id = RunIdOf(entry.name);
    if (!staged.has_value() && run_id.empty()) continue;
    const auto fd = OpenBeneath(directory_fd, entry.name, kOpenDirectory, MountRule::kMustStay, entry_path);
    if (!fd.ok()) continue;
    if (staged.has_value()) {
      v1::RunDirectoryDescription of =
          DescribeHost(fd->get(), entry_path, staged->run_id, staged->host_label, agent_id, former_id);
      // Its name identifies the owner, even while the marker is incomplete.
      of.set_owner(v1::RUN_DIRECTORY_OWNER_THIS_AGENT);
      of.clear_note();
      found.push_back(std::move(of));
      continue;
    }
    const auto hosts = ListDirectory(fd->get(), entry_path);
    if (!hosts.ok()) continue;
    for (const DirectoryEntry& host : *hosts) {
      if (host.kind != EntryKind::kDirectory || !IsPlainName(host.name)) continue;
      const std::string host_path = absl::StrCat(entry_path, "/", host.name);
      const auto host_fd = OpenBeneath(fd->get(), host.name, kOpenDirectory, MountRule::kMustStay, host_path);
      if (host_fd.ok())
        found.push_back(DescribeHost(host_fd->get(), host_path, run_id, host.name, agent_id, former_id));
    }
  }
  return found;
}

}  // namespace plimsoll
