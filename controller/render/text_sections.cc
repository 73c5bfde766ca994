// What the text report shows of kinds of run with a section of their own: an HA drill, a search for the highest load,
// a placement.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/algorithm.h"
#include "common/units.h"
#include "controller/render/columns.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

void AppendAll(const std::vector<std::string>& more, std::vector<std::string>& lines) {
  lines.insert(lines.end(), more.begin(), more.end());
}

// Within its error the time may be nothing; no phase of a takeover is less than that.
bool MayBeZero(const v1::HaSpan& span) {
  return span.ns() - span.error_ns() < 0;
}

// In seconds; as a bound where nothing else is known.
std::string SecondsCell(bool known, const v1::HaSpan& span) {
  if (!known) return kDash;
  if (!MayBeZero(span)) return FormatFixed(static_cast<double>(span.ns()) / 1e9, 3);
  const int64_t most_ns = std::max<int64_t>(span.ns() + span.error_ns(), 0);
  return absl::StrCat("\u2264", FormatFixed(static_cast<double>((most_ns + kNsPerMs - 1) / kNsPerMs) / 1e3, 3));
}

// The same, with the error where it is more than a tenth.
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

// `most`: rounds.
std::vector<std::string> TextHaRounds(const v1::Report& report, size_t most) {
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
  AppendAll(table.Lines(), lines);
  const size_t rounds = static_cast<size_t>(ha.rounds_size());
  if (shown.size() < rounds) {
    AddIndented(absl::StrCat("... and ", rounds - shown.size(), " more rounds (report.txt)"), lines);
  }
  AddIndented(
      "gap: last acknowledged write of the old active instance to the first of the new one; free, grant: since the "
      "fault; replay: since the grant; first: first durable write, since the replay" +
          std::string(doubtful.empty() ? "" : "; ?: inconclusive round, see the verdict"),
      lines);
  return lines;
}

std::vector<std::string> TextHaPhases(const v1::Report& report) {
  if (report.ha().phases().empty()) return {};
  TextTable table({"phase", "takeovers", "|", "min", "median", "max", "p90", "p99"});
  for (const v1::HaPhaseReport& phase : report.ha().phases()) {
    table.AddRow({absl::StrReplaceAll(phase.phase(), {{"_", " "}}), FormatCount(phase.count()), SpanCell(phase.min()),
                  SpanCell(phase.median()), SpanCell(phase.max()), RankCell(phase.p90_ns(), phase.p90_error_ns()),
                  RankCell(phase.p99_ns(), phase.p99_error_ns())});
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
  // Those of one pair are adjacent.
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
  AppendAll(table.Lines(), lines);
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
  AppendAll(table.Lines(), lines);
  AppendAll(below, lines);
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

const TextSection& HaTextSection() {
  static constexpr TextSection kSection{[](const v1::Report& report) { return report.has_ha(); }, HaOptions, HaParts,
                                        HaBrief};
  return kSection;
}

namespace {

bool OverRate(const v1::LimitReport& limit) {
  return limit.over() == v1::LIMIT_OVER_RATE;
}

// "480", "503.1": the rate as it was set, with every digit; a number of queue managers is whole.
std::string LoadCell(const v1::LimitReport& limit, double load) {
  return OverRate(limit) ? FormatTargetRate(load) : absl::StrFormat("%.0f", load);
}

const char* CauseName(v1::LimitCause cause) {
  switch (cause) {
    case v1::LIMIT_CAUSE_STORAGE:
      return "the storage";
    case v1::LIMIT_CAUSE_HOST_PATH:
      return "one host's path";
    case v1::LIMIT_CAUSE_LOAD_GENERATOR:
      return "the load generator";
    case v1::LIMIT_CAUSE_UNDETERMINED:
      return "undetermined";
    default:
      return "not reached";
  }
}

const char* StateCell(v1::LimitState state) {
  switch (state) {
    case v1::LIMIT_STATE_MEETS:
      return "met";
    case v1::LIMIT_STATE_EXCEEDS:
      return "exceeded";
    default:
      return "undecided";
  }
}

std::vector<std::string> TextLimit(const v1::Report& report) {
  const v1::LimitReport& limit = report.limit();
  std::vector<std::string> lines;
  const auto add = [&lines](const std::string& heading, const std::string& text) {
    for (const std::string& line : UnderHeading(heading, text)) lines.push_back(line);
  };
  const std::string unit = OverRate(limit) ? "writes/s per queue manager" : "queue managers per host";
  if (limit.limit() > 0) {
    const bool bound = limit.cause() == v1::LIMIT_CAUSE_LOAD_GENERATOR;
    add("Limit",
        absl::StrCat(bound ? "at least " : "", LoadCell(limit, limit.limit()), " ", unit, ", ",
                     FormatRate(limit.iops()), " writes/s of all hosts", limit.held() ? ", held" : ", not held"));
  } else {
    add("Limit", absl::StrCat("no load was shown to meet the criteria"));
  }
  if (limit.has_exceeded_at()) {
    add("Interval",
        limit.limit() > 0
            ? absl::StrCat("from ", LoadCell(limit, limit.limit()), " to ", LoadCell(limit, limit.exceeded_at()), " ",
                           unit, "; ", LoadCell(limit, limit.limit()), " meets the criteria, ",
                           LoadCell(limit, limit.exceeded_at()), " exceeds them")
            : absl::StrCat("below ", LoadCell(limit, limit.exceeded_at()), " ", unit, ", which exceeds the criteria"));
  } else if (limit.limit() > 0) {
    add("Interval", absl::StrCat("from ", LoadCell(limit, limit.limit()), " ", unit,
                                 "; no load above was shown to exceed the criteria"));
  }
  if (limit.cause() != v1::LIMIT_CAUSE_UNSPECIFIED || !limit.cause_text().empty()) {
    add("Cause", absl::StrCat(CauseName(limit.cause()), limit.cause_text().empty() ? "" : ": ", limit.cause_text()));
  }
  if (limit.maximum() > 0) {
    add("Maximum", absl::StrCat(FormatRate(limit.maximum()), " writes/s per queue manager, without a target rate"));
  }
  if (limit.knee() > 0) {
    add("Knee", absl::StrCat(LoadCell(limit, limit.knee()), " ", unit, ": most writes/s for their mean latency"));
  }
  return lines;
}

// The latencies of a summary.
void AddHeadings(std::vector<std::string>& headings) {
  for (const FigureColumn& column : kLatencyColumns.columns) {
    if (column.IsIn(kTextSummary)) headings.emplace_back(column.heading);
  }
}

void AddCells(const v1::LimitLatency& latency, const LatencyUnit& unit, std::vector<std::string>& cells) {
  for (const FigureColumn& column : kLatencyColumns.columns) {
    if (column.IsIn(kTextSummary)) cells.push_back(TextFigure(latency, column, unit));
  }
}

// How sure the figures are by which criteria about percentiles are decided, or those about averages.
void AddConfidence(const v1::LimitReport& limit, const std::vector<const v1::LimitPoint*>& points, bool averages,
                   std::vector<std::string>& lines) {
  TextTable table({"step", OverRate(limit) ? "rate/QM" : "QMs", "|", "measured", "from", "to", "may be", "|", "limit"},
                  0, {8});
  bool any = false;
  for (const v1::LimitPoint* const point : points) {
    const v1::LimitConfidence& confidence = point->confidence();
    if (!point->has_confidence() || confidence.has_average_ns() != averages) continue;
    any = true;
    std::vector<std::string> cells = {absl::StrCat(point->step()), LoadCell(limit, point->load())};
    for (const double percent : {confidence.beyond_percent(), confidence.low_percent(), confidence.high_percent(),
                                 confidence.allowed_percent()}) {
      if (!averages) cells.push_back(absl::StrFormat("%.3g", percent));
    }
    for (const double ns :
         {confidence.average_ns(), confidence.low_ns(), confidence.high_ns(), confidence.allowed_ns()}) {
      if (averages) cells.push_back(FormatLatency(ns, kNsPerMs));
    }
    cells.push_back(SanitizeForTerminal(confidence.criterion()));
    table.AddRow(cells, "");
  }
  if (!any) return;
  lines.emplace_back("");
  if (averages) {
    lines.emplace_back("Averages, where they are largest, with their confidence interval, in ms");
  } else {
    lines.emplace_back("Writes beyond a criterion's limit, where most are, with their confidence");
    lines.emplace_back("interval, in percent");
  }
  for (const std::string& line : table.Lines()) lines.push_back(line);
}

// `most`: points of the curve; all of it has the hosts and the confidence, too.
std::vector<std::string> TextCurve(const v1::Report& report, size_t most = SIZE_MAX) {
  const v1::LimitReport& limit = report.limit();
  const std::vector<const v1::LimitPoint*> points = NearestPoints(limit, most);
  if (points.empty()) return {};
  const LatencyUnit unit;
  const bool several = report.hosts_size() > 1;
  const std::string load = OverRate(limit) ? "rate/QM" : "QMs";
  std::vector<std::string> headings = {"step", load, "IO/s", "|"};
  AddHeadings(headings);
  headings.insert(headings.end(), {"|", "criteria"});
  TextTable cluster(headings, 0, {});
  headings = {"step", load, "|"};
  AddHeadings(headings);
  headings.emplace_back("host");
  TextTable worst(headings, 0, {headings.size() - 1});
  bool not_recovered = false;
  for (const v1::LimitPoint* const point : points) {
    const bool is_limit = limit.limit() > 0 && point->load() == limit.limit();
    const bool is_knee = limit.knee() > 0 && point->load() == limit.knee();
    const std::string mark = is_limit && is_knee ? "  <- limit, knee"
                             : is_limit          ? "  <- limit"
                             : is_knee           ? "  <- knee"
                                                 : "";
    std::vector<std::string> cells = {absl::StrCat(point->step()), LoadCell(limit, point->load()),
                                      FormatRate(point->iops())};
    AddCells(point->cluster(), unit, cells);
    cells.push_back(absl::StrCat(StateCell(point->state()), point->not_recovered() ? "*" : ""));
    not_recovered = not_recovered || point->not_recovered();
    cluster.AddRow(cells, mark);
    cells = {absl::StrCat(point->step()), LoadCell(limit, point->load())};
    AddCells(point->worst(), unit, cells);
    cells.push_back(SanitizeForTerminal(point->worst_host()));
    worst.AddRow(cells, mark);
  }
  const bool paced = OverRate(limit) || report.plan().workload().rate_per_second() > 0;
  std::vector<std::string> lines = {
      absl::StrCat("Load-latency curve: all hosts, ", paced ? "response" : "service", " time in ", unit.name)};
  for (const std::string& line : cluster.Lines()) lines.push_back(line);
  if (not_recovered) lines.emplace_back("* measured although the storage had not recovered from the load before it");
  const size_t left_out = LimitCurve(limit).size() - points.size();
  if (left_out > 0) lines.push_back(absl::StrCat("  ... and ", left_out, " more loads (report.txt)"));
  if (most < SIZE_MAX) return lines;
  for (const bool averages : {false, true}) AddConfidence(limit, points, averages, lines);
  if (!several) return lines;
  lines.emplace_back("");
  lines.push_back("The same of the host with the highest p99");
  for (const std::string& line : worst.Lines()) lines.push_back(line);
  return lines;
}

// How it searched.
void LimitOptions(const v1::TestPlan& plan, std::vector<ConfigurationRow>& rows) {
  const v1::LimitPlan& limit = plan.limit();
  const bool over_rate = limit.over() == v1::LIMIT_OVER_RATE;
  constexpr auto kBelow = ConfigurationRow::Text::kBelow;
  rows.push_back({"Search", "--over",
                  over_rate ? "rate: writes/s of each queue manager" : "qm: active queue managers of each host"});
  if (over_rate) {
    rows.push_back({"Tolerance", "--tolerance", absl::StrFormat("%g %%", limit.tolerance_percent()), kBelow});
  }
  rows.push_back({"Time to search", "--budget", FormatLength(limit.budget_ns()), kBelow});
  rows.push_back({"Time to hold the answer", "--hold", FormatLength(limit.hold_ns()), kBelow});
}

std::vector<std::vector<std::string>> LimitParts(const v1::Report& report) {
  return {TextLimit(report), TextCriteria(report), TextCurve(report)};
}

std::vector<std::vector<std::string>> LimitBrief(const v1::Report& report, size_t rows) {
  return {TextLimit(report), TextCurve(report, rows)};
}

}  // namespace

std::vector<const v1::LimitPoint*> LimitCurve(const v1::LimitReport& limit) {
  std::vector<const v1::LimitPoint*> points;
  for (const v1::LimitPoint& point : limit.points()) {
    if (point.curve()) points.push_back(&point);
  }
  StableSort(points, [](const v1::LimitPoint* a, const v1::LimitPoint* b) { return a->load() < b->load(); });
  return points;
}

const TextSection& LimitTextSection() {
  static constexpr TextSection kSection{[](const v1::Report& report) { return report.has_limit(); }, LimitOptions,
                                        LimitParts, LimitBrief, true};
  return kSection;
}

namespace {

constexpr int kMostNamed = 16;

std::string PlacedTimeCell(const v1::PlacementStepReport& step, const char* name, uint64_t time_ns) {
  return IsKnown(step, name) ? FormatLatency(static_cast<double>(time_ns), kNsPerMs) : kDash;
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
  for (const std::string& line : table.Lines()) lines.push_back(line);
  AddIndented("Response times of all hosts in ms; worst host: highest p99 (–: too few writes)", lines);
  const size_t left_out = static_cast<size_t>(placement.steps_size()) - shown.size();
  if (left_out > 0) lines.push_back(absl::StrCat("  ... and ", left_out, " more steps (report.txt)"));
  lines.insert(lines.end(), below.begin(), below.end());
  return lines;
}

void PlacementOptions(const v1::TestPlan& plan, std::vector<ConfigurationRow>& rows) {
  const auto add = [&rows](const std::string& value, bool first) {
    rows.push_back({"Placement", "", value, first ? ConfigurationRow::Text::kRow : ConfigurationRow::Text::kBelow});
  };
  for (int i = 0; i < std::min(plan.placement_size(), kMostNamed); ++i) {
    const v1::PlacedQueueManager& qm = plan.placement(i);
    add(absl::StrFormat("%s: %s, standby %s; %s, %s writes/s%s", qm.qm(), qm.home(), qm.standby(),
                        FormatSizeForPeople(qm.block_size_bytes()), FormatTargetRate(qm.rate_per_second()),
                        qm.has_dir() ? absl::StrCat("; in ", qm.dir()) : std::string()),
        i == 0);
  }
  if (plan.placement_size() > kMostNamed) {
    add(absl::StrCat("... and ", plan.placement_size() - kMostNamed, " more queue managers"), false);
  }
}

std::vector<std::vector<std::string>> PlacementParts(const v1::Report& report) {
  return {TextPlacement(report), TextCriteria(report), TextSummary(report, TextDetail::kFull)};
}

std::vector<std::vector<std::string>> PlacementBrief(const v1::Report& report, size_t rows) {
  return {TextPlacement(report, rows)};
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
  static constexpr TextSection kSection{[](const v1::Report& report) { return report.has_placement(); },
                                        PlacementOptions, PlacementParts, PlacementBrief, true};
  return kSection;
}

}  // namespace plimsoll
