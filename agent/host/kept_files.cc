#include "agent/host/kept_files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/host/beneath.h"
#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

constexpr char kKeptFirstLine[] = "plimsoll-kept 1\n";
// Some 40,000 files with short names.
constexpr size_t kMaxKeptBytes = size_t{4} << 20;
constexpr mode_t kKeptMarkerMode = 0600;
constexpr int kEnterAttempts = 20;
// Any user who may read the directory can hold its lock, so that nothing waits for it without end.
constexpr int kKeptLockAttempts = 500;
constexpr int kKeptLockPauseMs = 10;

std::string KeptMarkerPath(const std::string& directory_path) {
  return absl::StrCat(directory_path == "/" ? "" : directory_path, "/", kKeptMarkerName);
}

// One entry without its line's end; false where it is none.
bool ParseKeptLine(const std::string& line, KeptFile& file) {
  const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 4));
  if (parts.size() != 5) return false;
  const std::vector<std::string> birth = absl::StrSplit(parts[3], '.');
  file.agent_id = parts[0];
  file.name = parts[4];
  return birth.size() == 2 && absl::SimpleAtoi(parts[1], &file.device) && absl::SimpleAtoi(parts[2], &file.inode) &&
         absl::SimpleAtoi(birth[0], &file.birth_s) && absl::SimpleAtoi(birth[1], &file.birth_ns);
}

absl::StatusOr<std::string> ReadKeptText(int fd, const std::string& path) {
  std::string text;
  std::array<char, 65536> buffer{};
  while (text.size() <= kMaxKeptBytes) {
    const ssize_t size = pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return PosixError("pread", path, errno);
    if (size == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(size));
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(path, " has more than ", kMaxKeptBytes, " bytes; remove it, and the files that it names"));
}

// The marker's text; empty without a marker.
absl::StatusOr<std::string> ReadKeptMarker(int directory_fd, const std::string& directory_path) {
  const std::string path = KeptMarkerPath(directory_path);
  const absl::StatusOr<UniqueFd> fd = OpenRegular(directory_fd, kKeptMarkerName, O_RDONLY, path);
  if (absl::IsNotFound(fd.status())) return std::string();
  PLIMSOLL_RETURN_IF_ERROR(fd.status());
  struct stat info{};
  if (fstat(fd->get(), &info) != 0) return PosixError("fstat", path, errno);
  // Another user's marker could claim any file. Write access by an access control list shows in the group's bits.
  if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0 || info.st_nlink != 1) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not trusted: it must belong to the agent's user (", geteuid(),
                     "), have one name, and be writable for that user alone; remove it if no agent of another user "
                     "keeps files there"));
  }
  return ReadKeptText(fd->get(), path);
}

// Locks the directory among agents until the descriptor closes. Returns no descriptor if it cannot be locked, because
// its list may not be read or the file system has no locks: agents then check that their entry has stayed.
absl::StatusOr<UniqueFd> LockKept(int directory_fd, const std::string& directory_path) {
  UniqueFd fd(openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return UniqueFd();
  for (int attempt = 0; attempt < kKeptLockAttempts; ++attempt) {
    if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
    if (errno != EWOULDBLOCK && errno != EINTR) return UniqueFd();
    // The kernel has no way to wait for a lock for a limited time.
    poll(nullptr, 0, kKeptLockPauseMs);
  }
  return absl::UnavailableError(
      absl::StrCat(directory_path, ": another process has held the lock on this directory for ",
                   kKeptLockAttempts * kKeptLockPauseMs / 1000, " s, so that ", kKeptMarkerName, " cannot be changed"));
}

absl::Status WriteKeptText(int fd, const std::string& text, const std::string& path) {
  // Whatever the umask: the agent itself must be able to read it.
  if (fchmod(fd, kKeptMarkerMode) != 0) return PosixError("fchmod", path, errno);
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t size = pwrite(fd, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return PosixError("pwrite", path, errno);
    if (size == 0) return absl::DataLossError(absl::StrCat("pwrite ", path, ": only ", done, " bytes"));
    done += static_cast<size_t>(size);
  }
  return absl::OkStatus();
}

// Removes a hidden name beside the marker, which a killed agent of this id may have left, and nothing else.
absl::Status RemoveStagedMarker(int directory_fd, const std::string& staged, const std::string& path) {
  struct stat info{};
  if (fstatat(directory_fd, staged.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? absl::OkStatus() : PosixError("fstatat", path, errno);
  }
  if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() || info.st_nlink != 1) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is in the way; remove it"));
  }
  if (unlinkat(directory_fd, staged.c_str(), 0) != 0 && errno != ENOENT) return PosixError("unlink", path, errno);
  return absl::OkStatus();
}

absl::Status ReplaceKeptMarker(int directory_fd, const std::string& directory_path, const std::string& agent_id,
                               const std::string& text) {
  const std::string staged = absl::StrCat(kKeptMarkerName, "~", agent_id);
  const std::string path = absl::StrCat(KeptMarkerPath(directory_path), "~", agent_id);
  const auto create = [&] {
    return OpenBeneath(directory_fd, staged, O_WRONLY | O_CREAT | O_EXCL, MountRule::kMustStay, path, kKeptMarkerMode);
  };
  absl::StatusOr<UniqueFd> fd = create();
  if (absl::IsAlreadyExists(fd.status())) {
    PLIMSOLL_RETURN_IF_ERROR(RemoveStagedMarker(directory_fd, staged, path));
    fd = create();
  }
  PLIMSOLL_RETURN_IF_ERROR(fd.status());
  if (absl::Status written = WriteKeptText(fd->get(), text, path); !written.ok()) {
    unlinkat(directory_fd, staged.c_str(), 0);
    return written;
  }
  // Closed first: what NFS could not write shows here.
  if (close(fd->Release()) != 0) return PosixError("close", path, errno);
  if (renameat(directory_fd, staged.c_str(), directory_fd, kKeptMarkerName) != 0) {
    return PosixError("rename", path, errno);
  }
  return absl::OkStatus();
}

std::string FormatKeptLine(const KeptFile& file) {
  return absl::StrCat(absl::StrCat(file.agent_id, " ", file.device, " ", file.inode, " "),
                      absl::StrCat(file.birth_s, ".", file.birth_ns, " ", file.name, "\n"));
}

}  // namespace

std::string FormatKeptMarker(const std::vector<KeptFile>& files) {
  std::string text = kKeptFirstLine;
  for (const KeptFile& file : files) absl::StrAppend(&text, FormatKeptLine(file));
  return text;
}

absl::StatusOr<std::vector<KeptFile>> ParseKeptMarker(const std::string& text) {
  std::vector<KeptFile> files;
  // After a power cut a file system may keep a new file's name without its content.
  if (text.empty()) return files;
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (size_t i = 1; i + 1 < lines.size(); ++i) {
    KeptFile file;
    if (!ParseKeptLine(lines[i], file)) {
      return absl::InvalidArgumentError(absl::StrCat("line ", i + 1, " of the marker names no file"));
    }
    files.push_back(std::move(file));
  }
  // What was understood must say the same when it is written again: no half-written marker passes.
  if (FormatKeptMarker(files) != text) {
    return absl::InvalidArgumentError(
        "this is not a complete marker of version 1; remove it, and the files that it names");
  }
  return files;
}

absl::StatusOr<KeptFile> KeptEntryOf(int fd, const std::string& agent_id, const std::string& name,
                                     const std::string& path) {
  KeptFile file;
  file.agent_id = agent_id;
  file.name = name;
  struct stat info{};
  if (fstat(fd, &info) != 0) return PosixError("fstat", path, errno);
  file.device = info.st_dev;
  file.inode = info.st_ino;
  // A container's filter may refuse statx; the time of birth is then not known, as on some file systems.
  struct statx more{};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &more) == 0 && (more.stx_mask & STATX_BTIME) != 0) {
    file.birth_s = more.stx_btime.tv_sec;
    file.birth_ns = more.stx_btime.tv_nsec;
  }
  return file;
}

namespace {

// Returns the marker's entries, an empty list without a marker.
absl::StatusOr<std::vector<KeptFile>> ReadKeptFiles(int directory_fd, const std::string& directory_path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadKeptMarker(directory_fd, directory_path));
  absl::StatusOr<std::vector<KeptFile>> files = ParseKeptMarker(text);
  if (!files.ok()) return WithContext(KeptMarkerPath(directory_path), files.status());
  return files;
}

// False where another agent interfered: without locks, agents of one id may take each other's staged marker for a
// leftover.
absl::StatusOr<bool> TryReplaceKeptMarker(int directory_fd, const std::string& directory_path,
                                          const std::string& agent_id, const std::string& text) {
  const absl::Status replaced = ReplaceKeptMarker(directory_fd, directory_path, agent_id, text);
  if (absl::IsNotFound(replaced) || absl::IsAlreadyExists(replaced)) return false;
  PLIMSOLL_RETURN_IF_ERROR(replaced);
  return true;
}

absl::Status KeptMarkerBusy(const std::string& path, const KeptFile& file) {
  return absl::AbortedError(absl::StrCat(path, ": other agents change it as often as this one does, for ", file.name));
}

}  // namespace

absl::StatusOr<bool> IsKept(int directory_fd, const std::string& directory_path, const KeptFile& file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadKeptMarker(directory_fd, directory_path));
  // Each of thousands of files is looked up, so the entries are not taken apart: an entry is one line, written in one
  // way.
  if (!absl::StartsWith(text, kKeptFirstLine)) {
    if (text.empty()) return false;
    return WithContext(KeptMarkerPath(directory_path), ParseKeptMarker(text).status());
  }
  return text.find(absl::StrCat("\n", FormatKeptLine(file))) != std::string::npos;
}

absl::Status EnterKept(int directory_fd, const std::string& directory_path, const KeptFile& file) {
  const std::string path = KeptMarkerPath(directory_path);
  for (int attempt = 0; attempt < kEnterAttempts; ++attempt) {
    PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd lock, LockKept(directory_fd, directory_path));
    PLIMSOLL_ASSIGN_OR_RETURN(std::vector<KeptFile> files, ReadKeptFiles(directory_fd, directory_path));
    if (std::ranges::find(files, file) != files.end()) return absl::OkStatus();
    std::erase_if(files, [&](const KeptFile& one) { return one.name == file.name; });
    files.push_back(file);
    std::string text = FormatKeptMarker(files);
    if (text.size() > kMaxKeptBytes) {
      std::erase_if(files, [&](const KeptFile& one) {
        struct stat info{};
        return fstatat(directory_fd, one.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
      });
      text = FormatKeptMarker(files);
    }
    if (text.size() > kMaxKeptBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, " would have more than ", kMaxKeptBytes, " bytes: keep fewer files in one directory"));
    }
    PLIMSOLL_ASSIGN_OR_RETURN(const bool replaced,
                              TryReplaceKeptMarker(directory_fd, directory_path, file.agent_id, text));
    if (!replaced) continue;
    // Without locks, another agent may have written what it read before.
    PLIMSOLL_ASSIGN_OR_RETURN(const bool entered, IsKept(directory_fd, directory_path, file));
    if (entered) return absl::OkStatus();
  }
  return KeptMarkerBusy(path, file);
}

absl::Status ForgetKept(int directory_fd, const std::string& directory_path, const KeptFile& file) {
  const std::string path = KeptMarkerPath(directory_path);
  for (int attempt = 0; attempt < kEnterAttempts; ++attempt) {
    PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd lock, LockKept(directory_fd, directory_path));
    PLIMSOLL_ASSIGN_OR_RETURN(std::vector<KeptFile> files, ReadKeptFiles(directory_fd, directory_path));
    if (std::erase(files, file) == 0) return absl::OkStatus();
    if (files.empty()) {
      if (unlinkat(directory_fd, kKeptMarkerName, 0) == 0 || errno == ENOENT) return absl::OkStatus();
      return PosixError("unlink", path, errno);
    }
    PLIMSOLL_ASSIGN_OR_RETURN(const bool replaced, TryReplaceKeptMarker(directory_fd, directory_path, file.agent_id,
                                                                        FormatKeptMarker(files)));
    if (!replaced) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const bool listed, IsKept(directory_fd, directory_path, file));
    if (!listed) return absl::OkStatus();
  }
  return KeptMarkerBusy(path, file);
}

}  // namespace plimsoll
