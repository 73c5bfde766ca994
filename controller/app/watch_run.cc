// A watch: agents attach to processes that they did not start, and report what those write and call.
#include <algorithm>
#include <functional>
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
#include "controller/live/views.h"
#include "controller/live/watch_view.h"
#include "controller/plan/plan_defaults.h"
#include "controller/render/plain_text.h"
#include "controller/report/watched.h"
#include "controller/run/preparation.h"
#include "controller/run/run_records.h"

namespace plimsoll {
namespace {

// An agent needs a directory below which it may write. This kind of work writes nothing.
constexpr char kUnusedRoot[] = "/tmp";

// Releases the program when the step starts, and reports how it ended.
class ProgramGate final : public LiveObserver {
 public:
  ProgramGate(HeldProgram& program, std::function<void(const std::string& text)> say)
      : program_(program), say_(std::move(say)) {}

  // Its agent is on this machine, and has this machine's clock.
  void OnRecord(const v1::JournalRecord& record) override {
    if (record.has_step_begin() && !record.step_begin().host_start_ns().empty()) {
      program_.Release(record.step_begin().host_start_ns(0));
    }
  }
  void OnEnd() override {
    const std::string name = SanitizeForTerminal(program_.path());
    if (const auto end = program_.End(); end.has_value()) {
      say_(absl::StrCat(name, " ended: ", *end));
    } else if (program_.released()) {
      say_(absl::StrCat(name, " still runs, as process ", program_.pid()));
    }
  }

 private:
  HeldProgram& program_;
  const std::function<void(const std::string& text)> say_;
};

class WatchRun final : public PlannedRun {
 public:
  WatchRun(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, Console& console,
           const RunSurroundings& around, EventQueue& events, HeldProgram* program)
      : PlannedRun(plan, how, access, console, around, events,
                   {"nothing was watched", "watching continues", /*in_place=*/false, /*table=*/false,
                    /*own_lines=*/true},
                   how.beside.run_id.empty() ? NewRunId() : how.beside.run_id),
        steps_(ExpandSteps(plan_)),
        workloads_(static_cast<size_t>(std::max(plan_.hosts_size(), 1))),
        program_(program) {
    if (!how.quiet) {
      feed_.Add(std::make_shared<WatchView>(how.interval_ns, how.histogram_rows,
                                            [this](const std::string& line) { feed_.Line(line); }));
    }
    if (program_ != nullptr) {
      feed_.Add(std::make_shared<ProgramGate>(*program_, [this](const std::string& text) { feed_.Warn(text); }));
    }
  }

 private:
  std::vector<AgentPlace> Places() const override {
    std::vector<AgentPlace> places;
    for (size_t i = 0; i < workloads_.size(); ++i) {
      places.push_back(
          {plan_.hosts().empty() ? "" : plan_.hosts(static_cast<int>(i)).address(), {{kUnusedRoot, "--root"}}});
    }
    return places;
  }

  // The command starts the agent on this machine itself: one person asks, and allows it.
  std::vector<std::string> AgentOptions() const override {
    const bool starts_child = plan_.hosts().empty() && &access_.launch.kind(/*hosts_named=*/false) == &kChildLauncher;
    return starts_child ? std::vector<std::string>{"--allow-watch"} : std::vector<std::string>{};
  }

  // No directory of an agent is used.
  std::vector<std::vector<std::string>> Directories(const std::vector<AgentPlace>& places) const override {
    return std::vector<std::vector<std::string>>(places.size());
  }

  std::optional<Failure> Check() override {
    if (auto failure = CheckHosts(fleet().hosts(), workloads_, {})) return failure;
    const TimeInWords time = {absl::StrCat("watches for ", FormatDuration(TotalStepNs({steps_.begin(), steps_.end()}))),
                              "--duration"};
    return CheckCaps(fleet().hosts(), workloads_, steps_, time);
  }

  std::vector<std::string> Notes(const std::string& /*results*/) const override { return {}; }

  std::optional<Failure> Course(RunLog& log) override {
    Coordinator::Options options;
    options.plan = plan_;
    options.controller = Controller();
    options.steps = steps_;
    options.fleet = &fleet();
    options.events = &events_;
    options.clock = &clock_;
    options.log = &log;
    options.feed = &feed_;
    options.beside_key = how_.beside.own_key;
    const std::string token = NewRunToken();
    for (const auto& host : fleet().hosts()) {
      options.host_plans.push_back(
          MakeHostPlan(plan_, static_cast<int>(host->index), host->label, run_id_, token, kFrameIntervalNs));
      if (program_ != nullptr) options.host_plans.back().mutable_watch()->set_held_program(program_->path());
    }
    Coordinator coordinator(std::move(options));
    std::optional<Failure> failure = coordinator.Run();
    left_ = coordinator.left();
    return failure;
  }

  std::string LeftText(const std::string& results) const override {
    return absl::StrCat("the agents detach within ", FormatDuration(plan_.lease_ns()), "; `plimsoll report ",
                        ShellQuoted(results), "` reports what there is");
  }

  void DryRun() override {
    const v1::WatchPlan& watch = plan_.watch();
    const std::string who = watch.has_pid()
                                ? absl::StrCat("process ", watch.pid())
                                : absl::StrCat("queue managers ", absl::StrJoin(watch.queue_managers(), ", "));
    std::vector<std::string> what;
    if (WatchesLog(watch)) {
      what.push_back(watch.has_log_dir() ? absl::StrCat("writes below ", watch.log_dir()) : std::string("log writes"));
    }
    for (const std::string& call : watch.calls()) what.push_back(call);
    for (const auto& host : fleet().hosts()) {
      console_.out << SanitizeForTerminal(absl::StrCat(host->label, ": ", who, ": ", absl::StrJoin(what, ", "),
                                                       ", for ", FormatDuration(plan_.duration_ns())))
                   << '\n';
    }
    console_.out << "Nothing was attached to." << std::endl;
  }

  const std::vector<v1::LogStep> steps_;
  // What its hosts write themselves: nothing.
  const std::vector<v1::LogWorkload> workloads_;
  HeldProgram* const program_;
};

}  // namespace

int RunWatch(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, Console& console,
             const RunSurroundings& around, HeldProgram* program) {
  EventQueue own(*around.clock);
  EventQueue& events = how.events != nullptr ? *how.events : own;
  const int code = WatchRun(plan, how, access, console, around, events, program).Execute();
  if (how.end != nullptr) how.end->interrupted = events.interrupts() > 0;
  return code;
}

}  // namespace plimsoll
