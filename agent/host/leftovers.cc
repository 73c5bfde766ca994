#include "agent/host/leftovers.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "agent/host/beneath.h"
#include "agent/host/mounts.h"
#include "agent/host/owner_marker.h"
#include "agent/host/text_file.h"
#include "common/posix_error.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace plimsoll {
namespace {

constexpr int kMaxDepth = 3;
constexpr size_t kMaxEntries = 10'000;
constexpr size_t kMaxMarkerBytes = 4096;
constexpr int kOpenDirectory = O_PATH | O_DIRECTORY;
constexpr char kRunPrefix[] = "plimsoll-";

// The run id in a run directory's name; empty where it is none.
std::string RunIdOf(const std::string& name) {
  const size_t prefix_size = sizeof(kRunPrefix) - 1;
  if (name.compare(0, prefix_size, kRunPrefix) != 0) return "";
  const std::string run_id = name.substr(prefix_size);
  return IsRunId(run_id) ? run_id : "";
}

bool IsWriterDirectory(const std::string& name) {
  return name.size() > 2 && name.compare(0, 2, "qm") == 0 && std::all_of(name.begin() + 2, name.end(), [](char c) {
           return absl::ascii_isdigit(static_cast<unsigned char>(c));
         });
}

struct RunPlace {
  std::string relative;  // to the root
  std::string run_id;
};

// The run directories below a root, by a bounded search.
std::vector<RunPlace> FindRuns(int root_fd, const std::string& root) {
  struct Level {
    std::string relative;
    int depth;
  };
  std::vector<RunPlace> found;
  std::deque<Level> open_ends = {{"", 0}};
  size_t entries_left = kMaxEntries;
  while (!open_ends.empty() && entries_left > 0) {
    const Level level = open_ends.front();
    open_ends.pop_front();
    const std::string path = absl::StrCat(root, "/", level.relative);
    const auto fd = OpenBeneath(root_fd, level.relative, kOpenDirectory, MountRule::kMayCross, path);
    if (!fd.ok()) continue;
    const auto entries = ListDirectory(fd->get(), path, entries_left);
    if (!entries.ok()) continue;
    entries_left -= entries->size();
    for (const DirectoryEntry& entry : *entries) {
      if (entry.kind != EntryKind::kDirectory || entry.name[0] == '.') continue;
      const std::string relative = absl::StrCat(level.relative, level.relative.empty() ? "" : "/", entry.name);
      if (const std::string run_id = RunIdOf(entry.name); !run_id.empty()) {
        found.push_back({relative, run_id});
      } else if (level.depth + 1 < kMaxDepth) {
        open_ends.push_back({relative, level.depth + 1});
      }
    }
  }
  if (entries_left == 0) {
    spdlog::info("looked for leftovers of earlier runs in the first {} entries below {} only", kMaxEntries, root);
  }
  return found;
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

// Whether the marker says that the directory is this agent's, and a leftover if nobody lives that uses it.
absl::Status CheckMarker(int fd, const std::string& path, const std::string& agent_id, const std::string& run_id,
                         const std::string& host_label) {
  std::array<char, kMaxMarkerBytes> buffer{};
  const ssize_t size = pread(fd, buffer.data(), buffer.size(), 0);
  if (size < 0) return PosixError("pread", path, errno);
  PLIMSOLL_ASSIGN_OR_RETURN(const OwnerMarker marker,
                            ParseOwnerMarker(std::string(buffer.data(), static_cast<size_t>(size))));
  if (marker.agent_id != agent_id) return absl::FailedPreconditionError("it is another agent's");
  if (marker.run_id != run_id || marker.host_label != host_label) {
    return absl::FailedPreconditionError("its marker belongs elsewhere");
  }
  if (marker.kept) return absl::FailedPreconditionError("its files were to be kept");
  return absl::OkStatus();
}

// Opens the marker of a leftover, locked. An error says why the directory is none of ours to remove.
absl::StatusOr<UniqueFd> ClaimMarker(int host_fd, const std::string& path, const std::string& agent_id,
                                     const std::string& run_id, const std::string& host_label) {
  // O_NONBLOCK: a planted pipe must not hold us up.
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, OpenBeneath(host_fd, kOwnerMarkerName, O_RDWR | O_NONBLOCK | O_NOCTTY,
                                                     MountRule::kMustStay, absl::StrCat(path, "/", kOwnerMarkerName)));
  struct stat info{};
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError("its marker is no regular file");
  }
  // Looked at before it is locked: a lock tried on another agent's new marker would make that agent fail. Looked at
  // again afterwards: its owner may have kept the files just before it went.
  PLIMSOLL_RETURN_IF_ERROR(CheckMarker(fd.get(), path, agent_id, run_id, host_label));
  if (!LocksBindEverybody(fd.get(), path)) {
    return absl::FailedPreconditionError("the NFS mount has local locks only, so its owner may live");
  }
  switch (LockFile(fd.get())) {
    case LockOutcome::kLocked:
      break;
    case LockOutcome::kHeldByAnother:
      return absl::FailedPreconditionError("its owner lives");
    case LockOutcome::kNotSupported:
      return absl::FailedPreconditionError("the file system has no locks, so its owner may live");
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckMarker(fd.get(), path, agent_id, run_id, host_label));
  return fd;
}

// Removes the regular files of `qm<N>/active`, and both directories when they are empty. False where one of those files
// could not be removed.
bool RemoveWriterDirectory(int host_fd, const std::string& name, const std::string& host_path) {
  const std::string path = absl::StrCat(host_path, "/", name, "/active");
  bool all_removed = true;
  const auto writer_fd = OpenBeneath(host_fd, name, kOpenDirectory, MountRule::kMustStay, path);
  if (!writer_fd.ok()) return false;
  if (const auto fd = OpenBeneath(writer_fd->get(), "active", kOpenDirectory, MountRule::kMustStay, path); fd.ok()) {
    const auto entries = ListDirectory(fd->get(), path);
    if (!entries.ok()) return false;
    for (const DirectoryEntry& entry : *entries) {
      if (entry.kind != EntryKind::kFile || !IsPlainName(entry.name)) continue;
      if (unlinkat(fd->get(), entry.name.c_str(), 0) != 0 && errno != ENOENT) {
        spdlog::warn("{}", std::string(PosixError("unlink", absl::StrCat(path, "/", entry.name), errno).message()));
        all_removed = false;
      }
    }
    unlinkat(writer_fd->get(), "active", AT_REMOVEDIR);
  }
  unlinkat(host_fd, name.c_str(), AT_REMOVEDIR);
  return all_removed;
}

// True where the host's directory is gone.
bool RemoveHostDirectory(int run_fd, const std::string& label, const std::string& path, const std::string& run_id,
                         const std::string& agent_id) {
  const auto host_fd = OpenBeneath(run_fd, label, kOpenDirectory, MountRule::kMustStay, path);
  if (!host_fd.ok()) return false;
  auto marker = ClaimMarker(host_fd->get(), path, agent_id, run_id, label);
  if (!marker.ok()) {
    spdlog::debug("{} is left: {}", path, std::string(marker.status().message()));
    return false;
  }
  const auto entries = ListDirectory(host_fd->get(), path);
  if (!entries.ok()) return false;
  bool all_removed = true;
  for (const DirectoryEntry& entry : *entries) {
    if (entry.kind == EntryKind::kDirectory && IsWriterDirectory(entry.name)) {
      all_removed = RemoveWriterDirectory(host_fd->get(), entry.name, path) && all_removed;
    }
  }
  // While there are files of ours the marker stays, so that the next start tries again.
  if (!all_removed) return false;
  // Closed first: NFS would keep it under another name, and the directory could not go.
  marker->Reset();
  unlinkat(host_fd->get(), kOwnerMarkerName, 0);
  if (unlinkat(run_fd, label.c_str(), AT_REMOVEDIR) == 0) return true;
  spdlog::warn("{} was left by an earlier run and holds what no run makes; that is left as it is", path);
  return false;
}

}  // namespace

std::vector<std::string> RemoveLeftoversBelow(int root_fd, const std::string& root, const std::string& agent_id) {
  std::vector<std::string> removed;
  for (const RunPlace& run : FindRuns(root_fd, root)) {
    const std::string path = absl::StrCat(root == "/" ? "" : root, "/", run.relative);
    const size_t slash = run.relative.rfind('/');
    const std::string parent = slash == std::string::npos ? "" : run.relative.substr(0, slash);
    const auto parent_fd = OpenBeneath(root_fd, parent, kOpenDirectory, MountRule::kMayCross, path);
    if (!parent_fd.ok()) continue;
    const std::string name = absl::StrCat(kRunPrefix, run.run_id);
    const auto run_fd = OpenBeneath(parent_fd->get(), name, kOpenDirectory, MountRule::kMustStay, path);
    if (!run_fd.ok()) continue;
    const auto hosts = ListDirectory(run_fd->get(), path);
    if (!hosts.ok()) continue;
    bool any = false;
    for (const DirectoryEntry& host : *hosts) {
      if (host.kind != EntryKind::kDirectory || !IsPlainName(host.name)) continue;
      const std::string host_path = absl::StrCat(path, "/", host.name);
      if (!RemoveHostDirectory(run_fd->get(), host.name, host_path, run.run_id, agent_id)) continue;
      removed.push_back(host_path);
      any = true;
    }
    // Only when no other host's directory is in it.
    if (any) unlinkat(parent_fd->get(), name.c_str(), AT_REMOVEDIR);
  }
  return removed;
}

}  // namespace plimsoll
