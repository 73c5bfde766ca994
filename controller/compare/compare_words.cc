#include "controller/compare/compare_words.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/compare/compare.h"
#include "controller/compare/observation_words.h"
#include "controller/compare/step_data.h"
#include "controller/report/main_operation.h"
#include "controller/report/scopes.h"
#include "controller/statistics/run_statistics.h"

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

}  // namespace

std::span<const ComparedFigure> ComparedFigures() {
  static constexpr ComparedFigure kComparedFigures[] = {
      {v1::FIGURE_IOPS, "IO/s", FigureFormat::kRate},   {v1::FIGURE_MB_PER_SECOND, "MB/s", FigureFormat::kThroughput},
      {v1::FIGURE_AVG, "mean", FigureFormat::kLatency}, {v1::FIGURE_P50, "p50", FigureFormat::kLatency},
      {v1::FIGURE_P99, "p99", FigureFormat::kLatency},  {v1::FIGURE_P99_9, "p99.9", FigureFormat::kLatency},
      {v1::FIGURE_MAX, "max", FigureFormat::kLatency},
  };
  return kComparedFigures;
}

std::span<const NamedFinding> NamedFindings() {
  static constexpr NamedFinding kFindings[] = {
      {v1::FINDING_BETTER, "better", "better"},          {v1::FINDING_WORSE, "worse", "worse"},
      {v1::FINDING_SMALL, "within minimum", "unclear"},  {v1::FINDING_NOT_CLEAR, "not significant", "unclear"},
      {v1::FINDING_NOT_TESTED, "not tested", "unclear"}, {v1::FINDING_INCONCLUSIVE, "inconclusive", "unclear"},
  };
  return kFindings;
}

std::string FigureName(v1::Figure figure) {
  for (const ComparedFigure& one : ComparedFigures()) {
    if (one.figure == figure) return one.name;
  }
  return "";
}

std::string FindingName(v1::Finding finding) {
  for (const NamedFinding& one : NamedFindings()) {
    if (one.finding == finding && finding != v1::FINDING_NOT_TESTED) return one.name;
  }
  return kDash;
}

std::string ChangeInWords(double ratio) {
  return ratio >= 10 ? absl::StrCat(FormatFixed(ratio, ratio < 100 ? 1 : 0), " times")
                     : absl::StrCat(Percent(100 * std::abs(ratio - 1)), " %");
}

std::string PercentInWords(double percent) {
  return Percent(percent);
}

std::string GateInWords(const v1::Comparison& comparison) {
  if (comparison.gate() == v1::OUTCOME_UNSPECIFIED) return "";
  std::vector<std::string> names;
  for (const int figure : comparison.options().gate()) names.push_back(FigureName(static_cast<v1::Figure>(figure)));
  const std::string limit = absl::StrCat(Percent(comparison.options().fail_if_slower_percent()), " %");
  const auto first_of = [](const google::protobuf::RepeatedPtrField<std::string>& sentences) {
    return absl::StrCat(sentences[0],
                        sentences.size() > 1 ? absl::StrCat(", and ", sentences.size() - 1, " more") : "");
  };
  switch (comparison.gate()) {
    case v1::OUTCOME_PASS:
      return absl::StrCat("PASS: ", Listed(std::move(names)), " of every block size are slower by at most ", limit,
                          " (one-sided 95 % bounds).");
    case v1::OUTCOME_FAIL:
      return absl::StrCat("FAIL: slower by more than ", limit, ": ", first_of(comparison.slower()), ".");
    default: {
      std::vector<std::string> others;
      for (int side = 1; side < comparison.sides_size(); ++side) others.push_back(comparison.sides(side).label());
      return absl::StrCat("INCONCLUSIVE: it is not decided whether ", absl::StrJoin(others, " or "),
                          " is slower by more than ", limit, ": ", first_of(comparison.undecided()), ".");
    }
  }
}

namespace {

// What a pair of sides shows at one block size.
enum class PairAnswer : uint8_t { kSlower, kFaster, kBoth, kNone, kUndecided };

PairAnswer AnswerOf(const v1::PairComparison& pair) {
  bool worse = false;
  bool better = false;
  bool decided = false;
  for (const v1::ComparedRow& row : pair.rows()) {
    worse = worse || row.finding() == v1::FINDING_WORSE;
    better = better || row.finding() == v1::FINDING_BETTER;
    decided = decided || row.finding() == v1::FINDING_SMALL || row.finding() == v1::FINDING_NOT_CLEAR;
  }
  return worse && better ? PairAnswer::kBoth
         : worse         ? PairAnswer::kSlower
         : better        ? PairAnswer::kFaster
         : decided       ? PairAnswer::kNone
                         : PairAnswer::kUndecided;
}

// "12 % fewer writes per second, p99 30 % longer": of IO/s and of a latency the clear row that is farthest from 1.
std::string LargestChanges(const std::vector<const v1::PairComparison*>& pairs, const std::string& operations) {
  const v1::ComparedRow* rate = nullptr;
  const v1::ComparedRow* latency = nullptr;
  for (const v1::PairComparison* const pair : pairs) {
    for (const v1::ComparedRow& row : pair->rows()) {
      if (!IsClear(row) || row.figure() == v1::FIGURE_MB_PER_SECOND) continue;
      const v1::ComparedRow*& largest = IsRate(row) ? rate : latency;
      const auto size = [](const v1::ComparedRow& one) { return std::abs(std::log(one.ratio())); };
      if (largest == nullptr || size(row) > size(*largest)) largest = &row;
    }
  }
  const char* up_to = pairs.size() > 1 ? "up to " : "";
  std::vector<std::string> parts;
  if (rate != nullptr) {
    parts.push_back(absl::StrCat(up_to, ChangeInWords(rate->ratio()),
                                 rate->ratio() >= 10 ? " as many "
                                 : rate->ratio() > 1 ? " more "
                                                     : " fewer ",
                                 operations, " per second"));
  }
  if (latency != nullptr) {
    parts.push_back(absl::StrCat(FigureName(latency->figure()), " ", up_to, ChangeInWords(latency->ratio()),
                                 latency->ratio() >= 10 ? " as long"
                                 : latency->ratio() > 1 ? " longer"
                                                        : " shorter"));
  }
  return absl::StrJoin(parts, ", ");
}

// "4 % in IO/s and 12 % in p99 would have been found": the largest of what may have gone unnoticed, and what is too
// noisy for any to be found; empty where it is not known.
std::string PrecisionInWords(const std::vector<const v1::PairComparison*>& pairs) {
  double rate = 0;
  double tail = 0;
  for (const v1::PairComparison* const pair : pairs) {
    if (pair->has_detectable_percent()) rate = std::max(rate, pair->detectable_percent());
    if (pair->has_detectable_p99_percent()) tail = std::max(tail, pair->detectable_p99_percent());
  }
  std::vector<std::string> found;
  std::vector<std::string> noisy;
  if (rate > 0 && rate < 100) found.push_back(absl::StrCat(Percent(rate), " % in IO/s"));
  if (tail > 0 && tail < 100) found.push_back(absl::StrCat(Percent(tail), " % in p99"));
  if (rate >= 100) noisy.emplace_back("the IO/s");
  if (tail >= 100) noisy.emplace_back("p99");
  std::vector<std::string> parts;
  if (!found.empty()) parts.push_back(absl::StrCat(Listed(std::move(found)), " would have been found"));
  if (!noisy.empty()) {
    parts.push_back(absl::StrCat("too noisy to detect even half or double ", absl::StrJoin(noisy, " or ")));
  }
  return absl::StrJoin(parts, "; ");
}

// Why nothing was decided: the first reason of an inconclusive figure, or else of an untested one.
std::string UndecidedReason(const std::vector<const v1::PairComparison*>& pairs) {
  for (const v1::Finding finding : {v1::FINDING_INCONCLUSIVE, v1::FINDING_NOT_TESTED}) {
    for (const v1::PairComparison* const pair : pairs) {
      for (const v1::ComparedRow& row : pair->rows()) {
        if (row.finding() == finding && !row.reason().empty()) return row.reason();
      }
    }
  }
  return "";
}

// One side's part of the headline.
std::string HeadlineOf(const v1::Comparison& comparison, int side, const std::string& operations) {
  std::map<PairAnswer, std::vector<const v1::PairComparison*>> pairs;
  std::map<PairAnswer, std::vector<std::string>> sizes;
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
    const v1::PairComparison& pair = block_size.pairs(side - 1);
    pairs[AnswerOf(pair)].push_back(&pair);
    sizes[AnswerOf(pair)].push_back(FormatBlockSize(block_size.block_size_bytes()));
  }
  const std::string& name = comparison.sides(side).label();
  const std::string& first = comparison.sides(0).label();
  const auto at = [&](PairAnswer answer) {
    const size_t count = sizes[answer].size();
    if (comparison.block_sizes_size() == 1) return std::string();
    constexpr size_t kMostSizes = 4;
    return count == static_cast<size_t>(comparison.block_sizes_size()) ? absl::StrCat(" at all ", count, " block sizes")
           : count > kMostSizes                                        ? absl::StrCat(" at ", count, " block sizes")
                                                                       : absl::StrCat(" at ", Listed(sizes[answer]));
  };
  std::vector<std::string> parts;
  const auto changes = [&](PairAnswer answer) {
    return absl::StrCat(" (", LargestChanges(pairs[answer], operations), ")");
  };
  if (pairs.contains(PairAnswer::kSlower)) {
    parts.push_back(absl::StrCat("is slower than ", first, at(PairAnswer::kSlower), changes(PairAnswer::kSlower)));
  }
  if (pairs.contains(PairAnswer::kFaster)) {
    parts.push_back(absl::StrCat("is faster than ", first, at(PairAnswer::kFaster), changes(PairAnswer::kFaster)));
  }
  if (pairs.contains(PairAnswer::kBoth)) {
    parts.push_back(
        absl::StrCat("is better than ", first, " in some figures and worse in others", at(PairAnswer::kBoth)));
  }
  if (pairs.contains(PairAnswer::kNone)) {
    const std::string precision = PrecisionInWords(pairs[PairAnswer::kNone]);
    parts.push_back(absl::StrCat("shows no significant difference from ", first, at(PairAnswer::kNone),
                                 precision.empty() ? "" : absl::StrCat(" (", precision, ")")));
  }
  if (pairs.contains(PairAnswer::kUndecided)) {
    const std::string reason = UndecidedReason(pairs[PairAnswer::kUndecided]);
    parts.push_back(absl::StrCat("is undecided against ", first, at(PairAnswer::kUndecided),
                                 reason.empty() ? "" : absl::StrCat(" (", reason, ")")));
  }
  return absl::StrCat(name, " ", Listed(std::move(parts)));
}

}  // namespace

std::string HeadlineInWords(const v1::Comparison& comparison, const std::string& operations) {
  std::vector<std::string> parts;
  for (int side = 1; side < comparison.sides_size(); ++side) parts.push_back(HeadlineOf(comparison, side, operations));
  return absl::StrCat(absl::StrJoin(parts, "; "), ".");
}

std::string Summary(const v1::PairComparison& pair, const std::string& operation, const NamedFigures& first,
                    const NamedFigures& second, const CompareSettings& settings) {
  std::vector<const v1::ComparedRow*> longer;
  std::vector<const v1::ComparedRow*> shorter;
  std::vector<const v1::ComparedRow*> small;
  std::vector<const v1::ComparedRow*> not_clear;
  std::map<std::string, std::vector<const v1::ComparedRow*>> untested;
  std::map<std::string, std::vector<const v1::ComparedRow*>> inconclusive;
  const v1::ComparedRow* rate = nullptr;
  for (const v1::ComparedRow& row : pair.rows()) {
    if (row.figure() == v1::FIGURE_MAX || row.figure() == v1::FIGURE_MB_PER_SECOND) continue;
    if (row.finding() == v1::FINDING_NOT_TESTED) untested[row.reason()].push_back(&row);
    if (row.finding() == v1::FINDING_INCONCLUSIVE) inconclusive[row.reason()].push_back(&row);
    if (row.finding() == v1::FINDING_SMALL) small.push_back(&row);
    if (row.finding() == v1::FINDING_NOT_CLEAR) not_clear.push_back(&row);
    if (!IsClear(row)) continue;
    if (IsRate(row)) {
      rate = &row;
    } else {
      (row.ratio() > 1 ? longer : shorter).push_back(&row);
    }
  }
  const bool reads = operation == kReadName;
  const bool whole = !operation.empty() && !IsPartName(operation);
  const std::string operations = whole ? WholeOperations(operation) : "writes";
  std::vector<std::string> sentences;
  if (rate != nullptr) {
    sentences.push_back(absl::StrCat(pair.side(), " completes ", ChangeInWords(rate->ratio()),
                                     rate->ratio() >= 10 ? " as many"
                                     : rate->ratio() > 1 ? " more"
                                                         : " fewer",
                                     " ", operations, " per second ", rate->ratio() >= 10 ? "as " : "than ",
                                     first.label, IntervalInWords(*rate), "."));
  }
  const std::string compared = reads               ? "Reads are"
                               : operation.empty() ? "Writes are"
                               : whole             ? absl::StrCat(operations, " are")
                                                   : absl::StrCat("The ", operation, " is");
  if (!longer.empty()) {
    sentences.push_back(absl::StrCat(compared, " slower on ", pair.side(), ": ", Latencies(longer), "."));
  }
  if (!shorter.empty()) {
    sentences.push_back(absl::StrCat(compared, " faster on ", pair.side(), ": ", Latencies(shorter), "."));
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
  for (const auto& [reason, rows] : inconclusive) {
    sentences.push_back(absl::StrCat("Inconclusive: ", Names(rows), " (", reason, ")."));
  }
  if (!found && inconclusive.empty() && pair.has_detectable_percent()) {
    sentences.push_back(
        pair.detectable_percent() < 100
            ? absl::StrCat("Too noisy to detect less than about ", Percent(pair.detectable_percent()), " % in IO/s.")
            : "Too noisy to detect even half or double the IO/s.");
  }
  const bool tail_found = std::any_of(pair.rows().begin(), pair.rows().end(), [](const v1::ComparedRow& row) {
    return row.figure() == v1::FIGURE_P99 && row.finding() != v1::FINDING_NOT_CLEAR;
  });
  if (!tail_found && inconclusive.empty() && pair.has_detectable_p99_percent()) {
    sentences.push_back(pair.detectable_p99_percent() < 100
                            ? absl::StrCat("In p99, too noisy to detect less than about ",
                                           Percent(pair.detectable_p99_percent()), " %.")
                            : "In p99, too noisy to detect even half or double.");
  }
  if (pair.needed_seconds() > 0) sentences.push_back(NeededInWords(pair.needed_seconds(), first, second));
  return absl::StrJoin(sentences, " ");
}

namespace {

// "7, 10 and 12 rounds".
std::string LooksInWords(const v1::PairedDesign& design) {
  std::vector<std::string> rounds;
  for (const v1::PairedLook& look : design.looks()) rounds.push_back(absl::StrCat(look.rounds()));
  return absl::StrCat(Listed(std::move(rounds)), " rounds");
}

constexpr char kNotTested[] = "Nothing was tested for significance. docs/compare.md explains the terms.";

std::vector<std::string> PairedMethodInWords(const v1::Comparison& comparison) {
  const v1::CompareOptions& options = comparison.options();
  return {
      absl::StrCat("Paired: each figure's ratio was taken within each round. If the sides were equal, only the "
                   "random order would decide which side is slower in a round; the figures were compared with "
                   "those of all other orders (randomisation test), after ",
                   LooksInWords(comparison.paired()), "."),
      comparison.tests() == 0
          ? kNotTested
          : absl::StrCat("A difference is significant if chance alone would produce any among the ", comparison.tests(),
                         " figures and at all of these tests in fewer than ", Percent(options.level_percent()),
                         " of 100 comparisons (step-down maxT). It counts if it exceeds the minimum effect of ",
                         Percent(options.min_effect_percent()),
                         " %. Each row has its own 95 % interval, valid over all of these tests.")};
}

std::vector<std::string> PairedLimitsInWords(const v1::Comparison& comparison) {
  const v1::PairedDesign& design = comparison.paired();
  std::vector<std::string> limits;
  if (design.order().empty()) {
    limits.push_back(
        "The order within the rounds is not recorded: the tests assume that it was random. If one side always came "
        "first, the effect of the order counts as a difference.");
  }
  const size_t first_test = std::max<size_t>(kFewestRounds, design.looks().empty() ? 0 : design.looks(0).rounds());
  if (design.complete_rounds() < first_test) {
    limits.push_back(absl::StrCat("Nothing was tested: there are ", Counted(design.complete_rounds(), "complete round"),
                                  ", the first test is after ", first_test, "."));
  } else {
    limits.push_back(
        "The intervals assume that the ratio of the sides is the same in all rounds. They cover variation between "
        "rounds, not conditions that were the same in all rounds, such as another system's load.");
  }
  return limits;
}

}  // namespace

std::vector<std::string> MethodInWords(const v1::Comparison& comparison) {
  std::vector<std::string> method;
  const v1::CompareOptions& options = comparison.options();
  if (comparison.has_paired()) return PairedMethodInWords(comparison);
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
    for (std::string& sentence : ResamplingInWords(comparison)) method.push_back(std::move(sentence));
  }
  for (const RunsMethod runs : by_runs) {
    method.push_back(
        runs == RunsMethod::kBootstrap
            ? absl::StrCat("Bootstrap: whole runs were resampled ", FormatCount(options.replicates()),
                           " times; differences are studentised.")
        : runs == RunsMethod::kWelch
            ? "Whole runs were compared by Welch's t-test on logarithms, because there are too few to resample."
            : "Whole runs were compared by Student's t-test on logarithms, because there are too few to resample; all "
              "sides are assumed to have the same variance.");
  }
  if (comparison.tests() == 0) {
    method.emplace_back(kNotTested);
    return method;
  }
  method.push_back(absl::StrCat("A difference is significant if chance alone would produce any among the ",
                                comparison.tests(), " tests in fewer than ", Percent(options.level_percent()),
                                " of 100 comparisons (Holm's method). It counts if it exceeds the minimum effect of ",
                                Percent(options.min_effect_percent()),
                                " %. Each row has its own 95 % interval. docs/compare.md explains the terms."));
  return method;
}

std::vector<std::string> LimitsInWords(const std::vector<SideInput>& sides, const v1::Comparison& comparison) {
  std::vector<std::string> limits;
  std::vector<std::string> single;
  std::vector<std::string> several;
  bool few = false;
  if (comparison.has_paired()) limits = PairedLimitsInWords(comparison);
  for (size_t i = 1; i < sides.size() && !comparison.has_paired(); ++i) {
    const size_t runs = sides[i].runs.size() + sides[0].runs.size();
    (runs == 2 ? single : several).push_back(SideLabel(sides, i));
    few = few || (runs > 2 && std::min(sides[i].runs.size(), sides[0].runs.size()) < 3);
  }
  const auto about = [&](const std::vector<std::string>& labels, const std::string& sentence) {
    return labels.size() + 1 == sides.size()
               ? sentence
               : absl::StrCat(Listed(labels), " against ", SideLabel(sides, 0), ": ", sentence);
  };
  if (!single.empty()) {
    limits.push_back(about(single,
                           "One run per side: repeatability was not tested. Another run may differ by more than the "
                           "intervals. Several runs per side (A1,A2,A3 B1,B2,B3) test that."));
  }
  if (!several.empty()) {
    std::vector<std::string> counts = {absl::StrCat(sides[0].runs.size(), " of ", SideLabel(sides, 0))};
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
    limits.push_back(
        absl::StrCat("Not compared, because not every run measured them: ", absl::StrJoin(sizes, ", "), "."));
  }
  // Block sizes at which a part, or the reads, are not compared.
  std::map<std::string, std::vector<std::string>> missing;
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
    std::set<std::string> of_size;
    for (const SideInput& side : sides) {
      for (const RunInput& run : side.runs) {
        for (const v1::StepReport& step : run.report.steps()) {
          if (step.block_size_bytes() != block_size.block_size_bytes()) continue;
          for (const v1::OperationReport& operation : step.operations()) of_size.insert(operation.name());
        }
      }
    }
    for (const v1::OperationComparison& operation : block_size.operations()) of_size.erase(operation.name());
    for (const std::string& name : of_size) {
      missing[name].push_back(FormatBlockSize(block_size.block_size_bytes()));
    }
  }
  std::vector<std::string> parts;
  for (const auto& [name, sizes] : missing) {
    const bool everywhere = sizes.size() == static_cast<size_t>(comparison.block_sizes_size());
    const std::string where = everywhere ? "" : absl::StrCat(" at ", absl::StrJoin(sizes, " and "));
    if (!IsPartName(name) && name != kReadName) {
      limits.push_back(
          absl::StrCat(WholeOperations(name), " are not compared", where, ", because not every run measured them."));
    } else if (name == kReadName) {
      limits.push_back(absl::StrCat("Reads are not compared", where, ", because not every run measured them."));
    } else {
      parts.push_back(name + where);
    }
  }
  if (!parts.empty()) {
    limits.push_back(absl::StrCat(
        "Not compared, because not every run measured these parts of each write: ", absl::StrJoin(parts, ", "), "."));
  }
  const double finest = 1.0 / (comparison.options().replicates() + 1.0);
  if (!single.empty() && finest * comparison.tests() >= kLevel) {
    limits.push_back(absl::StrCat(
        "With so many tests (", FormatCount(comparison.tests()), ") ", FormatCount(comparison.options().replicates()),
        " resamples cannot make any difference significant: compare fewer sides or block sizes at a time."));
  }
  bool any_parts = false;
  bool any_reads = false;
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
    for (const v1::OperationComparison& operation : block_size.operations()) {
      any_reads = any_reads || operation.name() == kReadName;
      any_parts = any_parts || IsPartName(operation.name());
    }
  }
  const v1::TestPlan& plan = sides.front().runs.front().report.plan();
  const std::string noun = MainOperation(plan);
  const std::string call = absl::StrCat(noun, any_parts ? " call with its sync" : " call");
  const auto paced = [](const v1::HostReport& host) { return host.workload().rate_per_second() > 0; };
  const auto& hosts = sides.front().runs.front().report.hosts();
  if (std::any_of(hosts.begin(), hosts.end(), paced)) {
    limits.push_back(comparison.response_times()
                         ? absl::StrCat("Open loop (fixed rate): latencies are response times, from a ", noun,
                                        "'s scheduled start to its end; --times service compares the times of the ",
                                        call, ".",
                                        any_parts ? " The times of its parts are service times in any case." : "",
                                        any_reads ? " The times of reads are service times in any case." : "")
                         : absl::StrCat("Open loop (fixed rate): latencies are service times of the ", call,
                                        ", without the time that a ", noun, " waited for its start."));
  }
  return limits;
}

}  // namespace plimsoll
