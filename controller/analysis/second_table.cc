#include "controller/analysis/second_table.h"

#include <algorithm>
#include <array>

#include "controller/analysis/step_shape.h"

namespace plimsoll {
namespace {

using Layout = HistogramLayout;

// In thousandths.
constexpr std::array<uint64_t, 3> kQuantiles = {500, 990, 999};

uint32_t BucketOf(uint64_t value_ns) {
  return Layout::IndexOf(std::min(value_ns, Layout::kMaxValueNs));
}

// Buckets of all quantiles in one walk, by Histogram's rule: nearest rank. `latency` is not empty.
std::array<uint16_t, kQuantiles.size()> QuantileBuckets(const Histogram& latency) {
  std::array<uint16_t, kQuantiles.size()> buckets{};
  uint64_t seen = 0;
  size_t next = 0;
  const uint32_t last = BucketOf(latency.max_ns());
  for (uint32_t i = BucketOf(latency.min_ns()); i <= last && next < kQuantiles.size(); ++i) {
    seen += latency.CountAt(i);
    while (next < kQuantiles.size()) {
      const auto rank = static_cast<uint64_t>((static_cast<Uint128>(latency.count()) * kQuantiles[next] + 999) / 1000);
      if (seen < rank) break;
      buckets[next++] = static_cast<uint16_t>(i);
    }
  }
  return buckets;
}

// In the bucket of the maximum nothing is above it; all other values lie in buckets of their own below.
uint64_t ValueOf(uint16_t bucket, uint64_t max_ns) {
  return bucket == BucketOf(max_ns) ? max_ns : Layout::HighestNs(bucket);
}

}  // namespace

void SecondTable::Close(uint32_t second, const Histogram& latency) {
  Entry& entry = seconds_[second];
  entry.closed = true;
  if (latency.count() == 0) return;
  const auto buckets = QuantileBuckets(latency);
  entry.p50 = buckets[0];
  entry.p99 = buckets[1];
  entry.p99_9 = buckets[2];
}

SecondQuantiles SecondTable::Get(uint32_t second, uint64_t max_ns) const {
  const Entry entry = seconds_.Get(second);
  if (!entry.closed || entry.spoilt) return {};
  return {ValueOf(entry.p50, max_ns), ValueOf(entry.p99, max_ns), ValueOf(entry.p99_9, max_ns)};
}

}  // namespace plimsoll
