#include "common/file_regions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// `count` things, of which `part` of `parts` begins at this one. Products do not fit in 64 bits.
uint64_t FirstOfPart(uint64_t count, uint64_t part, uint64_t parts) {
  __extension__ using Product = unsigned __int128;
  return static_cast<uint64_t>(Product{count} * part / parts);
}

absl::Status NoBlock(const NamedFile& file, uint64_t threads, const FileDivision& division) {
  const std::string hosts = division.hosts > 1 ? absl::StrCat(" on each of ", division.hosts, " hosts") : "";
  return absl::InvalidArgumentError(
      absl::StrCat(file.name, " has ", FormatSize(file.size_bytes), ", which is not a block of ",
                   FormatSize(division.block_bytes), " for each of ", threads, threads == 1 ? " thread" : " threads",
                   hosts, "; use larger files (--file-size), a smaller --bsize, or a smaller --qm"));
}

}  // namespace

absl::StatusOr<std::vector<FileRegion>> DivideFiles(const std::vector<NamedFile>& files, const FileDivision& division) {
  std::vector<FileRegion> regions;
  regions.reserve(division.threads);
  const uint64_t used = std::min<uint64_t>(files.size(), division.threads);
  for (uint64_t file = 0; file < used; ++file) {
    const uint64_t threads =
        FirstThreadOf(file + 1, used, division.threads) - FirstThreadOf(file, used, division.threads);
    const uint64_t ranges = threads * division.hosts;
    const uint64_t blocks = files[file].size_bytes / division.block_bytes;
    if (blocks < ranges) return NoBlock(files[file], threads, division);
    for (uint64_t thread = 0; thread < threads; ++thread) {
      const uint64_t range = division.host_index * threads + thread;
      const uint64_t begin = FirstOfPart(blocks, range, ranges);
      const uint64_t end = FirstOfPart(blocks, range + 1, ranges);
      regions.push_back({file, begin * division.block_bytes, (end - begin) * division.block_bytes});
    }
  }
  return regions;
}

}  // namespace plimsoll
