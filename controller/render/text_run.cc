// The text report's parts about the run as a whole: clocks, hosts, notes, verdict.
#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/render/text_numbers.h"
#include "controller/render/text_table.h"

namespace plimsoll {
namespace {

std::string AndMore(const v1::Report& report) {
  const int more = report.hosts_size() - kMostHostLines;
  return absl::StrCat("... and ", FormatCount(static_cast<uint64_t>(std::max(more, 0))),
                      " more hosts; report.json has them all.");
}

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

std::string Upper(v1::Outcome outcome) {
  return absl::AsciiStrToUpper(EnumName(*v1::Outcome_descriptor(), outcome));
}

// "step 2, beta/qm2".
std::string Where(const v1::CriterionReport& criterion) {
  std::string where = criterion.step() == 0 ? "" : absl::StrCat("step ", criterion.step());
  if (!criterion.host().empty()) absl::StrAppend(&where, where.empty() ? "" : ", ", criterion.host());
  if (criterion.qm() != 0) absl::StrAppend(&where, "/qm", criterion.qm());
  return where;
}

void Append(const std::vector<std::string>& more, std::vector<std::string>& lines) {
  lines.insert(lines.end(), more.begin(), more.end());
}

}  // namespace

std::vector<std::string> TextClocks(const v1::Report& report) {
  if (report.hosts().empty() || report.steps().empty()) return {};
  TextTable table({"host", "offset error", "drift", "start skew", "min round trip", "wall clock", "time sync"});
  const std::map<std::string, int64_t> starts = WorstStarts(report);
  for (int i = 0; i < std::min(report.hosts_size(), kMostHostLines); ++i) {
    const v1::HostReport& host = report.hosts(i);
    const v1::ClockReport& clock = host.clock();
    const auto start = starts.find(host.label());
    const bool known = clock.probes() > 0;
    table.AddRow({Neutralise(host.label()), known ? "+/- " + FormatShortTime(clock.error_ns()) : kDash,
                  known ? FormatFixed(clock.drift_ppm(), 1) + " ppm" : kDash,
                  start == starts.end() ? kDash : FormatShortTime(start->second),
                  known ? FormatShortTime(clock.min_round_trip_ns()) : kDash,
                  known ? FormatShortTime(clock.wall_clock_difference_ns()) : kDash,
                  clock.time_synchronized() ? "yes" : "no"});
  }
  std::vector<std::string> lines = {"Clocks"};
  Append(table.Lines(), lines);
  if (report.hosts_size() > kMostHostLines) lines.push_back("  " + AndMore(report));
  return lines;
}

std::vector<std::string> TextHosts(const v1::Report& report) {
  std::vector<std::string> lines;
  const auto heading = [&lines] { return std::string(lines.empty() ? "Hosts" : ""); };
  for (int i = 0; i < std::min(report.hosts_size(), kMostHostLines); ++i) {
    const v1::HostReport& host = report.hosts(i);
    const v1::MountReport& mount = host.mount();
    std::string text = absl::StrCat(host.label(), " at ", host.address(), ": plimsoll-agent ", host.version(), ", ",
                                    host.kernel(), ", ", host.usable_cpus(), " CPUs, clock ", host.clock().source());
    if (!mount.fs_type().empty()) {
      absl::StrAppend(&text, "; ", host.workload().dir(), " is ", mount.fs_type(), " from ",
                      mount.remote().empty() ? mount.fs_source() : mount.remote());
    }
    if (host.storage() != 0 && report.storages_size() > 1) absl::StrAppend(&text, ", storage ", host.storage());
    Append(UnderHeading(heading(), text), lines);
    if (!host.has_lost()) continue;
    std::string lost =
        absl::StrCat("lost at ", FormatTimeOfDay(host.lost().at(), report.run().begin()), ": ", host.lost().reason());
    if (host.lost().has_data_until()) {
      absl::StrAppend(&lost, "; data until ", FormatTimeOfDay(host.lost().data_until(), report.run().begin()));
    }
    Append(UnderHeading("", lost), lines);
  }
  if (report.hosts_size() > kMostHostLines) Append(UnderHeading("", AndMore(report)), lines);
  return lines;
}

std::vector<std::string> TextNotes(const v1::Report& report) {
  std::vector<std::string> lines;
  for (const std::string& note : report.notes()) Append(UnderHeading(lines.empty() ? "Notes" : "", note), lines);
  return lines;
}

std::vector<std::string> TextVerdict(const v1::Report& report) {
  const v1::VerdictReport& verdict = report.verdict();
  std::string outcome = Upper(verdict.outcome());
  if (verdict.outcome() == v1::OUTCOME_DONE) outcome += ", no criterion given";
  if (!verdict.remark().empty()) absl::StrAppend(&outcome, "; ", verdict.remark());
  std::vector<std::string> lines = UnderHeading("Verdict", outcome);
  for (const v1::CriterionReport& criterion : verdict.criteria()) {
    std::string text = absl::StrCat(Upper(criterion.outcome()), " ", criterion.criterion(),
                                    criterion.added() ? " (added for the target rate)" : "", ": ");
    if (!criterion.reason().empty()) {
      absl::StrAppend(&text, criterion.reason());
    } else {
      absl::StrAppend(&text, criterion.value_text(), " in ", Where(criterion));
    }
    Append(UnderHeading("", text), lines);
  }
  for (const std::string& reason : verdict.reasons()) Append(UnderHeading("", reason), lines);
  return lines;
}

}  // namespace plimsoll
