// The locks that programs hold through the fault file system: one mount is one lock server, whoever asks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <string>

#include "common/mutex.h"

namespace plimsoll::faultfs {

// A lock on the bytes [begin, end] of a file.
struct RangeLock {
  static constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();

  bool exclusive = true;
  int64_t begin = 0;
  int64_t end = kToTheEnd;
  // Who holds it: locks of one owner never conflict.
  uint64_t owner = 0;
  // The open file that it was taken through, and the process, for F_GETLK.
  uint64_t handle = 0;
  pid_t pid = 0;
};

// Thread-safe. Files are named by any string.
class LockTable {
 public:
  // Takes the lock, which replaces the owner's own on those bytes. False where another owner's conflicts; with `wait`
  // it waits until none does, and gives up when `interrupted` says so.
  bool Take(const std::string& file, const RangeLock& lock, bool wait, const std::function<bool()>& interrupted);
  // A lock that conflicts, copied to `conflict`.
  bool FindConflict(const std::string& file, const RangeLock& lock, RangeLock& conflict) const;
  void Drop(const std::string& file, const RangeLock& range);
  // A process has closed the file, or nobody has this open file any more.
  void DropOwner(const std::string& file, uint64_t owner);
  void DropHandle(const std::string& file, uint64_t handle);
  // A server has given up on the process, which may go on. Returns how many locks it had.
  uint64_t DropProcess(pid_t process);

 private:
  using Locks = std::list<RangeLock>;

  const RangeLock* Conflict(const std::string& file, const RangeLock& lock) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CutOut(const std::string& file, const RangeLock& range) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  CondVar changed_;
  std::map<std::string, Locks> files_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::faultfs
