#include "controller/run/results.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/posix_error.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr char kJournalName[] = "journal";

std::string DefaultResultsPath(WallNs now, const std::string& run_id) {
  const time_t seconds = now.value / kNsPerSecond;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return absl::StrFormat("plimsoll-results/%04d%02d%02dT%02d%02d%02dZ-%s", utc.tm_year + 1900, utc.tm_mon + 1,
                         utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, run_id);
}

}  // namespace

absl::StatusOr<ResultsDirectory> ResultsDirectory::Make(const std::string& path, Links links) {
  absl::StatusOr<HeldDirectory> directory = MakeDirectories(AT_FDCWD, path, links);
  if (!directory.ok() && directory.status().code() == absl::StatusCode::kFailedPrecondition) return directory.status();
  if (!directory.ok()) {
    return absl::Status(directory.status().code(), absl::StrCat("--out: ", std::string(directory.status().message())));
  }
  if (!directory->made()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool empty, IsEmptyDirectory(directory->fd, path));
    if (!empty) {
      return absl::InvalidArgumentError(
          absl::StrCat("--out ", path, " is not empty: results are never overwritten; name another directory"));
    }
  }
  if (faccessat(directory->fd.get(), ".", W_OK | X_OK, 0) != 0) return PosixError("--out: write to", path, errno);
  return ResultsDirectory(path, *std::move(directory));
}

absl::StatusOr<ResultsDirectory> ResultsDirectory::Create(const std::string& path) {
  struct stat facts{};
  if (stat(path.c_str(), &facts) == 0 && !S_ISDIR(facts.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat("--out ", path, " is there and is no directory"));
  }
  return Make(path, Links::kFollow);
}

absl::StatusOr<ResultsDirectory> ResultsDirectory::CreateDefault(WallNs now, const std::string& run_id) {
  return Make(DefaultResultsPath(now, run_id), Links::kRefuse);
}

absl::StatusOr<ResultsDirectory> ResultsDirectory::Open(const std::string& path) {
  HeldDirectory directory;
  directory.fd = UniqueFd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.fd.valid()) return PosixError("open", path, errno);
  return ResultsDirectory(path, std::move(directory));
}

absl::StatusOr<std::unique_ptr<JournalWriter>> ResultsDirectory::CreateJournal() const {
  return JournalWriter::Create(absl::StrCat(path_, "/", kJournalName), directory_.fd.get());
}

absl::Status ResultsDirectory::Write(const std::string& name, const std::string& content) const {
  PLIMSOLL_ASSIGN_OR_RETURN(FileWriter file,
                            FileWriter::InDirectory(directory_.fd.get(), name, absl::StrCat(path_, "/", name)));
  PLIMSOLL_RETURN_IF_ERROR(file.Write(content));
  return file.Finish();
}

absl::Status ResultsDirectory::Restore() {
  struct stat facts{};
  if (lstat(path_.c_str(), &facts) == 0 || errno != ENOENT) return absl::OkStatus();
  absl::StatusOr<HeldDirectory> again = MakeDirectories(AT_FDCWD, path_, Links::kFollow);
  if (!again.ok()) return again.status();
  if (again->made()) directory_ = *std::move(again);
  return absl::OkStatus();
}

void ResultsDirectory::Discard() const {
  unlinkat(directory_.fd.get(), kJournalName, 0);
  unlinkat(directory_.fd.get(), "plan.yaml", 0);
  // Only where it is empty.
  if (directory_.made()) unlinkat(directory_.parent.get(), directory_.name.c_str(), AT_REMOVEDIR);
}

absl::Status WriteFile(const std::string& path, const std::string& content) {
  PLIMSOLL_ASSIGN_OR_RETURN(FileWriter file, FileWriter::ToPath(path));
  PLIMSOLL_RETURN_IF_ERROR(file.Write(content));
  return file.Finish();
}

}  // namespace plimsoll
