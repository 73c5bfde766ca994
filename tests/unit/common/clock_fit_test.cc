#include "common/clock_fit.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/testing.h"
#include "tests/unit/common/simulated_clock.h"

namespace plimsoll {
namespace {

// Both ways take 50 us, the remote side answers at once.
ClockExchange Exchange(int64_t sent_ns, int64_t offset_ns, int64_t one_way_ns = 50'000) {
  const int64_t remote_ns = sent_ns + one_way_ns + offset_ns;
  return {sent_ns, remote_ns, remote_ns, sent_ns + 2 * one_way_ns};
}

TEST(ClockFit, KnowsNothingWithoutAnExchange) {
  const ClockFit fit(500);
  EXPECT_TRUE(fit.empty());
  EXPECT_EQ(fit.OffsetAtLocal(5).error_ns, INT64_MAX);
  EXPECT_EQ(fit.ToLocal(7).local_ns, 7);
  EXPECT_EQ(fit.ToLocal(7).error_ns, INT64_MAX);
  EXPECT_EQ(fit.ToRemote(9), 9);
  EXPECT_EQ(fit.DriftPpm(), 0);
  EXPECT_EQ(fit.MinRoundTripNs(), 0);
  EXPECT_TRUE(fit.steps_local_ns().empty());
}

TEST(ClockFit, ASharedClockHasNoErrorAsLongAsEveryExchangeAllowsIt) {
  ClockFit fit(500);
  fit.AssumeSame();
  EXPECT_FALSE(fit.same());
  EXPECT_EQ(fit.OffsetAtLocal(0).error_ns, INT64_MAX);
  // The ways there and back take unequally long, which a shared clock does not care about.
  fit.Add({1'000, 1'000, 2'000, 400'000});
  fit.Add({1'000'000, 1'300'000, 1'300'100, 1'300'100});
  ASSERT_TRUE(fit.same());
  for (const int64_t at_ns : {int64_t{0}, 700 * kMs, 100 * kSecond}) {
    EXPECT_EQ(fit.OffsetAtLocal(at_ns).offset_ns, 0);
    EXPECT_EQ(fit.OffsetAtLocal(at_ns).error_ns, 0);
    EXPECT_EQ(fit.ToLocal(at_ns).local_ns, at_ns);
    EXPECT_EQ(fit.ToLocal(at_ns).error_ns, 0);
    EXPECT_EQ(fit.ToRemote(at_ns), at_ns);
  }
  EXPECT_EQ(fit.DriftPpm(), 0);
}

TEST(ClockFit, AnExchangeThatASharedClockCannotHaveEndsTheAssumptionForAllMoments) {
  // The remote side read its clock a nanosecond before the sending, or after the return.
  for (const ClockExchange& late : {ClockExchange{2 * kSecond, 2 * kSecond - 1, 2 * kSecond, 2 * kSecond + 100},
                                    ClockExchange{2 * kSecond, 2 * kSecond, 2 * kSecond + 101, 2 * kSecond + 100}}) {
    ClockFit fit(500);
    fit.AssumeSame();
    ClockFit plain(500);
    for (const ClockExchange& exchange : {Exchange(kSecond, 0), late, Exchange(3 * kSecond, 0)}) {
      fit.Add(exchange);
      plain.Add(exchange);
    }
    EXPECT_FALSE(fit.same());
    for (const int64_t at_ns : {int64_t{0}, kSecond, 2 * kSecond, 5 * kSecond}) {
      EXPECT_EQ(fit.OffsetAtLocal(at_ns).offset_ns, plain.OffsetAtLocal(at_ns).offset_ns);
      EXPECT_EQ(fit.OffsetAtLocal(at_ns).error_ns, plain.OffsetAtLocal(at_ns).error_ns);
      EXPECT_GT(fit.OffsetAtLocal(at_ns).error_ns, 0);
    }
  }
}

TEST(ClockFit, AClockIsNotTakenForSharedAfterItsFirstExchange) {
  ClockFit fit(500);
  fit.Add(Exchange(kSecond, 0));
  fit.AssumeSame();
  EXPECT_FALSE(fit.same());
  EXPECT_GT(fit.OffsetAtLocal(kSecond).error_ns, 0);
}

TEST(ClockFit, BoundsOneExchangeByHalfItsRoundTrip) {
  ClockFit fit(500);
  fit.Add(Exchange(1'000'000, 700));
  const ClockOffset offset = fit.OffsetAtLocal(1'050'000);
  EXPECT_EQ(offset.offset_ns, 700);
  // Half the round trip, 25 ns of slew to its ends, and rounding.
  EXPECT_GE(offset.error_ns, 50'000);
  EXPECT_LE(offset.error_ns, 50'030);
  EXPECT_EQ(fit.MinRoundTripNs(), 100'000);
}

TEST(ClockFit, LeavesOutTheTimeThatTheRemoteSideHeldTheProbe) {
  ClockFit fit(0);
  fit.Add({0, 1'000, 901'000, 902'000});
  EXPECT_EQ(fit.MinRoundTripNs(), 2'000);
  EXPECT_LE(fit.OffsetAtLocal(500'000).error_ns, 1'004);
}

TEST(ClockFit, LetsTheBoundGrowWithTheSlewBeforeAndAfter) {
  ClockFit fit(500);
  fit.Add(Exchange(0, 0));
  fit.Add(Exchange(10 * kSecond, 0));
  for (const int64_t away_ns : {kSecond, 100 * kSecond}) {
    const int64_t grown_ns = away_ns / 2'000;
    EXPECT_NEAR(static_cast<double>(fit.OffsetAtLocal(10 * kSecond + away_ns).error_ns),
                static_cast<double>(50'000 + grown_ns), 200);
    EXPECT_NEAR(static_cast<double>(fit.OffsetAtLocal(-away_ns).error_ns), static_cast<double>(50'000 + grown_ns), 200);
  }
}

// Probes each 100 ms; that at 2 s takes 600 ms, as where the host stands still. `step_ns`: by how much the clock jumps
// then.
ClockFit WithADelayedProbe(int64_t step_ns) {
  ClockFit fit(500);
  for (int64_t at_ns = 0; at_ns < 2 * kSecond; at_ns += 100 * kMs) fit.Add(Exchange(at_ns, 700));
  fit.Add(Exchange(2 * kSecond, 700, 300 * kMs));
  for (int64_t at_ns = 2'700 * kMs; at_ns < 5 * kSecond; at_ns += 100 * kMs) fit.Add(Exchange(at_ns, 700 + step_ns));
  return fit;
}

TEST(ClockFit, IsNotMisledByOneDelayedProbe) {
  const ClockOffset offset = WithADelayedProbe(0).OffsetAtLocal(2'300 * kMs);
  // What the neighbours say, 400 ms away at most: half a round trip and 200 us of slew.
  EXPECT_LE(offset.error_ns, 260'000);
  EXPECT_LE(std::abs(offset.offset_ns - 700), offset.error_ns);
}

TEST(ClockFit, KnowsTheMomentsAroundAFreezeOfAMinuteThroughWhichTheClockWentOn) {
  ClockFit fit(500);
  for (int64_t at_ns = 0; at_ns <= 2 * kSecond; at_ns += 100 * kMs) fit.Add(Exchange(at_ns, 700));
  // Answered after the freeze; its answer alone would allow for a clock that went back by a minute meanwhile.
  const int64_t sent_ns = 2'050 * kMs;
  const int64_t received_ns = sent_ns + 60 * kSecond;
  fit.Add({sent_ns, sent_ns + 750, sent_ns + 760, received_ns});
  for (int64_t at_ns = received_ns; at_ns <= 70 * kSecond; at_ns += 100 * kMs) fit.Add(Exchange(at_ns, 700));
  const auto error_ns = [&fit](int64_t moment_ns) {
    const MappedMoment moment = fit.ToLocal(moment_ns + 700);
    EXPECT_LE(std::abs(moment.local_ns - moment_ns), moment.error_ns) << moment_ns;
    return moment.error_ns;
  };
  // Half a round trip, and the slew since a probe.
  EXPECT_LT(error_ns(kSecond), 150'000);
  EXPECT_LT(error_ns(received_ns + kSecond), 150'000);
  // The slew of the freeze, 500 ppm.
  EXPECT_LT(error_ns(sent_ns + 100 * kMs), 31 * kMs);
  EXPECT_LT(error_ns(received_ns - 100 * kMs), 31 * kMs);
}

TEST(ClockFit, KeepsADelayedProbeWhereTheClockStepped) {
  const int64_t step_ns = 200 * kMs;
  const ClockOffset offset = WithADelayedProbe(step_ns).OffsetAtLocal(2'300 * kMs);
  EXPECT_LE(std::abs(offset.offset_ns - 700), offset.error_ns);
  EXPECT_LE(std::abs(offset.offset_ns - 700 - step_ns), offset.error_ns);
}

TEST(ClockFit, IgnoresAndCountsWhatContradictsItself) {
  ClockFit fit(500);
  fit.Add({1'000, 0, 0, 999});                            // back before it was sent
  fit.Add({1'000, 50, 49, 2'000});                        // answered before it came
  fit.Add({1'000, 0, 5'000, 2'000});                      // held for longer than it took
  fit.Add({INT64_MIN, INT64_MAX, INT64_MAX, INT64_MAX});  // nonsense
  EXPECT_TRUE(fit.empty());
  EXPECT_EQ(fit.ignored(), 4U);
  fit.Add(Exchange(2'000'000, 0));
  fit.Add(Exchange(1'000'000, 0));                 // out of order
  fit.Add(Exchange(3'000'000, int64_t{1} << 60));  // 36 years away
  EXPECT_EQ(fit.ignored(), 6U);
  EXPECT_EQ(fit.kept(), 1U);
}

TEST(ClockFit, NeverAveragesAStep) {
  ClockFit fit(500);
  for (int i = 0; i < 20; ++i) fit.Add(Exchange(i * kSecond, i < 10 ? 0 : -30 * kSecond));
  ASSERT_EQ(fit.steps_local_ns().size(), 1U);
  EXPECT_EQ(fit.steps_local_ns()[0], 10 * kSecond + 100'000);
  EXPECT_EQ(fit.OffsetAtLocal(9 * kSecond).offset_ns, 0);
  EXPECT_EQ(fit.OffsetAtLocal(9'400 * kMs).offset_ns, 0);
  EXPECT_EQ(fit.OffsetAtLocal(9'600 * kMs).offset_ns, -30 * kSecond);
  EXPECT_EQ(fit.OffsetAtLocal(11 * kSecond).offset_ns, -30 * kSecond);
  // Between the two exchanges nobody knows when it stepped.
  EXPECT_GE(fit.OffsetAtLocal(9'500 * kMs).error_ns, 30 * kSecond);
  EXPECT_LT(fit.OffsetAtLocal(8'500 * kMs).error_ns, kMs);
  EXPECT_LT(fit.OffsetAtLocal(10'500 * kMs).error_ns, kMs);
}

TEST(ClockFit, MapsAMomentThatTheRemoteClockPassedTwiceOntoBoth) {
  ClockFit fit(500);
  for (int i = 0; i < 20; ++i) fit.Add(Exchange(i * kSecond, i < 10 ? 0 : -5 * kSecond));
  // Remote 8 s was at 8 s, and again at 13 s.
  const MappedMoment mapped = fit.ToLocal(8 * kSecond);
  EXPECT_LE(mapped.local_ns - mapped.error_ns, 8 * kSecond);
  EXPECT_GE(mapped.local_ns + mapped.error_ns, 13 * kSecond);
  EXPECT_LE(mapped.error_ns, 6 * kSecond);
  // Remote 3 s came once, and so did 12 s.
  EXPECT_LT(fit.ToLocal(3 * kSecond).error_ns, kMs);
  EXPECT_LT(fit.ToLocal(12 * kSecond).error_ns, kMs);
}

TEST(ClockFit, MapsMomentsBesideAForwardStepToTheirSide) {
  ClockFit fit(500);
  for (int i = 0; i < 20; ++i) fit.Add(Exchange(i * kSecond, i < 10 ? 0 : 100 * kSecond));
  EXPECT_NEAR(static_cast<double>(fit.ToLocal(9'300 * kMs).local_ns), static_cast<double>(9'300 * kMs), 1e5);
  EXPECT_NEAR(static_cast<double>(fit.ToLocal(109'700 * kMs).local_ns), static_cast<double>(9'700 * kMs), 1e5);
  EXPECT_LE(fit.ToLocal(9'300 * kMs).error_ns, kSecond);
  EXPECT_LT(fit.ToLocal(8'500 * kMs).error_ns, kMs);
  EXPECT_LT(fit.ToLocal(110'500 * kMs).error_ns, kMs);
}

TEST(ClockFit, TakesTheShortestRoundTripOfABurst) {
  ClockFit fit(500);
  fit.Add(Exchange(0, 0, 900'000));
  for (int64_t i = 1; i <= 8; ++i) fit.Add(Exchange(i * 3 * kMs, 0, i == 4 ? 20'000 : 1'000'000));
  EXPECT_EQ(fit.kept(), 3U) << "the first, the best and the last";
  EXPECT_EQ(fit.MinRoundTripNs(), 40'000);
  // After the burst the best one still counts: 20 us and the slew of 30 ms.
  EXPECT_LE(fit.OffsetAtLocal(42 * kMs).error_ns, 20'000 + 15'000 + 100);
}

TEST(ClockFit, MapsThereAndBackAndKeepsTheOrder) {
  constexpr uint64_t kSeed = 5;
  std::mt19937_64 random(kSeed);
  SimulatedClock clock(0, 100'000 * kSecond);
  for (int i = 0; i < 60; ++i) clock.Slew(i * kSecond + 1, static_cast<double>(random() % 1'000) - 500);
  ClockFit fit(500);
  const Network network;
  for (int64_t now_ns = 0; now_ns < 60 * kSecond; now_ns += kSecond) fit.Add(network.Probe(clock, now_ns, random));
  EXPECT_TRUE(fit.steps_local_ns().empty());
  int64_t before_ns = INT64_MIN;
  for (int64_t local_ns = -5 * kSecond; local_ns < 65 * kSecond; local_ns += 997'003) {
    const MappedMoment back = fit.ToLocal(fit.ToRemote(local_ns));
    ASSERT_LE(std::abs(back.local_ns - local_ns), 2);
    ASSERT_GE(back.local_ns, before_ns);
    before_ns = back.local_ns;
  }
}

TEST(ClockFit, FollowsTheTruthMoreCloselyThanItPromises) {
  constexpr uint64_t kSeed = 6;
  std::mt19937_64 random(kSeed);
  SimulatedClock clock(0, -3 * kSecond);
  clock.Slew(1, 12);
  ClockFit fit(500);
  const Network network;
  for (int64_t now_ns = 0; now_ns < 60 * kSecond; now_ns += kSecond) fit.Add(network.Probe(clock, now_ns, random));
  for (int64_t local_ns = kSecond; local_ns < 59 * kSecond; local_ns += 10'000'019) {
    const auto miss = std::abs(static_cast<double>(fit.OffsetAtLocal(local_ns).offset_ns) -
                               static_cast<double>(clock.OffsetAt(local_ns)));
    ASSERT_LE(miss, 20'000) << "round trips of 80 us and more, one in ten several ms longer; at " << local_ns;
  }
}

TEST(ClockFit, ReportsTheDriftOfALastingClock) {
  for (const double ppm : {-480.0, -20.0, 0.0, 37.5, 480.0}) {
    constexpr uint64_t kSeed = 7;
    std::mt19937_64 random(kSeed);
    SimulatedClock clock(0, 5 * kSecond);
    clock.Slew(0, ppm);
    ClockFit fit(500);
    const Network network;
    for (int64_t now_ns = 0; now_ns <= 120 * kSecond; now_ns += kSecond) fit.Add(network.Probe(clock, now_ns, random));
    EXPECT_NEAR(fit.DriftPpm(), ppm, 0.5);
  }
}

TEST(ClockFit, ReportsNoDriftOfLessThanASecond) {
  ClockFit fit(500);
  for (int64_t i = 0; i < 10; ++i) fit.Add(Exchange(i * 90 * kMs, i * 1'000));
  EXPECT_EQ(fit.DriftPpm(), 0);
}

int64_t NoPause(int64_t /*from_ns*/, int64_t /*to_ns*/) {
  return 0;
}

TEST(ClockFit, AddsUpWhatAClockAtTheWrongSpeedGainsOrLoses) {
  for (const double speed : {0.5, 0.95, 0.998, 1.002, 1.02, 2.0}) {
    constexpr uint64_t kSeed = 8;
    std::mt19937_64 random(kSeed);
    SimulatedClock clock(0, 5 * kSecond);
    clock.Slew(0, (speed - 1) * 1e6);
    ClockFit fit(500);
    const Network network;
    for (int64_t now_ns = 0; now_ns <= 5 * kSecond; now_ns += 100 * kMs) fit.Add(network.Probe(clock, now_ns, random));
    const ClockChange change = fit.ChangeOver(kSecond, 4 * kSecond, NoPause);
    const double length_ns = static_cast<double>(change.length_ns);
    EXPECT_NEAR(length_ns, 3e9, 0.3e9);
    EXPECT_NEAR(static_cast<double>(change.net_ns) / length_ns, speed - 1, 0.02 * std::abs(speed - 1) + 1e-4);
    EXPECT_NEAR(static_cast<double>(change.gained_ns - change.lost_ns) / length_ns, speed - 1, 2e-4);
    EXPECT_GT(change.gained_ns + change.lost_ns, change.allowed_ns) << speed;
    EXPECT_TRUE(change.gained_ns == 0 || change.lost_ns == 0);
    EXPECT_LT(change.largest_ns, (change.gained_ns + change.lost_ns) / 4);
  }
}

TEST(ClockFit, AddsUpGainsAndLossesThatCancelEachOtherOut) {
  SimulatedClock clock(0, 0);
  for (int64_t i = 0; i < 6; ++i) clock.Slew(i * kSecond, i % 2 == 0 ? 20'000 : -20'000);
  ClockFit fit(500);
  for (int64_t now_ns = 0; now_ns <= 6 * kSecond; now_ns += 100 * kMs) {
    fit.Add(Exchange(now_ns, static_cast<int64_t>(clock.OffsetAt(now_ns + 50'000))));
  }
  const ClockChange change = fit.ChangeOver(0, 6 * kSecond, NoPause);
  EXPECT_NEAR(static_cast<double>(change.net_ns), 0, 1e6);
  EXPECT_NEAR(static_cast<double>(change.gained_ns), 60e6, 1e6);
  EXPECT_NEAR(static_cast<double>(change.lost_ns), 60e6, 1e6);
}

TEST(ClockFit, DoesNotCountWhatAClockLosesWhileItsHostIsSuspended) {
  ClockFit fit(500);
  const auto offset_ns = [](int64_t now_ns) { return now_ns < 2 * kSecond ? 0 : -300 * kMs; };
  for (int64_t now_ns = 0; now_ns <= 4 * kSecond; now_ns += 100 * kMs) fit.Add(Exchange(now_ns, offset_ns(now_ns)));
  const auto paused = [](int64_t length_ns) {
    return [length_ns](int64_t from_ns, int64_t to_ns) {
      return from_ns < 2 * kSecond && to_ns > 1'650 * kMs && from_ns > 1'850 * kMs ? length_ns : 0;
    };
  };
  EXPECT_NEAR(static_cast<double>(fit.ChangeOver(0, 4 * kSecond, paused(0)).lost_ns), 300e6, 0.2e6);
  EXPECT_NEAR(static_cast<double>(fit.ChangeOver(0, 4 * kSecond, paused(100 * kMs)).lost_ns), 200e6, 0.2e6);
  EXPECT_EQ(fit.ChangeOver(0, 4 * kSecond, paused(300 * kMs)).lost_ns, 0);
  // Before and after the step the clock runs well.
  EXPECT_EQ(fit.ChangeOver(0, kSecond, NoPause).lost_ns, 0);
  EXPECT_EQ(fit.ChangeOver(3 * kSecond, 4 * kSecond, NoPause).lost_ns, 0);
  EXPECT_EQ(fit.ChangeOver(0, 4 * kSecond, NoPause).gained_ns, 0);
}

TEST(ClockFit, SaysHowMuchOfATimeItsExchangesDoNotCover) {
  ClockFit fit(500);
  EXPECT_EQ(fit.UnseenNs(kSecond, 4 * kSecond), 3 * kSecond);
  for (int64_t now_ns = 2 * kSecond; now_ns <= 3 * kSecond; now_ns += 100 * kMs) fit.Add(Exchange(now_ns, 0));
  EXPECT_NEAR(static_cast<double>(fit.UnseenNs(kSecond, 4 * kSecond)), 2e9, 1e6);
  EXPECT_NEAR(static_cast<double>(fit.UnseenNs(kSecond, 3 * kSecond)), 1e9, 1e6);
  EXPECT_EQ(fit.UnseenNs(2'100 * kMs, 2'900 * kMs), 0);
  EXPECT_EQ(fit.UnseenNs(5 * kSecond, 6 * kSecond), kSecond);
  EXPECT_EQ(fit.UnseenNs(0, kSecond), kSecond);
  EXPECT_EQ(fit.UnseenNs(kSecond, kSecond), 0);
}

TEST(ClockFit, KnowsNoChangeWithoutTwoExchanges) {
  ClockFit fit(500);
  EXPECT_EQ(fit.ChangeOver(0, kSecond, NoPause).length_ns, 0);
  fit.Add(Exchange(0, 0));
  const ClockChange change = fit.ChangeOver(INT64_MIN, INT64_MAX, NoPause);
  EXPECT_EQ(change.gained_ns + change.lost_ns + change.net_ns + change.largest_ns, 0);
}

TEST(ClockFit, AnswersTheFarthestQuestions) {
  ClockFit fit(500'000);
  for (int i = 0; i < 5; ++i) fit.Add(Exchange(i * kSecond, 1'000));
  for (const int64_t moment_ns : {INT64_MIN, INT64_MAX, int64_t{0}}) {
    EXPECT_GE(fit.OffsetAtLocal(moment_ns).error_ns, 50'000);
    EXPECT_GE(fit.ToLocal(moment_ns).error_ns, 50'000);
  }
}

}  // namespace
}  // namespace plimsoll
