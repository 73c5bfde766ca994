// What simulated clients, or a recording, made of a step's log writes.
#pragma once

#include <string>

#include "absl/strings/str_format.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/analysis/scope_sums.h"
#include "controller/report/scopes.h"
#include "plimsoll/v1/log_step.pb.h"
#include "plimsoll/v1/step.pb.h"

namespace plimsoll {

// Sets the step's load: its clients, or how much faster than recorded a recording is played. Nothing for other steps.
inline void SetCommitLoad(const v1::LogStep& step, v1::StepReport& report) {
  if (step.group_commit().has_pattern()) {
    report.set_load_factor(step.group_commit().load_factor());
  } else if (step.has_group_commit()) {
    report.set_clients(step.group_commit().clients());
  }
}

// Whether a reader should know of the commits that the step ended before: there are many, or they had waited for longer
// than any that ended.
inline bool ManyCommitsWait(const ScopeSums& sums) {
  constexpr uint64_t kOneOf = 100;
  return sums.not_issued > 0 &&
         (sums.not_issued > sums.latency.count() / kOneOf || sums.response.max_ns() > sums.latency.max_ns());
}

// What to know of the commits that the step ended before; the sums are those of its commits.
inline std::string WaitingCommits(const ScopeSums& sums) {
  return absl::StrFormat(
      "%s had arrived and not ended when the step did, the oldest %.3f ms before; criteria count them with the time "
      "that they had waited",
      Counted(sums.not_issued, "commit"), static_cast<double>(sums.response.max_ns()) / static_cast<double>(kNsPerMs));
}

// Adds the section about group commit to a step whose scopes and operations are complete; nothing to other steps.
inline void AddGroupCommit(v1::StepReport& step) {
  const v1::OperationReport* const commits = CommitsOf(step);
  const v1::ScopeReport* const cluster = ClusterOf(step);
  const v1::OperationScopeReport* const own =
      commits == nullptr || cluster == nullptr ? nullptr : FindScope(*commits, *cluster);
  if (own == nullptr || cluster->writes() == 0) return;
  v1::GroupCommitReport& report = *step.mutable_group_commit();
  const auto physical = static_cast<double>(cluster->bytes());
  const auto logical = static_cast<double>(own->throughput().bytes());
  report.set_commits_per_second(own->throughput().iops());
  report.set_mean_write_bytes(physical / static_cast<double>(cluster->writes()));
  report.set_logical_bytes(own->throughput().bytes());
  if (logical > 0) report.set_physical_over_logical(physical / logical);
}

}  // namespace plimsoll
