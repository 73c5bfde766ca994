#include "controller/plan/mq_log_plan.h"

#include <algorithm>
#include <string>

#include "common/protocol.h"
#include "common/units.h"
#include "controller/plan/plan_defaults.h"
#include "controller/report/run_kind.h"

namespace plimsoll {

std::vector<PlanProblem> MqLogProblems(const v1::TestPlan& plan) {
  std::vector<PlanProblem> problems;
  if (!plan.has_mq_log()) return problems;
  const PlanKey name("mq_log");
  const auto add = [&problems](const auto&... parts) { problems.emplace_back(parts...); };
  const v1::MqLog& log = plan.mq_log();
  const int points = log.write_size_bytes_size();
  if (points == 0) {
    add(name, ": no points; list ", PlanKey("mq_log.write_size", "write_size"), " and bandwidth_mb, or leave ",
        "mq_log out");
  } else if (points > kMostMqPoints) {
    add(name, ": ", FormatCount(static_cast<uint64_t>(points)), " points; a plan has at most ",
        FormatCount(kMostMqPoints), ": thin them, as `plimsoll plan from-mq --sweep` does");
  } else if (log.bandwidth_mb_size() != points || (!log.intervals().empty() && log.intervals_size() != points)) {
    add(name, ": write_size has ", points, " values, bandwidth_mb ", log.bandwidth_mb_size(), " and intervals ",
        log.intervals_size(), ": list one of each for every point, or leave intervals out");
  }
  if (const RunKindFacts& kind = FactsOf(RunKindOf(plan)); kind.kind != RunKind::kRun) {
    add(name, ": ", kind.noun, " does not measure the storage's bandwidth by write size; leave it out, or use ",
        "`plimsoll run`");
    return problems;
  }
  const std::string why = ", and MQ's log is compared with the bandwidth of log writes at full speed: leave ";
  for (const v1::LogWorkload& workload : EffectiveWorkloads(plan)) {
    if (workload.rate_per_second() > 0) {
      add(PlanKey("workload.rate"), " limits the writes", why, "it out, or ", name);
    } else if (workload.delay_ns() > 0) {
      add(PlanKey("workload.delay"), " pauses after each write", why, "it out, or ", name);
    } else {
      continue;
    }
    break;
  }
  if (!plan.sweep().rate_per_second().empty() && problems.empty()) {
    add(PlanKey("workload.rate"), " is a list", why, "it out, or ", name);
  }
  if (!plan.sweep().qm().empty()) {
    add(PlanKey("workload.qm"), " is a list, and MQ's log is compared with one bandwidth for each size: give one, or ",
        "leave out ", name);
  }
  if (plan.has_block_size_mix())
    add(PlanKey("block_size_mix"), " makes one step of several sizes", why, "it out, or ", name);
  if (plan.has_group_commit()) {
    add(PlanKey("group_commit"), " makes writes of many sizes", why, "it out, or ", name);
  }
  if (plan.read_percent() > 0) add(PlanKey("read"), " reads as well", why, "it out, or ", name);
  if (UsesFiles(plan.workload())) add(PlanKey("workload.files"), " replaces the log", why, "it out, or ", name);
  return problems;
}

}  // namespace plimsoll
