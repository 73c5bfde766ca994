// What text shows of a watch.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/render/sections.h"
#include "controller/render/text.h"
#include "controller/report/main_operation.h"
#include "controller/report/run_kind.h"
#include "controller/report/scopes.h"
#include "controller/report/watched.h"

namespace plimsoll {
namespace {

constexpr int kMostProcessesNamed = 4;
constexpr int kMostLinesOfHosts = 12;

// "2 processes: amqzmuc0[4711], amqrmppa[4712]".
std::string ProcessList(const v1::WatchedWriter& writer) {
  std::vector<std::string> names;
  for (int i = 0; i < std::min(writer.processes_size(), kMostProcessesNamed); ++i) {
    names.push_back(absl::StrCat(writer.processes(i).name(), "[", writer.processes(i).pid(), "]"));
  }
  if (writer.processes_size() > kMostProcessesNamed) {
    names.push_back(absl::StrCat(writer.processes_size() - kMostProcessesNamed, " more"));
  }
  return absl::StrCat(writer.processes_size(), writer.processes_size() == 1 ? " process" : " processes",
                      names.empty() ? "" : ": ", absl::StrJoin(names, ", "));
}

// "a write takes 0.5 us longer".
std::string CostText(const v1::WatchHostReport& host) {
  std::vector<std::string> parts;
  const auto add = [&parts](const char* what, uint64_t cost_ns) {
    if (cost_ns > 0) parts.push_back(absl::StrFormat("%.2f us a %s", static_cast<double>(cost_ns) / 1e3, what));
  };
  add("write", host.write_overhead_ns());
  add("call", host.call_overhead_ns());
  if (host.has_counts()) {
    parts.push_back(absl::StrFormat("%.3f %% of a CPU, at most %.3f %% in a second", host.counts().overhead_percent(),
                                    host.counts().max_overhead_percent()));
  }
  return absl::StrJoin(parts, "; ");
}

void AddHosts(const v1::Report& report, std::vector<std::string>& lines) {
  const std::vector<std::string> names = WatchedWriterNames(report.plan().watch());
  int shown = 0;
  int left_out = 0;
  for (const v1::WatchHostReport& host : report.watch().hosts()) {
    for (int i = 0; i < host.writers_size(); ++i) {
      if (++shown > kMostLinesOfHosts) {
        ++left_out;
        continue;
      }
      const v1::WatchedWriter& writer = host.writers(i);
      const std::string name = static_cast<size_t>(i) < names.size() ? names[static_cast<size_t>(i)] : "";
      AddIndented(absl::StrCat(host.host(), "/", name, ": ", writer.log_dir().empty() ? "" : writer.log_dir(),
                               writer.log_dir().empty() ? "" : ", ", ProcessList(writer),
                               writer.probes().empty() ? "" : "; ", absl::StrJoin(writer.probes(), ", ")),
                  lines);
    }
    if (host.writers().empty()) AddIndented(absl::StrCat(host.host(), ": nothing was attached to"), lines);
    if (const std::string cost = CostText(host); !cost.empty() && shown <= kMostLinesOfHosts) {
      AddIndented(absl::StrCat(host.host(), ": cost of watching: ", cost), lines);
    }
  }
  if (left_out > 0) AddIndented(absl::StrCat("... and ", left_out, " more (report.json)"), lines);
}

// A row for each operation, of all hosts together.
void AddWatchedOperations(const v1::Report& report, std::vector<std::string>& lines) {
  if (report.steps().empty()) return;
  const v1::StepReport& step = report.steps(0);
  const v1::ScopeReport* const cluster = ClusterOf(step);
  if (cluster == nullptr) return;
  TextTable table({"operation", "count", "per s", "|", "min", "avg", "p50", "p99", "max"});
  const auto add = [&table](const std::string& name, const v1::ScopeReport& scope) {
    const v1::LatencyReport& latency = scope.latency();
    const auto cell = [&latency](const char* figure, double time_ns) {
      return IsKnown(latency, figure) ? FormatLatency(time_ns, kNsPerUs) : kDash;
    };
    table.AddRow({SanitizeForTerminal(name), FormatCount(scope.writes()), FormatRate(scope.iops()),
                  cell("min", static_cast<double>(latency.min_ns())), cell("avg", latency.avg_ns()),
                  cell("p50", static_cast<double>(latency.p50_ns())),
                  cell("p99", static_cast<double>(latency.p99_ns())),
                  cell("max", static_cast<double>(latency.max_ns()))});
  };
  add(MainOperation(report.plan()), *cluster);
  for (const v1::OperationReport& operation : step.operations()) {
    if (!IsWhole(operation)) continue;
    if (const auto own = ReadScope(operation, *cluster); own.has_value()) add(operation.name(), *own);
  }
  AppendLines(table.Lines(), lines);
  AddIndented("All hosts; times in us, of the calls alone, as the program saw them.", lines);
}

std::vector<std::string> TextWatched(const v1::Report& report) {
  std::vector<std::string> lines = {"Watched"};
  AddHosts(report, lines);
  AddWatchedOperations(report, lines);
  for (const v1::WatchHostReport& host : report.watch().hosts()) {
    for (const std::string& doubt : host.doubts()) AddIndented(absl::StrCat("Bounds only: ", doubt), lines);
  }
  return lines;
}

std::vector<std::string> TextProfile(const v1::Report& report) {
  const v1::WatchReport& watch = report.watch();
  if (watch.aspects().empty()) return {};
  std::vector<std::string> lines = {"How the log was written, beside how plimsoll run writes one"};
  for (const v1::WatchAspect& aspect : watch.aspects()) {
    AddIndented(absl::StrCat(aspect.differs() ? "! " : "  ", aspect.aspect(), ": ", aspect.seen(),
                             aspect.differs() ? absl::StrCat("; plimsoll run: ", aspect.assumed()) : ""),
                lines);
  }
  const bool differs = std::ranges::any_of(watch.aspects(), &v1::WatchAspect::differs);
  AddIndented(differs ? "! = differs from what plimsoll run does by default" : "It does all of this by default.",
              lines);
  if (watch.has_simulation()) {
    AddIndented("To simulate it on a storage, with DIR on it:", lines);
    for (const std::string& line : WrapCommand(SanitizeForTerminal(watch.simulation()), kTextWidth - 4)) {
      lines.push_back("    " + line);
    }
  }
  return lines;
}

std::vector<std::vector<std::string>> WatchParts(const v1::Report& report) {
  return {TextWatched(report), TextProfile(report), TextCriteria(report), TextSummary(report, TextDetail::kFull)};
}

std::vector<std::vector<std::string>> WatchBrief(const v1::Report& report, size_t /*rows*/) {
  std::vector<std::string> profile = TextProfile(report);
  if (!profile.empty()) profile.insert(profile.begin(), "");
  return {TextWatched(report), std::move(profile)};
}

std::vector<ConfigurationRow> WatchConfiguration(const v1::Report& report) {
  using Text = ConfigurationRow::Text;
  const v1::TestPlan& plan = report.plan();
  const v1::WatchPlan& watch = plan.watch();
  std::vector<ConfigurationRow> rows;
  rows.push_back({"Queue managers", "--queue-manager", absl::StrJoin(watch.queue_managers(), ", ")});
  if (watch.has_pid()) rows.push_back({"Process", "--pid", absl::StrCat(watch.pid())});
  rows.push_back({"Log directory", "--log-dir", watch.log_dir()});
  rows.push_back({"Calls", "--calls", absl::StrJoin(watch.calls(), ", ")});
  std::string duration = FormatLength(plan.duration_ns());
  if (plan.warmup_ns() > 0) absl::StrAppend(&duration, ", ", FormatLength(plan.warmup_ns()), " warm-up");
  if (watch.until_idle_ns() > 0) {
    absl::StrAppend(&duration, ", or until nothing happened for ", FormatLength(watch.until_idle_ns()));
  }
  rows.push_back({"Duration", "--duration", duration});
  rows.push_back({"Most overhead", "--max-overhead", absl::StrCat(watch.max_overhead_percent(), " % of a CPU")});
  rows.push_back({"Profile", "--profile", watch.profile() ? "yes" : ""});
  rows.push_back({"Criteria", "--require", absl::StrJoin(plan.criteria(), ", "), Text::kNone});
  if (plan.lease_ns() > 0) rows.push_back({"Lease", "--lease", FormatLength(plan.lease_ns()), Text::kNone});
  std::erase_if(rows, [](const ConfigurationRow& row) { return row.value.empty(); });
  return rows;
}

}  // namespace

constinit const TextSection kWatchTextSection{
    .kind = RunKind::kWatch,
    .options = [](const v1::TestPlan& /*plan*/, std::vector<ConfigurationRow>& /*rows*/) {},
    .parts = WatchParts,
    .brief = WatchBrief,
    .steps = [](const v1::Report& report) { return static_cast<uint64_t>(report.steps_size()); },
    .answers = true,
    .configuration = WatchConfiguration};

}  // namespace plimsoll
