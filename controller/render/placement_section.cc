// What text and files show of a placement.
#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/algorithm.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/render/sections.h"
#include "controller/render/text.h"
#include "controller/report/run_kind.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

constexpr int kMostQueueManagersNamed = 16;

std::string PlacedTimeCell(const v1::PlacementStepReport& step, const char* name, uint64_t time_ns) {
  return IsKnown(step, name) ? FormatLatency(static_cast<double>(time_ns), kNsPerMs) : kDash;
}

// "PAYMENTS to node2, ORDERS to node3".
std::string MovedText(const v1::PlacementStepReport& step) {
  std::vector<std::string> moved;
  for (int i = 0; i < std::min(step.moved_size(), kMostQueueManagersNamed); ++i) {
    moved.push_back(absl::StrCat(step.moved(i).queue_manager(), " to ", step.moved(i).host()));
  }
  if (step.moved_size() > kMostQueueManagersNamed)
    moved.push_back(absl::StrCat(step.moved_size() - kMostQueueManagersNamed, " more"));
  return absl::StrJoin(moved, ", ");
}

// Steps that are no PASS, then those with the longest p99; `most` of them, in their order.
std::vector<const v1::PlacementStepReport*> WorstSteps(const v1::PlacementReport& placement, size_t most) {
  std::vector<const v1::PlacementStepReport*> steps;
  for (const v1::PlacementStepReport& step : placement.steps()) steps.push_back(&step);
  if (steps.size() <= most) return steps;
  const auto rank = [](const v1::PlacementStepReport& step) {
    return std::tuple(step.outcome() == v1::OUTCOME_FAIL, step.outcome() != v1::OUTCOME_PASS, step.p99_ns());
  };
  StableSort(steps, [&rank](const auto* a, const auto* b) { return rank(*a) > rank(*b); });
  steps.resize(most);
  StableSort(steps, [](const auto* a, const auto* b) { return a->step() < b->step(); });
  return steps;
}

// `most`: steps.
std::vector<std::string> TextPlacement(const v1::Report& report, size_t most = SIZE_MAX) {
  const v1::PlacementReport& placement = report.placement();
  TextTable table({"step", "down", "moved", "target", "IO/s", "|", "p50", "p99", "max", "|", "worst host", "result"}, 2,
                  {1, 8});
  std::vector<std::string> below;
  const std::vector<const v1::PlacementStepReport*> shown = WorstSteps(placement, most);
  for (const v1::PlacementStepReport* const shown_step : shown) {
    const v1::PlacementStepReport& step = *shown_step;
    const bool measured = step.max_ns() > 0;
    table.AddRow({absl::StrCat(step.step()), step.down_host().empty() ? "none" : SanitizeForTerminal(step.down_host()),
                  FormatCount(static_cast<uint64_t>(step.moved_size())), FormatRate(step.asked_iops()),
                  measured ? FormatRate(step.iops()) : kDash, PlacedTimeCell(step, "p50", step.p50_ns()),
                  PlacedTimeCell(step, "p99", step.p99_ns()), PlacedTimeCell(step, "max", step.max_ns()),
                  step.worst_host().empty() ? kDash : SanitizeForTerminal(step.worst_host()),
                  OutcomeText(step.outcome())});
    const std::string head = absl::StrCat("Step ", step.step(), ": ");
    if (step.moved_size() > 0) AddIndented(absl::StrCat(head, MovedText(step)), below);
    if (!step.reason().empty()) AddIndented(absl::StrCat(head, step.reason()), below);
  }
  std::vector<std::string> lines = {"Does the cluster carry its load with any one host down?"};
  AddIndented(placement.answer(), lines);
  AppendLines(table.Lines(), lines);
  AddIndented("Response times of all hosts in ms; worst host: highest p99 (–: too few writes)", lines);
  const size_t left_out = static_cast<size_t>(placement.steps_size()) - shown.size();
  if (left_out > 0) lines.push_back(absl::StrCat("  ... and ", left_out, " more steps (report.txt)"));
  AppendLines(below, lines);
  return lines;
}

void PlacementOptions(const v1::TestPlan& plan, std::vector<ConfigurationRow>& rows) {
  const auto add = [&rows](const std::string& value, bool first) {
    rows.push_back({"Placement", "", value, first ? ConfigurationRow::Text::kRow : ConfigurationRow::Text::kBelow});
  };
  for (int i = 0; i < std::min(plan.placement_size(), kMostQueueManagersNamed); ++i) {
    const v1::PlacedQueueManager& qm = plan.placement(i);
    add(absl::StrFormat("%s: %s, standby %s; %s, %s writes/s%s", qm.qm(), qm.home(), qm.standby(),
                        FormatSizeForPeople(qm.block_size_bytes()), FormatTargetRate(qm.rate_per_second()),
                        qm.has_dir() ? absl::StrCat("; in ", qm.dir()) : std::string()),
        i == 0);
  }
  if (plan.placement_size() > kMostQueueManagersNamed) {
    add(absl::StrCat("... and ", plan.placement_size() - kMostQueueManagersNamed, " more queue managers"), false);
  }
}

std::vector<std::vector<std::string>> PlacementParts(const v1::Report& report) {
  return {TextPlacement(report), TextCriteria(report), TextSummary(report, TextDetail::kFull)};
}

std::vector<std::vector<std::string>> PlacementBrief(const v1::Report& report, size_t rows) {
  return {TextPlacement(report, rows)};
}

}  // namespace

constinit const TextSection kPlacementTextSection{
    .kind = RunKind::kPlacement,
    .options = PlacementOptions,
    .parts = PlacementParts,
    .brief = PlacementBrief,
    .steps = [](const v1::Report& report) { return static_cast<uint64_t>(report.placement().steps_size()); },
    .answers = true};

}  // namespace plimsoll
