// Reads a log's blocks past the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/ha/log_pages.h"
#include "agent/ha/qm_files.h"

namespace plimsoll {

// Reads ahead within an extent, as the places are asked for in their order. Without O_DIRECT it drops what the host has
// cached first, as far as the kernel does so. Not thread-safe.
class LogReader {
 public:
  static constexpr uint64_t kReadBytes = uint64_t{1} << 20U;

  // `files` must outlive the object. Throws std::bad_alloc.
  LogReader(const QmFiles& files, const LogShape& shape);

  // The next read is one of the storage: what was read ahead may have been written since.
  void Forget();

  // The block at this place, valid until the next call. DATA_LOSS where the extent ends before it.
  absl::StatusOr<std::span<const std::byte>> Read(uint64_t place);

 private:
  struct FreeBuffer {
    void operator()(std::byte* memory) const { std::free(memory); }  // NOLINT(cppcoreguidelines-no-malloc)
  };

  const QmFiles& files_;
  const LogShape shape_;
  const uint64_t blocks_at_once_;
  const uint64_t blocks_per_extent_;
  std::unique_ptr<std::byte, FreeBuffer> buffer_;
  uint64_t first_place_ = 0;
  uint64_t blocks_read_ = 0;
};

}  // namespace plimsoll
