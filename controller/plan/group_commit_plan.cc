#include "controller/plan/group_commit_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/plan/plan_defaults.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

// What a client of IBM's lab did between two commits (mqio_v1, page 37; docs/group-commit.md).
constexpr int64_t kUsualThinkNs = 38'000;
// MQ's smallest extent: LogFilePages 64.
constexpr uint64_t kLeastExtentBytes = 64 * uint64_t{4096};
constexpr double kMostCommits = 1'000'000;

}  // namespace

void FillGroupCommit(v1::TestPlan& plan) {
  if (!plan.has_group_commit()) return;
  v1::GroupCommit& commits = *plan.mutable_group_commit();
  if (!commits.has_think_time_ns() && !commits.has_client_rate_per_second()) commits.set_think_time_ns(kUsualThinkNs);
  // Traces have no sizes of writes that have none of their own.
  if (!plan.has_trace()) plan.set_trace(v1::TOGGLE_OFF);
}

std::vector<PlanProblem> GroupCommitProblems(const v1::TestPlan& plan) {
  std::vector<PlanProblem> problems;
  const auto add = [&problems](const auto&... parts) { problems.emplace_back(parts...); };
  const PlanKey over("limit.over", "--over clients (limit.over)");
  const bool over_clients = plan.limit().over() == v1::LIMIT_OVER_CLIENTS;
  if (!plan.has_group_commit()) {
    if (over_clients) {
      add(over, " needs ", PlanKey("group_commit.clients"), ": give the largest number of clients");
    }
    return problems;
  }
  const PlanKey name("group_commit.clients");
  const v1::GroupCommit& commits = plan.group_commit();
  if (const RunKindFacts& kind = FactsOf(RunKindOf(plan)); kind.kind != RunKind::kRun && kind.kind != RunKind::kLimit) {
    add(name, ": ", kind.noun, " takes no clients; leave them out, or measure them with `plimsoll run`",
        HasPlacement(plan) ? " and without the placement" : "");
    return problems;
  }
  if (!commits.has_clients()) {
    add(name, " is missing: give the number of clients, whose log writes the other keys of group_commit describe");
    return problems;
  }
  const PlanKey think("group_commit.think_time");
  const PlanKey rate("group_commit.client_rate");
  if (commits.has_think_time_ns() && commits.has_client_rate_per_second()) {
    add(think, " and ", rate, " are both given: clients either wait for their commits or come at a rate");
  }
  if (commits.clients() * commits.client_rate_per_second() > kMostCommits) {
    add(rate, ": ", FormatCount(commits.clients()), " clients make more than ", FormatCount(uint64_t{1'000'000}),
        " commits/s on each queue manager; use a lower rate or fewer ", name);
  }
  const auto excludes = [&](const PlanKey& other, const char* why) {
    add(name, " and ", other, " are both given: ", why, ", leave one of them out");
  };
  if (plan.has_block_size_mix()) {
    excludes(PlanKey("block_size_mix"), "commits make the size of each write");
  } else if (plan.block_size_bytes_size() > 1 ||
             (plan.block_size_bytes_size() == 1 && plan.block_size_bytes(0) != 4096)) {
    excludes(PlanKey("block_size"), "commits make the size of each write");
  }
  if (plan.read_percent() > 0) excludes(PlanKey("read"), "a log is only written");
  if (plan.access() == v1::ACCESS_RANDOM) excludes(PlanKey("access", "--access random (access)"), "a log has an order");
  if (plan.trace() == v1::TOGGLE_ON)
    excludes(PlanKey("trace", "--trace on (trace)"), "traces have no sizes of such writes");
  if (!plan.workload().files().empty()) excludes(PlanKey("workload.files"), "commits go to a queue manager's log");
  if (!plan.sweep().rate_per_second().empty()) {
    excludes(PlanKey("workload.rate"), "clients set the pace");
    return problems;
  }
  for (const v1::LogWorkload& workload : EffectiveWorkloads(plan)) {
    if (workload.rate_per_second() > 0) {
      excludes(PlanKey("workload.rate"), "clients set the pace");
    } else if (workload.delay_ns() > 0) {
      excludes(PlanKey("workload.delay"), "clients set the pace");
    } else if (workload.file_size_bytes() < kLeastExtentBytes) {
      add(PlanKey("workload.file_size"), " ", FormatSize(workload.file_size_bytes()), " is too small for a log: use ",
          FormatSize(kLeastExtentBytes), " or more, as MQ does");
    } else {
      continue;
    }
    break;
  }
  if (RunKindOf(plan) == RunKind::kLimit && plan.limit().over() == v1::LIMIT_OVER_RATE) {
    add(PlanKey("limit.over", "--over rate (limit.over)"), " and ", name,
        " are both given: clients set the pace; search with ", over);
  }
  return problems;
}

std::vector<std::string> GroupCommitNotes(const v1::TestPlan& plan) {
  std::vector<std::string> notes;
  if (!plan.has_group_commit()) return notes;
  const std::string key = PlanKey("group_commit.log_write_integrity").text;
  if (plan.group_commit().log_write_integrity() == v1::LOG_WRITE_INTEGRITY_DOUBLEWRITE) {
    notes.push_back(absl::StrCat(key, " DoubleWrite is simulated as TripleWrite: how they differ is not public"));
  } else if (plan.group_commit().log_write_integrity() == v1::LOG_WRITE_INTEGRITY_SINGLEWRITE) {
    notes.push_back(absl::StrCat(key,
                                 " SingleWrite: safe for a queue manager only where the storage writes 4 KiB "
                                 "atomically, which is not tested"));
  }
  return notes;
}

void SetGroupCommit(const v1::TestPlan& plan, v1::LogStep& step) {
  if (!plan.has_group_commit()) return;
  const uint32_t clients = step.group_commit().clients();
  *step.mutable_group_commit() = plan.group_commit();
  if (clients > 0) step.mutable_group_commit()->set_clients(clients);
  step.set_block_size_bytes(0);
}

const char kGroupCommitReference[] = R"(
Clients whose commits gather into the log writes of each queue manager, instead of `block_size`
([group-commit.md](group-commit.md)). Such a plan takes no `rate`, `delay`, `read`, `access: random`, `files` or traces, and no placement.
)";

}  // namespace plimsoll
