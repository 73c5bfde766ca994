#include "controller/export/fio_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace plimsoll {
namespace {

using Layout = HistogramLayout;

constexpr uint32_t kBits = 6;                      // 64 buckets for each power of two
constexpr uint64_t kLargest = uint64_t{1} << 34U;  // what is not below this is in the last bucket

uint32_t LastIndex(const Histogram& histogram) {
  return Layout::IndexOf(std::min(histogram.max_ns(), Layout::kMaxValueNs));
}

// The middle of the bucket that holds a value.
uint64_t BinOf(uint64_t value_ns) {
  value_ns = std::min(value_ns, kLargest - 1);
  const auto power = static_cast<uint32_t>(63 - std::countl_zero(value_ns | 1U));
  if (power <= kBits) return value_ns;
  const uint32_t shift = power - kBits;
  return ((value_ns >> shift) << shift) + (uint64_t{1} << (shift - 1));
}
static_assert(kBits < Layout::kSubBucketHalfBits);

}  // namespace

std::map<uint64_t, uint64_t> FioBins(const Histogram& histogram) {
  std::map<uint64_t, uint64_t> bins;
  if (histogram.count() == 0) return bins;
  for (uint32_t index = 0; index <= LastIndex(histogram); ++index) {
    const uint64_t count = histogram.CountAt(index);
    if (count > 0) bins[BinOf(Layout::LowestNs(index))] += count;
  }
  return bins;
}

double StandardDeviationNs(const Histogram& histogram) {
  if (histogram.count() < 2) return 0;
  double squares = 0;
  for (uint32_t index = 0; index <= LastIndex(histogram); ++index) {
    const auto count = static_cast<double>(histogram.CountAt(index));
    const double away = static_cast<double>(Layout::MiddleNs(index)) - histogram.mean_ns();
    squares += count * away * away;
  }
  return std::sqrt(squares / (static_cast<double>(histogram.count()) - 1));
}

}  // namespace plimsoll
