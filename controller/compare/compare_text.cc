#include "controller/compare/compare_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/units.h"
#include "controller/compare/compare.h"
#include "controller/compare/step_data.h"
#include "controller/compare/whole_runs.h"
#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/render/text_table.h"

namespace plimsoll {
namespace {

bool IsRate(const v1::ComparedRow& row) {
  return row.figure() == v1::FIGURE_IOPS || row.figure() == v1::FIGURE_MB_PER_SECOND;
}

bool IsClear(const v1::ComparedRow& row) {
  return row.finding() == v1::FINDING_BETTER || row.finding() == v1::FINDING_WORSE;
}

std::string Percent(double percent) {
  const bool whole = std::abs(percent - std::round(percent)) < 1e-9;
  return FormatFixed(percent, percent < 10 && !whole ? 1 : 0);
}

// "12 to 15 %"; both ends lie on the same side of 1 where a difference is clear, mostly.
std::string IntervalInWords(const v1::ComparedRow& row) {
  if (!row.has_low() || !row.has_high() || row.ratio() >= 10) return "";
  const auto change = [](double ratio) { return 100 * (ratio - 1); };
  double near = change(row.low());
  double far = change(row.high());
  if (near < 0 && far <= 0) {
    std::swap(near, far);
    near = -near;
    far = -far;
  }
  if (!std::isfinite(far)) return absl::StrCat(" (at least ", Percent(near), " %)");
  return absl::StrCat(" (", Percent(near), " to ", Percent(far), " %)");
}

// "mean by 12 % (10 to 14 %), p99 by 30 % (20 to 41 %)".
std::string Latencies(const std::vector<const v1::ComparedRow*>& rows) {
  std::vector<std::string> parts;
  parts.reserve(rows.size());
  for (const v1::ComparedRow* row : rows) {
    parts.push_back(
        absl::StrCat(FigureName(row->figure()), " by ", ChangeInWords(row->ratio()), IntervalInWords(*row)));
  }
  return absl::StrJoin(parts, ", ");
}

// "B and C".
std::string Listed(std::vector<std::string> names) {
  if (names.size() < 2) return absl::StrJoin(names, "");
  const std::string last = names.back();
  names.pop_back();
  return absl::StrCat(absl::StrJoin(names, ", "), " and ", last);
}

std::string Names(const std::vector<const v1::ComparedRow*>& rows) {
  std::vector<std::string> names;
  names.reserve(rows.size());
  for (const v1::ComparedRow* row : rows) names.push_back(FigureName(row->figure()));
  return Listed(std::move(names));
}

// "14 s of A are worth only 7 independent seconds (autocorrelation 0.35): run at least 31 s per side."
std::string NeededInWords(uint32_t needed_seconds, const NamedFigures& first, const NamedFigures& second) {
  // The side that needs the longer run, and of two alike the one that is worth less.
  const auto rank = [](const v1::RunFigures& run) {
    const bool dependent = run.autocorrelation() > kPromisedAutocorrelation;
    return std::make_pair(dependent ? -run.autocorrelation() : 0.0, run.effective_seconds());
  };
  const bool first_is_worse = rank(first.figures.runs(0)) <= rank(second.figures.runs(0));
  const NamedFigures& worse = first_is_worse ? first : second;
  const v1::RunFigures& run = worse.figures.runs(0);
  const uint32_t shorter = std::min(first.figures.runs(0).seconds(), second.figures.runs(0).seconds());
  const std::string run_longer = absl::StrCat("run at least ", FormatCount(needed_seconds), " s per side.");
  if (run.effective_seconds() < 0.5) return absl::StrCat(worse.label, " is too short: ", run_longer);
  if (shorter >= needed_seconds) {
    return absl::StrCat("The seconds of ", worse.label, " are correlated (autocorrelation ",
                        FormatFixed(run.autocorrelation(), 2), "): ", FormatCount(needed_seconds),
                        " s per side are needed, there are ", FormatCount(shorter), ".");
  }
  return absl::StrCat(run.seconds(), " s of ", worse.label, " are worth only ", FormatFixed(run.effective_seconds(), 0),
                      " independent seconds (autocorrelation ", FormatFixed(run.autocorrelation(), 2),
                      "): ", run_longer);
}

}  // namespace

std::string FigureName(v1::Figure figure) {
  switch (figure) {
    case v1::FIGURE_IOPS:
      return "IO/s";
    case v1::FIGURE_MB_PER_SECOND:
      return "MB/s";
    case v1::FIGURE_AVG:
      return "mean";
    case v1::FIGURE_P50:
      return "p50";
    case v1::FIGURE_P99:
      return "p99";
    case v1::FIGURE_P99_9:
      return "p99.9";
    case v1::FIGURE_MAX:
      return "max";
    default:
      return "";
  }
}

std::string ChangeInWords(double ratio) {
  return ratio >= 10 ? absl::StrCat(FormatFixed(ratio, ratio < 100 ? 1 : 0), " times")
                     : absl::StrCat(Percent(100 * std::abs(ratio - 1)), " %");
}

std::string PercentInWords(double percent) {
  return Percent(percent);
}

std::string GateInWords(const v1::Comparison& comparison) {
  std::vector<std::string> names;
  for (const int figure : comparison.options().gate()) names.push_back(FigureName(static_cast<v1::Figure>(figure)));
  return absl::StrCat(Listed(std::move(names)), " of every block size are slower by at most ",
                      Percent(comparison.options().fail_if_slower_percent()), " % (one-sided 95 % bounds).");
}

std::string Summary(const v1::PairComparison& pair, const NamedFigures& first, const NamedFigures& second,
                    const CompareSettings& settings) {
  std::vector<const v1::ComparedRow*> longer;
  std::vector<const v1::ComparedRow*> shorter;
  std::vector<const v1::ComparedRow*> small;
  std::vector<const v1::ComparedRow*> not_clear;
  std::map<std::string, std::vector<const v1::ComparedRow*>> untested;
  const v1::ComparedRow* rate = nullptr;
  for (const v1::ComparedRow& row : pair.rows()) {
    if (row.figure() == v1::FIGURE_MAX || row.figure() == v1::FIGURE_MB_PER_SECOND) continue;
    if (row.finding() == v1::FINDING_NOT_TESTED) untested[row.reason()].push_back(&row);
    if (row.finding() == v1::FINDING_SMALL) small.push_back(&row);
    if (row.finding() == v1::FINDING_NOT_CLEAR) not_clear.push_back(&row);
    if (!IsClear(row)) continue;
    if (IsRate(row)) {
      rate = &row;
    } else {
      (row.ratio() > 1 ? longer : shorter).push_back(&row);
    }
  }
  std::vector<std::string> sentences;
  if (rate != nullptr) {
    sentences.push_back(absl::StrCat(pair.side(), " completes ", ChangeInWords(rate->ratio()),
                                     rate->ratio() >= 10 ? " as many"
                                     : rate->ratio() > 1 ? " more"
                                                         : " fewer",
                                     " writes per second ", rate->ratio() >= 10 ? "as " : "than ", first.label,
                                     IntervalInWords(*rate), "."));
  }
  if (!longer.empty()) {
    sentences.push_back(absl::StrCat("Writes are slower on ", pair.side(), ": ", Latencies(longer), "."));
  }
  if (!shorter.empty()) {
    sentences.push_back(absl::StrCat("Writes are faster on ", pair.side(), ": ", Latencies(shorter), "."));
  }
  const bool found = !sentences.empty();
  if (!not_clear.empty()) {
    sentences.push_back(absl::StrCat("No significant difference ",
                                     found ? "" : absl::StrCat("between ", pair.side(), " and ", first.label, " "),
                                     "in ", Names(not_clear), "."));
  }
  if (!small.empty()) {
    sentences.push_back(absl::StrCat("Significant, but within the minimum effect of ",
                                     Percent(100 * settings.min_effect), " %: ", Names(small), "."));
  }
  for (const auto& [reason, rows] : untested) {
    sentences.push_back(absl::StrCat("Not tested: ", Names(rows), " (", reason, ")."));
  }
  if (!found && pair.has_detectable_percent()) {
    sentences.push_back(
        pair.detectable_percent() < 100
            ? absl::StrCat("Too noisy to detect less than about ", Percent(pair.detectable_percent()), " % in IO/s.")
            : "Too noisy to detect even half or double the IO/s.");
  }
  if (pair.needed_seconds() > 0) sentences.push_back(NeededInWords(pair.needed_seconds(), first, second));
  return absl::StrJoin(sentences, " ");
}

std::vector<std::string> MethodInWords(const v1::Comparison& comparison) {
  std::vector<std::string> method;
  const v1::CompareOptions& options = comparison.options();
  bool seconds = false;
  std::set<RunsMethod> by_runs;
  for (int i = 1; i < comparison.sides_size(); ++i) {
    const auto first = static_cast<size_t>(comparison.sides(0).runs_size());
    const auto second = static_cast<size_t>(comparison.sides(i).runs_size());
    if (first + second == 2) {
      seconds = true;
    } else {
      by_runs.insert(MethodForRuns(first, second));
    }
  }
  if (seconds) {
    method.push_back(absl::StrCat("Bootstrap: whole seconds were resampled ", FormatCount(options.replicates()),
                                  " times in blocks sized by their autocorrelation; differences are studentised."));
  }
  for (const RunsMethod runs : by_runs) {
    method.push_back(
        runs == RunsMethod::kBootstrap
            ? absl::StrCat("Bootstrap: whole runs were resampled ", FormatCount(options.replicates()),
                           " times; differences are studentised.")
        : runs == RunsMethod::kWelch
            ? "Whole runs were compared by Welch's t-test on logarithms, since there are too few to resample."
            : "Whole runs were compared by Student's t-test on logarithms, since there are too few to resample; all "
              "sides "
              "are assumed to vary alike from run to run.");
  }
  method.push_back(absl::StrCat("A difference is significant where chance alone would produce one among all ",
                                comparison.tests(), " tests in fewer than ", Percent(options.level_percent()),
                                " of 100 comparisons (Holm). It counts where it is larger than the minimum effect of ",
                                Percent(options.min_effect_percent()),
                                " %. Intervals are 95 % intervals, for each row by itself."));
  return method;
}

std::vector<std::string> LimitsInWords(const std::vector<SideInput>& sides, const v1::Comparison& comparison) {
  std::vector<std::string> limits;
  std::vector<std::string> single;
  std::vector<std::string> several;
  bool few = false;
  for (size_t i = 1; i < sides.size(); ++i) {
    const size_t runs = sides[i].runs.size() + sides[0].runs.size();
    (runs == 2 ? single : several).push_back(SideLabel(i));
    few = few || (runs > 2 && std::min(sides[i].runs.size(), sides[0].runs.size()) < 3);
  }
  const auto about = [&](const std::vector<std::string>& labels, const std::string& sentence) {
    return labels.size() + 1 == sides.size() ? sentence : absl::StrCat(Listed(labels), " against A: ", sentence);
  };
  if (!single.empty()) {
    limits.push_back(about(single,
                           "One run per side: repeatability was not tested. Another run may differ by more than the "
                           "intervals. Several runs per side (A1,A2,A3 B1,B2,B3) test that."));
  }
  if (!several.empty()) {
    std::vector<std::string> counts = {absl::StrCat(sides[0].runs.size(), " of A")};
    for (const v1::ComparedSide& side : comparison.sides()) {
      const bool counted = std::find(several.begin(), several.end(), side.label()) != several.end();
      if (counted) counts.push_back(absl::StrCat(side.runs_size(), " of ", side.label()));
    }
    limits.push_back(
        about(several, absl::StrCat("Whole runs were compared, ", absl::StrJoin(counts, ", "),
                                    ". The intervals cover what varies from run to run, not what is the same "
                                    "in all runs of a side, such as the time of day.")));
  }
  if (few) {
    limits.push_back(
        "With one or two runs per side only large differences are significant; with three or more the intervals become "
        "useful.");
  }
  std::set<uint64_t> common;
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes())
    common.insert(block_size.block_size_bytes());
  std::set<uint64_t> left_out;
  for (const SideInput& side : sides) {
    for (const RunInput& run : side.runs) {
      for (const uint64_t size : BlockSizes(run.report)) {
        if (common.count(size) == 0) left_out.insert(size);
      }
    }
  }
  if (!left_out.empty()) {
    std::vector<std::string> sizes;
    sizes.reserve(left_out.size());
    for (const uint64_t size : left_out) sizes.push_back(FormatSizeForPeople(size));
    limits.push_back(absl::StrCat("Not compared, since not every run measured it: ", absl::StrJoin(sizes, ", "), "."));
  }
  const double finest = 1.0 / (comparison.options().replicates() + 1.0);
  if (!single.empty() && finest * comparison.tests() >= kLevel) {
    limits.push_back(absl::StrCat(
        "With so many tests (", FormatCount(comparison.tests()), ") ", FormatCount(comparison.options().replicates()),
        " resamples cannot make any difference significant: compare fewer sides or block sizes at a time."));
  }
  const auto paced = [](const v1::HostReport& host) { return host.workload().rate_per_second() > 0; };
  const auto& hosts = sides.front().runs.front().report.hosts();
  if (std::any_of(hosts.begin(), hosts.end(), paced)) {
    limits.push_back(
        "Open loop (fixed rate): latencies are service times of the write call, without the time that a write waited "
        "for "
        "its start; the reports have response times.");
  }
  return limits;
}

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
    lines.emplace_back("No configuration differences (storage, hosts, kernels, versions, options).");
    return;
  }
  lines.emplace_back("Configuration differences");
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
      return "better";
    case v1::FINDING_WORSE:
      return "worse";
    case v1::FINDING_SMALL:
      return "within minimum";
    case v1::FINDING_NOT_CLEAR:
      return "not significant";
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
      absl::StrAppend(&part, " worth ", FormatFixed(run.effective_seconds(), 0),
                      " independent seconds (autocorrelation ", FormatFixed(run.autocorrelation(), 2), ")");
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

namespace {

struct Line {
  const v1::Comparison& comparison;
  const v1::BlockSizeComparison& block_size;
  const v1::PairComparison& pair;
  const v1::ComparedRow& row;
};

}  // namespace

std::string RenderCompareCsv(const v1::Comparison& comparison) {
  CsvTable<Line> table;
  table.Column("block_size_bytes",
               [](const Line& line) { return CsvCell(uint64_t{line.block_size.block_size_bytes()}); });
  table.Column("first", [](const Line& line) { return CsvCell(line.comparison.sides(0).label()); });
  table.Column("second", [](const Line& line) { return CsvCell(line.pair.side()); });
  table.Column("figure",
               [](const Line& line) { return CsvCell(EnumName(*v1::Figure_descriptor(), line.row.figure())); });
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
    for (const v1::PairComparison& pair : block_size.pairs()) {
      for (const v1::ComparedRow& row : pair.rows()) text += table.Line({comparison, block_size, pair, row});
    }
  }
  return text;
}

}  // namespace plimsoll
