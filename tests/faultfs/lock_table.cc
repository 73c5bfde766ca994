#include "tests/faultfs/lock_table.h"

#include <chrono>

namespace plimsoll::faultfs {
namespace {

constexpr std::chrono::milliseconds kLook{20};

}  // namespace

const RangeLock* LockTable::Conflict(const std::string& file, const RangeLock& lock) const {
  const auto found = files_.find(file);
  if (found == files_.end()) return nullptr;
  for (const RangeLock& held : found->second) {
    const bool apart = held.end < lock.begin || lock.end < held.begin;
    if (!apart && held.owner != lock.owner && (held.exclusive || lock.exclusive)) return &held;
  }
  return nullptr;
}

void LockTable::CutOut(const std::string& file, const RangeLock& range) {
  Locks& locks = files_[file];
  for (auto it = locks.begin(); it != locks.end();) {
    if (it->owner != range.owner || it->end < range.begin || range.end < it->begin) {
      ++it;
      continue;
    }
    if (it->begin < range.begin) {
      RangeLock left = *it;
      left.end = range.begin - 1;
      locks.insert(it, left);
    }
    if (it->end > range.end) {
      RangeLock right = *it;
      right.begin = range.end + 1;
      locks.insert(it, right);
    }
    it = locks.erase(it);
  }
}

bool LockTable::Take(const std::string& file, const RangeLock& lock, bool wait,
                     const std::function<bool()>& interrupted) {
  const MutexLock guard(mutex_);
  while (Conflict(file, lock) != nullptr) {
    if (!wait || interrupted()) return false;
    changed_.WaitFor(mutex_, kLook);
  }
  CutOut(file, lock);
  files_[file].push_back(lock);
  changed_.NotifyAll();  // an exclusive lock may have become a shared one
  return true;
}

bool LockTable::FindConflict(const std::string& file, const RangeLock& lock, RangeLock& conflict) const {
  const MutexLock guard(mutex_);
  const RangeLock* found = Conflict(file, lock);
  if (found == nullptr) return false;
  conflict = *found;
  return true;
}

void LockTable::Drop(const std::string& file, const RangeLock& range) {
  const MutexLock guard(mutex_);
  CutOut(file, range);
  changed_.NotifyAll();
}

void LockTable::DropOwner(const std::string& file, uint64_t owner) {
  const MutexLock guard(mutex_);
  files_[file].remove_if([owner](const RangeLock& held) { return held.owner == owner; });
  changed_.NotifyAll();
}

void LockTable::DropHandle(const std::string& file, uint64_t handle) {
  const MutexLock guard(mutex_);
  files_[file].remove_if([handle](const RangeLock& held) { return held.handle == handle; });
  changed_.NotifyAll();
}

uint64_t LockTable::DropProcess(pid_t process) {
  const MutexLock guard(mutex_);
  uint64_t dropped = 0;
  for (auto& [file, locks] : files_) {
    dropped += locks.remove_if([process](const RangeLock& held) { return held.pid == process; });
  }
  changed_.NotifyAll();
  return dropped;
}

}  // namespace plimsoll::faultfs
