#include "controller/compare/observation_words.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/compare/compare.h"
#include "controller/compare/step_data.h"

namespace plimsoll {
namespace {

// Block sizes at which minutes were resampled.
std::vector<std::string> SizesByMinute(const v1::Comparison& comparison) {
  std::vector<std::string> sizes;
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
    const bool minutes = std::ranges::any_of(block_size.sides(), [](const v1::SideFigures& side) {
      return std::ranges::any_of(side.runs(), [](const v1::RunFigures& run) { return run.has_observation_seconds(); });
    });
    if (minutes) sizes.push_back(FormatBlockSize(block_size.block_size_bytes()));
  }
  return sizes;
}

}  // namespace

std::string ObservationName(const v1::RunFigures& run) {
  return NameOf(run.has_observation_seconds() ? TimeUnit::kMinute : TimeUnit::kSecond);
}

std::string NeededInWords(uint32_t needed_seconds, const NamedFigures& first, const NamedFigures& second) {
  // The side that needs the longer run, and of two alike the one that is worth less.
  const auto rank = [](const v1::RunFigures& run) {
    const bool dependent = run.autocorrelation() > kPromisedAutocorrelation;
    return std::make_pair(dependent ? -run.autocorrelation() : 0.0, run.effective_seconds());
  };
  const bool first_is_worse = rank(first.figures.runs(0)) <= rank(second.figures.runs(0));
  const NamedFigures& worse = first_is_worse ? first : second;
  const v1::RunFigures& run = worse.figures.runs(0);
  const uint64_t length = run.has_observation_seconds() ? run.observation_seconds() : 1;
  const std::string unit = ObservationName(run);
  const uint64_t shorter = length * std::min(first.figures.runs(0).seconds(), second.figures.runs(0).seconds());
  const std::string run_longer = absl::StrCat("run at least ", FormatCount(needed_seconds), " s per side.");
  if (run.effective_seconds() < 0.5) return absl::StrCat(worse.label, " is too short: ", run_longer);
  if (shorter >= needed_seconds) {
    return absl::StrCat("The ", unit, "s of ", worse.label, " are correlated (autocorrelation ",
                        FormatFixed(run.autocorrelation(), 2), "): ", FormatCount(needed_seconds),
                        " s per side are needed, there are ", FormatCount(shorter), ".");
  }
  return absl::StrCat(run.seconds(), length > 1 ? " min of " : " s of ", worse.label, " are worth only ",
                      FormatFixed(run.effective_seconds(), 0), " independent ", unit, "s (autocorrelation ",
                      FormatFixed(run.autocorrelation(), 2), "): ", run_longer);
}

std::vector<std::string> ResamplingInWords(const v1::Comparison& comparison) {
  const std::vector<std::string> by_minute = SizesByMinute(comparison);
  const bool all = !by_minute.empty() && by_minute.size() == static_cast<size_t>(comparison.block_sizes_size());
  std::vector<std::string> sentences = {
      absl::StrCat("Bootstrap: whole ", all ? "minutes" : "seconds", " were resampled ",
                   FormatCount(comparison.options().replicates()),
                   " times in blocks sized by their autocorrelation; differences are studentised.")};
  if (by_minute.empty()) return sentences;
  const std::string where = all ? "" : absl::StrCat(" at ", absl::StrJoin(by_minute, ", "));
  sentences.push_back(absl::StrCat("A step", where,
                                   " is so long that most of its percentiles are known by minute only. All sides were "
                                   "compared",
                                   where, " by whole minutes, over the whole of their steps."));
  return sentences;
}

}  // namespace plimsoll
