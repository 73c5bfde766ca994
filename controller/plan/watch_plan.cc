#include "controller/plan/watch_plan.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/field_rules.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_kinds.h"
#include "controller/plan/plan_schema.h"
#include "controller/report/run_kind.h"
#include "controller/report/watched.h"

namespace plimsoll {
namespace {

constexpr int64_t kWatchNs = 60 * kNsPerSecond;
// As an agent takes them.
constexpr int kMostQueueManagers = 64;
// As many operations as a comparison takes beside the main one.
constexpr int kMostCalls = 8;
// As MQ has it.
constexpr size_t kLongestQueueManager = 48;
constexpr const char* kMqCalls[] = {"MQPUT", "MQPUT1", "MQGET", "MQCMIT", "MQBACK"};

void FillWatchDefaults(v1::TestPlan& plan) {
  FillMessage(*plan.mutable_watch());
  if (!plan.has_duration_ns()) plan.set_duration_ns(kWatchNs);
  if (!plan.has_warmup_ns()) plan.set_warmup_ns(0);
  // Spelled as the library has them.
  for (std::string& call : *plan.mutable_watch()->mutable_calls()) {
    const std::string upper = absl::AsciiStrToUpper(call);
    if (std::ranges::find(kMqCalls, upper) != std::end(kMqCalls)) call = upper;
  }
}

v1::LogStep WatchStep(const v1::TestPlan& plan) {
  v1::LogStep step;
  step.set_duration_ns(plan.duration_ns());
  step.set_warmup_ns(plan.warmup_ns());
  if (WatchesLog(plan.watch())) step.add_operations()->set_name("write");
  for (const std::string& call : plan.watch().calls()) {
    v1::Operation& operation = *step.add_operations();
    operation.set_name(CallName(call));
    operation.set_kind(v1::OPERATION_CALL);
  }
  return step;
}

bool IsQueueManagerName(const std::string& name) {
  const auto fits = [](char letter) {
    return absl::ascii_isalnum(static_cast<unsigned char>(letter)) ||
           std::string("._/%").find(letter) != std::string::npos;
  };
  return !name.empty() && name.size() <= kLongestQueueManager && std::ranges::all_of(name, fits);
}

class WatchChecker {
 public:
  explicit WatchChecker(const v1::TestPlan& plan) : plan_(plan), watch_(plan.watch()) {}

  std::vector<PlanProblem> Run() {
    for (const RunKind other : {RunKind::kHa, RunKind::kLimit, RunKind::kAccept, RunKind::kPlacement}) {
      if (!HasSection(plan_, other)) continue;
      Add(PlanKey(FactsOf(other).section), " and ", PlanKey("watch"), " are both given: a plan is ",
          FactsOf(other).noun, ", or watches a program");
      return problems_;
    }
    CheckSubject();
    CheckCalls();
    CheckWriting();
    CheckCriteria();
    return problems_;
  }

 private:
  template <typename... Parts>
  void Add(const Parts&... parts) {
    problems_.emplace_back(parts...);
  }

  // Which processes, and which directory of a log.
  void CheckSubject() {
    const PlanKey names("watch.queue_managers");
    const PlanKey pid("watch.pid");
    const PlanKey log_dir("watch.log_dir");
    const int managers = watch_.queue_managers_size();
    if (managers == 0 && !watch_.has_pid()) {
      Add(names, " is missing: name the queue managers to watch, or a process with ", pid,
          ", or put -- and a program with its arguments at the end of the command");
    }
    if (managers > 0 && watch_.has_pid()) {
      Add(names, " and ", pid, " are both given: watch queue managers, or one process");
    }
    if (watch_.has_pid() && plan_.hosts_size() > 1) {
      Add(pid, ": ", PlanKey("hosts", "--hosts"), " names ", plan_.hosts_size(),
          " hosts, and a process is on one of them: name that one");
    }
    if (managers > kMostQueueManagers) {
      Add(names, ": ", managers, " are listed, and a watch takes at most ", kMostQueueManagers,
          ": watch fewer at a time");
      return;
    }
    std::set<std::string> seen;
    for (const std::string& name : watch_.queue_managers()) {
      if (!IsQueueManagerName(name)) {
        Add(names, ": ", Quoted(name), " is not the name of a queue manager: 1 to ", kLongestQueueManager,
            " of A-Z a-z 0-9 . _ / %");
      }
      if (!seen.insert(name).second) Add(names, ": ", name, " is listed twice; list every queue manager once");
    }
    if (watch_.has_log_dir() && managers > 1) {
      Add(log_dir, ": ", managers, " queue managers have logs of their own: leave it out, or watch one of them");
    }
    if (watch_.has_log_dir() && watch_.log_dir().substr(0, 1) != "/") {
      Add(log_dir, ": ", Quoted(watch_.log_dir()), " is not absolute: begin it with '/'");
    }
    if (watch_.has_pid() && !WatchesLog(watch_) && watch_.calls().empty()) {
      Add(pid, ": nothing of the process is watched: give the directory of its log with ", log_dir, ", or calls with ",
          PlanKey("watch.calls"));
    }
    if (watch_.profile() && !WatchesLog(watch_)) {
      Add(PlanKey("watch.profile"), ": only calls are watched; give the directory of the log with ", log_dir);
    }
  }

  void CheckCalls() {
    const PlanKey calls("watch.calls");
    if (watch_.calls_size() > kMostCalls) {
      Add(calls, ": ", watch_.calls_size(), " calls; at most ", kMostCalls, " are watched");
    }
    std::set<std::string> seen;
    for (const std::string& call : watch_.calls()) {
      const std::string name = CallName(call);
      const size_t colon = call.rfind(':');
      const bool known = std::ranges::find(kMqCalls, call) != std::end(kMqCalls);
      if (!known && (colon == std::string::npos || colon == 0 || !IsPlainName(name))) {
        Add(calls, ": ", Quoted(call), " is neither one of ", absl::StrJoin(kMqCalls, ", "),
            " nor LIBRARY:FUNCTION, such as libmqm_r.so:MQPUT");
      } else if (!seen.insert(name).second) {
        Add(calls, ": ", name, " is listed twice; list every function once");
      }
    }
  }

  // Options that say how a run writes.
  void CheckWriting() {
    const auto refuse = [this](const PlanKey& key, const std::string& where = "") {
      Add(key, where, ": a watched program writes as it does; leave it out");
    };
    const auto refuse_all = [&](const v1::LogWorkload& workload, const std::string& where) {
      for (const auto& field : FieldsOf(*v1::LogWorkload::descriptor())) {
        if (CountOf(field, workload) > 0) refuse(PlanKey("workload." + FieldKey(field)), where);
      }
    };
    refuse_all(plan_.workload(), "");
    for (const v1::HostSpec& host : plan_.hosts()) refuse_all(host.workload(), " on " + host.address());
    if (!plan_.block_size_bytes().empty() && !plan_.has_block_size_mix()) refuse(PlanKey("block_size"));
    if (plan_.keep_files()) refuse(PlanKey("keep_files"));
    if (plan_.has_seed()) refuse(PlanKey("seed"));
    if (plan_.settle_ns() > 0) refuse(PlanKey("settle"));
    if (plan_.repeat() > 1) Add(PlanKey("repeat"), ": a watch has one step; leave it out, and watch for longer");
  }

  void CheckCriteria() {
    for (const std::string& text : plan_.criteria()) {
      const auto criterion = ParseCriterion(text);
      if (!criterion.ok()) continue;  // the check of any plan has named it
      const auto add = [&](const std::string& why) { Add(PlanKey("criteria"), ": ", Quoted(text), why); };
      if (criterion->metric == Metric::kRateAchieved || criterion->metric == Metric::kNotIssued) {
        add(" is about a target rate, which a watched program does not have: leave it out");
      }
      if (criterion->metric == Metric::kFairness) {
        add(": watched queue managers have loads of their own: leave it out");
      }
    }
  }

  const v1::TestPlan& plan_;
  const v1::WatchPlan& watch_;
  std::vector<PlanProblem> problems_;
};

std::vector<PlanProblem> WatchPlanProblems(const v1::TestPlan& plan) {
  return WatchChecker(plan).Run();
}

}  // namespace

void ForgetWriting(const v1::TestPlan& given, v1::TestPlan& filled) {
  if (!filled.has_watch()) return;
  *filled.mutable_workload() = given.workload();
  if (filled.workload().ByteSizeLong() == 0) filled.clear_workload();
  *filled.mutable_block_size_bytes() = given.block_size_bytes();
}

v1::LogWorkload WatchedWorkload(const v1::WatchPlan& watch) {
  v1::LogWorkload workload;
  workload.set_qm(static_cast<uint32_t>(std::max(watch.queue_managers_size(), 1)));
  return workload;
}

v1::WatchWork MakeWatchWork(const v1::TestPlan& plan) {
  v1::WatchWork work;
  *work.mutable_watch() = plan.watch();
  for (const v1::LogStep& step : ExpandSteps(plan)) *work.add_steps() = step;
  work.set_trace(plan.trace() == v1::TOGGLE_ON);
  work.set_stall_ns(plan.has_stall_ns() ? plan.stall_ns() : kUsualStallNs);
  return work;
}

constinit const PlanKind kWatchPlanKind{
    .kind = RunKind::kWatch,
    .fill = FillWatchDefaults,
    .problems = WatchPlanProblems,
    .steps = [](const v1::TestPlan& plan) { return std::vector<v1::LogStep>{WatchStep(plan)}; },
    .no_rounds = "a watch has one step",
    .reference = R"(
A program to watch, for `plimsoll watch` ([watch.md](watch.md)). `duration` is 60 seconds and `warmup` 0 where they are not given. The
program writes as it does: such a plan has no `workload`, no block sizes, and none of the other keys that say how a run writes.
)"};

}  // namespace plimsoll
