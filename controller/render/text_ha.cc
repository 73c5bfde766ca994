// What the text report shows of an HA drill: criteria, rounds, phases, and what became of the logs.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/units.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/render/text_table.h"

namespace plimsoll {
namespace {

constexpr size_t kMostRounds = 40;

void AppendAll(const std::vector<std::string>& more, std::vector<std::string>& lines) {
  lines.insert(lines.end(), more.begin(), more.end());
}

// In seconds.
std::string SecondsCell(bool known, const v1::HaSpan& span) {
  return known ? FormatFixed(static_cast<double>(span.ns()) / 1e9, 3) : std::string(kDash);
}

// The same, with the error where it is more than a tenth.
std::string SpanCell(const v1::HaSpan& span) {
  const std::string text = SecondsCell(true, span);
  if (span.error_ns() * 10 <= std::max(span.ns(), -span.ns()) || span.error_ns() < kNsPerMs) return text;
  return absl::StrCat(text, "\u00b1", FormatFixed(static_cast<double>(span.error_ns()) / 1e9, 3));
}

std::string FaultName(v1::HaFaultKind fault) {
  return absl::StrReplaceAll(EnumName(*v1::HaFaultKind_descriptor(), fault), {{"_", "-"}});
}

const char* OutcomeCell(v1::HaTakeoverOutcome outcome) {
  switch (outcome) {
    case v1::HA_TAKEOVER_OUTCOME_TAKEN:
      return "taken over";
    case v1::HA_TAKEOVER_OUTCOME_KEPT:
      return "kept";
    case v1::HA_TAKEOVER_OUTCOME_NONE:
      return "NOT RELEASED";
    case v1::HA_TAKEOVER_OUTCOME_UNWANTED:
      return "TAKEN OVER";
    default:
      return "unknown";
  }
}

std::vector<std::string> TextHaRounds(const v1::Report& report, TextDetail detail) {
  const v1::HaReport& ha = report.ha();
  // What is lost has a column where something is: with the longest fault's name the line has no room for both.
  const auto& all = ha.rounds();
  const bool lost = std::any_of(all.begin(), all.end(), [](const v1::HaRoundReport& round) {
    const auto& takeovers = round.takeovers();
    return std::any_of(takeovers.begin(), takeovers.end(), [](const auto& one) { return one.findings().lost() > 0; });
  });
  std::vector<std::string> headings = {"#",   "fault", "host",  "qm",     "result", "|",
                                       "gap", "free",  "grant", "replay", "first"};
  if (lost) headings.emplace_back("lost");
  TextTable table(headings, 3, {1, 2});
  const int rounds = ha.rounds_size();
  const int shown = detail == TextDetail::kFull ? rounds : std::min(rounds, static_cast<int>(kMostRounds));
  std::set<uint64_t> doubtful;
  for (int i = 0; i < shown; ++i) {
    const v1::HaRoundReport& round = ha.rounds(i);
    for (const v1::HaTakeoverReport& one : round.takeovers()) {
      // What all queue managers of a round have alike is named once.
      const bool first = &one == &round.takeovers(0);
      std::vector<std::string> cells = {first ? absl::StrCat(round.number()) : "",
                                        first ? FaultName(round.fault()) : "",
                                        first ? SanitizeForTerminal(round.host()) : "",
                                        absl::StrCat(one.qm()),
                                        OutcomeCell(one.outcome()),
                                        SecondsCell(one.has_gap(), one.gap()),
                                        SecondsCell(one.has_to_free(), one.to_free()),
                                        SecondsCell(one.has_to_granted(), one.to_granted()),
                                        SecondsCell(one.has_to_replayed(), one.to_replayed()),
                                        SecondsCell(one.has_to_first_write(), one.to_first_write())};
      if (lost) cells.push_back(FormatCount(one.findings().lost()));
      table.AddRow(cells, round.reasons().empty() ? "" : " ?");
    }
    if (!round.reasons().empty()) doubtful.insert(round.number());
  }
  std::vector<std::string> lines = {"Rounds, times in seconds"};
  AppendAll(table.Lines(), lines);
  if (shown < rounds) AddIndented(absl::StrCat("... and ", rounds - shown, " more rounds (--full)"), lines);
  AddIndented(
      "gap: last acknowledged write of the old active instance to the first of the new one; free, grant: since the "
      "fault; replay: since the grant; first: first durable write, since the replay" +
          std::string(doubtful.empty() ? "" : "; ?: the round proves nothing, see the verdict"),
      lines);
  return lines;
}

std::vector<std::string> TextHaPhases(const v1::Report& report) {
  if (report.ha().phases().empty()) return {};
  TextTable table({"phase", "takeovers", "|", "min", "median", "max", "p90", "p99"});
  for (const v1::HaPhaseReport& phase : report.ha().phases()) {
    table.AddRow({absl::StrReplaceAll(phase.phase(), {{"_", " "}}), FormatCount(phase.count()), SpanCell(phase.min()),
                  SpanCell(phase.median()), SpanCell(phase.max()),
                  phase.p90_ns() == 0 ? kDash : FormatFixed(static_cast<double>(phase.p90_ns()) / 1e9, 3),
                  phase.p99_ns() == 0 ? kDash : FormatFixed(static_cast<double>(phase.p99_ns()) / 1e9, 3)});
  }
  std::vector<std::string> lines = {"Takeovers over all rounds, times in seconds"};
  AppendAll(table.Lines(), lines);
  AddIndented(
      "free to granted: until the standby noticed, with polling at most one --lock-poll; takeover: fault to first new "
      "durable write; own: grant to first durable write, less the replay",
      lines);
  return lines;
}

std::vector<std::string> TextHaLogs(const v1::Report& report) {
  const v1::HaReport& ha = report.ha();
  TextTable table({"qm", "acknowledged", "|", "missing", "torn", "misplaced", "overwritten", "split brain"}, 1);
  // Those of one pair come one after the other.
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const v1::HaQueueManagerReport& qm : ha.queue_managers()) {
    const v1::HaFindings& found = qm.findings();
    std::vector<std::string> hosts(qm.hosts().begin(), qm.hosts().end());
    std::sort(hosts.begin(), hosts.end());
    const std::string on = absl::StrJoin(hosts, ", ");
    if (!pairs.empty() && pairs.back().second == on) {
      absl::StrAppend(&pairs.back().first, ", qm", qm.qm());
    } else {
      pairs.emplace_back(absl::StrCat("qm", qm.qm()), on);
    }
    table.AddRow(
        {absl::StrCat(qm.qm()), FormatCount(qm.acknowledged()), FormatCount(found.missing()), FormatCount(found.torn()),
         FormatCount(found.misplaced()), FormatCount(found.overwritten()), FormatCount(found.split_brain())},
        qm.scanned() ? "" : " not scanned");
  }
  std::vector<std::string> lines = {"Logs: acknowledged writes, and what is wrong with them"};
  AppendAll(table.Lines(), lines);
  for (const auto& [qms, hosts] : pairs) {
    if (!hosts.empty()) AddIndented(SanitizeForTerminal(absl::StrCat(qms, " on ", hosts)), lines);
  }
  const v1::HaFindings& found = ha.findings();
  AddIndented(absl::StrCat("Writes in flight at a fault, acknowledged to nobody and never counted as lost: ",
                           FormatCount(found.in_doubt_present()), " in the log, ", FormatCount(found.in_doubt_absent()),
                           " not in it, ", FormatCount(found.in_doubt_late()), " landed later"),
              lines);
  if (ha.max_in_doubt_window_ns() > 0) {
    AddIndented(absl::StrCat("A write was in the controller's ledger at most ",
                             FormatShortTime(ha.max_in_doubt_window_ns()), " after its completion"),
                lines);
  }
  if (ha.unfenced() && found.late_writers() > 0) {
    AddIndented(absl::StrCat("Unfenced writer: ", FormatCount(found.late_writers()),
                             " old active instances wrote after the takeover (--fence none)"),
                lines);
  }
  return lines;
}

std::vector<std::string> TextHaCriteria(const v1::Report& report) {
  if (report.verdict().criteria().empty()) return {};
  TextTable table({"criterion", "result", "value"}, 2);
  std::vector<std::string> below;
  for (const v1::CriterionReport& criterion : report.verdict().criteria()) {
    table.AddRow({SanitizeForTerminal(criterion.criterion()), OutcomeText(criterion.outcome()),
                  criterion.value_text().empty() ? kDash : criterion.value_text()});
    if (!criterion.reason().empty()) AddIndented(absl::StrCat(criterion.criterion(), ": ", criterion.reason()), below);
  }
  std::vector<std::string> lines = {"Criteria"};
  AppendAll(table.Lines(), lines);
  AppendAll(below, lines);
  return lines;
}

// What a drill did.
void HaOptions(const v1::TestPlan& plan, std::vector<std::string>& lines) {
  const v1::HaPlan& ha = plan.ha();
  const auto word = [](std::string* out, int fault) {
    absl::StrAppend(out, FaultName(static_cast<v1::HaFaultKind>(fault)));
  };
  TextOption("Pairs", "--pairs", absl::StrJoin(ha.pairs(), ", "), lines);
  if (!ha.data_dir().empty()) TextOption("Locks", "--data-dir", ha.data_dir(), lines);
  TextOption("Faults", "--fault", absl::StrJoin(ha.faults(), ", ", word), lines);
  TextOption("Rounds", "--rounds",
             ha.has_at_ns()
                 ? absl::StrCat(ha.rounds(), ", each ", FormatLength(ha.at_ns()), " after all pairs were ready")
                 : absl::StrCat(ha.rounds(), ", each at a random moment within ", FormatLength(ha.window_ns()),
                                " (--seed ", plan.seed(), ")"),
             lines);
  TextOption(
      "Lock wait", "--lock-wait",
      absl::StrCat(EnumName(*v1::HaLockWait_descriptor(), ha.lock_wait()), ", every ", FormatLength(ha.lock_poll_ns())),
      lines);
  TextOption("Fence", "--fence", EnumName(*v1::HaFence_descriptor(), ha.fence()), lines);
  TextOption("Lease", "--lease", FormatLength(plan.lease_ns()), lines);
}

std::vector<std::vector<std::string>> HaParts(const v1::Report& report, TextDetail detail) {
  return {TextHaCriteria(report), TextHaRounds(report, detail), TextHaPhases(report), TextHaLogs(report)};
}

}  // namespace

const TextSection& HaTextSection() {
  static constexpr TextSection kSection{[](const v1::Report& report) { return report.has_ha(); }, HaOptions, HaParts};
  return kSection;
}

}  // namespace plimsoll
