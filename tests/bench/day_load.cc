#include "tests/bench/day_load.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>

#include "agent/writer/operation_tally.h"
#include "common/histogram.h"
#include "common/units.h"

namespace plimsoll::tests {
namespace {

constexpr size_t kUsualSeconds = 192;
// Hosts are of three kinds; the slower ones take half as long again, and twice as long.
constexpr size_t kHostKinds = 3;
// Writes that are late by this share of the time between two still end in their second.
constexpr int64_t kLargestPhasePercent = 40;
constexpr int64_t kWaveNs = 6 * 3'600 * kNsPerSecond;
// Stalls lie so far from the step's begin and end.
constexpr int64_t kStallMarginS = 40;

// A number that is random for people and the same for the same arguments (splitmix64).
uint64_t Hash(uint64_t a, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0) {
  uint64_t state = a;
  for (const uint64_t next : {b, c, d}) {
    state += 0x9E3779B97F4A7C15U + next;
    state = (state ^ (state >> 30U)) * 0xBF58476D1CE4E5B9U;
    state = (state ^ (state >> 27U)) * 0x94D049BB133111EBU;
    state ^= state >> 31U;
  }
  return state;
}

double Between(uint64_t hash, double least, double most) {
  return least + (most - least) * static_cast<double>(hash >> 11U) / static_cast<double>(uint64_t{1} << 53U);
}

// One after another, each when it is due and the one before it has ended.
std::vector<DayWrite> DrawUsual(uint32_t rate, double median_ns, std::mt19937_64& random) {
  const int64_t gap_ns = kNsPerSecond / rate;
  std::lognormal_distribution<double> usual(std::log(median_ns), 0.5);
  std::uniform_real_distribution<double> rare(0, 1);
  std::uniform_int_distribution<int64_t> tail_ns(2 * kNsPerMs, 20 * kNsPerMs);
  std::vector<DayWrite> writes;
  int64_t end_ns = 0;
  for (uint32_t write = 0; write < rate; ++write) {
    DayWrite& next = writes.emplace_back();
    next.due_ns = int64_t{write} * kNsPerSecond / rate;
    next.start_ns = std::max(next.due_ns, end_ns);
    // What the last tenth of a second is late by could reach the next one.
    const bool may_be_slow = write + 1 < rate && next.due_ns < kNsPerSecond * 9 / 10;
    const bool slow = may_be_slow && rare(random) < 0.002;
    const int64_t latency_ns = slow ? tail_ns(random) : std::llround(usual(random));
    next.latency_ns = std::clamp<int64_t>(latency_ns, 20 * kNsPerUs, slow ? INT64_MAX : gap_ns * 9 / 10);
    if (write + 1 == rate) next.latency_ns = std::min(next.latency_ns, gap_ns / 2);
    end_ns = next.end_ns();
  }
  return writes;
}

std::vector<uint32_t> Slowest(const std::vector<DayWrite>& writes) {
  std::set<uint32_t> slowest;
  const auto add = [&](const auto& time_ns) {
    std::vector<uint32_t> order(writes.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return time_ns(writes[a]) > time_ns(writes[b]); });
    order.resize(std::min(order.size(), SlowestWrites::kKept));
    slowest.insert(order.begin(), order.end());
  };
  add([](const DayWrite& write) { return static_cast<uint64_t>(write.latency_ns); });
  add([](const DayWrite& write) { return write.response_ns(); });
  return {slowest.begin(), slowest.end()};
}

}  // namespace

DriftingClock::DriftingClock(uint64_t seed, uint32_t host)
    : ahead_ns_(static_cast<int64_t>(Hash(seed, host, 1) % 100'000) * kNsPerSecond),
      drift_(Between(Hash(seed, host, 2), -50e-6, 50e-6)),
      // At most 5 ppm at its steepest.
      wave_ns_(Between(Hash(seed, host, 3), 0, 5e-6 * static_cast<double>(kWaveNs) / (2 * std::numbers::pi))),
      wave_phase_(Between(Hash(seed, host, 4), 0, 2 * std::numbers::pi)) {}

int64_t DriftingClock::AheadNs(int64_t world_ns) const {
  const auto since_ns = static_cast<double>(world_ns);
  const double wave = wave_ns_ * std::sin(2 * std::numbers::pi * since_ns / static_cast<double>(kWaveNs) + wave_phase_);
  return ahead_ns_ + std::llround(drift_ * since_ns + wave);
}

MonotonicNs DriftingClock::InWorld(int64_t moment_ns) const {
  // Each round leaves at most 1/10,000 of the error before it.
  int64_t world_ns = moment_ns - ahead_ns_;
  for (int round = 0; round < 4; ++round) world_ns = moment_ns - AheadNs(world_ns);
  return {world_ns};
}

DayLoad::DayLoad(const DaySize& size) : size_(size) {
  if (size.hosts == 0 || size.queue_managers == 0 || size.length_s < kShortestS || size.rate == 0 ||
      size.rate > kHighestRate) {
    throw std::invalid_argument("a fleet has a host, a queue manager, 120 s and a rate from 1 to 4000 at least");
  }
  MakeUsualSeconds();
  PlanStalls();
}

void DayLoad::MakeUsualSeconds() {
  std::mt19937_64 random(size_.seed);
  const double least_median_ns = std::min(0.4 * kNsPerMs, 0.15 * static_cast<double>(kNsPerSecond) / size_.rate);
  while (usual_.size() < kUsualSeconds) {
    const size_t kind = usual_.size() * kHostKinds / kUsualSeconds;
    UsualSecond second;
    second.writes = DrawUsual(size_.rate, least_median_ns * (1 + 0.5 * static_cast<double>(kind)), random);
    // The last write ends in the second for every phase.
    if (second.writes.back().end_ns() > kNsPerSecond - kNsPerSecond / size_.rate * kLargestPhasePercent / 100 - 1)
      continue;
    second.slow = Slowest(second.writes);
    FillDayFrame(second.writes, 0, second.frame);
    for (size_t i = 1; i < second.writes.size(); ++i) {
      second.between_ns += second.writes[i].start_ns - second.writes[i - 1].end_ns();
    }
    usual_.push_back(std::move(second));
  }
}

void DayLoad::PlanStalls() {
  const auto times = [&](double per_hour) {
    return std::max<size_t>(1, static_cast<size_t>(per_hour * static_cast<double>(size_.length_s) / 3'600));
  };
  // 0: a stall of the storage; 1: of a host's path; 2: of a queue manager.
  std::vector<int> kinds(times(1.0 / 8), 0);
  kinds.insert(kinds.end(), times(2), 1);
  kinds.insert(kinds.end(), times(4), 2);
  std::mt19937_64 random(size_.seed + 1);
  std::shuffle(kinds.begin(), kinds.end(), random);
  const double slot_s = static_cast<double>(size_.length_s - 2 * kStallMarginS) / static_cast<double>(kinds.size());
  for (size_t i = 0; i < kinds.size(); ++i) {
    const auto draw = [&](uint64_t what) { return Hash(size_.seed, 7, i, what); };
    DayStall& stall = stalls_.emplace_back();
    const double begin_s = kStallMarginS + slot_s * (static_cast<double>(i) + Between(draw(0), 0, 0.3));
    stall.begin_ns = static_cast<int64_t>(begin_s * 1e9);
    stall.length_ns = static_cast<int64_t>(Between(draw(1), 1.2e9, 3.2e9));
    if (kinds[i] >= 1) stall.host = static_cast<uint32_t>(draw(2) % size_.hosts);
    if (kinds[i] == 2) stall.qm = static_cast<uint32_t>(1 + draw(3) % size_.queue_managers);
  }
}

size_t DayLoad::UsualOf(uint32_t host, uint32_t qm, int64_t second) const {
  const size_t of_kind = usual_.size() / kHostKinds;
  const size_t kind = host % kHostKinds;
  return kind * of_kind + Hash(size_.seed, host, qm, static_cast<uint64_t>(second)) % of_kind;
}

int64_t DayLoad::PhaseNs(uint32_t host, uint32_t qm) const {
  const uint64_t most = static_cast<uint64_t>(kNsPerSecond) / size_.rate * kLargestPhasePercent / 100;
  return static_cast<int64_t>(Hash(size_.seed, host, qm, UINT64_MAX) % std::max<uint64_t>(most, 1));
}

int64_t DayLoad::DueNs(uint32_t host, uint32_t qm, uint64_t write) const {
  const auto second = static_cast<int64_t>(write / size_.rate);
  const auto place = static_cast<int64_t>(write % size_.rate);
  return PhaseNs(host, qm) + second * kNsPerSecond + place * kNsPerSecond / size_.rate;
}

int64_t DayLoad::LateLatencyNs(uint32_t host, uint32_t qm, uint64_t write) const {
  // Less than half of the time between two, so that a writer catches up.
  const int64_t least_ns = std::min(100 * kNsPerUs, kNsPerSecond / size_.rate / 4);
  return least_ns + static_cast<int64_t>(Hash(size_.seed, host, qm, write) % static_cast<uint64_t>(least_ns / 2));
}

std::optional<uint32_t> DayLoad::lost_host() const {
  if (size_.hosts < 2) return std::nullopt;
  return size_.hosts - 1;
}

void FillDayFrame(const std::vector<DayWrite>& writes, uint64_t first_write, v1::Frame& frame) {
  Histogram service;
  Histogram response;
  const DayWrite* slowest = nullptr;
  const DayWrite* fastest = nullptr;
  for (const DayWrite& write : writes) {
    service.Record(static_cast<uint64_t>(write.latency_ns));
    response.Record(write.response_ns());
    if (slowest == nullptr || write.latency_ns > slowest->latency_ns) slowest = &write;
    if (fastest == nullptr || write.latency_ns < fastest->latency_ns) fastest = &write;
  }
  *frame.mutable_latency() = service.ToProto();
  *frame.mutable_response() = response.ToProto();
  frame.set_bytes(writes.size() * DayLoad::kBlockBytes);
  // No write starts later than it could.
  frame.mutable_start_delay()->set_max_ns(0);
  frame.set_untraced_writes(writes.size());
  if (writes.empty()) return;
  const auto number = [&](const DayWrite* write) {
    return first_write + static_cast<uint64_t>(write - writes.data()) + 1;
  };
  frame.set_first_seq(first_write + 1);
  frame.set_first_start_ns(writes.front().start_ns);
  frame.set_last_end_ns(writes.back().end_ns());
  frame.set_fastest_seq(number(fastest));
  v1::WriteSample& sample = *frame.mutable_slowest();
  sample.set_seq(number(slowest));
  sample.set_start_ns(slowest->start_ns);
  sample.set_latency_ns(static_cast<uint64_t>(slowest->latency_ns));
  sample.set_response_ns(slowest->response_ns());
}

}  // namespace plimsoll::tests
