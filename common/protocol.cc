#include "common/protocol.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

bool StartsKnownProgram(const v1::HostDescription& host) {
  const std::string& program = host.cleanup_command(0);
  const std::string first = host.cleanup_command_size() > 1 ? host.cleanup_command(1) : "";
  if (program == "systemctl") {
    return host.cleanup_command_size() == 3 && first == "start" && absl::EndsWith(host.cleanup_command(2), ".service");
  }
  if (!absl::StartsWith(program, "/")) return false;
  return absl::EndsWith(program, "/plimsoll-agent") || (absl::EndsWith(program, "/plimsoll") && first == "clean");
}

}  // namespace

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
  return static_cast<uint32_t>(std::count(workload.qm_dirs().begin(), workload.qm_dirs().end(), dir));
}

uint64_t ExtentBytes(const v1::LogWorkload& workload) {
  uint64_t bytes = uint64_t{workload.qm()} * workload.num_files();
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
  return work.queue_managers().empty() || std::any_of(work.queue_managers().begin(), work.queue_managers().end(), here);
}

void AddStartDelay(const v1::StartDelay& more, v1::StartDelay& sum) {
  sum.set_max_ns(std::max(sum.max_ns(), more.max_ns()));
  sum.set_late_writes(sum.late_writes() + more.late_writes());
}

std::string InFlightText(const v1::InFlight& write) {
  return absl::StrCat("qm", write.qm(), " has been ", write.filling() ? "filling " : "in one write to ", write.path());
}

absl::Status CheckDemand(const v1::AgentLimits& limits, const WorkDemand& demand) {
  absl::Status status = CheckAmount(demand.bytes, limits.max_bytes(), "--max-bytes", FormatSize(limits.max_bytes()));
  status.Update(CheckAmount(demand.threads, limits.max_writers(), "--max-writers", absl::StrCat(limits.max_writers())));
  status.Update(CheckAmount(demand.duration_ns, static_cast<uint64_t>(limits.max_duration_ns()), "--max-duration",
                            FormatDuration(limits.max_duration_ns())));
  return status;
}

WorkDemand LogDemand(const v1::LogWorkload& workload, const google::protobuf::RepeatedPtrField<v1::LogStep>& steps) {
  WorkDemand demand;
  demand.bytes.value = ExtentBytes(workload);
  demand.bytes.asked = absl::StrCat("asks for ", FormatCount(demand.bytes.value), " bytes of extents (", workload.qm(),
                                    " x ", workload.num_files(), " x ", FormatSize(workload.file_size_bytes()), ")");
  // A placement lists its queue managers.
  const bool placed =
      std::any_of(steps.begin(), steps.end(), [](const v1::LogStep& step) { return step.has_down_host(); });
  const std::string qms = placed ? "the number of queue managers in placement" : "--qm";
  demand.bytes.lowered_by = absl::StrCat(qms, ", --num-files or --file-size");
  demand.threads.value = uint64_t{workload.qm()} + workload.cpu_load();
  demand.threads.asked = absl::StrCat("asks for ", demand.threads.value, " (", workload.qm(), " writers and ",
                                      workload.cpu_load(), " busy threads)");
  demand.threads.lowered_by = absl::StrCat(qms, " or --cpu-load");
  const int64_t total_ns = TotalStepNs(steps);
  demand.duration_ns.value = static_cast<uint64_t>(total_ns);
  demand.duration_ns.asked =
      absl::StrCat("has ", steps.size(), steps.size() == 1 ? " step that takes " : " steps that take ",
                   FormatDuration(total_ns), " with warm-up");
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

}  // namespace

absl::Status CheckParseBudget(const Descriptor& type, std::string_view bytes, uint64_t budget) {
  CostEstimate estimate(budget);
  if (estimate.Add(type, bytes, 0) || !estimate.exceeded()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("a message of ", bytes.size(), " bytes would take more than ", budget >> 20, " MiB of memory"));
}

std::string CleanupCommandLine(const v1::HostDescription& host) {
  if (host.cleanup_command_size() == 0 || !StartsKnownProgram(host)) return "";
  std::string line;
  for (const std::string& argument : host.cleanup_command()) {
    absl::StrAppend(&line, line.empty() ? "" : " ", ShellQuoted(argument));
    if (line.size() > kMaxLength) return "";
  }
  return SanitizeForTerminal(line);
}

std::string CleanupAdvice(const std::string& label, const v1::HostDescription& host) {
  const std::string command = CleanupCommandLine(host);
  if (command.empty()) return "";
  return absl::StrCat("if the agent on ", label, " was killed, its files remain; to remove them, run this on ", label,
                      ": ", command);
}

}  // namespace plimsoll
