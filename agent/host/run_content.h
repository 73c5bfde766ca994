// Whether a file was written by a run.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace plimsoll {

enum class RunContent {
  kThisRun,  // its first page carries the run's token
  kEmpty,    // nothing was written yet
  kForeign,  // anything else, what cannot be read included
};

// Looks at the first page of the regular file `name`, which is not followed and never waited for. Opens nothing but
// regular files: opening a device may do something by itself.
RunContent HoldsRun(int directory_fd, const std::string& name, const std::array<uint8_t, 16>& run_token);

}  // namespace plimsoll
