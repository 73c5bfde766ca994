#include "agent/log/unserved_ages.h"

#include <algorithm>

#include "common/histogram.h"

namespace plimsoll {
namespace {

// Random arrivals are summed one by one up to so many, a second's work; the sum of more is made from the middles of the
// histogram's buckets, and so is as exact as they are: to 0.1 %.
constexpr uint64_t kMostRandomSummed = uint64_t{1} << 24;

}  // namespace

v1::Distribution UnservedAges(const RateSchedule& schedule, uint64_t from, uint64_t to, int64_t end_ns) {
  using Layout = HistogramLayout;
  v1::Distribution ages;
  if (from >= to) return ages;
  const auto age_of = [&](uint64_t write) { return static_cast<uint64_t>(end_ns - schedule.DueAt(write)); };
  // The first write that is at most so old.
  const auto first_within = [&](uint64_t age_ns) {
    return std::max(from, schedule.DueBefore(end_ns - static_cast<int64_t>(age_ns)));
  };
  ages.set_count(to - from);
  ages.set_min_ns(age_of(to - 1));
  ages.set_max_ns(age_of(from));
  const bool summed = !schedule.random() || to - from <= kMostRandomSummed;
  absl::uint128 sum = 0;
  if (summed) {
    const auto start_age_ns = static_cast<uint64_t>(end_ns - schedule.start_ns());
    sum = absl::uint128(to - from) * start_age_ns - schedule.SumOfDelays(from, to);
  }
  v1::SparseHistogram& sparse = *ages.mutable_histogram();
  const uint64_t not_clamped = first_within(Layout::kMaxValueNs);
  sparse.set_clamped(std::min(not_clamped, to) - from);
  // From the youngest to the oldest, which are those with the smallest numbers.
  const uint32_t last = Layout::IndexOf(std::min(ages.max_ns(), Layout::kMaxValueNs));
  uint32_t previous = 0;
  uint64_t end = to;
  for (uint32_t i = Layout::IndexOf(std::min(ages.min_ns(), Layout::kMaxValueNs)); i <= last; ++i) {
    const uint64_t first = i == last ? from : first_within(Layout::HighestNs(i));
    if (first >= end) continue;
    sparse.add_index_delta(i - previous);
    sparse.add_count(end - first);
    if (!summed) {
      sum += absl::uint128(end - first) * std::clamp(Layout::MiddleNs(i), ages.min_ns(), ages.max_ns());
    }
    previous = i;
    end = first;
  }
  ages.set_sum_ns(absl::Uint128Low64(sum));
  ages.set_sum_ns_high(absl::Uint128High64(sum));
  return ages;
}

}  // namespace plimsoll
