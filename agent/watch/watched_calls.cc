#include "agent/watch/watched_calls.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace plimsoll {
namespace {

// In the order in which the kernel compares a call with them: what logs are written with comes first.
constexpr CallDescription kWatchedCalls[] = {
    {SYS_writev, "writev", CallEffect::kWrite},
    {SYS_pwrite64, "pwrite64", CallEffect::kWriteAt},
    {SYS_pwritev, "pwritev", CallEffect::kWriteAt},
    {SYS_write, "write", CallEffect::kWrite},
    {SYS_pwritev2, "pwritev2", CallEffect::kWriteAt},
    {SYS_fsync, "fsync", CallEffect::kSync},
    {SYS_fdatasync, "fdatasync", CallEffect::kSync},
    {SYS_openat, "openat", CallEffect::kOpen, 1},
#ifdef SYS_openat2
    {SYS_openat2, "openat2", CallEffect::kOpen, 1},
#endif
#ifdef SYS_open
    {SYS_open, "open", CallEffect::kOpen},
#endif
#ifdef SYS_creat
    {SYS_creat, "creat", CallEffect::kOpen},
#endif
    {SYS_dup, "dup", CallEffect::kDuplicate},
#ifdef SYS_dup2
    {SYS_dup2, "dup2", CallEffect::kDuplicateTo},
#endif
    {SYS_dup3, "dup3", CallEffect::kDuplicateTo},
    {SYS_fcntl, "fcntl", CallEffect::kFcntl},
    {SYS_close, "close", CallEffect::kClose},
#ifdef SYS_close_range
    {SYS_close_range, "close_range", CallEffect::kCloseRange},
#endif
    {SYS_lseek, "lseek", CallEffect::kSeek},
    {SYS_io_submit, "io_submit", CallEffect::kSubmit},
#ifdef SYS_io_uring_enter
    {SYS_io_uring_enter, "io_uring_enter", CallEffect::kSubmit},
#endif
#ifdef SYS_io_uring_setup
    {SYS_io_uring_setup, "io_uring_setup", CallEffect::kMakeRing},
#endif
};

// pwritev2's offset for "at the descriptor's position".
constexpr uint64_t kAtPosition = ~uint64_t{0};

// RWF_DSYNC, RWF_SYNC and RWF_APPEND, which older headers lack.
constexpr uint64_t kDataSync = 0x2;
constexpr uint64_t kSync = 0x4;
constexpr uint64_t kAppend = 0x10;

// CLOSE_RANGE_CLOEXEC, which older headers lack.
constexpr uint64_t kCloseAtExec = 4;

}  // namespace

const CallDescription* DescribeCall(int64_t number) {
  const auto* const found = std::ranges::find(kWatchedCalls, number, &CallDescription::number);
  return found == std::end(kWatchedCalls) ? nullptr : found;
}

std::string CallFilter() {
  return absl::StrJoin(kWatchedCalls, " || ", [](std::string* text, const CallDescription& call) {
    absl::StrAppend(text, "id == ", call.number);
  });
}

std::optional<int> NewDescriptor(const CallDescription& call, const CompletedCall& done) {
  if (done.result < 0) return std::nullopt;
  const auto fd = static_cast<int>(done.result);
  switch (call.effect) {
    case CallEffect::kOpen:
    case CallEffect::kDuplicate:
    case CallEffect::kDuplicateTo:
      return fd;
    case CallEffect::kFcntl:
      if (done.args[1] == F_DUPFD || done.args[1] == F_DUPFD_CLOEXEC) return fd;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

bool MayEnd(const CallDescription& call, const std::array<uint64_t, 6>& args, int fd) {
  const auto number = static_cast<uint32_t>(fd);
  switch (call.effect) {
    case CallEffect::kClose:
      return static_cast<uint32_t>(args[0]) == number;
    case CallEffect::kDuplicateTo:
      return static_cast<uint32_t>(args[1]) == number;
    case CallEffect::kCloseRange:
      // CLOSE_RANGE_CLOEXEC closes them at the next exec alone.
      if ((args[2] & kCloseAtExec) != 0) return false;
      return static_cast<uint32_t>(args[0]) <= number && number <= static_cast<uint32_t>(args[1]);
    default:
      return false;
  }
}

std::optional<uint64_t> AskedBytes(const CallDescription& call, const std::array<uint64_t, 6>& args) {
  if (call.number == SYS_write || call.number == SYS_pwrite64) return args[2];
  return std::nullopt;
}

uint64_t OffsetOf(const CompletedCall& done) {
  if (done.number == SYS_pwrite64) return done.args[3];
  // 64-bit kernels take the offset in one argument.
  return done.args[3];
}

bool WritesAtPosition(const CompletedCall& done) {
  return done.number == SYS_pwritev2 && done.args[3] == kAtPosition;
}

std::string NameWithSync(const CallDescription& call, const CompletedCall& done) {
  if (done.number != SYS_pwritev2) return call.name;
  if ((done.args[5] & kSync) != 0) return absl::StrCat(call.name, "(RWF_SYNC)");
  if ((done.args[5] & kDataSync) != 0) return absl::StrCat(call.name, "(RWF_DSYNC)");
  return call.name;
}

bool AppendsByFlag(const CompletedCall& done) {
  return done.number == SYS_pwritev2 && (done.args[5] & kAppend) != 0;
}

}  // namespace plimsoll
