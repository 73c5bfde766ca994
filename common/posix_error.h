// Errors of system calls as absl::Status, made where the facts are.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace plimsoll {

// "pwritev2 /mnt/a/S0000003.LOG: No space left on device (28)", with the status code that the errno stands for.
// `subject` names the file, address or object; may be empty.
absl::Status PosixError(const std::string& operation, const std::string& subject, int error_number);

}  // namespace plimsoll
