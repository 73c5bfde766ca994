#include "agent/host/run_directory.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/host/beneath.h"
#include "agent/host/run_ownership.h"
#include "common/page_stamp.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace plimsoll {
namespace {

// The last host of a run removes the run's directory while another may just be making its own in it.
constexpr int kMakeAttempts = 100;

// As the process's umask allows, but never for everybody: agents of several hosts that run as several users of one
// group need to share it.
constexpr mode_t kRunDirectoryMode = 0775;
constexpr mode_t kDirectoryMode = 0755;
constexpr mode_t kFileMode = 0600;

// rmdir of `name`; where it is not empty the error names what is in it.
absl::Status RemoveEmptyDirectory(int parent_fd, const std::string& name, const std::string& path) {
  if (unlinkat(parent_fd, name.c_str(), AT_REMOVEDIR) == 0) return absl::OkStatus();
  const int error_number = errno;
  if (error_number != ENOTEMPTY && error_number != EEXIST) return PosixError("rmdir", path, error_number);
  std::string what = "something";
  if (const auto fd = OpenBeneath(parent_fd, name, kOpenDirectory, MountRule::kMustStay, path); fd.ok()) {
    const auto entries = ListDirectory(fd->get(), path);
    if (entries.ok() && !entries->empty()) what = absl::StrCat("'", entries->front().name, "'");
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path, " holds ", what, ", which this run did not make; it is left as it is"));
}

// OpenRegular opens with O_NONBLOCK, to not wait for leases; reads and writes are blocking, as for any other file.
absl::Status MakeBlocking(int fd, const std::string& path) {
  const int now = fcntl(fd, F_GETFL);
  if (now < 0 || fcntl(fd, F_SETFL, now & ~O_NONBLOCK) != 0) return PosixError("fcntl F_SETFL", path, errno);
  return absl::OkStatus();
}

}  // namespace

RunDirectory::RunDirectory(UniqueFd parent_fd, const std::string& parent_path, OwnerMarker owner)
    : parent_fd_(std::move(parent_fd)),
      run_name_(RunDirectoryName(owner.run_id)),
      run_path_(absl::StrCat(parent_path == "/" ? "" : parent_path, "/", run_name_)),
      path_(absl::StrCat(run_path_, "/", owner.host_label)),
      owner_(std::move(owner)) {}

absl::StatusOr<std::unique_ptr<RunDirectory>> RunDirectory::Create(UniqueFd parent_fd, const std::string& parent_path,
                                                                   OwnerMarker owner) {
  // From here on the destructor takes back what was made.
  std::unique_ptr<RunDirectory> directory(new RunDirectory(std::move(parent_fd), parent_path, std::move(owner)));
  PLIMSOLL_RETURN_IF_ERROR(directory->MakeStaged());
  PLIMSOLL_RETURN_IF_ERROR(directory->Publish());
  return directory;
}

absl::Status RunDirectory::MakeStaged() {
  struct stat parent{};
  if (fstat(parent_fd_.get(), &parent) != 0) return PosixError("fstat", run_path_, errno);
  device_ = parent.st_dev;
  absl::Status status;
  for (int number = 0; number < kStagingNames; ++number) {
    staged_name_ = FormatStagingName(owner_, number);
    if (mkdirat(parent_fd_.get(), staged_name_.c_str(), kDirectoryMode) != 0) {
      if (errno == EEXIST) continue;
      return DirectoryError("mkdir", path_, errno, parent_fd_.get());
    }
    place_ = Place::kStaged;
    absl::StatusOr<UniqueFd> host_fd =
        OpenBeneath(parent_fd_.get(), staged_name_, kOpenDirectory, MountRule::kMustStay, path_);
    status = host_fd.status();
    if (status.ok()) {
      host_fd_ = *std::move(host_fd);
      status = MakeMarker();
    }
    if (!absl::IsNotFound(status) && !absl::IsUnavailable(status)) return status;
    // An agent of the same id that just starts took it for a leftover.
    absl::Status ignored;
    RemoveHostDirectory(ignored);
    place_ = Place::kNowhere;
  }
  return status.ok() ? absl::AlreadyExistsError(absl::StrCat("too many leftovers beside ", run_path_)) : status;
}

absl::Status RunDirectory::Publish() {
  bool published = false;
  for (int attempt = 0; attempt < kMakeAttempts && !published; ++attempt) {
    if (mkdirat(parent_fd_.get(), run_name_.c_str(), kRunDirectoryMode) != 0 && errno != EEXIST) {
      return DirectoryError("mkdir", run_path_, errno, parent_fd_.get());
    }
    auto run_fd = OpenBeneath(parent_fd_.get(), run_name_, kOpenDirectory, MountRule::kMustStay, run_path_);
    if (absl::IsNotFound(run_fd.status())) continue;
    PLIMSOLL_RETURN_IF_ERROR(run_fd.status());
    run_fd_ = *std::move(run_fd);
    const absl::Status renamed = RenameToFree(parent_fd_.get(), staged_name_, run_fd_.get(), owner_.host_label, path_);
    if (absl::IsAlreadyExists(renamed)) {
      return absl::AlreadyExistsError(
          absl::StrCat(path_, " exists: another agent has this name in the run, or a previous one left it"));
    }
    // Another host's agent may have removed the run's directory, or somebody the staged one.
    if (absl::IsNotFound(renamed) && IsSameFile(parent_fd_.get(), staged_name_, host_fd_.get())) continue;
    PLIMSOLL_RETURN_IF_ERROR(renamed);
    published = true;
  }
  if (!published) return absl::AbortedError(absl::StrCat(run_path_, " is removed as often as it is made"));
  place_ = Place::kPublished;
  struct stat own{};
  if (fstat(host_fd_.get(), &own) != 0) return PosixError("fstat", path_, errno);
  if (own.st_dev != device_) {
    return absl::FailedPreconditionError(absl::StrCat(path_, " is on another device than the directory of the run"));
  }
  if (!IsSameFile(run_fd_.get(), owner_.host_label, host_fd_.get())) {
    return absl::FailedPreconditionError(absl::StrCat(path_, " was replaced while it was made"));
  }
  return absl::OkStatus();
}

absl::Status RunDirectory::MakeMarker() {
  const std::string path = absl::StrCat(path_, "/", kOwnerMarkerName);
  PLIMSOLL_ASSIGN_OR_RETURN(marker_fd_, OpenBeneath(host_fd_.get(), kOwnerMarkerName, O_RDWR | O_CREAT | O_EXCL,
                                                    MountRule::kMustStay, path, kFileMode));
  marker_made_ = true;
  // Locked before it holds our id: a process that reads the id finds it locked.
  switch (LockFile(marker_fd_.get())) {
    case LockOutcome::kLocked:
      marker_locked_ = true;
      break;
    case LockOutcome::kHeldByAnother:
      return absl::UnavailableError(absl::StrCat("another process has locked ", path));
    case LockOutcome::kNotSupported:
      // Some NFS mounts have no locks. No agent takes such a directory for a leftover, since none can lock its marker;
      // O_EXCL alone keeps two agents apart.
      spdlog::warn("{}: the file system has no locks; if the agent is killed, its files remain", path);
      break;
  }
  return WriteMarker();
}

absl::Status RunDirectory::WriteMarker() {
  const std::string text = FormatOwnerMarker(owner_);
  const std::string path = absl::StrCat(path_, "/", kOwnerMarkerName);
  const ssize_t written = pwrite(marker_fd_.get(), text.data(), text.size(), 0);
  if (written < 0) return PosixError("pwrite", path, errno);
  if (static_cast<size_t>(written) != text.size()) {
    return absl::DataLossError(absl::StrCat("pwrite ", path, ": only ", written, " of ", text.size(), " bytes"));
  }
  if (ftruncate(marker_fd_.get(), static_cast<off_t>(text.size())) != 0) return PosixError("ftruncate", path, errno);
  return absl::OkStatus();
}

RunDirectory::~RunDirectory() {
  if (keep_) return;
  if (const auto removed = Remove(); !removed.ok()) spdlog::warn("{}", std::string(removed.status().message()));
}

absl::StatusOr<UniqueFd> RunDirectory::CreateFile(const std::string& relative, int flags) {
  const std::string path = absl::StrCat(path_, "/", relative);
  std::vector<std::string> parts = absl::StrSplit(relative, '/');
  if (!std::ranges::all_of(parts, IsPlainName)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot make ", path, ": a part of the name is not plain"));
  }
  const std::string file_name = std::move(parts.back());
  parts.pop_back();
  UniqueFd opened;
  int directory_fd = host_fd_.get();
  std::string made;
  for (const std::string& part : parts) {
    absl::StrAppend(&made, made.empty() ? "" : "/", part);
    const std::string directory_path = absl::StrCat(path_, "/", made);
    if (mkdirat(directory_fd, part.c_str(), kDirectoryMode) == 0) {
      const MutexLock lock(mutex_);
      directories_.insert(made);
    } else if (errno != EEXIST) {
      return DirectoryError("mkdir", directory_path, errno, directory_fd);
    }
    PLIMSOLL_ASSIGN_OR_RETURN(opened,
                              OpenBeneath(directory_fd, part, kOpenDirectory, MountRule::kMustStay, directory_path));
    directory_fd = opened.get();
  }
  absl::StatusOr<UniqueFd> file =
      OpenBeneath(directory_fd, file_name, flags | O_CREAT | O_EXCL, MountRule::kMustStay, path, kFileMode);
  // A file system without O_DIRECT makes the file before it refuses the flag; one that was there is refused as such.
  if ((flags & O_DIRECT) != 0 && absl::IsInvalidArgument(file.status())) unlinkat(directory_fd, file_name.c_str(), 0);
  PLIMSOLL_RETURN_IF_ERROR(file.status());
  const std::optional<FileId> id = IdOf(file->get(), "");
  if (!id.has_value())
    return absl::FailedPreconditionError(absl::StrCat(path, " was created, and is not a regular file"));
  const MutexLock lock(mutex_);
  files_[relative] = *id;
  return file;
}

absl::StatusOr<UniqueFd> RunDirectory::OpenFile(const std::string& relative, int flags) const {
  const std::string path = absl::StrCat(path_, "/", relative);
  std::optional<FileId> made;
  {
    const MutexLock lock(mutex_);
    if (const auto found = files_.find(relative); found != files_.end()) made = found->second;
  }
  if (!made.has_value()) return absl::NotFoundError(absl::StrCat(path, " is no file that this run made"));
  const size_t slash = relative.rfind('/');
  const std::string name = slash == std::string::npos ? relative : relative.substr(slash + 1);
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd way,
                            OpenBeneath(host_fd_.get(), slash == std::string::npos ? "" : relative.substr(0, slash),
                                        kOpenDirectory, MountRule::kMustStay, path));
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, OpenRegular(way.get(), name, flags, path));
  if (IdOf(fd.get(), "") != made && !IsOurs(way.get(), name, *made)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is not the file that this run made"));
  }
  PLIMSOLL_RETURN_IF_ERROR(MakeBlocking(fd.get(), path));
  return fd;
}

absl::StatusOr<std::vector<std::string>> RunDirectory::VisibleHosts(const std::vector<std::string>& expected) const {
  struct statx fetched{};
  // Where it fails the list fails too, or is as good as it can be.
  statx(run_fd_.get(), "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &fetched);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListDirectory(run_fd_.get(), run_path_));
  std::vector<std::string> labels;
  for (const DirectoryEntry& entry : entries) {
    if (entry.kind == EntryKind::kDirectory && IsPlainName(entry.name)) labels.push_back(entry.name);
  }
  if (std::ranges::find(labels, owner_.host_label) == labels.end()) {
    return absl::NotFoundError(absl::StrCat(path_, " was removed by somebody else"));
  }
  const std::set<std::string> listed(labels.begin(), labels.end());
  for (const std::string& label : expected) {
    if (!IsPlainName(label) || listed.count(label) != 0) continue;
    struct statx found{};
    if (statx(run_fd_.get(), label.c_str(), AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC, STATX_TYPE, &found) == 0 &&
        S_ISDIR(found.stx_mode)) {
      labels.push_back(label);
    }
  }
  std::ranges::sort(labels);
  return labels;
}

std::optional<RunDirectory::FileId> RunDirectory::IdOf(int fd, const char* name) {
  struct statx info{};
  const int flags = AT_SYMLINK_NOFOLLOW | (*name == '\0' ? AT_EMPTY_PATH : 0);
  if (statx(fd, name, flags, STATX_TYPE | STATX_INO | STATX_BTIME, &info) != 0 || !S_ISREG(info.stx_mode)) {
    return std::nullopt;
  }
  // An inode's number is given again, soon; not with the same time of birth, where the file system records that.
  const bool born = (info.stx_mask & STATX_BTIME) != 0;
  return FileId{makedev(info.stx_dev_major, info.stx_dev_minor), info.stx_ino, born ? info.stx_btime.tv_sec : 0,
                born ? info.stx_btime.tv_nsec : 0};
}

bool RunDirectory::IsOurs(int directory_fd, const std::string& name, const FileId& id) const {
  const std::optional<FileId> now = IdOf(directory_fd, name.c_str());
  if (!now.has_value()) return false;
  // Some file systems give a file another inode once it was closed.
  return *now == id || HoldsRun(directory_fd, name, owner_.run_token) == RunContent::kThisRun;
}

uint64_t RunDirectory::RemoveFiles(absl::Status& first) {
  uint64_t removed = 0;
  const MutexLock lock(mutex_);
  for (auto it = files_.begin(); it != files_.end();) {
    const auto& [relative, id] = *it;
    const std::string path = absl::StrCat(path_, "/", relative);
    const size_t slash = relative.rfind('/');
    const std::string directory = slash == std::string::npos ? "" : relative.substr(0, slash);
    const std::string name = slash == std::string::npos ? relative : relative.substr(slash + 1);
    const auto fd = OpenBeneath(host_fd_.get(), directory, kOpenDirectory, MountRule::kMustStay, path);
    absl::Status status = fd.status();
    if (status.ok() && faccessat(fd->get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
      status = PosixError("unlink", path, errno);
    } else if (status.ok() && !IsOurs(fd->get(), name, id)) {
      status =
          absl::FailedPreconditionError(absl::StrCat(path, " is not the file that this run made; it is left as it is"));
    } else if (status.ok() && unlinkat(fd->get(), name.c_str(), 0) != 0) {
      status = PosixError("unlink", path, errno);
    }
    if (status.ok()) {
      ++removed;
      removed_files_.fetch_add(1, std::memory_order_relaxed);
    }
    first.Update(status);
    // What is not there is not ours to remove any more, though it is an error that somebody else did it.
    it = status.ok() || absl::IsNotFound(status) ? files_.erase(it) : std::next(it);
  }
  return removed;
}

void RunDirectory::RemoveDirectories(absl::Status& first) {
  const MutexLock lock(mutex_);
  // Backwards: a directory sorts before what lies in it.
  for (auto it = directories_.end(); it != directories_.begin();) {
    --it;
    const std::string path = absl::StrCat(path_, "/", *it);
    const size_t slash = it->rfind('/');
    const std::string parent = slash == std::string::npos ? "" : it->substr(0, slash);
    const std::string name = slash == std::string::npos ? *it : it->substr(slash + 1);
    const auto fd = OpenBeneath(host_fd_.get(), parent, kOpenDirectory, MountRule::kMustStay, path);
    const absl::Status status = fd.ok() ? RemoveEmptyDirectory(fd->get(), name, path) : fd.status();
    first.Update(status);
    if (status.ok() || absl::IsNotFound(status)) it = directories_.erase(it);
  }
  // The marker goes when nothing of ours is left; until then it shows a later agent who owns the rest.
  if (files_.empty()) RemoveHostDirectory(first);
}

void RunDirectory::RemoveMarker(absl::Status& first) {
  if (!marker_made_) return;
  // Closed first: NFS would keep it under another name, and the directory could not go.
  marker_fd_.Reset();
  if (unlinkat(host_fd_.get(), kOwnerMarkerName, 0) != 0) {
    first.Update(PosixError("unlink", absl::StrCat(path_, "/", kOwnerMarkerName), errno));
  }
  marker_made_ = false;
}

void RunDirectory::RemoveHostDirectory(absl::Status& first) {
  if (place_ == Place::kPublished) {
    const auto entries = ListDirectory(host_fd_.get(), path_);
    const bool gone = absl::IsNotFound(entries.status());
    const bool only_marker =
        entries.ok() && std::ranges::all_of(*entries, [](const auto& entry) { return entry.name == kOwnerMarkerName; });
    if (gone || !only_marker) {
      // Somebody removed it, or put something there.
      RemoveMarker(first);
      const absl::Status status =
          gone ? entries.status() : RemoveEmptyDirectory(run_fd_.get(), owner_.host_label, path_);
      first.Update(status);
      if (status.ok() || absl::IsNotFound(status)) place_ = Place::kNowhere;
      if (place_ == Place::kNowhere) first.Update(RemoveRunDirectory(parent_fd_.get(), owner_.run_id, run_path_));
      return;
    }
    const absl::Status withdrawn =
        Withdraw(parent_fd_.get(), run_fd_.get(), host_fd_.get(), owner_, path_, staged_name_);
    first.Update(withdrawn);
    if (absl::IsNotFound(withdrawn)) {
      RemoveMarker(first);
      place_ = Place::kNowhere;
      first.Update(RemoveRunDirectory(parent_fd_.get(), owner_.run_id, run_path_));
    }
    if (!withdrawn.ok()) return;
    place_ = Place::kStaged;
  }
  if (place_ != Place::kStaged) return;
  const absl::Status run_removed = RemoveRunDirectory(parent_fd_.get(), owner_.run_id, run_path_);
  first.Update(run_removed);
  // As long as the run's directory is in the way of something, the staged name identifies the owner.
  if (!run_removed.ok()) return;
  RemoveMarker(first);
  const absl::Status status = RemoveEmptyDirectory(parent_fd_.get(), staged_name_, path_);
  first.Update(status);
  if (status.ok() || absl::IsNotFound(status)) place_ = Place::kNowhere;
}

bool RunDirectory::IsGone() const {
  struct stat own{};
  if (fstat(host_fd_.get(), &own) != 0) return errno == ESTALE || errno == ENOENT;
  return own.st_nlink == 0;
}

absl::Status RunDirectory::ForgetAll() {
  const MutexLock lock(mutex_);
  files_.clear();
  directories_.clear();
  marker_fd_.Reset();
  marker_made_ = false;
  place_ = Place::kNowhere;
  unlinkat(parent_fd_.get(), run_name_.c_str(), AT_REMOVEDIR);
  return absl::NotFoundError(absl::StrCat(path_, " was removed while it was in use"));
}

absl::StatusOr<uint64_t> RunDirectory::Remove() {
  if (place_ == Place::kNowhere) return 0;
  if (IsGone()) return ForgetAll();
  absl::Status first;
  const uint64_t removed = RemoveExpected(first) + RemoveFiles(first);
  RemoveDirectories(first);
  if (!first.ok()) return first;
  return removed;
}

void RunDirectory::Keep() {
  keep_ = true;
  if (!marker_made_) return;
  owner_.kept = true;
  if (const absl::Status status = WriteMarker(); !status.ok()) {
    spdlog::warn("the next agent may remove files that were to be kept: {}", std::string(status.message()));
  }
}

void RunDirectory::ExpectFile(const std::string& relative) {
  const MutexLock lock(mutex_);
  expected_.insert(relative);
}

uint64_t RunDirectory::RemoveExpected(absl::Status& first) {
  uint64_t removed = 0;
  const MutexLock lock(mutex_);
  for (const std::string& relative : expected_) {
    const std::string path = absl::StrCat(path_, "/", relative);
    const size_t slash = relative.rfind('/');
    const std::string directory = slash == std::string::npos ? "" : relative.substr(0, slash);
    const std::string name = slash == std::string::npos ? relative : relative.substr(slash + 1);
    const auto fd = OpenBeneath(host_fd_.get(), directory, kOpenDirectory, MountRule::kMustStay, path);
    if (!fd.ok() || faccessat(fd->get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (HoldsRun(fd->get(), name, owner_.run_token) == RunContent::kForeign) {
      first.Update(
          absl::FailedPreconditionError(absl::StrCat(path, " is not a file that this run made; it is left as it is")));
    } else if (unlinkat(fd->get(), name.c_str(), 0) != 0) {
      first.Update(PosixError("unlink", path, errno));
    } else {
      ++removed;
    }
  }
  return removed;
}

namespace {

absl::Status NotOfThisRun(const std::string& path, const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat(path, " ", why, "; it is not opened"));
}

enum class Beginning { kOfTheRun, kEmpty, kForeign, kUnread };

// What the open file begins with: a page that the run has written, none or zeros, or something else. kUnread leaves
// errno. Aligned, as O_DIRECT asks.
Beginning BeginningOf(int fd, const std::array<uint8_t, 16>& run_token) {
  alignas(kStampedPageBytes) std::array<std::byte, kStampedPageBytes> page{};
  const ssize_t size = pread(fd, page.data(), page.size(), 0);
  if (size < 0) return Beginning::kUnread;
  const bool zeros = std::ranges::all_of(page, [](std::byte byte) { return byte == std::byte{0}; });
  if (zeros) return Beginning::kEmpty;
  PageStamp stamp;
  // A torn page is the run's all the same: the write that was in flight when its writer died.
  const bool own = size == static_cast<ssize_t>(page.size()) && ReadStamp(page, stamp) != StampState::kForeign &&
                   stamp.run_token == run_token;
  return own ? Beginning::kOfTheRun : Beginning::kForeign;
}

}  // namespace

absl::StatusOr<UniqueFd> OpenFileOfRun(int directory_fd, const std::string& directory_path, const std::string& relative,
                                       const std::array<uint8_t, 16>& run_token, int flags) {
  const std::string path = absl::StrCat(directory_path, "/", relative);
  const std::vector<std::string> parts = absl::StrSplit(relative, '/');
  if (!std::ranges::all_of(parts, IsPlainName)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot open ", path, ": a part of the name is not plain"));
  }
  const auto replaced = [&path] { return absl::AbortedError(absl::StrCat(path, " was replaced")); };
  const size_t slash = relative.rfind('/');
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd way,
                            OpenBeneath(directory_fd, slash == std::string::npos ? "" : relative.substr(0, slash),
                                        kOpenDirectory, MountRule::kMustStay, path));
  absl::StatusOr<UniqueFd> opened = OpenRegular(way.get(), parts.back(), flags, path);
  // An NFS client that opens what it has just looked up finds out by this that the server has another file there.
  if (!opened.ok() && absl::StrContains(opened.status().message(), absl::StrCat("(", ESTALE, ")"))) return replaced();
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, std::move(opened));
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) return errno == ESTALE ? replaced() : PosixError("fstat", path, errno);
  if (info.st_nlink == 0) return replaced();
  if (info.st_nlink != 1) return absl::FailedPreconditionError(absl::StrCat(path, " has more than one name"));
  switch (BeginningOf(fd.get(), run_token)) {
    case Beginning::kOfTheRun:
      break;
    case Beginning::kUnread:
      return errno == ESTALE ? replaced() : PosixError("pread", path, errno);
    case Beginning::kEmpty:
      return absl::DataLossError(absl::StrCat(path, " does not carry the run's token: its first page is empty"));
    case Beginning::kForeign:
      return absl::PermissionDeniedError(absl::StrCat(path, " does not carry the run's token"));
  }
  PLIMSOLL_RETURN_IF_ERROR(MakeBlocking(fd.get(), path));
  return fd;
}

SharedDirectory::SharedDirectory(UniqueFd fd, std::string path, Owner owner)
    : fd_(std::move(fd)), path_(std::move(path)), owner_(std::move(owner)) {}

absl::StatusOr<std::unique_ptr<SharedDirectory>> SharedDirectory::Open(int parent_fd, const std::string& parent_path,
                                                                       Owner owner) {
  if (!IsRunId(owner.run_id)) {
    return absl::InvalidArgumentError(absl::StrCat("run id '", owner.run_id, "' is not 1 to 64 lower-case hex digits"));
  }
  if (!IsPlainName(owner.host_label)) {
    return absl::InvalidArgumentError(absl::StrCat("host label '", owner.host_label, "' is not a plain name"));
  }
  const std::string run_name = RunDirectoryName(owner.run_id);
  const std::string run_path = absl::StrCat(parent_path == "/" ? "" : parent_path, "/", run_name);
  const std::string path = absl::StrCat(run_path, "/", owner.host_label);
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd run_fd,
                            OpenBeneath(parent_fd, run_name, kOpenDirectory, MountRule::kMustStay, run_path));
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd,
                            OpenBeneath(run_fd.get(), owner.host_label, kOpenDirectory, MountRule::kMustStay, path));
  PLIMSOLL_ASSIGN_OR_RETURN(const MarkerView view, LookAtMarker(fd.get(), path));
  const OwnerMarker& marker = view.marker;
  if (marker.run_id != owner.run_id || marker.run_token != owner.run_token || marker.host_label != owner.host_label) {
    return NotOfThisRun(path, "carries the marker of another run");
  }
  if (!marker.shared) return NotOfThisRun(path, "is not marked as shared by hosts");
  return std::unique_ptr<SharedDirectory>(new SharedDirectory(std::move(fd), path, std::move(owner)));
}

absl::StatusOr<UniqueFd> SharedDirectory::OpenFile(const std::string& relative, int flags) const {
  return OpenFileOfRun(fd_.get(), path_, relative, owner_.run_token, flags);
}

}  // namespace plimsoll
