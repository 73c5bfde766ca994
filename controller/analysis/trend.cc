#include "controller/analysis/trend.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// The performance test specification's rule for a steady state, in percent of the average.
constexpr double kMaxRangePercent = 20;
constexpr double kMaxSlopePercent = 10;
constexpr size_t kStretches = 5;
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
  const size_t length = seconds.size() / kStretches;
  const size_t begin = seconds.size() - kStretches * length;
  std::array<double, kStretches> iops{};
  for (size_t i = 0; i < kStretches; ++i) iops[i] = Over(seconds, begin + i * length, length).iops;
  trend.set_stretch_ns(static_cast<int64_t>(length) * kNsPerSecond);
  double sum = 0;
  // Least squares over x = -2 ... 2: the sum of the squares is 10.
  double slope = 0;
  for (size_t i = 0; i < kStretches; ++i) {
    sum += iops[i];
    slope += (static_cast<double>(i) - 2) * iops[i] / 10;
  }
  const double average = sum / kStretches;
  if (average <= 0) return;
  const auto [lowest, highest] = std::minmax_element(iops.begin(), iops.end());
  trend.set_range_percent(100 * (*highest - *lowest) / average);
  // What the line rises by from the first stretch to the last.
  trend.set_slope_percent(100 * slope * (kStretches - 1) / average);
  trend.set_steady(trend.range_percent() <= kMaxRangePercent && std::abs(trend.slope_percent()) <= kMaxSlopePercent);
}

}  // namespace

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
  if (seconds.size() < kStretches) return std::nullopt;
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

std::string UnsettledNote(const v1::TrendReport& trend) {
  // Comparisons with NaN are false.
  const bool unsettled = std::abs(trend.iops_change_percent()) > kUnsettledPercent ||
                         std::abs(trend.avg_change_percent()) > kUnsettledPercent;
  if (!unsettled) return "";
  const std::string latency = std::isnan(trend.avg_change_percent())
                                  ? ""
                                  : absl::StrFormat(" and the average latency by %+.1f %%", trend.avg_change_percent());
  return absl::StrFormat(
      "from the first third of the step to the last, IO/s change by %+.1f %%%s. The storage may still be writing back "
      "what preparing left in its cache: try --settle 30s or longer, or a longer --warmup.",
      trend.iops_change_percent(), latency);
}

}  // namespace plimsoll
