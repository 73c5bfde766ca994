// The text report's part about one step.
#include <algorithm>
#include <map>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/render/columns.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/render/text_table.h"

namespace plimsoll {
namespace {

// Where data end in the middle of a step nearly every writer has a write in flight; only long ones tell something.
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

// Rows of a step's tables: those of some scopes, under a line that names them unless they are all.
struct RowGroup {
  std::string heading;
  std::vector<const v1::ScopeReport*> rows;
};

RowGroup GroupOf(const std::vector<const v1::ScopeReport*>& scopes, const char* noun, const v1::StepReport& step) {
  RowGroup group{"", BestAndWorst(scopes)};
  if (group.rows.size() < scopes.size()) {
    group.heading = absl::StrCat(kRowsOfAnEnd, " best and ", kRowsOfAnEnd, " worst of ", scopes.size(), " ", noun,
                                 ", by p99 of the ", FeltName(step));
  }
  return group;
}

// Which rows a step shows: a storage that is the cluster or one host, and a host with one QM, would only repeat a row.
std::vector<RowGroup> RowsOf(const v1::StepReport& step, TextDetail detail) {
  std::map<std::string, int> qms_of;
  std::map<uint32_t, int> hosts_of;
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() == v1::SCOPE_KIND_QM) ++qms_of[scope.host()];
    if (scope.kind() == v1::SCOPE_KIND_HOST) ++hosts_of[scope.storage()];
  }
  RowGroup all;
  RowGroup totals;
  std::vector<const v1::ScopeReport*> qms;
  std::vector<const v1::ScopeReport*> hosts;
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() == v1::SCOPE_KIND_STORAGE && (hosts_of.size() < 2 || hosts_of[scope.storage()] < 2)) continue;
    if (scope.kind() == v1::SCOPE_KIND_HOST && qms_of[scope.host()] == 1) continue;
    all.rows.push_back(&scope);
    (scope.kind() == v1::SCOPE_KIND_QM     ? qms
     : scope.kind() == v1::SCOPE_KIND_HOST ? hosts
                                           : totals.rows)
        .push_back(&scope);
  }
  if (detail == TextDetail::kFull || (qms.size() <= kMostRows && hosts.size() <= kMostRows)) return {all};
  return {GroupOf(qms, "queue managers", step), GroupOf(hosts, "hosts", step), totals};
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
  for (const std::string& line : table.Lines()) lines.push_back(line);
}

std::string Title(const v1::Report& report, const v1::StepReport& step) {
  const v1::TestPlan& plan = report.plan();
  const uint32_t repeat = std::max<uint32_t>(plan.repeat(), 1);
  const uint64_t steps = report.has_placement()
                             ? static_cast<uint64_t>(report.placement().steps_size())
                             : uint64_t{repeat} * static_cast<uint32_t>(plan.block_size_bytes_size());
  std::set<uint32_t> qms;
  for (const v1::HostReport& host : report.hosts()) qms.insert(host.workload().qm());
  // Of rounds there are as many as it took.
  const uint64_t round_steps = plan.until_steady_ns() > 0 ? steps : 0;
  std::string title =
      absl::StrCat("Step ",
                   FormatStepNumber(step.number(), static_cast<uint32_t>(std::max<uint64_t>(steps, step.number())),
                                    static_cast<uint32_t>(round_steps)),
                   "   ", FormatBlockSize(step.block_size_bytes()));
  if (repeat > 1) title += absl::StrCat("   repetition ", step.repetition(), " of ", repeat);
  if (report.has_placement()) {
    return title + (step.has_down_host() ? absl::StrCat("   ", SanitizeForTerminal(step.down_host()), " down")
                                         : std::string("   all hosts up"));
  }
  if (qms.size() == 1) title += absl::StrCat("   ", *qms.begin(), *qms.begin() == 1 ? " QM per host" : " QMs per host");
  return title;
}

// A table of all groups of rows; `mark` makes what stands behind a row.
template <typename Mark>
TextTable TableOf(const std::vector<RowGroup>& groups, const FigureTable& figures, const LatencyUnit& unit, Mark mark) {
  std::vector<std::string> headings = {"host", "qm"};
  figures.AddHeadings(headings);
  TextTable table(headings, 2);
  for (const RowGroup& group : groups) {
    if (!group.heading.empty()) table.AddLine(group.heading);
    for (const v1::ScopeReport* scope : group.rows) {
      std::vector<std::string> cells = {HostCell(*scope), QmCell(*scope)};
      figures.AddCells(*scope, unit, cells);
      table.AddRow(cells, mark(*scope));
    }
  }
  return table;
}

void AddFigures(const v1::Report& report, const v1::StepReport& step, TextDetail detail, const LatencyUnit& unit,
                std::vector<std::string>& lines) {
  const std::vector<RowGroup> groups = RowsOf(step, detail);
  std::string title = Title(report, step);
  if (HasTargetRate(step)) {
    lines.push_back(title);
    title = "  Service time, of the write call";
    const TextTable responses =
        TableOf(groups, {{&kRateColumns, nullptr, &kResponseColumns}, kTextTable}, unit,
                [](const v1::ScopeReport& scope) { return scope.has_rate() && !scope.rate().held() ? " !" : ""; });
    AddTable("  Response time, from the scheduled start; ! = target rate missed", absl::StrCat("in ", unit.name),
             responses, lines);
    lines.emplace_back();
  }
  const std::string service = absl::StrCat("service time in ", unit.name);
  AddTable(title, service,
           TableOf(groups, {{&kThroughputColumns, nullptr, &kLatencyColumns}, kTextTable}, unit, MarkOf), lines);
  if (groups.size() > 1) return;
  lines.emplace_back();
  const FigureTable counts({&kWriteColumns, &kTimeColumns, nullptr, &kLatencyColumns, nullptr, &kBandwidthColumns},
                           kTextCounts);
  AddTable("", service + "; MB/s over whole seconds", TableOf(groups, counts, unit, MarkOf), lines);
}

void AddSlowest(const v1::Report& report, const v1::SlowestReport& slowest, std::vector<std::string>& lines) {
  const std::string extent = ExtentName(report, slowest.host(), slowest.extent());
  std::string text =
      absl::StrCat("Slowest write: ", FormatLatency(static_cast<double>(slowest.latency_ns()), kNsPerMs), " ms, ",
                   slowest.host(), "/", QmText(report, slowest.host(), slowest.qm()), " #",
                   FormatCount(slowest.number()), ", ", extent, " at ", FormatCount(slowest.offset_bytes()));
  if (slowest.has_start()) text += absl::StrCat(", ", FormatTimeOfDay(slowest.start(), report.run().begin()));
  AddIndented(text, lines);
}

// Where the data of some hosts end before the step does.
void AddEnds(const v1::Report& report, const v1::StepReport& step, std::vector<std::string>& lines) {
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() != v1::SCOPE_KIND_HOST || !scope.has_data_until()) continue;
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
            "for ", FormatShortTime(write.age_ns()), write.path().empty() ? "" : absl::StrCat(", to ", write.path())),
        lines);
  }
  if (shown > kMaxInFlight) AddIndented(absl::StrCat("... and ", shown - kMaxInFlight, " more in flight"), lines);
  if (!step.cut_short().empty()) AddIndented(absl::StrCat("Ended early: ", step.cut_short()), lines);
}

}  // namespace

std::vector<std::string> TextStep(const v1::Report& report, const v1::StepReport& step, TextDetail detail) {
  std::vector<std::string> lines;
  const v1::ScopeReport* cluster = ClusterOf(step);
  AddFigures(report, step, detail, UnitFor({&step}), lines);
  lines.emplace_back();
  AddEnds(report, step, lines);
  if (cluster == nullptr) return lines;
  const bool brief = detail == TextDetail::kShort && IsLarge(report);
  const v1::BandwidthReport& bandwidth = cluster->bandwidth();
  std::string totals =
      absl::StrCat("Cluster: ", FormatCount(cluster->writes()), " writes, ", FormatCount(cluster->bytes()), " bytes");
  if (brief && bandwidth.seconds() > 0) {
    absl::StrAppend(&totals, "; MB/s over 1 s: ",
                    FormatThroughput(static_cast<double>(bandwidth.min_bytes_per_second()) / kBytesPerMegabyte), " to ",
                    FormatThroughput(static_cast<double>(bandwidth.max_bytes_per_second()) / kBytesPerMegabyte));
  }
  AddIndented(totals, lines);
  if (cluster->has_slowest() && step.slowest().empty()) AddSlowest(report, cluster->slowest(), lines);
  const auto writers =
      absl::c_count_if(step.scopes(), [](const v1::ScopeReport& scope) { return scope.kind() == v1::SCOPE_KIND_QM; });
  // In short form the clocks' table has each host's.
  if (step.has_start_skew() && writers > 1 && !brief) {
    const int64_t error_ns = step.start_skew().error_ns();
    AddIndented(absl::StrCat("Start skew: ", FormatShortTime(step.start_skew().skew_ns()),
                             error_ns == 0 ? "" : absl::StrCat(" +/- ", FormatShortTime(error_ns))),
                lines);
  }
  for (const std::string& line : TextEvenness(step)) lines.push_back(line);
  for (const std::string& line : TextLoad(step, detail)) lines.push_back(line);
  return lines;
}

}  // namespace plimsoll
