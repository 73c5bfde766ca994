#include "agent/watch/call_pairing.h"

#include <algorithm>

namespace plimsoll {

void CallPairing::Take(const PerfRecord& record, const OnCall& on_call) {
  switch (record.kind) {
    case PerfRecord::Kind::kGapBegin:
      ++open_gaps_;
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
    case PerfRecord::Kind::kCallReturn:
      if (IsOwn(record)) Return(record, on_call);
      return;
  }
}

bool CallPairing::IsOwn(const PerfRecord& record) {
  const bool function = record.kind == PerfRecord::Kind::kCallEnter || record.kind == PerfRecord::Kind::kCallReturn;
  const std::pair key(record.tid, function ? record.number : int64_t{-1});
  return owners_.try_emplace(key, record.owner).first->second == record.owner;
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
}

}  // namespace plimsoll
