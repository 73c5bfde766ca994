#include "agent/ha/log_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "absl/strings/str_cat.h"
#include "common/posix.h"

namespace plimsoll {
LogReader::LogReader(const QmFiles& files, const LogShape& shape)
    : files_(files),
      shape_(shape),
      blocks_at_once_(std::max<uint64_t>(kReadBytes / shape.block_bytes, 1)),
      blocks_per_extent_(shape.file_size_bytes / shape.block_bytes) {
  buffer_.reset(static_cast<std::byte*>(std::aligned_alloc(kStampedPageBytes, blocks_at_once_ * shape.block_bytes)));
  if (buffer_ == nullptr) throw std::bad_alloc();
  Forget();
}

void LogReader::Forget() {
  blocks_read_ = 0;
  if (files_.direct) return;
  for (const QmFiles::File& extent : files_.extents) posix_fadvise(extent.fd.get(), 0, 0, POSIX_FADV_DONTNEED);
}

absl::StatusOr<std::span<const std::byte>> LogReader::Read(uint64_t place) {
  if (place < first_place_ || place >= first_place_ + blocks_read_) {
    const BlockPlace at = shape_.layout().PlaceOf(place);
    const uint64_t blocks = std::min(blocks_at_once_, blocks_per_extent_ - place % blocks_per_extent_);
    const QmFiles::File& file = files_.extents[at.extent];
    blocks_read_ = 0;
    size_t done = 0;
    while (done < blocks * shape_.block_bytes) {
      const ssize_t size = pread(file.fd.get(), buffer_.get() + done, blocks * shape_.block_bytes - done,
                                 static_cast<off_t>(at.offset_bytes + done));
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return PosixError("pread", file.path, errno);
      if (size == 0)
        return absl::DataLossError(absl::StrCat("pread ", file.path, ": the extent is shorter than it was made"));
      done += static_cast<size_t>(size);
    }
    first_place_ = place;
    blocks_read_ = blocks;
  }
  return std::span<const std::byte>(buffer_.get() + (place - first_place_) * shape_.block_bytes, shape_.block_bytes);
}

}  // namespace plimsoll
