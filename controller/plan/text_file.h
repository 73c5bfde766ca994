// Files that people hand us.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace plimsoll {

// The whole file. What the system says of it, with the path; INVALID_ARGUMENT beyond `max_bytes`.
absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t max_bytes);

}  // namespace plimsoll
