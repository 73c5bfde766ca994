// What the operations of the fault file system share.
#pragma once

#ifndef FUSE_USE_VERSION
#define FUSE_USE_VERSION 312
#endif

#include <fuse.h>

#include <string>

#include "tests/faultfs/fault_rules.h"
#include "tests/faultfs/lock_table.h"
#include "tests/faultfs/volatile_writes.h"

namespace plimsoll::faultfs {

// What a file's handle of the kernel's points to.
struct OpenFile {
  std::string path;
  int fd = -1;
  // Names the file itself, for its locks: they stay with it when it, or a directory above it, gets another name.
  std::string identity;
};

struct State {
  std::string backing;
  FaultRules rules;
  LockTable ranges;  // fcntl
  LockTable flocks;
  VolatileWrites volatile_writes;
  fuse* handle = nullptr;
};

// libfuse's operations have nothing else to find it by.
State& TheState();

inline OpenFile& FileOf(const fuse_file_info* info) {
  return *reinterpret_cast<OpenFile*>(info->fh);
}

// The fault for an operation, after its delay; nothing where there is none.
FaultRules::Verdict Ask(const char* operation, const std::string& path);

// libfuse's lock and flock.
int LockRange(const char* path, fuse_file_info* info, int command, struct flock* asked);
int LockWhole(const char* path, fuse_file_info* info, int operation);

}  // namespace plimsoll::faultfs
