// The text report's parts about the run as a whole: clocks, hosts, notes.
#include <algorithm>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/stable_sort.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/render/text_table.h"

namespace plimsoll {
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
  const v1::MountReport& mount = host.mount();
  std::string text = absl::StrCat("plimsoll-agent ", host.version(), ", ", host.kernel(), ", ", host.usable_cpus(),
                                  " CPUs, clock ", host.clock().source());
  if (!mount.fs_type().empty()) {
    const std::string& source = mount.remote().empty() ? mount.fs_source() : mount.remote();
    absl::StrAppend(&text, "; ", host.workload().dir(), " is ", mount.fs_type(), source.empty() ? "" : " from ",
                    source);
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
  std::vector<std::string> lines =
      UnderHeading("", absl::StrCat("if the agent of ", host.label(),
                                    " was killed, its files are still there; to remove them, run on it:"));
  for (std::string& line :
       WrapCommand(SanitizeForTerminal(host.lost().cleanup_command()), kTextWidth - kCommandIndent)) {
    lines.push_back(std::string(kCommandIndent, ' ') + line);
  }
  return lines;
}

std::string Count(size_t count, const char* noun) {
  return absl::StrCat(FormatCount(count), " ", noun, count == 1 ? "" : "s");
}

void Append(const std::vector<std::string>& more, std::vector<std::string>& lines) {
  lines.insert(lines.end(), more.begin(), more.end());
}

}  // namespace

std::vector<std::string> TextClocks(const v1::Report& report, TextDetail detail) {
  if (report.hosts().empty() || report.steps().empty()) return {};
  std::vector<const v1::HostReport*> shown;
  for (const v1::HostReport& host : report.hosts()) shown.push_back(&host);
  const bool brief = detail == TextDetail::kShort && shown.size() > kMostRows;
  if (brief) {
    // A clock that is not known at all is the worst.
    const auto error_ns = [](const v1::HostReport& host) {
      return host.clock().probes() > 0 ? host.clock().error_ns() : std::numeric_limits<int64_t>::max();
    };
    StableSort(shown, [&](const v1::HostReport* a, const v1::HostReport* b) { return error_ns(*a) < error_ns(*b); });
    const auto end = static_cast<std::ptrdiff_t>(kRowsOfAnEnd);
    shown.erase(shown.begin() + end, shown.end() - end);
  }
  TextTable table({"host", "offset error", "start skew", "round trip", "drift ppm", "wall clock", "time sync"});
  const std::map<std::string, int64_t> starts = WorstStarts(report);
  for (const v1::HostReport* host : shown) {
    const v1::ClockReport& clock = host->clock();
    const auto start = starts.find(host->label());
    const bool known = clock.probes() > 0;
    const auto in = [](int64_t time_ns, int64_t unit_ns) {
      return FormatLatency(static_cast<double>(time_ns), unit_ns);
    };
    table.AddRow(
        {SanitizeForTerminal(host->label()), known ? in(clock.error_ns(), kNsPerUs) : kDash,
         start == starts.end() ? kDash : in(start->second, kNsPerUs),
         known ? in(clock.min_round_trip_ns(), kNsPerUs) : kDash, known ? FormatFixed(clock.drift_ppm(), 1) : kDash,
         known ? in(clock.wall_clock_difference_ns(), kNsPerMs) : kDash, clock.time_synchronized() ? "yes" : "no"});
  }
  std::vector<std::string> lines = {"Clocks; offset error (+/-), skew and round trip in us, wall clock in ms"};
  if (brief) {
    lines.push_back(absl::StrCat("  ", kRowsOfAnEnd, " best and ", kRowsOfAnEnd, " worst of ",
                                 Count(static_cast<size_t>(report.hosts_size()), "host"), ", by offset error"));
  }
  Append(table.Lines(), lines);
  return lines;
}

std::vector<std::string> TextHosts(const v1::Report& report, TextDetail detail) {
  std::vector<std::string> lines;
  const auto heading = [&lines] { return std::string(lines.empty() ? "Hosts" : ""); };
  if (detail == TextDetail::kFull || static_cast<size_t>(report.hosts_size()) <= kMostRows) {
    for (const v1::HostReport& host : report.hosts()) {
      Append(UnderHeading(heading(), absl::StrCat(host.label(), " at ", host.address(), ": ", Describe(report, host))),
             lines);
      if (host.has_lost()) Append(UnderHeading("", Loss(report, host)), lines);
      Append(Cleanup(host), lines);
    }
    return lines;
  }
  // Alike hosts are listed once, and lost ones by name.
  std::map<std::string, size_t> alike;
  for (const v1::HostReport& host : report.hosts()) ++alike[Describe(report, host)];
  size_t shown = 0;
  for (const auto& [description, count] : alike) {
    if (++shown > kMostRows) continue;
    Append(UnderHeading(heading(), absl::StrCat(Count(count, "host"), ": ", description)), lines);
  }
  if (shown > kMostRows) {
    Append(UnderHeading("", absl::StrCat("... and ", shown - kMostRows, " other sorts of hosts (--full)")), lines);
  }
  size_t lost = 0;
  for (const v1::HostReport& host : report.hosts()) {
    if (!host.has_lost() || ++lost > kMostRows) continue;
    Append(UnderHeading("", absl::StrCat(host.label(), ": ", Loss(report, host))), lines);
    Append(Cleanup(host), lines);
  }
  if (lost > kMostRows) {
    Append(UnderHeading("", absl::StrCat("... and ", Count(lost - kMostRows, "lost host"), " more (--full)")), lines);
  }
  return lines;
}

std::vector<std::string> TextNotes(const v1::Report& report, TextDetail detail) {
  std::vector<std::string> lines;
  const auto notes = static_cast<size_t>(report.notes_size());
  const bool brief = detail == TextDetail::kShort && IsLarge(report);
  const size_t shown = brief ? std::min(notes, kMostRows) : notes;
  for (size_t i = 0; i < shown; ++i) {
    Append(UnderHeading(i == 0 ? "Notes" : "", report.notes(static_cast<int>(i))), lines);
  }
  if (shown < notes)
    Append(UnderHeading("", absl::StrCat("... and ", Count(notes - shown, "more note"), " (--full)")), lines);
  return lines;
}

}  // namespace plimsoll
