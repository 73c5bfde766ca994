// The text report's part about how even a step was, and what its hosts' kernels say.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/render/text_numbers.h"
#include "controller/render/text_table.h"

namespace plimsoll {
namespace {

constexpr size_t kDeviceWidth = 16;

void AddTable(const TextTable& table, std::vector<std::string>& lines) {
  for (const std::string& line : table.Lines()) lines.push_back(line);
}

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

// Of an operation that was not done there is no time.
std::string PerOperation(uint64_t operations, double time_ms) {
  return operations == 0 ? kDash : Milliseconds(time_ms);
}

using Averages = std::map<std::string, std::string>;

// Average latency of each host's writes.
Averages AveragesOf(const v1::StepReport& step) {
  Averages averages;
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() != v1::SCOPE_KIND_HOST) continue;
    averages[scope.host()] = scope.latency().count() == 0 ? kDash : FormatLatency(scope.latency().avg_ns(), kNsPerMs);
  }
  return averages;
}

template <typename Holds>
bool Any(const v1::StepReport& step, Holds holds) {
  return std::any_of(step.load().begin(), step.load().end(), holds);
}

void AddHarness(const v1::StepReport& step, const Averages& averages, std::vector<std::string>& lines) {
  const bool paused = Any(step, [](const v1::HostLoadReport& load) { return load.pauses() > 0; });
  const bool disk = Any(step, [](const v1::HostLoadReport& load) { return load.has_disk(); });
  std::vector<std::string> headings = {"host", "our avg", "|", "agent CPU %", "CPU wait %", "late max"};
  if (paused) headings.insert(headings.end(), {"paused"});
  if (disk) headings.insert(headings.end(), {"|", "disk", "write", "flush", "busy %"});
  TextTable table(headings);
  for (int i = 0; i < std::min(step.load_size(), kMostHostLines); ++i) {
    const v1::HostLoadReport& load = step.load(i);
    std::vector<std::string> cells = {
        Neutralise(load.host()), averages.contains(load.host()) ? averages.at(load.host()) : kDash,
        FormatFixed(load.agent_cpu_percent(), 1), FormatFixed(load.writer_cpu_wait_percent(), 2),
        FormatLatency(static_cast<double>(load.recorder_late_max_ns()), kNsPerMs)};
    if (paused) cells.push_back(FormatLatency(static_cast<double>(load.paused_ns()), kNsPerMs));
    if (disk && load.has_disk()) {
      cells.push_back(Shorten(Neutralise(load.disk().device()), kDeviceWidth));
      cells.push_back(PerOperation(load.disk().writes(), load.disk().write_ms()));
      cells.push_back(PerOperation(load.disk().flushes(), load.disk().flush_ms()));
      cells.push_back(FormatFixed(load.disk().busy_percent(), 1));
    } else if (disk) {
      cells.insert(cells.end(), 4, kDash);
    }
    table.AddRow(cells);
  }
  AddTable(table, lines);
}

void AddNfs(const v1::StepReport& step, const Averages& averages, std::vector<std::string>& lines) {
  if (!Any(step, [](const v1::HostLoadReport& load) { return load.has_nfs(); })) return;
  TextTable table({"host", "our avg", "|", "WRITEs", "queue", "rtt", "execute", "|", "COMMITs", "queue", "rtt",
                   "execute", "|", "resent"});
  for (int i = 0; i < std::min(step.load_size(), kMostHostLines); ++i) {
    const v1::HostLoadReport& load = step.load(i);
    if (!load.has_nfs()) continue;
    std::vector<std::string> cells = {Neutralise(load.host()),
                                      averages.contains(load.host()) ? averages.at(load.host()) : kDash};
    uint64_t resent = 0;
    for (const v1::NfsOperationReport* operation : {&load.nfs().write(), &load.nfs().commit()}) {
      cells.push_back(FormatCount(operation->operations()));
      cells.push_back(PerOperation(operation->operations(), operation->queue_ms()));
      cells.push_back(PerOperation(operation->operations(), operation->round_trip_ms()));
      cells.push_back(PerOperation(operation->operations(), operation->execute_ms()));
      resent += operation->retransmits();
    }
    cells.push_back(FormatCount(resent));
    table.AddRow(cells);
  }
  lines.emplace_back();
  lines.emplace_back("  NFS, as the kernel counts it; times of one operation in ms");
  AddTable(table, lines);
}

}  // namespace

std::vector<std::string> TextEvenness(const v1::StepReport& step) {
  std::vector<std::string> lines;
  if (step.has_fairness()) {
    const v1::FairnessReport& fairness = step.fairness();
    const std::string hosts =
        fairness.hosts() > 0 ? absl::StrCat(FormatFixed(fairness.hosts(), 3), " over hosts, ") : std::string();
    AddIndented(absl::StrCat("Fairness: ", hosts, FormatFixed(fairness.queue_managers(), 3),
                             " over queue managers (Jain's index of IO/s; 1: all alike)"),
                lines);
  }
  if (!step.has_trend()) return lines;
  const v1::TrendReport& trend = step.trend();
  AddIndented(
      absl::StrCat("Trend, first to last third: IO/s ", FormatRate(trend.first_iops()), " to ",
                   FormatRate(trend.last_iops()), " (", Change(trend.iops_change_percent()), "), avg ",
                   Average(trend.first_iops(), trend.first_avg_ns()), " to ",
                   Average(trend.last_iops(), trend.last_avg_ns()), " (", Change(trend.avg_change_percent()), ")"),
      lines);
  AddIndented(absl::StrCat(trend.steady() ? "Steady" : "Not steady", ": IO/s of five stretches of ",
                           FormatLength(trend.stretch_ns()), " differ by ", FormatFixed(trend.range_percent(), 1),
                           " % (limit 20), slope ", Change(trend.slope_percent()), " (limit 10)"),
              lines);
  return lines;
}

std::vector<std::string> TextLoad(const v1::StepReport& step) {
  if (step.load().empty()) return {};
  std::vector<std::string> lines = {"", "  Load: our writes beside what the kernels say; times in ms"};
  const Averages averages = AveragesOf(step);
  AddHarness(step, averages, lines);
  AddNfs(step, averages, lines);
  if (step.load_size() > kMostHostLines) {
    lines.push_back(absl::StrCat("  ... and ", FormatCount(static_cast<uint64_t>(step.load_size() - kMostHostLines)),
                                 " more hosts; report.json has them all."));
  }
  int warnings = 0;
  for (const v1::HostLoadReport& load : step.load()) {
    if (load.bottleneck().empty() || ++warnings > kMostHostLines) continue;
    AddIndented(
        absl::StrCat("Warning: ", load.host(), ": the harness may have been the bottleneck: ", load.bottleneck()),
        lines);
  }
  return lines;
}

}  // namespace plimsoll
