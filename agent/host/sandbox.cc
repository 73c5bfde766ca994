#include "agent/host/sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/host/leftovers.h"
#include "agent/host/run_ownership.h"
#include "common/page_stamp.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/text.h"

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
  // Not every file system reports the type with the name.
  struct stat info{};
  if (fstatat(directory_fd, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) return EntryKind::kOther;
  if (S_ISREG(info.st_mode)) return EntryKind::kFile;
  return S_ISDIR(info.st_mode) ? EntryKind::kDirectory : EntryKind::kOther;
}

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

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

enum class Beginning { kOfTheRun, kEmpty, kForeign, kUnread };

// What the open file begins with: a page that the run has written, none or zeros, or something else. kUnread leaves
// errno. Aligned, as O_DIRECT asks.
Beginning BeginningOf(int fd, const std::array<uint8_t, 16>& run_token) {
  alignas(kStampedPageBytes) std::array<std::byte, kStampedPageBytes> page{};
  const ssize_t size = pread(fd, page.data(), page.size(), 0);
  if (size < 0) return Beginning::kUnread;
  const bool zeros = std::all_of(page.begin(), page.end(), [](std::byte byte) { return byte == std::byte{0}; });
  if (zeros) return Beginning::kEmpty;
  PageStamp stamp;
  const bool own = size == static_cast<ssize_t>(page.size()) && ReadStamp(page, stamp) != StampState::kForeign &&
                   stamp.run_token == run_token;
  return own ? Beginning::kOfTheRun : Beginning::kForeign;
}

std::string FirstLine(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

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

absl::StatusOr<std::unique_ptr<Sandbox>> Sandbox::Create(const std::vector<std::string>& roots, std::string agent_id) {
  if (roots.empty()) return absl::InvalidArgumentError("no --root was given: an agent writes only below its roots");
  std::unique_ptr<Sandbox> sandbox(new Sandbox());
  sandbox->agent_id_ = std::move(agent_id);
  for (const std::string& root : roots) {
    if (root.empty() || root[0] != '/') {
      return absl::InvalidArgumentError(absl::StrCat("--root '", root, "' is not an absolute path"));
    }
    const std::unique_ptr<char, decltype(&std::free)> resolved(realpath(root.c_str(), nullptr), &std::free);
    if (resolved == nullptr) return PosixError("--root", root, errno);
    struct stat info{};
    if (stat(resolved.get(), &info) != 0) return PosixError("--root", root, errno);
    if (!S_ISDIR(info.st_mode)) return PosixError("--root", root, ENOTDIR);
    sandbox->known_roots_.push_back({Normalized(root), resolved.get()});
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
    best = {root.resolved, remainder, remainder.empty() ? root.resolved : Normalized(root.resolved + "/" + remainder)};
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
    return absl::InvalidArgumentError(absl::StrCat(
        "host label '", host_label, "' is no plain name: letters, digits, '.', '_' and '-', at most 64, no '.' first"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, Locate(dir));
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, Open(place));
  return RunDirectory::Create(std::move(fd), place.path, {agent_id_, run_id, run_token, host_label, false, shared});
}

absl::StatusOr<std::unique_ptr<SharedDirectory>> Sandbox::OpenSharedDirectory(const std::string& dir,
                                                                              SharedDirectory::Owner owner) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, Locate(dir));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, Open(place));
  return SharedDirectory::Open(fd.get(), place.path, std::move(owner));
}

absl::StatusOr<UniqueFd> Sandbox::OpenRunFile(const std::string& dir, const RunFile& file, int flags) const {
  const std::vector<std::string> parts = absl::StrSplit(file.relative, '/');
  if (!IsRunId(file.run_id) || !IsPlainName(file.host_label) || !std::all_of(parts.begin(), parts.end(), IsPlainName)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", file.run_id, "', '", file.host_label, "' and '", file.relative, "' name no file of a run"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, Locate(dir));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd parent, Open(place));
  const std::string way = absl::StrCat(RunDirectoryName(file.run_id), "/", file.host_label, "/",
                                       absl::StrJoin(parts.begin(), parts.end() - 1, "/"));
  const std::string path = absl::StrCat(place.path == "/" ? "" : place.path, "/", way, "/", parts.back());
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd directory,
                            OpenBeneath(parent.get(), way, kOpenDirectory, MountRule::kMustStay, path));
  absl::StatusOr<UniqueFd> opened = OpenRegular(directory.get(), parts.back(), flags, path);
  // An NFS client that opens what it has just looked up finds out by this that the server has another file there.
  if (!opened.ok() && absl::StrContains(opened.status().message(), absl::StrCat("(", ESTALE, ")"))) {
    return absl::AbortedError(absl::StrCat(path, " was replaced"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, std::move(opened));
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) {
    return errno == ESTALE ? absl::AbortedError(absl::StrCat(path, " was replaced")) : PosixError("fstat", path, errno);
  }
  if (info.st_nlink == 0) return absl::AbortedError(absl::StrCat(path, " was replaced"));
  if (info.st_nlink != 1) return absl::FailedPreconditionError(absl::StrCat(path, " has more than one name"));
  switch (BeginningOf(fd.get(), file.run_token)) {
    case Beginning::kOfTheRun:
      return fd;
    case Beginning::kUnread:
      if (errno == ESTALE) return absl::AbortedError(absl::StrCat(path, " was replaced"));
      return absl::PermissionDeniedError(absl::StrCat(path, " does not carry the run's token"));
    case Beginning::kEmpty:
      return absl::DataLossError(absl::StrCat(path, " does not carry the run's token: its first page is empty"));
    case Beginning::kForeign:
      break;
  }
  return absl::PermissionDeniedError(absl::StrCat(path, " does not carry the run's token"));
}

absl::StatusOr<std::vector<v1::RunDirectoryDescription>> Sandbox::ListRunDirectories(const std::string& dir) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, Locate(dir));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, Open(place));
  return plimsoll::ListRunDirectories(fd.get(), place.path, agent_id_);
}

absl::StatusOr<std::vector<v1::CleanedDirectory>> Sandbox::Clean(
    const std::string& dir, const std::string& run_id, const std::function<absl::Status()>& may_continue) const {
  if (!run_id.empty() && !IsRunId(run_id)) {
    return absl::InvalidArgumentError(absl::StrCat("run id '", run_id, "' is not 1 to 64 lower-case hex digits"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const Place place, Locate(dir));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, Open(place));
  return CleanRunDirectories({fd.get(), place.path}, run_id, {agent_id_, !run_id.empty(), may_continue});
}

std::vector<std::string> Sandbox::RemoveLeftovers() const {
  std::vector<std::string> removed;
  for (const std::string& root : roots_) {
    const auto fd = Open({root, "", root});
    if (!fd.ok()) continue;
    const std::vector<std::string> here = RemoveLeftoversBelow(fd->get(), root, agent_id_);
    removed.insert(removed.end(), here.begin(), here.end());
  }
  return removed;
}

std::string MakeAgentId(const std::string& name, const std::vector<std::string>& roots) {
  // Containers often have no machine id; the host's name is the next best.
  std::string machine = FirstLine("/etc/machine-id");
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
