#include "common/protocol.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/page_stamp.h"
#include "common/text.h"
#include "common/units.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/message.h"

namespace plimsoll {
namespace {

// `value` and `cap` in words; a cap of 0 is none.
absl::Status CheckAmount(const WorkDemand::Amount& amount, uint64_t cap, const std::string& option,
                         const std::string& cap_in_words) {
  if (cap == 0 || amount.value <= cap) return absl::OkStatus();
  const std::string way_out = amount.lowered_by.empty() ? absl::StrCat("start the agent without ", option)
                                                        : absl::StrCat("lower ", amount.lowered_by,
                                                                       ", or start the agent with a larger ", option);
  return absl::OutOfRangeError(
      absl::StrCat("the agent's ", option, " is ", cap_in_words, ", the plan ", amount.asked, ": ", way_out));
}

// Longer ones come from no agent that a person started.
constexpr size_t kMaxLength = 4096;

// A command that runs by itself: it removes what the agent left before, and ends.
constexpr char kAgentThatEnds[] = " --listen 127.0.0.1:0 --exit-with-stdin </dev/null";
constexpr char kAgentUnit[] = "plimsoll-agent.service";

// The directories of a host's part of a plan, as the plan gives them.
std::vector<std::string> DirsOfPlan(const v1::HostPlan& plan) {
  if (plan.has_check()) return {plan.check().dir()};
  std::vector<std::string> dirs = DirsOf(WorkloadOf(plan));
  if (!plan.ha().data_dir().empty()) dirs.push_back(plan.ha().data_dir());
  return dirs;
}

// Roots that the agent reports it was started with, those that are one of the directories or above one. The root of all
// is left out: pasting it would start an agent that may write anywhere.
std::vector<std::string> RootsAbove(const std::vector<std::string>& dirs, const v1::HostDescription& host) {
  std::vector<std::string> roots;
  for (int i = 0; i + 1 < host.cleanup_command_size(); ++i) {
    if (host.cleanup_command(i) != "--root") continue;
    std::string root = host.cleanup_command(i + 1);
    while (!root.empty() && root.back() == '/') root.pop_back();
    const bool above = std::ranges::any_of(dirs, [&root](const std::string& dir) {
      return absl::StartsWith(absl::StrCat(dir, "/"), absl::StrCat(root, "/"));
    });
    if (!root.empty() && above && std::ranges::count(roots, root) == 0) roots.push_back(std::move(root));
  }
  return roots;
}

}  // namespace

std::string DirectoryOfPath(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

const std::string& DirOf(const v1::LogWorkload& workload, uint32_t writer) {
  const bool own = writer >= 1 && writer <= static_cast<uint32_t>(workload.qm_dirs_size());
  return own ? workload.qm_dirs(static_cast<int>(writer) - 1) : workload.dir();
}

std::vector<std::string> DirsOf(const v1::LogWorkload& workload) {
  if (workload.qm_dirs().empty()) return {workload.dir()};
  std::vector<std::string> dirs;
  std::set<std::string> seen;
  for (const std::string& dir : workload.qm_dirs()) {
    if (seen.insert(dir).second) dirs.push_back(dir);
  }
  return dirs;
}

uint32_t WritersIn(const v1::LogWorkload& workload, const std::string& dir) {
  if (workload.qm_dirs().empty()) return dir == workload.dir() ? workload.qm() : 0;
  return static_cast<uint32_t>(std::ranges::count(workload.qm_dirs(), dir));
}

std::vector<std::string> UsedFiles(const v1::LogWorkload& workload) {
  return {workload.files().begin(), workload.files().begin() + static_cast<int>(CountUsedFiles(workload))};
}

uint64_t NamedFilesIn(const v1::LogWorkload& workload, const std::string& dir) {
  if (!MakesFiles(workload)) return 0;
  if (!UsesPaths(workload)) return dir == workload.dir() ? CountUsedFiles(workload) : 0;
  return static_cast<uint64_t>(std::ranges::count(UsedFiles(workload), dir, DirectoryOfPath));
}

uint64_t FilesIn(const v1::LogWorkload& workload, const std::string& dir) {
  // The run's and the host's directory and its marker; each queue manager's directory, and `active` in it.
  constexpr uint64_t kOfHost = 3;
  constexpr uint64_t kOfWriter = 2;
  // The marker of kept files, or the directory of the others.
  constexpr uint64_t kBesideNamed = 1;
  const uint64_t named = NamedFilesIn(workload, dir);
  if (UsesPaths(workload)) return named > 0 ? named + kBesideNamed : 0;
  if (UsesFiles(workload)) return kOfHost + (named > 0 ? named + kBesideNamed : 0);
  return kOfHost + uint64_t{WritersIn(workload, dir)} * (uint64_t{workload.num_files()} + kOfWriter);
}

absl::Status CheckFreeFiles(const std::string& where, uint64_t total, uint64_t free, uint64_t needed, uint64_t kept,
                            const std::string& lowered_by) {
  if (total == 0 || LeavesFree(free, needed, kept)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      where, " has room for ", FormatCount(free), " more files (inodes), the run makes ", FormatCount(needed),
      " and leaves ", FormatCount(kept), " free: lower ", lowered_by, ", or remove files"));
}

uint64_t ExtentBytes(const v1::LogWorkload& workload) {
  if (UsesFiles(workload) && !MakesFiles(workload)) return 0;
  uint64_t bytes = UsesFiles(workload) ? CountUsedFiles(workload) : uint64_t{workload.qm()} * workload.num_files();
  if (__builtin_mul_overflow(bytes, workload.file_size_bytes(), &bytes)) return std::numeric_limits<uint64_t>::max();
  return bytes;
}

int64_t StepNs(const v1::LogStep& step) {
  int64_t length_ns = 0;
  if (__builtin_add_overflow(std::max<int64_t>(step.duration_ns(), 0), std::max<int64_t>(step.warmup_ns(), 0),
                             &length_ns)) {
    return std::numeric_limits<int64_t>::max();
  }
  return length_ns;
}

int64_t TotalStepNs(const google::protobuf::RepeatedPtrField<v1::LogStep>& steps) {
  int64_t total_ns = 0;
  for (const v1::LogStep& step : steps) {
    if (__builtin_add_overflow(total_ns, StepNs(step), &total_ns)) return std::numeric_limits<int64_t>::max();
  }
  return total_ns;
}

bool AnyWrites(const v1::LogWork& work, uint32_t host, const v1::LogStep& step) {
  const auto here = [&](const v1::LogQueueManager& qm) { return HostOf(qm, DownHostOf(step)) == host; };
  return work.queue_managers().empty() || std::ranges::any_of(work.queue_managers(), here);
}

namespace {

void AddOperation(const char* name, v1::OperationKind kind, v1::LogStep& step) {
  v1::Operation& operation = *step.add_operations();
  operation.set_name(name);
  if (kind != v1::OPERATION_UNSPECIFIED) operation.set_kind(kind);
}

bool IsOperation(const v1::LogStep& step, uint32_t place, const char* name, v1::OperationKind kind) {
  if (place >= static_cast<uint32_t>(step.operations_size())) return false;
  const v1::Operation& operation = step.operations(static_cast<int>(place));
  return operation.name() == name && operation.kind() == kind;
}

constexpr char kWriteName[] = "write";
constexpr std::array<const char*, 2> kPartNames = {"write_call", "sync"};

}  // namespace

void SetOperations(bool parts, v1::LogStep& step) {
  step.clear_operations();
  const uint32_t reads = step.read_percent();
  if (reads == 0 && !parts && !step.has_group_commit()) return;
  if (reads < kOnlyReads) AddOperation(kWriteName, v1::OPERATION_UNSPECIFIED, step);
  if (reads < kOnlyReads && parts) {
    for (const char* const name : kPartNames) AddOperation(name, v1::OPERATION_PART, step);
  }
  if (reads > 0) AddOperation(kReadName, v1::OPERATION_READ, step);
  if (step.has_group_commit()) AddOperation(kCommitName, v1::OPERATION_COMMIT, step);
}

std::optional<uint32_t> ReadOperationOf(const v1::LogStep& step) {
  const auto last = static_cast<uint32_t>(std::max(step.operations_size(), 1)) - 1;
  if (!IsOperation(step, last, kReadName, v1::OPERATION_READ)) return std::nullopt;
  return last;
}

bool IsCall(const v1::LogStep& step, uint32_t operation) {
  return operation < static_cast<uint32_t>(step.operations_size()) &&
         (step.operations(static_cast<int>(operation)).kind() == v1::OPERATION_CALL ||
          step.operations(static_cast<int>(operation)).kind() == v1::OPERATION_COMMIT);
}

std::optional<uint32_t> CommitOperationOf(const v1::LogStep& step) {
  const auto last = static_cast<uint32_t>(std::max(step.operations_size(), 1)) - 1;
  if (last == kMainOperation || !IsOperation(step, last, kCommitName, v1::OPERATION_COMMIT)) return std::nullopt;
  return last;
}

uint32_t KnownOperations(const v1::LogStep& step) {
  uint32_t known = 1;
  if (!IsOperation(step, 0, kWriteName, v1::OPERATION_UNSPECIFIED) && !IsCall(step, 0)) return known;
  while (known <= kPartNames.size() && IsOperation(step, known, kPartNames[known - 1], v1::OPERATION_PART)) ++known;
  while (IsCall(step, known)) ++known;
  return IsOperation(step, known, kReadName, v1::OPERATION_READ) ? known + 1 : known;
}

absl::Status CheckOperations(const v1::LogStep& step) {
  const uint32_t known = KnownOperations(step);
  const std::optional<uint32_t> read = ReadOperationOf(step);
  if (std::ranges::any_of(step.operations(), [](const auto& one) { return one.kind() == v1::OPERATION_CALL; })) {
    return absl::InvalidArgumentError("calls are watched, and writers make none");
  }
  const bool first_known = step.operations().empty() || IsOperation(step, 0, kReadName, v1::OPERATION_READ) ||
                           IsOperation(step, 0, kWriteName, v1::OPERATION_UNSPECIFIED);
  if (!first_known || known < static_cast<uint32_t>(step.operations_size())) {
    const int unknown = first_known ? static_cast<int>(known) : 0;
    return absl::InvalidArgumentError(
        absl::StrCat("operation ", Quoted(step.operations(unknown).name()), " of a step is unknown to this agent"));
  }
  if (IsOperation(step, kWriteCallOperation, kPartNames[0], v1::OPERATION_PART) &&
      !IsOperation(step, kSyncOperation, kPartNames[1], v1::OPERATION_PART)) {
    return absl::InvalidArgumentError("a step measures both parts of its writes, or neither");
  }
  if (step.read_percent() > kOnlyReads) return absl::InvalidArgumentError("read_percent must be 0 to 100");
  if (step.read_percent() > 0 && !read) return absl::InvalidArgumentError("a step that reads must measure reads");
  if ((step.read_percent() == kOnlyReads) != (read == kMainOperation)) {
    return absl::InvalidArgumentError("a step whose operations all read measures its reads alone");
  }
  if (step.has_group_commit() != CommitOperationOf(step).has_value()) {
    return absl::InvalidArgumentError("a step with group commit must measure commits, and no other step can");
  }
  return absl::OkStatus();
}

absl::Status CheckSizeMix(const google::protobuf::RepeatedPtrField<v1::SizeShare>& mix) {
  if (mix.size() < 2 || mix.size() > kMostMixedSizes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "2 to ", kMostMixedSizes, " sizes are needed, each with its share in percent, such as 4k=70,64k=30"));
  }
  std::set<uint64_t> seen;
  uint64_t percent = 0;
  for (const v1::SizeShare& share : mix) {
    const std::string size = FormatSize(share.block_size_bytes());
    if (share.block_size_bytes() == 0 || share.block_size_bytes() % kStampedPageBytes != 0) {
      return absl::InvalidArgumentError(absl::StrCat(size, " is not a multiple of 4k, the size of a page of the log"));
    }
    if (!seen.insert(share.block_size_bytes()).second) {
      return absl::InvalidArgumentError(absl::StrCat(size, " is listed twice"));
    }
    if (share.percent() == 0)
      return absl::InvalidArgumentError(absl::StrCat("the share of ", size, " is 0; leave it out"));
    percent += share.percent();
  }
  if (percent == 100) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the shares are ", percent, " % together, not 100 %"));
}

void AddStartDelay(const v1::StartDelay& more, v1::StartDelay& sum) {
  sum.set_max_ns(std::max(sum.max_ns(), more.max_ns()));
  sum.set_late_writes(sum.late_writes() + more.late_writes());
}

std::string InFlightText(const v1::InFlight& write) {
  const char* const doing = write.filling()                      ? "filling "
                            : write.read_percent() == 0          ? "in one write to "
                            : write.read_percent() == kOnlyReads ? "in one read of "
                                                                 : "in one read or write of ";
  return absl::StrCat("qm", write.qm(), " has been ", doing, write.path());
}

absl::Status CheckDemand(const v1::AgentLimits& limits, const WorkDemand& demand) {
  absl::Status status = CheckAmount(demand.bytes, limits.max_bytes(), "--max-bytes", FormatSize(limits.max_bytes()));
  status.Update(CheckAmount(demand.files, limits.max_files(), "--max-files", absl::StrCat(limits.max_files())));
  status.Update(CheckAmount(demand.threads, limits.max_writers(), "--max-writers", absl::StrCat(limits.max_writers())));
  status.Update(CheckAmount(demand.duration_ns, static_cast<uint64_t>(limits.max_duration_ns()), "--max-duration",
                            FormatDuration(limits.max_duration_ns())));
  return status;
}

namespace {

// Bytes and number of the files that the run makes. Files that exist take no space.
void SetDemandOfFiles(const v1::LogWorkload& workload, WorkDemand& demand) {
  demand.files.value = MakesFiles(workload) ? CountUsedFiles(workload) : 0;
  demand.files.asked = absl::StrCat("asks for ", FormatCount(demand.files.value), " files");
  demand.files.lowered_by = kFilesLoweredBy;
  demand.bytes.asked = absl::StrCat("asks for ", FormatCount(demand.bytes.value), " bytes of files (",
                                    demand.files.value, " x ", FormatSize(workload.file_size_bytes()), ")");
  demand.bytes.lowered_by = "--files or --file-size";
}

// `qms`: what lowers the number of queue managers.
void SetDemandOfExtents(const v1::LogWorkload& workload, const std::string& qms, WorkDemand& demand) {
  demand.files.value = uint64_t{workload.qm()} * workload.num_files();
  demand.files.asked = absl::StrCat("asks for ", FormatCount(demand.files.value), " extents (", workload.qm(), " x ",
                                    workload.num_files(), ")");
  demand.files.lowered_by = absl::StrCat(qms, " or --num-files");
  demand.bytes.asked = absl::StrCat("asks for ", FormatCount(demand.bytes.value), " bytes of extents (", workload.qm(),
                                    " x ", workload.num_files(), " x ", FormatSize(workload.file_size_bytes()), ")");
  demand.bytes.lowered_by = absl::StrCat(qms, ", --num-files or --file-size");
}

}  // namespace

WorkDemand LogDemand(const v1::LogWorkload& workload, const google::protobuf::RepeatedPtrField<v1::LogStep>& steps) {
  // A placement lists its queue managers.
  const bool placed = std::ranges::any_of(steps, [](const v1::LogStep& step) { return step.has_down_host(); });
  const std::string qms = placed ? "the number of queue managers in placement" : "--qm";
  WorkDemand demand;
  demand.bytes.value = ExtentBytes(workload);
  if (UsesFiles(workload)) {
    SetDemandOfFiles(workload, demand);
  } else {
    SetDemandOfExtents(workload, qms, demand);
  }
  demand.threads.value = uint64_t{workload.qm()} + workload.cpu_load();
  demand.threads.asked = absl::StrCat("asks for ", demand.threads.value, " (", workload.qm(), " writers and ",
                                      workload.cpu_load(), " busy threads)");
  demand.threads.lowered_by = absl::StrCat(qms, " or --cpu-load");
  const int64_t total_ns = TotalStepNs(steps);
  demand.duration_ns.value = static_cast<uint64_t>(total_ns);
  demand.duration_ns.asked =
      absl::StrCat("has ", steps.size(), steps.size() == 1 ? " step that takes " : " steps that take ",
                   FormatReadableDuration(total_ns), " with warm-up");
  demand.duration_ns.lowered_by =
      placed ? "--duration, --warmup or --repeat" : "--duration, --warmup, --repeat or the number of block sizes";
  return demand;
}

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::CodedInputStream;

// As deep as protobuf's own parser goes.
constexpr int kMaxDepth = 100;
// A pointer to an element, what the allocator adds, and a string beside its characters.
constexpr uint64_t kElementBytes = 24;
constexpr uint64_t kStringBytes = 40;
// A number of a packed field, or one that is unknown.
constexpr uint64_t kNumberBytes = 16;

constexpr uint32_t kVarint = 0;
constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kDelimited = 2;
constexpr uint32_t kFixed32 = 5;

class CostEstimate {
 public:
  explicit CostEstimate(uint64_t budget) : budget_(budget) {}

  // False where the budget is used up, or the bytes end in the middle.
  bool Add(const Descriptor& type, std::string_view bytes, int depth) {
    if (depth > kMaxDepth || !Spend(SizeOf(type))) return false;
    CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
    while (const uint32_t tag = input.ReadTag()) {
      uint64_t ignored = 0;
      uint32_t ignored32 = 0;
      switch (tag & 7U) {
        case kVarint:
          if (!input.ReadVarint64(&ignored) || !Spend(kNumberBytes)) return false;
          break;
        case kFixed64:
          if (!input.ReadLittleEndian64(&ignored) || !Spend(kNumberBytes)) return false;
          break;
        case kFixed32:
          if (!input.ReadLittleEndian32(&ignored32) || !Spend(kNumberBytes)) return false;
          break;
        case kDelimited: {
          uint32_t length = 0;
          const auto at = [&] { return static_cast<uint32_t>(input.CurrentPosition()); };
          if (!input.ReadVarint32(&length) || length > bytes.size() - at()) return false;
          if (!AddDelimited(type.FindFieldByNumber(static_cast<int>(tag >> 3)), bytes.substr(at(), length), depth) ||
              !input.Skip(static_cast<int>(length))) {
            return false;
          }
          break;
        }
        default:
          return false;  // groups: nothing of ours has them
      }
    }
    return true;
  }

  bool exceeded() const { return exceeded_; }
  uint64_t left() const { return budget_; }

 private:
  bool AddDelimited(const FieldDescriptor* field, std::string_view bytes, int depth) {
    if (field == nullptr || field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      return Spend(kElementBytes + kStringBytes + bytes.size());
    }
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return Spend(kElementBytes) && Add(*field->message_type(), bytes, depth + 1);
    }
    // Packed numbers: each takes a byte at least, and eight in memory, twice that while the array grows.
    return Spend(kNumberBytes * bytes.size());
  }

  bool Spend(uint64_t bytes) {
    exceeded_ = exceeded_ || bytes > budget_;
    if (!exceeded_) budget_ -= bytes;
    return !exceeded_;
  }

  uint64_t SizeOf(const Descriptor& type) {
    const auto [known, added] = sizes_.emplace(&type, 0);
    if (added) {
      known->second = google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->SpaceUsedLong();
    }
    return known->second;
  }

  uint64_t budget_;
  bool exceeded_ = false;
  std::map<const Descriptor*, uint64_t> sizes_;
};

// "ssh" of AGENT_LAUNCH_SSH.
std::string LauncherName(v1::AgentLaunch launch) {
  return absl::AsciiStrToLower(std::string(absl::StripPrefix(v1::AgentLaunch_Name(launch), "AGENT_LAUNCH_")));
}

}  // namespace

absl::StatusOr<uint64_t> ParseCost(const Descriptor& type, std::string_view bytes, uint64_t budget) {
  CostEstimate estimate(budget);
  if (estimate.Add(type, bytes, 0) || !estimate.exceeded()) return budget - estimate.left();
  return absl::ResourceExhaustedError(
      absl::StrCat("a message of ", bytes.size(), " bytes would take more than ", budget >> 20, " MiB of memory"));
}

std::string CleanupCommandLine(const v1::HostJoined& host) {
  // Such a run has no directory; what `create` made is kept. A watch makes no file.
  if (UsesPaths(WorkloadOf(host.plan())) || host.plan().has_watch()) return "";
  const v1::HostDescription& agent = host.description();
  const std::vector<std::string> dirs = DirsOfPlan(host.plan());
  std::string line;
  if (host.launch() != v1::AGENT_LAUNCH_UNSPECIFIED) {
    line = "plimsoll clean";
    if (host.launch() != v1::AGENT_LAUNCH_CHILD) {
      absl::StrAppend(&line, " --hosts ", ShellQuoted(host.address()));
      if (host.launch_words().empty()) absl::StrAppend(&line, " --launch ", LauncherName(host.launch()));
      for (const std::string& word : host.launch_words()) absl::StrAppend(&line, " ", ShellQuoted(word));
    }
    for (const std::string& dir : dirs) absl::StrAppend(&line, " --dir ", ShellQuoted(dir));
    absl::StrAppend(&line, " --run ", ShellQuoted(host.plan().run_id()), " --yes");
  } else if (agent.cleanup_command_size() == 3 && agent.cleanup_command(0) == "systemctl") {
    if (agent.cleanup_command(2) != kAgentUnit) return "";
    line = absl::StrCat("systemctl start ", kAgentUnit);
  } else {
    const std::vector<std::string> roots = RootsAbove(dirs, agent);
    if (roots.empty() || agent.name().empty()) return "";
    line = absl::StrCat("plimsoll-agent --name=", ShellQuoted(agent.name()));
    for (const std::string& root : roots) absl::StrAppend(&line, " --root ", ShellQuoted(root));
    line += kAgentThatEnds;
  }
  // A name or a directory with a character that is not shown would not be the one that is meant.
  return line.size() > kMaxLength || SanitizeForTerminal(line) != line ? "" : line;
}

std::string CleanupAdvice(const v1::HostJoined& host) {
  if (host.plan().has_watch()) return absl::StrCat("the watch has made no files on ", host.label());
  if (const v1::LogWorkload& workload = WorkloadOf(host.plan()); UsesPaths(workload)) {
    return workload.create() ? absl::StrCat("the files that --create has made on ", host.label(), " are kept")
                             : absl::StrCat("the run has made no files on ", host.label());
  }
  const std::string command = CleanupCommandLine(host);
  const std::string killed = absl::StrCat("if the agent on ", host.label(), " was killed, its files remain; ");
  if (command.empty()) {
    return absl::StrCat(killed, "to remove them, start it there again with the --name and --root that it had");
  }
  return absl::StrCat(killed, "to remove them, run this on ", CleanupRunsHere(command) ? "this machine" : host.label(),
                      ": ", command);
}

}  // namespace plimsoll
