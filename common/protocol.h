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
#include "absl/status/statusor.h"
#include "common/units.h"
#include "google/protobuf/descriptor.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// Version of this build: the project's version in CMakeLists.txt.
inline constexpr char kVersion[] = PLIMSOLL_VERSION;

// Raised with every change after which an older peer would misunderstand; peers of another number are refused.
inline constexpr uint32_t kProtocolVersion = 11;

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

// Whether `needed_bytes` more fit where `free_bytes` are free, and leave `min_free_bytes` free.
inline bool LeavesFree(uint64_t free_bytes, uint64_t needed_bytes, uint64_t min_free_bytes) {
  return free_bytes >= needed_bytes && free_bytes - needed_bytes >= min_free_bytes;
}

// Files (inodes) that stay free on a file system with room for `total_files`: 5 %, or none with --min-free 0.
inline uint64_t MinFreeFiles(const v1::LogWorkload& workload, uint64_t total_files) {
  return workload.has_min_free_bytes() && workload.min_free_bytes() == 0 ? 0 : total_files / 20;
}

// What lowers the number of files that a run makes, for CheckFreeFiles.
inline constexpr char kExtentsLoweredBy[] = "--num-files or the number of queue managers";
inline constexpr char kFilesLoweredBy[] = "the number of --files";
inline const char* FilesLoweredBy(const v1::LogWorkload& workload) {
  return workload.files().empty() ? kExtentsLoweredBy : kFilesLoweredBy;
}

// RESOURCE_EXHAUSTED where `needed` more files would leave fewer than `kept` of the `free` ones; `total` 0: not known.
// `lowered_by`: what lowers the number, for the message.
absl::Status CheckFreeFiles(const std::string& where, uint64_t total, uint64_t free, uint64_t needed, uint64_t kept,
                            const std::string& lowered_by = kExtentsLoweredBy);

// Up to here a write counts as started in time (v1::StartDelay::late_writes).
inline constexpr uint64_t kPromptStartNs = 100'000;

// A write that took longer is recorded with this latency: 78 hours, which fit in 48 bits.
inline constexpr uint64_t kLongestLatencyNs = (uint64_t{1} << 48) - 1;

// Places in a step's list of operations. The first one is the write of the log, or the read of a step that only reads.
// Where a sync follows each write, the write's latency includes it, and the call and the sync are measured beside the
// write.
inline constexpr uint32_t kMainOperation = 0;
inline constexpr uint32_t kWriteCallOperation = 1;
inline constexpr uint32_t kSyncOperation = 2;
// LogStep.read_percent of a step that only reads, and the name of the read.
inline constexpr uint32_t kOnlyReads = 100;
inline constexpr char kReadName[] = "read";
// Name of a simulated client's commit, and of that of a recorded write that is played.
inline constexpr char kCommitName[] = "commit";
// Operations that a step has at most.
inline constexpr uint32_t kMaxOperations = 32;

// Lists the operations that the step measures: its writes, with `parts` the two parts of each, its reads, and with
// group commit its clients' commits or those of the recorded writes.
void SetOperations(bool parts, v1::LogStep& step);
// Place of the read in the step's list of operations; nothing if it has none.
std::optional<uint32_t> ReadOperationOf(const v1::LogStep& step);
// Whether the operation at that place of the step's list counts beside the writes: a call of a watched program, or a
// simulated client's commit.
bool IsCall(const v1::LogStep& step, uint32_t operation);
// Place of the commits in the step's list of operations; nothing if it has none.
std::optional<uint32_t> CommitOperationOf(const v1::LogStep& step);
// Number of operations of the step that this version knows: all up to the first one that it does not know. At least 1.
uint32_t KnownOperations(const v1::LogStep& step);

// INVALID_ARGUMENT if the step lists an operation that an agent of this version does not measure, or if its list does
// not fit its share of reads.
absl::Status CheckOperations(const v1::LogStep& step);

// Block sizes that a step mixes at most.
inline constexpr int kMostMixedSizes = 16;

// Returns INVALID_ARGUMENT if no step can mix these sizes: fewer than two, too many, a size twice, a size that is not a
// multiple of a page, or shares whose sum is not 100 %.
absl::Status CheckSizeMix(const google::protobuf::RepeatedPtrField<v1::SizeShare>& mix);

// Adds the start delays of further writes.
void AddStartDelay(const v1::StartDelay& more, v1::StartDelay& sum);

// "qm3 has been in one write to /mnt/mqlog/...": a long operation as messages name it; since when, or for how long,
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
  // Extents, or what else it makes in their place.
  Amount files;
  // Threads that write, and those that keep a CPU busy.
  Amount threads;
  // Time of writing together, in nanoseconds.
  Amount duration_ns;
};

// OUT_OF_RANGE where the work asks for more than a cap allows: option, cap, the value in the plan, the way out. The
// agent asks before it touches anything, the controller before it opens a session.
absl::Status CheckDemand(const v1::AgentLimits& limits, const WorkDemand& demand);

// The host that is down in a step, by its number in the run; nothing if no host is.
inline std::optional<uint32_t> DownHostOf(const v1::LogStep& step) {
  return step.has_down_host() ? std::optional(step.down_host()) : std::nullopt;
}

// Number, in the run, of the host on which a queue manager of a placement writes while that host is down.
inline uint32_t HostOf(const v1::LogQueueManager& qm, std::optional<uint32_t> down_host) {
  return down_host == qm.home() ? qm.standby() : qm.home();
}

// Whether any writer of a host writes in a step; `host` is its number in the run.
bool AnyWrites(const v1::LogWork& work, uint32_t host, const v1::LogStep& step);

// Whether a call of its own follows each write to bring it to stable storage.
inline bool SyncsAfterWrite(v1::SyncMode mode) {
  return mode == v1::SYNC_MODE_FDATASYNC || mode == v1::SYNC_MODE_FSYNC;
}

// Whether the writers use files in place of extents (LogWorkload.files).
inline bool UsesFiles(const v1::LogWorkload& workload) {
  return !workload.files().empty();
}
// Whether they are given by absolute paths, so that the host has no directory of the run.
inline bool UsesPaths(const v1::LogWorkload& workload) {
  return UsesFiles(workload) && workload.files(0).starts_with('/');
}

// Bounds of LogWorkload.files: names, and the bytes of all of them together.
inline constexpr size_t kMaxFiles = 4096;
inline constexpr size_t kMaxFilesText = size_t{128} * 1024;

// Files that the threads of a host use: the first so many of LogWorkload.files.
inline uint32_t CountUsedFiles(const v1::LogWorkload& workload) {
  return std::min(static_cast<uint32_t>(workload.files_size()), workload.qm());
}
// Their names, as the plan gives them.
std::vector<std::string> UsedFiles(const v1::LogWorkload& workload);
// Number, from 0, of the first thread that uses a file: `threads` threads are spread evenly over `files` files, at most
// as many, so that thread t uses file t * files / threads. For `file` = `files` it is the number of threads.
constexpr uint64_t FirstThreadOf(uint64_t file, uint64_t files, uint64_t threads) {
  return (file * threads + files - 1) / files;
}
// Whether the run makes them: plain names, or paths with `create`.
inline bool MakesFiles(const v1::LogWorkload& workload) {
  return UsesFiles(workload) && (!UsesPaths(workload) || workload.create());
}
// Whether each thread takes each block of its part once; `create` implies it.
inline bool IsOnePass(const v1::LogWorkload& workload) {
  return workload.one_pass() || workload.create();
}
// Limit of a pass for which the plan sets none: a day.
inline constexpr int64_t kLongestPassNs = 24 * 3600 * kNsPerSecond;

// Directory of a file that is given by its absolute path.
std::string DirectoryOfPath(const std::string& path);

// Directory of a writer's log; `writer` from 1. A name, as the plan gives it.
const std::string& DirOf(const v1::LogWorkload& workload, uint32_t writer);

// How the writers of a host's part of a plan write, in the steps of a run or in an HA drill.
inline const v1::LogWorkload& WorkloadOf(const v1::HostPlan& plan) {
  return plan.has_ha() ? plan.ha().workload() : plan.log().workload();
}

// The directories in which a host's writers write, each once, in the order of their first writers; the workload's `dir`
// where they have none of their own. Never empty. Names that differ may yet be one directory.
std::vector<std::string> DirsOf(const v1::LogWorkload& workload);

// Writers that write in the directory.
uint32_t WritersIn(const v1::LogWorkload& workload, const std::string& dir);

// Named files that the run makes in the directory; 0 where the files exist already.
uint64_t NamedFilesIn(const v1::LogWorkload& workload, const std::string& dir);

// Files and directories that a host makes in the directory.
uint64_t FilesIn(const v1::LogWorkload& workload, const std::string& dir);

// Bytes of the host's extents, or of the files that the run makes instead. What does not fit into 64 bits counts as the
// largest number.
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

// Bytes of memory that parsing `bytes` as a message of `type` takes at most, by an estimate that is made without
// parsing: time in proportion to the bytes, no memory. RESOURCE_EXHAUSTED beyond `budget`. Bytes that
// are no such message are left to the parser to refuse.
absl::StatusOr<uint64_t> ParseCost(const google::protobuf::Descriptor& type, std::string_view bytes,
                                   uint64_t budget = kParseBudgetBytes);
inline absl::Status CheckParseBudget(const google::protobuf::Descriptor& type, std::string_view bytes,
                                     uint64_t budget = kParseBudgetBytes) {
  return ParseCost(type, bytes, budget).status();
}

// The command that removes what an agent of this run left when it was killed, as one line for a POSIX shell. Made of
// parts that cannot be anything else: the programs plimsoll-agent, plimsoll and systemctl without a path, the run's own
// directories and those above them, the unit plimsoll-agent.service. Somebody may paste it into a root shell, and of
// what the agent reports only its name and its roots are in it. Empty where such a command would not be the right one.
std::string CleanupCommandLine(const v1::HostJoined& host);

// Whether that is run on the controller's machine; else on the host.
inline bool CleanupRunsHere(const std::string& command_line) {
  return command_line.rfind("plimsoll ", 0) == 0;
}

// What to do about the files of a lost host, as a clause.
std::string CleanupAdvice(const v1::HostJoined& host);

}  // namespace plimsoll
