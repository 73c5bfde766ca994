#include "common/posix.h"

#include <sched.h>

#include <array>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace plimsoll {

absl::Status PosixError(const std::string& operation, const std::string& subject, int error_number) {
  std::string text = operation;
  if (!subject.empty()) absl::StrAppend(&text, " ", subject);
  absl::StrAppend(&text, ": ", std::generic_category().message(error_number), " (", error_number, ")");
  return absl::Status(absl::ErrnoToStatusCode(error_number), text);
}

absl::Status WithContext(const std::string& context, const absl::Status& status) {
  return {status.code(), absl::StrCat(context, ": ", std::string(status.message()))};
}

uint32_t UsableCpus() {
  // Room for 8,192 CPUs: with less than the kernel's own size the call fails.
  std::array<cpu_set_t, 8> set{};
  if (sched_getaffinity(0, sizeof(set), set.data()) != 0) return 0;
  return static_cast<uint32_t>(CPU_COUNT_S(sizeof(set), set.data()));
}

}  // namespace plimsoll
