#include "agent/host/run_listing.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/host/beneath.h"
#include "agent/host/leftover_removal.h"
#include "agent/host/staging.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// Extents of one host that are counted: as many as a plan can ask for in one host directory of ordinary size.
constexpr size_t kMaxCountedEntries = 100'000;

// Adds up the files in `qm<N>/active`.
void CountFiles(int host_fd, const std::string& path, v1::RunDirectoryDescription& of) {
  const auto writers = ListDirectory(host_fd, path);
  if (!writers.ok()) return;
  size_t entries_left = kMaxCountedEntries;
  for (const DirectoryEntry& writer : *writers) {
    if (writer.kind != EntryKind::kDirectory || !IsWriterDirectory(writer.name)) continue;
    const auto fd =
        OpenBeneath(host_fd, absl::StrCat(writer.name, "/active"), kOpenDirectory, MountRule::kMustStay, path);
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

void DescribeOwner(int host_fd, const std::string& agent_id, v1::RunDirectoryDescription& of) {
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
    of.set_note("its marker belongs elsewhere");
    return;
  }
  of.set_owner(view->marker.agent_id == agent_id ? v1::RUN_DIRECTORY_OWNER_THIS_AGENT
                                                 : v1::RUN_DIRECTORY_OWNER_OTHER_AGENT);
  of.set_in_use(view->in_use);
  of.set_kept(view->marker.kept);
  of.set_shared(view->marker.shared);
  of.set_age_ns(AgeNs(view->written_s));
}

v1::RunDirectoryDescription DescribeHost(int fd, std::string path, const std::string& run_id, const std::string& label,
                                         const std::string& agent_id) {
  v1::RunDirectoryDescription of;
  of.set_run_id(run_id);
  of.set_host_label(label);
  of.set_path(std::move(path));
  DescribeOwner(fd, agent_id, of);
  CountFiles(fd, of.path(), of);
  return of;
}

}  // namespace

absl::StatusOr<std::vector<v1::RunDirectoryDescription>> ListRunDirectories(int directory_fd, const std::string& path,
                                                                            const std::string& agent_id) {
  const std::string base = path == "/" ? "" : path;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(directory_fd, path));
  std::vector<v1::RunDirectoryDescription> found;
  for (const DirectoryEntry& entry : entries) {
    if (entry.kind != EntryKind::kDirectory || found.size() >= kMaxListedDirectories) continue;
    const std::string entry_path = absl::StrCat(base, "/", entry.name);
    const std::optional<StagedHost> staged = ParseStagingName(entry.name, agent_id);
    const std::string run_id = RunIdOf(entry.name);
    if (!staged.has_value() && run_id.empty()) continue;
    const auto fd = OpenBeneath(directory_fd, entry.name, kOpenDirectory, MountRule::kMustStay, entry_path);
    if (!fd.ok()) continue;
    if (staged.has_value()) {
      v1::RunDirectoryDescription of =
          DescribeHost(fd->get(), entry_path, staged->run_id, staged->host_label, agent_id);
      // Its name tells whose it is, also where the marker is not whole yet.
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
      if (host_fd.ok()) found.push_back(DescribeHost(host_fd->get(), host_path, run_id, host.name, agent_id));
    }
  }
  return found;
}

}  // namespace plimsoll
