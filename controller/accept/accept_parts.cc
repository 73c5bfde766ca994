#include "controller/accept/accept_parts.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"
#include "controller/plan/accept_plan.h"
#include "controller/plan/placement.h"
#include "controller/render/text.h"

namespace plimsoll {
namespace {

// The criterion about restarts against the longest restart of a real queue manager.
void JudgeRestarts(const v1::RestartReport& restart, const RestartCriterion& criterion, v1::AcceptRun& run) {
  const auto longest =
      std::ranges::max_element(restart.real(), {}, [](const v1::RealRestart& real) { return real.seconds(); });
  v1::CriterionReport& line = *run.add_criteria();
  line.set_criterion(criterion.text);
  if (longest == restart.real().end()) {
    line.set_outcome(v1::OUTCOME_INCONCLUSIVE);
    line.set_reason("no restart of a real queue manager was given");
  } else {
    const double limit_s = static_cast<double>(criterion.limit_ns) / static_cast<double>(kNsPerSecond);
    const bool fulfils = longest->seconds() < limit_s || (criterion.or_equal && longest->seconds() <= limit_s);
    line.set_outcome(fulfils ? v1::OUTCOME_PASS : v1::OUTCOME_FAIL);
    line.set_value(longest->seconds());
    line.set_value_text(absl::StrFormat("%.3f s", longest->seconds()));
    line.set_reason(
        absl::StrCat("the longest of ", restart.real_size(), " restarts, of queue manager ", longest->queue_manager()));
  }
  const auto worse = [](v1::Outcome outcome) {
    return outcome == v1::OUTCOME_FAIL ? 3 : outcome == v1::OUTCOME_INCONCLUSIVE ? 2 : 1;
  };
  if (run.outcome() == v1::OUTCOME_DONE || worse(line.outcome()) > worse(run.outcome())) {
    run.set_outcome(line.outcome());
  }
  if (line.outcome() != v1::OUTCOME_PASS) {
    run.add_reasons(absl::StrCat(criterion.text, " ", OutcomeText(line.outcome()), ": ", line.value_text(),
                                 line.value_text().empty() ? "" : ", ", line.reason()));
  }
}

}  // namespace

bool IsDoneOnce(v1::AcceptPart part) {
  return part == v1::ACCEPT_PART_STORAGE || part == v1::ACCEPT_PART_RESTART_TIME || part == v1::ACCEPT_PART_DISTURB;
}

namespace {

// Whether a drill failed for nothing but what locks on the extents keep out: writes of an instance whose lock another
// one has.
bool FailsForOverwrites(const v1::Report& found) {
  const v1::HaFindings& findings = found.ha().findings();
  if (findings.overwritten() == 0 || findings.lost() != findings.overwritten()) return false;
  return std::ranges::all_of(found.verdict().criteria(), [](const v1::CriterionReport& criterion) {
    if (criterion.outcome() != v1::OUTCOME_FAIL) return true;
    const absl::StatusOr<HaCriterion> read = ParseHaCriterion(criterion.criterion());
    return read.ok() && (read->metric == HaMetric::kLost || read->metric == HaMetric::kOverwritten ||
                         read->metric == HaMetric::kLateWriters);
  });
}

}  // namespace

bool ShowsExtentLocks(const v1::WatchReport& watch) {
  // "S0000000.LOG: POSIX write, pid 4711, held", as the agent describes it.
  const auto holds_extent = [](const std::string& lock) {
    return absl::StrContains(lock, ".LOG: ") && absl::StrContains(lock, " write, ") && absl::EndsWith(lock, ", held");
  };
  bool any = false;
  for (const v1::WatchHostReport& host : watch.hosts()) {
    if (host.writers().empty()) continue;
    any = true;
    if (std::ranges::none_of(host.counts().profile().locks(), holds_extent)) return false;
  }
  return any;
}

std::string UndrilledText(const v1::TestPlan& plan) {
  if (!HasPart(plan, v1::ACCEPT_PART_HA)) return "";
  const v1::TestPlan drill = DrillPlanOf(plan, v1::HA_FENCE_EXTENTS);
  std::set<std::string> drilled;
  for (const v1::HostSpec& host : drill.hosts()) drilled.insert(host.address());
  std::vector<std::string> alone;
  for (const v1::HostSpec& host : plan.hosts()) {
    if (!drilled.contains(host.address())) alone.push_back(ShortAddress(host.address()));
  }
  return alone.empty() ? "" : absl::StrCat("No drill was made with ", absl::StrJoin(alone, ", "), ": no pair has it.");
}

bool IsInOrder(const v1::AcceptRun& run) {
  const bool informs = run.part() == v1::ACCEPT_PART_RESTART_TIME && run.outcome() == v1::OUTCOME_DONE;
  return run.complete() && (run.outcome() == v1::OUTCOME_PASS || informs);
}

void ConfineDrill(const v1::Report& found, v1::AcceptRun& run) {
  if (run.outcome() == v1::OUTCOME_PASS && found.verdict().has_scope()) {
    run.set_outcome(v1::OUTCOME_INCONCLUSIVE);
    run.add_reasons(absl::StrCat("PASS is confined: ", found.verdict().scope()));
  }
  if (found.plan().ha().fence() != v1::HA_FENCE_NONE || run.outcome() != v1::OUTCOME_FAIL ||
      !FailsForOverwrites(found)) {
    return;
  }
  run.set_outcome(v1::OUTCOME_INCONCLUSIVE);
  const std::vector<std::string> reasons(run.reasons().begin(), run.reasons().end());
  run.clear_reasons();
  run.add_reasons(
      "PASS only if MQ locks its extents, which is not known (plimsoll watch --profile shows it): without these locks "
      "an "
      "old active instance overwrote acknowledged writes");
  for (const std::string& reason : reasons) run.add_reasons(reason);
}

void AddDrillFigures(const v1::Report& found, const v1::AcceptRun& run, std::vector<std::string>& shown,
                     v1::AcceptReport& report) {
  uint64_t takeovers = 0;
  for (const v1::HaPhaseReport& phase : found.ha().phases()) {
    if (phase.phase() != "takeover" && phase.phase() != "gap") continue;
    takeovers = std::max<uint64_t>(takeovers, phase.count());
    const double seconds = static_cast<double>(phase.max().ns()) / static_cast<double>(kNsPerSecond);
    AddFigure(run, absl::StrCat("longest ", phase.phase()), "s", seconds, report);
  }
  shown.push_back(absl::StrCat(found.ha().rounds_size(), " rounds, ", takeovers, " takeovers, ",
                               found.ha().findings().lost(), " acknowledged writes lost"));
  for (const v1::HaPhaseReport& phase : found.ha().phases()) {
    if (phase.phase() != "gap") continue;
    shown.push_back(absl::StrFormat("longest outage %.3f s",
                                    static_cast<double>(phase.max().ns()) / static_cast<double>(kNsPerSecond)));
  }
}

void TakeRestart(const v1::Report& found, v1::AcceptRun& run, v1::AcceptReport& report) {
  run.set_complete(found.run().state() == v1::RUN_STATE_COMPLETE);
  const bool measured = run.complete() && found.verdict().outcome() == v1::OUTCOME_DONE;
  run.set_outcome(measured ? v1::OUTCOME_DONE : v1::OUTCOME_INCONCLUSIVE);
  for (const std::string& reason : found.verdict().reasons()) run.add_reasons(reason);
  if (!run.complete() && run.reasons().empty()) run.add_reasons(found.run().state_reason());
  for (const std::string& note : found.notes()) run.add_notes(note);
  run.add_notes("The storage's share of a restart, in a model: not MQ's restart time.");
  std::string shown;
  for (const v1::RestartSide& side : found.restart_time().sides()) {
    for (const v1::RestartRedoReport& redo : side.redo()) {
      if (!redo.has_extended_seconds()) continue;
      const char* const way = redo.way() == v1::RESTART_REDO_WAY_COALESCED ? "coalesced" : "per-record";
      const std::string name = absl::StrCat(way, ", ", FormatSize(redo.message_size_bytes()), " messages");
      AddFigure(run, name, "s for 60,000 records", redo.extended_seconds(), report);
      absl::StrAppend(&shown, shown.empty() ? "" : "; ", name,
                      absl::StrFormat(": %.3g +- %.2g s for 60,000 records", redo.extended_seconds(),
                                      redo.extended_error_seconds()));
    }
  }
  run.set_result(!shown.empty() ? shown
                 : measured     ? "measured; no time grows with the records for certain"
                                : "nothing was measured");
  for (const std::string& text : report.plan().criteria()) {
    const std::optional<RestartCriterion> criterion = ParseRestartCriterion(text);
    if (criterion.has_value()) JudgeRestarts(found.restart_time(), *criterion, run);
  }
}

}  // namespace plimsoll
