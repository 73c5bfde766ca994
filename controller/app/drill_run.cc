#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/app/planned_run.h"
#include "controller/drill/drill.h"
#include "controller/ha/ha_analysis.h"
#include "controller/plan/ha_plan.h"
#include "controller/run/cleaner.h"
#include "controller/run/preparation.h"
#include "controller/run/run_records.h"

namespace plimsoll {
namespace {

class DrillRun final : public PlannedRun {
 public:
  DrillRun(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, Console& console,
           const RunSurroundings& around, EventQueue& events)
      : PlannedRun(plan, how, access, console, around, events,
                   {"nothing was done", "the drill continues", isatty(fileno(around.progress)) != 0, /*table=*/false},
                   NewRunId()),
        workloads_(HaFilledWorkloads(plan_)) {}

 private:
  std::vector<AgentPlace> Places() const override {
    std::vector<AgentPlace> places;
    for (size_t host = 0; host < workloads_.size(); ++host) {
      places.push_back({plan_.hosts(static_cast<int>(host)).address(), {{workloads_[host].dir()}}});
      if (!plan_.ha().data_dir().empty()) places.back().roots.push_back({plan_.ha().data_dir(), "--data-dir"});
    }
    return places;
  }

  int64_t DescribeTimeoutNs() const override { return std::min(plan_.lease_ns(), 10 * kNsPerSecond); }

  std::optional<Failure> Check() override {
    if (auto failure = CheckHosts(fleet().hosts(), workloads_, {plan_.block_size_bytes(0)})) return failure;
    Failure missing{Exit::kWrong, {}};
    for (const auto& host : fleet().hosts()) {
      for (const v1::DirectoryDescription& directory : host->description->directories()) {
        if (directory.path() == plan_.ha().data_dir() && !directory.error().empty()) {
          missing.lines.push_back(DirectoryInWords(host->label, directory.error(), "--data-dir"));
        }
      }
    }
    if (!missing.lines.empty()) return missing;
    fleet().FindQueueManagers(10 * kNsPerSecond);
    return std::nullopt;
  }

  std::vector<std::string> Notes(const std::string& /*results*/) const override {
    const std::string shared = SharedKernels();
    return shared.empty() || plan_.ha().one_kernel() ? std::vector<std::string>{} : std::vector{shared};
  }

  std::string LeftText(const std::string& results) const override {
    return absl::StrCat("the instances end within ", FormatDuration(plan_.lease_ns()),
                        ", and a fault that was caused may not be undone; `plimsoll report ", ShellQuoted(results),
                        "` reports what there is, ", CleanCommands(), " removes the files");
  }

  std::optional<Failure> Course(RunLog& log) override {
    Drill::Options options;
    options.plan = plan_;
    options.controller = Controller();
    options.fleet = &fleet();
    options.events = &events_;
    options.clock = &clock_;
    options.log = &log;
    options.feed = &feed_;
    const std::unique_ptr<CommandRunner> commands = MakeCommandRunner();
    options.commands = commands.get();
    options.say = [this](const std::string& text) { Say(text); };
    std::vector<std::string> labels;
    for (const auto& host : fleet().hosts()) labels.push_back(host->label);
    const std::string token = NewRunToken();
    for (size_t host = 0; host < labels.size(); ++host) {
      options.host_plans.push_back(MakeHaHostPlan(plan_, host, labels, run_id_, token, kFrameIntervalNs));
    }
    Drill drill(std::move(options));
    std::optional<Failure> failure = drill.Run();
    left_ = drill.left();
    if (!left_ && !plan_.keep_files() && !drill.AbsentHosts().empty()) CleanForOthers();
    return failure;
  }

  // What removes the drill's files, one command for each directory.
  std::string CleanCommands() const {
    std::vector<std::string> addresses;
    for (const auto& host : fleet().hosts()) addresses.push_back(host->address);
    std::vector<std::string> commands;
    for (const std::string& dir : {plan_.workload().dir(), plan_.ha().data_dir()}) {
      if (dir.empty()) continue;
      commands.push_back(absl::StrCat("`plimsoll clean --run ", run_id_, " --hosts ",
                                      ShellQuoted(absl::StrJoin(addresses, ",")), access_.launch.OnCommandLine(),
                                      " --dir ", ShellQuoted(dir), " --yes`"));
    }
    return absl::StrJoin(commands, " and ");
  }

  // The files of hosts that are gone are removed by one that is there.
  void CleanForOthers() {
    std::vector<size_t> there;
    for (const auto& host : fleet().hosts()) {
      if (host->phase == Host::Phase::kGone) there.push_back(host->index);
    }
    for (const size_t host : there) {
      for (const std::string& dir : {plan_.workload().dir(), plan_.ha().data_dir()}) {
        if (dir.empty()) continue;
        for (const CleanAnswer& answer : CleanHosts(fleet(), {host}, dir, run_id_, absl::StrCat(run_id_, "c"),
                                                    10 * kNsPerSecond, clock_, events_)) {
          for (const v1::CleanedDirectory& cleaned : answer.cleaned) {
            if (!cleaned.left().empty()) feed_.Warn(absl::StrCat(cleaned.path(), " is left: ", cleaned.left()));
          }
        }
      }
    }
    if (there.empty()) {
      feed_.Warn(absl::StrCat("no host is left to remove the files; ", CleanCommands(), " does it later"));
    }
  }

  // Pairs whose agents have, or may have, one kernel, and what that means; empty: there are none.
  std::string SharedKernels() const {
    std::vector<std::string> shared;
    for (const HaPair& pair : HaPairs(plan_)) {
      const Host& first = fleet().host(pair.first);
      const Host& second = fleet().host(pair.second);
      const std::string text =
          OneKernelText({first.label, first.description->boot_id()}, {second.label, second.description->boot_id()});
      if (!text.empty()) shared.push_back(text);
    }
    if (shared.empty()) return "";
    return absl::StrCat(absl::StrJoin(shared, "; "), ": locks between hosts are not tested",
                        plan_.ha().one_kernel() ? "" : "; without --one-kernel the drill does not PASS");
  }

  void DryRun() override {
    for (const HaPair& pair : HaPairs(plan_)) {
      console_.out << SanitizeForTerminal(absl::StrCat(fleet().host(pair.first).label, " + ",
                                                       fleet().host(pair.second).label, ": qm", pair.first_qm))
                   << (pair.qms > 1 ? absl::StrCat(" to qm", pair.first_qm + pair.qms - 1) : "") << "\n";
    }
    for (const std::string& text : DescribeCommands(plan_.ha())) console_.out << SanitizeForTerminal(text) << '\n';
    for (const std::string& text : DescribeDrill(plan_)) console_.out << SanitizeForTerminal(text) << "\n";
    if (const std::string shared = SharedKernels(); !shared.empty()) {
      console_.out << SanitizeForTerminal(shared) << "\n";
    }
    console_.out << plan_.ha().rounds() << " rounds. Nothing was touched." << std::endl;
  }

  const std::vector<v1::LogWorkload> workloads_;
};

}  // namespace

int RunDrill(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, Console& console,
             const RunSurroundings& around) {
  EventQueue events(*around.clock);
  return DrillRun(plan, how, access, console, around, events).Execute();
}

}  // namespace plimsoll
