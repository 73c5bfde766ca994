// The operations on locks.
#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "agent/check/check_operations.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr int64_t kContendAgainNs = kNsPerMs;
constexpr int64_t kShortestPollNs = kNsPerMs;

int64_t LockNowNs() {
  return SystemClock::Read().value;
}

void SleepForNs(int64_t duration_ns) {
  timespec pause{duration_ns / kNsPerSecond, duration_ns % kNsPerSecond};
  while (nanosleep(&pause, &pause) != 0 && errno == EINTR) {
  }
}

// While it lives, SIGALRM interrupts a blocking call from the moment on, again and again: a signal that came just
// before the call would otherwise be lost.
class InterruptAfter {
 public:
  explicit InterruptAfter(int64_t after_ns) {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, nullptr);
    const int64_t first_us = std::max<int64_t>(after_ns / kNsPerUs, 1);
    const itimerval timer{{0, 20'000}, {first_us / 1'000'000, first_us % 1'000'000}};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
  ~InterruptAfter() {
    const itimerval none{};
    setitimer(ITIMER_REAL, &none, nullptr);
  }
  InterruptAfter(const InterruptAfter&) = delete;
  InterruptAfter& operator=(const InterruptAfter&) = delete;
};

}  // namespace

absl::StatusOr<CheckOperations::Lock> CheckOperations::CallLock(const OpenFile& file, int command, int type,
                                                                uint64_t start, uint64_t length,
                                                                v1::CheckAnswer& answer) {
  struct flock range{};
  range.l_type = static_cast<short>(type);
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(start);
  range.l_len = static_cast<off_t>(length);
  if (fcntl(file.fd.get(), command, &range) == 0) {
    const bool free = command != F_GETLK || range.l_type == F_UNLCK;
    return free ? Lock::kGranted : Lock::kRefused;
  }
  const int error_number = errno;
  if (error_number == EAGAIN || error_number == EACCES) return Lock::kRefused;
  if (error_number == EINTR) return Lock::kInterrupted;
  return CallFailed("fcntl", file.path, error_number, answer);
}

absl::Status CheckOperations::TakeLock(const v1::CheckLock& lock, v1::CheckAnswer& answer) {
  PLIMSOLL_ASSIGN_OR_RETURN(const OpenFile* const file, Find(lock.handle()));
  const int type = lock.shared() ? F_RDLCK : F_WRLCK;
  const int64_t limit_ns = LockNowNs() + lock.limit_ns();
  Lock outcome = Lock::kRefused;
  switch (lock.kind()) {
    case v1::CheckLock::KIND_TRY:
    case v1::CheckLock::KIND_POLL:
      while (true) {
        PLIMSOLL_RETURN_IF_ERROR(MayWrite());
        answer.set_attempts(answer.attempts() + 1);
        PLIMSOLL_ASSIGN_OR_RETURN(outcome, CallLock(*file, F_SETLK, type, lock.start(), lock.length(), answer));
        answer.set_ended_ns(LockNowNs());
        if (outcome == Lock::kGranted || lock.kind() == v1::CheckLock::KIND_TRY) break;
        if (answer.ended_ns() >= limit_ns) break;
        SleepForNs(std::max(lock.interval_ns(), kShortestPollNs));
      }
      break;
    case v1::CheckLock::KIND_WAIT: {
      PLIMSOLL_RETURN_IF_ERROR(MayWrite());
      const InterruptAfter interrupt(lock.limit_ns());
      do {
        answer.set_attempts(answer.attempts() + 1);
        PLIMSOLL_ASSIGN_OR_RETURN(outcome, CallLock(*file, F_SETLKW, type, lock.start(), lock.length(), answer));
        answer.set_ended_ns(LockNowNs());
      } while (outcome == Lock::kInterrupted && answer.ended_ns() < limit_ns);
      break;
    }
    case v1::CheckLock::KIND_TEST: {
      PLIMSOLL_ASSIGN_OR_RETURN(outcome, CallLock(*file, F_GETLK, type, lock.start(), lock.length(), answer));
      break;
    }
    case v1::CheckLock::KIND_UNLOCK: {
      PLIMSOLL_ASSIGN_OR_RETURN(outcome, CallLock(*file, F_SETLK, F_UNLCK, lock.start(), lock.length(), answer));
      break;
    }
    default:
      return absl::UnimplementedError("this agent knows no such lock");
  }
  answer.set_granted(outcome == Lock::kGranted);
  return absl::OkStatus();
}

absl::Status CheckOperations::Contend(const v1::CheckContend& contend, v1::CheckAnswer& answer) {
  PLIMSOLL_ASSIGN_OR_RETURN(const OpenFile* const file, Find(contend.handle()));
  const int64_t limit_ns = LockNowNs() + contend.limit_ns();
  while (LockNowNs() < limit_ns) {
    PLIMSOLL_RETURN_IF_ERROR(MayWrite());
    answer.set_attempts(answer.attempts() + 1);
    PLIMSOLL_ASSIGN_OR_RETURN(const Lock outcome, CallLock(*file, F_SETLK, F_WRLCK, contend.byte(), 1, answer));
    if (outcome != Lock::kGranted) {
      SleepForNs(kContendAgainNs);
      continue;
    }
    v1::CheckHold hold;
    hold.set_granted_ns(LockNowNs());
    PLIMSOLL_ASSIGN_OR_RETURN(const v1::CheckPage before, ReadPage(*file, contend.page(), answer));
    hold.set_sequence((before.epoch() == contend.epoch() ? before.sequence() : 0) + 1);
    PLIMSOLL_RETURN_IF_ERROR(WritePage(*file, contend.page(), contend.epoch(), hold.sequence(), answer));
    // Before the call that gives it back: until here nobody else may have had it.
    hold.set_released_ns(LockNowNs());
    PLIMSOLL_RETURN_IF_ERROR(CallLock(*file, F_SETLK, F_UNLCK, contend.byte(), 1, answer).status());
    answer.set_acknowledged(answer.acknowledged() + 1);
    if (answer.holds_size() < kMostListedInAnswer) *answer.add_holds() = hold;
  }
  return absl::OkStatus();
}

absl::Status CheckOperations::PingPong(const v1::CheckPingPong& ping_pong, v1::CheckAnswer& answer) {
  PLIMSOLL_ASSIGN_OR_RETURN(const OpenFile* const file, Find(ping_pong.handle()));
  const uint32_t locks = std::max(ping_pong.locks(), 2U);
  const int64_t limit_ns = LockNowNs() + ping_pong.limit_ns();
  const InterruptAfter interrupt(ping_pong.limit_ns());
  uint32_t held = 0;
  PLIMSOLL_ASSIGN_OR_RETURN(Lock outcome, CallLock(*file, F_SETLKW, F_WRLCK, ping_pong.start(), 1, answer));
  while (outcome == Lock::kGranted && LockNowNs() < limit_ns) {
    PLIMSOLL_RETURN_IF_ERROR(MayWrite());
    const uint32_t next = (held + 1) % locks;
    PLIMSOLL_ASSIGN_OR_RETURN(outcome, CallLock(*file, F_SETLKW, F_WRLCK, ping_pong.start() + next, 1, answer));
    if (outcome != Lock::kGranted) break;
    PLIMSOLL_RETURN_IF_ERROR(CallLock(*file, F_SETLK, F_UNLCK, ping_pong.start() + held, 1, answer).status());
    held = next;
    answer.set_acknowledged(answer.acknowledged() + 1);
  }
  return CallLock(*file, F_SETLK, F_UNLCK, ping_pong.start(), locks, answer).status();
}

}  // namespace plimsoll
