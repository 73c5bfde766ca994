// What both sides of the protocol agree on: versions, what a plan may ask of a host, what a message may cost.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/descriptor.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Version of this build: the project's version in CMakeLists.txt.
inline constexpr char kVersion[] = PLIMSOLL_VERSION;

// Raised with every change after which an older peer would misunderstand; peers of another number are refused.
inline constexpr uint32_t kProtocolVersion = 9;

// Metadata of a call that opens a session: the key of the session beside which it is opened (Prepare.beside_key).
inline constexpr char kBesideKey[] = "plimsoll-beside-bin";

// Port of an agent where an address names none.
inline constexpr uint16_t kDefaultPort = 7461;

// Directories that an agent describes in one call, and in which the writers of a host write, at most.
inline constexpr size_t kMaxDirectories = 64;

// Hosts that a run has at most.
inline constexpr size_t kMaxRunHosts = 4096;

// Bytes that stay free on a file system of `total_bytes`: `asked` (--min-free), or 5 % of the file system or 256 MiB,
// whichever is greater. Agent and controller check against the same number.
inline uint64_t MinFreeBytes(std::optional<uint64_t> asked, uint64_t total_bytes) {
  constexpr uint64_t kLeastBytes = uint64_t{256} << 20;
  return asked.value_or(std::max(total_bytes / 20, kLeastBytes));
}
inline uint64_t MinFreeBytes(const v1::LogWorkload& workload, uint64_t total_bytes) {
  return MinFreeBytes(workload.has_min_free_bytes() ? std::optional(workload.min_free_bytes()) : std::nullopt,
                      total_bytes);
}

// Up to here a write counts as started in time (v1::StartDelay::late_writes).
inline constexpr uint64_t kPromptStartNs = 100'000;

// Adds the start delays of further writes.
void AddStartDelay(const v1::StartDelay& more, v1::StartDelay& sum);

// "qm3 has been in one write to /mnt/mqlog/...": a long write as messages name it; since when, or for how long,
// follows.
std::string InFlightText(const v1::InFlight& write);

// What one piece of work asks of its host at most. Amounts that do not fit are the largest number.
struct WorkDemand {
  // One amount, and how the errors speak of it.
  struct Amount {
    uint64_t value = 0;
    // What the plan asks for, as part of a sentence: "96m bytes of extents (2 x 3 x 16m)".
    std::string asked;
    // What lowers it: "--qm, --num-files or --file-size". Empty: nothing does.
    std::string lowered_by;
  };
  // Bytes of all files together.
  Amount bytes;
  // Threads that write, and those that keep a CPU busy.
  Amount threads;
  // Time of writing together, in nanoseconds.
  Amount duration_ns;
};

// OUT_OF_RANGE where the work asks for more than a cap allows: option, cap, the value in the plan, the way out. The
// agent asks before it touches anything, the controller before it opens a session.
absl::Status CheckDemand(const v1::AgentLimits& limits, const WorkDemand& demand);

// The host that is down in a step, by its number in the run; nothing: none is.
inline std::optional<uint32_t> DownHostOf(const v1::LogStep& step) {
  return step.has_down_host() ? std::optional(step.down_host()) : std::nullopt;
}

// Number, in the run, of the host on which a queue manager of a placement writes while that host is down.
inline uint32_t HostOf(const v1::LogQueueManager& qm, std::optional<uint32_t> down_host) {
  return down_host == qm.home() ? qm.standby() : qm.home();
}

// Whether any writer of a host writes in a step; `host` is its number in the run.
bool AnyWrites(const v1::LogWork& work, uint32_t host, const v1::LogStep& step);

// Directory of a writer's log; `writer` from 1. A name, as the plan gives it.
const std::string& DirOf(const v1::LogWorkload& workload, uint32_t writer);

// The directories in which a host's writers write, each once, in the order of their first writers; the workload's `dir`
// where they have none of their own. Never empty. Names that differ may yet be one directory.
std::vector<std::string> DirsOf(const v1::LogWorkload& workload);

// Writers that write in the directory.
uint32_t WritersIn(const v1::LogWorkload& workload, const std::string& dir);

// Bytes of the host's extents. What does not fit into 64 bits counts as the largest number.
uint64_t ExtentBytes(const v1::LogWorkload& workload);

// Writing time of one step, warm-up included, and of all; not negative. What does not fit counts as the largest number.
int64_t StepNs(const v1::LogStep& step);
int64_t TotalStepNs(const google::protobuf::RepeatedPtrField<v1::LogStep>& steps);

// What log work asks for.
WorkDemand LogDemand(const v1::LogWorkload& workload, const google::protobuf::RepeatedPtrField<v1::LogStep>& steps);

// Memory that one parsed message may take, in bytes. Parsed messages are larger than their bytes: an empty submessage
// takes two bytes on the wire and some hundred in memory. The largest message that an agent sends (64 MiB of frames)
// stays below it.
inline constexpr uint64_t kParseBudgetBytes = uint64_t{512} << 20;

// RESOURCE_EXHAUSTED where parsing `bytes` as a message of `type` would take more than `budget` bytes of memory, by an
// estimate that is made without parsing: time in proportion to the bytes, no memory. Bytes that are no such message are
// left to the parser to refuse.
absl::Status CheckParseBudget(const google::protobuf::Descriptor& type, std::string_view bytes,
                              uint64_t budget = kParseBudgetBytes);

// HostDescription.cleanup_command as one line for a POSIX shell, without what controls a terminal. Empty where the
// agent sent none, and where what it sent starts another program than plimsoll-agent, `plimsoll clean` or `systemctl
// start`: somebody may paste it into a root shell.
std::string CleanupCommandLine(const v1::HostDescription& host);

// What to do about the files of a lost host, as a clause; empty without such a command.
std::string CleanupAdvice(const std::string& label, const v1::HostDescription& host);

}  // namespace plimsoll
