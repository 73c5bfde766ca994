// The real world of the write loop: the kernel's clock and files.
#pragma once

#include <sched.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>

#include "agent/writer/log_files.h"
#include "agent/writer/worker_threads.h"
#include "common/units.h"

namespace plimsoll {

// One pwritev2 with one piece. Bytes written, or -errno.
inline int64_t WriteAt(int fd, uint64_t offset_bytes, const std::byte* data, size_t size_bytes) {
  iovec piece{const_cast<std::byte*>(data), size_bytes};  // NOLINT(cppcoreguidelines-pro-type-const-cast): not changed
  const ssize_t written = pwritev2(fd, &piece, 1, static_cast<off_t>(offset_bytes), 0);
  return written >= 0 ? written : -errno;
}
static_assert(sizeof(off_t) == 8);

// One preadv2 with one piece. Bytes read, or -errno.
inline int64_t ReadAt(int fd, uint64_t offset_bytes, std::byte* into, size_t size_bytes) {
  iovec piece{into, size_bytes};
  const ssize_t read = preadv2(fd, &piece, 1, static_cast<off_t>(offset_bytes), 0);
  return read >= 0 ? read : -errno;
}

// CLOCK_MONOTONIC through the vDSO: no system call where the kernel's clock source allows it.
inline int64_t MonotonicNowNs() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return int64_t{ts.tv_sec} * kNsPerSecond + ts.tv_nsec;
}

// One clock_nanosleep with an absolute time; again only where a signal ends it.
inline void SleepUntilNs(int64_t moment_ns) {
  timespec ts{};
  ts.tv_sec = moment_ns / kNsPerSecond;
  ts.tv_nsec = moment_ns % kNsPerSecond;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, nullptr) == EINTR) {
  }
}

// See RunWriteLoop for what each is. `fds` are the extents in their order. After the first write `pin` (null: there is
// none) is released: it is for the start alone. Offsets count from `base_bytes` of each file, and Sync makes the system
// call `sync`.
class FileEnv {
 public:
  explicit FileEnv(std::span<const int> fds, CpuPin* pin = nullptr, uint64_t base_bytes = 0,
                   SyncCall sync = SyncCall::kFdatasync)
      : fds_(fds), pin_(pin), base_bytes_(base_bytes), syncs_all_(sync == SyncCall::kFsync) {}

  static int64_t Now() { return MonotonicNowNs(); }
  int64_t Write(uint32_t extent, uint64_t offset_bytes, const std::byte* data, size_t size_bytes) const {
    return WriteAt(fds_[extent], base_bytes_ + offset_bytes, data, size_bytes);
  }
  int64_t Read(uint32_t extent, uint64_t offset_bytes, std::byte* into, size_t size_bytes) const {
    return ReadAt(fds_[extent], base_bytes_ + offset_bytes, into, size_bytes);
  }
  int Sync(uint32_t extent) const {
    return (syncs_all_ ? fsync(fds_[extent]) : fdatasync(fds_[extent])) == 0 ? 0 : -errno;
  }
  static void SleepUntil(int64_t moment_ns) { SleepUntilNs(moment_ns); }
  static void AwaitRoom() { SleepUntilNs(MonotonicNowNs() + kRoomSleepNs); }
  void Yield() {
    if (pin_ != nullptr) pin_->Release();
    sched_yield();
  }

 private:
  // The recorder drains 16,000 samples in less than that.
  static constexpr int64_t kRoomSleepNs = 200'000;

  std::span<const int> fds_;
  CpuPin* pin_;
  const uint64_t base_bytes_;
  const bool syncs_all_;
};

}  // namespace plimsoll
