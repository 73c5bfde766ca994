// fcntl's locks on whole files, as MQ takes them: they belong to the process, and go with it.
//
// Only instances take them, which are processes of their own: closing any descriptor of a file gives up all locks that
// the process has on it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll {

// F_SETLK with F_WRLCK. False where another process has it.
absl::StatusOr<bool> TryLockFile(int fd, const std::string& path);
// F_SETLKW. May never return.
absl::Status WaitForLock(int fd, const std::string& path);
absl::Status UnlockFile(int fd, const std::string& path);

}  // namespace plimsoll
