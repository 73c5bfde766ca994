#include "controller/run/results.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/posix_error.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "common/units.h"

namespace plimsoll {

namespace fs = std::filesystem;

absl::StatusOr<ResultsDirectory> ResultsDirectory::Create(const std::string& path) {
  std::error_code error;
  const bool existed = fs::exists(path, error);
  if (existed) {
    if (!fs::is_directory(path, error)) {
      return absl::InvalidArgumentError(absl::StrCat("--out ", path, " is there and is no directory"));
    }
    if (!fs::is_empty(path, error)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--out ", path, " is not empty: results are never overwritten; name another directory"));
    }
  } else {
    fs::create_directories(path, error);
    if (error) return PosixError("--out: mkdir", path, error.value());
  }
  if (access(path.c_str(), W_OK | X_OK) != 0) return PosixError("--out: write to", path, errno);
  return ResultsDirectory(path, !existed);
}

absl::StatusOr<std::unique_ptr<JournalWriter>> ResultsDirectory::CreateJournal() const {
  return JournalWriter::Create(path_ + "/journal");
}

void ResultsDirectory::Discard() const {
  std::error_code ignored;
  fs::remove(path_ + "/journal", ignored);
  fs::remove(path_ + "/plan.yaml", ignored);
  if (made_) fs::remove(path_, ignored);  // only where it is empty
}

std::string DefaultResultsPath(WallNs now, const std::string& run_id) {
  const time_t seconds = now.value / kNsPerSecond;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return absl::StrFormat("plimsoll-results/%04d%02d%02dT%02d%02d%02dZ-%s", utc.tm_year + 1900, utc.tm_mon + 1,
                         utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, run_id);
}

absl::Status WriteFile(const std::string& path, const std::string& content) {
  const std::string temporary = absl::StrCat(path, ".new");
  {
    const UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd.valid()) return PosixError("open", temporary, errno);
    size_t done = 0;
    while (done < content.size()) {
      const ssize_t n = write(fd.get(), content.data() + done, content.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        const int why = errno;
        unlink(temporary.c_str());
        return PosixError("write", path, why);
      }
      done += static_cast<size_t>(n);
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return PosixError("rename to", path, errno);
  return absl::OkStatus();
}

}  // namespace plimsoll
