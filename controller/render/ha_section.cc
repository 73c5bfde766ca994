// What text and files show of an HA drill.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/algorithm.h"
#include "common/units.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/sections.h"
#include "controller/render/text.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

// Within its error the time may be nothing; no phase of a takeover is less than that.
bool MayBeZero(const v1::HaSpan& span) {
  return span.ns() - span.error_ns() < 0;
}

// In seconds; as a bound where nothing else is known.
std::string SecondsCell(bool known, const v1::HaSpan& span) {
  if (!known) return kDash;
  if (!MayBeZero(span)) return FormatSeconds(span.ns());
  const int64_t most_ns = std::max<int64_t>(span.ns() + span.error_ns(), 0);
  return absl::StrCat("\u2264", FormatSeconds((most_ns + kNsPerMs - 1) / kNsPerMs * kNsPerMs));
}

// A time in seconds, with the error where it is more than a tenth.
std::string SpanCell(const v1::HaSpan& span) {
  std::string text = SecondsCell(true, span);
  if (span.error_ns() * 10 <= span.ns() || span.error_ns() < kNsPerMs || MayBeZero(span)) return text;
  return absl::StrCat(text, "\u00b1", FormatFixed(static_cast<double>(span.error_ns()) / 1e9, 3));
}

// A percentile, where there are enough takeovers for it.
std::string RankCell(int64_t ns, int64_t error_ns) {
  v1::HaSpan span;
  span.set_ns(ns);
  span.set_error_ns(error_ns);
  return ns == 0 ? std::string(kDash) : SpanCell(span);
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

// Rounds that are doubtful, failed or lost something, then those with the longest gap; `most` of them, in their order.
std::vector<const v1::HaRoundReport*> WorstRounds(const v1::HaReport& ha, size_t most) {
  std::vector<const v1::HaRoundReport*> rounds;
  for (const v1::HaRoundReport& round : ha.rounds()) rounds.push_back(&round);
  if (rounds.size() <= most) return rounds;
  const auto rank = [](const v1::HaRoundReport& round) {
    bool bad = !round.reasons().empty();
    int64_t gap_ns = 0;
    for (const v1::HaTakeoverReport& one : round.takeovers()) {
      const v1::HaFindings& found = one.findings();
      bad = bad || found.lost() + found.split_brain() + found.not_released() + found.released_late() > 0 ||
            one.outcome() == v1::HA_TAKEOVER_OUTCOME_NONE || one.outcome() == v1::HA_TAKEOVER_OUTCOME_UNWANTED;
      gap_ns = std::max(gap_ns, one.gap().ns());
    }
    return std::pair(bad, gap_ns);
  };
  StableSort(rounds, [&rank](const auto* a, const auto* b) { return rank(*a) > rank(*b); });
  rounds.resize(most);
  StableSort(rounds, [](const auto* a, const auto* b) { return a->number() < b->number(); });
  return rounds;
}

// `most`: rounds.
std::vector<std::string> TextHaRounds(const v1::Report& report, size_t most) {
  const v1::HaReport& ha = report.ha();
  // Losses have a column where there are any: with the longest fault's name the line has no room for both.
  const auto& all = ha.rounds();
  const bool lost = std::any_of(all.begin(), all.end(), [](const v1::HaRoundReport& round) {
    const auto& takeovers = round.takeovers();
    return std::any_of(takeovers.begin(), takeovers.end(), [](const auto& one) { return one.findings().lost() > 0; });
  });
  std::vector<std::string> headings = {"#",   "fault", "host",  "qm",   "result", "|",
                                       "gap", "free",  "grant", "read", "first"};
  if (lost) headings.emplace_back("lost");
  TextTable table(headings, 3, {1, 2});
  const std::vector<const v1::HaRoundReport*> shown = WorstRounds(ha, most);
  std::set<uint64_t> doubtful;
  for (const v1::HaRoundReport* const one_round : shown) {
    const v1::HaRoundReport& round = *one_round;
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
  AppendLines(table.Lines(), lines);
  const size_t rounds = static_cast<size_t>(ha.rounds_size());
  if (shown.size() < rounds) {
    AddIndented(absl::StrCat("... and ", rounds - shown.size(), " more rounds (report.txt)"), lines);
  }
  AddIndented(
      "gap: last acknowledged write of the old active instance to the first of the new one; free, grant: since the "
      "fault; read: the log is read, since the grant (not MQ's restart); first: first durable write, since then" +
          std::string(doubtful.empty() ? "" : "; ?: inconclusive round, see the verdict"),
      lines);
  return lines;
}

std::vector<std::string> TextHaPhases(const v1::Report& report) {
  if (report.ha().phases().empty()) return {};
  TextTable table({"phase", "takeovers", "|", "min", "median", "max", "p90", "p99"});
  for (const v1::HaPhaseReport& phase : report.ha().phases()) {
    table.AddRow({absl::StrReplaceAll(phase.phase(), {{"_", " "}, {"replayed", "log read"}}),
                  FormatCount(phase.count()), SpanCell(phase.min()), SpanCell(phase.median()), SpanCell(phase.max()),
                  RankCell(phase.p90_ns(), phase.p90_error_ns()), RankCell(phase.p99_ns(), phase.p99_error_ns())});
  }
  std::vector<std::string> lines = {"Takeovers over all rounds, times in seconds"};
  AppendLines(table.Lines(), lines);
  AddIndented(
      "free to granted: until the standby noticed, with polling at most one --lock-poll; takeover: fault to first new "
      "durable write; to log read: the log since the last checkpoint is read and checked, which is not MQ's restart; "
      "own: grant "
      "to first durable write, less the log read",
      lines);
  return lines;
}

std::vector<std::string> TextHaLogs(const v1::Report& report) {
  const v1::HaReport& ha = report.ha();
  TextTable table({"qm", "acknowledged", "|", "missing", "torn", "misplaced", "overwritten", "split brain"}, 1);
  // Queue managers of one pair are adjacent.
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
  std::vector<std::string> lines = {"Logs: acknowledged writes and defects"};
  AppendLines(table.Lines(), lines);
  for (const auto& [qms, hosts] : pairs) {
    if (!hosts.empty()) AddIndented(SanitizeForTerminal(absl::StrCat(qms, " on ", hosts)), lines);
  }
  const v1::HaFindings& found = ha.findings();
  AddIndented(absl::StrCat("Writes in flight at a fault (never acknowledged, so never counted as lost): ",
                           FormatCount(found.in_doubt_present()), " in the log, ", FormatCount(found.in_doubt_absent()),
                           " not in it, ", FormatCount(found.in_doubt_late()), " landed later"),
              lines);
  if (found.overwritten_in_flight() > 0) {
    AddIndented(absl::StrCat("Acknowledged blocks that those which landed later destroyed: ",
                             FormatCount(found.overwritten_in_flight()), ", which are lost"),
                lines);
  }
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
  AppendLines(table.Lines(), lines);
  AppendLines(below, lines);
  return lines;
}

// What a drill did.
void HaOptions(const v1::TestPlan& plan, std::vector<ConfigurationRow>& rows) {
  const v1::HaPlan& ha = plan.ha();
  const auto word = [](std::string* out, int fault) {
    absl::StrAppend(out, FaultName(static_cast<v1::HaFaultKind>(fault)));
  };
  rows.push_back({"Pairs", "--pairs", absl::StrJoin(ha.pairs(), ", ")});
  rows.push_back({"Locks", "--data-dir", ha.data_dir()});
  rows.push_back({"Faults", "--fault", absl::StrJoin(ha.faults(), ", ", word)});
  rows.push_back({"Rounds", "--rounds",
                  ha.has_at_ns()
                      ? absl::StrCat(ha.rounds(), ", each ", FormatLength(ha.at_ns()), " after all pairs were ready")
                      : absl::StrCat(ha.rounds(), ", each at a random moment within ", FormatLength(ha.window_ns()),
                                     " (--seed ", plan.seed(), ")")});
  rows.push_back({"Lock wait", "--lock-wait",
                  absl::StrCat(EnumName(*v1::HaLockWait_descriptor(), ha.lock_wait()), ", every ",
                               FormatLength(ha.lock_poll_ns()))});
  rows.push_back({"Fence", "--fence", EnumName(*v1::HaFence_descriptor(), ha.fence())});
  if (ha.one_kernel()) {
    rows.push_back({"Kernels", "--one-kernel", "judged on one kernel, too", ConfigurationRow::Text::kNone});
  }
  rows.push_back({"Lease", "--lease", FormatLength(plan.lease_ns())});
  if (ha.takeover_limit_ns() > 0) {
    rows.push_back(
        {"Takeover limit", "--takeover-limit", FormatLength(ha.takeover_limit_ns()), ConfigurationRow::Text::kNone});
  }
}

std::vector<std::vector<std::string>> HaParts(const v1::Report& report) {
  return {TextHaCriteria(report), TextHaRounds(report, SIZE_MAX), TextHaPhases(report), TextHaLogs(report)};
}

std::vector<std::vector<std::string>> HaBrief(const v1::Report& report, size_t rows) {
  return {TextHaRounds(report, rows), TextHaPhases(report), TextHaLogs(report)};
}

}  // namespace

constinit const TextSection kHaTextSection{
    .kind = RunKind::kHa, .options = HaOptions, .parts = HaParts, .brief = HaBrief, .queue_managers_per = "pair"};

}  // namespace plimsoll
