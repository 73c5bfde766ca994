// What the kernel writes into a perf ring, as far as watching needs it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace plimsoll {

// One record, or the border of a gap: a time in which records may be missing.
struct PerfRecord {
  enum class Kind : uint8_t { kSyscallEnter, kSyscallExit, kCallEnter, kCallReturn, kExec, kGapBegin, kGapEnd };
  Kind kind = Kind::kSyscallEnter;
  // CLOCK_MONOTONIC.
  int64_t time_ns = 0;
  uint32_t pid = 0;
  // Identifies the thread. An agent in a PID namespace of its own has another number for it.
  uint32_t tid = 0;
  // Thread that the event was opened for; threads that it starts inherit the event. A thread that has inherited one
  // and has one of its own is reported twice, under two owners.
  uint32_t owner = 0;
  // Number of the system call, or place of the function among those that are watched.
  int64_t number = 0;
  // Of kSyscallEnter; of kCallEnter, [0] is the fifth argument where the machine's registers hold it.
  std::array<uint64_t, 6> args{};
  // Of kSyscallExit.
  int64_t result = 0;
};

// What an event's records mean, by the event's number.
struct PerfEventInfo {
  PerfRecord::Kind kind = PerfRecord::Kind::kSyscallEnter;
  // Process and thread that the event was opened for.
  uint32_t pid = 0;
  uint32_t owner = 0;
  // Number of the probed function.
  int64_t number = 0;
  // At a function's entry: whether the record holds its fifth argument.
  bool has_argument = false;
};

// How a sample names the process and the thread that it is of.
enum class ThreadField : uint8_t {
  // The thread is in the tracepoint's own fields, and the process is the event's.
  kOfTracepoint,
  // Process and thread are fields of the sample, which cost the watched thread some 70 ns a record.
  kOfSample,
};

// Sample fields that the parser expects of every event.
uint64_t PerfSampleType(ThreadField thread);

// Turns the bytes of one ring into records. Not thread-safe.
class PerfRecordParser {
 public:
  // `info_of` returns null for an event that is closed by now.
  PerfRecordParser(ThreadField thread, std::function<const PerfEventInfo*(uint64_t id)> info_of)
      : thread_(thread), info_of_(std::move(info_of)) {}

  // Appends the records of `bytes`, whole records of one ring in the order in which the kernel wrote them. A record
  // that says that others were lost becomes a gap, from the record before it in the ring to itself. Records of kinds
  // that were not asked for, and records that are malformed, are passed over; malformed ones count as lost.
  void Parse(std::span<const uint8_t> bytes, std::vector<PerfRecord>& records);

  // Records that the kernel dropped because the ring was full.
  uint64_t lost() const { return lost_; }
  // Time of the ring's last record; 0 before the first one.
  int64_t last_time_ns() const { return last_time_ns_; }

 private:
  void ParseSample(std::span<const uint8_t> body, std::vector<PerfRecord>& records);
  void ParseLost(std::span<const uint8_t> body, std::vector<PerfRecord>& records);
  void ParseExec(std::span<const uint8_t> body, std::vector<PerfRecord>& records);

  const ThreadField thread_;
  const std::function<const PerfEventInfo*(uint64_t id)> info_of_;
  uint64_t lost_ = 0;
  int64_t last_time_ns_ = 0;
};

}  // namespace plimsoll
