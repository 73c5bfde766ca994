// Files of a run directory that processes of the agent may make.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/host/beneath.h"
#include "agent/host/run_content.h"
#include "agent/host/run_directory.h"
#include "common/posix_error.h"

namespace plimsoll {

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

}  // namespace plimsoll
