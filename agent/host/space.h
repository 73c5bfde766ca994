// The free space of a file system.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll {

struct Space {
  // 0 where the file system does not report it.
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;  // for this process's user
  // Inodes; 0: it reports none.
  uint64_t total_files = 0;
  uint64_t free_files = 0;
};

// Space of the file system of an open file or directory, also of one that is open with O_PATH. `path` is for the error.
absl::StatusOr<Space> SpaceOf(int fd, const std::string& path);

// Bytes of storage that the open file takes; holes take none. `path` is for the error.
absl::StatusOr<uint64_t> AllocatedBytes(int fd, const std::string& path);

// RESOURCE_EXHAUSTED "<what>: its file system has 1 GiB free, and 2 GiB must remain free (--min-free); free space
// there, or use <less>".
absl::Status TooLittleSpace(const std::string& what, uint64_t free_bytes, uint64_t min_free_bytes,
                            const std::string& less);

}  // namespace plimsoll
