#include "controller/analysis/steady_rounds.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/analysis/figures.h"
#include "controller/plan/plan_check.h"

namespace plimsoll {

static_assert(kSteadyRounds == kSteadyFigures);

SteadyRounds::SteadyRounds(const v1::TestPlan& plan) : most_rounds_(MostRounds(plan)) {
  // The plan of a damaged journal may ask for none, or for any number of them.
  const uint64_t steps = static_cast<uint64_t>(plan.block_size_bytes_size()) * plan.repeat();
  if (steps == 0 || steps > kMaxSteps) return;
  for (v1::LogStep& step : ExpandSteps(plan)) courses_.emplace_back().step = std::move(step);
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
  if (course.iops.size() < kSteadyRounds) return;
  const Steadiness now = JudgeSteady({course.iops.end() - kSteadyRounds, course.iops.end()});
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
  return absl::StrFormat("IO/s of the last %u within %.1f %% of their mean (limit %.0f), slope %.1f %% (limit %.0f)",
                         kSteadyRounds, course.range_percent, kSteadyRangePercent, course.slope_percent,
                         kSteadySlopePercent);
}

void SteadyRounds::Finish(std::vector<std::string>& notes, std::vector<std::string>& reasons) const {
  if (courses_.empty()) reasons.emplace_back("Not steady: the plan has no steps that a run can have.");
  for (const Course& course : courses_) {
    const size_t rounds = course.iops.size();
    const std::string after = absl::StrCat(" after ", rounds, rounds == 1 ? " round" : " rounds");
    if (course.steady) {
      notes.push_back(absl::StrCat(NameOf(course), ": steady", after, ": ", Figures(course), "."));
      continue;
    }
    reasons.push_back(absl::StrCat(
        "Not steady at ", NameOf(course), after, rounds >= most_rounds_ ? ", the limit of --until-steady" : "",
        rounds < kSteadyRounds ? absl::StrCat(": SNIA's rule needs ", kSteadyRounds, " rounds.")
                               : absl::StrCat(": ", Figures(course), ".")));
  }
}

}  // namespace plimsoll
