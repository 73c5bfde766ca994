#include "agent/host/space.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/posix.h"
#include "common/units.h"

namespace plimsoll {

absl::StatusOr<Space> SpaceOf(int fd, const std::string& path) {
  struct statvfs info{};
  if (fstatvfs(fd, &info) != 0) return PosixError("fstatvfs", path, errno);
  return Space{uint64_t{info.f_blocks} * info.f_frsize, uint64_t{info.f_bavail} * info.f_frsize, info.f_files,
               info.f_favail};
}

absl::StatusOr<uint64_t> AllocatedBytes(int fd, const std::string& path) {
  // Unit of stat's st_blocks.
  constexpr uint64_t kStatBlockBytes = 512;
  struct stat info{};
  if (fstat(fd, &info) != 0) return PosixError("fstat", path, errno);
  return static_cast<uint64_t>(info.st_blocks) * kStatBlockBytes;
}

absl::Status TooLittleSpace(const std::string& what, uint64_t free_bytes, uint64_t min_free_bytes,
                            const std::string& less) {
  return absl::ResourceExhaustedError(absl::StrCat(what, ": its file system has ", FormatSizeForPeople(free_bytes),
                                                   " free, and ", FormatSizeForPeople(min_free_bytes),
                                                   " must remain free (--min-free); free space there, or use ", less));
}

}  // namespace plimsoll
