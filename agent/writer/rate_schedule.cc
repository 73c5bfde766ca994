#include "agent/writer/rate_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/histogram.h"
#include "common/integers.h"

namespace plimsoll {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr uint64_t kNsMicro = 1'000'000'000'000'000;
constexpr int64_t kEndNs = int64_t{1} << 62;
constexpr int64_t kCellsOfFirstBlock = 64;
// Up to here a count is shared out bit by bit.
constexpr uint64_t kMostExact = 512;
// Up to here a block's count is found by inversion.
constexpr double kMostInverted = 500;
constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;

// Draw number `n` of a key.
uint64_t DrawOf(uint64_t key, uint64_t n) {
  return MixBits((key ^ MixBits(n + kGolden)) + kGolden);
}

// In (0, 1).
double UniformOf(uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

double NormalOf(uint64_t key) {
  const double radius = std::sqrt(-2 * std::log(UniformOf(DrawOf(key, 1))));
  return radius * std::cos(2 * std::numbers::pi * UniformOf(DrawOf(key, 2)));
}

// Binomial with probability 1/2.
uint64_t HalfOf(uint64_t count, uint64_t key) {
  if (count > kMostExact) {
    const auto whole = static_cast<double>(count);
    const double half = std::floor(whole / 2 + NormalOf(key) * std::sqrt(whole) / 2 + 0.5);
    return static_cast<uint64_t>(std::clamp(half, 0.0, whole));
  }
  uint64_t half = 0;
  for (uint64_t done = 0; done < count; done += 64) {
    uint64_t bits = DrawOf(key, done);
    if (count - done < 64) bits &= (uint64_t{1} << (count - done)) - 1;
    half += static_cast<uint64_t>(__builtin_popcountll(bits));
  }
  return half;
}

uint64_t PoissonOf(double mean, uint64_t key) {
  if (mean > kMostInverted) {
    const double z = NormalOf(key);
    // Cornish and Fisher's term for the skew: what remains is below 1 / mean.
    return static_cast<uint64_t>(std::max(std::floor(mean + z * std::sqrt(mean) + (z * z - 1) / 6 + 0.5), 0.0));
  }
  const double wanted = UniformOf(DrawOf(key, 0));
  double probability = std::exp(-mean);
  double sum = probability;
  uint64_t count = 0;
  while (sum < wanted && probability > 0) {
    ++count;
    probability *= mean / static_cast<double>(count);
    sum += probability;
  }
  return count;
}

// Where arrival number `i` of a cell lies, not in order.
int64_t OffsetOf(uint64_t cell_key, uint64_t i, int64_t length_ns) {
  return static_cast<int64_t>(Wide{DrawOf(cell_key, i)} * static_cast<uint64_t>(length_ns) >> 64U);
}

}  // namespace

PoissonArrivals::PoissonArrivals(Key key, uint64_t rate_micro)
    : cell_ns_(static_cast<int64_t>((kNsMicro + rate_micro / 2) / rate_micro)),
      key_(MixBits((MixBits((uint64_t{key.seed} << 32U | key.host) + kGolden) ^ key.writer) + kGolden)) {
  while (blocks_ < kMostBlocks) {
    const int64_t length_ns = Block(blocks_).length_ns;
    const double mean =
        static_cast<double>(length_ns) / static_cast<double>(kNsMicro) * static_cast<double>(rate_micro);
    first_[blocks_ + 1] = first_[blocks_] + PoissonOf(mean, DrawOf(key_, blocks_));
    ++blocks_;
    if (length_ns >= kEndNs / 4) break;
  }
}

PoissonArrivals::Node PoissonArrivals::Block(size_t number) const {
  const int64_t first_length_ns = kCellsOfFirstBlock * cell_ns_;
  const int64_t length_ns = number == 0 ? first_length_ns : first_length_ns << (number - 1);
  return {number == 0 ? 0 : length_ns, length_ns, first_[number], first_[number + 1] - first_[number],
          DrawOf(key_, kMostBlocks + number)};
}

PoissonArrivals::Node PoissonArrivals::Half(const Node& node, uint64_t left, bool second) {
  const int64_t half_ns = node.length_ns / 2;
  if (!second) return {node.begin_ns, half_ns, node.first, left, DrawOf(node.key, 1'000'001)};
  return {node.begin_ns + half_ns, half_ns, node.first + left, node.count - left, DrawOf(node.key, 1'000'002)};
}

int64_t PoissonArrivals::At(uint64_t n) const {
  if (n >= first_[blocks_]) return kEndNs;
  const auto holds = [n](const Node& node) { return n >= node.first && n - node.first < node.count; };
  while (depth_ > 0 && !holds(path_[depth_ - 1])) --depth_;
  if (depth_ == 0) {
    const auto after = std::upper_bound(first_.begin(), first_.begin() + static_cast<std::ptrdiff_t>(blocks_) + 1, n);
    path_[depth_++] = Block(static_cast<size_t>(after - first_.begin()) - 1);
  }
  while (path_[depth_ - 1].length_ns > cell_ns_) {
    const Node& whole = path_[depth_ - 1];
    const uint64_t left = HalfOf(whole.count, whole.key);
    path_[depth_++] = Half(whole, left, n >= whole.first + left);
  }
  const Node& cell = path_[depth_ - 1];
  // The one that as many others precede; of equal ones the lower number is the earlier. A cell holds one on average.
  for (uint64_t i = 0;; ++i) {
    const int64_t offset_ns = OffsetOf(cell.key, i, cell.length_ns);
    uint64_t before = 0;
    for (uint64_t other = 0; other < cell.count; ++other) {
      const int64_t other_ns = OffsetOf(cell.key, other, cell.length_ns);
      if (other_ns < offset_ns || (other_ns == offset_ns && other < i)) ++before;
    }
    if (before == n - cell.first) return cell.begin_ns + offset_ns;
  }
}

uint64_t PoissonArrivals::Before(int64_t elapsed_ns) const {
  if (elapsed_ns <= 0) return 0;
  const auto holds = [elapsed_ns](const Node& node) {
    return elapsed_ns >= node.begin_ns && elapsed_ns - node.begin_ns < node.length_ns;
  };
  while (depth_ > 0 && !holds(path_[depth_ - 1])) --depth_;
  if (depth_ == 0) {
    size_t number = 0;
    while (number < blocks_ && !holds(Block(number))) ++number;
    if (number == blocks_) return first_[blocks_];
    path_[depth_++] = Block(number);
  }
  while (path_[depth_ - 1].length_ns > cell_ns_) {
    const Node& whole = path_[depth_ - 1];
    path_[depth_++] = Half(whole, HalfOf(whole.count, whole.key), elapsed_ns >= whole.begin_ns + whole.length_ns / 2);
  }
  const Node& cell = path_[depth_ - 1];
  uint64_t before = cell.first;
  for (uint64_t i = 0; i < cell.count; ++i) {
    if (cell.begin_ns + OffsetOf(cell.key, i, cell.length_ns) < elapsed_ns) ++before;
  }
  return before;
}

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

v1::Distribution NotIssuedAges(const RateSchedule& schedule, uint64_t from, uint64_t to, int64_t end_ns,
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

v1::Distribution ChosenNotIssuedAges(const RateSchedule& schedule, uint64_t from, uint64_t to, int64_t end_ns,
                                     const ChosenWrites& chosen) {
  constexpr uint64_t kSummedOneByOne = 1 << 16;
  const uint64_t count = from < to ? chosen.Count(from, to) : 0;
  if (count == 0) return {};
  const auto age_of = [&](uint64_t write) { return static_cast<uint64_t>(end_ns - schedule.DueAt(write)); };
  const v1::Distribution all = NotIssuedAges(schedule, from, to, end_ns);
  v1::Distribution ages;
  ages.set_count(count);
  uint64_t oldest = from;
  while (chosen.Count(oldest, oldest + 1) == 0) ++oldest;
  uint64_t youngest = to - 1;
  while (chosen.Count(youngest, youngest + 1) == 0) --youngest;
  ages.set_min_ns(age_of(youngest));
  ages.set_max_ns(age_of(oldest));
  absl::uint128 sum = 0;
  if (to - from <= kSummedOneByOne) {
    for (uint64_t write = from; write < to; ++write) {
      if (chosen.Count(write, write + 1) > 0) sum += age_of(write);
    }
  } else {
    const absl::uint128 sum_of_all = absl::MakeUint128(all.sum_ns_high(), all.sum_ns());
    sum = sum_of_all / (to - from) * count;
    sum = std::clamp(sum, absl::uint128(count) * ages.min_ns(), absl::uint128(count) * ages.max_ns());
  }
  ages.set_sum_ns(absl::Uint128Low64(sum));
  ages.set_sum_ns_high(absl::Uint128High64(sum));
  v1::SparseHistogram& sparse = *ages.mutable_histogram();
  sparse.set_clamped(chosen.Count(from, from + all.histogram().clamped()));
  // Each bucket holds consecutive writes; the youngest come first.
  uint32_t index = 0;
  uint32_t previous = 0;
  uint64_t end = to;
  for (int i = 0; i < all.histogram().count_size(); ++i) {
    index += all.histogram().index_delta(i);
    const uint64_t first = end - all.histogram().count(i);
    if (const uint64_t in_bucket = chosen.Count(first, end); in_bucket > 0) {
      sparse.add_index_delta(index - previous);
      sparse.add_count(in_bucket);
      previous = index;
    }
    end = first;
  }
  return ages;
}

}  // namespace plimsoll
