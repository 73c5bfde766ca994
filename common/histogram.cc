#include "common/histogram.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace plimsoll {

using Layout = HistogramLayout;

namespace {

__extension__ using Wide = unsigned __int128;

// What 2^53 values need is exact in a double; no run makes as many.
constexpr uint64_t kMaxCount = uint64_t{1} << 53U;

absl::Status Contradiction(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("histogram: ", what));
}

// The buckets of a sparse histogram, checked against each other.
struct Buckets {
  uint32_t first = 0;
  uint32_t last = 0;
  uint64_t total = 0;
  // The least and the most that the values can add up to, clamped values taken as 1 h.
  Wide least_sum = 0;
  Wide most_sum = 0;
};

absl::Status CheckBuckets(const v1::SparseHistogram& sparse, Buckets& buckets) {
  if (sparse.index_delta_size() != sparse.count_size()) return Contradiction("as many indices as counts are needed");
  uint64_t index = 0;
  for (int i = 0; i < sparse.count_size(); ++i) {
    const uint64_t n = sparse.count(i);
    if (i > 0 && sparse.index_delta(i) == 0) return Contradiction("a bucket occurs twice");
    index += sparse.index_delta(i);
    if (index > Layout::IndexOf(Layout::kMaxValueNs)) return Contradiction("index beyond the layout");
    if (n == 0) return Contradiction("an empty bucket");
    if (n > kMaxCount || buckets.total + n > kMaxCount) return Contradiction("more values than can be");
    buckets.total += n;
    buckets.last = static_cast<uint32_t>(index);
    if (i == 0) buckets.first = buckets.last;
    buckets.least_sum += Wide{n} * Layout::LowestNs(buckets.last);
    buckets.most_sum += Wide{n} * Layout::HighestNs(buckets.last);
  }
  return absl::OkStatus();
}

// Whether count, sum, minimum, maximum and the clamped values can belong to such buckets.
absl::Status CheckFigures(const v1::Distribution& wire, const Buckets& buckets) {
  if (wire.count() != buckets.total) {
    return Contradiction(absl::StrCat("buckets hold ", buckets.total, " of ", wire.count(), " values"));
  }
  const uint64_t clamped = wire.histogram().clamped();
  if (buckets.total == 0) {
    const bool empty = SumNs(wire) == 0 && wire.min_ns() == 0 && wire.max_ns() == 0 && clamped == 0;
    return empty ? absl::OkStatus() : Contradiction("figures of no values");
  }
  if (wire.min_ns() > wire.max_ns() || Layout::IndexOf(std::min(wire.min_ns(), Layout::kMaxValueNs)) != buckets.first ||
      Layout::IndexOf(std::min(wire.max_ns(), Layout::kMaxValueNs)) != buckets.last) {
    return Contradiction("minimum or maximum outside its bucket");
  }
  const uint64_t most_clamped =
      wire.max_ns() > Layout::kMaxValueNs ? wire.histogram().count(wire.histogram().count_size() - 1) : 0;
  if (clamped > most_clamped || (clamped == 0) != (most_clamped == 0)) {
    return Contradiction("clamped values that cannot be");
  }
  const Wide beyond = Wide{clamped} * (wire.max_ns() - std::min(wire.max_ns(), Layout::kMaxValueNs));
  const auto sum = static_cast<Wide>(SumNs(wire));
  if (sum < buckets.least_sum || sum > buckets.most_sum + beyond || sum < Wide{wire.count()} * wire.min_ns() ||
      sum > Wide{wire.count()} * wire.max_ns()) {
    return Contradiction("a sum that the values cannot have");
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t PercentileRank(uint64_t count, double percent) {
  // In whole billionths: 99.9 % of 1000 values is rank 999, and in doubles would be a little more.
  constexpr uint64_t kAll = 100'000'000'000;
  const auto part = percent > 0 ? static_cast<uint64_t>(std::llround(std::min(percent, 100.0) * 1e9)) : 0;
  const auto rank = static_cast<uint64_t>((Wide{count} * part + kAll - 1) / kAll);
  return std::min(std::max<uint64_t>(rank, 1), count);
}

bool IsKnown(uint64_t count, double percent) {
  return count - PercentileRank(count, percent) >= kNeededBeyond;
}

void Histogram::RecordN(uint64_t value_ns, uint64_t n) {
  if (n == 0) return;
  Counter(Layout::IndexOf(std::min(value_ns, Layout::kMaxValueNs))) += n;
  if (value_ns > Layout::kMaxValueNs) clamped_ += n;
  count_ += n;
  sum_ns_ += absl::uint128(value_ns) * n;
  min_ns_ = std::min(min_ns_, value_ns);
  max_ns_ = std::max(max_ns_, value_ns);
}

void Histogram::Merge(const Histogram& other) {
  if (other.count_ == 0) return;
  for (uint32_t i = other.LowIndex() / kChunk; i <= other.HighIndex() / kChunk; ++i) {
    const std::vector<uint64_t>& from = other.chunks_[i];
    if (from.empty()) continue;
    std::vector<uint64_t>& to = chunks_[i];
    if (to.empty()) to.resize(kChunk);
    for (uint32_t k = 0; k < kChunk; ++k) to[k] += from[k];
  }
  count_ += other.count_;
  sum_ns_ += other.sum_ns_;
  min_ns_ = std::min(min_ns_, other.min_ns_);
  max_ns_ = std::max(max_ns_, other.max_ns_);
  clamped_ += other.clamped_;
}

absl::Status Histogram::Merge(const v1::Distribution& wire) {
  Buckets buckets;
  PLIMSOLL_RETURN_IF_ERROR(CheckBuckets(wire.histogram(), buckets));
  PLIMSOLL_RETURN_IF_ERROR(CheckFigures(wire, buckets));
  if (buckets.total == 0) return absl::OkStatus();
  if (count_ > kMaxCount - buckets.total) return Contradiction("more values than can be");
  const v1::SparseHistogram& sparse = wire.histogram();
  uint32_t index = 0;
  for (int i = 0; i < sparse.count_size(); ++i) {
    index += sparse.index_delta(i);
    Counter(index) += sparse.count(i);
  }
  count_ += buckets.total;
  sum_ns_ += SumNs(wire);
  min_ns_ = std::min(min_ns_, wire.min_ns());
  max_ns_ = std::max(max_ns_, wire.max_ns());
  clamped_ += sparse.clamped();
  return absl::OkStatus();
}

void Histogram::Clear() {
  if (count_ == 0) return;
  for (uint32_t i = LowIndex() / kChunk; i <= HighIndex() / kChunk; ++i) {
    std::fill(chunks_[i].begin(), chunks_[i].end(), 0);
  }
  count_ = max_ns_ = clamped_ = 0;
  sum_ns_ = 0;
  min_ns_ = UINT64_MAX;
}

uint64_t Histogram::PercentileNs(double percent) const {
  if (count_ == 0) return 0;
  const uint64_t rank = PercentileRank(count_, percent);
  const uint32_t last = HighIndex();
  uint64_t seen = 0;
  for (uint32_t i = LowIndex(); i <= last; ++i) {
    seen += CountAt(i);
    if (seen >= rank) {
      // The last bucket may hold clamped values: only the exact maximum is true there.
      if (clamped_ > 0 && i == last) return max_ns_;
      return std::clamp(Layout::HighestNs(i), min_ns_, max_ns_);
    }
  }
  return max_ns_;
}

uint64_t Histogram::CountAbove(uint64_t value_ns) const {
  if (count_ == 0) return 0;
  uint64_t above = 0;
  const uint32_t last = HighIndex();
  const uint32_t from = Layout::IndexOf(std::min(value_ns, Layout::kMaxValueNs)) + 1;
  for (uint32_t i = std::max(from, LowIndex()); i <= last; ++i) above += CountAt(i);
  return above;
}

double Histogram::WeightedMeanNs() const {
  if (count_ == 0) return 0;
  const uint32_t last = HighIndex();
  double weighted = 0;
  double weights = 0;
  for (uint32_t i = LowIndex(); i <= last; ++i) {
    const auto n = static_cast<double>(CountAt(i));
    if (n == 0) continue;
    const auto t = static_cast<double>(std::clamp(Layout::MiddleNs(i), min_ns_, max_ns_));
    weighted += n * n * t;
    weights += n * n;
  }
  return weighted / weights;
}

v1::Distribution Histogram::ToProto() const {
  v1::Distribution wire;
  wire.set_count(count_);
  if (count_ == 0) return wire;
  wire.set_sum_ns(absl::Uint128Low64(sum_ns_));
  wire.set_sum_ns_high(absl::Uint128High64(sum_ns_));
  wire.set_min_ns(min_ns_);
  wire.set_max_ns(max_ns_);
  v1::SparseHistogram& sparse = *wire.mutable_histogram();
  sparse.set_clamped(clamped_);
  const uint32_t last = HighIndex();
  uint32_t previous = 0;
  for (uint32_t i = LowIndex(); i <= last; ++i) {
    const uint64_t n = CountAt(i);
    if (n == 0) continue;
    sparse.add_index_delta(i - previous);
    sparse.add_count(n);
    previous = i;
  }
  return wire;
}

}  // namespace plimsoll
