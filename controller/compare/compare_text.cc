// A comparison as text and as CSV.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/compare/comparable.h"
#include "controller/compare/compare_render.h"
#include "controller/compare/compare_words.h"
#include "controller/compare/observation_words.h"
#include "controller/compare/step_data.h"
#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"

namespace plimsoll {
namespace {

// Medians below this are shown in microseconds, as in the text report.
constexpr double kMicrosecondsBelowNs = 100'000;

using Lines = std::vector<std::string>;

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

void AddSides(const v1::Comparison& comparison, Lines& lines) {
  for (const v1::ComparedSide& side : comparison.sides()) {
    for (int i = 0; i < side.runs_size(); ++i) {
      const v1::ComparedRun& run = side.runs(i);
      Lines parts = {run.source(), FormatDateTime(run.begin()),
                     absl::StrCat(Counted(run.hosts(), "host"), ", ", Counted(run.queue_managers(), "QM"))};
      if (!run.storages().empty()) parts.push_back(absl::StrJoin(run.storages(), ", "));
      if (!run.name().empty()) parts.push_back(run.name());
      parts.push_back(OutcomeText(run.outcome()));
      const std::string label =
          side.runs_size() == 1 ? side.label() : RunLabel(side.label(), static_cast<size_t>(i) + 1);
      AddWrapped("  " + SanitizeForTerminal(label), std::max<size_t>(6, DisplayWidth(label) + 4),
                 absl::StrJoin(parts, "; "), lines);
    }
  }
}

// The sides of rounds: their runs differ in nothing but the round.
void AddPairedSides(const v1::Comparison& comparison, Lines& lines) {
  size_t indent = 6;
  for (const v1::ComparedSide& side : comparison.sides()) indent = std::max(indent, DisplayWidth(side.label()) + 4);
  for (const v1::ComparedSide& side : comparison.sides()) {
    if (side.runs().empty()) continue;
    const v1::ComparedRun& first = side.runs(0);
    const v1::ComparedRun& last = side.runs(side.runs_size() - 1);
    Lines parts = {side.runs_size() == 1 ? first.source() : absl::StrCat(first.source(), " to ", last.source()),
                   FormatDateTime(first.begin()),
                   absl::StrCat(Counted(first.hosts(), "host"), ", ", Counted(first.queue_managers(), "QM"))};
    std::set<std::string> storages;
    std::map<std::string, uint64_t> outcomes;
    for (const v1::ComparedRun& run : side.runs()) {
      storages.insert(run.storages().begin(), run.storages().end());
      ++outcomes[OutcomeText(run.outcome())];
    }
    if (!storages.empty()) parts.push_back(absl::StrJoin(storages, ", "));
    if (!first.name().empty()) parts.push_back(first.name());
    for (const auto& [outcome, count] : outcomes) parts.push_back(absl::StrCat(count, " ", outcome));
    AddWrapped("  " + SanitizeForTerminal(side.label()), indent, absl::StrJoin(parts, "; "), lines);
  }
  const v1::PairedDesign& design = comparison.paired();
  std::string rounds = absl::StrCat(
      Counted(design.complete_rounds(), "complete round"),
      design.planned_rounds() > design.complete_rounds() ? absl::StrCat(" of at most ", design.planned_rounds()) : "");
  if (!design.order().empty()) {
    absl::StrAppend(&rounds, ", in the order ", absl::StrJoin(design.order(), " "),
                    design.has_order_seed() ? absl::StrCat(" (seed ", design.order_seed(), ")") : "");
  }
  absl::StrAppend(&rounds, ". ", design.ended());
  AddWrapped("Rounds", 10, rounds, lines);
}

void AddDifferences(const v1::Comparison& comparison, Lines& lines) {
  if (comparison.differences().empty()) {
    lines.emplace_back("No configuration differences (storage, hosts, kernels, versions, options).");
    return;
  }
  lines.emplace_back("Configuration differences");
  for (const v1::ComparedDifference& difference : comparison.differences()) {
    lines.push_back("  " + Shorten(SanitizeForTerminal(difference.what()), kTextWidth - 2));
    for (int i = 0; i < difference.values_size(); ++i) {
      const std::string label = SanitizeForTerminal(comparison.sides(i).label());
      AddWrapped("    " + label, std::max<size_t>(8, DisplayWidth(label) + 6), difference.values(i), lines);
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

std::string FigureCell(const v1::ComparedRow& row, double value, int64_t unit_ns) {
  for (const ComparedFigure& one : ComparedFigures()) {
    if (one.figure != row.figure()) continue;
    if (one.format == FigureFormat::kRate) return FormatRate(value);
    if (one.format == FigureFormat::kThroughput) return FormatFixed(value, 2);
  }
  return FormatLatency(value, unit_ns);
}

// What is compared at one block size: the main operation, a part of the writes, or the reads beside them.
struct Quantity {
  uint64_t block_size_bytes;
  // Name of the part or the read; empty for the main operation.
  std::string operation;
  // What its latencies are called.
  std::string times;
  const google::protobuf::RepeatedPtrField<v1::SideFigures>& sides;
  const google::protobuf::RepeatedPtrField<v1::PairComparison>& pairs;
};

// Returns the main operation first, then the others.
std::vector<Quantity> QuantitiesOf(const v1::Comparison& comparison, const v1::BlockSizeComparison& block_size) {
  constexpr size_t kLongestPart = 16;
  const uint64_t size = block_size.block_size_bytes();
  const bool reads = std::ranges::any_of(block_size.operations(),
                                         [](const v1::OperationComparison& one) { return one.name() == kReadName; });
  const std::string times =
      absl::StrCat(reads ? "write " : "", comparison.response_times() ? "response time" : "latency");
  std::vector<Quantity> quantities = {{size, "", times, block_size.sides(), block_size.pairs()}};
  for (const v1::OperationComparison& one : block_size.operations()) {
    const std::string of_one =
        one.name() == kReadName ? "read latency" : Shorten(SanitizeForTerminal(one.name()), kLongestPart);
    quantities.push_back({size, one.name(), of_one, one.sides(), one.pairs()});
  }
  return quantities;
}

// "A 60 whole seconds worth 32 independent ones (autocorrelation 0.31)".
void AddSeconds(const v1::Comparison& comparison, const Quantity& quantity, int side, Lines& lines) {
  std::vector<std::string> parts;
  for (const int i : {0, side}) {
    if (quantity.sides[i].runs_size() != 1) return;
    const v1::RunFigures& run = quantity.sides[i].runs(0);
    const std::string unit = ObservationName(run);
    std::string part = absl::StrCat(comparison.sides(i).label(), " ", Counted(run.seconds(), "whole " + unit));
    if (run.block_length() > 0) {
      absl::StrAppend(&part, " worth ", FormatFixed(run.effective_seconds(), 0), " independent ", unit,
                      "s (autocorrelation ", FormatFixed(run.autocorrelation(), 2), ")");
    }
    if (run.left_out_seconds() > 0) absl::StrAppend(&part, ", ", run.left_out_seconds(), " known only in sums");
    parts.push_back(part);
  }
  const bool minutes = ObservationName(quantity.sides[0].runs(0)) == NameOf(TimeUnit::kMinute);
  AddWrapped(minutes ? "  Minutes" : "  Seconds", 12, absl::StrJoin(parts, "; "), lines);
}

// "IO/s of nfs / san by round: 0.912 0.899 ...".
void AddRounds(const v1::PairComparison& pair, const std::string& first, Lines& lines) {
  for (const v1::ComparedRow& row : pair.rows()) {
    if (row.figure() != v1::FIGURE_IOPS || !row.has_rounds()) continue;
    std::vector<std::string> ratios;
    for (const double ratio : row.rounds().ratio()) ratios.push_back(RatioCell(ratio));
    AddWrapped("  Rounds", 12,
               absl::StrCat("IO/s of ", pair.side(), " / ", first, " by round: ", absl::StrJoin(ratios, " ")), lines);
  }
}

void AddPair(const v1::Comparison& comparison, const Quantity& quantity, int index, Lines& lines) {
  const v1::PairComparison& pair = quantity.pairs[index];
  const std::string& first = comparison.sides(0).label();
  int64_t unit_ns = kNsPerMs;
  for (const v1::ComparedRow& row : pair.rows()) {
    const bool typical = row.figure() == v1::FIGURE_AVG || row.figure() == v1::FIGURE_P50;
    if (typical && std::min(row.first(), row.second()) < kMicrosecondsBelowNs) unit_ns = kNsPerUs;
  }
  // Letters fit; a name may have to be cut, but stands whole in the title.
  constexpr size_t kLongestHeading = 8;
  const bool letters = first.size() <= 2 && pair.side().size() <= 2;
  TextTable table({"", Shorten(first, kLongestHeading), Shorten(pair.side(), kLongestHeading),
                   letters ? absl::StrCat(pair.side(), " / ", first) : "ratio", "95 % interval", "adjusted p",
                   "finding"});
  for (const v1::ComparedRow& row : pair.rows()) {
    table.AddRow({FigureName(row.figure()), FigureCell(row, row.first(), unit_ns),
                  FigureCell(row, row.second(), unit_ns), RatioCell(row.ratio()), IntervalCell(row), PCell(row),
                  FindingName(row.finding())});
  }
  const std::string title =
      absl::StrCat(FormatBlockSize(quantity.block_size_bytes), "   ", pair.side(), " against ", first);
  const std::string right = absl::StrCat(quantity.times, unit_ns == kNsPerMs ? " in ms" : " in us");
  const size_t width = std::max(table.Width(), DisplayWidth(title) + 2 + DisplayWidth(right));
  lines.push_back(title + PadLeft(right, width - DisplayWidth(title)));
  AppendLines(table.Lines(), lines);
  if (comparison.has_paired()) {
    AddRounds(pair, first, lines);
  } else {
    AddSeconds(comparison, quantity, index + 1, lines);
  }
  AddWrapped("  In words", 12, pair.summary(), lines);
}

// Storage and control by host, at one block size, and what they show together.
void AddControl(const v1::Comparison& comparison, uint64_t block_size_bytes, Lines& lines) {
  TextTable table({"host", "side", "mean", "p99", "max"}, /*left=*/2, {0, 1});
  const auto& hosts = comparison.control().hosts();
  const bool short_times = std::ranges::any_of(hosts, [&](const v1::ControlledHost& host) {
    return host.block_size_bytes() == block_size_bytes &&
           std::min(host.first_avg_ns(), host.second_avg_ns()) < kMicrosecondsBelowNs;
  });
  const int64_t unit_ns = short_times ? kNsPerUs : kNsPerMs;
  const auto cell = [unit_ns](double latency_ns) { return FormatLatency(latency_ns, unit_ns); };
  for (const v1::ControlledHost& host : hosts) {
    if (host.block_size_bytes() != block_size_bytes) continue;
    table.AddRow({host.host(), comparison.sides(0).label(), cell(host.first_avg_ns()),
                  host.has_first_p99_ns() ? cell(host.first_p99_ns()) : kDash,
                  cell(static_cast<double>(host.first_max_ns()))});
    table.AddRow({host.host(), comparison.sides(1).label(), cell(host.second_avg_ns()),
                  host.has_second_p99_ns() ? cell(host.second_p99_ns()) : kDash,
                  cell(static_cast<double>(host.second_max_ns()))});
  }
  const std::string title = absl::StrCat(FormatBlockSize(block_size_bytes), "   by host");
  const std::string right = absl::StrCat(comparison.response_times() ? "response time" : "latency",
                                         unit_ns == kNsPerMs ? " in ms" : " in us");
  const size_t width = std::max(table.Width(), DisplayWidth(title) + 2 + DisplayWidth(right));
  lines.emplace_back();
  lines.push_back(title + PadLeft(right, width - DisplayWidth(title)));
  AppendLines(table.Lines(), lines);
}

void AddSentences(const std::string& heading, const google::protobuf::RepeatedPtrField<std::string>& sentences,
                  Lines& lines) {
  for (int i = 0; i < sentences.size(); ++i) AddWrapped(i == 0 ? heading : "", 10, sentences[i], lines);
}

}  // namespace

std::string RenderCompareText(const v1::Comparison& comparison) {
  Lines lines;
  AddWrapped("Answer", 10, comparison.headline(), lines);
  if (!comparison.gate_summary().empty()) AddWrapped("Gate", 10, comparison.gate_summary(), lines);
  AddSentences("Control", comparison.control().summary(), lines);
  lines.emplace_back();
  lines.push_back(absl::StrCat("Plimsoll ", SanitizeForTerminal(comparison.version()), "   comparison"));
  if (comparison.has_paired()) {
    AddPairedSides(comparison, lines);
  } else {
    AddSides(comparison, lines);
  }
  if (!comparison.warnings().empty()) lines.emplace_back();
  for (const std::string& warning : comparison.warnings()) AddWrapped("WARNING", 10, warning, lines);
  lines.emplace_back();
  AddDifferences(comparison, lines);
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
    for (const Quantity& quantity : QuantitiesOf(comparison, block_size)) {
      for (int i = 0; i < quantity.pairs.size(); ++i) {
        lines.emplace_back();
        AddPair(comparison, quantity, i, lines);
      }
    }
    if (comparison.has_control()) AddControl(comparison, block_size.block_size_bytes(), lines);
  }
  lines.emplace_back();
  AddSentences("Method", comparison.method(), lines);
  AddSentences("Limits", comparison.limits(), lines);
  AddSentences("SLOWER", comparison.slower(), lines);
  AddSentences("UNDECIDED", comparison.undecided(), lines);
  return absl::StrJoin(lines, "\n") + "\n";
}

namespace {

struct Line {
  const v1::Comparison& comparison;
  const Quantity& quantity;
  const v1::PairComparison& pair;
  const v1::ComparedRow& row;
};

}  // namespace

std::string RenderCompareCsv(const v1::Comparison& comparison) {
  CsvTable<Line> table;
  table.Column("block_size_bytes", [](const Line& line) { return CsvCell(line.quantity.block_size_bytes); });
  table.Column("first", [](const Line& line) { return CsvCell(line.comparison.sides(0).label()); });
  table.Column("second", [](const Line& line) { return CsvCell(line.pair.side()); });
  table.Column("figure", [](const Line& line) {
    const std::string& operation = line.quantity.operation;
    return CsvCell(
        absl::StrCat(operation, operation.empty() ? "" : "_", EnumName(*v1::Figure_descriptor(), line.row.figure())));
  });
  table.Column("first_value", [](const Line& line) { return CsvCell(line.row.first()); });
  table.Column("second_value", [](const Line& line) { return CsvCell(line.row.second()); });
  table.Column("ratio", [](const Line& line) { return CsvCell(line.row.ratio()); });
  table.Column("low", [](const Line& line) { return line.row.has_low() ? CsvCell(line.row.low()) : ""; });
  table.Column("high", [](const Line& line) { return line.row.has_high() ? CsvCell(line.row.high()) : ""; });
  table.Column("p", [](const Line& line) { return line.row.has_p() ? CsvCell(line.row.p()) : ""; });
  table.Column("adjusted_p",
               [](const Line& line) { return line.row.has_adjusted_p() ? CsvCell(line.row.adjusted_p()) : ""; });
  table.Column("finding",
               [](const Line& line) { return CsvCell(EnumName(*v1::Finding_descriptor(), line.row.finding())); });
  table.Column("gate", [](const Line& line) {
    return line.row.gate() == v1::OUTCOME_UNSPECIFIED ? std::string()
                                                      : CsvCell(EnumName(*v1::Outcome_descriptor(), line.row.gate()));
  });
  table.Column("slower_bound_percent", [](const Line& line) {
    return line.row.has_slower_bound_percent() ? CsvCell(line.row.slower_bound_percent()) : "";
  });
  table.Column("slower_p",
               [](const Line& line) { return line.row.has_slower_p() ? CsvCell(line.row.slower_p()) : ""; });
  table.Column("reason", [](const Line& line) { return CsvCell(line.row.reason()); });
  std::string text = table.Heading();
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
    for (const Quantity& quantity : QuantitiesOf(comparison, block_size)) {
      for (const v1::PairComparison& pair : quantity.pairs) {
        for (const v1::ComparedRow& row : pair.rows()) text += table.Line({comparison, quantity, pair, row});
      }
    }
  }
  return text;
}

}  // namespace plimsoll
