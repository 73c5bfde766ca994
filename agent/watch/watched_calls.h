// The system calls that watching follows: which they are, and what each does to a descriptor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/watch/call_pairing.h"

namespace plimsoll {

enum class CallEffect : uint8_t {
  kWrite,        // writes at the descriptor's position
  kWriteAt,      // writes at an offset
  kSync,         // fsync, fdatasync
  kOpen,         // returns a new descriptor of a file
  kDuplicate,    // returns another descriptor of the same file
  kDuplicateTo,  // dup2, dup3: the second argument becomes one
  kFcntl,        // kDuplicate, depending on its command
  kClose,        // ends a descriptor
  kCloseRange,   // ends several
  kSeek,         // returns the descriptor's new position
  kSubmit,       // io_submit, io_uring_enter: writes that are not measured
  kMakeRing,     // io_uring_setup: a thread of the kernel may submit what is put into the ring, without a call
};

struct CallDescription {
  int64_t number = 0;
  const char* name = "";
  CallEffect effect = CallEffect::kWrite;
  // Of kOpen: which argument points to the file's name.
  uint32_t name_argument = 0;
};

// Null for a system call that is not followed.
const CallDescription* DescribeCall(int64_t number);

// Filter of raw_syscalls' tracepoints that keeps these calls alone.
std::string CallFilter();

// Whether the call writes, or brings writes to stable storage.
inline bool Writes(CallEffect effect) {
  return effect == CallEffect::kWrite || effect == CallEffect::kWriteAt;
}

// The descriptor that a call made; nothing if it made none.
std::optional<int> NewDescriptor(const CallDescription& call, const CompletedCall& done);
// Whether the call, from its entry on, may end or replace the descriptor; `args` are its arguments.
bool MayEnd(const CallDescription& call, const std::array<uint64_t, 6>& args, int fd);
// Bytes that a write asks for; nothing where the arguments only point to them.
std::optional<uint64_t> AskedBytes(const CallDescription& call, const std::array<uint64_t, 6>& args);
// Where a kWriteAt writes, unless one of the next two holds.
uint64_t OffsetOf(const CompletedCall& done);
// Whether a kWriteAt writes at the descriptor's position all the same (pwritev2 with an offset of -1).
bool WritesAtPosition(const CompletedCall& done);
// The call's name, with the flags by which a write is also brought to stable storage: "pwritev2(RWF_DSYNC)".
std::string NameWithSync(const CallDescription& call, const CompletedCall& done);
// Whether its flags have it append (RWF_APPEND).
bool AppendsByFlag(const CompletedCall& done);

}  // namespace plimsoll
