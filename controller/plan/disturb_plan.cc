#include "controller/plan/disturb_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/field_rules.h"
#include "common/text.h"
#include "controller/plan/placement.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_kinds.h"
#include "controller/plan/plan_schema.h"
#include "controller/report/log_size.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

constexpr int kMostDisturbances = 100;
// Writes of so long before the first disturbance may count as later ones: their numbers arrive some time after them.
constexpr int64_t kCountedLateNs = kNsPerSecond;

using Arguments = google::protobuf::RepeatedPtrField<std::string>;

std::string DisturbCommandText(const Arguments& arguments) {
  return absl::StrJoin(arguments, " ", [](std::string* line, const std::string& argument) {
    absl::StrAppend(line, ShellQuoted(argument));
  });
}

// For how long `undo` waits; without one, nothing does.
int64_t HoldNs(const v1::Disturbance& one) {
  return one.undo().empty() ? 0 : one.hold_ns();
}

void FillDisturbances(v1::TestPlan& plan) {
  for (v1::Disturbance& one : *plan.mutable_disturb()) {
    if (one.name().empty() && !one.do_().empty()) one.set_name(one.do_(0).substr(one.do_(0).rfind('/') + 1));
    const bool holds = one.has_hold_ns() || !one.undo().empty();
    FillMessage(one);
    if (!holds) one.clear_hold_ns();
  }
}

// Collects what is wrong.
class DisturbChecker {
 public:
  explicit DisturbChecker(const v1::TestPlan& plan) : plan_(plan) {}

  std::vector<PlanProblem> Run() {
    if (const RunKindFacts& kind = FactsOf(RunKindOf(plan_)); kind.kind != RunKind::kDisturb) {
      Add(PlanKey("disturb"), ": ", kind.noun, " takes none; give each its own plan");
      return problems_;
    }
    CheckStep();
    CheckSync();
    if (plan_.disturb_size() > kMostDisturbances) {
      Add(PlanKey("disturb"), ": ", plan_.disturb_size(), " disturbances; a run has at most ", kMostDisturbances);
      return problems_;
    }
    bool timed = true;
    for (int number = 0; number < plan_.disturb_size(); ++number) timed = CheckCommands(number) && timed;
    if (timed) {
      CheckTimes();
      CheckRoom();
    }
    return problems_;
  }

 private:
  template <typename... Parts>
  void Add(const Parts&... parts) {
    problems_.emplace_back(parts...);
  }

  static std::string Place(int number) { return absl::StrCat("disturb[", number + 1, "]"); }

  // Times of disturbances are those of one step.
  void CheckStep() {
    if (plan_.block_size_bytes_size() > 1) {
      Add(PlanKey("block_size"), ": a run with disturbances has one step, not one for each block size; name one");
    }
    if (plan_.repeat() > 1) {
      Add(PlanKey("repeat"), " ", plan_.repeat(),
          ": a run with disturbances has one step; leave it out, and start the run again");
    }
  }

  // What is read back has to have been stable when it was acknowledged.
  void CheckSync() {
    for (int host = 0; host < std::max(1, plan_.hosts_size()); ++host) {
      if (EffectiveWorkload(plan_, host).sync() != v1::SYNC_MODE_NONE) continue;
      Add(PlanKey("workload.sync"), " none", plan_.hosts().empty() ? "" : " on ",
          plan_.hosts().empty() ? "" : plan_.hosts(host).address(),
          " acknowledges writes that are not durable, so that a lost one would show nothing; use dsync");
      return;
    }
  }

  // Whether the times of the disturbance can be looked at.
  bool CheckCommands(int number) {
    const v1::Disturbance& one = plan_.disturb(number);
    const std::string at = Place(number);
    if (one.do_().empty() || one.do_(0).empty()) {
      Add(PlanKey(at), ": ", one.name().empty() ? "a disturbance" : Quoted(one.name()),
          " has no 'do': list the program and its arguments");
    }
    if (!one.undo().empty() && one.undo(0).empty()) {
      Add(PlanKey(at + ".undo"), ": ", Quoted(one.name()), " names no program; list it and its arguments, or leave ",
          "undo out");
    }
    for (const auto& [key, list] : {std::pair(".do", &one.do_()), std::pair(".undo", &one.undo())}) {
      if (list->size() != 1 || !absl::StrContains(list->Get(0), " ")) continue;
      Add(PlanKey(at + key), ": ", Quoted(list->Get(0)),
          " is not a program: commands run without a shell; list the program and its arguments");
    }
    if (one.undo().empty() && one.has_hold_ns()) {
      Add(PlanKey(at + ".hold"), " ", FormatReadableDuration(one.hold_ns()), ": ", Quoted(one.name()),
          " has no 'undo' that would wait; give one, or leave hold out");
    }
    if (one.has_at_ns()) return true;
    Add(PlanKey(at), ": ", one.name().empty() ? "a disturbance" : Quoted(one.name()),
        " has no 'at': give the time from the beginning of the measured time, such as 30s");
    return false;
  }

  void CheckTimes() {
    // Until when what is before is looked at; the first one has a limit of its own (Disturbance.at_ns).
    int64_t calm_ns = 0;
    std::string before;
    for (int number = 0; number < plan_.disturb_size(); ++number) {
      const v1::Disturbance& one = plan_.disturb(number);
      if (one.at_ns() < calm_ns) {
        Add(PlanKey(Place(number) + ".at"), " ", FormatReadableDuration(one.at_ns()), " of ", Quoted(one.name()),
            " is too early after ", before, "; use ", FormatReadableDuration(calm_ns), " or later");
      }
      const int64_t undone_ns = one.at_ns() + HoldNs(one);
      calm_ns = std::max(calm_ns, undone_ns + kLeastCalmNs);
      before = absl::StrCat(
          Quoted(one.name()), " at ", FormatReadableDuration(one.at_ns()),
          HoldNs(one) > 0 ? absl::StrCat(" with a hold of ", FormatReadableDuration(HoldNs(one))) : std::string(),
          ", and ", FormatReadableDuration(kLeastCalmNs), " to see what followed");
    }
    if (calm_ns <= plan_.duration_ns()) return;
    Add(PlanKey("duration"), " ", FormatReadableDuration(plan_.duration_ns()), " is too short for ", before,
        ", without the time that the commands take; use ", FormatReadableDuration(calm_ns), " or more");
  }

  // Only the last write to each block can be read back: those of the disturbed time have to find room.
  void CheckRoom() {
    const std::vector<uint64_t> sizes = BlockSizesOf(plan_);
    if (plan_.disturb().empty() || sizes.size() != 1) return;
    const double seconds = static_cast<double>(plan_.duration_ns() - plan_.disturb(0).at_ns() + kCountedLateNs) /
                           static_cast<double>(kNsPerSecond);
    for (int host = 0; host < std::max(1, plan_.hosts_size()); ++host) {
      const v1::LogWorkload workload = EffectiveWorkload(plan_, host);
      const auto writes = static_cast<uint64_t>(std::ceil(workload.rate_per_second() * seconds));
      const uint64_t blocks = workload.file_size_bytes() / sizes[0] * workload.num_files();
      if (blocks == 0 || writes <= blocks) continue;
      Add(PlanKey("workload.file_size"), " ", FormatSize(workload.file_size_bytes()), " x ",
          PlanKey("workload.num_files"), " ", workload.num_files(), plan_.hosts().empty() ? "" : " on ",
          plan_.hosts().empty() ? "" : plan_.hosts(host).address(), ": ", FormatCount(writes),
          " writes of each queue manager from the first disturbance on would overwrite one another in ",
          FormatCount(blocks), " blocks, and a lost one might not be found; use files of ",
          FormatSize(LogSizeFor(writes, sizes[0])), " or more together");
      return;
    }
  }

  const v1::TestPlan& plan_;
  std::vector<PlanProblem> problems_;
};

std::vector<PlanProblem> DisturbProblems(const v1::TestPlan& plan) {
  return DisturbChecker(plan).Run();
}

}  // namespace

std::string ForbiddenCommands(const v1::TestPlan& plan) {
  if (plan.disturb().empty()) return "";
  return "the disturbances run commands on this machine (disturb): read them (--dry-run shows them), and pass "
         "--allow-commands";
}

std::vector<std::string> DescribeDisturbances(const v1::TestPlan& plan) {
  std::vector<std::string> lines;
  for (const v1::Disturbance& one : plan.disturb()) {
    lines.push_back(absl::StrCat(FormatReadableDuration(one.at_ns()), ": ", one.name(),
                                 ": runs on this machine, with --allow-commands: ", DisturbCommandText(one.do_())));
    if (one.undo().empty()) continue;
    absl::StrAppend(&lines.back(), "; undone after ", FormatReadableDuration(one.hold_ns()),
                    " by: ", DisturbCommandText(one.undo()));
  }
  return lines;
}

constinit const PlanKind kDisturbPlanKind{.kind = RunKind::kDisturb,
                                          .fill = FillDisturbances,
                                          .problems = DisturbProblems,
                                          .of = "a disturbed run of ",
                                          .no_rounds = "a run with disturbances has one step",
                                          .reference = R"(
Commands that disturb the storage at set times under load, for `plimsoll run --allow-commands` ([disturb.md](disturb.md)). They run on the
controller's machine, without a shell, in the order of the list. Such a run has one step of writes: one block size, no list of `rate` or `qm`,
no `repeat`, `until_steady`, `read`, `access: random`, `block_size_mix`, `group_commit`, `files`, `mq_log` or `placement`, and no `sync: none`.
`at` is at least 5 s, and 5 s after the `at` and `hold` of the disturbance before; 5 s remain behind the last one.
)"};

}  // namespace plimsoll
