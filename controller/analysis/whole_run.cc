#include "controller/analysis/whole_run.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/analysis/figures.h"
#include "controller/analysis/judge.h"
#include "controller/analysis/note_book.h"
#include "controller/criteria/criteria.h"
#include "controller/report/scopes.h"
#include "controller/report/swept_load.h"

namespace plimsoll {

SteadyRounds::SteadyRounds(const google::protobuf::RepeatedPtrField<v1::LogStep>& steps, int64_t until_steady_ns) {
  for (const v1::LogStep& step : steps) courses_.emplace_back().step = step;
  // As in MostRounds (controller/plan/plan_defaults.h); steps of a damaged journal may have any length.
  if (!courses_.empty() && courses_.front().step.duration_ns() > 0 && until_steady_ns > 0) {
    most_rounds_ = static_cast<size_t>(until_steady_ns / courses_.front().step.duration_ns());
  }
}

void SteadyRounds::OnStep(const v1::StepReport& report) {
  if (courses_.empty() || report.number() == 0) return;
  steps_ = report.number();
  Course& course = courses_[(steps_ - 1) % courses_.size()];
  const v1::ScopeReport* const cluster = ClusterOf(report);
  const bool whole = report.cut_short().empty() && report.measured_ns() >= report.duration_ns();
  if (cluster == nullptr || !whole) return;
  double iops = cluster->iops();
  if (const v1::OperationReport* const reads = ReadsOf(report); reads != nullptr) {
    const v1::OperationScopeReport* const of_cluster = ClusterOf(reads->scopes());
    if (of_cluster == nullptr) return;
    iops += of_cluster->throughput().iops();
  }
  course.iops.push_back(iops);
  last_text_ = absl::StrCat("step ", report.number(), ": round ", (steps_ - 1) / courses_.size() + 1, " of at most ",
                            most_rounds_, ", ", NameOf(course), ": ", FormatRate(iops), " IO/s");
  if (course.iops.size() < kSteadyFigures) return;
  const Steadiness now = JudgeSteady({course.iops.end() - kSteadyFigures, course.iops.end()});
  course.steady = now.steady;
  course.range_percent = now.range_percent;
  course.slope_percent = now.slope_percent;
  absl::StrAppend(&last_text_, ", ", course.steady ? "steady: " : "not steady: ", Figures(course));
}

bool SteadyRounds::AllSteady() const {
  return std::all_of(courses_.begin(), courses_.end(), [](const Course& course) { return course.steady; });
}

std::optional<v1::LogStep> SteadyRounds::NextStep() const {
  if (courses_.empty()) return std::nullopt;
  const size_t in_round = steps_ % courses_.size();
  if (in_round == 0 && (AllSteady() || steps_ / courses_.size() >= most_rounds_)) return std::nullopt;
  return courses_[in_round].step;
}

std::string SteadyRounds::NameOf(const Course& course) const {
  const bool repeated = courses_.back().step.repetition() > 0;
  const std::string load = absl::StrJoin(SweptParts(course.step), ", ");
  return absl::StrCat(FormatBlockSize(course.step.block_size_bytes()), load.empty() ? "" : ", ", load,
                      repeated ? absl::StrCat(", repetition ", course.step.repetition() + 1) : "");
}

std::string SteadyRounds::Figures(const Course& course) {
  return absl::StrFormat(
      "IO/s of the last %d have a range of %.1f %% of their mean (limit %.0f) and a slope of %.1f %% (limit %.0f)",
      kSteadyFigures, course.range_percent, kSteadyRangePercent, course.slope_percent, kSteadySlopePercent);
}

void SteadyRounds::Finish(std::vector<std::string>& notes, std::vector<std::string>& reasons) const {
  if (courses_.empty()) reasons.emplace_back("Not steady: the plan has no steps that a run can have.");
  for (const Course& course : courses_) {
    const size_t rounds = course.iops.size();
    const std::string after = absl::StrCat(" after ", rounds, rounds == 1 ? " round of " : " rounds of ",
                                           FormatDuration(course.step.duration_ns()));
    if (course.steady) {
      notes.push_back(absl::StrCat(NameOf(course), ": steady", after, ": ", Figures(course), "."));
      continue;
    }
    reasons.push_back(absl::StrCat(
        "Not steady at ", NameOf(course), after, rounds >= most_rounds_ ? ", the limit of --until-steady" : "",
        rounds < kSteadyFigures ? absl::StrCat(": SNIA's rule needs ", kSteadyFigures, " rounds.")
                                : absl::StrCat(": ", Figures(course), ".")));
  }
}

namespace {

// Largest number of unfulfilled criteria that a step's reasons name.
constexpr size_t kMostReasons = 3;
// What is required of the rates unless the plan requires less.
constexpr double kWholeRatePercent = 99;
// Whatever a damaged journal claims: a run's most steps, and names of moved queue managers in all of them.
constexpr int kMostSteps = 10'000;
constexpr int kMostMoved = 100'000;

class PlacementMaker {
 public:
  explicit PlacementMaker(const v1::Report& report) : report_(report) {
    for (const v1::HostReport& host : report.hosts()) {
      labels_[host.number()] = host.label();
      for (const v1::LogQueueManager& qm : host.queue_managers()) queue_managers_.emplace(qm.number(), &qm);
    }
    for (const v1::StepReport& step : report.steps()) steps_[step.number()] = &step;
  }

  v1::PlacementReport Make(const google::protobuf::RepeatedPtrField<v1::LogStep>& steps) {
    v1::PlacementReport placement;
    // What was asked of each step: all hosts up, or one of them down.
    std::set<std::optional<uint32_t>> passed;
    std::vector<std::string> failed;
    size_t undecided = 0;
    for (const v1::LogStep& spec : steps) {
      if (placement.steps_size() >= kMostSteps) break;
      v1::PlacementStepReport& row = *placement.add_steps();
      row.set_step(static_cast<uint32_t>(placement.steps_size()));
      MakeRow(spec, row);
      const std::string what =
          row.down_host().empty() ? "with all hosts up" : absl::StrCat("with ", row.down_host(), " down");
      if (row.outcome() == v1::OUTCOME_PASS) passed.insert(DownHostOf(spec));
      if (row.outcome() == v1::OUTCOME_INCONCLUSIVE) ++undecided;
      if (row.outcome() == v1::OUTCOME_FAIL && std::find(failed.begin(), failed.end(), what) == failed.end()) {
        failed.push_back(what);
      }
    }
    const bool every_one = passed.size() == labels_.size() + 1 && passed.contains(std::nullopt);
    if (!failed.empty()) {
      placement.set_outcome(v1::OUTCOME_FAIL);
      placement.set_answer(absl::StrCat("No: not ", absl::StrJoin(failed, ", not "),
                                        undecided > 0 ? absl::StrCat("; ", Undecided(undecided, steps.size())) : "",
                                        "."));
    } else if (every_one && undecided == 0 && report_.verdict().outcome() == v1::OUTCOME_PASS) {
      placement.set_outcome(v1::OUTCOME_PASS);
      placement.set_answer(absl::StrCat("Yes", ShareText(), ": with all hosts up, and with any one of the ",
                                        labels_.size(), " hosts down."));
    } else {
      placement.set_outcome(v1::OUTCOME_INCONCLUSIVE);
      placement.set_answer(absl::StrCat(
          "Not known: ", undecided > 0 ? Undecided(undecided, steps.size()) : "see the verdict's reasons", "."));
    }
    return placement;
  }

 private:
  // The share of its rates that the load was required to reach, where the plan asks for less than plimsoll would.
  std::string ShareText() const {
    double share = 0;
    bool any = false;
    for (const v1::CriterionReport& report : report_.verdict().criteria()) {
      const absl::StatusOr<Criterion> criterion = ParseCriterion(report.criterion());
      if (!criterion.ok() || !IsLeastRate(*criterion)) continue;
      any = true;
      share = std::max(share, criterion->limit);
    }
    return !any || share >= kWholeRatePercent ? "" : absl::StrFormat(", at %g %% of its rates or more", share);
  }

  static std::string Undecided(size_t count, int of) {
    return absl::StrCat(count, " of ", of, " steps ", count == 1 ? "decides" : "decide", " nothing");
  }

  std::string LabelOf(uint32_t host) const {
    const auto found = labels_.find(host);
    return found == labels_.end() ? absl::StrCat("host number ", host) : found->second;
  }

  void MakeRow(const v1::LogStep& spec, v1::PlacementStepReport& row) {
    if (spec.has_down_host()) row.set_down_host(LabelOf(spec.down_host()));
    for (const auto& [number, qm] : queue_managers_) {
      row.set_asked_iops(row.asked_iops() + qm->rate_per_second());
      if (DownHostOf(spec) != qm->home() || ++moved_ > kMostMoved) continue;
      v1::MovedReport& moved = *row.add_moved();
      moved.set_queue_manager(qm->name());
      moved.set_host(LabelOf(qm->standby()));
    }
    row.set_outcome(v1::OUTCOME_INCONCLUSIVE);
    const auto found = steps_.find(row.step());
    if (found == steps_.end()) {
      row.set_reason("did not run");
      return;
    }
    const v1::StepReport& step = *found->second;
    SetFigures(step, row);
    const std::string missing = WhatIsMissing(spec, step);
    row.set_played(missing.empty());
    std::vector<std::string> reasons;
    row.set_outcome(OutcomeOf(step, missing.empty(), reasons));
    if (reasons.size() > kMostReasons) {
      const size_t more = reasons.size() - kMostReasons;
      reasons.resize(kMostReasons);
      reasons.push_back(absl::StrCat("and ", more, more == 1 ? " more criterion" : " more criteria"));
    }
    if (!missing.empty()) reasons.push_back(missing);
    if (row.outcome() != v1::OUTCOME_PASS) AddCauses(step, reasons);
    row.set_reason(absl::StrJoin(reasons, "; "));
  }

  static void SetFigures(const v1::StepReport& step, v1::PlacementStepReport& row) {
    if (const v1::ScopeReport* const cluster = ClusterOf(step); cluster != nullptr) {
      const v1::LatencyReport& felt = FeltLatency(*cluster);
      row.set_iops(cluster->iops());
      row.set_p50_ns(felt.p50_ns());
      row.set_p99_ns(felt.p99_ns());
      row.set_max_ns(felt.max_ns());
      *row.mutable_thin() = felt.thin();
    }
    bool any = false;
    bool thin = false;
    for (const v1::ScopeReport& scope : OfKind(step.scopes(), v1::SCOPE_KIND_HOST)) {
      const v1::LatencyReport& felt = FeltLatency(scope);
      if (felt.count() == 0) continue;
      thin = thin || IsThin(felt, "p99");
      if (any && felt.p99_ns() <= row.worst_p99_ns()) continue;
      any = true;
      row.set_worst_host(scope.host());
      row.set_worst_p99_ns(felt.p99_ns());
    }
    if (!thin) return;
    // With a p99 of a few writes it is not known which host's is the highest.
    row.clear_worst_host();
    row.clear_worst_p99_ns();
  }

  // Why the step shows less than the load of all queue managers for its whole time; empty: it shows it.
  std::string WhatIsMissing(const v1::LogStep& spec, const v1::StepReport& step) const {
    if (!step.cut_short().empty()) return absl::StrCat("ended early: ", step.cut_short());
    std::set<std::pair<std::string, std::string>> whole;
    for (const v1::ScopeReport& scope : OfKind(step.scopes(), v1::SCOPE_KIND_QM)) {
      if (scope.has_data_until()) continue;
      if (scope.measured_ns() >= step.duration_ns()) whole.emplace(scope.host(), scope.queue_manager());
    }
    for (const auto& [number, qm] : queue_managers_) {
      const std::string host = LabelOf(HostOf(*qm, DownHostOf(spec)));
      if (!whole.contains({host, qm->name()})) {
        return absl::StrCat(qm->name(), " did not write to the step's end on ", host);
      }
    }
    return "";
  }

  // What the criteria say of the step: first those that fail, then those that are undecided.
  v1::Outcome OutcomeOf(const v1::StepReport& step, bool whole, std::vector<std::string>& reasons) const {
    bool passed = false;
    bool failed = false;
    bool undecided = !whole;
    std::vector<std::string> doubts;
    for (const v1::CriterionReport& criterion : report_.verdict().criteria()) {
      for (const v1::CriterionStepReport& result : criterion.steps()) {
        if (result.step() != step.number()) continue;
        if (result.outcome() == v1::OUTCOME_PASS) passed = true;
        if (result.outcome() == v1::OUTCOME_FAIL) {
          failed = true;
          const std::string place =
              FormatPlace(0, result.host(), result.qm(), result.storage(), result.queue_manager());
          reasons.push_back(
              absl::StrCat(criterion.criterion(), ": ", result.value_text(), place.empty() ? "" : " at ", place));
        }
        if (result.outcome() == v1::OUTCOME_INCONCLUSIVE) {
          undecided = true;
          // The row has the step's number.
          const std::string reason(absl::StripPrefix(result.reason(), absl::StrCat("step ", step.number(), ", ")));
          doubts.push_back(absl::StrCat(criterion.criterion(), ": ", reason));
        }
      }
    }
    reasons.insert(reasons.end(), doubts.begin(), doubts.end());
    return failed ? v1::OUTCOME_FAIL : undecided || !passed ? v1::OUTCOME_INCONCLUSIVE : v1::OUTCOME_PASS;
  }

  // What a reader must know of how the load was made.
  static void AddCauses(const v1::StepReport& step, std::vector<std::string>& reasons) {
    const v1::ScopeReport* const cluster = ClusterOf(step);
    if (cluster != nullptr && cluster->has_rate() && !cluster->rate().held() &&
        (cluster->rate().max_behind_ns() > 0 || cluster->rate().unserved() > 0)) {
      reasons.push_back(absl::StrFormat("the schedule fell behind by up to %.3f s, %s writes not issued",
                                        static_cast<double>(cluster->rate().max_behind_ns()) / 1e9,
                                        FormatCount(cluster->rate().unserved())));
    }
    for (const v1::HostLoadReport& load : step.load()) {
      if (load.bottleneck().empty()) continue;
      reasons.push_back(absl::StrCat("the load generator on ", load.host(), " may be CPU-bound: ", load.bottleneck()));
    }
  }

  const v1::Report& report_;
  std::map<uint32_t, std::string> labels_;
  // By their numbers in the placement.
  std::map<uint32_t, const v1::LogQueueManager*> queue_managers_;
  std::map<uint32_t, const v1::StepReport*> steps_;
  int moved_ = 0;
};

}  // namespace

v1::PlacementReport MakePlacementReport(const v1::Report& report,
                                        const google::protobuf::RepeatedPtrField<v1::LogStep>& steps) {
  return PlacementMaker(report).Make(steps);
}

namespace {

// The host's created files that its threads have not written full, with what they have.
std::vector<std::string> UnfilledFilesOf(const v1::HostReport& host, const v1::StepReport& step) {
  const v1::LogWorkload& workload = host.workload();
  std::vector<uint64_t> written(CountUsedFiles(workload));
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() != v1::SCOPE_KIND_QM || scope.host() != host.label()) continue;
    if (scope.qm() < 1 || scope.qm() > workload.qm()) continue;
    const uint64_t file = uint64_t{scope.qm() - 1} * written.size() / workload.qm();
    written[file] += scope.latency().count() * step.block_size_bytes();
  }
  std::vector<std::string> unfilled;
  for (size_t file = 0; file < written.size(); ++file) {
    if (written[file] >= workload.file_size_bytes()) continue;
    unfilled.push_back(absl::StrCat(workload.files(static_cast<int>(file)), " (", FormatSizeForPeople(written[file]),
                                    " of ", FormatSizeForPeople(workload.file_size_bytes()), ")"));
  }
  return unfilled;
}

}  // namespace

std::vector<std::string> UnfilledFiles(const v1::Report& report) {
  constexpr size_t kMostFilesNamed = 4;
  if (!report.plan().workload().create() || report.steps().empty()) return {};
  NoteBook notes;
  for (const v1::HostReport& host : report.hosts()) {
    std::vector<std::string> files = UnfilledFilesOf(host, report.steps(0));
    if (files.empty()) continue;
    const size_t more = files.size() - std::min(files.size(), kMostFilesNamed);
    files.resize(files.size() - more);
    notes.Add("unfilled", absl::StrCat(host.label(), ": created, but not written full: ", absl::StrJoin(files, ", "),
                                       more > 0 ? absl::StrCat(" and ", FormatCount(more), " more") : "",
                                       host.has_lost() ? "; the host was lost and may have written more" : "",
                                       "; create them again before they are read."));
  }
  return notes.Sentences();
}

}  // namespace plimsoll
