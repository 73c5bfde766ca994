#include "controller/analysis/verdict_cause.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "common/algorithm.h"
#include "controller/analysis/judge.h"
#include "controller/criteria/criteria.h"
#include "controller/report/main_operation.h"
#include "controller/report/playback.h"
#include "controller/report/run_kind.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

// Kinds of reasons, the primary ones first; those of kinds that are not listed follow.
constexpr const char* kOrder[] = {
    kInterruptedReason,  // explains whatever is missing
    "damage",            // of the journal: nothing else is certain
    "journal",           // which ends before the run does
    kClockPaceReason,    // every latency of the step is wrong
    kBoundsReason,       // something was watched in part only
    "lost",
    "fault",
    kSuspendedReason,
    "ring",   // a load generator that was the bottleneck
    "clock",  // too coarse
    "silent",
    "absent",
    "in flight",
    "malformed",
    "totals",
    "accounted",
    "run",  // ended early, or lacks steps: because of what is above, where that is known
    "step",
};

std::ptrdiff_t PlaceInOrder(const Reason& reason) {
  return std::find(std::begin(kOrder), std::end(kOrder), reason.kind) - std::begin(kOrder);
}

// The sentence to continue "INCONCLUSIVE: ".
std::string AsPhrase(const std::string& sentence) {
  std::string phrase(absl::StripPrefix(absl::StripSuffix(sentence, "."), "The run ended early: "));
  for (const char* const word : {"The ", "Only ", "Step ", "Not ", "No ", "Nothing ", "Left out", "Round "}) {
    if (absl::StartsWith(phrase, word)) phrase[0] = static_cast<char>(phrase[0] - 'A' + 'a');
  }
  return phrase;
}

// Whether the load generator may have caused the figure that leaves a criterion undecided.
bool IsGeneratorDoubt(const std::string& reason) {
  return absl::StrContains(reason, "the load generator");
}

// The longest for which a writer of the host can have waited for a CPU between two samples.
double MostWaitedNs(const v1::HostLoadReport& load) {
  if (load.writer_cpu_wait().empty()) {
    return load.writer_cpu_wait_percent() / 100 * static_cast<double>(load.sampled_ns());
  }
  double most_ns = 0;
  int64_t begin_ns = 0;
  for (int row = 0; row < std::min(load.writer_cpu_wait_size(), load.offset_ns_size()); ++row) {
    const auto length_ns = static_cast<double>(load.offset_ns(row) - begin_ns);
    most_ns = std::max(most_ns, load.writer_cpu_wait(row) / 100 * length_ns);
    begin_ns = load.offset_ns(row);
  }
  return most_ns;
}

// Whether a pause of the host's agent cannot be a wait for a CPU. A host that is short of CPU suspends its agent, too:
// then the waiting is the cause. It is compared around the pause, and not over the step, however long that is.
bool IsSuspended(const v1::HostLoadReport& load) {
  if (load.bottleneck().empty() || load.paused_ns() <= 0) return false;
  const auto longest_ns = std::min<uint64_t>(load.recorder_late_max_ns(), static_cast<uint64_t>(load.paused_ns()));
  return static_cast<double>(longest_ns) > MostWaitedNs(load);
}

// Whether pauses of the host's agent may be why its load generator leaves the criterion undecided.
bool IsCausedBy(const v1::HostLoadReport& load, const std::string& text, const v1::CriterionStepReport& result) {
  if (!IsSuspended(load) || (!result.host().empty() && result.host() != load.host())) return false;
  const absl::StatusOr<Criterion> criterion = ParseCriterion(text);
  const bool latency = criterion.ok() && InfoOf(criterion->metric).has_service_time && !result.value_text().empty();
  return !latency || 2 * static_cast<double>(load.paused_ns()) >= result.value();
}

std::string InSteps(const std::vector<const v1::StepReport*>& steps) {
  return steps.size() == 1 ? absl::StrCat("in step ", steps.front()->number())
                           : absl::StrCat("in ", steps.size(), " steps");
}

// Whether simulated commits come whether the storage keeps up or not, and a criterion is about how long they wait.
bool TestsWaitingCommits(const v1::Report& report) {
  const v1::GroupCommit& commits = report.plan().group_commit();
  if (!commits.has_pattern() && !commits.has_client_rate_per_second()) return false;
  return std::ranges::any_of(report.verdict().criteria(), [](const v1::CriterionReport& one) {
    const absl::StatusOr<Criterion> criterion = ParseCriterion(one.criterion());
    return criterion.ok() && criterion->operation == kCommitName && InfoOf(criterion->metric).has_service_time;
  });
}

bool HasClosedLoop(const v1::StepReport& step) {
  return std::ranges::any_of(OfKind(step.scopes(), v1::SCOPE_KIND_QM), [](const v1::ScopeReport& scope) {
    return scope.latency().count() > 0 && !scope.has_rate();
  });
}

// Whether the criterion fails, or may fail, for a stall of that class in the step. `by_max`: a limit on the longest
// write does.
bool TestsStalls(const std::string& text, const v1::StepReport& step, v1::StallClass stall_class, bool by_max) {
  const absl::StatusOr<Criterion> criterion = ParseCriterion(text);
  if (!criterion.ok()) return false;
  if (criterion->block_size_bytes != 0 && criterion->block_size_bytes != step.block_size_bytes()) return false;
  if (!WantsSmall(*criterion) && criterion->comparison != Comparison::kEqual) return false;
  if (criterion->metric == Metric::kMax) {
    return by_max && (criterion->operation.empty() || criterion->operation == kCommitName);
  }
  if (criterion->metric != Metric::kStalls && criterion->metric != Metric::kLongestStall) return false;
  // A single host does not show whether it was the storage or the path: either class leaves it undecided.
  return criterion->stall_class == v1::STALL_CLASS_UNSPECIFIED || criterion->stall_class == stall_class ||
         (stall_class == v1::STALL_CLASS_SINGLE_HOST &&
          (criterion->stall_class == v1::STALL_CLASS_ALL_HOSTS || criterion->stall_class == v1::STALL_CLASS_ONE_HOST));
}

// Whether each operation that may have stalled is longer than a limit on the longest write allows: in a mixed run only
// where the reads have such a limit, too.
bool MaxTestsStalls(const v1::Report& report) {
  if (!ReadsAndWrites(report.plan().read_percent())) return true;
  return std::ranges::any_of(report.verdict().criteria(), [](const v1::CriterionReport& one) {
    const absl::StatusOr<Criterion> criterion = ParseCriterion(one.criterion());
    return criterion.ok() && criterion->metric == Metric::kMax && criterion->operation == kReadName &&
           WantsSmall(*criterion);
  });
}

bool HasUntestedStalls(const v1::Report& report, const v1::StepReport& step) {
  if (!HasClosedLoop(step) || TestsWaitingCommits(report)) return false;
  const bool by_max = MaxTestsStalls(report);
  return std::ranges::any_of(step.stalls().classes(), [&](const v1::StallCount& stalls) {
    const auto& criteria = report.verdict().criteria();
    return stalls.count() > 0 && std::ranges::none_of(criteria, [&](const auto& criterion) {
             return TestsStalls(criterion.criterion(), step, stalls.stall_class(), by_max);
           });
  });
}

std::string UntestedStalls(const std::vector<const v1::StepReport*>& steps) {
  uint64_t count = 0;
  int64_t longest_ns = 0;
  for (const v1::StepReport* const step : steps) {
    count += step->stalls().count();
    for (const v1::StallReport& stall : step->stalls().stalls()) longest_ns = std::max(longest_ns, stall.length_ns());
  }
  return absl::StrFormat(
      "%d %s of up to %.3f s %s: in a closed loop a stall is one slow write among many, and no criterion "
      "tests max, stalls or response times.",
      count, count == 1 ? "stall" : "stalls", static_cast<double>(longest_ns) / 1e9, InSteps(steps));
}

}  // namespace

bool IsInterrupted(const v1::RunEnd& end) {
  return end.cut_short().rfind("interrupted", 0) == 0;
}

NoteBook RunReasons(const v1::Report& report, const v1::RunBegin* run, const v1::RunEnd* end, bool mid_step) {
  NoteBook reasons;
  if (run == nullptr) {
    reasons.Add("journal", "The journal ends before the run began.");
  } else if (end == nullptr) {
    const int step = mid_step ? static_cast<int>(report.steps().rbegin()->number()) : 0;
    reasons.Add("journal", step == 0
                               ? std::string("The journal ends before the run does.")
                               : absl::StrCat("The journal ends in step ", step,
                                              step > run->steps_size() ? std::string(".")
                                                                       : absl::StrCat(" of ", run->steps_size(), ".")));
  } else if (!end->cut_short().empty()) {
    reasons.Add(IsInterrupted(*end) ? kInterruptedReason : "run",
                absl::StrCat("The run ended early: ", Sentence(end->cut_short())));
  } else if (report.steps_size() < run->steps_size()) {
    reasons.Add("run", absl::StrCat("Only ", report.steps_size(), " of ", run->steps_size(), " steps ran."));
  }
  for (const v1::StepReport& step : report.steps()) {
    // The run mostly ends for the same reason, and has reported it.
    if (!step.cut_short().empty() && !(end != nullptr && end->cut_short() == step.cut_short())) {
      reasons.Add("step", absl::StrCat("Step ", step.number(), " ended early: ", Sentence(step.cut_short())));
    }
  }
  return reasons;
}

void OrderReasons(std::vector<Reason>& reasons) {
  StableSort(reasons, [](const Reason& a, const Reason& b) { return PlaceInOrder(a) < PlaceInOrder(b); });
  if (!reasons.empty() && reasons.front().kind == kInterruptedReason) reasons.resize(1);
}

std::vector<std::string> SuspendedHosts(const v1::Report& report) {
  const auto leaves_undecided = [&report](const v1::StepReport& step, const v1::HostLoadReport& load) {
    for (const v1::CriterionReport& criterion : report.verdict().criteria()) {
      for (const v1::CriterionStepReport& result : criterion.steps()) {
        const bool doubted = result.step() == step.number() && result.outcome() == v1::OUTCOME_INCONCLUSIVE &&
                             IsGeneratorDoubt(result.reason());
        if (doubted && IsCausedBy(load, criterion.criterion(), result)) return true;
      }
    }
    return false;
  };
  const bool all = report.limit().cause() == v1::LIMIT_CAUSE_LOAD_GENERATOR ||
                   std::ranges::any_of(report.verdict().reasons(), IsGeneratorDoubt);
  std::vector<std::pair<int64_t, std::string>> hosts;
  for (const v1::StepReport& step : report.steps()) {
    for (const v1::HostLoadReport& load : step.load()) {
      if (all ? IsSuspended(load) : leaves_undecided(step, load)) hosts.emplace_back(load.paused_ns(), load.host());
    }
  }
  StableSort(hosts, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> sentences;
  for (const auto& [paused_ns, host] : hosts) {
    const double seconds = static_cast<double>(paused_ns) / 1e9;
    sentences.push_back(
        absl::StrCat(host, " was suspended for ",
                     seconds >= 1 ? absl::StrFormat("%.1f s.", seconds) : absl::StrFormat("%.0f ms.", seconds * 1e3)));
  }
  return sentences;
}

std::string PrimaryCause(const v1::VerdictReport& verdict) {
  if (verdict.outcome() == v1::OUTCOME_INCONCLUSIVE && !verdict.reasons().empty()) return AsPhrase(verdict.reasons(0));
  if (verdict.outcome() != v1::OUTCOME_INCONCLUSIVE && verdict.outcome() != v1::OUTCOME_FAIL) return "";
  for (const v1::CriterionReport& criterion : verdict.criteria()) {
    if (criterion.outcome() != verdict.outcome()) continue;
    std::string cause = criterion.criterion();
    if (verdict.outcome() == v1::OUTCOME_FAIL) {
      const std::string place = FormatPlace(criterion.step(), criterion.host(), criterion.qm(), criterion.storage(),
                                            criterion.queue_manager());
      if (!criterion.value_text().empty()) absl::StrAppend(&cause, ": ", criterion.value_text());
      if (!place.empty()) absl::StrAppend(&cause, ", ", place);
    }
    if (!criterion.reason().empty()) absl::StrAppend(&cause, ": ", criterion.reason());
    return cause;
  }
  return "";
}

std::vector<std::string> SecondaryReasons(const v1::VerdictReport& verdict) {
  const bool first_is_cause = verdict.outcome() == v1::OUTCOME_INCONCLUSIVE && !verdict.reasons().empty();
  return {verdict.reasons().begin() + (first_is_cause ? 1 : 0), verdict.reasons().end()};
}

std::vector<std::string> VerdictWarnings(const v1::Report& report) {
  if (PlaysWritesAsRecorded(report.plan())) {
    return {absl::StrCat("The recorded writes were issued as they are (--playback writes): ", kNotWhatMqIssues,
                         ". Such a run is never judged.")};
  }
  if (report.verdict().outcome() != v1::OUTCOME_PASS) return {};
  std::vector<const v1::StepReport*> bound;
  std::vector<const v1::StepReport*> stalled;
  // A kind with an answer names its load generator itself, and only the step of the answer is one that passed.
  const auto answer_step = FactsOf(RunKindOf(report)).answer_step;
  for (const v1::StepReport& step : report.steps()) {
    if (answer_step == nullptr && IsCpuBound(step)) bound.push_back(&step);
    if (answer_step != nullptr && step.number() != answer_step(report)) continue;
    if (HasUntestedStalls(report, step)) stalled.push_back(&step);
  }
  std::vector<std::string> warnings;
  if (!bound.empty()) {
    warnings.push_back(absl::StrCat("The load generator may be CPU-bound ", InSteps(bound),
                                    "; the criteria hold for the load that was reached."));
  }
  if (!stalled.empty()) warnings.push_back(UntestedStalls(stalled));
  return warnings;
}

}  // namespace plimsoll
