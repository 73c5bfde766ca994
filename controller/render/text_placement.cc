// What the text report shows of a placement: whether the cluster carries its load with any one host down.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/render/text_table.h"

namespace plimsoll {
namespace {

constexpr int kMostNamed = 16;

std::string PlacedTimeCell(const v1::PlacementStepReport& step, const char* name, uint64_t time_ns) {
  const bool thin = absl::c_linear_search(step.thin(), name);
  return step.max_ns() == 0 || thin ? kDash : FormatLatency(static_cast<double>(time_ns), kNsPerMs);
}

// "PAYMENTS to node2, ORDERS to node3".
std::string MovedText(const v1::PlacementStepReport& step) {
  std::vector<std::string> moved;
  for (int i = 0; i < std::min(step.moved_size(), kMostNamed); ++i) {
    moved.push_back(absl::StrCat(step.moved(i).queue_manager(), " to ", step.moved(i).host()));
  }
  if (step.moved_size() > kMostNamed) moved.push_back(absl::StrCat(step.moved_size() - kMostNamed, " more"));
  return absl::StrJoin(moved, ", ");
}

std::vector<std::string> TextPlacement(const v1::Report& report) {
  const v1::PlacementReport& placement = report.placement();
  TextTable table({"step", "down", "moved", "target", "IO/s", "|", "p50", "p99", "max", "|", "worst host", "result"}, 2,
                  {1, 8});
  std::vector<std::string> below;
  for (const v1::PlacementStepReport& step : placement.steps()) {
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
  for (const std::string& line : table.Lines()) lines.push_back(line);
  AddIndented("Response times of all hosts in ms; worst host: highest p99 (–: too few writes)", lines);
  lines.insert(lines.end(), below.begin(), below.end());
  return lines;
}

void PlacementOptions(const v1::TestPlan& plan, std::vector<std::string>& lines) {
  std::string label = "Placement";
  for (int i = 0; i < std::min(plan.placement_size(), kMostNamed); ++i) {
    const v1::PlacedQueueManager& qm = plan.placement(i);
    TextOption(label, "",
               absl::StrFormat("%s: %s, standby %s; %s, %g writes/s", qm.qm(), qm.home(), qm.standby(),
                               FormatSizeForPeople(qm.block_size_bytes()), qm.rate_per_second()),
               lines);
    label.clear();
  }
  if (plan.placement_size() > kMostNamed) {
    TextOption("", "", absl::StrCat("... and ", plan.placement_size() - kMostNamed, " more queue managers"), lines);
  }
}

std::vector<std::vector<std::string>> PlacementParts(const v1::Report& report, TextDetail detail) {
  return {TextPlacement(report), TextCriteria(report, detail), TextSummary(report, detail)};
}

}  // namespace

std::string QmText(const v1::Report& report, const std::string& host, uint32_t qm) {
  for (const v1::HostReport& one : report.hosts()) {
    if (one.label() != host || qm == 0 || qm > static_cast<uint32_t>(one.queue_managers_size())) continue;
    return one.queue_managers(static_cast<int>(qm) - 1).name();
  }
  return absl::StrCat("qm", qm);
}

const TextSection& PlacementTextSection() {
  static constexpr TextSection kSection{
      [](const v1::Report& report) { return report.has_placement(); }, PlacementOptions, PlacementParts,
      [](const v1::Report& /*report*/, const v1::StepReport& /*step*/) { return true; }};
  return kSection;
}

}  // namespace plimsoll
