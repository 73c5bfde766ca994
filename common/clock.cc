#include "common/clock.h"

#include <cerrno>
#include <chrono>
#include <ctime>

#include "common/units.h"

namespace plimsoll {
namespace {

int64_t ReadClock(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return int64_t{ts.tv_sec} * kNsPerSecond + ts.tv_nsec;
}

}  // namespace

MonotonicNs SystemClock::Read() {
  return {ReadClock(CLOCK_MONOTONIC)};
}

WallNs SystemClock::WallNow() const {
  return {ReadClock(CLOCK_REALTIME)};
}

void SystemClock::SleepUntil(MonotonicNs moment) const {
  timespec ts{};
  ts.tv_sec = moment.value / kNsPerSecond;
  ts.tv_nsec = moment.value % kNsPerSecond;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, nullptr) == EINTR) {
  }
}

bool SystemClock::WaitUntil(Mutex& mutex, CondVar& changed, MonotonicNs moment) const {
  // libstdc++'s steady_clock is CLOCK_MONOTONIC.
  return changed.WaitUntil(mutex, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(moment.value)));
}

}  // namespace plimsoll
