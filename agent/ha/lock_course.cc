#include "agent/ha/lock_course.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/ha/posix_lock.h"
#include "agent/writer/file_env.h"
#include "agent/writer/worker_threads.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// How soon a lock is tried again that was the dead instance's and must come with `active`.
constexpr int64_t kSoonNs = 10 * kNsPerMs;

}  // namespace

LockCourse::~LockCourse() {
  stop_poller_.store(true, std::memory_order_relaxed);
  if (poller_.joinable()) poller_.join();
}

bool LockCourse::Try(v1::HaLock lock, const QmFiles::File& file, bool& reported_denied) {
  const int64_t asked_ns = MonotonicNowNs();
  const absl::StatusOr<bool> granted = TryLockFile(file.fd.get(), file.path);
  const int64_t at_ns = MonotonicNowNs();
  if (!granted.ok()) reporter_.Exit(v1::HaEnded::REASON_FAILED, std::string(granted.status().message()));
  if (*granted) {
    TellGranted(lock, asked_ns, at_ns);
  } else if (!reported_denied) {
    reported_denied = true;
    v1::HaEvent event;
    event.set_at_ns(at_ns);
    event.mutable_lock_denied()->set_lock(lock);
    event.mutable_lock_denied()->set_asked_ns(asked_ns);
    reporter_.Send(std::move(event));
  }
  return *granted;
}

void LockCourse::TellGranted(v1::HaLock lock, int64_t asked_ns, int64_t at_ns) {
  if (lock == v1::HA_LOCK_ACTIVE) has_active_.store(true, std::memory_order_relaxed);
  v1::HaEvent event;
  event.set_at_ns(at_ns);
  event.mutable_lock_granted()->set_lock(lock);
  event.mutable_lock_granted()->set_asked_ns(asked_ns);
  reporter_.Send(std::move(event));
}

void LockCourse::Release(const QmFiles::File& file) {
  const absl::Status status = UnlockFile(file.fd.get(), file.path);
  if (!status.ok()) reporter_.Exit(v1::HaEnded::REASON_FAILED, std::string(status.message()));
}

void LockCourse::BecomeActive() {
  if (!TryAtOnce()) WaitAsStandby();
  Await(v1::HA_LOCK_MASTER, files_.master);
  if (setup_.fence != v1::HA_FENCE_EXTENTS) return;
  const int64_t asked_ns = MonotonicNowNs();
  bool reported = false;
  for (const QmFiles::File& extent : files_.extents) {
    while (true) {
      const absl::StatusOr<bool> granted = TryLockFile(extent.fd.get(), extent.path);
      if (!granted.ok()) reporter_.Exit(v1::HaEnded::REASON_FAILED, std::string(granted.status().message()));
      if (*granted) break;
      if (!reported) {
        reported = true;
        v1::HaEvent event;
        event.mutable_lock_denied()->set_lock(v1::HA_LOCK_EXTENTS);
        event.mutable_lock_denied()->set_asked_ns(asked_ns);
        reporter_.Send(std::move(event));
      }
      SleepUntilNs(MonotonicNowNs() + kSoonNs);
    }
  }
  TellGranted(v1::HA_LOCK_EXTENTS, asked_ns, MonotonicNowNs());
}

bool LockCourse::TryAtOnce() {
  const int64_t asked_ns = MonotonicNowNs();
  const absl::StatusOr<bool> granted = TryLockFile(files_.poll.fd.get(), files_.poll.path);
  const int64_t at_ns = MonotonicNowNs();
  if (!granted.ok()) reporter_.Exit(v1::HaEnded::REASON_FAILED, std::string(granted.status().message()));
  // An attempt on `active` all the same: its refusal is what people look for.
  const bool active = Try(v1::HA_LOCK_ACTIVE, files_.active, reported_active_denied_);
  if (active && *granted) {
    TellGranted(v1::HA_LOCK_POLL, asked_ns, at_ns);
    return true;
  }
  // The two are held by different instances for a moment: one that takes over has `poll` first.
  if (active) {
    Await(v1::HA_LOCK_POLL, files_.poll);
    return true;
  }
  if (*granted) Release(files_.poll);
  return false;
}

void LockCourse::Await(v1::HaLock lock, const QmFiles::File& file) {
  bool reported = false;
  while (!Try(lock, file, reported)) SleepUntilNs(MonotonicNowNs() + kSoonNs);
}

void LockCourse::WaitAsStandby() {
  bool reported = false;
  if (!Try(v1::HA_LOCK_STANDBY, files_.standby, reported)) {
    reporter_.Exit(v1::HaEnded::REASON_LOCK_DENIED, "another standby instance waits already");
  }
  poller_ = StartThread("poller", [this] { RunPoller(); });
  if (setup_.lock_wait == v1::HA_LOCK_WAIT_BLOCK) {
    const int64_t asked_ns = MonotonicNowNs();
    const absl::Status status = WaitForLock(files_.active.fd.get(), files_.active.path);
    const int64_t at_ns = MonotonicNowNs();
    if (!status.ok()) reporter_.Exit(v1::HaEnded::REASON_FAILED, std::string(status.message()));
    TellGranted(v1::HA_LOCK_ACTIVE, asked_ns, at_ns);
  } else {
    int64_t next_ns = MonotonicNowNs();
    do {
      next_ns = std::max(next_ns + setup_.lock_poll_ns, MonotonicNowNs());
      SleepUntilNs(next_ns);
    } while (!Try(v1::HA_LOCK_ACTIVE, files_.active, reported_active_denied_));
  }
  stop_poller_.store(true, std::memory_order_relaxed);
  poller_.join();
  while (!has_poll_ && !TryPoll()) SleepUntilNs(MonotonicNowNs() + kSoonNs);
  // The next standby may wait.
  Release(files_.standby);
}

bool LockCourse::TryPoll() {
  const int64_t asked_ns = MonotonicNowNs();
  const absl::StatusOr<bool> granted = TryLockFile(files_.poll.fd.get(), files_.poll.path);
  const int64_t at_ns = MonotonicNowNs();
  if (!granted.ok()) reporter_.Exit(v1::HaEnded::REASON_FAILED, std::string(granted.status().message()));
  if (!*granted) {
    poll_last_held_ns_ = asked_ns;
    return false;
  }
  has_poll_ = true;
  v1::HaEvent event;
  event.set_at_ns(at_ns);
  event.mutable_lock_free()->set_asked_ns(asked_ns);
  event.mutable_lock_free()->set_last_held_ns(poll_last_held_ns_);
  reporter_.Send(std::move(event));
  return true;
}

void LockCourse::RunPoller() {
  int64_t next_ns = MonotonicNowNs();
  while (!stop_poller_.load(std::memory_order_relaxed) && !TryPoll()) {
    next_ns = std::max(next_ns + setup_.free_poll_ns, MonotonicNowNs());
    SleepUntilNs(next_ns);
  }
}

}  // namespace plimsoll
