// The file system below the files that writers prepare and use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/host/run_directory.h"
#include "agent/host/space.h"
#include "common/posix.h"

namespace plimsoll {

// The file system below the extents, for tests to replace. Not for the measured writes.
class FileOps {
 public:
  virtual ~FileOps() = default;
  // Opens a file, which it makes before unless the plan names a file that exists. INVALID_ARGUMENT where the file
  // system refuses the flags.
  virtual absl::StatusOr<UniqueFd> Create(const std::string& relative, int flags) = 0;
  // Absolute path of `relative`, for messages.
  virtual std::string PathOf(const std::string& relative) const = 0;
  // Bytes written, or -errno.
  virtual int64_t Write(int fd, uint64_t offset_bytes, const std::byte* data, size_t size_bytes) = 0;
  // 0 or -errno.
  virtual int Sync(int fd) = 0;
  // fcntl's F_GETFL and F_SETFL: the flags, 0 or -errno.
  virtual int GetFlags(int fd) = 0;
  virtual int SetFlags(int fd, int flags) = 0;
  // Alignment of offsets that O_DIRECT requires, as statx reports it; 0: not reported.
  virtual uint32_t DirectAlignBytes(int fd) = 0;
  // Whether statx reports that there is no direct I/O on the file: its open may accept O_DIRECT all the same, and its
  // reads and writes go through the page cache.
  virtual bool IgnoresDirect(int /*fd*/) { return false; }
  // Size and free space of the file system; total_bytes is 0 where it does not report it.
  virtual absl::StatusOr<Space> MeasureSpace() = 0;
  // Removes the files that Create made and that would otherwise stay; returns their number. For work that ends before
  // anything was written to them. Every descriptor of Create must be closed.
  virtual absl::StatusOr<uint64_t> RemoveNew() { return 0; }
  // Closes what the object itself holds open. Nothing can be created afterwards.
  virtual void Close() {}
};

// The operations on open descriptors, by the system calls.
class DescriptorOps : public FileOps {
 public:
  int64_t Write(int fd, uint64_t offset_bytes, const std::byte* data, size_t size_bytes) final;
  int Sync(int fd) final;
  int GetFlags(int fd) final;
  int SetFlags(int fd, int flags) final;
  // Returns a device's logical block size if the kernel does not report the alignment.
  uint32_t DirectAlignBytes(int fd) final;
  bool IgnoresDirect(int fd) final;
};

// Extents, which are made through `directory`. It must outlive the result.
std::unique_ptr<FileOps> MakeSystemFileOps(RunDirectory& directory);

}  // namespace plimsoll
