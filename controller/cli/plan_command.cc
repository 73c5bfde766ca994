#include <algorithm>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/cli/commands.h"
#include "controller/cli/from_mq_command.h"
#include "controller/cli/plan_flags.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_example.h"
#include "controller/plan/plan_yaml.h"

namespace plimsoll {
namespace {

std::string Counted(uint64_t count, const std::string& noun) {
  return absl::StrCat(FormatCount(count), " ", noun, count == 1 ? "" : "s");
}

// "2 hosts, 8 queue managers, 4 steps, 45s of writing".
std::string PlanInBrief(const v1::TestPlan& plan) {
  uint64_t qms = 0;
  for (int host = 0; host < std::max(1, plan.hosts_size()); ++host) qms += EffectiveWorkload(plan, host).qm();
  const std::vector<v1::LogStep> steps = ExpandSteps(plan);
  int64_t total_ns = 0;
  for (const v1::LogStep& step : steps) total_ns += step.duration_ns() + step.warmup_ns();
  const auto hosts = static_cast<uint64_t>(plan.hosts_size());
  return absl::StrCat(hosts == 0 ? "this machine" : Counted(hosts, "host"), ", ", Counted(qms, "queue manager"), ", ",
                      Counted(steps.size(), "step"), ", ", FormatDuration(total_ns), " of writing");
}

int CheckPlanFile(const std::string& path, const PlanFlags& flags, CommandLine& line) {
  PlanPlaces places;
  absl::StatusOr<v1::TestPlan> plan = ReadPlanFile(path, &places);
  if (!plan.ok()) return PrintErrors(line, plan.status(), Exit::kWrong);
  const v1::TestPlan read = *plan;
  if (const absl::Status status = flags.ApplyTo(*plan); !status.ok()) return PrintError(line, status, Exit::kWrong);
  places.ForgetChanged(read, *plan);
  if (const absl::Status status = CheckPlan(*plan, places); !status.ok()) {
    return PrintErrors(line, status, Exit::kWrong);
  }
  FillDefaults(*plan);
  line.out << path << ": good: " << PlanInBrief(*plan) << '\n';
  for (const std::string& note : PlanNotes(*plan)) line.out << "note: " << note << '\n';
  return static_cast<int>(Exit::kOk);
}

void AddExample(CLI::App& plan, CommandLine& line) {
  CLI::App* example = plan.add_subcommand("example", "Print a plan with every key explained");
  example->footer("Example:\n  plimsoll plan example > plan.yaml");
  example->callback([&line] {
    line.action = [&line] {
      line.out << ExamplePlan();
      return static_cast<int>(Exit::kOk);
    };
  });
}

void AddCheck(CLI::App& plan, CommandLine& line) {
  CLI::App* check = plan.add_subcommand("check", "Check a plan and list its errors");
  check->footer("Example:\n  plimsoll plan check plan.yaml --dir /mnt/mqlog --bsize 4k,64k");
  const auto path = std::make_shared<std::string>();
  check->add_option("file", *path, "The plan")->type_name("FILE")->required();
  const auto flags = std::make_shared<PlanFlags>(*check);
  check->callback(
      [&line, path, flags] { line.action = [&line, path, flags] { return CheckPlanFile(*path, *flags, line); }; });
}

void AddReference(CLI::App& plan, CommandLine& line) {
  CLI::App* reference = plan.add_subcommand("reference", "Print the reference of all keys and options as Markdown");
  reference->footer("Example:\n  plimsoll plan reference > docs/plan.md");
  // The empty group hides it from the help.
  reference->group("");
  reference->callback([&line] {
    line.action = [&line] {
      line.out << PlanReference();
      return static_cast<int>(Exit::kOk);
    };
  });
}

}  // namespace

void AddPlanCommand(CLI::App& app, CommandLine& line) {
  CLI::App* plan = app.add_subcommand("plan", "Print an example plan, check a plan, or make one from MQ's files");
  plan->footer("Example:\n  plimsoll plan example > plan.yaml\n  plimsoll plan check plan.yaml");
  AddExample(*plan, line);
  AddCheck(*plan, line);
  AddFromMqCommand(*plan, line);
  AddReference(*plan, line);
}

}  // namespace plimsoll
