#include "controller/plan/criteria_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/histogram.h"
#include "common/protocol.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/sweep.h"
#include "controller/report/run_kind.h"
#include "controller/report/watched.h"

namespace plimsoll {
namespace {

// A trend needs five whole seconds (MakeTrend), a worst second one.
constexpr int64_t kLeastTrendNs = 5 * kNsPerSecond;

// About a criterion of the plan.
template <typename... Parts>
PlanProblem CriterionProblem(const std::string& criterion, const Parts&... parts) {
  return PlanProblem(PlanKey("criteria"), ": ", Quoted(criterion), parts...);
}

PlanProblem WrongSide(const std::string& text, const std::string& meant, bool lower_is_better) {
  return CriterionProblem(text, lower_is_better ? " is a lower bound, and lower" : " is an upper bound, and higher",
                          " values are better: did you mean ", Quoted(meant), "?");
}

// The most writes per second that the workload's rate or delay lets one queue manager make; 0: neither bounds them.
double MostWritesPerSecond(const v1::LogWorkload& workload) {
  if (workload.rate_per_second() > 0) return workload.rate_per_second();
  if (workload.delay_ns() > 0) return static_cast<double>(kNsPerSecond) / static_cast<double>(workload.delay_ns());
  return 0;
}

// The criterion with an upper bound, where it has a lower one; else nothing.
std::string UpperBound(const HaCriterion& criterion) {
  const bool strict = criterion.comparison == HaComparison::kGreater;
  if (!strict && criterion.comparison != HaComparison::kGreaterOrEqual) return "";
  return absl::StrReplaceAll(criterion.text, {{">", "<"}});
}

class CriteriaChecker {
 public:
  explicit CriteriaChecker(const v1::TestPlan& plan) : plan_(plan), step_ns_(plan.duration_ns()) {
    // The queue managers of a placement have rates of their own.
    if (!HasPlacement(plan)) workloads_ = EffectiveWorkloads(plan);
    // The answer of a search is measured for longer.
    step_ns_ = std::max(step_ns_, plan.limit().hold_ns());
  }

  // Why no run of the plan could show that the criterion is met; nothing: one could.
  std::optional<PlanProblem> Undecidable(const Criterion& criterion) const {
    if (std::optional<PlanProblem> problem = WithoutOperation(criterion); problem.has_value()) return problem;
    switch (criterion.metric) {
      case Metric::kPercentile:
        return ThinPercentile(criterion);
      case Metric::kMinWritesPerSecond:
      case Metric::kMinBytesPerSecond:
        return TooShort(criterion, kNsPerSecond);
      case Metric::kSteady:
        if (step_ns_ >= kLeastTrendNs) return std::nullopt;
        return PlanProblem(
            PlanKey("duration"), " ", FormatReadableDuration(step_ns_), " is too short to be steady: use ",
            FormatReadableDuration(kLeastTrendNs), " or more",
            HasPlacement(plan_) ? PlanKey("", "") : PlanKey("until_steady", ", or --until-steady (until_steady)"));
      case Metric::kDriftIops:
      case Metric::kDriftLatency:
        return TooShort(criterion, kLeastTrendNs);
      case Metric::kRateAchieved:
      case Metric::kNotIssued:
        return WithoutRate(criterion);
      case Metric::kLongestStall:
        return BelowStall(criterion);
      case Metric::kFairness:
        return AmongOne(criterion);
      case Metric::kHosts:
        return MoreHosts(criterion);
      // What these need, only the run shows.
      case Metric::kMin:
      case Metric::kMax:
      case Metric::kAverage:
      case Metric::kWeightedAverage:
      case Metric::kWritesPerSecond:
      case Metric::kBytesPerSecond:
      case Metric::kWrites:
      case Metric::kStalls:
      case Metric::kStartSkew:
      case Metric::kClockError:
      case Metric::kNfsRetransmits:
        break;
    }
    return std::nullopt;
  }

 private:
  // The most writes per second of that scope of the criterion which makes the fewest, as far as they are bounded: each
  // scope must meet the criterion. 0: nothing bounds them, or the scope is a host of a placement, whose load is another
  // in each step.
  double LeastWritesPerSecond(CriterionScope scope) const {
    const bool of_each = scope == CriterionScope::kQm || scope == CriterionScope::kHost;
    std::vector<double> rates;
    for (const v1::LogWorkload& workload : workloads_) {
      rates.push_back(MostWritesPerSecond(workload) * (scope == CriterionScope::kQm ? 1 : workload.qm()));
    }
    if (HasPlacement(plan_) && scope == CriterionScope::kHost) return 0;
    for (const v1::PlacedQueueManager& placed : plan_.placement()) rates.push_back(placed.rate_per_second());
    double least = 0;
    double all = 0;
    for (const double rate : rates) {
      if (rate <= 0 && !of_each) return 0;
      if (rate > 0) least = least == 0 ? rate : std::min(least, rate);
      all += rate;
    }
    return of_each ? least : all;
  }

  bool ArrivesAtRandom() const {
    return plan_.workload().arrival() == v1::ARRIVAL_POISSON ||
           std::any_of(plan_.hosts().begin(), plan_.hosts().end(),
                       [](const v1::HostSpec& host) { return host.workload().arrival() == v1::ARRIVAL_POISSON; });
  }

  std::optional<PlanProblem> ThinPercentile(const Criterion& criterion) const {
    const double rate = LeastWritesPerSecond(criterion.scope) * ShareOf(criterion);
    const double needed = kNeededBeyond / (1 - criterion.percentile / 100);
    const double seconds = static_cast<double>(step_ns_) / static_cast<double>(kNsPerSecond);
    const double writes = rate * seconds;
    // Rounding decides nothing here, nor does chance: the report does.
    const double by_chance = ArrivesAtRandom() ? 3 * std::sqrt(writes) : 0;
    if (rate <= 0 || std::max(writes + 1, writes / 0.99) + by_chance >= needed) return std::nullopt;
    return PlanProblem(
        PlanKey("duration"),
        absl::StrFormat(" %s is too short for %s: %.0f %s at %.4g a second, and it needs %.0f; use %.0fs or more",
                        FormatReadableDuration(step_ns_), criterion.text, writes,
                        IsOfReads(criterion) ? "reads" : "writes", rate, needed, std::ceil(1.02 * needed / rate)));
  }

  bool IsOfReads(const Criterion& criterion) const {
    return criterion.operation == kReadName || plan_.read_percent() == kOnlyReads;
  }

  // Share of the operations that the criterion is about.
  double ShareOf(const Criterion& criterion) const {
    const double reads = plan_.read_percent() / 100.0;
    return IsOfReads(criterion) ? reads : 1 - reads;
  }

  std::optional<PlanProblem> WithoutOperation(const Criterion& criterion) const {
    if (criterion.operation == kReadName) {
      if (plan_.read_percent() > 0) return std::nullopt;
      return CriterionProblem(criterion.text, " is about reads, and there are none: give ", PlanKey("read"));
    }
    if (IsCallName(criterion.operation)) return WithoutCall(criterion);
    if (criterion.operation == kCommitName) {
      if (plan_.has_group_commit()) return std::nullopt;
      return CriterionProblem(criterion.text, " is about commits, and no clients are simulated: give ",
                              PlanKey("group_commit.clients"), ", or ", PlanKey("group_commit.pattern"));
    }
    if (criterion.operation.empty() || MeasuresParts(plan_)) return std::nullopt;
    if (plan_.has_watch()) {
      return CriterionProblem(criterion.text, " is about a part of each write, which is not watched: leave it out");
    }
    if (plan_.read_percent() == kOnlyReads) {
      return CriterionProblem(criterion.text, " is about a part of each write, and all operations read: leave it out");
    }
    return CriterionProblem(criterion.text, " is about a part of each write, which is measured with ",
                            PlanKey("workload.sync"), " fdatasync alone");
  }

  std::optional<PlanProblem> WithoutCall(const Criterion& criterion) const {
    const auto is_same = [&criterion](const std::string& call) {
      return absl::EqualsIgnoreCase(CallName(call), criterion.operation);
    };
    if (std::any_of(plan_.watch().calls().begin(), plan_.watch().calls().end(), is_same)) return std::nullopt;
    return CriterionProblem(criterion.text, " is about a call that is not watched: name it with ",
                            PlanKey("watch.calls"), " of `plimsoll watch`");
  }

  std::optional<PlanProblem> TooShort(const Criterion& criterion, int64_t least_ns) const {
    if (step_ns_ >= least_ns) return std::nullopt;
    return PlanProblem(PlanKey("duration"), " ", FormatReadableDuration(step_ns_), " is too short for ", criterion.text,
                       ": use ", FormatReadableDuration(least_ns), " or more");
  }

  std::optional<PlanProblem> WithoutRate(const Criterion& criterion) const {
    if (HasPlacement(plan_) || plan_.has_watch()) return std::nullopt;  // which has a check of its own
    for (const v1::LogWorkload& workload : workloads_) {
      if (workload.rate_per_second() > 0) return std::nullopt;
    }
    return CriterionProblem(criterion.text, " is about a target rate, and there is none: give ",
                            PlanKey("workload.rate"));
  }

  // Stalls are as long as --stall at least: without one, the longest may still have been that long.
  std::optional<PlanProblem> BelowStall(const Criterion& criterion) const {
    const int64_t stall_ns = plan_.has_stall_ns() ? plan_.stall_ns() : kUsualStallNs;
    if (criterion.comparison == Comparison::kGreater || criterion.comparison == Comparison::kGreaterOrEqual ||
        Fulfils(criterion, static_cast<double>(stall_ns))) {
      return std::nullopt;
    }
    return CriterionProblem(
        criterion.text, ": of stalls below ", FormatReadableDuration(stall_ns), " (", PlanKey("stall", "--stall"),
        ") no length is known; require stalls==0, or use a longer limit", plan_.has_stall_ns() ? "" : ", or --stall");
  }

  std::optional<PlanProblem> AmongOne(const Criterion& criterion) const {
    if (HasPlacement(plan_) || plan_.has_watch()) return std::nullopt;  // which refuses it
    uint64_t qms = 0;
    for (const v1::LogWorkload& workload : workloads_) qms += workload.qm();
    const bool of_hosts = criterion.scope == CriterionScope::kHost;
    if ((of_hosts ? workloads_.size() : qms) > 1) return std::nullopt;
    const PlanKey hosts("hosts", "--hosts");
    if (of_hosts) {
      return CriterionProblem(criterion.text, " compares hosts, and there is one: leave it out, or give more ", hosts);
    }
    return CriterionProblem(criterion.text, " compares queue managers, and there is one: leave it out, or give more ",
                            PlanKey("workload.qm"), " or ", hosts);
  }

  std::optional<PlanProblem> MoreHosts(const Criterion& criterion) const {
    const auto hosts = static_cast<double>(workloads_.size());
    if (HasPlacement(plan_)) return std::nullopt;  // which refuses it
    if (Fulfils(criterion, hosts) || criterion.limit < hosts) return std::nullopt;
    return CriterionProblem(criterion.text, " asks for more hosts than there are (", workloads_.size(),
                            "): lower it, or give more ", PlanKey("hosts", "--hosts"));
  }

  const v1::TestPlan& plan_;
  // Measured time of the longest step.
  int64_t step_ns_;
  std::vector<v1::LogWorkload> workloads_;
};

}  // namespace

std::vector<PlanProblem> CriteriaProblems(const v1::TestPlan& plan) {
  std::vector<PlanProblem> problems;
  for (const std::string& text : plan.criteria()) {
    const absl::StatusOr<Criterion> criterion = ParseCriterion(text);
    if (!criterion.ok()) {
      problems.emplace_back(PlanKey("criteria"), ": ", std::string(criterion.status().message()));
      continue;
    }
    const auto& blocks = plan.block_size_bytes();
    const uint64_t wanted_bytes = criterion->block_size_bytes;
    if (wanted_bytes != 0 && plan.has_block_size_mix()) {
      problems.push_back(CriterionProblem(text, " applies to blocks of ", FormatSize(wanted_bytes),
                                          "; the figures of a mix are those of all its blocks: leave the size out"));
    } else if (wanted_bytes != 0 && std::find(blocks.begin(), blocks.end(), wanted_bytes) == blocks.end()) {
      problems.push_back(CriterionProblem(text, " applies to blocks of ", FormatSize(wanted_bytes), ", which ",
                                          PlanKey("block_size"), " does not list"));
    }
    if (!IsReversed(*criterion)) continue;
    problems.push_back(WrongSide(text, Reversed(*criterion).text, InfoOf(criterion->metric).better == Better::kLower));
  }
  return problems;
}

std::vector<PlanProblem> UndecidableCriteria(const v1::TestPlan& plan) {
  std::vector<PlanProblem> problems;
  // Each step of a sweep must be able to decide them.
  const v1::TestPlan least = WithLeastLoad(plan);
  const CriteriaChecker checker(least);
  for (const std::string& text : plan.criteria()) {
    const absl::StatusOr<Criterion> criterion = ParseCriterion(text);
    if (!criterion.ok() || IsReversed(*criterion)) continue;
    std::optional<PlanProblem> problem = checker.Undecidable(*criterion);
    if (problem.has_value()) problems.push_back(*std::move(problem));
  }
  return problems;
}

std::vector<PlanProblem> HaCriteriaProblems(const v1::TestPlan& plan) {
  std::vector<PlanProblem> problems;
  const bool any_takeover = AnyTakeover(plan.ha());
  for (const std::string& text : plan.criteria()) {
    const absl::StatusOr<HaCriterion> criterion = ParseHaCriterion(text);
    if (!criterion.ok()) {
      problems.emplace_back(PlanKey("criteria"), ": ", std::string(criterion.status().message()));
    } else if (const std::string meant = UpperBound(*criterion); !meant.empty()) {
      problems.push_back(WrongSide(text, meant, true));
    } else if (InfoOf(criterion->metric).is_time && !any_takeover) {
      problems.push_back(CriterionProblem(
          text, " is about takeovers, and none of the faults makes a standby take over: leave it out, or add another ",
          PlanKey("ha.faults"), ", such as kill"));
    }
  }
  return problems;
}

}  // namespace plimsoll
