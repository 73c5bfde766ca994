// Reads the extents of a log from the storage, past what this host has cached of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/host/run_directory.h"
#include "agent/writer/file_ops.h"
#include "agent/writer/read_back.h"
#include "common/posix.h"

namespace plimsoll {

// The extents of one writer, each opened anew by its name, for reading alone: with O_DIRECT where the file system has
// direct I/O, and always with POSIX_FADV_DONTNEED before the first read. Not thread-safe.
class FileExtentReader final : public ExtentReader {
 public:
  // `keeps_dirty`: writes may still be in the page cache alone, and stay there whatever is asked of the kernel.
  // `directory` and `ops`, which is over it, must outlive the object. Throws std::bad_alloc.
  FileExtentReader(const RunDirectory& directory, FileOps& ops, uint32_t qm, std::string file_prefix, bool keeps_dirty);

  absl::Status Open(uint32_t extent) override;
  absl::StatusOr<std::span<const std::byte>> Read(uint64_t offset_bytes, uint64_t size_bytes) override;
  std::string PathOf(uint32_t extent) const override;

  // Whether every extent was read with O_DIRECT; and if not, whether the cache of every other one was dropped.
  bool direct() const { return direct_ && opened_; }
  bool dropped_cache() const { return !direct_ && dropped_ && opened_; }

 private:
  // What O_DIRECT asks of memory, offsets and sizes at most: more is read without.
  static constexpr uint64_t kAlignBytes = 4096;

  struct FreeMemory {
    void operator()(std::byte* memory) const;
  };

  absl::Status OpenPlain();
  // Asks the kernel to drop what it has cached of the extent; false where it refuses.
  bool DropCache();

  const RunDirectory& directory_;
  FileOps& ops_;
  const uint32_t qm_;
  const std::string file_prefix_;
  const bool keeps_dirty_;
  std::unique_ptr<std::byte, FreeMemory> buffer_;
  UniqueFd fd_;
  uint32_t extent_ = 0;
  bool opened_ = false;
  bool direct_ = true;
  // A direct read went through: a later refusal is an error of its own.
  bool read_direct_ = false;
  bool dropped_ = true;
};

}  // namespace plimsoll
