#include "controller/analysis/distributions.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace plimsoll {
namespace {

using Layout = HistogramLayout;
using Edges = std::array<uint64_t, Log32Buckets::kCount + 1>;

// No 2^(b/32) below 2^42 but the powers of two themselves comes closer to a whole number than a long double can tell (a
// test looks at each of them with whole numbers alone), so that rounding up is exact.
Edges MakeEdges() {
  Edges edges{};
  for (uint32_t b = 0; b < edges.size(); ++b) {
    const uint64_t octave = uint64_t{1} << (b / 32);
    edges[b] = b % 32 == 0 ? octave
                           : static_cast<uint64_t>(std::ceil(static_cast<long double>(octave) *
                                                             std::exp2(static_cast<long double>(b % 32) / 32)));
  }
  return edges;
}

const Edges& AllEdges() {
  static const Edges edges = MakeEdges();
  return edges;
}

// Calls visit(lowest value, count) for every bucket that is not empty, in order.
template <typename Visit>
void ForEachBucket(const Histogram& latency, Visit visit) {
  if (latency.count() == 0) return;
  const uint32_t last = Layout::IndexOf(std::min(latency.max_ns(), Layout::kMaxValueNs));
  for (uint32_t i = Layout::IndexOf(std::min(latency.min_ns(), Layout::kMaxValueNs)); i <= last; ++i) {
    if (const uint64_t count = latency.CountAt(i); count > 0) visit(Layout::LowestNs(i), count);
  }
}

}  // namespace

v1::DistributionReport MakeDistribution(const Histogram& latency) {
  v1::DistributionReport report;
  ForEachBucket(latency, [&report](uint64_t lowest_ns, uint64_t count) {
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

uint64_t Log32Buckets::FromNs(uint32_t bucket) {
  return AllEdges()[bucket];
}

uint32_t Log32Buckets::Of(uint64_t value_ns) {
  const Edges& edges = AllEdges();
  // The value's octave holds 32 edges, those of the octave below do not reach it.
  const auto octave = static_cast<uint32_t>(63 - std::countl_zero(value_ns | 1));
  const auto first = edges.begin() + octave * 32;
  const auto last = edges.begin() + std::min<size_t>(octave * size_t{32} + 32, edges.size());
  const auto above = std::upper_bound(first, last, std::max<uint64_t>(value_ns, 1));
  return static_cast<uint32_t>(above - edges.begin()) - 1;
}

void SecondDistributions::Add(uint32_t second, const Histogram& latency) {
  Row& row = rows_[second];
  row.begin = bucket_.size();
  ForEachBucket(latency, [this, &row](uint64_t lowest_ns, uint64_t count) {
    const auto bucket = static_cast<uint16_t>(Log32Buckets::Of(lowest_ns));
    if (row.buckets > 0 && bucket_.back() == bucket) {
      count_.back() += count;
      return;
    }
    bucket_.push_back(bucket);
    count_.push_back(count);
    ++row.buckets;
  });
}

void SecondDistributions::Append(uint32_t second, v1::SecondDistributionsReport& report) const {
  const Row row = rows_.Get(second);
  report.add_second(second);
  report.add_buckets(row.buckets);
  for (uint64_t i = row.begin; i < row.begin + row.buckets; ++i) {
    report.add_bucket(bucket_[i]);
    report.add_count(count_[i]);
  }
}

}  // namespace plimsoll
