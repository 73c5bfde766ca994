#include "agent/host/sandbox.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "agent/host/beneath.h"
#include "agent/host/leftovers.h"
#include "agent/host/run_ownership.h"
#include "agent/host/storage_stack.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace plimsoll {
namespace {

// Without ".", "..", doubled and trailing slashes. What is left of ".." by this is what the kernel would make of it,
// since symbolic links are refused anyway.
std::string Normalized(const std::string& path) {
  std::string text = std::filesystem::path(path).lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

// The way from `root` down to `path`; false where it is not below it.
bool Below(const std::string& root, const std::string& path, std::string& remainder) {
  if (path == root) {
    remainder.clear();
    return true;
  }
  const std::string prefix = root == "/" ? root : absl::StrCat(root, "/");
  if (path.compare(0, prefix.size(), prefix) != 0) return false;
  remainder = path.substr(prefix.size());
  return true;
}

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

absl::StatusOr<std::unique_ptr<Sandbox>> Sandbox::Create(const std::vector<std::string>& roots, std::string agent_id,
                                                         const std::vector<std::string>& root_ids) {
  if (roots.empty()) return absl::InvalidArgumentError("no --root was given: an agent writes only below its roots");
  std::unique_ptr<Sandbox> sandbox(new Sandbox());
  sandbox->agent_id_ = std::move(agent_id);
  for (const std::string& root : roots) {
    if (root.empty() || root[0] != '/') {
      return absl::InvalidArgumentError(absl::StrCat("--root '", root, "' is not an absolute path"));
    }
    const std::unique_ptr<char, decltype(&std::free)> resolved(realpath(root.c_str(), nullptr), &std::free);
    if (resolved == nullptr && errno == ENOENT) {
      return absl::NotFoundError(absl::StrCat("--root: ", root, " does not exist; create it or pass another --root"));
    }
    if (resolved == nullptr) return PosixError("--root", root, errno);
    struct stat info{};
    if (stat(resolved.get(), &info) != 0) return PosixError("--root", root, errno);
    if (!S_ISDIR(info.st_mode))
      return absl::FailedPreconditionError(absl::StrCat("--root: ", root, " is not a directory"));
    const size_t number = sandbox->known_roots_.size();
    sandbox->known_roots_.push_back(
        {Normalized(root), resolved.get(), number < root_ids.size() ? root_ids[number] : sandbox->agent_id_});
    sandbox->roots_.emplace_back(resolved.get());
  }
  return sandbox;
}

absl::StatusOr<Sandbox::Place> Sandbox::Locate(const std::string& dir) const {
  if (dir.empty() || dir[0] != '/') {
    return absl::InvalidArgumentError(absl::StrCat("directory '", dir, "' is not an absolute path"));
  }
  const std::string path = Normalized(dir);
  Place best;
  for (const Root& root : known_roots_) {
    // The innermost root wins: its own path has no symbolic links left.
    if (root.resolved.size() < best.root.size()) continue;
    std::string remainder;
    if (!Below(root.resolved, path, remainder) && !Below(root.given, path, remainder)) continue;
    best = {root.resolved, remainder, remainder.empty() ? root.resolved : Normalized(root.resolved + "/" + remainder),
            root.agent_id};
  }
  if (best.root.empty()) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, " is outside the directories of the agent's --root: ", absl::StrJoin(roots_, ", ")));
  }
  return best;
}

absl::StatusOr<UniqueFd> Sandbox::Open(const Place& place) {
  // The root is opened as strictly as the rest: where a part of it has become a link since, it is not followed.
  const UniqueFd top(open("/", kOpenDirectory | O_CLOEXEC));
  if (!top.valid()) return PosixError("open", "/", errno);
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd root, OpenBeneath(top.get(), place.root.substr(1), kOpenDirectory,
                                                             MountRule::kMayCross, place.root));
  absl::StatusOr<UniqueFd> fd =
      OpenBeneath(root.get(), place.remainder, kOpenDirectory, MountRule::kMayCross, place.path);
  if (absl::IsNotFound(fd.status())) return absl::NotFoundError(absl::StrCat(place.path, " does not exist"));
  return fd;
}

absl::StatusOr<UniqueFd> Sandbox::OpenDirectory(const std::string& dir) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, Locate(dir));
  return Open(place);
}

absl::StatusOr<std::string> Sandbox::PathOf(const std::string& dir) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, Locate(dir));
  return place.path;
}

absl::StatusOr<Sandbox::FileDirectory> Sandbox::LocateForFiles(const std::string& dir) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, Locate(dir));
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, Open(place));
  return FileDirectory{std::move(fd), place.path, place.agent_id};
}

absl::Status Sandbox::Check(const std::string& dir) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, Locate(dir));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, Open(place));
  if (faccessat(fd.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return DirectoryError("write access to", place.path, errno, fd.get());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<RunDirectory>> Sandbox::MakeRunDirectory(const std::string& dir,
                                                                        const std::string& run_id,
                                                                        const std::array<uint8_t, 16>& run_token,
                                                                        const std::string& host_label,
                                                                        bool shared) const {
  if (!IsRunId(run_id)) {
    return absl::InvalidArgumentError(absl::StrCat("run id '", run_id, "' is not 1 to 64 lower-case hex digits"));
  }
  if (!IsPlainName(host_label)) {
    return absl::InvalidArgumentError(
        absl::StrCat("host label '", host_label,
                     "' is not a plain name: letters, digits, '.', '_' and '-', at most 64, no '.' first"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, Locate(dir));
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, Open(place));
  return RunDirectory::Create(std::move(fd), place.path,
                              {place.agent_id, run_id, run_token, host_label, false, shared});
}

absl::StatusOr<std::unique_ptr<SharedDirectory>> Sandbox::OpenSharedDirectory(const std::string& dir,
                                                                              SharedDirectory::Owner owner) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, Locate(dir));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, Open(place));
  return SharedDirectory::Open(fd.get(), place.path, std::move(owner));
}

absl::StatusOr<UniqueFd> Sandbox::OpenRunFile(const std::string& dir, const RunFile& file, int flags) const {
  if (!IsRunId(file.run_id) || !IsPlainName(file.host_label)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", file.run_id, "' and '", file.host_label, "' name no directory of a run"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, Locate(dir));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd parent, Open(place));
  const std::string way = absl::StrCat(RunDirectoryName(file.run_id), "/", file.host_label);
  const std::string path = absl::StrCat(place.path == "/" ? "" : place.path, "/", way);
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd directory,
                            OpenBeneath(parent.get(), way, kOpenDirectory, MountRule::kMustStay, path));
  return OpenFileOfRun(directory.get(), path, file.relative, file.run_token, flags);
}

absl::StatusOr<std::vector<v1::RunDirectoryDescription>> Sandbox::ListRunDirectories(const std::string& dir) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, Locate(dir));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, Open(place));
  return plimsoll::ListRunDirectories(fd.get(), place.path, place.agent_id, FormerId(place.agent_id));
}

absl::StatusOr<std::vector<v1::CleanedDirectory>> Sandbox::Clean(
    const std::string& dir, const std::string& run_id, const std::function<absl::Status()>& may_continue) const {
  if (!run_id.empty() && !IsRunId(run_id)) {
    return absl::InvalidArgumentError(absl::StrCat("run id '", run_id, "' is not 1 to 64 lower-case hex digits"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, Locate(dir));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, Open(place));
  return CleanRunDirectories({fd.get(), place.path}, run_id,
                             {place.agent_id, !run_id.empty(), may_continue, FormerId(place.agent_id)});
}

std::vector<std::string> Sandbox::RemoveLeftovers() const {
  std::vector<std::string> removed;
  for (const Root& root : known_roots_) {
    const auto fd = Open({root.resolved, "", root.resolved});
    if (!fd.ok()) continue;
    const std::vector<std::string> here =
        RemoveLeftoversBelow(fd->get(), root.resolved, root.agent_id, FormerId(root.agent_id));
    removed.insert(removed.end(), here.begin(), here.end());
  }
  return removed;
}

std::string MakeAgentId(const std::string& name, const std::vector<std::string>& roots) {
  // Containers often have no machine id; the host's name is the next best.
  std::string machine = ReadTextLine("/etc/machine-id");
  if (machine.empty()) machine = HostName();
  std::vector<std::string> sorted;
  sorted.reserve(roots.size());
  for (const std::string& root : roots) sorted.push_back(Normalized(root));
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  // FNV-1a, 64 bits. Zero bytes keep the parts apart.
  uint64_t hash = 0xcbf29ce484222325;
  const std::string separator(1, '\0');
  for (const char c : absl::StrCat(machine, separator, name, separator, absl::StrJoin(sorted, separator))) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return absl::StrFormat("%016x", hash);
}

}  // namespace plimsoll
