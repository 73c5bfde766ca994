// The text report's part about how even a step was, and its hosts' kernel statistics.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
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

using Loads = std::vector<const v1::HostLoadReport*>;

std::string AverageOf(const v1::HostLoadReport& load, const Averages& averages) {
  return averages.contains(load.host()) ? averages.at(load.host()) : kDash;
}

void AddAgents(const Loads& loads, const Averages& averages, std::vector<std::string>& lines) {
  const bool paused =
      std::any_of(loads.begin(), loads.end(), [](const v1::HostLoadReport* load) { return load->pauses() > 0; });
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
  AddTable(table, lines);
}

void AddDisks(const Loads& loads, const Averages& averages, std::vector<std::string>& lines) {
  TextTable table({"host", "measured avg", "|", "device", "write", "flush", "busy %"});
  bool any = false;
  for (const v1::HostLoadReport* load : loads) {
    if (!load->has_disk()) continue;
    any = true;
    const v1::DiskReport& disk = load->disk();
    table.AddRow({SanitizeForTerminal(load->host()), AverageOf(*load, averages),
                  Shorten(SanitizeForTerminal(disk.device()), kDeviceWidth),
                  PerOperation(disk.writes(), disk.write_ms()), PerOperation(disk.flushes(), disk.flush_ms()),
                  FormatFixed(disk.busy_percent(), 1)});
  }
  if (!any) return;
  lines.emplace_back();
  lines.emplace_back("  Block device, as the kernel counts it; times of one operation in ms");
  AddTable(table, lines);
}

void AddNfs(const Loads& loads, const Averages& averages, std::vector<std::string>& lines) {
  TextTable table({"host", "measured avg", "|", "op", "count", "queue time", "rtt", "execute", "retransmitted"});
  bool any = false;
  for (const v1::HostLoadReport* load : loads) {
    if (!load->has_nfs()) continue;
    any = true;
    const auto add = [&](const char* name, const v1::NfsOperationReport& operation, const std::string& average) {
      table.AddRow({SanitizeForTerminal(load->host()), average, name, FormatCount(operation.operations()),
                    PerOperation(operation.operations(), operation.queue_ms()),
                    PerOperation(operation.operations(), operation.round_trip_ms()),
                    PerOperation(operation.operations(), operation.execute_ms()),
                    FormatCount(operation.retransmits())});
    };
    add("WRITE", load->nfs().write(), AverageOf(*load, averages));
    if (load->nfs().commit().operations() > 0 || load->nfs().commit().retransmits() > 0) {
      add("COMMIT", load->nfs().commit(), "");
    }
  }
  if (!any) return;
  lines.emplace_back();
  lines.emplace_back("  NFS, as the kernel counts it; times of one operation in ms");
  AddTable(table, lines);
}

// The worst value of all hosts and who had it: "6.10 % (beta)".
template <typename Get, typename Format>
std::string Worst(const Loads& loads, Get get, Format format) {
  const auto worst =
      std::max_element(loads.begin(), loads.end(), [&get](const auto* a, const auto* b) { return get(*a) < get(*b); });
  return absl::StrCat(format(get(**worst)), " (", (*worst)->host(), ")");
}

// What many hosts have in common: the worst of each.
void AddWorst(const Loads& loads, std::vector<std::string>& lines) {
  const auto percent = [](double value) { return absl::StrCat(FormatFixed(value, 2), " %"); };
  const auto time = [](double time_ms) { return absl::StrCat(Milliseconds(time_ms), " ms"); };
  std::string text = absl::StrCat(
      "Load, worst of ", loads.size(), " hosts: CPU wait ",
      Worst(
          loads, [](const v1::HostLoadReport& load) { return load.writer_cpu_wait_percent(); }, percent),
      ", agent CPU ",
      Worst(
          loads, [](const v1::HostLoadReport& load) { return load.agent_cpu_percent(); }, percent),
      ", scheduling delay ",
      Worst(
          loads, [](const v1::HostLoadReport& load) { return static_cast<double>(load.recorder_late_max_ns()) / 1e6; },
          time));
  if (std::any_of(loads.begin(), loads.end(), [](const auto* load) { return load->has_disk(); })) {
    absl::StrAppend(&text, ", device write ",
                    Worst(loads, [](const v1::HostLoadReport& load) { return load.disk().write_ms(); }, time));
  }
  if (std::any_of(loads.begin(), loads.end(), [](const auto* load) { return load->has_nfs(); })) {
    absl::StrAppend(
        &text, ", NFS WRITE rtt ",
        Worst(loads, [](const v1::HostLoadReport& load) { return load.nfs().write().round_trip_ms(); }, time));
  }
  AddIndented(text, lines);
}

}  // namespace

std::vector<std::string> TextEvenness(const v1::StepReport& step) {
  std::vector<std::string> lines;
  if (step.has_fairness()) {
    const v1::FairnessReport& fairness = step.fairness();
    const std::string hosts =
        fairness.hosts() > 0 ? absl::StrCat(FormatFixed(fairness.hosts(), 3), " over hosts, ") : std::string();
    AddIndented(absl::StrCat("Fairness (Jain's index): ", hosts, FormatFixed(fairness.queue_managers(), 3),
                             " over queue managers"),
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

std::vector<std::string> TextLoad(const v1::StepReport& step, TextDetail detail) {
  if (step.load().empty()) return {};
  Loads loads;
  for (const v1::HostLoadReport& load : step.load()) loads.push_back(&load);
  std::vector<std::string> lines;
  if (detail == TextDetail::kShort && loads.size() > kMostRows) {
    AddWorst(loads, lines);
  } else {
    lines = {"", "  Load: host and device statistics; times in ms"};
    const Averages averages = AveragesOf(step);
    AddAgents(loads, averages, lines);
    AddDisks(loads, averages, lines);
    AddNfs(loads, averages, lines);
  }
  size_t warnings = 0;
  for (const v1::HostLoadReport& load : step.load()) {
    if (load.bottleneck().empty()) continue;
    if (++warnings > kMostRows && detail == TextDetail::kShort) continue;
    AddIndented(absl::StrCat("Warning: ", load.host(), ": the load generator may be CPU-bound: ", load.bottleneck()),
                lines);
  }
  if (warnings > kMostRows && detail == TextDetail::kShort) {
    AddIndented(absl::StrCat("... and ", warnings - kMostRows, " more warnings (--full)"), lines);
  }
  return lines;
}

}  // namespace plimsoll
