// A remote clock whose true offset is known, and a network to probe it over.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "common/clock_fit.h"

namespace plimsoll::tests {

inline constexpr int64_t kMs = 1'000'000;
inline constexpr int64_t kSecond = 1'000'000'000;

// Remote minus local as a function of local time: pieces of constant drift, with steps between them.
class SimulatedClock {
 public:
  SimulatedClock(int64_t from_ns, int64_t offset_ns) : pieces_{{from_ns, static_cast<long double>(offset_ns), 0}} {}

  // From this moment on (moments grow) the clock gains `ppm` on the local one.
  void Slew(int64_t at_ns, double ppm) {
    pieces_.push_back({at_ns, OffsetAt(at_ns), static_cast<long double>(ppm) * 1e-6L});
  }
  void Step(int64_t at_ns, int64_t by_ns) {
    pieces_.push_back({at_ns, OffsetAt(at_ns) + static_cast<long double>(by_ns), pieces_.back().rate});
    steps_.push_back(at_ns);
  }

  long double OffsetAt(int64_t local_ns) const {
    auto after = std::upper_bound(pieces_.begin(), pieces_.end(), local_ns,
                                  [](int64_t t, const Piece& piece) { return t < piece.from_ns; });
    const Piece& piece = after == pieces_.begin() ? *after : *std::prev(after);
    return piece.offset_ns + piece.rate * static_cast<long double>(local_ns - piece.from_ns);
  }
  // What the clock shows.
  int64_t At(int64_t local_ns) const { return local_ns + static_cast<int64_t>(std::floor(OffsetAt(local_ns))); }
  const std::vector<int64_t>& steps() const { return steps_; }

 private:
  struct Piece {
    int64_t from_ns;
    long double offset_ns;
    long double rate;
  };
  std::vector<Piece> pieces_;
  std::vector<int64_t> steps_;
};

// Delays that differ by direction, jitter, and have a heavy tail.
struct Network {
  int64_t least_there_ns = 40'000;
  int64_t least_back_ns = 40'000;
  int64_t jitter_ns = 20'000;
  double tail_share = 0.05;  // of delays that are up to tail_ns longer
  int64_t tail_ns = 5 * kMs;
  int64_t hold_ns = 5'000;  // at most, at the remote side

  int64_t Delay(int64_t least_ns, std::mt19937_64& random) const {
    std::exponential_distribution<double> jitter(1.0);
    std::uniform_real_distribution<double> chance(0, 1);
    int64_t delay_ns = least_ns + static_cast<int64_t>(jitter(random) * static_cast<double>(jitter_ns));
    if (chance(random) < tail_share) delay_ns += static_cast<int64_t>(chance(random) * static_cast<double>(tail_ns));
    return delay_ns;
  }
  ClockExchange Probe(const SimulatedClock& clock, int64_t sent_ns, std::mt19937_64& random) const {
    const int64_t arrived_ns = sent_ns + Delay(least_there_ns, random);
    const int64_t left_ns = arrived_ns + static_cast<int64_t>(random() % static_cast<uint64_t>(hold_ns + 1));
    return {sent_ns, clock.At(arrived_ns), clock.At(left_ns), left_ns + Delay(least_back_ns, random)};
  }
};

}  // namespace plimsoll::tests
