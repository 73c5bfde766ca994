#include "controller/journal/sha256.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

constexpr size_t kDigits = 64;

// Where the seal's value begins; npos: the text has no seal. A quote within a value has a backslash before it, so that
// only a member has this form.
size_t SealStart(const std::string& text) {
  const std::string member = absl::StrCat("\"", kRecordSeal, "\": \"");
  const size_t at = text.rfind(member);
  return at == std::string::npos ? at : at + member.size();
}

}  // namespace

absl::StatusOr<UniqueFd> OpenBelow(int directory, const std::string& part, const std::string& name) {
  std::string path = part.empty() ? name : part;
  const auto failed = [&path](int error) -> absl::Status {
    if (error == ENOENT) return absl::NotFoundError(absl::StrCat(path, " is missing"));
    if (error == ELOOP) return absl::FailedPreconditionError(absl::StrCat(path, " is a symbolic link"));
    return PosixError("open", path, error);
  };
  UniqueFd inside;
  int place = directory;
  struct stat info{};
  if (!part.empty()) {
    if (fstatat(directory, part.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return failed(errno);
    if (S_ISLNK(info.st_mode)) return failed(ELOOP);
    inside = UniqueFd(openat(directory, part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inside.valid()) return failed(errno);
    place = inside.get();
    absl::StrAppend(&path, "/", name);
  }
  // A pipe has no writer to wait for.
  UniqueFd fd(openat(place, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return failed(errno);
  if (fstat(fd.get(), &info) != 0) return PosixError("fstat", path, errno);
  if (!S_ISREG(info.st_mode)) return absl::FailedPreconditionError(absl::StrCat(path, " is not a regular file"));
  return fd;
}

absl::StatusOr<std::string> Sha256Below(const std::string& directory, const std::string& part,
                                        const std::string& name) {
  const UniqueFd above(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!above.valid()) return PosixError("open", directory, errno);
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, OpenBelow(above.get(), part, name));
  return Sha256OfRest(fd.get(), part.empty() ? name : absl::StrCat(part, "/", name));
}

std::string SealRecord(std::string text) {
  const std::string seal = Sha256(text);
  return text.insert(SealStart(text), seal);
}

bool IsSealIntact(const std::string& text) {
  const size_t start = SealStart(text);
  if (start == std::string::npos || text.size() < start + kDigits) return false;
  std::string unsealed = text;
  unsealed.erase(start, kDigits);
  return text.compare(start, kDigits, Sha256(unsealed)) == 0;
}

}  // namespace plimsoll
