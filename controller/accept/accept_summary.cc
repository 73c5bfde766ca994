#include "controller/accept/accept_summary.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/algorithm.h"
#include "common/units.h"
#include "controller/accept/accept_outage.h"
#include "controller/accept/accept_report.h"
#include "controller/analysis/judge.h"
#include "controller/criteria/criteria.h"
#include "controller/plan/accept_plan.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

int SeverityOf(v1::Outcome outcome) {
  return outcome == v1::OUTCOME_FAIL ? 2 : outcome == v1::OUTCOME_PASS ? 0 : 1;
}

// Whether the criterion did worse than the same one of another run.
bool IsWorseThan(const v1::CriterionReport& one, const v1::CriterionReport& other) {
  if (SeverityOf(one.outcome()) != SeverityOf(other.outcome())) {
    return SeverityOf(one.outcome()) > SeverityOf(other.outcome());
  }
  if (one.value_text().empty() || other.value_text().empty()) return !one.value_text().empty();
  const absl::StatusOr<Criterion> criterion = ParseCriterion(one.criterion());
  return !criterion.ok() || WantsSmall(*criterion) ? one.value() > other.value() : one.value() < other.value();
}

// Runs of the part whose results are those that were recorded.
std::vector<const v1::AcceptRun*> CountedRuns(const v1::AcceptReport& report, v1::AcceptPart part) {
  std::vector<const v1::AcceptRun*> runs;
  for (const v1::AcceptRun& run : report.runs()) {
    if (run.part() == part && run.began() && run.differs().empty()) runs.push_back(&run);
  }
  return runs;
}

// "4.2 writes/s per queue manager to 5 ..., in 3 runs".
std::string LimitAnswer(const v1::AcceptReport& report) {
  const size_t runs = RunsOf(report.plan(), v1::ACCEPT_PART_LIMIT);
  const auto limit = std::ranges::find_if(report.figures(), [](const v1::AcceptFigure& figure) {
    return figure.part() == v1::ACCEPT_PART_LIMIT && figure.name() == "limit";
  });
  if (limit == report.figures().end()) return "not found";
  const bool of_rate = report.plan().limit().over() != v1::LIMIT_OVER_QM;
  const auto amount = [of_rate](double value) { return of_rate ? FormatTargetRate(value) : FormatFixed(value, 0); };
  std::string text = amount(limit->least());
  if (limit->most() > limit->least()) absl::StrAppend(&text, " to ", amount(limit->most()));
  absl::StrAppend(&text, " ", limit->unit());
  const auto found = static_cast<size_t>(limit->values_size());
  absl::StrAppend(&text, found < runs ? absl::StrCat(", in ", found, " of ", Counted(runs, "run")) : "");
  const LoadRates rates = LoadRatesOf(report.plan());
  const bool one_rate =
      of_rate && !HasPlacement(report.plan()) && rates.most > 0 && rates.unpaced.empty() && rates.least == rates.most;
  if (one_rate) absl::StrAppend(&text, absl::StrFormat("; at least %.2f times the load", limit->least() / rates.most));
  return text;
}

// The longest of each kind of fault, with locks on the extents and without.
std::string DrillAnswer(const std::vector<const v1::AcceptRun*>& runs) {
  std::vector<v1::AcceptOutage> faults;
  uint64_t acknowledged = 0;
  uint64_t lost = 0;
  bool read_back = !runs.empty();
  for (const v1::AcceptRun* const run : runs) {
    for (const v1::AcceptOutage& one : run->outages()) {
      auto same =
          std::ranges::find_if(faults, [&one](const v1::AcceptOutage& fault) { return fault.cause() == one.cause(); });
      if (same == faults.end()) {
        faults.push_back(one);
        continue;
      }
      same->set_count(same->count() + one.count());
      same->set_open(same->open() || one.open());
      same->set_longest_seconds(std::max(same->longest_seconds(), one.longest_seconds()));
    }
    read_back = read_back && run->has_acknowledged_writes();
    acknowledged += run->acknowledged_writes();
    lost += run->lost_writes();
  }
  if (faults.empty()) return "no takeover was measured";
  std::vector<std::string> texts;
  for (const v1::AcceptOutage& fault : faults) {
    texts.push_back(absl::StrCat(fault.cause(), ": ",
                                 fault.open() ? "a takeover was not made in time" : OutageText(fault), " (",
                                 Counted(fault.count(), "takeover"), ")"));
  }
  v1::AcceptRun all;
  if (read_back) all.set_acknowledged_writes(acknowledged);
  all.set_lost_writes(lost);
  const std::string losses = LostWritesText(all);
  return absl::StrCat(absl::StrJoin(texts, "; "), losses.empty() ? "" : "; ", losses);
}

std::string DisturbAnswer(const std::vector<const v1::AcceptRun*>& runs) {
  std::vector<std::string> texts;
  for (const v1::AcceptRun* const run : runs) {
    for (const v1::AcceptOutage& one : run->outages()) texts.push_back(DisturbanceText(one));
    if (run->outages().empty()) continue;
    const std::string losses = LostWritesText(*run);
    texts.push_back(losses.empty() ? kNotAllReadBack : losses);
  }
  return texts.empty() ? "no disturbance was measured" : absl::StrJoin(texts, "; ");
}

std::string RestartAnswer(const v1::AcceptReport& report, const std::vector<const v1::AcceptRun*>& runs) {
  std::string text = runs.empty() ? "not measured" : absl::StrCat("storage's share, in a model: ", runs[0]->result());
  const auto& real = report.plan().restart_time().real();
  const auto longest =
      std::ranges::max_element(real, {}, [](const v1::RealRestart& restart) { return restart.seconds(); });
  if (longest != real.end()) {
    absl::StrAppend(&text, "; longest of ", Counted(static_cast<uint64_t>(real.size()), "real restart"), ": ",
                    SecondsText(longest->seconds()), ", of queue manager ", longest->queue_manager());
  }
  return text;
}

}  // namespace

std::string PlaceOf(const v1::CriterionReport& criterion) {
  return FormatPlace(criterion.step(), criterion.host(), criterion.qm(), criterion.storage(),
                     criterion.queue_manager());
}

std::vector<WorstCriterion> WorstCriteria(const v1::AcceptReport& report) {
  std::vector<WorstCriterion> rows;
  for (const v1::AcceptRun& run : report.runs()) {
    for (const v1::CriterionReport& criterion : run.criteria()) {
      auto same = std::ranges::find_if(rows, [&](const WorstCriterion& row) {
        return row.run->part() == run.part() && row.criterion->criterion() == criterion.criterion();
      });
      if (same == rows.end()) {
        rows.push_back({&run, &criterion});
      } else if (IsWorseThan(criterion, *same->criterion)) {
        *same = {&run, &criterion};
      }
    }
  }
  StableSort(rows, [](const WorstCriterion& a, const WorstCriterion& b) {
    return SeverityOf(a.criterion->outcome()) > SeverityOf(b.criterion->outcome());
  });
  return rows;
}

std::vector<AcceptAnswer> AcceptAnswers(const v1::AcceptReport& report) {
  const v1::TestPlan& plan = report.plan();
  std::vector<AcceptAnswer> answers;
  if (HasPart(plan, v1::ACCEPT_PART_LIMIT)) {
    answers.push_back({"Limit", "Highest load that met the criteria", LimitAnswer(report)});
  }
  if (HasPart(plan, v1::ACCEPT_PART_HA)) {
    answers.push_back(
        {"Outage", "Time without an active instance, by fault", DrillAnswer(CountedRuns(report, v1::ACCEPT_PART_HA))});
  }
  if (HasPart(plan, v1::ACCEPT_PART_DISTURB)) {
    answers.push_back({"Pause", "Longest wait for a write, by disturbance",
                       DisturbAnswer(CountedRuns(report, v1::ACCEPT_PART_DISTURB))});
  }
  if (HasPart(plan, v1::ACCEPT_PART_RESTART_TIME)) {
    answers.push_back({"Restart", "Restart", RestartAnswer(report, CountedRuns(report, v1::ACCEPT_PART_RESTART_TIME))});
  }
  return answers;
}

std::vector<AcceptNote> AcceptNotes(const v1::AcceptReport& report) {
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  for (const v1::AcceptRun& run : report.runs()) {
    for (const std::string& note : run.notes()) {
      if (IsVerdictWarning(run, note)) continue;
      auto same = std::ranges::find_if(found, [&note](const auto& one) { return one.first == note; });
      if (same == found.end()) same = found.insert(same, {note, {}});
      same->second.push_back(RunName(run));
    }
  }
  std::vector<AcceptNote> notes;
  for (const auto& [note, runs] : found) {
    notes.push_back({runs.size() == 1 ? runs[0] : absl::StrCat(runs.size(), " runs"), note});
  }
  return notes;
}

}  // namespace plimsoll
