#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/command_line/command_line.h"
#include "common/files.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "controller/cli/outputs.h"
#include "controller/cli/plan_flags.h"
#include "controller/cli/plan_from_watch.h"
#include "controller/journal/results.h"
#include "controller/mq/mq_files.h"
#include "controller/mq/mq_plan.h"
#include "controller/plan/accept_plan.h"
#include "controller/plan/disturb_plan.h"
#include "controller/plan/ha_plan.h"
#include "controller/plan/placement.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_kinds.h"
#include "controller/plan/plan_yaml.h"
#include "controller/plan/sweep.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

constexpr size_t kMostIniBytes = size_t{1} << 20U;
// Some 9 MB a day, and it is read in parts.
constexpr size_t kMostAmqsruaBytes = size_t{8} << 30U;

struct FromMqFlags {
  std::vector<std::string> qm_ini;
  std::vector<std::string> amqsrua;
  std::string dir;
  std::vector<std::string> qm_dirs;
  std::string interval;
  bool sweep = false;
  std::string out;
};

absl::StatusOr<QmLog> ReadQmIniFile(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path, kMostIniBytes, FileKind::kAny);
  if (!text.ok()) return WithOption("qm-ini", text.status());
  return ReadQmIni(*text, path);
}

absl::StatusOr<LogRecording> ReadAmqsruaFile(const std::string& path) {
  AmqsruaReader reader(path);
  const absl::Status read =
      ReadInParts(path, kMostAmqsruaBytes, FileKind::kAny, [&reader](std::string_view bytes) { reader.Feed(bytes); });
  if (!read.ok()) return WithOption("amqsrua", read);
  return reader.Finish();
}

// What `read` makes of each file; reports everything that is wrong in all of them.
template <typename Made>
std::vector<Made> ReadEach(const std::vector<std::string>& paths, absl::StatusOr<Made> (*read)(const std::string& path),
                           CommandLine& line, bool& good) {
  std::vector<Made> each;
  for (const std::string& path : paths) {
    absl::StatusOr<Made> made = read(path);
    if (made.ok()) {
      each.push_back(*std::move(made));
    } else {
      PrintErrors(line, made.status(), Exit::kWrong);
      good = false;
    }
  }
  return each;
}

// The directories that the command line names, as `plimsoll run` takes them.
absl::StatusOr<MqPlaces> ReadPlaces(const FromMqFlags& flags) {
  v1::TestPlan plan;
  if (!flags.dir.empty() && !flags.qm_dirs.empty()) {
    return absl::InvalidArgumentError(
        "--dir and --qm-dirs are both given: name one directory for all queue managers, or one for each");
  }
  if (!flags.dir.empty()) PLIMSOLL_RETURN_IF_ERROR(SetPlanOption(*FindPlanOption("dir"), flags.dir, plan));
  if (!flags.qm_dirs.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(SetPlanOption(*FindPlanOption("qm-dirs"), absl::StrJoin(flags.qm_dirs, ","), plan));
  }
  return MqPlaces{plan.workload().dir(), {plan.workload().qm_dirs().begin(), plan.workload().qm_dirs().end()}};
}

int FromMqMain(const FromMqFlags& flags, CommandLine& line) {
  const absl::StatusOr<MqPlaces> places = ReadPlaces(flags);
  if (!places.ok()) return PrintError(line, places.status(), Exit::kWrong);
  bool good = true;
  MqLoad load{{}, flags.sweep};
  if (!flags.interval.empty()) {
    if (flags.sweep) {
      return PrintError(
          line,
          absl::InvalidArgumentError("--interval and --sweep are both given: a sweep shows all intervals, "
                                     "leave one of them out"),
          Exit::kWrong);
    }
    const absl::StatusOr<IntervalChoice> interval = ParseIntervalChoice(flags.interval);
    if (!interval.ok()) return PrintError(line, WithOption("interval", interval.status()), Exit::kWrong);
    load.interval = *interval;
  }
  const std::vector<QmLog> logs = ReadEach(flags.qm_ini, ReadQmIniFile, line, good);
  const std::vector<LogRecording> recordings = ReadEach(flags.amqsrua, ReadAmqsruaFile, line, good);
  if (!good) return static_cast<int>(Exit::kWrong);
  const absl::StatusOr<MqPlan> plan = MakeMqPlan(logs, recordings, *places, load);
  if (!plan.ok()) return PrintErrors(line, plan.status(), Exit::kWrong);
  for (const std::string& note : plan->notes) line.err << "note: " << SanitizeForTerminal(note) << '\n';
  if (flags.out.empty()) {
    line.out << plan->yaml << std::flush;
    if (!WroteOutput(line)) return static_cast<int>(Exit::kWrong);
    return static_cast<int>(Exit::kOk);
  }
  if (const absl::Status written = WriteFile(flags.out, plan->yaml); !written.ok()) {
    return PrintError(line, written, Exit::kWrong);
  }
  line.out << SanitizeForTerminal(absl::StrCat(flags.out, ": ", plan->brief)) << '\n';
  return static_cast<int>(Exit::kOk);
}

// Adds `from-mq` to the command `plan`. The arguments must outlive the parsing and the action.
void AddFromMqCommand(CLI::App& plan, CommandLine& line) {
  CLI::App* command = plan.add_subcommand("from-mq", "Make a plan from qm.ini and the output of amqsrua");
  auto flags = std::make_shared<FromMqFlags>();
  AddValue(*command, "--qm-ini", "FILE", flags->qm_ini, "qm.ini of each queue manager; repeat for several")->required();
  AddValue(
      *command, "--amqsrua", "FILE", flags->amqsrua,
      "Output of `amqsrua -m QM -c DISK -t Log` under load, of days if need be: an interval of it gives block size "
      "and rate; repeat for several");
  AddValue(
      *command, "--interval", "WHICH", flags->interval,
      "Interval to play, by physical bytes per second: peak (the default), median, a percentile such as p95, or the "
      "line of its heading");
  command->add_flag("--sweep", flags->sweep,
                    "Measure the storage at all of MQ's write sizes instead, and show the intervals over it");
  AddValue(*command, "--dir", "DIR", flags->dir,
           "Directory for all queue managers, in place of each LogPath, which then may be missing");
  AddValue(*command, "--qm-dirs", "LIST", flags->qm_dirs, "Directory for each queue manager, in the order of --qm-ini")
      ->expected(1)
      ->take_all();
  AddOutputFile(*command, "--out", flags->out, "Write the plan to this file instead of standard output");
  command->footer(
      "The plan's comments name the source of each value, and what is unknown (docs/from-mq.md).\n"
      "Example:\n  plimsoll plan from-mq --qm-ini /var/mqm/qmgrs/QM1/qm.ini --amqsrua log.txt > plan.yaml");
  command->callback([&line, flags] { line.action = [&line, flags] { return FromMqMain(*flags, line); }; });
}

// "2 hosts, 8 queue managers, 4 steps, 45s of writing", without a list of steps "2 hosts, 8 queue managers, at
// most 10m of writing", or of a drill "2 pairs of hosts, 8 queue managers, 10 rounds".
std::string PlanInBrief(const v1::TestPlan& plan) {
  if (plan.has_watch()) {
    const auto managers = static_cast<uint64_t>(plan.watch().queue_managers_size());
    const auto hosts = static_cast<uint64_t>(plan.hosts_size());
    return absl::StrCat("a watch of ", managers == 0 ? "a process" : Counted(managers, "queue manager"), " on ",
                        hosts == 0 ? "this machine" : Counted(hosts, "host"), ", ", FormatDuration(plan.duration_ns()));
  }
  if (RunKindOf(plan) == RunKind::kHa) {
    const auto pairs = static_cast<uint64_t>(plan.ha().pairs_size());
    return absl::StrCat(Counted(pairs, "pair"), " of hosts, ", Counted(pairs * plan.workload().qm(), "queue manager"),
                        ", ", Counted(plan.ha().rounds(), "round"));
  }
  uint64_t qms = 0;
  for (const v1::LogWorkload& workload : EffectiveWorkloads(plan)) qms += workload.qm();
  // Each has its files on two hosts.
  if (HasPlacement(plan)) qms = static_cast<uint64_t>(plan.placement_size());
  const auto hosts = static_cast<uint64_t>(plan.hosts_size());
  const std::string who = absl::StrCat(hosts == 0 ? "this machine" : Counted(hosts, "host"), ", ",
                                       Counted(qms, UsesFiles(plan.workload()) ? "thread" : "queue manager"), ", ");
  const WritingTime time = WritingTimeOf(plan);
  return absl::StrCat(who, ListsSteps(plan) ? Counted(ExpandSteps(plan).size(), "step") + ", " : "",
                      time.at_most ? "at most " : "", FormatDuration(time.ns), " of writing");
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
  line.out << path << " is valid: " << PlanKindOf(*plan).of << PlanInBrief(*plan) << '\n';
  if (HasPlacement(*plan)) {
    for (const std::string& text : DescribePlacement(*plan)) line.out << SanitizeForTerminal(text) << '\n';
  }
  for (int host = 0; !HasPlacement(*plan) && host < std::max(1, plan->hosts_size()); ++host) {
    const std::vector<std::string> lines = DescribeQmDirs(EffectiveWorkload(*plan, host));
    if (lines.empty()) continue;
    line.out << SanitizeForTerminal(plan->hosts().empty() ? "this machine" : ShortAddress(plan->hosts(host).address()))
             << ":\n";
    for (const std::string& text : lines) line.out << SanitizeForTerminal(text) << '\n';
  }
  for (const std::string& text : DescribeSweep(*plan)) line.out << text << '\n';
  for (const std::string& text : DescribeCommands(plan->ha())) line.out << SanitizeForTerminal(text) << '\n';
  for (const std::string& text : DescribeDisturbances(*plan)) line.out << SanitizeForTerminal(text) << '\n';
  for (const std::string& note : PlanNotes(*plan)) line.out << "note: " << note << '\n';
  return static_cast<int>(Exit::kOk);
}

void AddExample(CLI::App& plan, CommandLine& line) {
  CLI::App* example = plan.add_subcommand("example", "Print a plan with every key explained");
  const auto accept = std::make_shared<bool>(false);
  const auto ready = std::make_shared<std::string>();
  CLI::Option* const accept_flag =
      example->add_flag("--accept", *accept, "Print a plan for `plimsoll accept` with every key explained");
  std::vector<std::string> names;
  std::string about = "Print a plan for `plimsoll accept`, with limits and their sources, for";
  for (const ReadyPlan& plan_of : ReadyAcceptPlans()) {
    absl::StrAppend(&about, names.empty() ? " " : "; ", plan_of.name, ": ", plan_of.about);
    names.emplace_back(plan_of.name);
  }
  AddValue(*example, "--ready", "NAME", *ready, about)->check(OneOf(names))->excludes(accept_flag);
  example->footer("Example:\n  plimsoll plan example > plan.yaml\n  plimsoll plan example --ready nfs > accept.yaml");
  const auto placement = std::make_shared<bool>(false);
  example
      ->add_flag("--placement", *placement,
                 "Print a plan that measures with each host down in turn (docs/placement.md)")
      ->excludes(accept_flag)
      ->excludes("--ready");
  example->callback([&line, accept, ready, placement] {
    line.action = [&line, accept, ready, placement] {
      const auto& plans = ReadyAcceptPlans();
      const auto named = std::ranges::find_if(plans, [&](const ReadyPlan& each) { return each.name == *ready; });
      line.out << (named != plans.end() ? named->text
                   : *accept            ? ExampleAcceptPlan()
                   : *placement         ? ExamplePlacement()
                                        : ExamplePlan())
               << std::flush;
      return static_cast<int>(Exit::kOk);
    };
  });
}

void AddCheck(CLI::App& plan, CommandLine& line) {
  CLI::App* check = plan.add_subcommand("check", "Check a plan and list its errors");
  check->footer("Example:\n  plimsoll plan check plan.yaml --dir /mnt/mqlog --bsize 4k,64k");
  const auto path = std::make_shared<std::string>();
  AddValue(*check, "file", "FILE", *path, "The plan")->required();
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
  CLI::App* plan =
      app.add_subcommand("plan", "Print an example plan, check a plan, or make one from MQ's files or from a watch");
  plan->footer("Example:\n  plimsoll plan example > plan.yaml\n  plimsoll plan check plan.yaml");
  AddExample(*plan, line);
  AddCheck(*plan, line);
  AddFromMqCommand(*plan, line);
  AddFromWatchCommand(*plan, line);
  AddReference(*plan, line);
}

}  // namespace plimsoll
