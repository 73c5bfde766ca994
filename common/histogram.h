// Distribution of durations in HdrHistogram's layout (hdrhistogram.org): 3 significant digits, 1 ns to 1 h.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Buckets below 2048 ns are 1 ns wide; above, every power of two has 1024 buckets: at most 0.1 % wide.
class HistogramLayout {
 public:
  static constexpr uint64_t kMaxValueNs = 3'600'000'000'000;  // 1 h
  static constexpr uint32_t kSubBucketHalfBits = 10;
  static constexpr uint32_t kSubBuckets = 2048;
  // Powers of two from 2048 ns up to the one that holds 1 h (2^41 < 1 h < 2^42), and the first 2048 values.
  static constexpr uint32_t kBuckets = 33 * 1024;

  // Bucket of a value <= kMaxValueNs. A few instructions, no branch but one.
  static constexpr uint32_t IndexOf(uint64_t value_ns) {
    // The value's power of two above the first bucket; values below 2048 are in bucket 0.
    const auto shift = static_cast<uint32_t>(64 - std::countl_zero(value_ns | (kSubBuckets - 1))) - 11U;
    return (shift << kSubBucketHalfBits) + static_cast<uint32_t>(value_ns >> shift);
  }
  // Smallest and largest value that share bucket `index`.
  static constexpr uint64_t LowestNs(uint32_t index) {
    const uint32_t shift = ShiftOf(index);
    return uint64_t{index - (shift << kSubBucketHalfBits)} << shift;
  }
  static constexpr uint64_t HighestNs(uint32_t index) { return LowestNs(index) + (uint64_t{1} << ShiftOf(index)) - 1; }
  // Middle of the bucket, as HdrHistogram's medianEquivalentValue.
  static constexpr uint64_t MiddleNs(uint32_t index) {
    return LowestNs(index) + ((uint64_t{1} << ShiftOf(index)) >> 1);
  }

 private:
  static constexpr uint32_t ShiftOf(uint32_t index) {
    return index < kSubBuckets ? 0 : (index >> kSubBucketHalfBits) - 1;
  }
};
static_assert(HistogramLayout::IndexOf(2047) == 2047);
static_assert(HistogramLayout::IndexOf(2048) == 2048);
static_assert(HistogramLayout::IndexOf(HistogramLayout::kMaxValueNs) < HistogramLayout::kBuckets);

// The exact sum of a distribution from the wire.
inline absl::uint128 SumNs(const v1::Distribution& wire) {
  return absl::MakeUint128(wire.sum_ns_high(), wire.sum_ns());
}

// Rank of a percentile among so many values in ascending order, by HdrHistogram's rule (nearest rank): the least that
// is at least that share of them, from 1 on; 0 where there is none. `percent` in [0, 100], taken to nine decimals.
uint64_t PercentileRank(uint64_t count, double percent);

// Number of values that must lie beyond a percentile's rank; with fewer it is known only roughly.
inline constexpr uint32_t kNeededBeyond = 10;
// Whether a percentile of so many values is known.
bool IsKnown(uint64_t count, double percent);

// Histogram with exact count, sum, minimum and maximum. Not thread-safe.
//
// Counters live in chunks of 8 KiB, one a power of two, made when they are first used (264 KiB where all are): a scope
// whose latencies span 0.3 to 20 ms takes 56 KiB. Values above 1 h are counted in the last bucket and as clamped; sum
// and maximum stay exact. The sum has 128 bits: response times of writers that cannot keep to their schedule grow with
// the square of the time and pass 2^63 ns within minutes.
class Histogram {
 public:
  Histogram() : chunks_(HistogramLayout::kBuckets / kChunk) {}

  // A few ns where the bucket is in the cache. Allocates where a power of two is met for the first time.
  void Record(uint64_t value_ns) {
    ++Counter(Layout::IndexOf(std::min(value_ns, Layout::kMaxValueNs)));
    if (value_ns > Layout::kMaxValueNs) ++clamped_;
    ++count_;
    sum_ns_ += value_ns;
    min_ns_ = std::min(min_ns_, value_ns);
    max_ns_ = std::max(max_ns_, value_ns);
  }
  void RecordN(uint64_t value_ns, uint64_t n);

  // Adding is exact and does not depend on the order.
  void Merge(const Histogram& other);
  // Adds a distribution from the wire. INVALID_ARGUMENT, and nothing is changed, where it contradicts itself: an index
  // beyond the layout, a zero count, counts that do not add up, minimum or maximum outside their buckets, a sum that
  // the buckets cannot have. More than 2^53 values are refused, too.
  absl::Status Merge(const v1::Distribution& wire);
  void Clear();

  uint64_t count() const { return count_; }
  absl::uint128 sum_ns() const { return sum_ns_; }
  // 0 where the histogram is empty.
  uint64_t min_ns() const { return count_ == 0 ? 0 : min_ns_; }
  uint64_t max_ns() const { return max_ns_; }
  uint64_t clamped() const { return clamped_; }
  double mean_ns() const { return count_ == 0 ? 0 : static_cast<double>(sum_ns_) / static_cast<double>(count_); }

  // HdrHistogram's rule: highest value of the bucket of PercentileRank, but never above the exact maximum (nor below
  // the exact minimum). 0 where the histogram is empty.
  uint64_t PercentileNs(double percent) const;
  // How many recorded values lie in buckets wholly above the bucket of `value_ns`.
  uint64_t CountAbove(uint64_t value_ns) const;
  // xdisk's weighted average: sum of n^2 t over sum of n^2, n the count of a bucket and t its middle, clamped to the
  // exact extremes. Close to the most likely latency. 0 where the histogram is empty.
  double WeightedMeanNs() const;
  // Count of one bucket of HistogramLayout.
  uint64_t CountAt(uint32_t index) const {
    const std::vector<uint64_t>& chunk = chunks_[index / kChunk];
    return chunk.empty() ? 0 : chunk[index % kChunk];
  }
  // Calls visit(lowest value, count) for every bucket that is not empty, in order.
  template <typename Visit>
  void ForEachBucket(Visit visit) const {
    if (count_ == 0) return;
    for (uint32_t i = LowIndex(); i <= HighIndex(); ++i) {
      if (const uint64_t count = CountAt(i); count > 0) visit(Layout::LowestNs(i), count);
    }
  }

  // Sparse form for the wire and the journal.
  v1::Distribution ToProto() const;

 private:
  using Layout = HistogramLayout;
  static constexpr uint32_t kChunk = 1024;

  // First and last bucket that is not empty, of a histogram that is not.
  uint32_t LowIndex() const { return Layout::IndexOf(std::min(min_ns_, Layout::kMaxValueNs)); }
  uint32_t HighIndex() const { return Layout::IndexOf(std::min(max_ns_, Layout::kMaxValueNs)); }
  uint64_t& Counter(uint32_t index) {
    std::vector<uint64_t>& chunk = chunks_[index / kChunk];
    if (chunk.empty()) chunk.resize(kChunk);
    return chunk[index % kChunk];
  }

  uint64_t count_ = 0;
  absl::uint128 sum_ns_ = 0;
  uint64_t min_ns_ = UINT64_MAX;
  uint64_t max_ns_ = 0;
  uint64_t clamped_ = 0;
  std::vector<std::vector<uint64_t>> chunks_;  // each empty, or kChunk counters
};

}  // namespace plimsoll
