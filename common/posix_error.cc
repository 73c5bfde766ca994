#include "common/posix_error.h"

#include <system_error>

#include "absl/strings/str_cat.h"

namespace plimsoll {

absl::Status PosixError(const std::string& operation, const std::string& subject, int error_number) {
  std::string text = operation;
  if (!subject.empty()) absl::StrAppend(&text, " ", subject);
  absl::StrAppend(&text, ": ", std::generic_category().message(error_number), " (", error_number, ")");
  return absl::Status(absl::ErrnoToStatusCode(error_number), text);
}

}  // namespace plimsoll
