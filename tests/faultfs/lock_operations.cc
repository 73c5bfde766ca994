#define FUSE_USE_VERSION 312

#include <sys/file.h>

#include <cerrno>

#include "tests/faultfs/faultfs_state.h"

namespace plimsoll::faultfs {
namespace {

RangeLock ToRange(const struct flock& asked, const fuse_file_info& info) {
  RangeLock lock;
  lock.exclusive = asked.l_type == F_WRLCK;
  lock.begin = asked.l_start;
  lock.end = asked.l_len == 0 ? RangeLock::kToTheEnd : asked.l_start + asked.l_len - 1;
  lock.owner = info.lock_owner;
  lock.handle = info.fh;
  lock.pid = asked.l_pid;
  return lock;
}

int TakeLock(LockTable& table, const OpenFile& file, const RangeLock& lock, bool wait) {
  FaultRules::Verdict fault = Ask("lock", file.path);
  if (!fault.grant && fault.error_number == 0) {
    fault = Ask(lock.exclusive ? "lock_exclusive" : "lock_shared", file.path);
  }
  if (fault.grant) return 0;
  if (fault.error_number != 0) return -fault.error_number;
  if (table.Take(file.identity, lock, wait, [] { return fuse_interrupted() != 0; })) return 0;
  return wait ? -EINTR : -EAGAIN;
}

}  // namespace

int LockRange(const char* /*path*/, fuse_file_info* info, int command, struct flock* asked) {
  LockTable& table = TheState().ranges;
  OpenFile& file = FileOf(info);
  const RangeLock lock = ToRange(*asked, *info);
  if (command == F_GETLK) {
    RangeLock conflict;
    if (!table.FindConflict(file.identity, lock, conflict)) {
      asked->l_type = F_UNLCK;
      return 0;
    }
    asked->l_type = conflict.exclusive ? F_WRLCK : F_RDLCK;
    asked->l_start = conflict.begin;
    asked->l_len = conflict.end == RangeLock::kToTheEnd ? 0 : conflict.end - conflict.begin + 1;
    asked->l_pid = conflict.pid;
    return 0;
  }
  if (asked->l_type == F_UNLCK) {
    table.Drop(file.identity, lock);
    return 0;
  }
  return TakeLock(table, file, lock, command == F_SETLKW);
}

int LockWhole(const char* /*path*/, fuse_file_info* info, int operation) {
  LockTable& table = TheState().flocks;
  OpenFile& file = FileOf(info);
  RangeLock lock;
  lock.owner = lock.handle = info->fh;
  if ((operation & LOCK_UN) != 0) {
    table.Drop(file.identity, lock);
    return 0;
  }
  lock.exclusive = (operation & LOCK_EX) != 0;
  const int result = TakeLock(table, file, lock, (operation & LOCK_NB) == 0);
  return result == -EAGAIN ? -EWOULDBLOCK : result;
}

}  // namespace plimsoll::faultfs
