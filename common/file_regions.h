// How the threads of a host divide the files that a plan names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace plimsoll {

// The part of a file that one thread uses.
struct FileRegion {
  size_t file = 0;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
  bool operator==(const FileRegion&) const = default;
};

struct NamedFile {
  std::string name;
  uint64_t size_bytes = 0;
};

struct FileDivision {
  uint32_t threads = 1;
  // Regions consist of whole blocks of this size.
  uint64_t block_bytes = 1;
  // Hosts that have ranges of their own in the same files, and the number of this one, from 0.
  uint32_t hosts = 1;
  uint32_t host_index = 0;
};

// Returns the region of each thread. As many threads as files or fewer: each has a file, and the rest of the files is
// not used. More: they are spread evenly over the files, and the threads of a file have ranges of it. The ranges of all
// hosts are disjoint and together are all whole blocks of the file.
//
// INVALID_ARGUMENT where a thread would have no block, naming the file, its size, the block size and the threads.
absl::StatusOr<std::vector<FileRegion>> DivideFiles(const std::vector<NamedFile>& files, const FileDivision& division);

}  // namespace plimsoll
