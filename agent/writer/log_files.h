// One writer's extents, or its part of a named file: made, opened as the plan asks, checked, and filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/writer/block_source.h"
#include "agent/writer/file_ops.h"
#include "common/posix.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Place of a block.
struct BlockPlace {
  uint32_t extent = 0;
  uint64_t offset_bytes = 0;
  bool operator==(const BlockPlace&) const = default;
};

// Extents of equal size that are written in turn. A block that does not fit in the rest of an extent goes to the start
// of the next one. All arithmetic is in 64 bits: extents of 2 and 4 GiB and above are nothing special.
class ExtentLayout {
 public:
  // `block_bytes` in [1, file_size_bytes], `num_files` at least 1.
  ExtentLayout(uint64_t file_size_bytes, uint32_t num_files, uint64_t block_bytes)
      : file_size_bytes_(file_size_bytes),
        block_bytes_(block_bytes),
        blocks_per_extent_(file_size_bytes / block_bytes),
        num_files_(num_files) {}

  uint64_t file_size_bytes() const { return file_size_bytes_; }
  uint32_t num_files() const { return num_files_; }
  uint64_t block_bytes() const { return block_bytes_; }
  uint64_t blocks_per_extent() const { return blocks_per_extent_; }
  // Blocks until the first place comes again.
  uint64_t blocks_per_lap() const { return blocks_per_extent_ * num_files_; }

  // Place of the block with number `block` of a step, from 0.
  BlockPlace PlaceOf(uint64_t block) const {
    const uint64_t slot = block % blocks_per_lap();
    return {static_cast<uint32_t>(slot / blocks_per_extent_), slot % blocks_per_extent_ * block_bytes_};
  }

 private:
  uint64_t file_size_bytes_;
  uint64_t block_bytes_;
  uint64_t blocks_per_extent_;
  uint32_t num_files_;
};

// The places of blocks that are written in order, also of blocks that differ in size. Does without a division.
class ExtentWalk {
 public:
  // The first block goes where block number `first_block` of the layout lies; 0 for blocks that differ.
  ExtentWalk(const ExtentLayout& layout, uint64_t first_block)
      : file_size_bytes_(layout.file_size_bytes()),
        num_files_(layout.num_files()),
        next_(layout.PlaceOf(first_block)) {}

  // Place of the next block, which has `bytes`, at most as many as an extent.
  BlockPlace Take(uint64_t bytes) {
    if (bytes > file_size_bytes_ - next_.offset_bytes) {
      next_.offset_bytes = 0;
      if (++next_.extent == num_files_) {
        next_.extent = 0;
        ++laps_;
      }
    }
    const BlockPlace place = next_;
    next_.offset_bytes += bytes;
    return place;
  }

  // How often the walk has begun the first extent again.
  uint64_t laps() const { return laps_; }

 private:
  uint64_t file_size_bytes_;
  uint32_t num_files_;
  BlockPlace next_;
  uint64_t laps_ = 0;
};

struct LogFilesOptions {
  uint32_t qm = 0;  // from 1; names the directory
  // Size, number and names of the extents, how they are opened, and the free space that filling leaves.
  const v1::LogWorkload& workload;
  // Sizes of the writes to come, which O_DIRECT must accept.
  std::vector<uint64_t> block_bytes;

  // The writer's part of a file that the plan names.
  struct Part {
    std::string file = {};  // as FileOps::Create takes it
    uint64_t offset_bytes = 0;
    uint64_t size_bytes = 0;
    // Whether preparing writes it full. Files that exist are taken as they are.
    bool fill = false;
    bool read_only = false;
  };
  // Absent where the writer has extents.
  std::optional<Part> part = std::nullopt;
};

// The system call behind each write that makes it durable.
enum class SyncCall : uint8_t { kNone, kFdatasync, kFsync };
SyncCall SyncCallOf(v1::SyncMode mode);
// "fdatasync" or "fsync"; empty for kNone.
std::string SyncCallName(SyncCall call);

// Extents "qm<N>/active/<prefix>0000000.LOG" and so on, open for writing; or one part of a named file, which counts as
// the only extent. Not thread-safe.
class LogFiles {
 public:
  // Extents are filled in pieces of at most this size.
  static constexpr uint64_t kChunkBytes = uint64_t{1} << 20U;

  // `ops` and the workload must outlive the object.
  LogFiles(LogFilesOptions options, FileOps& ops) : options_(std::move(options)), ops_(ops) {}

  // Makes each extent and writes it full once, with stamped pages of epoch 0; of a file, opens the part, and writes it
  // full if the run makes the file. Before each piece `before()` may end it with an error; after it `after(bytes)` is
  // called. `source` must know the sizes of ChunkSizes.
  //
  // A piece that would leave less than min_free_bytes is not written either (RESOURCE_EXHAUSTED): others may use up the
  // space while extents are filled. Each writer checks for itself, so that together they may miss it by a piece each.
  //
  // Errors name the path, and where space is short, what to do. INVALID_ARGUMENT where O_DIRECT is requested and
  // refused, or does not go with a size. What was made stays for the caller to remove.
  absl::Status Prepare(BlockSource& source, const std::function<absl::Status()>& before,
                       const std::function<void(uint64_t)>& after);

  // Sizes of the pieces in which extents of `file_size_bytes` are filled.
  static std::vector<uint64_t> ChunkSizes(uint64_t file_size_bytes);
  // Sizes of the pieces in which the files with these options are filled; empty where they are not.
  static std::vector<uint64_t> ChunkSizes(const LogFilesOptions& options);

  // Goes on without O_DIRECT, because another writer's extents are without it.
  absl::Status DropDirect(const std::string& reason);

  // After Prepare.
  bool direct() const { return direct_; }
  // Why there is no O_DIRECT with DIRECT_MODE_AUTO; empty where there is.
  const std::string& direct_refused() const { return direct_refused_; }
  // The flags of the open extents as the kernel reports them, such as "O_RDWR|O_DSYNC|O_DIRECT".
  const std::string& open_flags() const { return open_flags_; }

  // Where the writer's part of a file begins; 0 for extents. Offsets of blocks count from there.
  uint64_t base_bytes() const { return options_.part ? options_.part->offset_bytes : 0; }
  size_t size() const { return extents_.size(); }
  int fd(uint32_t extent) const { return extents_[extent].fd.get(); }
  const std::string& path(uint32_t extent) const { return extents_[extent].path; }
  void Close() { extents_.clear(); }

 private:
  struct Extent {
    std::string path;
    UniqueFd fd;
  };

  uint64_t extent_bytes() const {
    return options_.part ? options_.part->size_bytes : options_.workload.file_size_bytes();
  }
  // Flags of the open files, without O_DIRECT.
  int PlainFlags() const;
  absl::Status WriteError(const std::string& path, uint64_t offset_bytes, int error_number) const;
  absl::Status Open(uint32_t number);
  absl::Status CheckSpaceFor(const Extent& extent, uint64_t size_bytes);
  absl::Status CheckAlignment(const Extent& extent) const;
  absl::Status CheckFlags();
  absl::Status Fill(Extent& extent, BlockSource& source, uint64_t& sequence,
                    const std::function<absl::Status()>& before, const std::function<void(uint64_t)>& after);
  absl::Status WritePiece(Extent& extent, uint64_t offset_bytes, const std::byte* data, uint64_t size_bytes);
  absl::Status ClearDirectFlag(Extent& extent);

  const LogFilesOptions options_;
  FileOps& ops_;
  std::vector<Extent> extents_;
  bool direct_ = false;
  bool wrote_direct_ = false;  // a direct write went through: a later refusal is an error of its own
  std::string direct_refused_;
  std::string open_flags_;
};

// Name of an extent in the host's directory: "qm2/active/S0000001.LOG".
std::string ExtentName(uint32_t qm, const std::string& file_prefix, uint32_t number);
// Flags that open took for each mode, without O_DIRECT.
int SyncFlags(v1::SyncMode mode);
// The access mode, synchronisation and O_DIRECT among `flags`, in words.
std::string FlagsInWords(int flags);

}  // namespace plimsoll
