#include "agent/ha/instance_locks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/ha/qm_files.h"
#include "agent/writer/file_env.h"
#include "agent/writer/worker_threads.h"
#include "common/page_stamp.h"
#include "common/posix.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// 0 or the errno.
int SetLock(int fd, int command, int type) {
  struct flock whole{};
  whole.l_type = static_cast<decltype(whole.l_type)>(type);
  whole.l_whence = SEEK_SET;
  while (fcntl(fd, command, &whole) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

// How soon a lock is tried again that was the dead instance's and must come with `active`.
constexpr int64_t kSoonNs = 10 * kNsPerMs;

struct alignas(kStampedPageBytes) HeartbeatPage {
  std::array<std::byte, kStampedPageBytes> bytes{};
};

absl::Status ReadHeartbeat(int fd, const std::string& path, HeartbeatPage& page) {
  const ssize_t size = pread(fd, page.bytes.data(), page.bytes.size(), kHeartbeatOffset);
  if (size < 0) return PosixError("pread", path, errno);
  if (size == static_cast<ssize_t>(page.bytes.size())) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("pread ", path, ": the heartbeat record is cut off"));
}

}  // namespace

absl::StatusOr<bool> TryLockFile(int fd, const std::string& path) {
  const int error_number = SetLock(fd, F_SETLK, F_WRLCK);
  if (error_number == 0) return true;
  if (error_number == EAGAIN || error_number == EACCES) return false;
  return PosixError("fcntl F_SETLK", path, error_number);
}

absl::Status WaitForLock(int fd, const std::string& path) {
  const int error_number = SetLock(fd, F_SETLKW, F_WRLCK);
  return error_number == 0 ? absl::OkStatus() : PosixError("fcntl F_SETLKW", path, error_number);
}

absl::Status UnlockFile(int fd, const std::string& path) {
  const int error_number = SetLock(fd, F_SETLK, F_UNLCK);
  return error_number == 0 ? absl::OkStatus() : PosixError("fcntl F_SETLK (F_UNLCK)", path, error_number);
}

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
    ReportGranted(lock, asked_ns, at_ns);
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

void LockCourse::ReportGranted(v1::HaLock lock, int64_t asked_ns, int64_t at_ns) {
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
  ReportGranted(v1::HA_LOCK_EXTENTS, asked_ns, MonotonicNowNs());
}

bool LockCourse::TryAtOnce() {
  const int64_t asked_ns = MonotonicNowNs();
  const absl::StatusOr<bool> granted = TryLockFile(files_.poll.fd.get(), files_.poll.path);
  const int64_t at_ns = MonotonicNowNs();
  if (!granted.ok()) reporter_.Exit(v1::HaEnded::REASON_FAILED, std::string(granted.status().message()));
  // An attempt on `active` all the same: its refusal is what people look for.
  const bool active = Try(v1::HA_LOCK_ACTIVE, files_.active, reported_active_denied_);
  if (active && *granted) {
    ReportGranted(v1::HA_LOCK_POLL, asked_ns, at_ns);
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
    ReportGranted(v1::HA_LOCK_ACTIVE, asked_ns, at_ns);
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

LockVerification::LockVerification(int fd, std::string path, const Record& record, int64_t timeout_ns,
                                   const std::atomic<int64_t>& lease_deadline_ns)
    : fd_(fd),
      path_(std::move(path)),
      record_(record),
      timeout_ns_(timeout_ns),
      lease_deadline_ns_(lease_deadline_ns) {}

absl::Status LockVerification::Verify() {
  struct UnderWay {
    std::atomic<uint64_t>& cell;
    UnderWay(std::atomic<uint64_t>& under_way, uint64_t number) : cell(under_way) { cell.store(number); }
    ~UnderWay() { cell.store(0); }
  };
  const UnderWay under_way(under_way_, ++count_);
  HeartbeatPage found;
  if (const absl::Status status = ReadHeartbeat(fd_, path_, found); !status.ok()) return status;
  PageStamp stamp;
  const auto is_of_run = [this, &stamp](const HeartbeatPage& page) {
    return ReadStamp(page.bytes, stamp) == StampState::kWhole && stamp.run_token == record_.run_token;
  };
  const auto another_wrote = [this, &stamp] {
    return absl::AbortedError(absl::StrCat(path_, ": an instance of epoch ", stamp.epoch, " on host ", stamp.host_index,
                                           " has written its heartbeat; this one's epoch is ", record_.epoch));
  };
  if (is_of_run(found) && !MayFollow(stamp)) return another_wrote();
  HeartbeatPage written;
  const uint64_t checksum = PayloadChecksum(std::span(written.bytes).subspan(kStampBytes));
  WriteStamp({record_.run_token, record_.host_index, record_.qm, record_.epoch, 1, count_}, checksum,
             written.bytes.data());
  // Reading may have taken until after the lease, as where the host was frozen meanwhile.
  if (MonotonicNowNs() >= lease_deadline_ns_.load(std::memory_order_relaxed)) {
    return absl::DeadlineExceededError("the lease has expired");
  }
  const ssize_t size = pwrite(fd_, written.bytes.data(), written.bytes.size(), kHeartbeatOffset);
  if (size < 0) return PosixError("pwrite", path_, errno);
  if (size != static_cast<ssize_t>(written.bytes.size())) {
    return absl::DataLossError(absl::StrCat("pwrite ", path_, ": only ", size, " bytes of the heartbeat record"));
  }
  if (const absl::Status status = ReadHeartbeat(fd_, path_, found); !status.ok()) return status;
  if (found.bytes == written.bytes) return absl::OkStatus();
  if (is_of_run(found) && stamp.epoch > record_.epoch) return another_wrote();
  return absl::DataLossError(absl::StrCat(path_, ": the heartbeat record is not as it was just written"));
}

bool LockVerification::MayFollow(const PageStamp& found) const {
  if (found.epoch < record_.epoch) return true;
  // In its own epoch only its own last record may be there; before the first verification there is none.
  return found.epoch == record_.epoch && found.host_index == record_.host_index && found.sequence == count_ - 1 &&
         count_ > 1;
}

bool LockVerification::Overdue(int64_t now_ns) {
  const int64_t passed_ns = std::min(now_ns - last_tick_ns_, kLongestTickNs);
  last_tick_ns_ = now_ns;
  const uint64_t number = under_way_.load();
  if (number == 0 || number != watched_) {
    watched_ = number;
    watched_for_ns_ = 0;
    return false;
  }
  watched_for_ns_ += passed_ns;
  return watched_for_ns_ > timeout_ns_;
}

}  // namespace plimsoll
