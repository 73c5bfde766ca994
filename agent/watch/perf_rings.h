// The kernel's perf events of watched threads, and the rings that their records arrive in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/watch/perf_records.h"
#include "common/posix.h"

namespace plimsoll {

// What is opened for each watched thread.
struct PerfEventSpec {
  PerfRecord::Kind kind = PerfRecord::Kind::kSyscallEnter;
  // Number of the tracepoint, or of the function's probe.
  uint64_t config = 0;
  // The probed function: its number in the records, and its name for errors.
  int64_t number = 0;
  std::string function;
  // Whether the record holds the fifth argument.
  bool has_argument = false;
  // Which records the kernel keeps ("id == 1 || id == 18"); empty: all.
  std::string filter;
  // Whether a new program in the process is reported, too.
  bool reports_exec = false;
};

// One ring for each CPU, into which all events of that CPU write. An event belongs to one thread and one CPU, and the
// threads that its thread starts inherit it. So a watched process costs other processes nothing but a look at an empty
// list, and threads of its own cannot escape. Events per CPU, because the kernel gives inherited events no ring
// otherwise. Not thread-safe.
class PerfRings {
 public:
  // Makes the rings. An error names what the kernel refuses, and the way out.
  static absl::StatusOr<std::unique_ptr<PerfRings>> Create();
  ~PerfRings();
  PerfRings(const PerfRings&) = delete;
  PerfRings& operator=(const PerfRings&) = delete;

  // Events that may be open at a time: each takes a file descriptor and some 1.5 KiB of the kernel's memory.
  static constexpr size_t kMostEvents = 200'000;

  // Opens the events for one thread, disabled unless Enable was called. All of them, or none. OK if the thread has
  // ended.
  absl::Status Attach(uint32_t pid, uint32_t tid, std::span<const PerfEventSpec> specs);
  // Opens them for all threads of a process. Repeats until no thread is new.
  absl::Status AttachProcess(uint32_t pid, std::span<const PerfEventSpec> specs);
  // Closes the events of a process.
  void Detach(uint32_t pid);
  void DetachAll();
  // Whether events record. Threads that inherit events follow.
  void Enable(bool enabled);

  // Appends what has arrived, ring by ring; in each ring the records are in the order of time. Where a ring is nearly
  // full, records may be lost that the kernel has not reported yet: a gap covers that time.
  void Drain(std::vector<PerfRecord>& records);

  // Records that the kernel dropped so far.
  uint64_t lost() const;
  size_t events() const { return events_.size(); }
  // Whether the host has a CPU now that it did not have when the rings were made: its records are missing.
  bool CpusChanged() const;

 private:
  struct Ring;
  struct Event {
    UniqueFd fd;
    uint64_t id = 0;
    uint32_t pid = 0;
    uint32_t tid = 0;
  };

  PerfRings();
  absl::Status AddRing(int cpu, size_t bytes);
  absl::Status OpenEvent(const PerfEventSpec& spec, uint32_t pid, uint32_t tid, const Ring& ring);

  // Whether threads alone inherit events. Before Linux 5.13 processes that a thread starts do, too: their records are
  // passed over.
  const bool inherits_threads_alone_;
  const ThreadField thread_field_;
  std::string cpus_;
  std::vector<std::unique_ptr<Ring>> rings_;
  std::vector<Event> events_;
  std::unordered_map<uint64_t, PerfEventInfo> infos_;
  bool enabled_ = false;
};

// The numbers in a list such as "0-3,8": how the kernel writes CPUs.
std::vector<int> ParseCpuList(const std::string& text);

// Why perf_event_open failed for `subject`, with the way out.
absl::Status PerfError(const std::string& subject, int error_number);

}  // namespace plimsoll
