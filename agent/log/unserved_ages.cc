#include "agent/log/unserved_ages.h"

#include <algorithm>

#include "common/histogram.h"

namespace plimsoll {
namespace {

absl::uint128 SumOfAges(const RateSchedule& schedule, uint64_t from, uint64_t to, int64_t end_ns,
                        uint64_t most_summed) {
  if (!schedule.random() || to - from <= most_summed) {
    const auto start_age_ns = static_cast<uint64_t>(end_ns - schedule.start_ns());
    return absl::uint128(to - from) * start_age_ns - schedule.SumOfDelays(from, to);
  }
  // The writes of a slice of time are half a slice from its middle at most, and as many before as after it but for
  // chance.
  constexpr int64_t kSlices = 1 << 16;
  const int64_t begin_ns = schedule.DueAt(from);
  const int64_t slice_ns = (end_ns - begin_ns) / kSlices + 1;
  absl::uint128 sum = 0;
  for (int64_t slice_end_ns = begin_ns + slice_ns; from < to; slice_end_ns += slice_ns) {
    const uint64_t next = std::min(to, schedule.DueBefore(slice_end_ns));
    sum +=
        absl::uint128(next - from) * static_cast<uint64_t>(std::max<int64_t>(end_ns - slice_end_ns + slice_ns / 2, 0));
    from = next;
  }
  return sum;
}

}  // namespace

v1::Distribution UnservedAges(const RateSchedule& schedule, uint64_t from, uint64_t to, int64_t end_ns,
                              uint64_t most_summed) {
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
  const absl::uint128 sum = SumOfAges(schedule, from, to, end_ns, most_summed);
  ages.set_sum_ns(absl::Uint128Low64(sum));
  ages.set_sum_ns_high(absl::Uint128High64(sum));
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
    previous = i;
    end = first;
  }
  return ages;
}

}  // namespace plimsoll
