// The text report's parts about the run as a whole: the verdict, its criteria step by step, the summary; clocks, hosts,
// notes.
#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/analysis/judge.h"
#include "controller/analysis/verdict_cause.h"
#include "controller/render/columns.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/report/main_operation.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

constexpr size_t kMostReasons = 8;

// "alpha/qm1", "storage 2", "cluster".
std::string PlaceOf(const v1::CriterionStepReport& result) {
  if (!result.host().empty()) return FormatPlace(0, result.host(), result.qm(), 0, result.queue_manager());
  return result.kind() == v1::SCOPE_KIND_STORAGE ? absl::StrCat("storage ", result.storage()) : "cluster";
}

// With those of which there is only "... and 2 more like it."
size_t CountNotes(const v1::Report& report) {
  size_t count = 0;
  for (const std::string& note : report.notes()) {
    constexpr char kMore[] = "... and ";
    size_t more = 0;
    if (absl::StartsWith(note, kMore) && absl::EndsWith(note, " more like it.")) {
      for (size_t i = sizeof(kMore) - 1; i < note.size() && note[i] != ' '; ++i) {
        if (absl::ascii_isdigit(static_cast<unsigned char>(note[i])))
          more = 10 * more + static_cast<size_t>(note[i] - '0');
      }
    }
    count += std::max<size_t>(more, 1);
  }
  return count;
}

std::string StallsCell(const v1::StepReport& step) {
  return step.has_stalls() ? FormatCount(step.stalls().count()) : kDash;
}

// The cluster's row of the summary. `mixed`: the table names the operation of a row, and reads have a row of their own.
void AddSummaryRow(const v1::Report& report, const v1::StepReport& step, const v1::ScopeReport& cluster, bool mixed,
                   const FigureTable& figures, const LatencyUnit& unit, TextTable& table) {
  std::vector<std::string> cells = StepCells(report, step);
  if (mixed) cells.emplace_back(MainOperation(report.plan()));
  figures.AddCells(cluster, unit, cells);
  cells.push_back(StallsCell(step));
  table.AddRow(cells, cluster.has_rate() && !cluster.rate().held() ? " !" : "");
  const v1::OperationReport* const reads = ReadsOf(step);
  const std::optional<v1::ScopeReport> own = reads == nullptr ? std::nullopt : ReadScope(*reads, cluster);
  if (!own) return;
  cells = StepCells(report, step);
  cells.emplace_back(kReadName);
  figures.AddCells(*own, unit, cells);
  // Stalls are those of all operations together.
  cells.emplace_back();
  table.AddRow(cells);
}

// Whether a remark stands by itself, and does not continue the line of the outcome. A remark that continues it begins
// with a small letter, and may end with the dot of a host's name.
bool IsSentence(const std::string& remark) {
  return absl::EndsWith(remark, ".") && absl::ascii_isupper(static_cast<unsigned char>(remark.front()));
}

}  // namespace

std::string OutcomeText(v1::Outcome outcome) {
  if (outcome == v1::OUTCOME_DONE) return "COMPLETED (no criteria)";
  return absl::AsciiStrToUpper(EnumName(*v1::Outcome_descriptor(), outcome));
}

std::string OutcomeText(const v1::VerdictReport& verdict) {
  return absl::StrCat(OutcomeText(verdict.outcome()), verdict.scope().empty() ? "" : " ", verdict.scope());
}

std::string VerdictText(const v1::VerdictReport& verdict) {
  const std::string cause = PrimaryCause(verdict);
  std::string text = absl::StrCat(OutcomeText(verdict), cause.empty() ? "" : ": ", cause);
  if (verdict.remark().empty() || IsSentence(verdict.remark())) return text;
  return absl::StrCat(text, cause.empty() ? ", " : "; ", verdict.remark());
}

std::vector<std::string> TextVerdict(const v1::Report& report, TextDetail detail) {
  std::vector<std::string> lines = UnderHeading("Verdict", VerdictText(report.verdict()));
  if (IsSentence(report.verdict().remark())) AppendLines(UnderHeading("", report.verdict().remark()), lines);
  const std::vector<std::string> reasons = SecondaryReasons(report.verdict());
  const size_t shown = detail == TextDetail::kFull ? reasons.size() : std::min(reasons.size(), kMostReasons);
  for (size_t i = 0; i < shown; ++i) AppendLines(UnderHeading("", reasons[i]), lines);
  if (shown < reasons.size()) {
    AppendLines(
        UnderHeading("", absl::StrCat("... and ", FormatCount(reasons.size() - shown), " more reasons (report.txt)")),
        lines);
  }
  for (const std::string& warning : report.verdict().warnings()) {
    AppendLines(UnderHeading("", absl::StrCat("Warning: ", warning)), lines);
  }
  return lines;
}

std::vector<std::string> TextCriteria(const v1::Report& report) {
  if (report.verdict().criteria().empty()) return {};
  TextTable table({"criterion", "result", "step", "block", "|", "worst value", "where"}, 2, {0, 6});
  std::vector<std::string> below;
  for (const v1::CriterionReport& criterion : report.verdict().criteria()) {
    const std::string name = SanitizeForTerminal(criterion.criterion());
    for (const v1::CriterionStepReport& shown : criterion.steps()) {
      const v1::CriterionStepReport* const result = &shown;
      const v1::StepReport* step = StepByNumber(report, result->step());
      table.AddRow({name, OutcomeText(result->outcome()), result->step() == 0 ? "run" : absl::StrCat(result->step()),
                    step == nullptr ? kDash : FormatBlockSize(step->block_size_bytes()),
                    result->value_text().empty() ? kDash : result->value_text(),
                    SanitizeForTerminal(PlaceOf(*result))});
    }
    if (criterion.steps().empty()) table.AddRow({name, OutcomeText(criterion.outcome()), kDash, kDash, kDash, ""});
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
  bool mixed = false;
  std::vector<const v1::StepReport*> measured;
  std::vector<std::string> unsteady;
  std::vector<std::string> bound;
  const v1::SlowestReport* slowest = nullptr;
  uint32_t slowest_step = 0;
  // The time of a write as callers felt it.
  const auto felt_ns = [](const v1::SlowestReport& write) {
    return write.has_response_ns() ? write.response_ns() : write.latency_ns();
  };
  for (const v1::StepReport& step : report.steps()) {
    const v1::ScopeReport* cluster = ClusterOf(step);
    if (cluster == nullptr) continue;
    clusters.push_back(cluster);
    steps[cluster] = &step;
    paced = paced || HasTargetRate(step);
    mixed = mixed || ReadsOf(step) != nullptr;
    measured.push_back(&step);
    if (step.has_trend() && !step.trend().steady()) unsteady.push_back(absl::StrCat(step.number()));
    if (IsCpuBound(step)) bound.push_back(absl::StrCat(step.number()));
    const v1::SlowestReport* const worst = !step.response().slowest().empty() ? &step.response().slowest(0)
                                           : cluster->has_slowest()           ? &cluster->slowest()
                                                                              : nullptr;
    if (worst != nullptr && (slowest == nullptr || felt_ns(*worst) > felt_ns(*slowest))) {
      slowest = worst;
      slowest_step = step.number();
    }
  }
  if (clusters.empty()) return {};
  const LatencyUnit unit = UnitFor(measured);
  const FigureTable figures = FigureTable::Summary(paced, report.plan().has_sweep(), mixed);
  std::vector<std::string> headings = StepHeadings(report);
  if (mixed) headings.emplace_back(kOperationHeading);
  figures.AddHeadings(headings);
  headings.insert(headings.end(), {"|", "stalls"});
  TextTable table(headings, 0, {});
  const std::vector<const v1::ScopeReport*> shown = BestAndWorst(clusters);
  if (shown.size() < clusters.size()) {
    table.AddLine(absl::StrCat(kRowsOfAnEnd, " best and ", kRowsOfAnEnd, " worst of ", clusters.size(),
                               " steps, by p99", mixed ? " of writes" : "",
                               detail == TextDetail::kFull ? "; each is below" : ""));
  }
  for (const v1::ScopeReport* cluster : shown) {
    AddSummaryRow(report, *steps[cluster], *cluster, mixed, figures, unit, table);
  }
  const char* const missed = !paced ? "" : mixed ? "; ! = combined target rate missed" : "; ! = target rate missed";
  std::vector<std::string> lines = {
      absl::StrCat("Summary: all hosts, ", paced ? "response" : "service", " time in ", unit.name, missed)};
  AppendLines(table.Lines(), lines);
  if (slowest != nullptr) {
    const std::string text = absl::StrCat(
        "  Slowest ", MainOperation(report.plan()), " (", slowest->has_response_ns() ? "response" : "service",
        " time): ", FormatLatency(static_cast<double>(felt_ns(*slowest)), kNsPerMs), " ms in step ", slowest_step);
    const std::string moment =
        slowest->has_start() ? absl::StrCat(" at ", FormatTimeOfDay(slowest->start(), report.run().begin())) : "";
    const std::string where =
        SanitizeForTerminal(absl::StrCat(slowest->host(), "/", QmText(report, slowest->host(), slowest->qm())));
    // A long name takes the room of the moment, which the step has, too.
    const bool fits = DisplayWidth(text) + DisplayWidth(moment) + 2 + DisplayWidth(where) <= kTextWidth;
    lines.push_back(
        ShortenNamesIn(absl::StrCat(text, fits ? moment : "", ", ", where), HostNamesOf(report), kTextWidth));
  }
  if (!unsteady.empty()) lines.push_back("  " + StepsText("Not steady", unsteady, kMostRows));
  // Without detail, warnings and notes follow.
  if (detail == TextDetail::kShort) return lines;
  if (!bound.empty()) lines.push_back("  " + StepsText("The load generator may be CPU-bound", bound, kMostRows));
  if (!report.notes().empty()) {
    lines.push_back(absl::StrCat("  ", Counted(CountNotes(report), "note"), " at the end"));
  }
  return lines;
}

namespace {

constexpr size_t kCommandIndent = 4;

// Each host's worst start, over all steps.
std::map<std::string, int64_t> WorstStarts(const v1::Report& report) {
  std::map<std::string, int64_t> worst;
  for (const v1::StepReport& step : report.steps()) {
    for (const v1::HostStartReport& host : step.start_skew().hosts()) {
      const auto [found, added] = worst.try_emplace(host.host(), host.behind_ns());
      if (!added) found->second = std::max(found->second, host.behind_ns());
    }
  }
  return worst;
}

// What an agent and its host are, apart from their names.
std::string Describe(const v1::Report& report, const v1::HostReport& host) {
  std::string text = absl::StrCat("plimsoll-agent ", host.version(), ", ", host.kernel(), ", ", host.usable_cpus(),
                                  " CPUs, clock ", host.clock().source());
  const std::vector<std::string> dirs = DirsOf(host.workload());
  const std::vector<v1::MountReport> mounts = MountsOf(host);
  for (size_t i = 0; i < mounts.size() && i < dirs.size(); ++i) {
    const v1::MountReport& mount = mounts[i];
    if (mount.fs_type().empty()) continue;
    const std::string& source = mount.remote().empty() ? mount.fs_source() : mount.remote();
    absl::StrAppend(&text, "; ", dirs[i], " is ", mount.fs_type(), source.empty() ? "" : " from ", source);
  }
  if (host.storage() != 0 && report.storages_size() > 1) absl::StrAppend(&text, ", storage ", host.storage());
  return text;
}

std::string Loss(const v1::Report& report, const v1::HostReport& host) {
  std::string lost =
      absl::StrCat("lost at ", FormatTimeOfDay(host.lost().at(), report.run().begin()), ": ", host.lost().reason());
  if (host.lost().has_data_until()) {
    absl::StrAppend(&lost, "; data until ", FormatTimeOfDay(host.lost().data_until(), report.run().begin()));
  }
  return lost;
}

// What removes the files of a killed agent: the command on lines of its own, so that a shell takes it as it is copied.
std::vector<std::string> Cleanup(const v1::HostReport& host) {
  if (host.lost().cleanup_command().empty()) return {};
  std::vector<std::string> lines = UnderHeading(
      "", absl::StrCat("if the agent on ", host.label(), " was killed, its files remain; to remove them, run ",
                       CleanupRunsHere(host.lost().cleanup_command()) ? "on the controller's machine:" : "there:"));
  for (std::string& line :
       WrapCommand(SanitizeForTerminal(host.lost().cleanup_command()), kTextWidth - kCommandIndent)) {
    lines.push_back(std::string(kCommandIndent, ' ') + line);
  }
  return lines;
}

}  // namespace

std::vector<std::string> TextClocks(const v1::Report& report) {
  if (report.hosts().empty() || report.steps().empty()) return {};
  TextTable table({"host", "offset error", "start skew", "round trip", "drift ppm", "wall clock", "time sync"});
  const std::map<std::string, int64_t> starts = WorstStarts(report);
  for (const v1::HostReport& host : report.hosts()) {
    const v1::ClockReport& clock = host.clock();
    const auto start = starts.find(host.label());
    const bool known = clock.probes() > 0;
    const auto in = [](int64_t time_ns, int64_t unit_ns) {
      return FormatLatency(static_cast<double>(time_ns), unit_ns);
    };
    table.AddRow(
        {SanitizeForTerminal(host.label()), known ? in(clock.error_ns(), kNsPerUs) : kDash,
         start == starts.end() ? kDash : in(start->second, kNsPerUs),
         known ? in(clock.min_round_trip_ns(), kNsPerUs) : kDash, known ? FormatFixed(clock.drift_ppm(), 1) : kDash,
         known ? in(clock.wall_clock_difference_ns(), kNsPerMs) : kDash, clock.time_synchronized() ? "yes" : "no"});
  }
  std::vector<std::string> lines = {"Clocks; offset error (+/-), skew and round trip in us, wall clock in ms"};
  AppendLines(table.Lines(), lines);
  return lines;
}

std::vector<std::string> TextHosts(const v1::Report& report) {
  std::vector<std::string> lines;
  for (const v1::HostReport& host : report.hosts()) {
    const std::string heading = lines.empty() ? "Hosts" : "";
    AppendLines(
        UnderHeading(heading, absl::StrCat(host.label(), " at ", host.address(), host.has_node() ? ", node " : "",
                                           host.node(), ": ", Describe(report, host))),
        lines);
    if (host.has_lost()) AppendLines(UnderHeading("", Loss(report, host)), lines);
    AppendLines(Cleanup(host), lines);
  }
  return lines;
}

std::vector<std::string> TextNotes(const v1::Report& report) {
  std::vector<std::string> lines;
  for (const std::string& note : report.notes()) AppendLines(UnderHeading(lines.empty() ? "Notes" : "", note), lines);
  return lines;
}

}  // namespace plimsoll
