#include "agent/watch/function_probes.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

// "plimsoll_PID_NUMBER": the process that defined the probes.
constexpr char kGroupPrefix[] = "plimsoll_";

#if defined(__x86_64__)
constexpr char kFifthArgument[] = " fifth=%r8:u64";
#else
constexpr char kFifthArgument[] = "";
#endif

}  // namespace

bool HasBufferLength(const std::string& function) {
  return function == "MQPUT" || function == "MQPUT1" || function == "MQGET";
}

bool FunctionProbes::HasFifthArgument() {
  return sizeof(kFifthArgument) > 1;
}

absl::StatusOr<FunctionProbes> FunctionProbes::Create() {
  PLIMSOLL_ASSIGN_OR_RETURN(TraceFs tracefs, TraceFs::Open());
  FunctionProbes probes(std::move(tracefs));
  probes.RemoveOrphans();
  return probes;
}

FunctionProbes::FunctionProbes(TraceFs tracefs) : tracefs_(std::move(tracefs)) {
  static std::atomic<uint32_t> made{0};
  group_ = absl::StrCat(kGroupPrefix, getpid(), "_", made.fetch_add(1));
}

FunctionProbes::~FunctionProbes() {
  for (const std::string& name : names_) tracefs_.DefineUprobe(absl::StrCat("-:", group_, "/", name)).IgnoreError();
}

void FunctionProbes::RemoveOrphans() const {
  for (const std::string& line : tracefs_.Uprobes()) {
    // "p:plimsoll_4711_0/f0 /opt/mqm/lib64/libmqm_r.so:0x0000000000001234 fifth=%r8:u64"
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    const size_t colon = words[0].find(':');
    if (colon == std::string::npos) continue;
    const std::string name = words[0].substr(colon + 1);
    absl::string_view number = name;
    int pid = 0;
    if (!absl::ConsumePrefix(&number, kGroupPrefix)) continue;
    if (!absl::SimpleAtoi(number.substr(0, number.find('_')), &pid) || pid == getpid()) continue;
    if (access(absl::StrCat("/proc/", pid).c_str(), F_OK) == 0) continue;
    // One that is in use stays.
    tracefs_.DefineUprobe(absl::StrCat("-:", name)).IgnoreError();
  }
}

absl::StatusOr<std::vector<PerfEventSpec>> FunctionProbes::Add(const std::string& path, uint64_t offset,
                                                               const std::string& function, int64_t number) {
  if (absl::StrContains(path, ' ') || absl::StrContains(path, ':')) {
    return absl::InvalidArgumentError(absl::StrCat("functions of ", path,
                                                   " cannot be timed: blanks and colons in a path "
                                                   "mean something to the kernel; use another path to it"));
  }
  std::vector<PerfEventSpec> specs;
  for (const bool entry : {true, false}) {
    const std::string name = absl::StrCat(entry ? "f" : "r", names_.size());
    PLIMSOLL_RETURN_IF_ERROR(
        WithContext(function, tracefs_.DefineUprobe(absl::StrFormat("%s:%s/%s %s:0x%x%s", entry ? "p" : "r", group_,
                                                                    name, path, offset, entry ? kFifthArgument : ""))));
    names_.push_back(name);
    PerfEventSpec& spec = specs.emplace_back();
    spec.kind = entry ? PerfRecord::Kind::kCallEnter : PerfRecord::Kind::kCallReturn;
    PLIMSOLL_ASSIGN_OR_RETURN(spec.config, tracefs_.IdOf(absl::StrCat(group_, "/", name)));
    spec.number = number;
    spec.function = function;
    spec.has_argument = entry && HasFifthArgument();
  }
  return specs;
}

}  // namespace plimsoll
