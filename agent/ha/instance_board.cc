#include "agent/ha/instance_board.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

absl::StatusOr<void*> MapBoard(int fd) {
  void* const memory = mmap(nullptr, sizeof(InstanceBoard), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return PosixError("mmap", "the memory shared with an instance", errno);
  return memory;
}

}  // namespace

std::optional<CompletedWrite> LastCompleted(const InstanceBoard& board) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    CompletedWrite write;
    // Acquire: the moments of that write were stored before.
    write.sequence = board.completed.load(std::memory_order_acquire);
    if (write.sequence == 0) return std::nullopt;
    const InstanceBoard::Moments& moments = board.moments[write.sequence % InstanceBoard::kMoments];
    write.start_ns = moments.start_ns.load(std::memory_order_acquire);
    write.end_ns = moments.end_ns.load(std::memory_order_acquire);
    // The cell is written again for the write kMoments later, whose predecessor is shown by then.
    if (board.completed.load(std::memory_order_relaxed) - write.sequence < InstanceBoard::kMoments - 1) return write;
  }
  return std::nullopt;
}

void BoardMapping::Unmap::operator()(InstanceBoard* board) const {
  munmap(board, sizeof(InstanceBoard));
}

absl::StatusOr<BoardMapping> BoardMapping::Create(UniqueFd& fd) {
  fd = UniqueFd(memfd_create("plimsoll-instance", MFD_CLOEXEC));
  if (!fd.valid()) return PosixError("memfd_create", "", errno);
  if (ftruncate(fd.get(), sizeof(InstanceBoard)) != 0) return PosixError("ftruncate", "a memfd", errno);
  PLIMSOLL_ASSIGN_OR_RETURN(void* const memory, MapBoard(fd.get()));
  BoardMapping mapping;
  mapping.board_.reset(new (memory) InstanceBoard());
  return mapping;
}

absl::StatusOr<BoardMapping> BoardMapping::Open(int fd) {
  struct stat info{};
  if (fstat(fd, &info) != 0) return PosixError("fstat", "the memory shared with an agent", errno);
  if (info.st_size != sizeof(InstanceBoard)) return absl::InvalidArgumentError("no memory shared with an agent");
  PLIMSOLL_ASSIGN_OR_RETURN(void* const memory, MapBoard(fd));
  BoardMapping mapping;
  mapping.board_.reset(static_cast<InstanceBoard*>(memory));
  return mapping;
}

}  // namespace plimsoll
