// The text report's parts about a step's stalls and its slowest writes.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/stable_sort.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/render/text_table.h"

namespace plimsoll {
namespace {

constexpr size_t kStallsShown = 10;
// Columns for the names of the affected.
constexpr size_t kWhoWidth = 26;
// What a class shows about the cause, for the administrators of hosts and storage.
const char* Meaning(v1::StallClass stall_class) {
  switch (stall_class) {
    case v1::STALL_CLASS_HOST_PAUSED:
      return "host paused";
    case v1::STALL_CLASS_ALL_HOSTS:
      return "all hosts: the storage";
    case v1::STALL_CLASS_SOME_HOSTS:
      return "some hosts, not all";
    case v1::STALL_CLASS_ONE_HOST:
      return "one host: its path";
    case v1::STALL_CLASS_ONE_QM:
      return "one QM of a host";
    case v1::STALL_CLASS_SINGLE_HOST:
      return "storage or path (undetermined)";
    case v1::STALL_CLASS_SOME_QMS:
      return "some QMs of a host";
    default:
      return "not known";
  }
}

// The class alone, for a column.
const char* ShortMeaning(v1::StallClass stall_class) {
  switch (stall_class) {
    case v1::STALL_CLASS_ALL_HOSTS:
      return "all hosts";
    case v1::STALL_CLASS_SOME_HOSTS:
      return "some hosts";
    case v1::STALL_CLASS_ONE_HOST:
      return "one host";
    case v1::STALL_CLASS_ONE_QM:
      return "one QM";
    case v1::STALL_CLASS_SINGLE_HOST:
      return "undetermined";
    case v1::STALL_CLASS_SOME_QMS:
      return "some QMs";
    default:
      return Meaning(stall_class);
  }
}

// Hosts by name; a single one with its writers where not all of its writers stalled.
std::string Who(const v1::Report& report, const v1::StallReport& stall) {
  const bool by_qm = stall.stall_class() == v1::STALL_CLASS_ONE_QM || stall.stall_class() == v1::STALL_CLASS_SOME_QMS;
  if (!by_qm) return absl::StrJoin(stall.hosts(), ", ");
  std::vector<uint32_t> qms;
  for (const v1::StalledWriterReport& writer : stall.writers()) qms.push_back(writer.qm());
  std::sort(qms.begin(), qms.end());
  const std::string host = stall.hosts().empty() ? "" : stall.hosts(0);
  std::string who = absl::StrCat(host, "/qm", absl::StrJoin(qms, ","));
  if (report.has_placement()) {
    who = absl::StrCat(host, "/", absl::StrJoin(qms, ",", [&](std::string* out, uint32_t qm) {
                         absl::StrAppend(out, QmText(report, host, qm));
                       }));
  }
  if (stall.writers_count() > qms.size()) absl::StrAppend(&who, ",...");
  return who;
}

// What counted, where the writers' medians made it something else than the report's least.
std::string Threshold(const v1::StallsReport& stalls) {
  std::string least = FormatLength(stalls.threshold_ns());
  if (!stalls.threshold_by_median()) return least;
  if (stalls.largest_threshold_ns() <= stalls.threshold_ns()) {
    return absl::StrCat(least, " (or 20x median, whichever is greater)");
  }
  const std::string largest = FormatShortTime(stalls.largest_threshold_ns());
  if (stalls.least_threshold_ns() == stalls.largest_threshold_ns()) {
    return absl::StrCat(largest, " (20x median, which is greater than ", least, ")");
  }
  return absl::StrCat(FormatShortTime(stalls.least_threshold_ns()), " to ", largest, " (", least,
                      " or 20x the writer's median, whichever is greater)");
}

// The most writes in one of its writers' stall intervals.
uint64_t MostWrites(const v1::StallReport& stall) {
  uint64_t most = 0;
  for (const v1::StalledWriterReport& writer : stall.writers()) most = std::max(most, writer.writes());
  return most;
}

std::string Counts(const v1::StallsReport& stalls) {
  std::vector<std::string> parts;
  for (const v1::StallCount& count : stalls.classes()) {
    parts.push_back(absl::StrCat(FormatCount(count.count()), " x ", Meaning(count.stall_class())));
  }
  return absl::StrJoin(parts, "; ");
}

std::vector<const v1::StallReport*> Longest(const v1::StallsReport& stalls) {
  std::vector<const v1::StallReport*> longest;
  for (const v1::StallReport& stall : stalls.stalls()) longest.push_back(&stall);
  StableSort(longest,
             [](const v1::StallReport* a, const v1::StallReport* b) { return a->length_ns() > b->length_ns(); });
  longest.resize(std::min(longest.size(), kStallsShown));
  // Back into the order of time.
  StableSort(longest,
             [](const v1::StallReport* a, const v1::StallReport* b) { return a->offset_ns() < b->offset_ns(); });
  return longest;
}

}  // namespace

std::vector<std::string> TextStalls(const v1::Report& report, const v1::StepReport& step) {
  if (!step.has_stalls()) return {};
  const v1::StallsReport& stalls = step.stalls();
  std::vector<std::string> lines;
  const std::string what = absl::StrCat("in flight or overdue for ", Threshold(stalls));
  if (stalls.count() == 0 && stalls.left_out() == 0) {
    AddIndented(absl::StrCat("No stall: no write ", what), lines);
  } else if (stalls.count() == 0) {
    AddIndented(absl::StrCat("Stalls: none known of a write ", what), lines);
  } else {
    AddIndented(absl::StrCat("Stalls: a write ", what), lines);
    AddIndented(Counts(stalls), lines);
    const std::vector<const v1::StallReport*> longest = Longest(stalls);
    const bool several = std::any_of(longest.begin(), longest.end(),
                                     [](const v1::StallReport* stall) { return MostWrites(*stall) > 1; });
    std::vector<std::string> headings = {"began", "class", "affected", "|", "length ms", "error ms"};
    if (several) headings.insert(headings.end() - 1, "writes");
    TextTable table(headings, 3, {2});
    bool long_names = false;
    for (const v1::StallReport* stall : longest) {
      const std::string who = SanitizeForTerminal(Who(report, *stall));
      long_names = long_names || DisplayWidth(who) > kWhoWidth;
      std::vector<std::string> cells = {FormatTimeOfDay(stall->begin(), report.run().begin()),
                                        ShortMeaning(stall->stall_class()), Shorten(who, kWhoWidth),
                                        FormatLatency(static_cast<double>(stall->length_ns()), kNsPerMs),
                                        FormatLatency(static_cast<double>(stall->error_ns()), kNsPerMs)};
      if (several) {
        const uint64_t writes = MostWrites(*stall);
        cells.insert(cells.end() - 1, writes == 0 ? kDash : FormatCount(writes));
      }
      table.AddRow(cells, stall->open() ? " open" : "");
    }
    const std::vector<std::string> rows = table.Lines();
    lines.insert(lines.end(), rows.begin(), rows.end());
    if (several) {
      AddIndented(
          "writes: the most in one writer's stall interval: late ones of a fixed rate, or, with --stall, a run of slow "
          "writes that usually take as long.",
          lines);
    }
    if (stalls.count() > longest.size()) {
      AddIndented(absl::StrCat("These are the ", longest.size(), " longest of ", FormatCount(stalls.count()),
                               "; report.json has up to 100 of them."),
                  lines);
    } else if (long_names) {
      AddIndented("report.json names all that were affected.", lines);
    }
  }
  if (stalls.left_out() > 0) {
    AddIndented(absl::StrCat(FormatCount(stalls.left_out()),
                             " possible stall intervals are in none of these figures: too many to report or to "
                             "analyze, or no clock probe covers them."),
                lines);
  }
  return lines;
}

std::vector<std::string> TextSlowest(const v1::Report& report, const v1::StepReport& step) {
  if (step.slowest().empty()) return {};
  std::vector<std::string> lines = {"  Slowest writes, by service time"};
  TextTable table({"QM", "extent", "began", "|", "ms", "number", "offset", "error ms"}, 3, {0, 1});
  for (const v1::SlowestReport& write : step.slowest()) {
    const std::string extent = ExtentName(report, write.host(), write.extent());
    const bool mapped = write.has_start();
    table.AddRow({SanitizeForTerminal(absl::StrCat(write.host(), "/", QmText(report, write.host(), write.qm()))),
                  Shorten(SanitizeForTerminal(extent), 20),
                  mapped ? FormatTimeOfDay(write.start(), report.run().begin()) : kDash,
                  FormatLatency(static_cast<double>(write.latency_ns()), kNsPerMs), FormatCount(write.number()),
                  FormatCount(write.offset_bytes()),
                  mapped ? FormatLatency(static_cast<double>(write.error_ns()), kNsPerMs) : kDash});
  }
  const std::vector<std::string> rows = table.Lines();
  lines.insert(lines.end(), rows.begin(), rows.end());
  return lines;
}

}  // namespace plimsoll
