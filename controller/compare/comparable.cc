#include "controller/compare/comparable.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/field_rules.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/compare/commit_load.h"
#include "controller/compare/step_data.h"
#include "controller/compare/watched_sides.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/report/main_operation.h"
#include "controller/report/playback.h"
#include "controller/report/run_kind.h"
#include "controller/report/scopes.h"
#include "google/protobuf/message.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {
namespace {

// Operations of a step besides the main one, at most. Each has as many tests as the main one.
constexpr int kMostOperations = 8;

struct RunFact {
  // For people, such as "mount options".
  std::string what;
  // Why it matters where runs differ in it; empty for facts that just have to be named.
  std::string why;
  // Its values in a run: one for each host mostly, each once.
  std::function<std::set<std::string>(const v1::Report&)> values;
  // The options of the plan that set it. Empty for a decisive fact in which sides may never differ.
  std::set<std::string> options = {};
};

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Values = std::set<std::string>;

// A fact of each host.
RunFact OfHosts(std::string what, std::string why, std::function<std::string(const v1::HostReport&)> value) {
  return {std::move(what), std::move(why), [value = std::move(value)](const v1::Report& report) {
            Values values;
            for (const v1::HostReport& host : report.hosts()) {
              if (std::string text = value(host); !text.empty()) values.insert(std::move(text));
            }
            return values;
          }};
}

RunFact OfRun(std::string what, std::string why, std::function<std::string(const v1::Report&)> value) {
  return {std::move(what), std::move(why),
          [value = std::move(value)](const v1::Report& report) { return Values{value(report)}; }};
}

RunFact SetBy(std::set<std::string> options, RunFact fact) {
  fact.options = std::move(options);
  return fact;
}

bool IsStated(const RunFact& fact, const StatedDifferences& stated) {
  return std::ranges::any_of(fact.options, [&stated](const std::string& option) { return stated.count(option) > 0; });
}

std::string ReadPercent(const v1::Report& report) {
  return absl::StrCat(report.plan().read_percent());
}

std::string BlockOrder(const v1::Report& report) {
  return EnumName(*v1::Access_descriptor(),
                  report.plan().access() == v1::ACCESS_RANDOM ? v1::ACCESS_RANDOM : v1::ACCESS_SEQUENTIAL);
}

// What is written: the logs of queue managers, or named files, and how often.
std::string WhatIsUsed(const v1::Report& report) {
  const v1::LogWorkload& workload = report.plan().workload();
  if (!UsesFiles(workload)) return "logs";
  return workload.create() ? "new files" : workload.one_pass() ? "named files, one pass" : "named files";
}

// Value of an option that the plan does not give. Versions without reads only wrote, one block after the other.
std::string NotGiven(const FieldDescriptor& field, const v1::Report& report) {
  if (field.number() == v1::TestPlan::kReadPercentFieldNumber) return ReadPercent(report);
  if (field.number() == v1::TestPlan::kAccessFieldNumber) return BlockOrder(report);
  return "not given";
}

// The plan's own options, those of each host's workload as it was sent, and those of group commit.
std::vector<RunFact> OptionFacts() {
  std::vector<RunFact> facts;
  const auto relevant = [](const FieldDescriptor& field) {
    const v1::FieldRule& rule = RuleOf(field);
    return !rule.unrelated_to_writes() && !rule.flag().empty();
  };
  const auto option = [](const FieldDescriptor& field) { return absl::StrCat("--", RuleOf(field).flag()); };
  for (const FieldDescriptor& field : FieldsOf(*v1::LogWorkload::descriptor())) {
    if (!relevant(field)) continue;
    facts.push_back(OfHosts(option(field), "",
                            [&field](const v1::HostReport& host) { return SpelledOption(host.workload(), field); }));
  }
  for (const FieldDescriptor& field : FieldsOf(*v1::TestPlan::descriptor())) {
    if (field.is_repeated() || field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE || !relevant(field)) continue;
    facts.push_back(OfRun(option(field), "", [&field](const v1::Report& report) {
      const std::string text = SpelledOption(report.plan(), field);
      return text.empty() ? NotGiven(field, report) : text;
    }));
  }
  for (const FieldDescriptor& field : FieldsOf(*v1::GroupCommit::descriptor())) {
    if (RuleOf(field).flag().empty()) continue;
    facts.push_back(OfRun(option(field), "", [&field](const v1::Report& report) {
      const std::string text = CommitOption(report.plan(), field);
      return text.empty() ? "not given" : text;
    }));
  }
  return facts;
}

std::string Sync(const v1::HostReport& host) {
  return host.workload().has_sync() ? EnumName(*v1::SyncMode_descriptor(), host.workload().sync()) : "dsync";
}

std::string Writers(const v1::Report& report) {
  return absl::StrCat(report.run().queue_managers(),
                      report.run().queue_managers() == 1 ? " writer on " : " writers on ", report.run().hosts(),
                      report.run().hosts() == 1 ? " host" : " hosts");
}

// Facts that must be the same: otherwise the operations themselves are not the same.
const std::vector<RunFact>& DecisiveFacts() {
  static const std::vector<RunFact> facts = {
      OfRun("measured operations", "a read is not a write",
            [](const v1::Report& report) { return std::string(MainOperations(report.plan())); }),
      SetBy({"sync"},
            OfHosts("how writes are made durable (--sync)", "a write that waits for less is not the same write", Sync)),
      SetBy({"bsize-mix"}, OfRun("mixed block sizes (--bsize-mix)", "larger writes take longer on the same storage",
                                 [](const v1::Report& report) {
                                   const std::string& mix = report.plan().block_size_mix();
                                   return mix.empty() ? std::string("none") : mix;
                                 })),
      SetBy(CommitFlags(),
            OfRun("simulated clients or recording (--clients, --pattern)", "commits make the sizes of the writes",
                  [](const v1::Report& report) { return CommitLoad(report.plan()); })),
      SetBy({"read-percent"},
            OfRun("percentage of reads (--read-percent)",
                  "reads and writes take turns, so that each has less time the more the other has", ReadPercent)),
      SetBy({"access"}, OfRun("order of blocks (--access)",
                              "the same storage is faster or slower where blocks come in another order", BlockOrder)),
      SetBy({"files", "create", "one-pass"},
            OfRun("files or logs (--files, --create, --one-pass)",
                  "a new block takes another path than one that was written before", WhatIsUsed)),
      SetBy({"direct"}, OfHosts("O_DIRECT in effect", "with the page cache in between it is not the same path",
                                [](const v1::HostReport& host) { return host.mount().direct() ? "yes" : "no"; })),
      SetBy({"rate"}, OfHosts("pace", "in an open loop IO/s is the target, in a closed loop it is measured",
                              [](const v1::HostReport& host) {
                                return host.workload().rate_per_second() > 0 ? "open loop (--rate)" : "closed loop";
                              })),
  };
  return facts;
}

// Facts that make the load: where they differ, figures differ on one and the same storage.
const std::vector<RunFact>& LoadFacts() {
  static const std::vector<RunFact> facts = {
      SetBy({"qm", "hosts"},
            OfRun("writers", "more writers mean more IO/s and longer latencies on the same storage", Writers)),
      SetBy({"rate"}, OfHosts("--rate", "IO/s follows the target",
                              [](const v1::HostReport& host) {
                                return host.workload().rate_per_second() > 0
                                           ? absl::StrCat(host.workload().rate_per_second())
                                           : "";
                              })),
      SetBy({"arrival", "rate"},
            OfHosts("when writes start (--arrival)", "writes that start together queue for one another",
                    [](const v1::HostReport& host) {
                      // Runs of versions that had no choice started all writers at once.
                      const v1::LogWorkload& workload = host.workload();
                      if (workload.rate_per_second() <= 0) return std::string();
                      return workload.has_arrival() ? EnumName(*v1::Arrival_descriptor(), workload.arrival())
                                                    : "aligned";
                    })),
      SetBy({"delay"}, OfHosts("--delay", "pauses lower IO/s on the same storage",
                               [](const v1::HostReport& host) { return FormatDuration(host.workload().delay_ns()); })),
      SetBy({"pause-percent"},
            OfRun("pause in percent (--pause-percent)", "pauses lower IO/s on the same storage",
                  [](const v1::Report& report) { return absl::StrCat(report.plan().workload().pause_percent()); })),
  };
  return facts;
}

// Returns the parts of writes that the steps measured, in their order: "write_call, sync"; "none" without any.
std::string PartsOfWrites(const v1::Report& report) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const v1::StepReport& step : report.steps()) {
    for (const v1::OperationReport& operation : step.operations()) {
      if (!IsPartName(operation.name())) continue;
      if (seen.insert(operation.name()).second) names.push_back(operation.name());
    }
  }
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

// All that are listed where they differ, storage first. Options are those of the plan that shape what is measured, by
// the names of their flags.
const std::vector<RunFact>& AllFacts() {
  static const std::vector<RunFact> facts = [] {
    std::vector<RunFact> all = {
        OfHosts("storage", "",
                [](const v1::HostReport& host) {
                  const v1::MountReport& mount = host.mount();
                  return absl::StrCat(mount.fs_type(), mount.fs_type().empty() ? "" : " ",
                                      mount.remote().empty() ? mount.fs_source() : mount.remote());
                }),
        OfHosts("mount options", "",
                [](const v1::HostReport& host) { return SharedMountOptions(host.mount().mount_options()); }),
        OfHosts("open flags", "", [](const v1::HostReport& host) { return host.mount().open_flags(); }),
        OfRun("writers", "", Writers),
        OfHosts("files", "", [](const v1::HostReport& host) { return ShortenFiles(host.workload()); }),
        OfHosts("hosts", "", [](const v1::HostReport& host) { return host.label(); }),
        OfHosts("kernel", "", [](const v1::HostReport& host) { return host.kernel(); }),
        OfHosts(
            "CPUs for the agent", "",
            [](const v1::HostReport& host) { return host.usable_cpus() == 0 ? "" : absl::StrCat(host.usable_cpus()); }),
        OfHosts("clock source", "", [](const v1::HostReport& host) { return host.clock().source(); }),
        OfRun("plimsoll", "", [](const v1::Report& report) { return report.run().version(); }),
        OfHosts("plimsoll-agent", "", [](const v1::HostReport& host) { return host.version(); }),
        OfRun("parts of a write", "", PartsOfWrites),
    };
    std::vector<RunFact> options = OptionFacts();
    all.insert(all.end(), options.begin(), options.end());
    return all;
  }();
  return facts;
}

// Calls `visit` with each run and the label of its side; of several runs a side "A1".
template <typename Visit>
void ForEachRun(const std::vector<SideInput>& sides, const Visit& visit) {
  for (size_t side = 0; side < sides.size(); ++side) {
    for (size_t run = 0; run < sides[side].runs.size(); ++run) {
      const std::string label = SideLabel(sides, side);
      visit(sides[side].runs[run], sides[side].runs.size() == 1 ? label : RunLabel(label, run + 1));
    }
  }
}

std::string Joined(const std::set<std::string>& values) {
  return values.empty() ? "none" : absl::StrJoin(values, ", ");
}

std::set<std::string> FactOf(const SideInput& side, const RunFact& fact) {
  std::set<std::string> values;
  for (const RunInput& run : side.runs) {
    const std::set<std::string> of_run = fact.values(run.report);
    values.insert(of_run.begin(), of_run.end());
  }
  return values;
}

// In which of the runs a fact is not that of the first run, and why that matters; empty where it is the same
// everywhere.
std::string DifferenceIn(const std::vector<SideInput>& sides, const RunFact& fact) {
  const RunInput& first = sides.front().runs.front();
  const std::set<std::string> wanted = fact.values(first.report);
  for (const SideInput& side : sides) {
    for (const RunInput& run : side.runs) {
      const std::set<std::string> values = fact.values(run.report);
      if (values == wanted) continue;
      return absl::StrCat(fact.what, ": ", Joined(wanted), " in ", first.source, ", ", Joined(values), " in ",
                          run.source, "; ", fact.why);
    }
  }
  return "";
}

std::string SizesOf(const v1::Report& report) {
  std::vector<std::string> sizes;
  for (const uint64_t size : BlockSizes(report)) sizes.push_back(size == 0 ? "mixed" : FormatSize(size));
  return sizes.empty() ? "none" : absl::StrJoin(sizes, ",");
}

void AddRunWarnings(const RunInput& run, const std::string& label, std::vector<std::string>& warnings) {
  const v1::RunReport& about = run.report.run();
  if (about.state() != v1::RUN_STATE_COMPLETE) {
    warnings.push_back(absl::StrCat(label, " is incomplete (", EnumName(*v1::RunState_descriptor(), about.state()), ")",
                                    about.state_reason().empty() ? "" : ": ", about.state_reason()));
  }
  const v1::VerdictReport& verdict = run.report.verdict();
  if (verdict.outcome() == v1::OUTCOME_INCONCLUSIVE) {
    warnings.push_back(absl::StrCat(label, " is ", VerdictText(verdict)));
  } else if (const int more = verdict.reasons_size() - 1; more >= 0) {
    // A criterion that failed decides the verdict, and leaves in doubt what kept the run from a PASS.
    warnings.push_back(
        absl::StrCat(label, " is ", OutcomeText(verdict),
                     ", and its figures are uncertain: ", absl::StripSuffix(verdict.reasons(0), "."),
                     more == 0 ? "" : absl::StrCat(" (and ", more, more == 1 ? " more reason)" : " more reasons)")));
  }
  for (const v1::HostReport& host : run.report.hosts()) {
    if (host.has_lost()) {
      warnings.push_back(absl::StrCat(label, " lost host ", host.label(),
                                      host.lost().step() == 0 ? "" : absl::StrCat(" in step ", host.lost().step())));
    }
  }
  for (const v1::HostReport& host : run.report.hosts()) {
    const bool direct = host.mount().direct() && std::ranges::all_of(host.more_mounts(), &v1::MountReport::direct);
    if (OnlyReads(run.report.plan()) && !direct) {
      warnings.push_back(absl::StrCat(label, ": the reads of ", host.label(),
                                      " went through the page cache, and may show the host's memory in place of the "
                                      "storage"));
    }
  }
  if (PlaysWritesAsRecorded(run.report.plan())) {
    warnings.push_back(absl::StrCat(label, " issued the recorded writes as they are (--playback writes), which is ",
                                    kNotWhatMqIssues));
  }
  for (const v1::StepReport& step : run.report.steps()) {
    if (!step.cut_short().empty()) {
      warnings.push_back(absl::StrCat(label, ": step ", step.number(), " (", FormatBlockSize(step.block_size_bytes()),
                                      ") ended early: ", step.cut_short()));
    }
  }
}

// Parts of one run share its label, and its troubles.
std::string LabelOfRun(const std::vector<SideInput>& sides, size_t side, size_t run) {
  const std::vector<RunInput>& runs = sides[side].runs;
  const bool parts = std::ranges::all_of(
      runs, [&runs](const RunInput& one) { return one.report.run().id() == runs.front().report.run().id(); });
  const std::string label = SideLabel(sides, side);
  return runs.size() == 1 || parts ? label : RunLabel(label, run + 1);
}

// Calls `visit` with each step of the side that has the block size, and its run's number.
template <typename Visit>
void ForEachStep(const SideInput& side, uint64_t block_size_bytes, const Visit& visit) {
  for (size_t run = 0; run < side.runs.size(); ++run) {
    for (const v1::StepReport& step : side.runs[run].report.steps()) {
      if (step.block_size_bytes() == block_size_bytes) visit(run, step);
    }
  }
}

// Whether the host was lost before the step ended.
bool LacksHost(const v1::StepReport& step, const v1::HostReport& host) {
  if (!host.has_lost()) return false;
  if (host.lost().step() > 0) return step.number() >= host.lost().step();
  // Between two steps.
  const auto moment = [](const google::protobuf::Timestamp& at) { return std::pair(at.seconds(), at.nanos()); };
  return moment(step.start()) >= moment(host.lost().at());
}

// For each side and block size the first step with a host whose load generator may be CPU-bound, and how many more
// there are.
void AddGeneratorWarnings(const std::vector<SideInput>& sides, std::vector<std::string>& warnings) {
  const std::vector<uint64_t> sizes = CommonBlockSizes(sides);
  for (size_t side = 0; side < sides.size(); ++side) {
    for (const uint64_t size : sizes) {
      std::string first;
      size_t more = 0;
      ForEachStep(sides[side], size, [&](size_t run, const v1::StepReport& step) {
        for (const v1::HostLoadReport& load : step.load()) {
          if (load.bottleneck().empty()) continue;
          if (!first.empty()) {
            ++more;
            continue;
          }
          first = absl::StrCat(LabelOfRun(sides, side, run), ": step ", step.number(), " (", FormatBlockSize(size),
                               "): the load generator on ", load.host(), " may be CPU-bound: ", load.bottleneck());
        }
      });
      if (first.empty()) continue;
      warnings.push_back(absl::StrCat(
          first, more == 0
                     ? ""
                     : absl::StrCat(" (and ", more, more == 1 ? " more time" : " more times", " at this block size)")));
    }
  }
}

void AddSameRunWarnings(const std::vector<SideInput>& sides, std::vector<std::string>& warnings) {
  std::map<std::string, std::string> seen;
  ForEachRun(sides, [&](const RunInput& run, const std::string& label) {
    // An id is short; with the moment it is the run's alone.
    const v1::RunReport& about = run.report.run();
    // Steps of one run may be compared with one another.
    const uint32_t step = run.report.steps().empty() ? 0 : run.report.steps(0).number();
    const auto [found, added] =
        seen.try_emplace(absl::StrCat(about.id(), FormatMoment(about.begin()), " ", step), label);
    if (!added) warnings.push_back(absl::StrCat(found->second, " and ", label, " are the same run, ", about.id()));
  });
}

void AddLoadWarnings(const std::vector<SideInput>& sides, const StatedDifferences& stated,
                     std::vector<std::string>& warnings) {
  for (const RunFact& fact : LoadFacts()) {
    if (IsStated(fact, stated)) continue;
    const std::set<std::string> first = FactOf(sides.front(), fact);
    for (size_t side = 1; side < sides.size(); ++side) {
      const std::set<std::string> other = FactOf(sides[side], fact);
      if (other == first) continue;
      warnings.push_back(absl::StrCat(SideLabel(sides, side), " and ", SideLabel(sides, 0),
                                      " do not carry the same load, ", fact.what, ": ", Joined(other), " against ",
                                      Joined(first), "; ", fact.why));
    }
  }
  for (size_t side = 0; side < sides.size(); ++side) {
    for (const RunFact& fact : LoadFacts()) {
      std::set<std::set<std::string>> different;
      for (const RunInput& run : sides[side].runs) different.insert(fact.values(run.report));
      if (different.size() < 2) continue;
      warnings.push_back(absl::StrCat("the runs of ", SideLabel(sides, side), " do not carry the same load, ",
                                      fact.what, ": ", Joined(FactOf(sides[side], fact))));
    }
  }
}

}  // namespace

absl::Status CheckComparable(const std::vector<SideInput>& sides, const StatedDifferences& stated) {
  // As many as a plan can have; the work that follows grows with their square.
  constexpr int kMostSteps = 10'000;
  absl::Status too_many;
  ForEachRun(sides, [&too_many](const RunInput& run, const std::string& /*label*/) {
    if (run.report.steps_size() > kMostSteps) {
      too_many.Update(absl::InvalidArgumentError(absl::StrCat(run.source, ": it has ", run.report.steps_size(),
                                                              " steps, and a run has at most ", kMostSteps)));
    }
    for (const v1::StepReport& step : run.report.steps()) {
      if (step.operations_size() <= kMostOperations) continue;
      too_many.Update(
          absl::InvalidArgumentError(absl::StrCat(run.source, ": step ", step.number(), " has ", step.operations_size(),
                                                  " operations, and a step has at most ", kMostOperations)));
    }
  });
  if (!too_many.ok()) return too_many;
  absl::Status empty;
  ForEachRun(sides, [&empty](const RunInput& run, const std::string& /*label*/) {
    const RunKindFacts& kind = FactsOf(RunKindOf(run.report));
    if (kind.not_comparable != nullptr) {
      empty.Update(absl::FailedPreconditionError(
          absl::StrCat(run.source, ": not comparable: it is ", kind.noun, kind.not_comparable)));
    }
    if (run.report.plan().has_sweep()) {
      empty.Update(absl::FailedPreconditionError(
          absl::StrCat(run.source,
                       ": not comparable: it is a sweep, whose steps have different loads (--rate, --qm); compare runs "
                       "(`plimsoll run`) with one --rate and one --qm")));
    }
    const auto several = [](const v1::HostReport& host) { return host.more_mounts_size() > 0; };
    if (std::ranges::any_of(run.report.hosts(), several)) {
      empty.Update(absl::FailedPreconditionError(absl::StrCat(
          run.source,
          ": not comparable: its queue managers wrote in several directories (--qm-dirs), where a fast one "
          "hides what a slow one loses; compare runs with one --dir, for each directory by itself")));
    }
    if (BlockSizes(run.report).empty()) {
      empty.Update(absl::FailedPreconditionError(absl::StrCat(run.source, ": nothing was measured in this run")));
    }
  });
  if (!empty.ok()) return empty;
  if (CommonBlockSizes(sides).empty()) {
    std::vector<std::string> parts;
    ForEachRun(sides, [&parts](const RunInput& run, const std::string& /*label*/) {
      parts.push_back(absl::StrCat(SizesOf(run.report), " in ", run.source));
    });
    return absl::FailedPreconditionError(absl::StrCat("not comparable: no block size was measured in all runs: ",
                                                      absl::StrJoin(parts, ", "), "; measure all with one --bsize"));
  }
  std::vector<std::string> refused;
  std::set<std::string> options;
  const bool watched = HasWatch(sides);
  for (const RunFact& fact : DecisiveFacts()) {
    // How a watched program writes is listed, and decides nothing.
    if (watched && !fact.options.empty()) continue;
    for (const SideInput& side : sides) {
      if (const std::string within = DifferenceIn({side}, fact); !within.empty()) {
        return absl::FailedPreconditionError(
            absl::StrCat("not comparable: ", within, "; runs of one side are alike: make them sides of their own"));
      }
    }
    const std::string between = IsStated(fact, stated) ? "" : DifferenceIn(sides, fact);
    if (between.empty()) continue;
    if (fact.options.empty()) return absl::FailedPreconditionError(absl::StrCat("not comparable: ", between));
    refused.push_back(between);
    options.insert(fact.options.begin(), fact.options.end());
  }
  if (refused.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("not comparable: ", absl::StrJoin(refused, "; "),
                                                    "; if that is what you compare, pass --differs ",
                                                    absl::StrJoin(options, ",")));
}

absl::Status CheckJudged(const std::vector<SideInput>& sides) {
  absl::Status judged;
  ForEachRun(sides, [&judged](const RunInput& run, const std::string& /*label*/) {
    if (!PlaysWritesAsRecorded(run.report.plan())) return;
    judged.Update(absl::FailedPreconditionError(
        absl::StrCat(run.source,
                     ": never judged: its recorded writes are issued as they are (--playback writes), which "
                     "is ",
                     kNotWhatMqIssues, "; leave out --fail-if-slower, or play them by demand")));
  });
  return judged;
}

std::vector<uint64_t> CommonBlockSizes(const std::vector<SideInput>& sides) {
  std::map<uint64_t, size_t> runs_with;
  size_t runs = 0;
  ForEachRun(sides, [&](const RunInput& run, const std::string& /*label*/) {
    ++runs;
    for (const uint64_t size : BlockSizes(run.report)) ++runs_with[size];
  });
  std::vector<uint64_t> common;
  for (const auto& [size, count] : runs_with) {
    if (count == runs) common.push_back(size);
  }
  return common;
}

std::vector<std::string> CommonOperations(const std::vector<SideInput>& sides, uint64_t block_size_bytes) {
  std::vector<std::string> common = OperationsOf(sides.front().runs.front().report, block_size_bytes);
  ForEachRun(sides, [&](const RunInput& run, const std::string& /*label*/) {
    const std::vector<std::string> of_run = OperationsOf(run.report, block_size_bytes);
    std::erase_if(common, [&of_run](const std::string& name) { return !absl::c_linear_search(of_run, name); });
  });
  return common;
}

std::vector<std::string> RunTroubles(const std::vector<SideInput>& sides) {
  std::vector<std::string> troubles;
  for (size_t side = 0; side < sides.size(); ++side) {
    const std::vector<RunInput>& runs = sides[side].runs;
    for (size_t run = 0; run < runs.size(); ++run) AddRunWarnings(runs[run], LabelOfRun(sides, side, run), troubles);
    std::set<std::string> seen;
    std::erase_if(troubles, [&seen](const std::string& text) { return !seen.insert(text).second; });
  }
  return troubles;
}

std::string DifferenceDoubt(const std::vector<SideInput>& sides, size_t side, uint64_t block_size_bytes) {
  std::vector<std::string> doubts;
  for (const size_t one : {size_t{0}, side}) {
    bool bound = false;
    bool lost = false;
    ForEachStep(sides[one], block_size_bytes, [&](size_t run, const v1::StepReport& step) {
      const auto& hosts = sides[one].runs[run].report.hosts();
      bound = bound || IsCpuBound(step);
      lost = lost || absl::c_any_of(hosts, [&step](const auto& host) { return LacksHost(step, host); });
    });
    const std::string label = SideLabel(sides, one);
    if (bound) doubts.push_back(absl::StrCat("the load generator of ", label, " may be CPU-bound"));
    if (lost) doubts.push_back(absl::StrCat(label, " lost a host"));
  }
  return absl::StrJoin(doubts, "; ");
}

std::vector<std::string> ComparisonWarnings(const std::vector<SideInput>& sides, const StatedDifferences& stated) {
  std::vector<std::string> warnings = RunTroubles(sides);
  AddSameRunWarnings(sides, warnings);
  if (!HasWatch(sides)) AddLoadWarnings(sides, stated, warnings);
  for (std::string& warning : WatchWarnings(sides)) warnings.push_back(std::move(warning));
  AddGeneratorWarnings(sides, warnings);
  return warnings;
}

std::vector<v1::ComparedDifference> SideDifferences(const std::vector<SideInput>& sides) {
  std::vector<v1::ComparedDifference> differences = WatchDifferences(sides);
  const bool watched = HasWatch(sides);
  for (const RunFact& fact : AllFacts()) {
    // A watched program has none of the options of a run.
    if (watched && fact.what.starts_with("--")) continue;
    std::set<std::set<std::string>> different;
    for (const SideInput& side : sides) different.insert(FactOf(side, fact));
    if (different.size() < 2) continue;
    v1::ComparedDifference& difference = differences.emplace_back();
    difference.set_what(fact.what);
    for (const SideInput& side : sides) difference.add_values(Joined(FactOf(side, fact)));
  }
  return differences;
}

}  // namespace plimsoll
