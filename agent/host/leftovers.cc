#include "agent/host/leftovers.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>

#include <cstddef>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/host/beneath.h"
#include "agent/host/leftover_removal.h"
#include "agent/host/run_listing.h"
#include "agent/host/staging.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace plimsoll {
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
std::vector<Place> FindPlaces(int root_fd, const std::string& root, const std::string& agent_id) {
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
        if (ParseStagingName(entry.name, agent_id).has_value()) place.staged.push_back(entry.name);
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
    spdlog::info("looked for leftovers of earlier runs in the first {} entries below {} only", kMaxLeftoverEntries,
                 root);
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
  // Ours, and nobody uses it: what is in the way is worth a word. All else is none of ours.
  const auto fd = OpenBeneath(parent.fd, absl::StrCat(RunDirectoryName(run_id), "/", host_label), kOpenDirectory,
                              MountRule::kMustStay, path);
  const auto view = fd.ok() ? LookAtMarker(fd->get(), path) : fd.status();
  if (view.ok() && !view->in_use && CheckRight(view->marker, right, run_id, host_label).ok()) {
    spdlog::warn("{} was left by an earlier run and stays: {}", path, why);
  } else {
    spdlog::debug("{} is left: {}", path, why);
  }
  return false;
}

}  // namespace

std::vector<std::string> RemoveLeftoversBelow(int root_fd, const std::string& root, const std::string& agent_id) {
  std::vector<std::string> removed;
  const RemovalRight right{agent_id, false, {}};
  for (const Place& place : FindPlaces(root_fd, root, agent_id)) {
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
                            ListRunDirectories(parent.fd, parent.path, right.agent_id));
  std::vector<v1::CleanedDirectory> cleaned;
  for (const v1::RunDirectoryDescription& entry : listed) {
    const bool named = !run_id.empty() && entry.run_id() == run_id;
    if (!run_id.empty() && !named) continue;
    const bool own = entry.owner() == v1::RUN_DIRECTORY_OWNER_THIS_AGENT;
    // What is nobody's to take here is another's to tell of; what stays for good reasons is worth a word only where it
    // was asked for.
    if (!own && !(named && entry.shared())) continue;
    if (!named && (entry.kept() || entry.shared() || entry.in_use())) continue;
    if (right.may_continue) PLIMSOLL_RETURN_IF_ERROR(right.may_continue());
    v1::CleanedDirectory& done = cleaned.emplace_back();
    done.set_run_id(entry.run_id());
    done.set_host_label(entry.host_label());
    done.set_path(entry.path());
    const std::string name = entry.path().substr(entry.path().rfind('/') + 1);
    if (ParseStagingName(name, right.agent_id).has_value()) {
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

}  // namespace plimsoll
