#include "tests/unit/accept/made_up_acceptance.h"

#include <cstdlib>

#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/fsck/checks.h"
#include "controller/plan/plan_defaults.h"

namespace plimsoll::tests {

v1::TestPlan AcceptPlanOf(uint32_t runs) {
  v1::TestPlan plan;
  plan.set_name("Filer 7 <new>");
  plan.add_hosts()->set_address("alpha");
  plan.add_hosts()->set_address("beta");
  plan.mutable_workload()->set_dir("/mnt/mqha");
  plan.mutable_workload()->set_qm(2);
  plan.mutable_workload()->set_rate_per_second(200);
  plan.set_duration_ns(60 * kNsPerSecond);
  plan.add_criteria("p99<10ms");
  plan.mutable_accept()->set_runs(runs);
  FillDefaults(plan);
  return plan;
}

std::vector<StorageHost> NfsHosts(const std::string& mount_options) {
  std::vector<StorageHost> hosts;
  for (const char* label : {"alpha", "beta"}) {
    StorageHost& host = hosts.emplace_back();
    host.label = label;
    host.description.set_kernel("6.1.0");
    host.description.set_version("0.1.0");
    v1::DirectoryDescription& directory = *host.description.add_directories();
    directory.set_path("/mnt/mqha");
    directory.set_fs_type("nfs4");
    directory.set_fs_source("filer7:/vol/mq");
    directory.set_mount_options(mount_options);
    directory.add_exports("10.0.0.0/24(rw,sync,no_wdelay)");
  }
  return hosts;
}

v1::CheckReport Checks(v1::CheckOutcome exclusive) {
  v1::CheckReport checks;
  checks.set_level(v1::CHECK_LEVEL_QUICK);
  for (const char* label : {"alpha", "beta"}) {
    v1::CheckHost& host = *checks.add_hosts();
    host.set_label(label);
    host.set_boot_id(label);
  }
  const auto add = [&](const char* name, v1::CheckRequirement requirement, v1::CheckLevel level,
                       v1::CheckOutcome outcome) {
    v1::CheckResult& check = *checks.add_checks();
    check.set_name(name);
    check.set_requirement(requirement);
    check.set_level(level);
    check.set_outcome(outcome);
    if (outcome != v1::CHECK_OUTCOME_PASS) check.set_reason("made up");
  };
  add("lock.exclusive", v1::CHECK_REQUIREMENT_EXCLUSIVE_ACCESS, v1::CHECK_LEVEL_QUICK, exclusive);
  add("data.concurrent-writes", v1::CHECK_REQUIREMENT_DATA_WRITE_INTEGRITY, v1::CHECK_LEVEL_QUICK,
      v1::CHECK_OUTCOME_PASS);
  add("data.dsync-survives-server-restart", v1::CHECK_REQUIREMENT_DATA_WRITE_INTEGRITY, v1::CHECK_LEVEL_FULL,
      v1::CHECK_OUTCOME_NOT_TESTED);
  JudgeChecks({}, checks);
  return checks;
}

v1::Report LoadReportOf(double p99_ms, double iops) {
  v1::Report report;
  report.mutable_run()->set_state(v1::RUN_STATE_COMPLETE);
  v1::StepReport& step = *report.add_steps();
  step.set_number(1);
  step.set_block_size_bytes(4096);
  v1::ScopeReport& cluster = *step.add_scopes();
  cluster.set_kind(v1::SCOPE_KIND_CLUSTER);
  cluster.set_iops(iops);
  cluster.mutable_rate()->set_asked_iops(iops);
  const auto ns = [](double ms) { return static_cast<uint64_t>(ms * kNsPerMs); };
  for (v1::LatencyReport* latency : {cluster.mutable_latency(), cluster.mutable_rate()->mutable_response()}) {
    latency->set_count(10'000);
    latency->set_p50_ns(ns(p99_ms / 3));
    latency->set_p99_ns(ns(p99_ms));
    latency->set_p99_9_ns(ns(p99_ms * 1.5));
    latency->set_max_ns(ns(p99_ms * 2));
    latency->add_thin("p99_9");
  }
  v1::CriterionReport& criterion = *report.mutable_verdict()->add_criteria();
  criterion.set_criterion("p99<10ms");
  criterion.set_value_text(absl::StrFormat("%.3f ms", p99_ms));
  criterion.set_step(1);
  criterion.set_host("beta");
  criterion.set_qm(1);
  criterion.set_outcome(p99_ms < 10 ? v1::OUTCOME_PASS : v1::OUTCOME_FAIL);
  report.mutable_verdict()->set_outcome(criterion.outcome());
  return report;
}

v1::Report SearchReportOf(double limit) {
  v1::Report report;
  report.mutable_run()->set_state(v1::RUN_STATE_COMPLETE);
  report.mutable_limit()->set_over(v1::LIMIT_OVER_RATE);
  report.mutable_limit()->set_limit(limit);
  report.mutable_limit()->set_held(true);
  report.mutable_limit()->set_maximum(1.4 * limit);
  report.mutable_verdict()->set_outcome(v1::OUTCOME_PASS);
  return report;
}

v1::AcceptRun& NextRun(v1::AcceptReport& report) {
  for (v1::AcceptRun& run : *report.mutable_runs()) {
    if (run.began()) continue;
    run.set_began(true);
    run.set_directory(DirectoryOf(run));
    run.set_duration_ns(kNsPerSecond * (run.part() == v1::ACCEPT_PART_LIMIT ? 600 : 10));
    return run;
  }
  std::abort();
}

v1::AcceptReport WholeAcceptance(const std::vector<double>& p99_ms) {
  const auto runs = static_cast<uint32_t>(p99_ms.size());
  v1::AcceptReport report = PlannedAcceptance(AcceptPlanOf(runs));
  report.set_id("7f3a21");
  report.set_version("0.1.0");
  report.mutable_begin()->set_seconds(1'790'000'000);
  report.mutable_end()->set_seconds(1'790'001'890);
  TakeStorage(NfsHosts(), 4096, NextRun(report), report);
  for (uint32_t i = 0; i < runs; ++i) TakeChecks(Checks(), NextRun(report), report);
  for (const double each : p99_ms) TakeRun(LoadReportOf(each), NextRun(report), report);
  for (uint32_t i = 0; i < runs; ++i) TakeRun(SearchReportOf(480 + 10.0 * i), NextRun(report), report);
  report.set_ended(true);
  JudgeAcceptance(report);
  return report;
}

}  // namespace plimsoll::tests
