#include "controller/analysis/figures.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "common/units.h"

namespace plimsoll {

v1::LatencyReport MakeLatencyReport(const Histogram& histogram) {
  v1::LatencyReport report;
  // Absent beyond 63 bits.
  const absl::uint128 sum_ns = histogram.sum_ns();
  if (sum_ns <= absl::uint128(INT64_MAX)) report.set_sum_ns(absl::Uint128Low64(sum_ns));
  if (histogram.count() == 0) return report;
  report.set_count(histogram.count());
  report.set_min_ns(histogram.min_ns());
  report.set_avg_ns(histogram.mean_ns());
  report.set_wavg_ns(histogram.WeightedMeanNs());
  report.set_p50_ns(histogram.PercentileNs(50));
  report.set_p90_ns(histogram.PercentileNs(90));
  report.set_p99_ns(histogram.PercentileNs(99));
  report.set_p99_9_ns(histogram.PercentileNs(99.9));
  report.set_p99_99_ns(histogram.PercentileNs(99.99));
  report.set_max_ns(histogram.max_ns());
  report.set_clamped(histogram.clamped());
  const uint64_t count = histogram.count();
  if (!IsKnown(count, 50)) report.add_thin("p50");
  if (!IsKnown(count, 90)) report.add_thin("p90");
  if (!IsKnown(count, 99)) report.add_thin("p99");
  if (!IsKnown(count, 99.9)) report.add_thin("p99_9");
  if (!IsKnown(count, 99.99)) report.add_thin("p99_99");
  return report;
}

v1::DistributionReport MakeDistribution(const Histogram& latency) {
  v1::DistributionReport report;
  latency.ForEachBucket([&report](uint64_t lowest_ns, uint64_t count) {
    const uint64_t from_ns = DistributionFloorNs(lowest_ns);
    const int size = report.from_ns_size();
    if (size > 0 && report.from_ns(size - 1) == from_ns) {
      report.set_count(size - 1, report.count(size - 1) + count);
    } else {
      report.add_from_ns(from_ns);
      report.add_count(count);
    }
  });
  return report;
}

namespace {

// From here on the first third of a step counts as another state than the last.
constexpr double kUnsettledPercent = 10;

struct Figures {
  double iops = 0;
  double avg_ns = 0;
};

Figures Over(const std::vector<SecondFigures>& seconds, size_t first, size_t count) {
  SecondFigures sum;
  for (size_t i = first; i < first + count; ++i) {
    sum.writes += seconds[i].writes;
    sum.latency_sum_ns += seconds[i].latency_sum_ns;
  }
  return {sum.writes / static_cast<double>(count), sum.writes > 0 ? sum.latency_sum_ns / sum.writes : 0};
}

double ChangePercent(double from, double to) {
  return from > 0 ? 100 * (to - from) / from : std::numeric_limits<double>::quiet_NaN();
}

void SetSteady(const std::vector<SecondFigures>& seconds, v1::TrendReport& trend) {
  const size_t length = seconds.size() / kSteadyFigures;
  const size_t begin = seconds.size() - kSteadyFigures * length;
  std::vector<double> iops;
  for (size_t i = 0; i < kSteadyFigures; ++i) iops.push_back(Over(seconds, begin + i * length, length).iops);
  trend.set_stretch_ns(static_cast<int64_t>(length) * kNsPerSecond);
  const Steadiness found = JudgeSteady(iops);
  trend.set_range_percent(found.range_percent);
  trend.set_slope_percent(found.slope_percent);
  trend.set_steady(found.steady);
}

}  // namespace

Steadiness JudgeSteady(const std::vector<double>& figures) {
  Steadiness found;
  if (figures.size() != kSteadyFigures) return found;
  double sum = 0;
  // Least squares over x = -2 ... 2: the sum of the squares is 10.
  double slope = 0;
  for (size_t i = 0; i < kSteadyFigures; ++i) {
    sum += figures[i];
    slope += (static_cast<double>(i) - 2) * figures[i] / 10;
  }
  const double average = sum / kSteadyFigures;
  if (!(average > 0)) return found;
  const auto [lowest, highest] = std::minmax_element(figures.begin(), figures.end());
  found.range_percent = 100 * (*highest - *lowest) / average;
  found.slope_percent = 100 * slope * (kSteadyFigures - 1) / average;
  found.steady = found.range_percent <= kSteadyRangePercent && std::abs(found.slope_percent) <= kSteadySlopePercent;
  return found;
}

double JainIndex(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double largest = *std::max_element(values.begin(), values.end());
  if (largest <= 0) return 1;
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value / largest;
    squares += value / largest * (value / largest);
  }
  return std::min(sum * sum / (static_cast<double>(values.size()) * squares), 1.0);
}

std::vector<SecondFigures> WholeSeconds(const SecondSeries& series, uint32_t whole_seconds) {
  std::vector<SecondFigures> seconds;
  seconds.reserve(whole_seconds);
  series.ForEachRow(whole_seconds, [&seconds, whole_seconds](const SeriesRow& row) {
    const double length = static_cast<double>(row.last) - row.first + 1;
    const SecondFigures share{static_cast<double>(row.sums.writes) / length,
                              static_cast<double>(row.sums.latency_sum_ns) / length};
    for (uint32_t second = row.first; second <= row.last && second < whole_seconds; ++second) seconds.push_back(share);
  });
  return seconds;
}

std::optional<v1::TrendReport> MakeTrend(const std::vector<SecondFigures>& seconds) {
  if (seconds.size() < kSteadyFigures) return std::nullopt;
  v1::TrendReport trend;
  const size_t third = seconds.size() / 3;
  const Figures first = Over(seconds, 0, third);
  const Figures last = Over(seconds, seconds.size() - third, third);
  trend.set_first_iops(first.iops);
  trend.set_last_iops(last.iops);
  trend.set_iops_change_percent(ChangePercent(first.iops, last.iops));
  trend.set_first_avg_ns(first.avg_ns);
  trend.set_last_avg_ns(last.avg_ns);
  // Where nothing was written there is no latency to compare.
  trend.set_avg_change_percent(last.iops > 0 ? ChangePercent(first.avg_ns, last.avg_ns)
                                             : std::numeric_limits<double>::quiet_NaN());
  SetSteady(seconds, trend);
  return trend;
}

std::string UnsettledNote(const v1::TrendReport& trend, bool hosts_explain_it) {
  // Comparisons with NaN are false.
  const bool unsettled = std::abs(trend.iops_change_percent()) > kUnsettledPercent ||
                         std::abs(trend.avg_change_percent()) > kUnsettledPercent;
  if (!unsettled) return "";
  const std::string latency = std::isnan(trend.avg_change_percent())
                                  ? ""
                                  : absl::StrFormat(" and the average latency by %+.1f %%", trend.avg_change_percent());
  std::string change = absl::StrFormat("from the first third of the step to the last, IO/s change by %+.1f %%%s.",
                                       trend.iops_change_percent(), latency);
  if (hosts_explain_it) return change;
  return absl::StrCat(change,
                      " The storage may still be writing back what preparing left in its cache: try --settle 30s or "
                      "longer, or a longer --warmup.");
}

}  // namespace plimsoll
