#include "controller/analysis/figures.h"

#include <cmath>

#include "controller/analysis/step_shape.h"

namespace plimsoll {
namespace {

constexpr uint64_t kNeededBeyond = 10;

}  // namespace

bool IsThin(uint64_t count, double percent) {
  // In integers: 99.9 % of 10,000 is 9,990, which floating point may round up.
  const auto millionths = static_cast<uint64_t>(std::llround(percent * 10'000));
  const auto rank = (static_cast<Uint128>(count) * millionths + 999'999) / 1'000'000;
  return count - static_cast<uint64_t>(rank) < kNeededBeyond;
}

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
  if (IsThin(count, 50)) report.add_thin("p50");
  if (IsThin(count, 90)) report.add_thin("p90");
  if (IsThin(count, 99)) report.add_thin("p99");
  if (IsThin(count, 99.9)) report.add_thin("p99_9");
  if (IsThin(count, 99.99)) report.add_thin("p99_99");
  return report;
}

}  // namespace plimsoll
