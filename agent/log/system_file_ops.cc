// The system calls below the extents.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "agent/log/file_env.h"
#include "agent/log/log_files.h"

namespace plimsoll {
namespace {

class SystemFileOps final : public FileOps {
 public:
  explicit SystemFileOps(RunDirectory& directory) : directory_(directory) {}

  absl::StatusOr<UniqueFd> Create(const std::string& relative, int flags) override {
    return directory_.CreateFile(relative, flags);
  }
  std::string PathOf(const std::string& relative) const override { return directory_.path() + "/" + relative; }
  int64_t Write(int fd, uint64_t offset_bytes, const std::byte* data, size_t size_bytes) override {
    return WriteAt(fd, offset_bytes, data, size_bytes);
  }
  int Sync(int fd) override { return fsync(fd) == 0 ? 0 : -errno; }
  int GetFlags(int fd) override {
    const int flags = fcntl(fd, F_GETFL);
    return flags >= 0 ? flags : -errno;
  }
  int SetFlags(int fd, int flags) override { return fcntl(fd, F_SETFL, flags) == 0 ? 0 : -errno; }
  uint32_t DirectAlignBytes(int fd) override {
    struct statx facts{};
    if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &facts) != 0) return 0;
    return (facts.stx_mask & STATX_DIOALIGN) != 0 ? facts.stx_dio_offset_align : 0;
  }
  absl::StatusOr<RunDirectory::Space> MeasureSpace() override { return directory_.MeasureSpace(); }

 private:
  RunDirectory& directory_;
};

}  // namespace

std::unique_ptr<FileOps> MakeSystemFileOps(RunDirectory& directory) {
  return std::make_unique<SystemFileOps>(directory);
}

}  // namespace plimsoll
