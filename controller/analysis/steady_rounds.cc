#include "controller/analysis/steady_rounds.h"

#include <algorithm>

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
  for (v1::LogStep& step : ExpandSteps(plan)) groups_.emplace_back().step = std::move(step);
}

void SteadyRounds::OnStep(const v1::StepReport& report) {
  if (current_ >= groups_.size()) return;
  Group& group = groups_[current_];
  if (group.first == 0) group.first = report.number();
  group.last = report.number();
  const auto cluster = std::find_if(report.scopes().begin(), report.scopes().end(), [](const v1::ScopeReport& scope) {
    return scope.kind() == v1::SCOPE_KIND_CLUSTER;
  });
  const bool whole = report.cut_short().empty() && report.measured_ns() >= report.duration_ns();
  if (cluster == report.scopes().end() || !whole) return;
  group.iops.push_back(cluster->iops());
  last_text_ = absl::StrCat("step ", report.number(), ": round ", group.iops.size(), " of at most ", most_rounds_,
                            " at ", NameOf(group), absl::StrFormat(", %.4g IO/s", cluster->iops()));
  if (group.iops.size() >= kSteadyRounds) {
    const Steadiness now = JudgeSteady({group.iops.end() - kSteadyRounds, group.iops.end()});
    group.steady = now.steady;
    group.range_percent = now.range_percent;
    group.slope_percent = now.slope_percent;
    absl::StrAppend(&last_text_, ": ", group.steady ? "steady, " : "not steady, ", Figures(group));
  }
  if (group.steady || group.iops.size() >= most_rounds_) ++current_;
}

std::optional<v1::LogStep> SteadyRounds::NextStep() const {
  if (current_ >= groups_.size()) return std::nullopt;
  return groups_[current_].step;
}

std::string SteadyRounds::NameOf(const Group& group) const {
  const bool repeated = groups_.back().step.repetition() > 0;
  return absl::StrCat(FormatSizeForPeople(group.step.block_size_bytes()),
                      repeated ? absl::StrCat(", repetition ", group.step.repetition() + 1) : "");
}

std::string SteadyRounds::Figures(const Group& group) {
  return absl::StrFormat("IO/s of the last %u within %.1f %% of their mean (limit %.0f), slope %.1f %% (limit %.0f)",
                         kSteadyRounds, group.range_percent, kSteadyRangePercent, group.slope_percent,
                         kSteadySlopePercent);
}

void SteadyRounds::Finish(std::vector<std::string>& notes, std::vector<std::string>& reasons) const {
  if (groups_.empty()) reasons.emplace_back("Not steady: the plan has no steps that a run can have.");
  for (const Group& group : groups_) {
    const size_t rounds = group.iops.size();
    const std::string where =
        group.first == 0 ? ""
                         : absl::StrCat(rounds, rounds == 1 ? " round (step" : " rounds (steps", " ", group.first,
                                        group.last > group.first ? absl::StrCat(" to ", group.last) : "", ")");
    if (group.steady) {
      notes.push_back(absl::StrCat(NameOf(group), ": steady after ", where, ": ", Figures(group), "."));
    } else if (group.first == 0) {
      reasons.push_back(absl::StrCat("Not steady at ", NameOf(group), ": it was not measured."));
    } else {
      reasons.push_back(absl::StrCat("Not steady at ", NameOf(group), " after ", where,
                                     rounds >= most_rounds_ ? ", the limit of --until-steady" : "",
                                     rounds < kSteadyRounds
                                         ? absl::StrCat(": SNIA's rule needs ", kSteadyRounds, " rounds.")
                                         : absl::StrCat(": ", Figures(group), ".")));
    }
  }
}

}  // namespace plimsoll
