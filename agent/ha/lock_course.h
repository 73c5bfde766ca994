// How an instance gets the locks of the active one.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

#include "agent/ha/ha_setup.h"
#include "agent/ha/instance_reporter.h"
#include "agent/ha/qm_files.h"

namespace plimsoll {

// The active instance holds `poll`, `active` and `master`, taken in this order, and with HA_FENCE_EXTENTS its extents:
// whoever finds `active` held finds `poll` held, too. An instance that finds either held is the standby: it locks
// `standby` and waits for `active`, as the plan says, while a poller of its own tries `poll`, so that the moment at
// which the storage gives up the locks is known apart from how the instance waits. `poll` stays with the poller's
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
  void TellGranted(v1::HaLock lock, int64_t asked_ns, int64_t at_ns);
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

}  // namespace plimsoll
