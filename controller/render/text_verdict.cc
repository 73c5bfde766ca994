// The text report's beginning: the verdict, its criteria step by step, and the summary.
#include <algorithm>
#include <iterator>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/stable_sort.h"
#include "common/units.h"
#include "controller/analysis/judge.h"
#include "controller/render/columns.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/render/text_table.h"

namespace plimsoll {
namespace {

constexpr size_t kMostReasons = 8;

void AppendLines(const std::vector<std::string>& more, std::vector<std::string>& lines) {
  lines.insert(lines.end(), more.begin(), more.end());
}

const v1::StepReport* StepOf(const v1::Report& report, uint32_t number) {
  for (const v1::StepReport& step : report.steps()) {
    if (step.number() == number) return &step;
  }
  return nullptr;
}

// "alpha/qm1", "storage 2", "cluster".
std::string PlaceOf(const v1::CriterionStepReport& result) {
  if (!result.host().empty()) return FormatPlace(0, result.host(), result.qm(), 0, result.queue_manager());
  return result.kind() == v1::SCOPE_KIND_STORAGE ? absl::StrCat("storage ", result.storage()) : "cluster";
}

// Failed before undecided before passed.
int Severity(v1::Outcome outcome) {
  return outcome == v1::OUTCOME_FAIL ? 0 : outcome == v1::OUTCOME_PASS ? 2 : 1;
}

// Which results of a criterion to show: those that matter most, in the order of the steps.
std::vector<const v1::CriterionStepReport*> ShownResults(const v1::CriterionReport& criterion, TextDetail detail) {
  std::vector<const v1::CriterionStepReport*> shown;
  for (const v1::CriterionStepReport& result : criterion.steps()) shown.push_back(&result);
  if (detail == TextDetail::kFull || shown.size() <= kMostRows) return shown;
  StableSort(shown, [&criterion](const v1::CriterionStepReport* a, const v1::CriterionStepReport* b) {
    if (Severity(a->outcome()) != Severity(b->outcome())) return Severity(a->outcome()) < Severity(b->outcome());
    return (a->step() == criterion.step()) > (b->step() == criterion.step());
  });
  shown.resize(kMostRows);
  StableSort(shown,
             [](const v1::CriterionStepReport* a, const v1::CriterionStepReport* b) { return a->step() < b->step(); });
  return shown;
}

std::string StallsCell(const v1::StepReport& step) {
  return step.has_stalls() ? FormatCount(step.stalls().count()) : kDash;
}

// The cluster's row of the summary.
void AddSummaryRow(const v1::StepReport& step, const v1::ScopeReport& cluster, const FigureTable& figures,
                   const LatencyUnit& unit, TextTable& table) {
  std::vector<std::string> cells = {absl::StrCat(step.number()), FormatBlockSize(step.block_size_bytes())};
  figures.AddCells(cluster, unit, cells);
  cells.push_back(StallsCell(step));
  table.AddRow(cells, cluster.has_rate() && !cluster.rate().held() ? " !" : "");
}

// "Not steady: steps 1, 3".
void AddSteps(const std::string& what, const std::vector<std::string>& steps, std::vector<std::string>& lines) {
  if (steps.empty()) return;
  const std::vector<std::string> named(steps.begin(),
                                       steps.begin() + static_cast<std::ptrdiff_t>(std::min(steps.size(), kMostRows)));
  lines.push_back(absl::StrCat(
      "  ", what, steps.size() == 1 ? ": step " : ": steps ", absl::StrJoin(named, ", "),
      named.size() < steps.size() ? absl::StrCat(" and ", steps.size() - named.size(), " more") : std::string()));
}

}  // namespace

std::string OutcomeText(v1::Outcome outcome) {
  if (outcome == v1::OUTCOME_DONE) return "COMPLETED (no criteria)";
  return absl::AsciiStrToUpper(EnumName(*v1::Outcome_descriptor(), outcome));
}

std::vector<std::string> TextVerdict(const v1::Report& report, TextDetail detail) {
  const v1::VerdictReport& verdict = report.verdict();
  const v1::RunReport& run = report.run();
  std::string outcome = OutcomeText(verdict.outcome());
  if (!verdict.remark().empty()) absl::StrAppend(&outcome, ", ", verdict.remark());
  std::vector<std::string> lines = UnderHeading("Verdict", outcome);
  if (run.state() != v1::RUN_STATE_COMPLETE && !run.id().empty()) {
    const std::string state = absl::StrReplaceAll(EnumName(*v1::RunState_descriptor(), run.state()), {{"_", " "}});
    std::string text = absl::AsciiStrToUpper(state);
    if (run.state_reason() != state) absl::StrAppend(&text, ": ", run.state_reason());
    AppendLines(UnderHeading("", text), lines);
  }
  const auto reasons = static_cast<size_t>(verdict.reasons_size());
  const size_t shown = detail == TextDetail::kFull ? reasons : std::min(reasons, kMostReasons);
  for (size_t i = 0; i < shown; ++i) AppendLines(UnderHeading("", verdict.reasons(static_cast<int>(i))), lines);
  if (shown < reasons) {
    AppendLines(UnderHeading("", absl::StrCat("... and ", FormatCount(reasons - shown), " more reasons (--full)")),
                lines);
  }
  return lines;
}

std::vector<std::string> TextCriteria(const v1::Report& report, TextDetail detail) {
  if (report.verdict().criteria().empty()) return {};
  TextTable table({"criterion", "result", "step", "block", "|", "worst value", "where"}, 2, {0, 6});
  std::vector<std::string> below;
  for (const v1::CriterionReport& criterion : report.verdict().criteria()) {
    const std::string name = SanitizeForTerminal(criterion.criterion());
    const std::vector<const v1::CriterionStepReport*> shown = ShownResults(criterion, detail);
    for (const v1::CriterionStepReport* result : shown) {
      const v1::StepReport* step = StepOf(report, result->step());
      table.AddRow({name, OutcomeText(result->outcome()), result->step() == 0 ? "run" : absl::StrCat(result->step()),
                    step == nullptr ? kDash : FormatBlockSize(step->block_size_bytes()),
                    result->value_text().empty() ? kDash : result->value_text(),
                    SanitizeForTerminal(PlaceOf(*result))});
    }
    if (shown.empty()) table.AddRow({name, OutcomeText(criterion.outcome()), kDash, kDash, kDash, ""});
    if (shown.size() < static_cast<size_t>(criterion.steps_size())) {
      AddIndented(absl::StrCat(criterion.criterion(), ": ", shown.size(), " of ", criterion.steps_size(),
                               " steps, those that failed or are undecided first; --full shows all"),
                  below);
    }
    if (criterion.added()) AddIndented(absl::StrCat(criterion.criterion(), ": added for the target rate"), below);
    if (!criterion.reason().empty()) AddIndented(absl::StrCat(criterion.criterion(), ": ", criterion.reason()), below);
  }
  std::vector<std::string> lines = {"Criteria, with the worst value of each step"};
  AppendLines(table.Lines(), lines);
  AppendLines(below, lines);
  return lines;
}

std::vector<std::string> TextSummary(const v1::Report& report, TextDetail detail) {
  std::vector<const v1::ScopeReport*> clusters;
  std::map<const v1::ScopeReport*, const v1::StepReport*> steps;
  bool paced = false;
  std::vector<const v1::StepReport*> measured;
  std::vector<std::string> unsteady;
  std::vector<std::string> bound;
  const v1::SlowestReport* slowest = nullptr;
  uint32_t slowest_step = 0;
  for (const v1::StepReport& step : report.steps()) {
    const v1::ScopeReport* cluster = ClusterOf(step);
    if (cluster == nullptr) continue;
    clusters.push_back(cluster);
    steps[cluster] = &step;
    paced = paced || HasTargetRate(step);
    measured.push_back(&step);
    if (step.has_trend() && !step.trend().steady()) unsteady.push_back(absl::StrCat(step.number()));
    if (std::any_of(step.load().begin(), step.load().end(),
                    [](const v1::HostLoadReport& load) { return !load.bottleneck().empty(); })) {
      bound.push_back(absl::StrCat(step.number()));
    }
    if (cluster->has_slowest() && (slowest == nullptr || cluster->slowest().latency_ns() > slowest->latency_ns())) {
      slowest = &cluster->slowest();
      slowest_step = step.number();
    }
  }
  if (clusters.empty()) return {};
  const LatencyUnit unit = UnitFor(measured);
  const FigureTable figures = FigureTable::Summary(paced);
  std::vector<std::string> headings = {"step", "block"};
  figures.AddHeadings(headings);
  headings.insert(headings.end(), {"|", "stalls"});
  TextTable table(headings, 0, {});
  const std::vector<const v1::ScopeReport*> shown = BestAndWorst(clusters);
  if (shown.size() < clusters.size()) {
    table.AddLine(absl::StrCat(kRowsOfAnEnd, " best and ", kRowsOfAnEnd, " worst of ", clusters.size(),
                               " steps, by p99; each is below"));
  }
  for (const v1::ScopeReport* cluster : shown) AddSummaryRow(*steps[cluster], *cluster, figures, unit, table);
  std::vector<std::string> lines = {absl::StrCat("Summary: all hosts, ", paced ? "response" : "service", " time in ",
                                                 unit.name, paced ? "; ! = target rate missed" : "")};
  AppendLines(table.Lines(), lines);
  if (slowest != nullptr) {
    std::string text = absl::StrCat(
        "  Slowest write (service time): ", FormatLatency(static_cast<double>(slowest->latency_ns()), kNsPerMs),
        " ms in step ", slowest_step);
    if (slowest->has_start()) absl::StrAppend(&text, " at ", FormatTimeOfDay(slowest->start(), report.run().begin()));
    absl::StrAppend(&text, ", ", SanitizeForTerminal(slowest->host()), "/",
                    SanitizeForTerminal(QmText(report, slowest->host(), slowest->qm())));
    lines.push_back(ShortenMiddle(text, kTextWidth, 8));
  }
  AddSteps("Not steady", unsteady, lines);
  AddSteps("The load generator may be CPU-bound", bound, lines);
  if (!report.notes().empty()) {
    lines.push_back(absl::StrCat("  ", FormatCount(static_cast<uint64_t>(report.notes_size())),
                                 report.notes_size() == 1 ? " note" : " notes", " at the end"));
  }
  if (detail == TextDetail::kShort && IsLarge(report)) {
    lines.emplace_back("  --full shows every host and queue manager; report.csv always has them");
  }
  return lines;
}

}  // namespace plimsoll
