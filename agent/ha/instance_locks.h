// The locks of an instance: how it gets those of the active one, and how it verifies, as MQ does, that it still has
// them.
//
// They are fcntl's locks on whole files, as MQ takes them: they belong to the process, and go with it. Only instances
// take them, which are processes of their own: closing any descriptor of a file releases all locks that the process has
// on it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/ha/ha_setup.h"
#include "agent/ha/instance_channel.h"
#include "agent/ha/qm_files.h"
#include "common/page_stamp.h"

namespace plimsoll {

// F_SETLK with F_WRLCK. False where another process has it.
absl::StatusOr<bool> TryLockFile(int fd, const std::string& path);
// F_SETLKW. May never return.
absl::Status WaitForLock(int fd, const std::string& path);
absl::Status UnlockFile(int fd, const std::string& path);

// The active instance holds `poll`, `active` and `master`, taken in this order, and with HA_FENCE_EXTENTS its extents:
// an instance that finds `active` held finds `poll` held, too. If it finds either held, it is the standby: it locks
// `standby` and waits for `active`, in the way of the plan, while a poller of its own tries `poll`, so that the moment
// at which the storage releases the locks is known apart from how the instance waits. `poll` stays with the poller's
// process, which becomes active.
class LockCourse {
 public:
  // What is referred to must outlive the object.
  LockCourse(const HaSetup& setup, const QmFiles& files, InstanceReporter& reporter)
      : setup_(setup), files_(files), reporter_(reporter) {}
  ~LockCourse();

  // Blocks until all locks are held, for as long as it takes: the process's lease ends it. Errors end the process: of
  // fcntl, or where another standby waits already.
  void BecomeActive();

  // `active` is held.
  bool has_active() const { return has_active_.load(std::memory_order_relaxed); }

 private:
  // One attempt, reported where it succeeds, and where it is the first that fails.
  bool Try(v1::HaLock lock, const QmFiles::File& file, bool& reported_denied);
  void ReportGranted(v1::HaLock lock, int64_t asked_ns, int64_t at_ns);
  bool TryAtOnce();
  void WaitAsStandby();
  void Await(v1::HaLock lock, const QmFiles::File& file);
  void Release(const QmFiles::File& file);
  void RunPoller();
  // One attempt to get `poll`; true where it is held then.
  bool TryPoll();

  const HaSetup& setup_;
  const QmFiles& files_;
  InstanceReporter& reporter_;
  std::atomic<bool> has_active_{false};
  bool reported_active_denied_ = false;

  std::thread poller_;
  std::atomic<bool> stop_poller_{false};
  // The poller's until it has ended.
  bool has_poll_ = false;
  int64_t poll_last_held_ns_ = 0;
};

// A heartbeat record, written with O_DIRECT and O_DSYNC and read back through the descriptor that holds the lock: a
// client whose lock was lost gets EIO or ESTALE there. Verify is one thread's; Overdue is another's, which also watches
// while a call does not return.
class LockVerification {
 public:
  struct Record {
    std::array<uint8_t, 16> run_token{};
    uint32_t qm = 0;
    uint32_t host_index = 0;
    uint32_t epoch = 0;
  };

  // `fd` must outlive the object; `path` is for errors.
  LockVerification(int fd, std::string path, const Record& record, int64_t timeout_ns,
                   const std::atomic<int64_t>& lease_deadline_ns);

  // One verification. DEADLINE_EXCEEDED: the lease has expired, and nothing was written. With any other error the lock
  // is lost: a call failed, another record was read than was written, or another instance of this or a later epoch has
  // written its own (ABORTED).
  absl::Status Verify();

  // To be called every few ms: whether a verification has been under way for longer than the timeout. Time in which
  // the caller itself did not run, such as that of a stopped process, does not count.
  bool Overdue(int64_t now_ns);

 private:
  // Whether the record that was found may be there before the next one is written.
  bool MayFollow(const PageStamp& found) const;

  // A longer pause between two calls of Overdue counts as this much.
  static constexpr int64_t kLongestTickNs = 100'000'000;

  const int fd_;
  const std::string path_;
  const Record record_;
  const int64_t timeout_ns_;
  const std::atomic<int64_t>& lease_deadline_ns_;
  uint64_t count_ = 0;
  // Number of the verification under way; 0 if there is none.
  std::atomic<uint64_t> under_way_{0};
  // Overdue's.
  uint64_t watched_ = 0;
  int64_t watched_for_ns_ = 0;
  int64_t last_tick_ns_ = 0;
};

}  // namespace plimsoll
