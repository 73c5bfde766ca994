// The text report's part about one step.
#include <algorithm>
#include <map>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/render/text_numbers.h"
#include "controller/render/text_table.h"

namespace plimsoll {
namespace {

// Medians below this are shown in microseconds.
constexpr uint64_t kMicrosecondsBelowNs = 100'000;

// Where data end in the middle of a step nearly every writer has a write in flight; only long ones tell something.
constexpr int64_t kShownInFlightNs = 100 * kNsPerMs;
constexpr int kMaxInFlight = 20;

struct LatencyUnit {
  int64_t unit_ns = kNsPerMs;
  const char* name = "ms";
};

const v1::ScopeReport* ClusterOf(const v1::StepReport& step) {
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() == v1::SCOPE_KIND_CLUSTER) return &scope;
  }
  return nullptr;
}

std::string HostCell(const v1::ScopeReport& scope) {
  if (scope.kind() == v1::SCOPE_KIND_CLUSTER) return "cluster";
  if (scope.kind() == v1::SCOPE_KIND_STORAGE) return absl::StrCat("storage ", scope.storage());
  return Neutralise(scope.host());
}

std::string QmCell(const v1::ScopeReport& scope) {
  return scope.qm() == 0 ? "all" : absl::StrCat(scope.qm());
}

// Which rows a step shows: a storage that is the cluster or one host, and a host with one QM, would only repeat a row.
std::vector<const v1::ScopeReport*> RowsOf(const v1::StepReport& step) {
  std::map<std::string, int> qms;
  std::map<uint32_t, int> hosts;
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() == v1::SCOPE_KIND_QM) ++qms[scope.host()];
    if (scope.kind() == v1::SCOPE_KIND_HOST) ++hosts[scope.storage()];
  }
  std::vector<const v1::ScopeReport*> rows;
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() == v1::SCOPE_KIND_STORAGE && (hosts.size() < 2 || hosts[scope.storage()] < 2)) continue;
    if (scope.kind() == v1::SCOPE_KIND_HOST && qms[scope.host()] == 1) continue;
    rows.push_back(&scope);
  }
  return rows;
}

// A percentile, or a dash where it is known only roughly.
std::string Percentile(const v1::LatencyReport& latency, const char* name, uint64_t value_ns, const LatencyUnit& unit) {
  if (latency.count() == 0 || absl::c_linear_search(latency.thin(), name)) return kDash;
  return FormatLatency(static_cast<double>(value_ns), unit.unit_ns);
}

std::string Latency(const v1::LatencyReport& latency, double value_ns, const LatencyUnit& unit) {
  return latency.count() == 0 ? kDash : FormatLatency(value_ns, unit.unit_ns);
}

void AddLatencyCells(const v1::LatencyReport& latency, const LatencyUnit& unit, std::vector<std::string>& cells) {
  cells.push_back(Latency(latency, static_cast<double>(latency.min_ns()), unit));
  cells.push_back(Latency(latency, latency.avg_ns(), unit));
  cells.push_back(Latency(latency, latency.wavg_ns(), unit));
  cells.push_back(Percentile(latency, "p50", latency.p50_ns(), unit));
  cells.push_back(Percentile(latency, "p90", latency.p90_ns(), unit));
  cells.push_back(Percentile(latency, "p99", latency.p99_ns(), unit));
  cells.push_back(Percentile(latency, "p99_9", latency.p99_9_ns(), unit));
  cells.push_back(Latency(latency, static_cast<double>(latency.max_ns()), unit));
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
  const uint64_t steps = uint64_t{repeat} * static_cast<uint32_t>(plan.block_size_bytes_size());
  std::set<uint32_t> qms;
  std::set<std::string> flags;
  for (const v1::HostReport& host : report.hosts()) {
    qms.insert(host.workload().qm());
    flags.insert(host.mount().open_flags());
  }
  std::string title = absl::StrCat("Step ", step.number(), " of ", std::max<uint64_t>(steps, step.number()), "   ",
                                   FormatSizeForPeople(step.block_size_bytes()));
  if (repeat > 1) title += absl::StrCat("   repetition ", step.repetition(), " of ", repeat);
  if (qms.size() == 1) title += absl::StrCat("   ", *qms.begin(), *qms.begin() == 1 ? " QM a host" : " QMs a host");
  if (flags.size() == 1 && !flags.begin()->empty()) title += absl::StrCat("   ", Neutralise(*flags.begin()));
  return title;
}

void AddFigures(const v1::Report& report, const v1::StepReport& step, const LatencyUnit& unit,
                std::vector<std::string>& lines) {
  const std::vector<const v1::ScopeReport*> rows = RowsOf(step);
  TextTable latencies({"host", "qm", "IO/s", "MB/s", "|", "min", "avg", "wavg", "p50", "p90", "p99", "p99.9", "max"},
                      2);
  TextTable counts({"host", "qm", "writes", "bytes", "|", "p99.99", "between %", "|", "max", "min", "avg"}, 2);
  TextTable responses(
      {"host", "qm", "unserved", "behind", "|", "min", "avg", "wavg", "p50", "p90", "p99", "p99.9", "max"}, 2);
  bool paced = false;
  for (const v1::ScopeReport* scope : rows) {
    const std::string host = HostCell(*scope);
    const std::string qm = QmCell(*scope);
    std::vector<std::string> cells = {host, qm, FormatRate(scope->iops()), FormatFixed(scope->mb_per_second(), 2)};
    AddLatencyCells(scope->latency(), unit, cells);
    latencies.AddRow(cells, MarkOf(*scope));

    const v1::LatencyReport& latency = scope->latency();
    const v1::BandwidthReport& bandwidth = scope->bandwidth();
    const auto per_second = [&bandwidth](double bytes) {
      return bandwidth.seconds() == 0 ? kDash : FormatFixed(bytes / kBytesPerMegabyte, 2);
    };
    // Of a host's writers together: their times add up.
    const double time_ns = static_cast<double>(latency.sum_ns()) + static_cast<double>(scope->time_between_writes_ns());
    const std::string between =
        time_ns <= 0 ? kDash : FormatFixed(100 * static_cast<double>(scope->time_between_writes_ns()) / time_ns, 2);
    counts.AddRow({host, qm, FormatCount(scope->writes()), FormatCount(scope->bytes()),
                   Percentile(latency, "p99_99", latency.p99_99_ns(), unit), between,
                   per_second(static_cast<double>(bandwidth.max_bytes_per_second())),
                   per_second(static_cast<double>(bandwidth.min_bytes_per_second())),
                   per_second(bandwidth.avg_bytes_per_second())},
                  MarkOf(*scope));
    if (!scope->has_rate()) continue;
    paced = true;
    cells = {host, qm, FormatCount(scope->rate().unserved()),
             FormatShortTime(static_cast<int64_t>(scope->rate().max_behind_ns()))};
    AddLatencyCells(scope->rate().response(), unit, cells);
    responses.AddRow(cells, scope->rate().held() ? "" : "!");
  }
  const std::string in_unit = absl::StrCat("latency in ", unit.name);
  AddTable(Title(report, step), in_unit, latencies, lines);
  lines.emplace_back();
  AddTable("", absl::StrCat("p99.99 in ", unit.name, "; MB/s over whole seconds"), counts, lines);
  if (!paced) return;
  lines.emplace_back();
  AddTable("  Response time, from the intended start; ! rate not held", absl::StrCat("in ", unit.name), responses,
           lines);
}

void AddSlowest(const v1::Report& report, const v1::SlowestReport& slowest, std::vector<std::string>& lines) {
  const std::string extent = ExtentName(report, slowest.host(), slowest.extent());
  std::string text = absl::StrCat("Slowest write: ", FormatLatency(static_cast<double>(slowest.latency_ns()), kNsPerMs),
                                  " ms, ", slowest.host(), "/qm", slowest.qm(), " #", FormatCount(slowest.number()),
                                  ", ", extent, " at ", FormatCount(slowest.offset_bytes()));
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
            "In flight when the data end: ", write.host(), "/qm", write.qm(), ", ",
            write.has_since() ? absl::StrCat("since ", FormatTimeOfDay(write.since(), report.run().begin()), ", ") : "",
            "for ", FormatShortTime(write.age_ns()), write.path().empty() ? "" : absl::StrCat(", to ", write.path())),
        lines);
  }
  if (shown > kMaxInFlight) AddIndented(absl::StrCat("... and ", shown - kMaxInFlight, " more in flight"), lines);
  if (!step.cut_short().empty()) AddIndented(absl::StrCat("Ended before its time: ", step.cut_short()), lines);
}

}  // namespace

std::vector<std::string> TextStep(const v1::Report& report, const v1::StepReport& step) {
  std::vector<std::string> lines;
  const v1::ScopeReport* cluster = ClusterOf(step);
  LatencyUnit unit;
  if (cluster != nullptr && cluster->latency().p50_ns() < kMicrosecondsBelowNs && cluster->latency().count() > 0) {
    unit = {kNsPerUs, "us"};
  }
  AddFigures(report, step, unit, lines);
  lines.emplace_back();
  AddEnds(report, step, lines);
  if (cluster == nullptr) return lines;
  const v1::BandwidthReport& bandwidth = cluster->bandwidth();
  std::string over_second = "Cluster MB/s over 1 s: ";
  if (bandwidth.seconds() == 0) {
    over_second += absl::StrCat(kDash, " (no whole second)");
  } else {
    absl::StrAppend(&over_second, "max ",
                    FormatFixed(static_cast<double>(bandwidth.max_bytes_per_second()) / kBytesPerMegabyte, 2), ", min ",
                    FormatFixed(static_cast<double>(bandwidth.min_bytes_per_second()) / kBytesPerMegabyte, 2), ", avg ",
                    FormatFixed(bandwidth.avg_bytes_per_second() / kBytesPerMegabyte, 2));
  }
  const std::string totals =
      absl::StrCat("Writes ", FormatCount(cluster->writes()), "     Bytes ", FormatCount(cluster->bytes()));
  if (2 + over_second.size() + 5 + totals.size() <= kTextWidth) {
    lines.push_back(absl::StrCat("  ", over_second, "     ", totals));
  } else {
    AddIndented(over_second, lines);
    AddIndented(totals, lines);
  }
  if (cluster->has_slowest() && step.slowest().empty()) AddSlowest(report, cluster->slowest(), lines);
  const auto writers =
      absl::c_count_if(step.scopes(), [](const v1::ScopeReport& scope) { return scope.kind() == v1::SCOPE_KIND_QM; });
  if (step.has_start_skew() && writers > 1) {
    const int64_t error_ns = step.start_skew().error_ns();
    AddIndented(absl::StrCat("Start skew: ", FormatShortTime(step.start_skew().skew_ns()),
                             error_ns == 0 ? "" : absl::StrCat(" +/- ", FormatShortTime(error_ns))),
                lines);
  }
  for (const std::string& line : TextEvenness(step)) lines.push_back(line);
  for (const std::string& line : TextLoad(step)) lines.push_back(line);
  return lines;
}

}  // namespace plimsoll
