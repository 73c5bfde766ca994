#include "controller/accept/accept_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/units.h"
#include "controller/accept/accept_outage.h"
#include "controller/accept/accept_parts.h"
#include "controller/analysis/host_facts.h"
#include "controller/analysis/judge.h"
#include "controller/analysis/verdict_cause.h"
#include "controller/fsck/checks.h"
#include "controller/plan/accept_plan.h"
#include "controller/plan/plan_defaults.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/report/run_kind.h"
#include "controller/report/scopes.h"
#include "controller/storage/advice.h"
#include "controller/storage/host_text.h"

namespace plimsoll {
namespace {

constexpr uint32_t kReportFormat = 1;
constexpr size_t kMostShown = 3;
constexpr char kWarning[] = "Warning: ";

double Ms(double ns) {
  return ns / static_cast<double>(kNsPerMs);
}

bool HasVerdict(const v1::AcceptRun& run) {
  return run.part() == v1::ACCEPT_PART_LOAD || run.part() == v1::ACCEPT_PART_LIMIT ||
         run.part() == v1::ACCEPT_PART_HA || run.part() == v1::ACCEPT_PART_DISTURB;
}

// The primary cause of the verdict of a load or a search, which has reasons: the first clause of the sentence that the
// report of the run has behind its verdict.
std::string CauseClause(const v1::AcceptRun& run) {
  const std::string& first = run.reasons(0);
  const bool of_criterion = std::ranges::any_of(run.criteria(), [&first](const v1::CriterionReport& criterion) {
    return absl::StartsWith(first, absl::StrCat(criterion.criterion(), " ", OutcomeText(criterion.outcome())));
  });
  v1::VerdictReport verdict;
  verdict.set_outcome(of_criterion ? run.outcome() : v1::OUTCOME_INCONCLUSIVE);
  if (of_criterion) {
    *verdict.mutable_criteria() = run.criteria();
  } else {
    verdict.add_reasons(first);
  }
  std::string cause = PrimaryCause(verdict);
  if (cause.empty()) cause = first;
  return cause.substr(0, cause.find("; "));
}

// Why the run did not pass, in a sentence.
std::string WhyOf(const v1::AcceptRun& run) {
  if (!run.differs().empty()) return absl::StrJoin(run.differs(), "; ");
  if (run.reasons().empty()) return run.result();
  if (HasVerdict(run)) return CauseClause(run);
  const size_t more = static_cast<size_t>(run.reasons_size()) - 1;
  return absl::StrCat(absl::StripSuffix(run.reasons(0), "."),
                      more > 0 ? absl::StrCat(" (and ", Counted(more, "more reason"), ")") : "");
}

}  // namespace

void AddOnce(const std::string& text, google::protobuf::RepeatedPtrField<std::string>& texts) {
  if (std::ranges::find(texts, text) == texts.end()) *texts.Add() = text;
}

void AddFigure(const v1::AcceptRun& run, const std::string& name, const std::string& unit, double value,
               v1::AcceptReport& report) {
  auto found = std::ranges::find_if(*report.mutable_figures(), [&](const v1::AcceptFigure& figure) {
    return figure.part() == run.part() && figure.name() == name;
  });
  v1::AcceptFigure& figure = found == report.mutable_figures()->end() ? *report.add_figures() : *found;
  figure.set_part(run.part());
  figure.set_name(name);
  figure.set_unit(unit);
  v1::AcceptValue& one = *figure.add_values();
  one.set_run(run.run());
  one.set_value(value);
}

namespace {

// What all steps with the same block size and the same host down felt like.
struct LoadFigures {
  double iops_sum = 0;
  size_t steps = 0;
  // The worst of the steps, and whether each has enough writes beyond it.
  std::map<std::string, uint64_t> latency_ns;
  std::set<std::string> thin;
};

LoadFigures FiguresOf(const std::vector<const v1::ScopeReport*>& clusters) {
  LoadFigures figures;
  for (const v1::ScopeReport* const cluster : clusters) {
    figures.iops_sum += cluster->iops();
    ++figures.steps;
    const v1::LatencyReport& felt = FeltLatency(*cluster);
    for (const auto& [name, figure, value_ns] :
         {std::tuple<const char*, const char*, uint64_t>("p50", "p50", felt.p50_ns()),
          {"p99", "p99", felt.p99_ns()},
          {"p99.9", "p99_9", felt.p99_9_ns()},
          {"max", "max", felt.max_ns()}}) {
      uint64_t& worst = figures.latency_ns[name];
      worst = std::max(worst, value_ns);
      if (IsThin(felt, figure)) figures.thin.insert(name);
    }
  }
  return figures;
}

void AddLoadFigures(const v1::Report& found, const v1::AcceptRun& run, std::vector<std::string>& shown,
                    v1::AcceptReport& report) {
  struct AlikeSteps {
    uint64_t block_size_bytes = 0;
    std::string down_host;
    std::vector<const v1::ScopeReport*> clusters;
  };
  // In the order of the steps.
  std::vector<AlikeSteps> groups;
  for (const v1::StepReport& step : found.steps()) {
    const v1::ScopeReport* const cluster = ClusterOf(step);
    if (cluster == nullptr || cluster->latency().count() == 0) continue;
    auto at = std::ranges::find_if(groups, [&](const AlikeSteps& one) {
      return one.block_size_bytes == step.block_size_bytes() && one.down_host == step.down_host();
    });
    if (at == groups.end()) at = groups.insert(at, {step.block_size_bytes(), step.down_host(), {}});
    at->clusters.push_back(cluster);
  }
  const v1::TestPlan& plan = report.plan();
  std::set<uint64_t> sizes;
  for (AlikeSteps& group : groups) {
    sizes.insert(group.block_size_bytes);
    // Rounds before the storage was steady do not count.
    const size_t counted = kSteadyRounds * std::max<size_t>(plan.repeat(), 1);
    if (plan.until_steady_ns() > 0 && group.clusters.size() > counted) {
      group.clusters.erase(group.clusters.begin(), group.clusters.end() - static_cast<ptrdiff_t>(counted));
    }
  }
  for (const AlikeSteps& group : groups) {
    const LoadFigures figures = FiguresOf(group.clusters);
    const std::string block = FormatBlockSize(group.block_size_bytes);
    const std::string hosts = !HasPlacement(plan)       ? ""
                              : group.down_host.empty() ? "all hosts up"
                                                        : absl::StrCat(group.down_host, " down");
    const std::string at = absl::StrCat(sizes.size() > 1 ? absl::StrCat(" at ", block) : "",
                                        hosts.empty() ? "" : absl::StrCat(", ", hosts));
    const double iops = figures.iops_sum / static_cast<double>(figures.steps);
    AddFigure(run, absl::StrCat("IO/s", at), "", iops, report);
    std::string text = absl::StrCat(block, hosts.empty() ? "" : ", ", hosts, ": ", FormatRate(iops), " IO/s");
    for (const char* name : {"p50", "p99", "p99.9", "max"}) {
      if (figures.thin.count(name) > 0) continue;
      const double value_ns = static_cast<double>(figures.latency_ns.at(name));
      AddFigure(run, absl::StrCat(name, at), "ms", Ms(value_ns), report);
      if (std::string(name) == "p99") absl::StrAppend(&text, absl::StrFormat(", p99 %.3f ms", Ms(value_ns)));
    }
    shown.push_back(text);
  }
}

void AddSearchFigures(const v1::Report& found, v1::AcceptRun& run, std::vector<std::string>& shown,
                      v1::AcceptReport& report) {
  const v1::LimitReport& limit = found.limit();
  const bool over_rate = limit.over() == v1::LIMIT_OVER_RATE;
  const std::string unit = over_rate ? "writes/s per queue manager" : "queue managers per host";
  const auto amount = [&](double load) { return over_rate ? FormatTargetRate(load) : FormatFixed(load, 0); };
  if (limit.limit() > 0) AddFigure(run, "limit", unit, limit.limit(), report);
  if (limit.maximum() > 0) AddFigure(run, "maximum", "writes/s per queue manager", limit.maximum(), report);
  if (limit.limit() <= 0) {
    shown.emplace_back("no load was shown to meet the criteria");
    return;
  }
  const LoadRates rates = LoadRatesOf(report.plan());
  const bool one_rate =
      !HasPlacement(report.plan()) && over_rate && rates.most > 0 && rates.unpaced.empty() && rates.least == rates.most;
  shown.push_back(absl::StrCat(amount(limit.limit()), " ", unit, limit.held() ? ", held" : ", not held",
                               one_rate ? absl::StrFormat(", %.2f times the load", limit.limit() / rates.most) : ""));
  // What the search raises is the same on all hosts: it covers the load where it reaches that of each.
  const double load = over_rate ? rates.most : MostQueueManagers(report.plan());
  // The queue managers of a placement have loads of their own, which the load measures.
  if (HasPlacement(report.plan()) || limit.limit() >= load) return;
  const std::string exceeded =
      limit.has_exceeded_at() && limit.exceeded_at() <= load
          ? absl::StrCat("; the criteria were exceeded at ", amount(limit.exceeded_at()), " already")
          : "";
  run.add_reasons(absl::StrCat("the limit of ", amount(limit.limit()), " ", unit, " is below the load of ",
                               over_rate ? RateText(rates) : absl::StrCat(amount(load), " queue managers"), exceeded));
  if (run.outcome() == v1::OUTCOME_PASS) run.set_outcome(v1::OUTCOME_INCONCLUSIVE);
}

// Whether a queue manager of the host wrote without a target rate in the step.
bool IsClosedLoop(const v1::StepReport& step, const std::string& host) {
  return std::ranges::any_of(step.scopes(), [&host](const v1::ScopeReport& scope) {
    const bool has_host = scope.kind() == v1::SCOPE_KIND_CLUSTER || scope.host() == host;
    return has_host && scope.latency().count() > 0 && !scope.has_rate();
  });
}

// The first host and step whose load generator may have been in the way. In a closed loop it then wrote less than it
// should have: criteria that hold do not hold for the load that was to be accepted, and a PASS is INCONCLUSIVE.
void AddBottleneck(const v1::Report& found, v1::AcceptRun& run) {
  const bool passed = run.outcome() == v1::OUTCOME_PASS;
  for (const v1::StepReport& step : found.steps()) {
    for (const v1::HostLoadReport& load : step.load()) {
      if (load.bottleneck().empty() || (passed && !IsClosedLoop(step, load.host()))) continue;
      run.add_reasons(absl::StrCat(
          passed ? "the load may not have been reached: without a target rate, waiting for a CPU lowers it; " : "",
          "the load generator on ", load.host(), " may be CPU-bound (step ", step.number(), "): ", load.bottleneck()));
      if (passed) run.set_outcome(v1::OUTCOME_INCONCLUSIVE);
      return;
    }
  }
}

// Adds a host, with what `host` and `mount` have of it.
void AddHost(const std::string& label, const std::string& dir, const google::protobuf::Message& host,
             const google::protobuf::Message& mount, v1::AcceptReport& report) {
  v1::AcceptHost& added = *report.add_hosts();
  CopySharedFields(host, added);
  CopySharedFields(mount, added);
  added.set_label(label);
  added.set_directory(dir);
  added.set_mount_options(SharedMountOptions(added.mount_options()));
}

// Gives hosts of a storage check, which does not know them, the nodes that a later part found.
template <typename Hosts>
void TakeNodes(const Hosts& hosts, v1::AcceptReport& report) {
  for (const auto& host : hosts) {
    const auto known = std::ranges::find(*report.mutable_hosts(), host.label(), &v1::AcceptHost::label);
    if (host.has_node() && known != report.mutable_hosts()->end()) known->set_node(host.node());
  }
}

// Adds the hosts of a part, once.
void AddHosts(const v1::Report& found, v1::AcceptReport& report) {
  if (report.hosts().empty()) {
    for (const v1::HostReport& host : found.hosts()) {
      AddHost(host.label(), host.workload().dir(), host, host.mount(), report);
    }
    return;
  }
  TakeNodes(found.hosts(), report);
}

// Why the checks say nothing about what happens between hosts; empty: they do.
std::string NotBetweenHosts(const v1::CheckReport& checks) {
  if (checks.hosts_size() < 2) return "one host alone: nothing was tested between hosts";
  std::set<std::string> kernels;
  std::vector<std::string> labels;
  for (const v1::CheckHost& host : checks.hosts()) {
    kernels.insert(host.boot_id());
    labels.push_back(host.label());
  }
  if (kernels.size() > 1) return "";
  return absl::StrCat(absl::StrJoin(labels, ", "), " share one kernel: nothing was tested between hosts");
}

}  // namespace

std::string PartName(v1::AcceptPart part) {
  switch (part) {
    case v1::ACCEPT_PART_STORAGE:
      return "storage";
    case v1::ACCEPT_PART_FSCK:
      return "fsck";
    case v1::ACCEPT_PART_LOAD:
      return "load";
    case v1::ACCEPT_PART_LIMIT:
      return "limit";
    case v1::ACCEPT_PART_HA:
      return "ha";
    case v1::ACCEPT_PART_RESTART_TIME:
      return "restart-time";
    case v1::ACCEPT_PART_DISTURB:
      return "disturb";
    default:
      return "part";
  }
}

std::string RunName(const v1::AcceptRun& run) {
  std::string name = PartName(run.part());
  if (IsDoneOnce(run.part())) return name;
  if (run.part() == v1::ACCEPT_PART_HA) {
    return absl::StrCat(name, run.run() == 1 ? ", extents locked" : ", extents not locked");
  }
  return absl::StrCat(name, ", run ", run.run());
}

std::string FormatWholeSeconds(int64_t duration_ns) {
  const int64_t seconds = (duration_ns + kNsPerSecond - 1) / kNsPerSecond;
  const int64_t hours = seconds / 3600;
  const int64_t minutes = seconds / 60 % 60;
  return absl::StrCat(hours > 0 ? absl::StrCat(hours, "h ") : "", seconds >= 60 ? absl::StrCat(minutes, "m ") : "",
                      seconds % 60, "s");
}

std::string DirectoryOf(const v1::AcceptRun& run) {
  const std::string name = PartName(run.part());
  return IsDoneOnce(run.part()) ? name : absl::StrCat(name, "-", run.run());
}

v1::AcceptReport PlannedAcceptance(const v1::TestPlan& plan) {
  v1::AcceptReport report;
  report.set_format(kReportFormat);
  report.set_name(plan.name());
  *report.mutable_plan() = plan;
  for (const v1::AcceptPart part : kAcceptParts) {
    if (!HasPart(plan, part)) continue;
    const uint32_t runs = RunsOf(plan, part);
    for (uint32_t number = 1; number <= runs; ++number) {
      v1::AcceptRun& run = *report.add_runs();
      run.set_part(part);
      run.set_run(number);
    }
  }
  JudgeAcceptance(report);
  return report;
}

void TakeStorage(const std::vector<StorageHost>& hosts, uint64_t block_size_bytes, v1::AcceptRun& run,
                 v1::AcceptReport& report) {
  run.set_complete(true);
  std::set<std::string> stacks;
  // Labels by what was found, in the order of the hosts; hosts are mostly alike.
  std::vector<std::pair<StorageAdvice, std::vector<std::string>>> found;
  for (const StorageHost& host : hosts) {
    const v1::DirectoryDescription& directory = host.description.directories(0);
    AddHost(host.label, directory.path(), host.description, directory, report);
    stacks.insert(absl::StrCat(directory.fs_type(), " from ", directory.fs_source()));
    for (const StorageAdvice& advice : AdviseOnStorage(directory, block_size_bytes)) {
      auto same = std::ranges::find_if(
          found, [&](const auto& one) { return one.first.level == advice.level && one.first.what == advice.what; });
      if (same == found.end()) same = found.insert(same, {advice, {}});
      same->second.push_back(host.label);
    }
  }
  std::map<AdviceLevel, size_t> counts;
  for (const auto& [advice, labels] : found) {
    ++counts[advice.level];
    const std::string text =
        absl::StrCat(JoinHostNames(labels), ": ", advice.what, ": ", advice.why, " [", advice.source, "]");
    if (advice.level == AdviceLevel::kProblem) {
      run.add_reasons(text);
    } else {
      run.add_notes(absl::StrCat(advice.level == AdviceLevel::kWarning ? kWarning : "Hint: ", text));
    }
  }
  std::vector<std::string> shown(stacks.begin(), stacks.end());
  if (shown.size() > kMostShown) {
    const size_t more = shown.size() - kMostShown;
    shown.resize(kMostShown);
    shown.push_back(absl::StrCat(more, " more"));
  }
  run.set_result(absl::StrCat(absl::StrJoin(shown, "; "), ": ", Counted(counts[AdviceLevel::kProblem], "problem"), ", ",
                              Counted(counts[AdviceLevel::kWarning], "warning")));
  run.set_outcome(counts[AdviceLevel::kProblem] > 0 ? v1::OUTCOME_FAIL : v1::OUTCOME_PASS);
}

void TakeChecks(const v1::CheckReport& checks, v1::AcceptRun& run, v1::AcceptReport& report) {
  TakeNodes(checks.hosts(), report);
  size_t passed = 0;
  size_t required = 0;
  std::vector<std::string> open;
  for (const v1::CheckResult& check : checks.checks()) {
    if (check.level() > checks.level()) continue;
    const std::string because = absl::StrCat(check.name(), ": ", check.reason());
    // Good to know, and no requirement of a shared file system.
    if (check.requirement() == v1::CHECK_REQUIREMENT_NONE) {
      if (check.outcome() != v1::CHECK_OUTCOME_PASS) run.add_notes(because);
      continue;
    }
    ++required;
    switch (check.outcome()) {
      case v1::CHECK_OUTCOME_PASS:
        ++passed;
        break;
      case v1::CHECK_OUTCOME_FAIL:
        run.add_reasons(because);
        break;
      case v1::CHECK_OUTCOME_UNSUPPORTED:
        // A check that is needed fails its requirement; another one does not count.
        if (checks.verdict() != v1::CHECK_VERDICT_FAIL) --required;
        (checks.verdict() == v1::CHECK_VERDICT_FAIL ? *run.mutable_reasons() : *run.mutable_notes())
            .Add(absl::StrCat(check.name(), " is not supported: ", check.reason()));
        break;
      default:
        open.push_back(because);
        break;
    }
  }
  bool ended_early = false;
  for (const std::string& note : checks.notes()) {
    ended_early = ended_early || absl::StartsWith(note, "ended early");
    run.add_notes(note);
  }
  const std::string untested = NotBetweenHosts(checks);
  if (!untested.empty()) open.insert(open.begin(), untested);
  if (required == 0) open.emplace_back("no required check was made");
  run.set_complete(!ended_early);
  run.set_result(absl::StrCat(passed, " of ", Counted(required, "required check"), " passed",
                              untested.empty()          ? ""
                              : checks.hosts_size() < 2 ? ", on one host: nothing was tested between hosts"
                                                        : ", on one kernel: nothing was tested between hosts"));
  if (checks.verdict() == v1::CHECK_VERDICT_FAIL) {
    run.set_outcome(v1::OUTCOME_FAIL);
  } else if (!open.empty() || ended_early) {
    run.set_outcome(v1::OUTCOME_INCONCLUSIVE);
  } else {
    run.set_outcome(v1::OUTCOME_PASS);
  }
  for (const std::string& reason : open) run.add_reasons(reason);
  std::vector<std::string> unproved;
  for (const v1::CheckRequirementResult& requirement : checks.requirements()) {
    if (requirement.verdict() == v1::CHECK_VERDICT_NOT_TESTED)
      unproved.push_back(RequirementName(requirement.requirement()));
  }
  if (!unproved.empty()) {
    AddOnce(absl::StrCat(
                "The quick checks of fsck do not prove what IBM requires of a file system for multi-instance queue "
                "managers: ",
                absl::StrJoin(unproved, ", "), ". plimsoll fsck --level full tests that."),
            *report.mutable_limits());
  }
}

void TakeRun(const v1::Report& found, v1::AcceptRun& run, v1::AcceptReport& report) {
  AddHosts(found, report);
  const RunKind kind = RunKindOf(found);
  if (kind == RunKind::kRestart) return TakeRestart(found, run, report);
  const v1::RunReport& of = found.run();
  run.set_complete(of.state() == v1::RUN_STATE_COMPLETE);
  const v1::VerdictReport& verdict = found.verdict();
  const bool decided =
      verdict.outcome() == v1::OUTCOME_FAIL || (verdict.outcome() == v1::OUTCOME_PASS && run.complete());
  run.set_outcome(decided ? verdict.outcome() : v1::OUTCOME_INCONCLUSIVE);
  *run.mutable_criteria() = verdict.criteria();
  // What decides comes first: where no criterion could fail the run, that is why it is inconclusive.
  const auto add_reasons = [&] {
    for (const std::string& reason : verdict.reasons()) run.add_reasons(reason);
  };
  if (run.outcome() == v1::OUTCOME_INCONCLUSIVE) add_reasons();
  for (const v1::CriterionReport& criterion : verdict.criteria()) {
    if (criterion.outcome() == v1::OUTCOME_PASS) continue;
    std::vector<std::string> parts;
    if (!criterion.value_text().empty()) {
      const std::string place = FormatPlace(criterion.step(), criterion.host(), criterion.qm(), criterion.storage());
      parts.push_back(absl::StrCat(criterion.value_text(), place.empty() ? "" : absl::StrCat(" (", place, ")")));
    }
    if (!criterion.reason().empty()) parts.push_back(criterion.reason());
    run.add_reasons(absl::StrCat(criterion.criterion(), " ", OutcomeText(criterion.outcome()),
                                 parts.empty() ? "" : ": ", absl::StrJoin(parts, "; ")));
  }
  if (run.outcome() != v1::OUTCOME_INCONCLUSIVE) add_reasons();
  if (!run.complete() && verdict.reasons().empty()) run.add_reasons(of.state_reason());
  // A search has said so by itself.
  const bool search = kind == RunKind::kLimit;
  if (kind == RunKind::kHa) {
    ConfineDrill(found, run);
  } else if (!search) {
    AddBottleneck(found, run);
  }
  const bool disturbed = run.part() == v1::ACCEPT_PART_DISTURB;
  if (disturbed) ConfirmDisturbances(found, run);
  if (!verdict.remark().empty()) run.add_notes(verdict.remark());
  for (const std::string& warning : verdict.warnings()) run.add_notes(absl::StrCat(kWarning, warning));
  for (const std::string& note : found.notes()) run.add_notes(note);

  std::vector<std::string> shown;
  if (search) {
    AddSearchFigures(found, run, shown, report);
  } else if (kind == RunKind::kHa) {
    AddDrillFigures(found, run, shown, report);
    AddDrillOutages(found, run);
  } else if (disturbed) {
    AddDisturbOutages(found, run, shown, report);
  } else {
    AddLoadFigures(found, run, shown, report);
  }
  if (shown.size() > kMostShown) {
    const size_t more = shown.size() - kMostShown;
    shown.resize(kMostShown);
    shown.push_back(absl::StrCat("and ", more, " more"));
  }
  run.set_result(shown.empty() ? "nothing was measured" : absl::StrJoin(shown, "; "));
}

void TakeFailure(const std::string& why, v1::AcceptRun& run) {
  run.set_complete(false);
  run.set_outcome(v1::OUTCOME_INCONCLUSIVE);
  run.set_result("could not be done");
  run.add_reasons(why);
}

void TakeDifference(const std::string& what, v1::AcceptRun& run) {
  run.set_outcome(v1::OUTCOME_INCONCLUSIVE);
  run.add_differs(what);
}

bool IsVerdictWarning(const v1::AcceptRun& run, const std::string& note) {
  return HasVerdict(run) && absl::StartsWith(note, kWarning);
}

std::vector<std::string> AcceptWarnings(const v1::AcceptReport& report) {
  // Alike ones once, in the order in which they come, with their runs.
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  for (const v1::AcceptRun& run : report.runs()) {
    for (const std::string& note : run.notes()) {
      if (!IsVerdictWarning(run, note)) continue;
      auto same = std::ranges::find_if(found, [&note](const auto& one) { return one.first == note; });
      if (same == found.end()) same = found.insert(same, {note, {}});
      same->second.push_back(RunName(run));
    }
  }
  std::vector<std::string> warnings;
  for (const auto& [note, runs] : found) {
    warnings.push_back(absl::StrCat(absl::StrJoin(runs, "; "), ": ", absl::StripPrefix(note, kWarning)));
  }
  return warnings;
}

void JudgeAcceptance(v1::AcceptReport& report) {
  const auto& runs = report.runs();
  const bool failed =
      std::ranges::any_of(runs, [](const v1::AcceptRun& run) { return run.outcome() == v1::OUTCOME_FAIL; });
  const bool passed =
      !runs.empty() && report.altered().empty() &&
      std::ranges::all_of(runs, [](const v1::AcceptRun& run) { return IsInOrder(run); }) &&
      std::ranges::any_of(runs, [](const v1::AcceptRun& run) { return run.outcome() == v1::OUTCOME_PASS; });
  report.set_outcome(failed ? v1::OUTCOME_FAIL : passed ? v1::OUTCOME_PASS : v1::OUTCOME_INCONCLUSIVE);

  report.clear_reasons();
  std::vector<std::string> missing;
  // Runs that fail come first.
  for (const bool fails : {true, false}) {
    if (!fails) report.mutable_reasons()->MergeFrom(report.altered());
    for (const v1::AcceptRun& run : runs) {
      if (!run.began() || (run.outcome() == v1::OUTCOME_FAIL) != fails) continue;
      if (IsInOrder(run)) continue;
      report.add_reasons(absl::StrCat(RunName(run), ": ", OutcomeText(run.outcome()), ": ", WhyOf(run)));
    }
  }
  for (const v1::AcceptRun& run : runs) {
    if (!run.began()) missing.push_back(RunName(run));
  }
  if (!missing.empty()) {
    const std::string& why = report.cut_short();
    report.add_reasons(absl::StrCat("Did not run: ", absl::StrJoin(missing, "; "),
                                    !why.empty()     ? absl::StrCat(": ", why)
                                    : report.ended() ? ""
                                                     : ": the acceptance was cut off"));
  }

  AddLimits(report);
  for (v1::AcceptFigure& figure : *report.mutable_figures()) {
    if (figure.values().empty()) continue;
    const auto [least, most] = std::ranges::minmax_element(
        figure.values(), [](const v1::AcceptValue& a, const v1::AcceptValue& b) { return a.value() < b.value(); });
    figure.set_least(least->value());
    figure.set_most(most->value());
    figure.clear_spread_percent();
    double sum = 0;
    for (const v1::AcceptValue& value : figure.values()) sum += value.value();
    if (figure.values_size() > 1 && sum > 0) {
      figure.set_spread_percent(100 * (most->value() - least->value()) / (sum / figure.values_size()));
    }
  }
}

}  // namespace plimsoll
