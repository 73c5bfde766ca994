#include "agent/writer/file_ops.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "agent/writer/file_env.h"

namespace plimsoll {

int64_t DescriptorOps::Write(int fd, uint64_t offset_bytes, const std::byte* data, size_t size_bytes) {
  return WriteAt(fd, offset_bytes, data, size_bytes);
}

int DescriptorOps::Sync(int fd) {
  return fsync(fd) == 0 ? 0 : -errno;
}

int DescriptorOps::GetFlags(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 ? flags : -errno;
}

int DescriptorOps::SetFlags(int fd, int flags) {
  return fcntl(fd, F_SETFL, flags) == 0 ? 0 : -errno;
}

uint32_t DescriptorOps::DirectAlignBytes(int fd) {
  struct statx facts{};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &facts) != 0) return 0;
  if ((facts.stx_mask & STATX_DIOALIGN) != 0) return facts.stx_dio_offset_align;
  int block_bytes = 0;
  const bool known = S_ISBLK(facts.stx_mode) && ioctl(fd, BLKSSZGET, &block_bytes) == 0 && block_bytes > 0;
  return known ? static_cast<uint32_t>(block_bytes) : 0;
}

bool DescriptorOps::IgnoresDirect(int fd) {
  struct statx facts{};
  return statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &facts) == 0 && (facts.stx_mask & STATX_DIOALIGN) != 0 &&
         facts.stx_dio_offset_align == 0;
}

namespace {

class SystemFileOps final : public DescriptorOps {
 public:
  explicit SystemFileOps(RunDirectory& directory) : directory_(directory) {}

  absl::StatusOr<UniqueFd> Create(const std::string& relative, int flags) override {
    return directory_.CreateFile(relative, flags);
  }
  std::string PathOf(const std::string& relative) const override { return directory_.path() + "/" + relative; }
  absl::StatusOr<Space> MeasureSpace() override { return directory_.MeasureSpace(); }

 private:
  RunDirectory& directory_;
};

}  // namespace

std::unique_ptr<FileOps> MakeSystemFileOps(RunDirectory& directory) {
  return std::make_unique<SystemFileOps>(directory);
}

}  // namespace plimsoll
