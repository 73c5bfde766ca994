#include "controller/plan/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/posix_error.h"
#include "common/unique_fd.h"

namespace plimsoll {

absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t max_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return PosixError("open", path, errno);
  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return PosixError("read", path, errno);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
    if (text.size() > max_bytes) {
      return absl::InvalidArgumentError(absl::StrCat(path, " is larger than ", max_bytes, " bytes"));
    }
  }
}

}  // namespace plimsoll
