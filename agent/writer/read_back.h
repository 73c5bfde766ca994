// Reads a log back, and compares each block with the last write to it that was acknowledged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/writer/written_log.h"
#include "plimsoll/v1/disturb.pb.h"

namespace plimsoll {

// The extents of one log, one at a time, for reading. The real one is FileExtentReader; tests have others.
class ExtentReader {
 public:
  // Most bytes of one Read.
  static constexpr uint64_t kMostBytes = uint64_t{1} << 20U;

  virtual ~ExtentReader() = default;
  // Opens an extent, and closes the one before.
  virtual absl::Status Open(uint32_t extent) = 0;
  // Reads of the extent that is open, all bytes or none. They are valid until the next call. Errors name the file.
  virtual absl::StatusOr<std::span<const std::byte>> Read(uint64_t offset_bytes, uint64_t size_bytes) = 0;
  // Absolute path of an extent, for findings.
  virtual std::string PathOf(uint32_t extent) const = 0;
};

// Reads all blocks of the log, of the size of its last run, and reports what they hold in place of that run's last
// acknowledged writes, and where it wrote nothing, in place of what was there before. A block in which a write of that
// run failed may hold anything that this write or the one before it can have left.
//
// A block that cannot be read is a finding, no error. `before_read`, called with the number of the extent before each
// call to the storage, may end it with an error. Leaves how the extents were read (`direct`, `dropped_cache`) to the
// caller. RESOURCE_EXHAUSTED where there is no memory.
absl::StatusOr<v1::WriterReadBack> ReadLogBack(const WrittenLog& log, ExtentReader& extents,
                                               const std::function<absl::Status(uint32_t)>& before_read);

}  // namespace plimsoll
