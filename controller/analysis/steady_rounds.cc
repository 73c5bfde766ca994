#include "controller/analysis/steady_rounds.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/analysis/figures.h"

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
  const auto cluster = std::find_if(report.scopes().begin(), report.scopes().end(), [](const v1::ScopeReport& scope) {
    return scope.kind() == v1::SCOPE_KIND_CLUSTER;
  });
  const bool whole = report.cut_short().empty() && report.measured_ns() >= report.duration_ns();
  if (cluster == report.scopes().end() || !whole) return;
  course.iops.push_back(cluster->iops());
  last_text_ = absl::StrCat("step ", report.number(), ": round ", (steps_ - 1) / courses_.size() + 1, " of at most ",
                            most_rounds_, ", ", NameOf(course), absl::StrFormat(": %.4g IO/s", cluster->iops()));
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
  return absl::StrCat(FormatSizeForPeople(course.step.block_size_bytes()),
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

}  // namespace plimsoll
