#include "controller/compare/compare_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/units.h"
#include "controller/compare/words.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/render/text_numbers.h"
#include "controller/render/text_table.h"

namespace plimsoll {
namespace {

// Medians below this are shown in microseconds, as in the text report.
constexpr double kMicrosecondsBelowNs = 100'000;

using Lines = std::vector<std::string>;

void Append(const Lines& more, Lines& lines) {
  lines.insert(lines.end(), more.begin(), more.end());
}

// Text of any length behind `indent` blanks, its first line behind `heading`.
void AddWrapped(const std::string& heading, size_t indent, const std::string& text, Lines& lines) {
  std::string start = PadRight(heading, indent);
  // A number stays with its percent sign.
  const std::string kept = absl::StrReplaceAll(SanitizeForTerminal(text), {{" %", "\u00a0%"}});
  for (const std::string& line : Wrap(kept, kTextWidth - indent)) {
    lines.push_back(start + absl::StrReplaceAll(line, {{"\u00a0%", " %"}}));
    start = std::string(indent, ' ');
  }
}

std::string Counted(uint64_t count, const std::string& noun) {
  return absl::StrCat(FormatCount(count), " ", noun, count == 1 ? "" : "s");
}

void AddSides(const v1::Comparison& comparison, Lines& lines) {
  for (const v1::ComparedSide& side : comparison.sides()) {
    for (int i = 0; i < side.runs_size(); ++i) {
      const v1::ComparedRun& run = side.runs(i);
      Lines parts = {run.source(), FormatDateTime(run.begin()),
                     absl::StrCat(Counted(run.hosts(), "host"), ", ", Counted(run.queue_managers(), "QM"))};
      if (!run.storages().empty()) parts.push_back(absl::StrJoin(run.storages(), ", "));
      if (!run.name().empty()) parts.push_back(run.name());
      parts.push_back(OutcomeText(run.outcome()));
      const std::string label = side.runs_size() == 1 ? side.label() : absl::StrCat(side.label(), i + 1);
      AddWrapped("  " + label, 6, absl::StrJoin(parts, "; "), lines);
    }
  }
}

void AddDifferences(const v1::Comparison& comparison, Lines& lines) {
  if (comparison.differences().empty()) {
    lines.emplace_back("The sides are alike in storage, hosts, kernels, versions and options.");
    return;
  }
  lines.emplace_back("Differences besides the figures");
  for (const v1::ComparedDifference& difference : comparison.differences()) {
    lines.push_back("  " + Shorten(SanitizeForTerminal(difference.what()), kTextWidth - 2));
    for (int i = 0; i < difference.values_size(); ++i) {
      AddWrapped("    " + comparison.sides(i).label(), 8, difference.values(i), lines);
    }
  }
}

std::string RatioCell(double ratio) {
  return FormatFixed(ratio, ratio < 10 ? 3 : ratio < 100 ? 2 : ratio < 1'000 ? 1 : 0);
}

std::string IntervalCell(const v1::ComparedRow& row) {
  if (!row.has_low() || !row.has_high()) return kDash;
  if (!(row.low() > 0) && !std::isfinite(row.high())) return "any";
  if (!(row.low() > 0)) return absl::StrCat("up to ", RatioCell(row.high()));
  if (!std::isfinite(row.high())) return absl::StrCat("from ", RatioCell(row.low()));
  return absl::StrCat(RatioCell(row.low()), " to ", RatioCell(row.high()));
}

std::string PCell(const v1::ComparedRow& row) {
  if (!row.has_adjusted_p()) return kDash;
  return row.adjusted_p() < 0.001 ? "< 0.001" : FormatFixed(row.adjusted_p(), 3);
}

std::string FindingCell(v1::Finding finding) {
  switch (finding) {
    case v1::FINDING_BETTER:
      return "clear: better";
    case v1::FINDING_WORSE:
      return "clear: worse";
    case v1::FINDING_SMALL:
      return "too small";
    case v1::FINDING_NOT_CLEAR:
      return "not clear";
    default:
      return kDash;
  }
}

bool IsRate(v1::Figure figure) {
  return figure == v1::FIGURE_IOPS || figure == v1::FIGURE_MB_PER_SECOND;
}

std::string FigureCell(const v1::ComparedRow& row, double value, int64_t unit_ns) {
  if (row.figure() == v1::FIGURE_IOPS) return FormatRate(value);
  return IsRate(row.figure()) ? FormatFixed(value, 2) : FormatLatency(value, unit_ns);
}

// "A 60 whole seconds worth 32 independent ones (autocorrelation 0.31)".
void AddSeconds(const v1::Comparison& comparison, const v1::BlockSizeComparison& block_size, int side, Lines& lines) {
  std::vector<std::string> parts;
  for (const int i : {0, side}) {
    if (block_size.sides(i).runs_size() != 1) return;
    const v1::RunFigures& run = block_size.sides(i).runs(0);
    std::string part = absl::StrCat(comparison.sides(i).label(), " ", Counted(run.seconds(), "whole second"));
    if (run.block_length() > 0) {
      absl::StrAppend(&part, " worth ", FormatFixed(run.effective_seconds(), 0), " independent ones (autocorrelation ",
                      FormatFixed(run.autocorrelation(), 2), ")");
    }
    if (run.left_out_seconds() > 0) absl::StrAppend(&part, ", ", run.left_out_seconds(), " known only in sums");
    parts.push_back(part);
  }
  AddWrapped("  Seconds", 12, absl::StrJoin(parts, "; "), lines);
}

void AddPair(const v1::Comparison& comparison, const v1::BlockSizeComparison& block_size, int index, Lines& lines) {
  const v1::PairComparison& pair = block_size.pairs(index);
  const std::string& first = comparison.sides(0).label();
  int64_t unit_ns = kNsPerMs;
  for (const v1::ComparedRow& row : pair.rows()) {
    const bool typical = row.figure() == v1::FIGURE_AVG || row.figure() == v1::FIGURE_P50;
    if (typical && std::min(row.first(), row.second()) < kMicrosecondsBelowNs) unit_ns = kNsPerUs;
  }
  TextTable table(
      {"", first, pair.side(), absl::StrCat(pair.side(), " / ", first), "95 % interval", "adjusted p", "finding"});
  for (const v1::ComparedRow& row : pair.rows()) {
    table.AddRow({FigureName(row.figure()), FigureCell(row, row.first(), unit_ns),
                  FigureCell(row, row.second(), unit_ns), RatioCell(row.ratio()), IntervalCell(row), PCell(row),
                  FindingCell(row.finding())});
  }
  const std::string title =
      absl::StrCat(FormatSizeForPeople(block_size.block_size_bytes()), "   ", pair.side(), " against ", first);
  const std::string right = unit_ns == kNsPerMs ? "latency in ms" : "latency in us";
  const size_t width = std::max(table.Width(), DisplayWidth(title) + 2 + right.size());
  lines.push_back(title + PadLeft(right, width - DisplayWidth(title)));
  Append(table.Lines(), lines);
  AddSeconds(comparison, block_size, index + 1, lines);
  AddWrapped("  In words", 12, pair.summary(), lines);
}

void AddSentences(const std::string& heading, const google::protobuf::RepeatedPtrField<std::string>& sentences,
                  Lines& lines) {
  for (int i = 0; i < sentences.size(); ++i) AddWrapped(i == 0 ? heading : "", 10, sentences[i], lines);
}

}  // namespace

std::string RenderCompareText(const v1::Comparison& comparison) {
  Lines lines = {absl::StrCat("Plimsoll ", SanitizeForTerminal(comparison.version()), "   comparison")};
  AddSides(comparison, lines);
  if (!comparison.warnings().empty()) lines.emplace_back();
  for (const std::string& warning : comparison.warnings()) AddWrapped("WARNING", 10, warning, lines);
  lines.emplace_back();
  AddDifferences(comparison, lines);
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
    for (int i = 0; i < block_size.pairs_size(); ++i) {
      lines.emplace_back();
      AddPair(comparison, block_size, i, lines);
    }
  }
  lines.emplace_back();
  AddSentences("Method", comparison.method(), lines);
  AddSentences("Limits", comparison.limits(), lines);
  AddSentences("SLOWER", comparison.slower(), lines);
  AddSentences("UNDECIDED", comparison.undecided(), lines);
  if (comparison.gate() == v1::OUTCOME_PASS) AddWrapped("PASS", 10, GateInWords(comparison), lines);
  return absl::StrJoin(lines, "\n") + "\n";
}

}  // namespace plimsoll
