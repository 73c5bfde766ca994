#include "common/histogram.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace plimsoll {

using Layout = HistogramLayout;

void Histogram::RecordN(uint64_t value_ns, uint64_t n) {
  if (n == 0) return;
  uint64_t binned = value_ns;
  if (binned > Layout::kMaxValueNs) {
    binned = Layout::kMaxValueNs;
    clamped_ += n;
  }
  const uint32_t index = Layout::IndexOf(binned);
  Counter(index) += n;
  low_index_ = std::min(low_index_, index);
  high_index_ = std::max(high_index_, index);
  count_ += n;
  sum_ns_ += value_ns * n;
  min_ns_ = std::min(min_ns_, value_ns);
  max_ns_ = std::max(max_ns_, value_ns);
}

void Histogram::Merge(const Histogram& other) {
  if (other.count_ == 0) return;
  for (uint32_t i = other.low_index_; i <= other.high_index_; ++i) {
    if (const uint64_t n = other.CountAt(i); n != 0) Counter(i) += n;
  }
  low_index_ = std::min(low_index_, other.low_index_);
  high_index_ = std::max(high_index_, other.high_index_);
  count_ += other.count_;
  sum_ns_ += other.sum_ns_;
  min_ns_ = std::min(min_ns_, other.min_ns_);
  max_ns_ = std::max(max_ns_, other.max_ns_);
  clamped_ += other.clamped_;
}

absl::Status Histogram::Merge(const v1::Distribution& wire) {
  const v1::SparseHistogram& sparse = wire.histogram();
  if (sparse.index_delta_size() != sparse.count_size()) {
    return absl::InvalidArgumentError("histogram: as many indices as counts are needed");
  }
  if (wire.count() == 0) {
    if (sparse.count_size() != 0) return absl::InvalidArgumentError("histogram: buckets without a count");
    return absl::OkStatus();
  }
  if (sparse.count_size() == 0) return absl::InvalidArgumentError("histogram: a count without buckets");
  uint64_t index = 0;
  uint64_t total = 0;
  uint64_t first = 0;
  for (int i = 0; i < sparse.count_size(); ++i) {
    if (i > 0 && sparse.index_delta(i) == 0) return absl::InvalidArgumentError("histogram: a bucket stands twice");
    index += sparse.index_delta(i);
    if (i == 0) first = index;
    if (index >= Layout::kBuckets) return absl::InvalidArgumentError("histogram: index beyond the layout");
    if (sparse.count(i) == 0) return absl::InvalidArgumentError("histogram: an empty bucket");
    if (__builtin_add_overflow(total, sparse.count(i), &total)) {
      return absl::InvalidArgumentError("histogram: counts beyond 64 bits");
    }
  }
  if (total != wire.count()) {
    return absl::InvalidArgumentError(absl::StrCat("histogram: buckets hold ", total, " of ", wire.count(), " values"));
  }
  const uint64_t last = index;
  if (Layout::IndexOf(std::min(wire.min_ns(), Layout::kMaxValueNs)) != first ||
      Layout::IndexOf(std::min(wire.max_ns(), Layout::kMaxValueNs)) != last || wire.min_ns() > wire.max_ns() ||
      sparse.clamped() > sparse.count(sparse.count_size() - 1)) {
    return absl::InvalidArgumentError("histogram: minimum or maximum outside its bucket");
  }
  index = 0;
  for (int i = 0; i < sparse.count_size(); ++i) {
    index += sparse.index_delta(i);
    Counter(static_cast<uint32_t>(index)) += sparse.count(i);
  }
  low_index_ = std::min(low_index_, static_cast<uint32_t>(first));
  high_index_ = std::max(high_index_, static_cast<uint32_t>(last));
  count_ += wire.count();
  sum_ns_ += wire.sum_ns();
  min_ns_ = std::min(min_ns_, wire.min_ns());
  max_ns_ = std::max(max_ns_, wire.max_ns());
  clamped_ += sparse.clamped();
  return absl::OkStatus();
}

void Histogram::Clear() {
  for (std::vector<uint64_t>& chunk : chunks_) std::fill(chunk.begin(), chunk.end(), 0);
  count_ = sum_ns_ = max_ns_ = clamped_ = 0;
  min_ns_ = UINT64_MAX;
  low_index_ = Layout::kBuckets;
  high_index_ = 0;
}

uint64_t Histogram::PercentileNs(double percent) const {
  if (count_ == 0) return 0;
  const double clipped = std::clamp(percent, 0.0, 100.0);
  const auto wanted = static_cast<uint64_t>(std::ceil(clipped / 100.0 * static_cast<double>(count_)));
  const uint64_t rank = std::clamp<uint64_t>(wanted, 1, count_);
  uint64_t seen = 0;
  for (uint32_t i = low_index_; i <= high_index_; ++i) {
    seen += CountAt(i);
    if (seen >= rank) {
      // The last bucket may hold clamped values: only the exact maximum is true there.
      if (clamped_ > 0 && i == high_index_) return max_ns_;
      return std::clamp(Layout::HighestNs(i), min_ns_, max_ns_);
    }
  }
  return max_ns_;
}

uint64_t Histogram::CountAbove(uint64_t value_ns) const {
  if (count_ == 0) return 0;
  uint64_t above = 0;
  const uint32_t from = Layout::IndexOf(std::min(value_ns, Layout::kMaxValueNs)) + 1;
  for (uint32_t i = std::max(from, low_index_); i <= high_index_; ++i) above += CountAt(i);
  return above;
}

double Histogram::WeightedMeanNs() const {
  if (count_ == 0) return 0;
  double weighted = 0;
  double weights = 0;
  for (uint32_t i = low_index_; i <= high_index_; ++i) {
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
  wire.set_sum_ns(sum_ns_);
  wire.set_min_ns(min_ns_);
  wire.set_max_ns(max_ns_);
  v1::SparseHistogram& sparse = *wire.mutable_histogram();
  sparse.set_clamped(clamped_);
  uint32_t previous = 0;
  for (uint32_t i = low_index_; i <= high_index_; ++i) {
    const uint64_t n = CountAt(i);
    if (n == 0) continue;
    sparse.add_index_delta(i - previous);
    sparse.add_count(n);
    previous = i;
  }
  return wire;
}

}  // namespace plimsoll
