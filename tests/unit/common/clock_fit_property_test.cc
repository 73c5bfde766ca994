// The bound that ClockFit states holds the true offset, whatever the clock and the network do.
#include <gtest/gtest.h>

#include <cstdio>

#include "common/clock_fit.h"
#include "tests/testing.h"
#include "tests/unit/common/simulated_clock.h"

namespace plimsoll {
namespace {

constexpr double kMaxSlewPpm = 500;

// One trial: a clock, what was probed of it, and the fit.
struct Trial {
  explicit Trial(SimulatedClock simulated) : clock(std::move(simulated)) {}
  SimulatedClock clock;
  ClockFit fit{kMaxSlewPpm};
  std::vector<ClockExchange> exchanges;

  // The promise covers what lies between the first return and the last sending.
  int64_t begin_ns() const { return exchanges.front().local_received_ns; }
  int64_t end_ns() const { return exchanges.back().local_sent_ns; }
};

// The rate jumps between any two values within the limit.
void Wander(SimulatedClock& clock, int64_t& at_ns, int64_t until_ns, std::mt19937_64& random,
            double most_ppm = kMaxSlewPpm) {
  std::uniform_real_distribution<double> ppm(-most_ppm, most_ppm);
  while (at_ns < until_ns) {
    const double rate = random() % 3 == 0 ? (random() % 2 == 0 ? most_ppm : -most_ppm) : ppm(random);
    clock.Slew(at_ns, rate);
    at_ns += 1 + static_cast<int64_t>(random() % (2 * kSecond));
  }
  at_ns = until_ns;
}

// From a few nanoseconds, far below what a probe can tell, to days; both ways.
int64_t AnyStep(std::mt19937_64& random) {
  const auto size_ns = static_cast<int64_t>(random() >> (17 + random() % 44));
  return random() % 2 == 0 ? size_ns : -size_ns;
}

Network AnyNetwork(std::mt19937_64& random) {
  Network network;
  network.least_there_ns = static_cast<int64_t>(random() % (random() % 4 == 0 ? 20 * kMs : 100'000));
  network.least_back_ns = static_cast<int64_t>(random() % (random() % 4 == 0 ? 20 * kMs : 100'000));
  network.jitter_ns = static_cast<int64_t>(random() % 200'000);
  network.tail_share = static_cast<double>(random() % 30) / 100;
  network.tail_ns = static_cast<int64_t>(1 + random() % (50 * kMs));
  network.hold_ns = static_cast<int64_t>(random() % (random() % 4 == 0 ? 2 * kMs : 20'000));
  return network;
}

// A burst, then probes each 0.2 to 2 s, then a burst; steps at any moment, also within exchanges, so far apart that
// never two come between kept exchanges.
Trial SparseSteps(std::mt19937_64& random) {
  const int64_t begin_ns = static_cast<int64_t>(random() % (1'000'000 * kSecond));
  SimulatedClock clock(begin_ns, static_cast<int64_t>(random() >> 8U) - (int64_t{1} << 55U));
  const int64_t gap_ns = 200 * kMs + static_cast<int64_t>(random() % (1800 * kMs));
  const int64_t length_ns = 10 * gap_ns + static_cast<int64_t>(random() % (20 * kSecond));
  int64_t at_ns = begin_ns;
  const bool steps = random() % 4 != 0;
  for (int64_t next_ns = at_ns; next_ns < begin_ns + length_ns;) {
    next_ns += 4 * gap_ns + kSecond + static_cast<int64_t>(random() % (4 * kSecond));
    Wander(clock, at_ns, next_ns, random);
    if (steps) clock.Step(at_ns, AnyStep(random));
  }
  Trial trial(clock);
  const Network network = AnyNetwork(random);
  const bool pipelined = random() % 3 == 0;
  const auto probe = [&](int64_t sent_ns) {
    trial.exchanges.push_back(network.Probe(clock, sent_ns, random));
    trial.fit.Add(trial.exchanges.back());
    return pipelined ? sent_ns : trial.exchanges.back().local_received_ns;
  };
  int64_t now_ns = begin_ns;
  for (int i = 0; i < 8; ++i) now_ns = probe(now_ns) + static_cast<int64_t>(random() % kMs);
  while (now_ns < begin_ns + length_ns) now_ns = std::max(probe(now_ns), now_ns + gap_ns);
  for (int i = 0; i < 8; ++i) now_ns = probe(now_ns) + static_cast<int64_t>(random() % kMs);
  return trial;
}

// A step between any two neighbouring exchanges that are kept: none after one that was delayed, which may not be. Only
// one whose round trip is more than twice that of the last one before it that was not delayed goes.
Trial StepInEveryGap(std::mt19937_64& random) {
  const int64_t begin_ns = static_cast<int64_t>(random() % (1'000 * kSecond));
  SimulatedClock clock(begin_ns, AnyStep(random));
  const Network network = AnyNetwork(random);
  Trial trial(clock);
  int64_t now_ns = begin_ns;
  int64_t at_ns = begin_ns;
  int64_t undelayed_ns = INT64_MAX / 2;
  for (int i = 0; i < 60; ++i) {
    // Far enough that the exchange is over before the clock is driven on.
    Wander(trial.clock, at_ns, now_ns + kSecond, random);
    trial.exchanges.push_back(network.Probe(trial.clock, now_ns, random));
    trial.fit.Add(trial.exchanges.back());
    const ClockExchange& exchange = trial.exchanges.back();
    const int64_t round_trip_ns =
        exchange.local_received_ns - exchange.local_sent_ns - (exchange.remote_sent_ns - exchange.remote_received_ns);
    at_ns += 1 + static_cast<int64_t>(random() % kSecond);
    if (round_trip_ns <= 2 * undelayed_ns) {
      trial.clock.Step(at_ns, AnyStep(random));
      undelayed_ns = round_trip_ns;
    }
    now_ns = at_ns + 1 + static_cast<int64_t>(random() % kSecond);
  }
  return trial;
}

// Two steps that cancel each other out, one on each side of an exchange that was delayed and is left out: nothing shows
// them. The moments between the exchanges around that one are the last result's; of them nothing is promised.
struct HiddenSteps {
  Trial trial;
  int64_t from_ns = 0;
  int64_t to_ns = 0;
};

HiddenSteps StepsAroundADelayedExchange(std::mt19937_64& random) {
  const int64_t begin_ns = static_cast<int64_t>(random() % (1'000 * kSecond));
  SimulatedClock clock(begin_ns, AnyStep(random));
  Network network;
  network.tail_share = 0;
  HiddenSteps made{Trial(clock)};
  Trial& trial = made.trial;
  const int delayed = 5 + static_cast<int>(random() % 20);
  // Within what the delay leaves open.
  const int64_t delay_ns = 20 * kMs + static_cast<int64_t>(random() % (200 * kMs));
  const int64_t step_ns = kMs + static_cast<int64_t>(random() % static_cast<uint64_t>(delay_ns / 2 - kMs));
  int64_t at_ns = begin_ns;
  for (int i = 0; i < 30; ++i) {
    const int64_t now_ns = begin_ns + i * kSecond;
    Network once = network;
    if (i == delayed) once.least_there_ns += delay_ns;
    if (i == delayed || i == delayed + 1) {
      Wander(trial.clock, at_ns, now_ns - kSecond / 4, random);
      trial.clock.Step(at_ns, i == delayed ? -step_ns : step_ns);
    }
    Wander(trial.clock, at_ns, now_ns + kSecond / 2, random);
    trial.exchanges.push_back(once.Probe(trial.clock, now_ns, random));
    trial.fit.Add(trial.exchanges.back());
  }
  made.from_ns = trial.exchanges[static_cast<size_t>(delayed) - 1].local_received_ns;
  made.to_ns = trial.exchanges[static_cast<size_t>(delayed) + 1].local_sent_ns;
  return made;
}

struct Tally {
  int questions = 0;
  int outside = 0;
};

void Ask(const Trial& trial, int questions, std::mt19937_64& random, Tally& offsets, Tally& moments) {
  const auto span_ns = static_cast<uint64_t>(trial.end_ns() - trial.begin_ns());
  for (int i = 0; i < questions; ++i) {
    int64_t local_ns = trial.begin_ns() + static_cast<int64_t>(random() % span_ns);
    // Every second question is near an exchange or a step, where things change.
    if (i % 4 == 1) local_ns = trial.exchanges[random() % trial.exchanges.size()].local_sent_ns;
    if (i % 4 == 3 && !trial.clock.steps().empty()) {
      local_ns = trial.clock.steps()[random() % trial.clock.steps().size()];
    }
    if (i % 2 == 1) local_ns += static_cast<int64_t>(random() % 2'000'000) - 1'000'000;
    if (local_ns < trial.begin_ns() || local_ns > trial.end_ns()) continue;

    const ClockOffset offset = trial.fit.OffsetAtLocal(local_ns);
    const long double truth_ns = trial.clock.OffsetAt(local_ns);
    ++offsets.questions;
    if (std::abs(truth_ns - static_cast<long double>(offset.offset_ns)) > static_cast<long double>(offset.error_ns)) {
      ++offsets.outside;
    }
    const MappedMoment mapped = trial.fit.ToLocal(trial.clock.At(local_ns));
    ++moments.questions;
    if (std::abs(mapped.local_ns - local_ns) > mapped.error_ns) ++moments.outside;
  }
}

void TheBoundHolds(Trial (*make)(std::mt19937_64&), int trials) {
  Tally offsets;
  Tally moments;
  for (int i = 0; i < trials; ++i) {
    const uint64_t seed = 4'000 + static_cast<uint64_t>(i);
    std::mt19937_64 random(seed);
    const Trial trial = make(random);
    Ask(trial, 200, random, offsets, moments);
    ASSERT_EQ(offsets.outside, 0) << "seed " << seed;
    ASSERT_EQ(moments.outside, 0) << "seed " << seed;
  }
  EXPECT_GE(offsets.questions, 10'000);
  std::printf("%d questions of %d trials\n", offsets.questions, trials);
}

TEST(ClockFitBound, HoldsTheTruthUnderSlewJitterAndSteps) {
  TheBoundHolds(SparseSteps, 3000);
}

TEST(ClockFitBound, HoldsTheTruthWithAStepInEveryGap) {
  TheBoundHolds(StepInEveryGap, 2000);
}

TEST(ClockFitBound, HoldsTheTruthBesideTwoStepsThatADelayedExchangeHides) {
  Tally elsewhere;
  Tally between;
  for (uint64_t seed = 9'000; seed < 10'000; ++seed) {
    std::mt19937_64 random(seed);
    const HiddenSteps made = StepsAroundADelayedExchange(random);
    const Trial& trial = made.trial;
    const auto span_ns = static_cast<uint64_t>(trial.end_ns() - trial.begin_ns());
    for (int i = 0; i < 200; ++i) {
      int64_t local_ns = trial.begin_ns() + static_cast<int64_t>(random() % span_ns);
      // Every second question is close to where nothing is promised, or in it.
      if (i % 2 == 1) local_ns = made.from_ns - kSecond + static_cast<int64_t>(random() % (4 * kSecond));
      if (local_ns < trial.begin_ns() || local_ns > trial.end_ns()) continue;
      const bool inside = local_ns > made.from_ns && local_ns < made.to_ns;
      Tally& tally = inside ? between : elsewhere;
      const ClockOffset offset = trial.fit.OffsetAtLocal(local_ns);
      const long double off_ns = trial.clock.OffsetAt(local_ns) - static_cast<long double>(offset.offset_ns);
      ++tally.questions;
      if (std::abs(off_ns) > static_cast<long double>(offset.error_ns)) ++tally.outside;
      ASSERT_EQ(elsewhere.outside, 0) << "seed " << seed;
    }
  }
  EXPECT_GE(elsewhere.questions, 100'000);
  // What is left out of the promise is a real case: there the bound is wrong.
  EXPECT_GT(between.outside, between.questions / 10);
}

// The promise must not be bought with a bound that says nothing.
TEST(ClockFitBound, IsNoWiderThanTheRoundTripsAndTheSlewAccountFor) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    SimulatedClock clock(0, 12'345'678);
    int64_t at_ns = 0;
    // Real clocks stay far below what is allowed for; one at the limit moves by as much again between exchanges.
    Wander(clock, at_ns, 40 * kSecond, random, 30);
    const Network network;
    ClockFit fit(kMaxSlewPpm);
    int64_t longest_ns = 0;
    for (int64_t now_ns = 0; now_ns < 30 * kSecond; now_ns += kSecond) {
      const ClockExchange exchange = network.Probe(clock, now_ns, random);
      longest_ns = std::max(longest_ns, exchange.local_received_ns - exchange.local_sent_ns);
      fit.Add(exchange);
    }
    std::vector<int64_t> errors;
    std::vector<int64_t> mapped_errors;
    for (int i = 0; i < 1'000; ++i) {
      const auto local_ns = static_cast<int64_t>(random() % (29 * kSecond));
      errors.push_back(fit.OffsetAtLocal(local_ns).error_ns);
      mapped_errors.push_back(fit.ToLocal(clock.At(local_ns)).error_ns);
      // An exchange a second: at the worst the whole of a round trip, and a second's slew for bound and estimate each.
      ASSERT_LE(errors.back(), longest_ns + 1'250'000) << "seed " << seed;
      // Beside an exchange, moments on both sides of it come into question.
      ASSERT_LE(mapped_errors.back(), 2 * longest_ns + 1'250'000) << "seed " << seed;
    }
    for (std::vector<int64_t>* sorted : {&errors, &mapped_errors}) {
      std::nth_element(sorted->begin(), sorted->begin() + 500, sorted->end());
      EXPECT_LE((*sorted)[500], longest_ns / 2 + 500'000) << "seed " << seed;
    }
  }
}

TEST(ClockFitBound, HoldsOverDaysInBoundedMemory) {
  constexpr uint64_t kSeed = 11;
  std::mt19937_64 random(kSeed);
  constexpr int64_t kLength = 25'000 * kSecond;
  SimulatedClock clock(0, -77 * kSecond);
  int64_t at_ns = 0;
  for (int64_t next_ns = 1'000 * kSecond; next_ns < kLength; next_ns += 1'000 * kSecond) {
    Wander(clock, at_ns, next_ns, random);
    clock.Step(at_ns, AnyStep(random));
  }
  Trial trial(clock);
  const Network network;
  for (int64_t now_ns = 0; now_ns < kLength; now_ns += kSecond / 10) {
    trial.exchanges.push_back(network.Probe(clock, now_ns, random));
    trial.fit.Add(trial.exchanges.back());
  }
  EXPECT_EQ(trial.exchanges.size(), 250'000U);
  EXPECT_LE(trial.fit.kept(), 65'537U);
  EXPECT_GE(trial.fit.kept(), 30'000U);
  Tally offsets;
  Tally moments;
  Ask(trial, 20'000, random, offsets, moments);
  EXPECT_EQ(offsets.outside, 0);
  EXPECT_EQ(moments.outside, 0);
}

// What a clock gained and lost at least is never more than it did: no more than the slew allows, beside its steps.
TEST(ClockFitBound, NoMoreChangeIsCountedThanTheClockMade) {
  int stepped = 0;
  for (uint64_t seed = 20'000; seed < 22'000; ++seed) {
    std::mt19937_64 random(seed);
    const Trial trial = SparseSteps(random);
    const auto nothing = [](int64_t, int64_t) { return int64_t{0}; };
    const auto span_ns = static_cast<uint64_t>(trial.end_ns() - trial.begin_ns());
    const int64_t from_ns = trial.begin_ns() + static_cast<int64_t>(random() % span_ns);
    const int64_t to_ns = from_ns + static_cast<int64_t>(random() % span_ns);
    const ClockChange change = trial.fit.ChangeOver(from_ns, to_ns, nothing);
    long double gained_ns = 0;
    long double lost_ns = 0;
    for (const int64_t step_ns : trial.clock.steps()) {
      const long double by_ns = trial.clock.OffsetAt(step_ns) - trial.clock.OffsetAt(step_ns - 1);
      (by_ns > 0 ? gained_ns : lost_ns) += std::abs(by_ns) + 1;
    }
    const auto allowed_ns = static_cast<long double>(change.allowed_ns + 2);
    ASSERT_LE(static_cast<long double>(change.gained_ns), gained_ns + allowed_ns) << "seed " << seed;
    ASSERT_LE(static_cast<long double>(change.lost_ns), lost_ns + allowed_ns) << "seed " << seed;
    ASSERT_LE(static_cast<long double>(change.gained_ns + change.lost_ns), gained_ns + lost_ns + allowed_ns)
        << "seed " << seed;
    stepped += change.gained_ns + change.lost_ns > change.allowed_ns ? 1 : 0;
  }
  EXPECT_GE(stepped, 200);
}

// Ten hosts are probed ten times a second each for a day.
TEST(ClockFitBound, IsAsNarrowInEveryHourOfADay) {
  constexpr uint64_t kSeed = 12;
  constexpr int64_t kHour = 3'600 * kSecond;
  const Network network;
  for (uint64_t host = 0; host < 10; ++host) {
    std::mt19937_64 random(kSeed + host);
    SimulatedClock clock(0, static_cast<int64_t>(host) * kSecond);
    clock.Slew(0, static_cast<double>(host) * 20 - 90);
    ClockFit fit(500);
    for (int64_t now_ns = 0; now_ns < 24 * kHour; now_ns += kSecond / 10) fit.Add(network.Probe(clock, now_ns, random));
    EXPECT_LE(fit.kept(), 65'537U);
    for (int64_t hour = 0; hour < 24; ++hour) {
      int64_t worst_ns = 0;
      for (int i = 0; i < 1'000; ++i) {
        const auto after_ns = static_cast<int64_t>(random() % static_cast<uint64_t>(kHour - kSecond));
        worst_ns = std::max(worst_ns, fit.OffsetAtLocal(hour * kHour + after_ns).error_ns);
      }
      // Two exchanges that are kept are at most 6.4 s apart: 3.2 ms at 500 ppm, and as much again where the estimate
      // lies at one end of the bound.
      EXPECT_LE(worst_ns, 7 * kMs) << "host " << host << ", hour " << hour;
    }
  }
}

}  // namespace
}  // namespace plimsoll
