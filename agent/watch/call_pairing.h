// Makes calls of records: the entry and the return of a system call or function that belong together.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "agent/watch/perf_records.h"

namespace plimsoll {

// A call that has returned.
struct CompletedCall {
  // Whether it is a function's; else a system call's.
  bool function = false;
  int64_t number = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::array<uint64_t, 6> args{};
  // What a system call returned.
  int64_t result = 0;
};

// A call that has not returned.
struct OpenCall {
  uint32_t pid = 0;
  int64_t number = 0;
  int64_t start_ns = 0;
  std::array<uint64_t, 6> args{};
};

// Takes records in the order of their times. Only neighbours are paired: a thread's return belongs to its last entry if
// nothing of that thread lies between them. After a gap nothing is paired that had begun before its end. So whatever
// the kernel dropped, a pair is never made of two calls; what is left over is counted. Not thread-safe.
class CallPairing {
 public:
  // Called with each call that has returned, in the order of their ends.
  using OnCall = std::function<void(const CompletedCall&)>;

  void Take(const PerfRecord& record, const OnCall& on_call);

  // Forgets the open calls of a process that has ended or runs another program.
  void Forget(uint32_t pid);
  // Forgets everything, as if nothing had been taken. Counts are kept.
  void Clear();

  // Calls `use(tid, const OpenCall&)` for each open system call.
  template <typename Use>
  void ForEachOpenSyscall(Use&& use) const {
    for (const auto& [tid, call] : syscalls_) use(tid, call);
  }

  // Calls `use(const OpenCall&)` for each open call of a function.
  template <typename Use>
  void ForEachOpenFunction(Use&& use) const {
    for (const auto& [key, call] : functions_) use(call);
  }

  // Entries and returns that belong to no call. The returns of calls that had begun before their threads were watched
  // do not count, unless records were lost since.
  uint64_t unpaired() const { return unpaired_; }
  // Entries of system calls and of functions so far: what the watched processes paid for.
  uint64_t syscall_entries() const { return syscall_entries_; }
  uint64_t function_entries() const { return function_entries_; }

 private:
  // Whether a return is a thread's first record, so that its call had begun before the thread was watched.
  bool BeganBefore(const PerfRecord& record) const;
  // Whether the record comes from the owner whose records are taken for that thread and function: the first one seen.
  bool IsOwn(const PerfRecord& record);
  void Enter(const PerfRecord& record);
  void Return(const PerfRecord& record, const OnCall& on_call);

  // By thread and function; -1 stands for the system calls.
  std::map<std::pair<uint32_t, int64_t>, uint32_t> owners_;
  // By thread; of functions by thread and function.
  std::unordered_map<uint32_t, OpenCall> syscalls_;
  std::map<std::pair<uint32_t, int64_t>, OpenCall> functions_;
  int open_gaps_ = 0;
  bool any_gap_ = false;
  uint64_t unpaired_ = 0;
  uint64_t syscall_entries_ = 0;
  uint64_t function_entries_ = 0;
};

}  // namespace plimsoll
