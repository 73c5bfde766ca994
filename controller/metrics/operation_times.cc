#include "controller/metrics/operation_times.h"

#include <algorithm>

#include "common/histogram.h"

namespace plimsoll {
namespace {

using BucketTable = std::array<uint8_t, HistogramLayout::kBuckets>;

// By bucket of HistogramLayout, the place of its bound in kBucketBoundsNs.
const BucketTable& PlacesOfBuckets() {
  static const BucketTable* const table = [] {
    auto* const made = new BucketTable();  // lives as long as the process
    for (uint32_t i = 0; i < HistogramLayout::kBuckets; ++i) {
      const auto* const bound = std::ranges::lower_bound(kBucketBoundsNs, HistogramLayout::HighestNs(i));
      (*made)[i] = static_cast<uint8_t>(bound - kBucketBoundsNs.begin());
    }
    return made;
  }();
  return *table;
}

}  // namespace

void BucketedTimes::Add(const v1::Distribution& times) {
  const BucketTable& places = PlacesOfBuckets();
  const v1::SparseHistogram& histogram = times.histogram();
  const int buckets = std::min(histogram.index_delta_size(), histogram.count_size());
  uint64_t index = 0;
  for (int i = 0; i < buckets; ++i) {
    index = std::min<uint64_t>(index + histogram.index_delta(i), places.size() - 1);
    counts[places[index]] += histogram.count(i);
  }
  count += times.count();
  sum_ns += SumNs(times);
}

}  // namespace plimsoll
