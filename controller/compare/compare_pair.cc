// Compares two sides at one block size.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/compare/compare.h"
#include "controller/statistics/run_statistics.h"
#include "controller/statistics/second_statistics.h"

namespace plimsoll {
namespace {

constexpr std::array<v1::Figure, 7> kFigures = {v1::FIGURE_IOPS, v1::FIGURE_MB_PER_SECOND, v1::FIGURE_AVG,
                                                v1::FIGURE_P50,  v1::FIGURE_P99,           v1::FIGURE_P99_9,
                                                v1::FIGURE_MAX};

double ShareOf(v1::Figure figure) {
  return figure == v1::FIGURE_P50 ? 0.5 : figure == v1::FIGURE_P99 ? 0.99 : 0.999;
}

bool IsPercentile(v1::Figure figure) {
  return figure == v1::FIGURE_P50 || figure == v1::FIGURE_P99 || figure == v1::FIGURE_P99_9;
}

// A figure of each run, in logarithms; empty where a run does not know it.
std::vector<double> Logs(const SideSteps& side, v1::Figure figure) {
  std::vector<double> logs;
  for (const StepData& run : side.runs) {
    const std::optional<double> value = FigureOf(run.figures, figure);
    if (!value || !(*value > 0)) return {};
    logs.push_back(std::log(*value));
  }
  return logs;
}

// The figure itself for one run, the geometric mean for several.
double Middle(const SideSteps& side, const std::vector<double>& logs, v1::Figure figure) {
  if (side.runs.size() == 1) return *FigureOf(side.runs.front().figures, figure);
  double sum = 0;
  for (const double log : logs) sum += log;
  return std::exp(sum / static_cast<double>(logs.size()));
}

// Whether the figure is above 0, and has a logarithm.
bool IsAboveZero(const RatioSeries& series) {
  return std::any_of(series.numerator.begin(), series.numerator.end(), [](double value) { return value > 0; });
}

class PairComparer {
 public:
  PairComparer(const SideSteps& first, const SideSteps& second, const CompareSettings& settings, size_t gate_replicates,
               uint64_t seed)
      : first_(first), second_(second), settings_(settings), gate_replicates_(gate_replicates), seed_(seed) {}

  PairResult Compare() {
    result_.pair.set_side(second_.label);
    for (const v1::Figure figure : kFigures) AddRow(figure);
    if (settings_.fail_if_slower) {
      for (const v1::Figure figure : settings_.gate) AddGated(figure);
    }
    if (ByRuns()) return std::move(result_);
    for (const SideSteps* side : {&first_, &second_}) {
      const StepData& run = side->runs.front();
      const double phi = std::max(run.figures.autocorrelation(), 0.0);
      if (run.seconds.seconds >= kFewestSeconds && run.figures.effective_seconds() >= kEnoughEffectiveSeconds &&
          phi <= kPromisedAutocorrelation) {
        continue;
      }
      const size_t needed = CountFor(phi, kPromisedEffectiveSeconds);
      const auto unit = static_cast<size_t>(run.seconds.unit);
      const auto seconds = static_cast<uint32_t>(std::min<size_t>(std::max(needed, kFewestSeconds) * unit, UINT32_MAX));
      result_.pair.set_needed_seconds(std::max(result_.pair.needed_seconds(), seconds));
    }
    return std::move(result_);
  }

 private:
  bool ByRuns() const { return settings_.paired || first_.runs.size() + second_.runs.size() > 2; }

  void AddRow(v1::Figure figure) {
    const std::vector<double> first = Logs(first_, figure);
    const std::vector<double> second = Logs(second_, figure);
    if (first.empty() || second.empty()) return;
    // The test of MB/s is that of IO/s, which a damaged report may lack.
    const auto& rows = result_.pair.rows();
    const bool has_iops = !rows.empty() && rows.rbegin()->figure() == v1::FIGURE_IOPS;
    if (figure == v1::FIGURE_MB_PER_SECOND && !has_iops) return;
    v1::ComparedRow& row = *result_.pair.add_rows();
    row.set_figure(figure);
    row.set_first(Middle(first_, first, figure));
    row.set_second(Middle(second_, second, figure));
    row.set_ratio(row.second() / row.first());
    row.set_finding(v1::FINDING_NOT_TESTED);
    if (figure == v1::FIGURE_MAX) {
      row.set_reason(absl::StrCat("a single ", first_.noun));
    } else if (figure == v1::FIGURE_MB_PER_SECOND) {
      // MB/s has the same test as IO/s, which stands in front; its interval where all blocks have one size.
      const v1::ComparedRow& iops = result_.pair.rows(result_.pair.rows_size() - 2);
      const bool one_size = std::abs(row.ratio() - iops.ratio()) <= 1e-9 * iops.ratio();
      if (one_size && iops.has_low()) row.set_low(iops.low());
      if (one_size && iops.has_high()) row.set_high(iops.high());
      if (iops.has_p()) row.set_p(iops.p());
      row.set_reason(iops.reason());
    } else if (settings_.paired) {
      TestByPairs(first, second, row);
    } else if (ByRuns()) {
      TestByRuns(first, second, row);
    } else {
      TestBySeconds(row);
    }
  }

  static void SetInterval(double low_log, double high_log, double p, v1::ComparedRow& row) {
    row.set_low(std::exp(low_log));
    row.set_high(std::exp(high_log));
    row.set_p(p);
    row.set_counted(true);
  }

  void TestByRuns(const std::vector<double>& first, const std::vector<double>& second, v1::ComparedRow& row) {
    const auto test = [first, second, replicates = settings_.replicates, seed = seed_](double level) {
      return TestRuns(first, second, level, replicates, seed);
    };
    const RunsTest runs = test(kLevel);
    SetInterval(runs.difference - runs.half_width, runs.difference + runs.half_width, runs.p, row);
    if (row.figure() == v1::FIGURE_IOPS) {
      result_.half_width = [test](double p) { return test(p).half_width; };
    }
  }

  void TestByPairs(const std::vector<double>& first, const std::vector<double>& second, v1::ComparedRow& row) {
    RoundDifferences rounds;
    for (size_t i = 0; i < first.size(); ++i) {
      rounds.push_back(second[i] - first[i]);
      row.mutable_rounds()->add_ratio(std::exp(rounds.back()));
    }
    const std::vector<Look> looks = LooksOf(*settings_.paired);
    if (rounds.size() < std::max(looks.front().rounds, kFewestRounds)) {
      row.set_reason(absl::StrCat(rounds.size(), rounds.size() == 1 ? " round" : " rounds", " of at least ",
                                  std::max(looks.front().rounds, kFewestRounds)));
      return;
    }
    const PairedInterval interval = PairedConfidence(rounds, looks, kLevel, Tail::kBoth);
    SetInterval(interval.low, interval.high, PairedPValues({rounds}, looks, Tail::kBoth).front(), row);
    if (row.figure() == v1::FIGURE_IOPS) {
      result_.half_width = [width = (interval.high - interval.low) / 2](double /*p*/) { return width; };
    }
    result_.rounds.push_back(std::move(rounds));
  }

  void TestBySeconds(v1::ComparedRow& row) {
    const SecondsData& first = first_.runs.front().seconds;
    const SecondsData& second = second_.runs.front().seconds;
    for (const SideSteps* side : {&first_, &second_}) {
      const SecondsData& seconds = side->runs.front().seconds;
      if (side->resamples.empty() || !IsAboveZero(seconds.rate)) {
        row.set_reason(absl::StrCat(side->label, " has ", seconds.seconds, " whole ", NameOf(seconds.unit), "s"));
        return;
      }
      if (IsPercentile(row.figure()) && !(seconds.histograms && seconds.histograms->writes() > 0)) {
        row.set_reason(absl::StrCat(side->label, ": ", seconds.no_histograms));
        return;
      }
    }
    if (IsPercentile(row.figure())) return TestPercentileRow(row);
    const auto series = [&row](const SecondsData& data) -> const RatioSeries& {
      return row.figure() == v1::FIGURE_IOPS ? data.rate : data.mean;
    };
    if (!IsAboveZero(series(first)) || !IsAboveZero(series(second))) {
      row.set_reason(absl::StrCat("the ", NameOf(first.unit), "s leave it undetermined"));
      return;
    }
    const auto bootstrap = [](const RatioSeries& ratios, const SideSteps& side) {
      return RatioBootstrap(ratios, Scale::kLog, side.phi, side.resamples.front());
    };
    const auto test =
        std::make_shared<StudentisedDifference>(bootstrap(series(first), first_), bootstrap(series(second), second_));
    // Ratio of the exact figures; those of the whole seconds alone differ by next to nothing.
    const double log_ratio = std::log(row.ratio());
    const auto half_width = [test](double p) { return test->error() > 0 ? test->Critical(p) * test->error() : 0; };
    SetInterval(log_ratio - half_width(kLevel), log_ratio + half_width(kLevel),
                test->PValue(test->difference() - log_ratio), row);
    if (row.figure() == v1::FIGURE_IOPS) result_.half_width = half_width;
  }

  // Few writes of a second are in a tail, so that it shows little of what makes seconds alike; but where that leaves
  // too little to go by in the other figures, tails cannot be known better.
  static PercentileSide Side(const SideSteps& side, const std::vector<BlockResamples>& resamples, v1::Figure figure) {
    const StepData& run = side.runs.front();
    const bool middle = figure == v1::FIGURE_P50;
    const bool too_few = EffectiveCount(side.phi, run.seconds.rate.numerator.size()) < kFewestEffective;
    return {*run.seconds.histograms, resamples.front(), middle || too_few ? side.phi : 0};
  }

  void TestPercentileRow(v1::ComparedRow& row) {
    const double share = ShareOf(row.figure());
    const PercentileSide first = Side(first_, first_.resamples, row.figure());
    const PercentileSide second = Side(second_, second_.resamples, row.figure());
    row.set_counted(true);
    if (!settings_.percentile_intervals) {
      row.set_p(PercentilePValue(first, second, share, row.ratio()));
      row.set_reason("left out");
      return;
    }
    const PercentileTest test = TestPercentile(first, second, share, row.ratio(), kLevel);
    row.set_p(test.p);
    row.set_low(test.low);
    row.set_high(test.high);
  }

  void AddGated(v1::Figure figure) {
    GatedRow& gated = result_.gated.emplace_back();
    gated.figure = figure;
    v1::ComparedRow* row = nullptr;
    for (int i = 0; i < result_.pair.rows_size(); ++i) {
      if (result_.pair.rows(i).figure() != figure) continue;
      gated.row = i;
      row = result_.pair.mutable_rows(i);
    }
    if (row == nullptr) {
      gated.reason =
          absl::StrCat("it is not known", IsPercentile(figure) ? absl::StrCat(": too few ", first_.noun, "s") : "");
      return;
    }
    // MB/s are IO/s times the block size, and tested with them.
    const bool tested = row->counted() || (figure == v1::FIGURE_MB_PER_SECOND && row->has_p());
    if (!tested) {
      gated.reason = row->reason();
      return;
    }
    const bool rate = figure == v1::FIGURE_IOPS || figure == v1::FIGURE_MB_PER_SECOND;
    const double slower = rate ? -std::log(row->ratio()) : std::log(row->ratio());
    const double limit = std::log1p(*settings_.fail_if_slower);
    // Tests are two-sided and symmetric: half of a p-value is on either side.
    const auto set = [&](double p, double bound) {
      gated.slower_p = slower > limit ? p / 2 : 1 - p / 2;
      gated.within_p = slower < limit ? p / 2 : 1 - p / 2;
      row->set_slower_bound_percent(100 * std::expm1(bound));
    };
    // The one-sided bound is an end of the two-sided interval that leaves out as much on the other side.
    constexpr double kBoundLevel = 2 * kLevel;
    if (settings_.paired) {
      const std::vector<Look> looks = LooksOf(*settings_.paired);
      const std::vector<double> first = Logs(first_, figure);
      const std::vector<double> second = Logs(second_, figure);
      RoundDifferences rounds;
      RoundDifferences within;
      for (size_t i = 0; i < first.size(); ++i) {
        rounds.push_back(rate ? first[i] - second[i] : second[i] - first[i]);
        gated.rounds.push_back(rounds.back() - limit);
        within.push_back(limit - rounds.back());
      }
      row->set_slower_bound_percent(100 * std::expm1(PairedConfidence(rounds, looks, kLevel, Tail::kAbove).high));
      gated.slower_p = PairedPValues({gated.rounds}, looks, Tail::kAbove).front();
      gated.within_p = PairedPValues({within}, looks, Tail::kAbove).front();
    } else if (ByRuns()) {
      std::vector<double> first = Logs(first_, figure);
      const std::vector<double> second = Logs(second_, figure);
      const RunsTest runs = TestRuns(first, second, kBoundLevel, gate_replicates_, seed_);
      for (double& log : first) log += rate ? -limit : limit;
      set(TestRuns(first, second, kBoundLevel, gate_replicates_, seed_).p, slower + runs.half_width);
    } else if (IsPercentile(figure)) {
      const PercentileLimit test = TestPercentileLimit(Side(first_, first_.gate_resamples, figure),
                                                       Side(second_, second_.gate_resamples, figure), ShareOf(figure),
                                                       row->ratio(), std::exp(limit), kBoundLevel);
      set(test.p, std::log(test.high));
    } else {
      const auto bootstrap = [rate](const SideSteps& side) {
        const SecondsData& seconds = side.runs.front().seconds;
        return RatioBootstrap(rate ? seconds.rate : seconds.mean, Scale::kLog, side.phi, side.gate_resamples.front());
      };
      const StudentisedDifference test(bootstrap(first_), bootstrap(second_));
      const double half_width = test.error() > 0 ? test.Critical(kBoundLevel) * test.error() : 0;
      set(test.PValue(test.difference() - (slower - limit)), slower + half_width);
    }
  }

  const SideSteps& first_;
  const SideSteps& second_;
  const CompareSettings& settings_;
  size_t gate_replicates_;
  uint64_t seed_;
  PairResult result_;
};

}  // namespace

void PrepareSteps(const CompareSettings& settings, size_t gate_replicates, uint64_t seed, SideSteps& side) {
  for (StepData& run : side.runs) {
    SecondsData& seconds = run.seconds;
    if (seconds.seconds < kFewestSeconds || !IsAboveZero(seconds.rate)) continue;
    const std::vector<double> rate = Influence(seconds.rate);
    const std::vector<double> mean = Influence(seconds.mean);
    const double phi = std::max(Autocorrelation(rate), Autocorrelation(mean));
    side.phi = std::max(phi, 0.0);
    // All figures of a side are made from the same seconds, so the longest blocks that any of them needs.
    const size_t length = std::max(BlockLength(rate), BlockLength(mean));
    // Groups are for resampling only: what people read is about seconds.
    const double of_seconds = seconds.group == 1 ? phi
                                                 : std::max(Autocorrelation(Influence(seconds.rate_by_second)),
                                                            Autocorrelation(Influence(seconds.mean_by_second)));
    run.figures.set_autocorrelation(of_seconds);
    run.figures.set_effective_seconds(EffectiveCount(std::max(of_seconds, 0.0), seconds.seconds));
    if (side.runs.size() > 1) continue;
    run.figures.set_block_length(static_cast<uint32_t>(length * seconds.group));
    side.resamples.emplace_back(rate.size(), length, settings.replicates, seed);
    if (settings.fail_if_slower) side.gate_resamples.emplace_back(rate.size(), length, gate_replicates, seed);
  }
}

PairResult ComparePair(const SideSteps& first, const SideSteps& second, const CompareSettings& settings,
                       size_t gate_replicates, uint64_t seed) {
  return PairComparer(first, second, settings, gate_replicates, seed).Compare();
}

}  // namespace plimsoll
