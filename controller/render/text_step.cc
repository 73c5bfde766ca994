// The text report's part about one step: its figures, how even it was, and its hosts' kernel statistics.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/render/columns.h"
#include "controller/render/plain_text.h"
#include "controller/render/sections.h"
#include "controller/render/text.h"
#include "controller/report/main_operation.h"
#include "controller/report/playback.h"
#include "controller/report/run_kind.h"
#include "controller/report/scopes.h"
#include "controller/report/swept_load.h"

namespace plimsoll {
namespace {

// Where data end in the middle of a step nearly every writer has a write in flight; only long ones are worth reporting.
constexpr int64_t kShownInFlightNs = 100 * kNsPerMs;
constexpr int kMaxInFlight = 20;

std::string HostCell(const v1::ScopeReport& scope) {
  if (scope.kind() == v1::SCOPE_KIND_CLUSTER) return "cluster";
  if (scope.kind() == v1::SCOPE_KIND_STORAGE) return absl::StrCat("storage ", scope.storage());
  return SanitizeForTerminal(scope.host());
}

std::string QmCell(const v1::ScopeReport& scope) {
  if (scope.has_queue_manager()) return SanitizeForTerminal(scope.queue_manager());
  return scope.qm() == 0 ? "all" : absl::StrCat(scope.qm());
}

// Which rows a step shows: a storage that is the cluster or one host, and a host with one QM, would only repeat a row.
std::vector<const v1::ScopeReport*> RowsOf(const v1::StepReport& step) {
  std::map<std::string, int> qms_of;
  std::map<uint32_t, int> hosts_of;
  for (const v1::ScopeReport& scope : OfKind(step.scopes(), v1::SCOPE_KIND_QM)) ++qms_of[scope.host()];
  for (const v1::ScopeReport& scope : OfKind(step.scopes(), v1::SCOPE_KIND_HOST)) ++hosts_of[scope.storage()];
  std::vector<const v1::ScopeReport*> rows;
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() == v1::SCOPE_KIND_STORAGE && (hosts_of.size() < 2 || hosts_of[scope.storage()] < 2)) continue;
    if (scope.kind() == v1::SCOPE_KIND_HOST && qms_of[scope.host()] == 1) continue;
    rows.push_back(&scope);
  }
  return rows;
}

std::string MarkOf(const v1::ScopeReport& scope) {
  return scope.has_data_until() ? "*" : "";
}

// A title on the left and one on the right above a table.
void AddTable(const std::string& title, const std::string& right, const TextTable& table,
              std::vector<std::string>& lines) {
  const size_t width = std::min(std::max(table.Width(), DisplayWidth(title) + 2 + DisplayWidth(right)), kTextWidth);
  if (DisplayWidth(title) + 2 + DisplayWidth(right) <= width) {
    lines.push_back(title + PadLeft(right, width - DisplayWidth(title)));
  } else {
    for (const std::string& line : Wrap(title, kTextWidth)) lines.push_back(line);
    lines.push_back(PadLeft(right, width));
  }
  AppendLines(table.Lines(), lines);
}

std::string Title(const v1::Report& report, const v1::StepReport& step) {
  const v1::TestPlan& plan = report.plan();
  const uint32_t repeat = std::max<uint32_t>(plan.repeat(), 1);
  const TextSection* const section = TextSectionOf(report);
  const uint64_t steps =
      section != nullptr && section->steps != nullptr ? section->steps(report) : ListedSteps(plan) * repeat;
  std::set<uint32_t> qms;
  for (const v1::HostReport& host : report.hosts()) qms.insert(host.workload().qm());
  // A step in rounds has as many as it took.
  const uint64_t round_steps = plan.until_steady_ns() > 0 ? steps : 0;
  std::string title =
      absl::StrCat("Step ",
                   FormatStepNumber(step.number(), static_cast<uint32_t>(std::max<uint64_t>(steps, step.number())),
                                    static_cast<uint32_t>(round_steps)),
                   "   ", plan.has_watch() ? "watched" : FormatBlockSize(step.block_size_bytes()));
  if (repeat > 1) title += absl::StrCat("   repetition ", step.repetition(), " of ", repeat);
  if (HasPlacement(report)) {
    return title + (step.has_down_host() ? absl::StrCat("   ", SanitizeForTerminal(step.down_host()), " down")
                                         : std::string("   all hosts up"));
  }
  for (const std::string& part : SweptParts(step, plan)) title += "   " + part;
  if (plan.sweep().qm_size() > 0) return title;
  if (qms.size() == 1) title += absl::StrCat("   ", *qms.begin(), *qms.begin() == 1 ? " QM per host" : " QMs per host");
  return title;
}

// A table of the rows; `mark` makes what stands behind a row. `operations`: what is counted, such as "writes".
template <typename Mark>
TextTable TableOf(const std::vector<const v1::ScopeReport*>& rows, const FigureTable& figures, const LatencyUnit& unit,
                  Mark mark, const std::string& operations = "writes") {
  std::vector<std::string> headings = {"host", "qm"};
  figures.AddHeadings(headings);
  std::ranges::replace(headings, std::string("writes"), operations);
  if (operations == "commits") std::ranges::replace(headings, std::string("IO/s"), std::string("commits/s"));
  TextTable table(headings, 2);
  for (const v1::ScopeReport* scope : rows) {
    std::vector<std::string> cells = {HostCell(*scope), QmCell(*scope)};
    figures.AddCells(*scope, unit, cells);
    table.AddRow(cells, mark(*scope));
  }
  return table;
}

// Returns the scopes with the time of their reads counted as busy: between writes remains the time in which writers
// were idle.
std::vector<v1::ScopeReport> WithReadingTime(const std::vector<const v1::ScopeReport*>& scopes,
                                             const v1::OperationReport& reads) {
  std::vector<v1::ScopeReport> made;
  for (const v1::ScopeReport* const scope : scopes) {
    v1::ScopeReport& one = made.emplace_back(*scope);
    const v1::OperationScopeReport* const own = FindScope(reads, *scope);
    if (own == nullptr) {
      // How long the scope's writers read is not known.
      one.mutable_latency()->clear_sum_ns();
      one.clear_time_between_writes_ns();
      continue;
    }
    const uint64_t reading_ns = own->latency().sum_ns();
    one.mutable_latency()->set_sum_ns(scope->latency().sum_ns() + reading_ns);
    one.set_time_between_writes_ns(
        std::max<int64_t>(scope->time_between_writes_ns() - static_cast<int64_t>(reading_ns), 0));
  }
  return made;
}

std::vector<const v1::ScopeReport*> PointersTo(const std::vector<v1::ScopeReport>& scopes) {
  std::vector<const v1::ScopeReport*> pointers;
  for (const v1::ScopeReport& scope : scopes) pointers.push_back(&scope);
  return pointers;
}

void AddFigures(const v1::Report& report, const v1::StepReport& step, const LatencyUnit& unit,
                std::vector<std::string>& lines) {
  const std::vector<const v1::ScopeReport*> rows = RowsOf(step);
  const v1::OperationReport* const reads = ReadsOf(step);
  const bool mixed = reads != nullptr;
  const std::string of_writes = mixed ? "writes; " : "";
  std::string title = Title(report, step);
  if (HasTargetRate(step)) {
    AppendLines(DisplayWidth(title) <= kTextWidth ? std::vector{title} : Wrap(title, kTextWidth), lines);
    title = absl::StrCat("  Service time, of the ", MainOperation(report.plan()), " call");
    const TextTable responses =
        TableOf(rows, {{&kRateColumns, nullptr, &kResponseColumns}, kTextTable}, unit,
                [](const v1::ScopeReport& scope) { return scope.has_rate() && !scope.rate().held() ? " !" : ""; });
    AddTable("  Response time, from the scheduled start; ! = target rate missed",
             absl::StrCat(of_writes, "in ", unit.name), responses, lines);
    if (mixed) {
      AddIndented("The target rate, not issued and lag are of reads and writes together.", lines);
    }
    lines.emplace_back();
  }
  const std::string service = absl::StrCat(of_writes, "service time in ", unit.name);
  AddTable(title, service, TableOf(rows, {{&kThroughputColumns, nullptr, &kLatencyColumns}, kTextTable}, unit, MarkOf),
           lines);
  lines.emplace_back();
  const FigureTable counts({&kWriteColumns, &kTimeColumns, nullptr, &kLatencyColumns, nullptr, &kBandwidthColumns},
                           kTextCounts);
  const std::vector<v1::ScopeReport> busy = mixed ? WithReadingTime(rows, *reads) : std::vector<v1::ScopeReport>();
  AddTable("", service + "; MB/s over whole seconds",
           TableOf(mixed ? PointersTo(busy) : rows, counts, unit, MarkOf, MainOperations(report.plan())), lines);
}

// How long the parts of a write took, where they are measured.
void AddParts(const v1::StepReport& step, const LatencyUnit& unit, std::vector<std::string>& lines) {
  for (const v1::OperationReport& operation : step.operations()) {
    if (IsWhole(operation)) continue;
    std::vector<v1::ScopeReport> parts;
    for (const v1::ScopeReport* const scope : RowsOf(step)) {
      const v1::OperationScopeReport* const own = FindScope(operation, *scope);
      if (own == nullptr) continue;
      v1::ScopeReport& part = parts.emplace_back(*scope);
      *part.mutable_latency() = own->latency();
    }
    const std::vector<const v1::ScopeReport*> rows = PointersTo(parts);
    if (rows.empty()) continue;
    lines.emplace_back();
    AddTable(absl::StrCat("  Part of the service time: ", SanitizeForTerminal(operation.name())),
             absl::StrCat("in ", unit.name), TableOf(rows, {{&kLatencyColumns}, kTextTable}, unit, MarkOf), lines);
  }
}

// The figures of an operation that the step has beside the main one, such as its reads.
void AddWhole(const v1::StepReport& step, const v1::OperationReport& operation, const LatencyUnit& unit,
              std::vector<std::string>& lines) {
  std::vector<v1::ScopeReport> scopes;
  for (const v1::ScopeReport* const scope : RowsOf(step)) {
    if (std::optional<v1::ScopeReport> own = ReadScope(operation, *scope)) scopes.push_back(*std::move(own));
  }
  const std::vector<const v1::ScopeReport*> rows = PointersTo(scopes);
  if (rows.empty()) return;
  const bool reads = operation.name() == kReadName;
  const std::string noun = SanitizeForTerminal(WholeOperations(operation.name()));
  const bool commits = operation.name() == kCommitName;
  const std::string service = absl::StrCat(noun, commits ? "; simulated; in " : "; service time in ", unit.name);
  if (reads && HasTargetRate(step)) {
    lines.emplace_back();
    AddTable("  Response time of the reads, from the scheduled start", absl::StrCat("reads; in ", unit.name),
             TableOf(rows, {{&kResponseColumns}, kTextTable}, unit, MarkOf), lines);
  }
  lines.emplace_back();
  AddTable(reads     ? "  Service time, of the read call"
           : commits ? step.has_load_factor() ? "  Commit latency (simulated: a commit for each recorded write)"
                                              : "  Commit latency of simulated clients"
                     : absl::StrCat("  ", noun),
           service, TableOf(rows, {{&kThroughputColumns, nullptr, &kLatencyColumns}, kTextTable}, unit, MarkOf, noun),
           lines);
  lines.emplace_back();
  AddTable("", service, TableOf(rows, {{&kWriteColumns, nullptr, &kLatencyColumns}, kTextCounts}, unit, MarkOf, noun),
           lines);
}

void AddSlowest(const v1::Report& report, const v1::SlowestReport& slowest, const std::string& operation,
                std::vector<std::string>& lines) {
  const std::string extent = ExtentName(report, slowest.host(), slowest.extent());
  std::string text =
      absl::StrCat("Slowest ", operation, ": ", FormatLatency(static_cast<double>(slowest.latency_ns()), kNsPerMs),
                   " ms, ", slowest.host(), "/", QmText(report, slowest.host(), slowest.qm()), " #",
                   FormatCount(slowest.number()), ", ", extent, " at ", FormatCount(slowest.offset_bytes()));
  if (slowest.has_start()) text += absl::StrCat(", ", FormatTimeOfDay(slowest.start(), report.run().begin()));
  AddIndented(text, lines);
}

// Names the extent of an operation in flight: ", to /mnt/...". Empty if there is no path.
std::string OnExtent(const v1::TestPlan& plan, const std::string& path) {
  if (path.empty()) return "";
  const char* const doing = plan.read_percent() == 0 ? "to " : OnlyReads(plan) ? "a read of " : "a read or write of ";
  return absl::StrCat(", ", doing, path);
}

// Where the data of some hosts end before the step does.
void AddEnds(const v1::Report& report, const v1::StepReport& step, std::vector<std::string>& lines) {
  for (const v1::ScopeReport& scope : OfKind(step.scopes(), v1::SCOPE_KIND_HOST)) {
    if (!scope.has_data_until()) continue;
    std::string text = scope.measured_ns() == 0
                           ? absl::StrCat("* ", scope.host(), ": no data")
                           : absl::StrCat("* ", scope.host(), ": data until ",
                                          FormatTimeOfDay(scope.data_until(), report.run().begin()));
    if (!scope.data_until_reason().empty()) absl::StrAppend(&text, "; ended early: ", scope.data_until_reason());
    AddIndented(text, lines);
  }
  int shown = 0;
  for (const v1::InFlightReport& write : step.in_flight()) {
    if (write.age_ns() < kShownInFlightNs || ++shown > kMaxInFlight) continue;
    AddIndented(
        absl::StrCat(
            "In flight when the data end: ", write.host(), "/", QmText(report, write.host(), write.qm()), ", ",
            write.has_since() ? absl::StrCat("since ", FormatTimeOfDay(write.since(), report.run().begin()), ", ") : "",
            "for ", FormatShortTime(write.age_ns()), OnExtent(report.plan(), write.path())),
        lines);
  }
  if (shown > kMaxInFlight) AddIndented(absl::StrCat("... and ", shown - kMaxInFlight, " more in flight"), lines);
  if (!step.cut_short().empty()) AddIndented(absl::StrCat("Ended early: ", step.cut_short()), lines);
}

}  // namespace

namespace {

// What a step made of a recording.
std::string PlaybackText(const v1::Report& report, const v1::StepReport& step) {
  const v1::GroupCommitReport& commits = step.group_commit();
  const v1::ScopeReport* const cluster = ClusterOf(step);
  const bool merges = cluster != nullptr && cluster->iops() > 0 && !PlaysWritesAsRecorded(report.plan());
  return absl::StrCat("Recording, ",
                      PlaysWritesAsRecorded(report.plan()) ? absl::StrCat("writes as recorded, ", kNotWhatMqIssues)
                                                           : std::string("by demand (simulated)"),
                      ", ", LoadFactorText(step.load_factor()), ": ", FormatRate(commits.commits_per_second()),
                      " commits/s, each a recorded write; mean write ",
                      FormatFixed(commits.mean_write_bytes() / 1000, 1), " KB",
                      merges ? absl::StrCat("; ", FormatFixed(commits.commits_per_second() / cluster->iops(), 2),
                                            " recorded writes in each write")
                             : "");
}

}  // namespace

std::string GroupCommitText(const v1::Report& report, const v1::StepReport& step) {
  if (step.has_load_factor()) return PlaybackText(report, step);
  const v1::GroupCommitReport& commits = step.group_commit();
  return absl::StrCat("Group commit (simulated): ", FormatRate(commits.commits_per_second()), " commits/s of ",
                      Counted(step.clients(), "client"), " per queue manager; mean write ",
                      FormatFixed(commits.mean_write_bytes() / 1000, 1), " KB; ",
                      commits.has_physical_over_logical() ? FormatFixed(commits.physical_over_logical(), 2) : kDash,
                      " bytes written for each byte logged (",
                      LogWriteIntegrityName(report.plan().group_commit().log_write_integrity()), ")");
}

std::vector<std::string> TextStep(const v1::Report& report, const v1::StepReport& step) {
  std::vector<std::string> lines;
  const v1::ScopeReport* cluster = ClusterOf(step);
  AddFigures(report, step, UnitFor({&step}), lines);
  AddParts(step, UnitFor({&step}), lines);
  for (const v1::OperationReport& operation : step.operations()) {
    if (IsWhole(operation)) AddWhole(step, operation, UnitFor({&step}), lines);
  }
  lines.emplace_back();
  AddEnds(report, step, lines);
  if (cluster == nullptr) return lines;
  const v1::OperationReport* const reads = ReadsOf(step);
  const v1::OperationScopeReport* const read = reads == nullptr ? nullptr : FindScope(*reads, *cluster);
  std::string counts = absl::StrCat("Cluster: ", FormatCount(cluster->writes()), " ", MainOperations(report.plan()),
                                    ", ", FormatCount(cluster->bytes()), " bytes");
  if (read != nullptr) {
    absl::StrAppend(&counts, "; ", FormatCount(read->throughput().count()), " reads, ",
                    FormatCount(read->throughput().bytes()), " bytes");
  }
  AddIndented(counts, lines);
  if (step.has_group_commit()) AddIndented(GroupCommitText(report, step), lines);
  if (cluster->has_slowest() && step.slowest().empty()) {
    AddSlowest(report, cluster->slowest(), MainOperation(report.plan()), lines);
  }
  if (read != nullptr && read->has_slowest()) AddSlowest(report, read->slowest(), kReadName, lines);
  if (step.has_start_skew() && std::ranges::distance(OfKind(step.scopes(), v1::SCOPE_KIND_QM)) > 1) {
    const int64_t error_ns = step.start_skew().error_ns();
    AddIndented(absl::StrCat("Start skew: ", FormatShortTime(step.start_skew().skew_ns()),
                             error_ns == 0 ? "" : absl::StrCat(" +/- ", FormatShortTime(error_ns))),
                lines);
  }
  AppendLines(TextEvenness(step), lines);
  AppendLines(TextLoad(step, report.plan().read_percent()), lines);
  return lines;
}

namespace {

constexpr size_t kDeviceWidth = 16;

// "+1.2 %", or a dash where there is nothing to compare with.
std::string Change(double percent) {
  std::string text = FormatFixed(percent, 1);
  if (text == kDash) return text;
  return absl::StrCat(text[0] == '-' || text == "0.0" ? "" : "+", text, " %");
}

std::string Average(double iops, double avg_ns) {
  return iops > 0 ? FormatShortTime(static_cast<int64_t>(avg_ns)) : kDash;
}

std::string Milliseconds(double time_ms) {
  return FormatLatency(time_ms * static_cast<double>(kNsPerMs), kNsPerMs);
}

// An operation that was not done has no time.
std::string PerOperation(uint64_t operations, double time_ms) {
  return operations == 0 ? kDash : Milliseconds(time_ms);
}

using Averages = std::map<std::string, std::string>;

// Average latency of each host's writes.
Averages AveragesOf(const v1::StepReport& step) {
  Averages averages;
  for (const v1::ScopeReport& scope : OfKind(step.scopes(), v1::SCOPE_KIND_HOST)) {
    averages[scope.host()] = scope.latency().count() == 0 ? kDash : FormatLatency(scope.latency().avg_ns(), kNsPerMs);
  }
  return averages;
}

using Loads = std::vector<const v1::HostLoadReport*>;

std::string AverageOf(const v1::HostLoadReport& load, const Averages& averages) {
  return averages.contains(load.host()) ? averages.at(load.host()) : kDash;
}

void AddAgents(const Loads& loads, const Averages& averages, std::vector<std::string>& lines) {
  const bool paused = std::ranges::any_of(loads, [](const v1::HostLoadReport* load) { return load->pauses() > 0; });
  std::vector<std::string> headings = {"host", "measured avg", "|", "agent CPU %", "CPU wait %", "max sched. delay"};
  if (paused) headings.insert(headings.end(), {"suspended"});
  TextTable table(headings);
  for (const v1::HostLoadReport* load : loads) {
    std::vector<std::string> cells = {SanitizeForTerminal(load->host()), AverageOf(*load, averages),
                                      FormatFixed(load->agent_cpu_percent(), 1),
                                      FormatFixed(load->writer_cpu_wait_percent(), 2),
                                      FormatLatency(static_cast<double>(load->recorder_late_max_ns()), kNsPerMs)};
    if (paused) cells.push_back(FormatLatency(static_cast<double>(load->paused_ns()), kNsPerMs));
    table.AddRow(cells);
  }
  AppendLines(table.Lines(), lines);
}

void AddDisks(const Loads& loads, const Averages& averages, std::vector<std::string>& lines) {
  const bool reads =
      std::ranges::any_of(loads, [](const v1::HostLoadReport* load) { return load->disk().has_reads(); });
  std::vector<std::string> headings = {"host", "measured avg", "|", "device"};
  if (reads) headings.emplace_back("read");
  headings.insert(headings.end(), {"write", "flush", "busy %"});
  TextTable table(headings);
  bool any = false;
  for (const v1::HostLoadReport* load : loads) {
    if (!load->has_disk()) continue;
    any = true;
    const v1::DiskReport& disk = load->disk();
    std::vector<std::string> cells = {SanitizeForTerminal(load->host()), AverageOf(*load, averages),
                                      Shorten(SanitizeForTerminal(disk.device()), kDeviceWidth)};
    if (reads) cells.push_back(PerOperation(disk.reads(), disk.read_ms()));
    cells.push_back(PerOperation(disk.writes(), disk.write_ms()));
    cells.push_back(PerOperation(disk.flushes(), disk.flush_ms()));
    cells.push_back(FormatFixed(disk.busy_percent(), 1));
    table.AddRow(cells);
  }
  if (!any) return;
  lines.emplace_back();
  lines.emplace_back("  Block device, from kernel statistics; times per operation in ms");
  AppendLines(table.Lines(), lines);
}

// `only_reads`: the measured averages are those of reads.
void AddNfs(const Loads& loads, const Averages& averages, bool only_reads, std::vector<std::string>& lines) {
  TextTable table({"host", "measured avg", "|", "op", "count", "queue time", "rtt", "execute", "retransmitted"});
  bool any = false;
  for (const v1::HostLoadReport* load : loads) {
    if (!load->has_nfs()) continue;
    any = true;
    const auto add = [&](const char* name, const v1::NfsOperationReport& operation, const std::string& beside) {
      table.AddRow({SanitizeForTerminal(load->host()), beside, name, FormatCount(operation.operations()),
                    PerOperation(operation.operations(), operation.queue_ms()),
                    PerOperation(operation.operations(), operation.round_trip_ms()),
                    PerOperation(operation.operations(), operation.execute_ms()),
                    FormatCount(operation.retransmits())});
    };
    const bool beside_reads = only_reads && load->nfs().has_read();
    const std::string average = AverageOf(*load, averages);
    if (load->nfs().has_read()) add("READ", load->nfs().read(), beside_reads ? average : "");
    add("WRITE", load->nfs().write(), beside_reads ? "" : average);
    if (load->nfs().commit().operations() > 0 || load->nfs().commit().retransmits() > 0) {
      add("COMMIT", load->nfs().commit(), "");
    }
  }
  if (!any) return;
  lines.emplace_back();
  lines.emplace_back("  NFS, from kernel statistics; times per operation in ms");
  AppendLines(table.Lines(), lines);
}

}  // namespace

std::vector<std::string> TextEvenness(const v1::StepReport& step) {
  std::vector<std::string> lines;
  const char* const of_writes = ReadsOf(step) == nullptr ? "" : " of the writes";
  if (step.has_fairness()) {
    const v1::FairnessReport& fairness = step.fairness();
    const std::string hosts =
        fairness.hosts() > 0 ? absl::StrCat(FormatFixed(fairness.hosts(), 3), " over hosts, ") : std::string();
    AddIndented(absl::StrCat("Fairness", of_writes, " (Jain's index): ", hosts,
                             FormatFixed(fairness.queue_managers(), 3), " over queue managers"),
                lines);
  }
  if (!step.has_trend()) return lines;
  const v1::TrendReport& trend = step.trend();
  AddIndented(
      absl::StrCat("Trend: IO/s ", FormatRate(trend.first_iops()), " to ", FormatRate(trend.last_iops()), " (",
                   Change(trend.iops_change_percent()), "), avg ", Average(trend.first_iops(), trend.first_avg_ns()),
                   " to ", Average(trend.last_iops(), trend.last_avg_ns()), " (", Change(trend.avg_change_percent()),
                   ")"),
      lines);
  AddIndented(absl::StrCat(trend.steady() ? "Steady" : "Not steady", ": range ", FormatFixed(trend.range_percent(), 1),
                           " % (limit 20), slope ", Change(trend.slope_percent()), " (limit 10), over 5 x ",
                           FormatLength(trend.stretch_ns())),
              lines);
  return lines;
}

std::vector<std::string> TextLoad(const v1::StepReport& step, uint32_t read_percent) {
  if (step.load().empty()) return {};
  Loads loads;
  for (const v1::HostLoadReport& load : step.load()) loads.push_back(&load);
  std::vector<std::string> lines = {"", "  Load: host and device statistics; times in ms"};
  const Averages averages = AveragesOf(step);
  AddAgents(loads, averages, lines);
  AddDisks(loads, averages, lines);
  AddNfs(loads, averages, read_percent == kOnlyReads, lines);
  const bool devices = std::ranges::any_of(
      step.load(), [](const v1::HostLoadReport& load) { return load.has_disk() || load.has_nfs(); });
  const bool reads = std::ranges::any_of(
      step.load(), [](const v1::HostLoadReport& load) { return load.disk().has_reads() || load.nfs().has_read(); });
  if (read_percent > 0 && devices && !reads) {
    AddIndented(absl::StrCat("The kernel's times and counts do not include reads; measured avg is that of the ",
                             MainOperations(read_percent), "."),
                lines);
  } else if (reads && ReadsAndWrites(read_percent)) {
    AddIndented("Measured avg is that of the writes.", lines);
  }
  for (const v1::HostLoadReport& load : step.load()) {
    if (load.bottleneck().empty()) continue;
    AddIndented(absl::StrCat("Warning: ", load.host(), ": the load generator may be CPU-bound: ", load.bottleneck()),
                lines);
  }
  return lines;
}

}  // namespace plimsoll
