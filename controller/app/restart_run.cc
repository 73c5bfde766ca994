#include <unistd.h>

#include <cstdio>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/app/planned_run.h"
#include "controller/plan/restart_plan.h"
#include "controller/restart_course/restart_course.h"
#include "controller/run/preparation.h"
#include "controller/run/run_records.h"

namespace plimsoll {
namespace {

class RestartRun final : public PlannedRun {
 public:
  RestartRun(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, Console& console,
             const RunSurroundings& around, EventQueue& events)
      : PlannedRun(plan, how, access, console, around, events,
                   {"nothing was measured", "measuring continues", isatty(fileno(around.progress)) != 0,
                    /*table=*/false},
                   NewRunId()),
        workloads_(RestartFilledWorkloads(plan_)) {}

 private:
  std::vector<AgentPlace> Places() const override {
    AgentPlace place{plan_.hosts().empty() ? "" : plan_.hosts(0).address(), {}};
    for (const std::string& dir : DirsOf(workloads_[0])) place.roots.push_back({dir, DirectoryOption(workloads_[0])});
    return {place};
  }

  std::vector<std::string> AgentOptions() const override {
    // The command starts the agent on this machine itself: one person asks, and allows it.
    const bool starts_child = plan_.hosts().empty() && &access_.launch.kind(/*hosts_named=*/false) == &kChildLauncher;
    if (!starts_child || !plan_.restart_time().drop_caches()) return {};
    return {"--allow-drop-caches"};
  }

  std::optional<Failure> Check() override {
    for (const auto& host : fleet().hosts()) host->directories = DirsOf(workloads_[0]).size();
    if (auto failure = CheckHosts(fleet().hosts(), workloads_, {})) return failure;
    fleet().FindQueueManagers(10 * kNsPerSecond);
    return std::nullopt;
  }

  std::vector<std::string> Notes(const std::string& /*results*/) const override { return {}; }

  std::string LeftText(const std::string& results) const override {
    return absl::StrCat("the agent ends and removes its files within ", FormatDuration(plan_.lease_ns()),
                        "; `plimsoll report ", ShellQuoted(results), "` reports what there is");
  }

  std::optional<Failure> Course(RunLog& log) override {
    RestartCourse::Options options;
    options.plan = plan_;
    options.controller = Controller();
    v1::HostPlan& host = options.host_plan;
    host.set_run_id(run_id_);
    host.set_run_token(NewRunToken());
    host.set_host_label(fleet().host(0).label);
    host.set_lease_ns(plan_.lease_ns());
    host.set_frame_interval_ns(kFrameIntervalNs);
    *host.mutable_restart() = MakeRestartWork(plan_);
    options.fleet = &fleet();
    options.events = &events_;
    options.clock = &clock_;
    options.log = &log;
    options.feed = &feed_;
    options.say = [this](const std::string& text) { Say(text); };
    RestartCourse course(std::move(options));
    std::optional<Failure> failure = course.Run();
    left_ = course.left();
    return failure;
  }

  void DryRun() override {
    for (const std::string& text : DescribeRestart(plan_)) console_.out << SanitizeForTerminal(text) << "\n";
    console_.out << "Nothing was touched." << std::endl;
  }

  const std::vector<v1::LogWorkload> workloads_;
};

}  // namespace

int RunRestart(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, Console& console,
               const RunSurroundings& around) {
  EventQueue events(*around.clock);
  return RestartRun(plan, how, access, console, around, events).Execute();
}

}  // namespace plimsoll
