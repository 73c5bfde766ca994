// What text and files show of disturbances.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/algorithm.h"
#include "common/units.h"
#include "controller/disturb/load_seconds.h"
#include "controller/render/plain_text.h"
#include "controller/render/sections.h"
#include "controller/render/text.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

constexpr int kMostDisturbancesNamed = 16;
constexpr size_t kMostFindingsShown = 10;

std::string DisturbSeconds(int64_t time_ns) {
  return absl::StrFormat("%.3f", static_cast<double>(time_ns) / static_cast<double>(kNsPerSecond));
}

std::string ShortSeconds(int64_t time_ns) {
  return absl::StrFormat("%.1f", static_cast<double>(time_ns) / static_cast<double>(kNsPerSecond));
}

std::string RecoveryCell(const v1::DisturbCommandReport& command) {
  if (command.has_recovery_ns()) return ShortSeconds(command.recovery_ns());
  return command.has_recovery_unknown() ? kDash : absl::StrCat("> ", ShortSeconds(command.observed_ns()));
}

void AddCommandRow(const std::string& name, const v1::DisturbCommandReport& command, TextTable& table) {
  table.AddRow({SanitizeForTerminal(name), ShortSeconds(command.start_ns()),
                command.has_duration_ns() ? DisturbSeconds(command.duration_ns()) : kDash,
                command.exit_code() < 0 ? kDash : absl::StrCat(command.exit_code()),
                command.longest_pause_ns() > 0
                    ? absl::StrCat(command.pause_open() ? "\u2265 " : "", DisturbSeconds(command.longest_pause_ns()))
                    : kDash,
                RecoveryCell(command)});
}

// "controller takeover: longest pause 8.213 s, of node1/qm2, from 1.204 s after the start of do on".
std::string PauseText(const v1::Report& report, const v1::DisturbanceReport& one) {
  if (one.longest_pause_ns() == 0) return absl::StrCat(one.name(), ": no write was in flight");
  std::string text = absl::StrCat(one.name(), ": longest pause ", one.pause_open() ? "at least " : "",
                                  DisturbSeconds(one.longest_pause_ns()), " s");
  if (!one.pause_host().empty()) {
    const bool before = one.pause_start_ns() < 0;
    absl::StrAppend(&text, ", of ", one.pause_host(), "/", QmText(report, one.pause_host(), one.pause_qm()), ", from ",
                    DisturbSeconds(before ? -one.pause_start_ns() : one.pause_start_ns()), " s ",
                    before ? "before" : "after", " the start of do on");
  }
  if (one.failed_writers() > 0) {
    absl::StrAppend(&text, "; ", Counted(one.failed_writers(), "queue manager"),
                    " failed with an error of the storage");
  }
  return text;
}

// The disturbances with the longest pauses; `most` of them, in their order.
std::vector<const v1::DisturbanceReport*> LongestPauses(const v1::DisturbReport& disturb, size_t most) {
  std::vector<const v1::DisturbanceReport*> all;
  for (const v1::DisturbanceReport& one : disturb.disturbances()) all.push_back(&one);
  if (all.size() <= most) return all;
  std::vector<const v1::DisturbanceReport*> longest = all;
  StableSort(longest, [](const auto* a, const auto* b) { return a->longest_pause_ns() > b->longest_pause_ns(); });
  longest.resize(most);
  std::erase_if(all, [&longest](const auto* one) { return std::ranges::find(longest, one) == longest.end(); });
  return all;
}

std::string AsBeforeText(const v1::Report& report) {
  const v1::DisturbReport& disturb = report.disturb();
  if (disturb.baseline_seconds() == 0)
    return "As before: not known, for lack of seconds with writes before the first one";
  const bool rated = report.steps_size() > 0 && report.steps(0).has_response();
  const bool any_too_short = std::ranges::any_of(disturb.disturbances(), [](const v1::DisturbanceReport& one) {
    return one.do_().has_recovery_unknown() || one.undo().has_recovery_unknown();
  });
  constexpr double kWhole = 100;
  return absl::StrFormat(
      "As before: with the first of %d seconds in a row that have %s writes or more (%g %% of the least) and an "
      "average %s of %s ms or less (%g %% of the largest) of the %d seconds before the first disturbance, which had %s "
      "writes/s; > : not within this time%s",
      kCalmSeconds,
      FormatCount(static_cast<uint64_t>(disturb.least_writes_per_second() * kLeastWritesPercent / kWhole)),
      kLeastWritesPercent, rated ? "response time" : "latency",
      FormatLatency(disturb.most_average_latency_ns() * kMostLatencyPercent / kWhole, kNsPerMs), kMostLatencyPercent,
      disturb.baseline_seconds(), FormatRate(disturb.baseline_writes_per_second()),
      any_too_short ? absl::StrCat("; ", kDash, " : the next command, or the end, came too soon for so many seconds")
                    : "");
}

void AddReadBack(const v1::Report& report, std::vector<std::string>& lines) {
  const v1::DisturbReport& disturb = report.disturb();
  const uint64_t looked_for = disturb.looked_for_writes();
  const std::string writes = absl::StrCat(
      looked_for < disturb.acknowledged_writes() ? absl::StrCat("the last ", FormatCount(looked_for), " of ") : "",
      FormatCount(disturb.acknowledged_writes()), " acknowledged writes");
  const bool all = !disturb.read_back().empty() &&
                   std::ranges::all_of(disturb.read_back(), [](const auto& host) { return host.error().empty(); });
  if (disturb.lost_blocks() == 0) {
    AddIndented(all ? absl::StrCat("Read back: ", writes, ", all there")
                    : absl::StrCat("Read back: not everything; no loss was found among ", FormatCount(looked_for),
                                   " acknowledged writes that the hosts looked for"),
                lines);
    return;
  }
  AddIndented(
      absl::StrCat("Read back: ", FormatCount(disturb.lost_blocks()),
                   disturb.lost_blocks() == 1 ? " block does" : " blocks do",
                   " not hold the last acknowledged write, of ", writes, all ? "" : "; not everything was read"),
      lines);
  size_t shown = 0;
  for (const v1::HostReadBackReport& host : disturb.read_back()) {
    for (const v1::WriterReadBack& writer : host.writers()) {
      for (const v1::ReadBackFinding& finding : writer.findings()) {
        if (shown++ == kMostFindingsShown) return;
        AddIndented(absl::StrCat(host.host(), "/", QmText(report, host.host(), writer.qm()), ": ", finding.path(),
                                 " at offset ", FormatCount(finding.offset_bytes()), ": ", finding.text()),
                    lines);
      }
    }
  }
}

// `most`: disturbances.
std::vector<std::string> TextDisturb(const v1::Report& report, size_t most = SIZE_MAX) {
  const v1::DisturbReport& disturb = report.disturb();
  TextTable table({"disturbance", "began", "took", "exit", "|", "longest pause", "as before after"});
  std::vector<std::string> below;
  const std::vector<const v1::DisturbanceReport*> shown = LongestPauses(disturb, most);
  for (const v1::DisturbanceReport* const one : shown) {
    if (!one->has_do_()) {
      table.AddRow({SanitizeForTerminal(one->name()), kDash, kDash, kDash, kDash, kDash});
      AddIndented(absl::StrCat(one->name(), ": was not started"), below);
      continue;
    }
    AddCommandRow(one->name(), one->do_(), table);
    if (one->has_undo()) AddCommandRow("  undo", one->undo(), table);
    AddIndented(PauseText(report, *one), below);
    for (const auto& [word, command] : {std::pair("do", &one->do_()), std::pair("undo", &one->undo())}) {
      if (!command->error().empty()) AddIndented(absl::StrCat(one->name(), ": ", word, ": ", command->error()), below);
    }
  }
  std::vector<std::string> lines = {"Disturbances, times in s"};
  AppendLines(table.Lines(), lines);
  const size_t left_out = static_cast<size_t>(disturb.disturbances_size()) - shown.size();
  if (left_out > 0) lines.push_back(absl::StrCat("  ... and ", left_out, " with shorter pauses (report.txt)"));
  AddReadBack(report, lines);
  AppendLines(below, lines);
  AddIndented(AsBeforeText(report), lines);
  return lines;
}

void DisturbOptions(const v1::TestPlan& plan, std::vector<ConfigurationRow>& rows) {
  const auto add = [&rows](const std::string& value, bool first) {
    rows.push_back({"Disturbances", "", value, first ? ConfigurationRow::Text::kRow : ConfigurationRow::Text::kBelow});
  };
  for (int i = 0; i < std::min(plan.disturb_size(), kMostDisturbancesNamed); ++i) {
    const v1::Disturbance& one = plan.disturb(i);
    const std::string undone = one.undo().empty()
                                   ? ""
                                   : absl::StrCat("; undone after ", FormatReadableDuration(one.hold_ns()),
                                                  " by: ", absl::StrJoin(one.undo(), " "));
    add(absl::StrCat("at ", FormatReadableDuration(one.at_ns()), ", ", one.name(), ": ", absl::StrJoin(one.do_(), " "),
                     undone),
        i == 0);
  }
  if (plan.disturb_size() > kMostDisturbancesNamed) {
    add(absl::StrCat("... and ", plan.disturb_size() - kMostDisturbancesNamed, " more"), false);
  }
}

}  // namespace

constinit const TextSection kDisturbTextSection{
    .kind = RunKind::kDisturb,
    .options = DisturbOptions,
    .parts =
        [](const v1::Report& report) {
          return std::vector<std::vector<std::string>>{TextDisturb(report), TextCriteria(report),
                                                       TextSummary(report, TextDetail::kFull)};
        },
    .brief =
        [](const v1::Report& report, size_t rows) {
          return std::vector<std::vector<std::string>>{TextDisturb(report, std::max<size_t>(rows / 2, 1)),
                                                       TextSummary(report, TextDetail::kShort)};
        },
    .steps = [](const v1::Report& report) { return static_cast<uint64_t>(report.steps_size()); },
    .answers = true};

}  // namespace plimsoll
