#include "agent/writer/extent_reader.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/writer/file_env.h"
#include "agent/writer/log_files.h"
#include "common/status_macros.h"

namespace plimsoll {

void FileExtentReader::FreeMemory::operator()(std::byte* memory) const {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc): aligned_alloc's counterpart
}

FileExtentReader::FileExtentReader(const RunDirectory& directory, FileOps& ops, uint32_t qm, std::string file_prefix,
                                   bool keeps_dirty)
    : directory_(directory), ops_(ops), qm_(qm), file_prefix_(std::move(file_prefix)), keeps_dirty_(keeps_dirty) {
  // What is read begins and ends where O_DIRECT lets it: up to a piece more at either end.
  buffer_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignBytes, kMostBytes + 2 * kAlignBytes)));
  if (buffer_ == nullptr) throw std::bad_alloc();
}

std::string FileExtentReader::PathOf(uint32_t extent) const {
  return ops_.PathOf(ExtentName(qm_, file_prefix_, extent));
}

absl::Status FileExtentReader::Open(uint32_t extent) {
  extent_ = extent;
  fd_.Reset();
  if (!direct_) return OpenPlain();
  absl::StatusOr<UniqueFd> fd = directory_.OpenFile(ExtentName(qm_, file_prefix_, extent), O_RDONLY | O_DIRECT);
  if (absl::IsInvalidArgument(fd.status())) return OpenPlain();
  PLIMSOLL_RETURN_IF_ERROR(fd.status());
  if (ops_.DirectAlignBytes(fd->get()) > kAlignBytes || ops_.IgnoresDirect(fd->get())) return OpenPlain();
  fd_ = *std::move(fd);
  // Where the flag does nothing and nothing reports that, what is cached must not be read.
  DropCache();
  opened_ = true;
  return absl::OkStatus();
}

absl::Status FileExtentReader::OpenPlain() {
  direct_ = false;
  PLIMSOLL_ASSIGN_OR_RETURN(fd_, directory_.OpenFile(ExtentName(qm_, file_prefix_, extent_), O_RDONLY));
  dropped_ = DropCache() && dropped_ && !keeps_dirty_;
  opened_ = true;
  return absl::OkStatus();
}

bool FileExtentReader::DropCache() {
  return posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED) == 0;
}

absl::StatusOr<std::span<const std::byte>> FileExtentReader::Read(uint64_t offset_bytes, uint64_t size_bytes) {
  const uint64_t begin_bytes = offset_bytes / kAlignBytes * kAlignBytes;
  const uint64_t needed_bytes = offset_bytes + size_bytes - begin_bytes;
  const uint64_t asked_bytes = (needed_bytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
  uint64_t done_bytes = 0;
  while (done_bytes < needed_bytes) {
    const int64_t read =
        ReadAt(fd_.get(), begin_bytes + done_bytes, buffer_.get() + done_bytes, asked_bytes - done_bytes);
    if (read == -EINTR) continue;
    if (read == -EINVAL && direct_ && !read_direct_) {
      // Some file systems accept the flag and refuse the read.
      PLIMSOLL_RETURN_IF_ERROR(OpenPlain());
      continue;
    }
    if (read < 0) {
      const absl::Status status = PosixError("preadv2", PathOf(extent_), static_cast<int>(-read));
      return absl::Status(status.code(), absl::StrCat(std::string(status.message()), " at offset ", offset_bytes));
    }
    if (read == 0) break;
    read_direct_ = direct_;
    done_bytes += static_cast<uint64_t>(read);
    // A direct read cannot go on from there: the file ends.
    if (direct_ && done_bytes % kAlignBytes != 0) break;
  }
  if (done_bytes < needed_bytes) {
    const uint64_t before_bytes = offset_bytes - begin_bytes;
    return absl::DataLossError(absl::StrCat("preadv2 ", PathOf(extent_), ": short read at offset ", offset_bytes, ": ",
                                            done_bytes > before_bytes ? done_bytes - before_bytes : 0, " of ",
                                            size_bytes, " bytes"));
  }
  return std::span<const std::byte>(buffer_.get() + (offset_bytes - begin_bytes), size_bytes);
}

}  // namespace plimsoll
