#include "agent/writer/log_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/host/space.h"
#include "common/posix.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// The smallest logical block of any disk: the least that O_DIRECT requires where the kernel does not report it.
constexpr uint32_t kLeastDirectAlignBytes = 512;

// What lowers the space that a writer takes.
const char* LessSpace(const LogFilesOptions& options) {
  return options.part ? "a smaller --file-size or fewer --files" : "a smaller --file-size, --num-files or --qm";
}

const char* WhatIsFilled(const LogFilesOptions& options) {
  return options.part ? "the file" : "the extent";
}

}  // namespace

std::string ExtentName(uint32_t qm, const std::string& file_prefix, uint32_t number) {
  return absl::StrFormat("qm%d/active/%s%07d.LOG", qm, file_prefix, number);
}

int SyncFlags(v1::SyncMode mode) {
  switch (mode) {
    case v1::SYNC_MODE_DSYNC:
      return O_DSYNC;
    case v1::SYNC_MODE_SYNC:
      return O_SYNC;
    default:
      return 0;
  }
}

SyncCall SyncCallOf(v1::SyncMode mode) {
  switch (mode) {
    case v1::SYNC_MODE_FDATASYNC:
      return SyncCall::kFdatasync;
    case v1::SYNC_MODE_FSYNC:
      return SyncCall::kFsync;
    default:
      return SyncCall::kNone;
  }
}

std::string SyncCallName(SyncCall call) {
  switch (call) {
    case SyncCall::kFdatasync:
      return "fdatasync";
    case SyncCall::kFsync:
      return "fsync";
    default:
      return "";
  }
}

std::string FlagsInWords(int flags) {
  std::string words = (flags & O_ACCMODE) == O_RDWR     ? "O_RDWR"
                      : (flags & O_ACCMODE) == O_WRONLY ? "O_WRONLY"
                                                        : "O_RDONLY";
  // O_SYNC holds O_DSYNC's bit.
  if ((flags & O_SYNC) == O_SYNC) {
    absl::StrAppend(&words, "|O_SYNC");
  } else if ((flags & O_DSYNC) != 0) {
    absl::StrAppend(&words, "|O_DSYNC");
  }
  if ((flags & O_DIRECT) != 0) absl::StrAppend(&words, "|O_DIRECT");
  return words;
}

std::vector<uint64_t> LogFiles::ChunkSizes(uint64_t file_size_bytes) {
  std::vector<uint64_t> sizes = {std::min(file_size_bytes, kChunkBytes)};
  if (file_size_bytes % kChunkBytes != 0) sizes.push_back(file_size_bytes % kChunkBytes);
  return sizes;
}

std::vector<uint64_t> LogFiles::ChunkSizes(const LogFilesOptions& options) {
  if (!options.part) return ChunkSizes(options.workload.file_size_bytes());
  return options.part->fill ? ChunkSizes(options.part->size_bytes) : std::vector<uint64_t>();
}

int LogFiles::PlainFlags() const {
  const int access = options_.part && options_.part->read_only ? O_RDONLY : O_RDWR;
  return access | SyncFlags(options_.workload.sync());
}

absl::Status LogFiles::WriteError(const std::string& path, uint64_t offset_bytes, int error_number) const {
  const absl::Status status = PosixError("pwritev2", path, error_number);
  std::string text =
      absl::StrCat(status.message(), " at offset ", offset_bytes, " while filling ", WhatIsFilled(options_));
  if (error_number == ENOSPC || error_number == EDQUOT) {
    absl::StrAppend(&text, "; free space there, or use ", LessSpace(options_));
  } else if (error_number == EFBIG) {
    absl::StrAppend(&text, "; use a smaller --file-size");
  }
  return absl::Status(status.code(), text);
}

absl::Status LogFiles::Prepare(BlockSource& source, const std::function<absl::Status()>& before,
                               const std::function<void(uint64_t)>& after) {
  direct_ = options_.workload.direct() != v1::DIRECT_MODE_OFF;
  source.StartEpoch(0, std::min(extent_bytes(), kChunkBytes), 1);
  uint64_t sequence = 0;
  const uint32_t files = options_.part ? 1 : options_.workload.num_files();
  for (uint32_t number = 0; number < files; ++number) {
    PLIMSOLL_RETURN_IF_ERROR(before());
    PLIMSOLL_RETURN_IF_ERROR(Open(number));
    if (options_.part && !options_.part->fill) continue;
    PLIMSOLL_RETURN_IF_ERROR(Fill(extents_.back(), source, sequence, before, after));
  }
  return CheckFlags();
}

absl::Status LogFiles::Open(uint32_t number) {
  const std::string relative =
      options_.part ? options_.part->file : ExtentName(options_.qm, options_.workload.file_prefix(), number);
  const int flags = PlainFlags();
  Extent extent;
  extent.path = ops_.PathOf(relative);
  absl::StatusOr<UniqueFd> fd = ops_.Create(relative, flags | (direct_ ? O_DIRECT : 0));
  // Before anything was written a refusal of O_DIRECT decides for all extents.
  if (direct_ && !wrote_direct_ && absl::IsInvalidArgument(fd.status())) {
    if (options_.workload.direct() == v1::DIRECT_MODE_ON) {
      return absl::InvalidArgumentError(absl::StrCat("the file system refuses O_DIRECT; use --direct auto or off: ",
                                                     std::string(fd.status().message())));
    }
    direct_ = false;
    direct_refused_ = std::string(fd.status().message());
    fd = ops_.Create(relative, flags);
  }
  PLIMSOLL_RETURN_IF_ERROR(fd.status());
  extent.fd = *std::move(fd);
  if (direct_) PLIMSOLL_RETURN_IF_ERROR(CheckAlignment(extent));
  extents_.push_back(std::move(extent));
  return absl::OkStatus();
}

absl::Status LogFiles::CheckSpaceFor(const Extent& extent, uint64_t size_bytes) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Space space, ops_.MeasureSpace());
  PLIMSOLL_RETURN_IF_ERROR(CheckFreeFiles(extent.path, space.total_files, space.free_files, 0,
                                          MinFreeFiles(options_.workload, space.total_files),
                                          FilesLoweredBy(options_.workload)));
  if (space.total_bytes == 0) return absl::OkStatus();
  const uint64_t min_free_bytes = MinFreeBytes(options_.workload, space.total_bytes);
  if (LeavesFree(space.free_bytes, size_bytes, min_free_bytes)) return absl::OkStatus();
  return TooLittleSpace(absl::StrCat("filling ", extent.path, " stopped"), space.free_bytes, min_free_bytes,
                        LessSpace(options_));
}

absl::Status LogFiles::CheckAlignment(const Extent& extent) const {
  const uint32_t align = std::max(ops_.DirectAlignBytes(extent.fd.get()), kLeastDirectAlignBytes);
  for (const uint64_t bytes : options_.block_bytes) {
    if (bytes % align != 0) {
      return absl::InvalidArgumentError(absl::StrCat("block size ", FormatSize(bytes), " is not a multiple of the ",
                                                     align, " bytes that O_DIRECT requires on ", extent.path,
                                                     "; use another --bsize, or --direct off"));
    }
  }
  if (extent_bytes() % align != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("extent size ", FormatSize(extent_bytes()), " is not a multiple of the ", align,
                     " bytes that O_DIRECT requires on ", extent.path, "; use another --file-size, or --direct off"));
  }
  return absl::OkStatus();
}

absl::Status LogFiles::Fill(Extent& extent, BlockSource& source, uint64_t& sequence,
                            const std::function<absl::Status()>& before, const std::function<void(uint64_t)>& after) {
  for (uint64_t offset = 0; offset < extent_bytes();) {
    PLIMSOLL_RETURN_IF_ERROR(before());
    const uint64_t size = std::min(kChunkBytes, extent_bytes() - offset);
    PLIMSOLL_RETURN_IF_ERROR(CheckSpaceFor(extent, size));
    PLIMSOLL_RETURN_IF_ERROR(WritePiece(extent, base_bytes() + offset, source.NextOfSize(++sequence, size), size));
    offset += size;
    after(size);
  }
  if (SyncFlags(options_.workload.sync()) != 0) return absl::OkStatus();
  // Nothing of the filling may be left for the measured writes to wait for.
  PLIMSOLL_RETURN_IF_ERROR(before());
  if (const int result = ops_.Sync(extent.fd.get()); result != 0) return PosixError("fsync", extent.path, -result);
  return absl::OkStatus();
}

absl::Status LogFiles::WritePiece(Extent& extent, uint64_t offset_bytes, const std::byte* data, uint64_t size_bytes) {
  int64_t written = ops_.Write(extent.fd.get(), offset_bytes, data, size_bytes);
  if (written == -EINVAL && direct_ && !wrote_direct_ && options_.workload.direct() == v1::DIRECT_MODE_AUTO) {
    // Some file systems accept the flag and refuse the write.
    direct_refused_ = std::string(PosixError("pwritev2", extent.path, EINVAL).message());
    direct_ = false;
    PLIMSOLL_RETURN_IF_ERROR(ClearDirectFlag(extent));
    written = ops_.Write(extent.fd.get(), offset_bytes, data, size_bytes);
  }
  if (written < 0) return WriteError(extent.path, offset_bytes, static_cast<int>(-written));
  if (written == static_cast<int64_t>(size_bytes)) {
    wrote_direct_ = wrote_direct_ || direct_;
    return absl::OkStatus();
  }
  // A full disk shows first as a short write; the next one fails with the reason.
  const auto done = static_cast<uint64_t>(written);
  const int64_t more = ops_.Write(extent.fd.get(), offset_bytes + done, data + done, size_bytes - done);
  if (more == -ENOSPC || more == -EDQUOT || more == -EFBIG || more == -EIO) {
    return WriteError(extent.path, offset_bytes + done, static_cast<int>(-more));
  }
  return absl::DataLossError(absl::StrCat("pwritev2 ", extent.path, ": short write at offset ", offset_bytes, ": ",
                                          done, " of ", size_bytes, " bytes, while filling ", WhatIsFilled(options_)));
}

absl::Status LogFiles::ClearDirectFlag(Extent& extent) {
  const int flags = ops_.GetFlags(extent.fd.get());
  if (flags < 0) return PosixError("fcntl F_GETFL", extent.path, -flags);
  if (const int result = ops_.SetFlags(extent.fd.get(), flags & ~O_DIRECT); result < 0) {
    return PosixError("fcntl F_SETFL", extent.path, -result);
  }
  return absl::OkStatus();
}

absl::Status LogFiles::DropDirect(const std::string& reason) {
  if (!direct_) return absl::OkStatus();
  direct_ = false;
  direct_refused_ = reason;
  for (Extent& extent : extents_) PLIMSOLL_RETURN_IF_ERROR(ClearDirectFlag(extent));
  return CheckFlags();
}

absl::Status LogFiles::CheckFlags() {
  const int wanted = PlainFlags() | (direct_ ? O_DIRECT : 0);
  for (const Extent& extent : extents_) {
    const int flags = ops_.GetFlags(extent.fd.get());
    if (flags < 0) return PosixError("fcntl F_GETFL", extent.path, -flags);
    open_flags_ = FlagsInWords(flags);
    if (open_flags_ != FlagsInWords(wanted)) {
      return absl::FailedPreconditionError(absl::StrCat(extent.path, " was opened with ", FlagsInWords(wanted),
                                                        ", but the kernel reports ", open_flags_));
    }
  }
  return absl::OkStatus();
}

}  // namespace plimsoll
