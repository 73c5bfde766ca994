#include "agent/watch/call_pairing.h"

#include <algorithm>

namespace plimsoll {
namespace {

// Thread and function; -1 stands for the system calls.
std::pair<uint32_t, int64_t> GroupOf(const PerfRecord& record) {
  const bool function = record.kind == PerfRecord::Kind::kCallEnter || record.kind == PerfRecord::Kind::kCallReturn;
  return {record.tid, function ? record.number : int64_t{-1}};
}

}  // namespace

void CallPairing::Take(const PerfRecord& record, const OnCall& on_call) {
  switch (record.kind) {
    case PerfRecord::Kind::kGapBegin:
      ++open_gaps_;
      any_gap_ = true;
      unpaired_ += syscalls_.size() + functions_.size();
      syscalls_.clear();
      functions_.clear();
      return;
    case PerfRecord::Kind::kGapEnd:
      open_gaps_ = std::max(open_gaps_ - 1, 0);
      return;
    case PerfRecord::Kind::kExec:
      return Forget(record.pid);
    case PerfRecord::Kind::kSyscallEnter:
    case PerfRecord::Kind::kCallEnter:
      if (IsOwn(record)) Enter(record);
      return;
    case PerfRecord::Kind::kSyscallExit:
    case PerfRecord::Kind::kCallReturn: {
      const bool began_before = BeganBefore(record);
      if (IsOwn(record) && !began_before) Return(record, on_call);
      return;
    }
  }
}

bool CallPairing::BeganBefore(const PerfRecord& record) const {
  return !any_gap_ && !owners_.contains(GroupOf(record));
}

bool CallPairing::IsOwn(const PerfRecord& record) {
  return owners_.try_emplace(GroupOf(record), record.owner).first->second == record.owner;
}

void CallPairing::Enter(const PerfRecord& record) {
  const bool function = record.kind == PerfRecord::Kind::kCallEnter;
  ++(function ? function_entries_ : syscall_entries_);
  // Its return may be missing, or that of a call between.
  if (open_gaps_ > 0) {
    ++unpaired_;
    return;
  }
  const OpenCall call{record.pid, record.number, record.time_ns, record.args};
  const bool is_new = function ? functions_.insert_or_assign(std::pair(record.tid, record.number), call).second
                               : syscalls_.insert_or_assign(record.tid, call).second;
  // The return of the one before is missing.
  if (!is_new) ++unpaired_;
}

void CallPairing::Return(const PerfRecord& record, const OnCall& on_call) {
  const bool function = record.kind == PerfRecord::Kind::kCallReturn;
  std::optional<OpenCall> open;
  if (function) {
    if (const auto found = functions_.extract({record.tid, record.number})) open = found.mapped();
  } else {
    if (const auto found = syscalls_.extract(record.tid)) open = found.mapped();
  }
  if (!open || open->number != record.number || open->pid != record.pid || record.time_ns < open->start_ns) {
    ++unpaired_;
    return;
  }
  on_call({.function = function,
           .number = record.number,
           .pid = record.pid,
           .tid = record.tid,
           .start_ns = open->start_ns,
           .end_ns = record.time_ns,
           .args = open->args,
           .result = record.result});
}

void CallPairing::Forget(uint32_t pid) {
  std::erase_if(syscalls_, [pid](const auto& entry) { return entry.second.pid == pid; });
  std::erase_if(functions_, [pid](const auto& entry) { return entry.second.pid == pid; });
}

void CallPairing::Clear() {
  owners_.clear();
  syscalls_.clear();
  functions_.clear();
  open_gaps_ = 0;
  any_gap_ = false;
}

}  // namespace plimsoll
