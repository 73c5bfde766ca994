#include "controller/cli/ab_sides.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/posix.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/cli/run_command.h"
#include "controller/plan/ha_plan.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_schema.h"
#include "controller/plan/plan_yaml.h"
#include "controller/report/run_kind.h"
#include "controller/report/watched.h"
#include "controller/run/process.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {
namespace {

// In a shorter step the start of the writers would count for too much.
constexpr int64_t kShortestToggleNs = 500 * kNsPerMs;
// The warm-up is one part in so many of it, unless --warmup says otherwise.
constexpr int64_t kWarmupShare = 10;

// What --vary says: an option, and its two values.
struct Vary {
  const google::protobuf::FieldDescriptor* field = nullptr;
  std::string option;
  std::vector<std::string> values;
};

// The path without "." and "..", and without a slash at its end.
std::string NormalPath(const std::string& path) {
  const std::string normal = std::filesystem::path(path).lexically_normal().string();
  return normal.size() > 1 ? std::string(absl::StripSuffix(normal, "/")) : normal;
}

// Whether one normal path is the other, or is below it.
bool HoldsPath(const std::string& directory, const std::string& path) {
  return path == directory || directory == "/" || absl::StartsWith(path, directory + "/");
}

absl::StatusOr<Vary> ParseVary(const std::string& text) {
  const auto wrong = [&text](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("--vary ", Quoted(text), ": ", what));
  };
  const size_t equals = text.find('=');
  Vary vary;
  vary.option = std::string(absl::StripPrefix(text.substr(0, equals), "--"));
  if (equals != std::string::npos) vary.values = absl::StrSplit(text.substr(equals + 1), ',');
  if (vary.values.size() != 2 || vary.values[0].empty() || vary.values[1].empty()) {
    return wrong("expected an option of a plan and its two values, such as dir=/san,/nfs or sync=dsync,none");
  }
  if (vary.values[0] == vary.values[1]) return wrong("both values are the same");
  if (vary.values[0].find('/') != std::string::npos && NormalPath(vary.values[0]) == NormalPath(vary.values[1])) {
    return wrong("both values name the same directory");
  }
  vary.field = FindPlanOption(vary.option);
  if (vary.field == nullptr) {
    return wrong(absl::StrCat("--", vary.option, " is not an option of a plan; `plimsoll run --help` lists them"));
  }
  vary.option = RuleOf(*vary.field).flag();
  if (vary.field->is_repeated() || vary.field->number() == v1::TestPlan::kBlockSizeMixFieldNumber) {
    return wrong(absl::StrCat("--", vary.option, " takes a list; write two plans, and pass both"));
  }
  return vary;
}

// The plan of --toggle, with steps of that length.
absl::StatusOr<v1::TestPlan> LoadToggled(const AbFlags& flags) {
  const absl::StatusOr<int64_t> toggle_ns = ParseDuration(flags.toggle);
  if (!toggle_ns.ok() || *toggle_ns < kShortestToggleNs || *toggle_ns > 3600 * kNsPerSecond) {
    return absl::InvalidArgumentError(absl::StrCat("--toggle: ", Quoted(flags.toggle), " is not a time from ",
                                                   FormatDuration(kShortestToggleNs), " to 1h"));
  }
  if (flags.plans.size() > 1 || !flags.vary.empty()) {
    return absl::InvalidArgumentError(
        "--toggle measures both sides in one run: it takes one plan, or none, and no --vary");
  }
  if (flags.between.empty()) {
    return absl::InvalidArgumentError("--toggle needs --between: the command makes the difference between the sides");
  }
  if (!flags.control.empty()) {
    return absl::InvalidArgumentError("--toggle measures one directory: leave out --control");
  }
  if (flags.anew) return absl::InvalidArgumentError("--toggle keeps the files in place: leave out --anew");
  absl::StatusOr<v1::TestPlan> loaded =
      LoadRunPlan(flags.plans.empty() ? "" : flags.plans[0], RunKind::kRun, [&](v1::TestPlan& plan) -> absl::Status {
        PLIMSOLL_RETURN_IF_ERROR(flags.plan->ApplyTo(plan));
        if (plan.until_steady_ns() > 0 || plan.repeat() > 1) {
          return absl::InvalidArgumentError(
              "--toggle measures each step once a side and round: leave out --until-steady and --repeat");
        }
        plan.set_duration_ns(*toggle_ns);
        if (!plan.has_warmup_ns()) plan.set_warmup_ns(*toggle_ns / kWarmupShare);
        return absl::OkStatus();
      });
  if (loaded.ok()) return loaded;
  // Where it came from.
  return absl::Status(loaded.status().code(),
                      absl::StrReplaceAll(loaded.status().message(), {{"--duration (duration)", "--toggle"}}));
}

// The plan and its control, which writes in another directory, and is judged by no criteria.
absl::Status LoadControlled(const AbFlags& flags, std::vector<AbSide>& sides) {
  if (flags.plans.size() > 1 || !flags.vary.empty()) {
    return absl::InvalidArgumentError(
        "--control takes one plan, or none, and no --vary: the directory is what differs");
  }
  const std::string file = flags.plans.empty() ? "" : flags.plans[0];
  const auto load = [&](const std::string& directory) {
    return LoadRunPlan(file, RunKind::kRun, [&](v1::TestPlan& plan) -> absl::Status {
      PLIMSOLL_RETURN_IF_ERROR(flags.plan->ApplyTo(plan));
      if (directory.empty()) return absl::OkStatus();
      plan.mutable_workload()->set_dir(directory);
      plan.clear_criteria();
      // Those that hosts have of their own are of the storage.
      for (v1::HostSpec& host : *plan.mutable_hosts()) {
        if (host.has_workload()) host.mutable_workload()->clear_dir();
      }
      return absl::OkStatus();
    });
  };
  sides[0].name = "storage";
  PLIMSOLL_ASSIGN_OR_RETURN(sides[0].plan, load(""));
  if (UsesFiles(sides[0].plan.workload())) {
    return absl::InvalidArgumentError("--control takes no --files: it measures logs in another directory; use --vary");
  }
  sides[1].name = "control";
  absl::StatusOr<v1::TestPlan> control = load(flags.control);
  if (!control.ok()) {
    return absl::Status(control.status().code(),
                        absl::StrReplaceAll(control.status().message(), {{"--dir (workload.dir)", "--control"},
                                                                         {"another --dir", "another --control"},
                                                                         {"--dir:", "--control:"}}));
  }
  sides[1].plan = *std::move(control);
  for (int host = 0; host < std::max(1, sides[0].plan.hosts_size()); ++host) {
    const std::string other = NormalPath(EffectiveWorkload(sides[1].plan, host).dir());
    for (const std::string& dir : DirsOf(EffectiveWorkload(sides[0].plan, host))) {
      const std::string under_test = NormalPath(dir);
      if (!HoldsPath(under_test, other) && !HoldsPath(other, under_test)) continue;
      const std::string relation = under_test == other ? "is the directory under test"
                                   : HoldsPath(under_test, other)
                                       ? absl::StrCat("is below the directory under test, ", dir)
                                       : absl::StrCat("holds the directory under test, ", dir);
      return absl::InvalidArgumentError(
          absl::StrCat("--control: ", flags.control, " ", relation, ": name one on other storage"));
    }
  }
  return absl::OkStatus();
}

// A problem of the plan in that file: names the file in each line that does not begin with it.
absl::Status InPlan(const std::string& file, const absl::Status& status) {
  std::vector<std::string> lines = absl::StrSplit(std::string(status.message()), '\n');
  for (std::string& line : lines) {
    if (!absl::StartsWith(line, file)) line = absl::StrCat(file, ": ", line);
  }
  return {status.code(), absl::StrJoin(lines, "\n")};
}

// One of two plans, with the options over it.
absl::StatusOr<v1::TestPlan> LoadOne(const AbFlags& flags, const std::string& file) {
  absl::Status options;
  absl::StatusOr<v1::TestPlan> loaded =
      LoadRunPlan(file, RunKind::kRun, [&](v1::TestPlan& plan) { return options = flags.plan->ApplyTo(plan); });
  // What is wrong with an option by itself is not in the plan.
  if (loaded.ok() || !options.ok()) return loaded;
  return InPlan(file, loaded.status());
}

// Why ab cannot measure a plan that `plimsoll run` takes.
absl::Status CheckOneDirectory(const v1::TestPlan& plan) {
  if (HasPlacement(plan)) {
    return absl::InvalidArgumentError(
        "ab takes no plan with a placement, whose steps have different hosts down: run it with `plimsoll run`");
  }
  if (!plan.disturb().empty()) {
    return absl::InvalidArgumentError(
        "ab takes no plan with `disturb`, whose commands change what is compared: run it with `plimsoll run`");
  }
  if (plan.has_sweep()) {
    return absl::InvalidArgumentError(
        "ab takes no list of --rate or --qm, whose steps have different loads: give one value, or measure the list "
        "with "
        "`plimsoll run`");
  }
  if (plan.has_protect() && !ProtectsMount(plan)) {
    return absl::InvalidArgumentError(
        "ab takes no --protect of a queue manager: an agent holds the sessions of both sides already; protect the "
        "mount "
        "of its log (--protect mount=DIR), or give ab --abort-if");
  }
  if (plan.workload().create()) {
    return absl::InvalidArgumentError(
        "ab takes no plan with --create, which fills files once, and rounds measure each side several times: create "
        "the "
        "files with `plimsoll run`, and compare what comes later");
  }
  const auto several = [](const v1::LogWorkload& workload) { return DirsOf(workload).size() > 1; };
  if (std::ranges::none_of(EffectiveWorkloads(plan), several)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "ab takes no plan with several directories (--qm-dirs), where a fast one hides what a slow one loses: measure "
      "each directory by itself, with --dir");
}

}  // namespace

absl::StatusOr<std::vector<AbSide>> LoadSides(const AbFlags& flags, StatedDifferences& differs) {
  std::vector<AbSide> sides(2);
  // A missing file before what is wrong in the other one.
  for (const std::string& file : flags.plans) {
    std::error_code error;
    if (!std::filesystem::exists(file, error)) PLIMSOLL_RETURN_IF_ERROR(ReadPlanFile(file).status());
  }
  if (!flags.toggle.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(sides[0].plan, LoadToggled(flags));
    sides[1].plan = sides[0].plan;
  } else if (!flags.control.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(LoadControlled(flags, sides));
    differs.insert("dir");
  } else if (!flags.vary.empty()) {
    if (flags.plans.size() > 1) return absl::InvalidArgumentError("--vary takes one plan, or none; two were given");
    PLIMSOLL_ASSIGN_OR_RETURN(const Vary vary, ParseVary(flags.vary));
    differs.insert(vary.option);
    for (size_t i = 0; i < 2; ++i) {
      PLIMSOLL_ASSIGN_OR_RETURN(sides[i].plan, LoadRunPlan(flags.plans.empty() ? "" : flags.plans[0], RunKind::kRun,
                                                           [&](v1::TestPlan& plan) -> absl::Status {
                                                             PLIMSOLL_RETURN_IF_ERROR(flags.plan->ApplyTo(plan));
                                                             return SetPlanOption(*vary.field, vary.values[i], plan);
                                                           }));
      sides[i].name = vary.values[i];
    }
    const auto last = [](const AbSide& side) { return std::filesystem::path(side.name).filename().string(); };
    if (sides[0].name.front() == '/' && last(sides[0]) != last(sides[1])) {
      for (AbSide& side : sides) side.name = last(side);
    }
  } else {
    if (flags.plans.size() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("ab needs two plans, or one with --vary OPTION=A,B; ", flags.plans.size(),
                       flags.plans.size() == 1 ? " plan was given" : " plans were given"));
    }
    for (size_t i = 0; i < 2; ++i) {
      PLIMSOLL_ASSIGN_OR_RETURN(sides[i].plan, LoadOne(flags, flags.plans[i]));
      sides[i].name = std::filesystem::path(flags.plans[i]).stem().string();
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    const absl::Status one = CheckOneDirectory(sides[i].plan);
    if (!one.ok()) return flags.plans.size() == 2 ? InPlan(flags.plans[i], one) : one;
  }
  if (sides[0].plan.protect() != sides[1].plan.protect() ||
      ProtectFactor(sides[0].plan) != ProtectFactor(sides[1].plan)) {
    return absl::InvalidArgumentError("the plans of the sides differ in protect: one guard watches both");
  }
  const bool named = CheckSideName(sides[0].name).ok() && CheckSideName(sides[1].name).ok();
  if (!named || sides[0].name == sides[1].name) {
    sides[0].name = "A";
    sides[1].name = "B";
  }
  return sides;
}

absl::Status CheckPlansComparable(const std::vector<AbSide>& sides, const CompareSettings& settings) {
  std::vector<SideInput> planned;
  for (const AbSide& side : sides) {
    v1::Report report;
    for (const v1::LogWorkload& workload : EffectiveWorkloads(side.plan)) {
      *report.add_hosts()->mutable_workload() = workload;
    }
    v1::TestPlan& plan = *report.mutable_plan();
    plan.set_block_size_mix(side.plan.block_size_mix());
    plan.set_read_percent(side.plan.read_percent());
    plan.set_access(side.plan.access());
    if (side.plan.has_group_commit()) *plan.mutable_group_commit() = side.plan.group_commit();
    std::set<uint64_t> sizes;
    for (const v1::LogStep& planned_step : ExpandSteps(side.plan)) sizes.insert(planned_step.block_size_bytes());
    for (const uint64_t size : sizes) {
      v1::StepReport& step = *report.add_steps();
      step.set_block_size_bytes(size);
      v1::ScopeReport& cluster = *step.add_scopes();
      cluster.set_kind(v1::SCOPE_KIND_CLUSTER);
      cluster.set_measured_ns(1);
      cluster.mutable_latency()->set_count(1);
    }
    planned.push_back({{{absl::StrCat("the plan of ", side.name), std::move(report)}}, side.name});
  }
  if (settings.fail_if_slower) PLIMSOLL_RETURN_IF_ERROR(CheckJudged(planned));
  return CheckComparable(planned, settings.differs);
}

absl::StatusOr<Between> Between::Create(const AbFlags& flags) {
  Between between;
  if (flags.between.empty()) return between;
  if (!flags.allow_commands && !flags.dry_run) {
    return absl::InvalidArgumentError("--between runs a command on this machine: read it, and pass --allow-commands");
  }
  absl::StatusOr<std::vector<std::string>> arguments = SplitCommand(flags.between);
  if (!arguments.ok()) return WithContext("--between", arguments.status());
  between.arguments_ = *std::move(arguments);
  const absl::StatusOr<int64_t> limit_ns = ParseDuration(flags.between_limit);
  if (!limit_ns.ok() || *limit_ns < kNsPerSecond || *limit_ns > 3600 * kNsPerSecond) {
    return absl::InvalidArgumentError(
        absl::StrCat("--between-limit: ", Quoted(flags.between_limit), " is not a time from 1s to 1h"));
  }
  between.limit_ns_ = *limit_ns;
  return between;
}

std::string Between::Run(const AbSide& side, char letter, size_t round, const Clock& clock, EventQueue& events,
                         const std::function<bool()>& stop) const {
  if (arguments_.empty()) return "";
  std::vector<std::string> arguments = arguments_;
  for (std::string& argument : arguments) {
    argument = absl::StrReplaceAll(
        argument, {{"{side}", side.name}, {"{letter}", std::string(1, letter)}, {"{round}", absl::StrCat(round)}});
  }
  const absl::StatusOr<std::unique_ptr<RunningCommand>> command = MakeCommandRunner()->Start(arguments);
  if (!command.ok()) return std::string(command.status().message());
  constexpr int64_t kPollNs = 20 * kNsPerMs;
  const MonotonicNs deadline = clock.Now() + limit_ns_;
  while (clock.Now() < deadline) {
    if (const std::optional<std::string> ended = (*command)->Poll(); ended.has_value()) return *ended;
    events.WaitUntil(clock.Now() + kPollNs);
    if (stop()) {
      (*command)->Kill();
      return kStopped;
    }
  }
  (*command)->Kill();
  return absl::StrCat("it did not end within ", FormatDuration(limit_ns_));
}

}  // namespace plimsoll
