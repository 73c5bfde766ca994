#include "agent/ha/posix_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "common/posix.h"

namespace plimsoll {
namespace {

// 0 or the errno.
int SetLock(int fd, int command, int type) {
  struct flock whole{};
  whole.l_type = static_cast<decltype(whole.l_type)>(type);
  whole.l_whence = SEEK_SET;
  while (fcntl(fd, command, &whole) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace

absl::StatusOr<bool> TryLockFile(int fd, const std::string& path) {
  const int error_number = SetLock(fd, F_SETLK, F_WRLCK);
  if (error_number == 0) return true;
  if (error_number == EAGAIN || error_number == EACCES) return false;
  return PosixError("fcntl F_SETLK", path, error_number);
}

absl::Status WaitForLock(int fd, const std::string& path) {
  const int error_number = SetLock(fd, F_SETLKW, F_WRLCK);
  return error_number == 0 ? absl::OkStatus() : PosixError("fcntl F_SETLKW", path, error_number);
}

absl::Status UnlockFile(int fd, const std::string& path) {
  const int error_number = SetLock(fd, F_SETLK, F_UNLCK);
  return error_number == 0 ? absl::OkStatus() : PosixError("fcntl F_SETLK (F_UNLCK)", path, error_number);
}

}  // namespace plimsoll
