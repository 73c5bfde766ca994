#include "common/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

absl::StatusOr<UniqueFd> OpenToRead(const std::string& path, int flags, const std::string& option) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (!fd.valid()) return PosixError(option.empty() ? "open" : option, path, errno);
  return fd;
}

absl::Status IsADirectory(const std::string& path, const std::string& option) {
  return absl::InvalidArgumentError(
      absl::StrCat(option, option.empty() ? "" : ": ", path, " is a directory; name a file in it"));
}

std::string NameOf(const std::string& path, const std::string& option) {
  return option.empty() ? path : absl::StrCat(option, " ", path);
}

absl::Status RestInParts(int fd, const std::string& path, size_t max_bytes,
                         const std::function<void(std::string_view bytes)>& take) {
  std::array<char, 16384> piece{};
  size_t all = 0;
  while (true) {
    PLIMSOLL_ASSIGN_OR_RETURN(const size_t got, ReadFully(fd, path, piece.data(), piece.size()));
    all += got;
    if (all > max_bytes) {
      return absl::InvalidArgumentError(absl::StrCat(path, " is larger than ", max_bytes,
                                                     " bytes, the most that is read of it; pass a smaller file"));
    }
    take({piece.data(), got});
    if (got < piece.size()) return absl::OkStatus();
  }
}

// A file to read, not a directory.
absl::StatusOr<UniqueFd> OpenFile(const std::string& path, FileKind kind, const std::string& option) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd,
                            kind == FileKind::kRegular ? OpenRegularFile(path, option) : OpenToRead(path, 0, option));
  struct stat info{};
  if (fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode)) return IsADirectory(path, option);
  return fd;
}

}  // namespace

absl::StatusOr<UniqueFd> OpenRegularFile(const std::string& path, const std::string& option) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, OpenToRead(path, O_NONBLOCK, option));
  struct stat info{};
  if (fstat(fd.get(), &info) != 0) return PosixError("fstat", path, errno);
  if (S_ISREG(info.st_mode)) return fd;
  if (S_ISDIR(info.st_mode)) return IsADirectory(path, option);
  return absl::InvalidArgumentError(NameOf(path, option) + " is not a regular file");
}

absl::StatusOr<size_t> ReadFully(int fd, const std::string& path, void* data, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = read(fd, static_cast<char*>(data) + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return PosixError("read", path, errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

absl::StatusOr<std::string> ReadRest(int fd, const std::string& path, size_t max_bytes) {
  std::string text;
  PLIMSOLL_RETURN_IF_ERROR(RestInParts(fd, path, max_bytes, [&text](std::string_view bytes) { text.append(bytes); }));
  return text;
}

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes, FileKind kind,
                                     const std::string& option) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, kind, option));
  return ReadRest(fd.get(), NameOf(path, option), max_bytes);
}

absl::Status ReadInParts(const std::string& path, size_t max_bytes, FileKind kind,
                         const std::function<void(std::string_view bytes)>& take) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, kind, ""));
  return RestInParts(fd.get(), path, max_bytes, take);
}

}  // namespace plimsoll
