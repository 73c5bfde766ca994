// Records of watched threads, as tests make them up.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

#include "agent/watch/perf_records.h"

namespace plimsoll::tests {

inline constexpr uint32_t kPid = 4711;

inline PerfRecord Enter(int64_t time_ns, uint32_t tid, int64_t number, uint64_t first = 0, uint64_t second = 0,
                        uint64_t third = 0, uint64_t fourth = 0) {
  PerfRecord record;
  record.kind = PerfRecord::Kind::kSyscallEnter;
  record.time_ns = time_ns;
  record.pid = kPid;
  record.tid = tid;
  record.owner = tid;
  record.number = number;
  record.args = {first, second, third, fourth, 0, 0};
  return record;
}
inline PerfRecord Exit(int64_t time_ns, uint32_t tid, int64_t number, int64_t result = 0) {
  PerfRecord record = Enter(time_ns, tid, number);
  record.kind = PerfRecord::Kind::kSyscallExit;
  record.result = result;
  return record;
}
inline PerfRecord CallEnter(int64_t time_ns, uint32_t tid, int64_t function, uint64_t fifth = 0) {
  PerfRecord record = Enter(time_ns, tid, function, fifth);
  record.kind = PerfRecord::Kind::kCallEnter;
  return record;
}
inline PerfRecord CallReturn(int64_t time_ns, uint32_t tid, int64_t function) {
  PerfRecord record = Enter(time_ns, tid, function);
  record.kind = PerfRecord::Kind::kCallReturn;
  return record;
}
inline PerfRecord Border(PerfRecord::Kind kind, int64_t time_ns) {
  PerfRecord record;
  record.kind = kind;
  record.time_ns = time_ns;
  return record;
}

}  // namespace plimsoll::tests
