// What the search measures next, against storages of which each load's outcome is known.
#include "controller/limit/limit_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "common/units.h"
#include "tests/testing.h"

namespace plimsoll::tests {
namespace {

constexpr int64_t kSecond = kNsPerSecond;

// A storage: what a step shows, and how long a probe takes.
struct Storage {
  double maximum = 1000;
  std::function<v1::LimitState(const LimitStep&)> judge;
  std::function<double(const LimitStep&)> mean_ns = [](const LimitStep& /*step*/) { return 1e6; };
};

LimitSearch::Options Options() {
  return {.over = v1::LIMIT_OVER_RATE,
          .most_load = 8,
          .writers = 4,
          .host_writers = 1,
          .tolerance = 0.05,
          .budget_ns = 3600 * kSecond,
          .duration_ns = 10 * kSecond,
          .warmup_ns = kSecond,
          .hold_ns = 60 * kSecond};
}

// Takes the search to its end; the steps in their order, after the plan's own first one.
std::vector<LimitStep> Search(LimitSearch& search, const Storage& storage, int64_t warmup_ns = kSecond) {
  std::vector<LimitStep> steps;
  const LimitStep first{v1::STEP_PURPOSE_PROBE, 10, 2 * kSecond};
  const double first_ns = storage.mean_ns(first);
  int64_t now_ns = first.duration_ns + warmup_ns;
  search.Add({first.purpose, first.load, v1::LIMIT_STATE_UNDECIDED, first.duration_ns, first.load, first_ns, first_ns},
             now_ns);
  while (const std::optional<LimitStep> next = search.Next()) {
    steps.push_back(*next);
    now_ns += next->duration_ns + warmup_ns;
    const bool maximum = next->purpose == v1::STEP_PURPOSE_MAXIMUM;
    const double mean_ns = storage.mean_ns(*next);
    search.Add({next->purpose, next->load, maximum ? v1::LIMIT_STATE_UNDECIDED : storage.judge(*next),
                next->duration_ns, maximum ? storage.maximum : next->load, mean_ns, mean_ns},
               now_ns);
    if (steps.size() >= 500) break;
  }
  return steps;
}

v1::LimitState Meets(bool meets) {
  return meets ? v1::LIMIT_STATE_MEETS : v1::LIMIT_STATE_EXCEEDS;
}

Storage UpTo(double limit) {
  return {.judge = [limit](const LimitStep& step) { return Meets(step.load <= limit); }};
}

size_t Count(const std::vector<LimitStep>& steps, v1::StepPurpose purpose) {
  return static_cast<size_t>(
      std::count_if(steps.begin(), steps.end(), [&](const LimitStep& step) { return step.purpose == purpose; }));
}

TEST(LimitSearch, BracketsTheLimitHoldsItAndEndsWithTheCurve) {
  for (const double limit : {1.7, 33.0, 480.0, 777.7, 990.0}) {
    LimitSearch search(Options());
    const std::vector<LimitStep> steps = Search(search, UpTo(limit));
    ASSERT_LT(steps.size(), 60U) << limit;
    EXPECT_EQ(steps[0].purpose, v1::STEP_PURPOSE_MAXIMUM);
    EXPECT_EQ(steps[1].purpose, v1::STEP_PURPOSE_PROBE);
    const LimitBounds bounds = search.bounds();
    EXPECT_THAT(bounds.meets, AllOf(Ge(limit / 1.06), Le(limit))) << limit;
    ASSERT_TRUE(bounds.exceeds.has_value()) << limit;
    EXPECT_THAT(*bounds.exceeds, AllOf(Ge(limit), Le(bounds.meets * 1.05))) << limit;
    EXPECT_TRUE(search.held()) << limit;
    EXPECT_EQ(search.ended(), "") << limit;
    for (const double share : {0.1, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0}) {
      const std::vector<size_t> curve = search.curve();
      EXPECT_TRUE(std::any_of(
          curve.begin(), curve.end(),
          [&](size_t i) { return std::abs(search.results()[i].load - share * bounds.meets) <= 0.03 * bounds.meets; }))
          << limit << " x " << share;
    }
  }
}

TEST(LimitSearch, GoesBeyondAMaximumThatMeetsTheCriteria) {
  LimitSearch search(Options());
  Search(search, UpTo(1500));
  EXPECT_THAT(search.bounds().meets, AllOf(Ge(1400.0), Le(1500.0)));
}

TEST(LimitSearch, AfterAnOverloadItWaitsUntilTheProbeIsBackAtItsBaseline) {
  LimitSearch search(Options());
  int slow_probes = 0;
  Storage storage = UpTo(400);
  bool first = true;
  storage.mean_ns = [&](const LimitStep& step) {
    if (step.purpose != v1::STEP_PURPOSE_PROBE) {
      // Each overload but the first leaves two slow probes behind.
      if (step.purpose == v1::STEP_PURPOSE_SEARCH && step.load > 400) slow_probes = 2;
      first = false;
      return 1e6;
    }
    return slow_probes-- > 0 ? 3e6 : 1e6;
  };
  const std::vector<LimitStep> steps = Search(search, storage);
  EXPECT_FALSE(first);
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    if (steps[i].purpose != v1::STEP_PURPOSE_SEARCH || steps[i].load <= 400) continue;
    ASSERT_LT(i + 3, steps.size());
    for (size_t probe = i + 1; probe <= i + 3; ++probe) EXPECT_EQ(steps[probe].purpose, v1::STEP_PURPOSE_PROBE) << i;
    EXPECT_NE(steps[i + 4].purpose, v1::STEP_PURPOSE_PROBE) << "the third one was fast";
  }
}

TEST(LimitSearch, AStorageThatNeverRecoversDoesNotHoldTheSearchUpForEver) {
  LimitSearch search(Options());
  Storage storage = UpTo(400);
  bool overloaded = false;
  storage.mean_ns = [&](const LimitStep& step) {
    overloaded = overloaded || step.purpose == v1::STEP_PURPOSE_SEARCH;
    return overloaded ? 9e6 : 1e6;
  };
  EXPECT_LT(Search(search, storage).size(), 150U);
  EXPECT_TRUE(search.held());
  EXPECT_FALSE(search.recovered(search.bounds().meets_result)) << "probes were made in vain";
}

TEST(LimitSearch, WhatTheStorageShowsAfterTheMaximumIsNoBaselineUntilItIsBack) {
  for (const int slow : {7, 1000}) {
    LimitSearch search(Options());
    Storage storage = UpTo(400);
    int slow_probes = 0;
    storage.mean_ns = [&](const LimitStep& step) {
      if (step.purpose == v1::STEP_PURPOSE_MAXIMUM) slow_probes = slow;
      return step.purpose == v1::STEP_PURPOSE_PROBE && slow_probes-- > 0 ? 9e6 : 1e6;
    };
    const std::vector<LimitStep> steps = Search(search, storage);
    const auto searched = std::find_if(steps.begin(), steps.end(),
                                       [](const LimitStep& step) { return step.purpose == v1::STEP_PURPOSE_SEARCH; });
    // The maximum, and the probes after it.
    EXPECT_EQ(searched - steps.begin(), slow == 7 ? 1 + 8 : 1 + 10);
    // The plan's own first step comes before those.
    EXPECT_EQ(search.recovered(static_cast<size_t>(searched - steps.begin()) + 1), slow == 7);
  }
}

TEST(LimitSearch, AStepForWhoseProbesTheBudgetHadNoRoomIsKnown) {
  LimitSearch search(Options());
  search.Add({v1::STEP_PURPOSE_MAXIMUM, 0, v1::LIMIT_STATE_UNDECIDED, 10 * kSecond, 1000, 1e6, 1e6}, 10 * kSecond);
  search.Add({v1::STEP_PURPOSE_SEARCH, 500, v1::LIMIT_STATE_MEETS, 10 * kSecond, 500, 1e6, 1e6}, 20 * kSecond);
  EXPECT_FALSE(search.recovered(1));
}

TEST(LimitSearch, TheHoldsTimeIsKeptOnlyOnceThereIsSomethingToHold) {
  LimitSearch::Options options = Options();
  options.budget_ns = 110 * kSecond;
  LimitSearch search(options);
  const std::vector<LimitStep> steps = Search(search, UpTo(10));
  EXPECT_GE(Count(steps, v1::STEP_PURPOSE_SEARCH), 4U);
}

TEST(LimitSearch, PointsOfTheCurveAreAsLongAsTheirP99Needs) {
  LimitSearch search(Options());
  const std::vector<LimitStep> steps = Search(search, UpTo(480));
  EXPECT_GE(Count(steps, v1::STEP_PURPOSE_CURVE), 1U);
  for (const LimitStep& step : steps) {
    if (step.purpose != v1::STEP_PURPOSE_CURVE) continue;
    EXPECT_GE(static_cast<double>(step.duration_ns), std::min(80.0, 1000 / step.load) * kSecond) << step.load;
  }
}

TEST(LimitSearch, PointsOfAMixedRunsCurveAreAsLongAsP99OfTheirShareNeeds) {
  LimitSearch::Options options = Options();
  options.curve_share = 0.25;
  LimitSearch search(options);
  const std::vector<LimitStep> steps = Search(search, UpTo(480));
  EXPECT_GE(Count(steps, v1::STEP_PURPOSE_CURVE), 1U);
  for (const LimitStep& step : steps) {
    if (step.purpose != v1::STEP_PURPOSE_CURVE) continue;
    EXPECT_GE(static_cast<double>(step.duration_ns), std::min(80.0, 4000 / step.load) * kSecond) << step.load;
  }
}

TEST(LimitSearch, MeasuresAnUndecidedLoadAgainForTwiceAsLongEachTime) {
  LimitSearch search(Options());
  // Near the limit a step decides only when it is long enough.
  const Storage storage{.judge = [](const LimitStep& step) {
    const bool near = std::abs(step.load - 400) < 30;
    return near && step.duration_ns < 40 * kSecond ? v1::LIMIT_STATE_UNDECIDED : Meets(step.load <= 400);
  }};
  const std::vector<LimitStep> steps = Search(search, storage);
  EXPECT_THAT(search.bounds().meets, AllOf(Ge(380.0), Le(400.0)));
  const auto extended = std::find_if(steps.begin(), steps.end(), [](const LimitStep& step) {
    return step.purpose == v1::STEP_PURPOSE_SEARCH && step.duration_ns == 40 * kSecond;
  });
  ASSERT_NE(extended, steps.end());
  EXPECT_EQ((extended - 1)->duration_ns, 20 * kSecond);
  EXPECT_EQ((extended - 1)->load, extended->load);
}

TEST(LimitSearch, WhatStaysUndecidedIsWithinTheInterval) {
  LimitSearch search(Options());
  const Storage storage{.judge = [](const LimitStep& step) {
    return step.load > 380 && step.load < 460 ? v1::LIMIT_STATE_UNDECIDED : Meets(step.load <= 400);
  }};
  Search(search, storage);
  EXPECT_THAT(search.bounds().meets, AllOf(Ge(360.0), Le(380.0)));
  EXPECT_THAT(search.bounds().exceeds.value_or(0), AllOf(Ge(460.0), Le(490.0)));
}

TEST(LimitSearch, AnAnswerThatDoesNotHoldIsLowered) {
  LimitSearch search(Options());
  // For a minute the storage carries a tenth less than for ten seconds.
  const Storage storage{
      .judge = [](const LimitStep& step) { return Meets(step.load <= (step.duration_ns > 30 * kSecond ? 360 : 400)); }};
  const std::vector<LimitStep> steps = Search(search, storage);
  EXPECT_GE(Count(steps, v1::STEP_PURPOSE_HOLD), 2U);
  EXPECT_TRUE(search.held());
  EXPECT_THAT(search.bounds().meets, AllOf(Ge(300.0), Le(360.0)));
}

TEST(LimitSearch, WhenTheBudgetEndsTheIntervalIsWiderAndTheAnswerIsHeldAllTheSame) {
  LimitSearch::Options options = Options();
  options.budget_ns = 150 * kSecond;
  LimitSearch search(options);
  const std::vector<LimitStep> steps = Search(search, UpTo(411));
  int64_t total_ns = 0;
  for (const LimitStep& step : steps) total_ns += step.duration_ns + options.warmup_ns;
  EXPECT_LE(total_ns, options.budget_ns);
  EXPECT_TRUE(search.held());
  EXPECT_THAT(search.ended(), HasSubstr("--budget (150s) ended before"));
  EXPECT_LE(search.bounds().meets, 411);
  EXPECT_GE(search.bounds().exceeds.value_or(0), 411);
}

TEST(LimitSearch, WhereNoLoadMeetsTheCriteriaItEndsAndHoldsNothing) {
  LimitSearch search(Options());
  const std::vector<LimitStep> steps =
      Search(search, {.judge = [](const LimitStep& /*step*/) { return Meets(false); }});
  EXPECT_LT(steps.size(), 60U);
  EXPECT_EQ(search.bounds().meets, 0);
  EXPECT_EQ(Count(steps, v1::STEP_PURPOSE_HOLD), 0U);
  EXPECT_EQ(search.ended(), "");
}

TEST(LimitSearch, AStorageThatWritesNothingEndsTheSearch) {
  LimitSearch search(Options());
  Storage storage = UpTo(400);
  storage.maximum = 0;
  EXPECT_EQ(Search(search, storage).size(), 1U);
}

// Of 8 queue managers; the first step has all of them.
TEST(LimitSearch, SearchesTheNumberOfQueueManagers) {
  for (const double limit : {1.0, 3.0, 7.0, 8.0}) {
    LimitSearch::Options options = Options();
    options.over = v1::LIMIT_OVER_QM;
    LimitSearch search(options);
    int64_t now_ns = 0;
    size_t steps = 0;
    while (const std::optional<LimitStep> next = search.Next()) {
      const double load = next->load == 0 ? 8 : next->load;
      now_ns += next->duration_ns;
      search.Add({next->purpose, load, Meets(load <= limit), next->duration_ns, 100, 1e6, 1e6}, now_ns);
      ASSERT_LT(++steps, 60U);
    }
    EXPECT_EQ(search.bounds().meets, limit);
    EXPECT_EQ(search.bounds().exceeds.has_value(), limit < 8);
    EXPECT_TRUE(search.held());
    EXPECT_EQ(search.curve().size(), 8U) << "each number of them";
  }
}

TEST(LimitSearch, SearchesTheNumberOfClientsToWithinTheTolerance) {
  for (const double limit : {1.0, 2.0, 37.0, 640.0, 2'000.0}) {
    SCOPED_TRACE(limit);
    LimitSearch::Options options = Options();
    options.over = v1::LIMIT_OVER_CLIENTS;
    options.most_load = 2'000;
    LimitSearch search(options);
    int64_t now_ns = 0;
    size_t steps = 0;
    while (const std::optional<LimitStep> next = search.Next()) {
      const double load = next->load == 0 ? options.most_load : next->load;
      now_ns += next->duration_ns;
      search.Add({next->purpose, load, Meets(load <= limit), next->duration_ns, 100, 1e6, 1e6}, now_ns);
      ASSERT_LT(++steps, 60U);
    }
    const LimitBounds bounds = search.bounds();
    EXPECT_THAT(bounds.meets, AllOf(Ge(limit / 1.06), Le(limit)));
    ASSERT_EQ(bounds.exceeds.has_value(), limit < options.most_load);
    if (bounds.exceeds) {
      EXPECT_LE(*bounds.exceeds, std::max(bounds.meets * 1.05, bounds.meets + 1));
    }
    EXPECT_TRUE(search.held());
    EXPECT_EQ(search.ended(), "");
    // Neighbours of the curve are 1.5 times apart, whatever the most.
    EXPECT_LT(search.curve().size(), 35U);
  }
}

TEST(LimitSearch, SearchesTheLoadFactorBetweenItsLeastAndTheLargestOne) {
  for (const double limit : {0.02, 0.7, 1.0, 3.33, 9.9, 10.0}) {
    SCOPED_TRACE(limit);
    LimitSearch::Options options = Options();
    options.over = v1::LIMIT_OVER_LOAD_FACTOR;
    options.most_load = 10;
    LimitSearch search(options);
    int64_t now_ns = 0;
    std::vector<LimitStep> steps;
    while (const std::optional<LimitStep> next = search.Next()) {
      steps.push_back(*next);
      const double load = next->load == 0 ? options.most_load : next->load;
      EXPECT_THAT(load, AllOf(Ge(0.01), Le(options.most_load)));
      now_ns += next->duration_ns;
      // As recorded: 20 commits a second.
      search.Add({next->purpose, load, Meets(load <= limit), next->duration_ns, 20 * load, 1e6, 1e6}, now_ns);
      ASSERT_LT(steps.size(), 60U);
    }
    EXPECT_EQ(steps[0].purpose, v1::STEP_PURPOSE_MAXIMUM);
    const LimitBounds bounds = search.bounds();
    EXPECT_THAT(bounds.meets, AllOf(Ge(limit / 1.06), Le(limit)));
    ASSERT_EQ(bounds.exceeds.has_value(), limit < options.most_load);
    if (bounds.exceeds) {
      EXPECT_LE(*bounds.exceeds, bounds.meets * 1.051);
    }
    EXPECT_TRUE(search.held());
    EXPECT_EQ(search.ended(), "");
  }
}

TEST(LimitSearch, AProbeOfALoadFactorIsATenthOfTheLargestAndLongEnoughForAMedian) {
  LimitSearch::Options options = Options();
  options.over = v1::LIMIT_OVER_LOAD_FACTOR;
  options.most_load = 10;
  LimitSearch search(options);
  // 4 writers make 200 commits a second at a factor of 10, so that 100 take 5 s at a factor of 1.
  search.Add({v1::STEP_PURPOSE_MAXIMUM, 10, Meets(false), 10 * kSecond, 50, 1e6, 1e6}, 10 * kSecond);
  const std::optional<LimitStep> probe = search.Next();
  ASSERT_TRUE(probe.has_value());
  EXPECT_EQ(probe->purpose, v1::STEP_PURPOSE_PROBE);
  EXPECT_EQ(probe->load, 1);
  EXPECT_EQ(probe->duration_ns, 5 * kSecond);
}

TEST(LimitSearch, NoLoadFactorBelowTheLeastIsTried) {
  LimitSearch::Options options = Options();
  options.over = v1::LIMIT_OVER_LOAD_FACTOR;
  options.most_load = 1;
  LimitSearch search(options);
  int64_t now_ns = 0;
  size_t steps = 0;
  while (const std::optional<LimitStep> next = search.Next()) {
    const double load = next->load == 0 ? options.most_load : next->load;
    EXPECT_GE(load, 0.01);
    now_ns += next->duration_ns;
    const bool probe = next->purpose == v1::STEP_PURPOSE_PROBE;
    search.Add(
        {next->purpose, load, probe ? v1::LIMIT_STATE_UNDECIDED : Meets(false), next->duration_ns, 100, 1e6, 1e6},
        now_ns);
    ASSERT_LT(++steps, 40U);
  }
  EXPECT_EQ(search.bounds().meets, 0);
  ASSERT_TRUE(search.bounds().exceeds.has_value());
  EXPECT_LT(*search.bounds().exceeds, 0.02);
}

TEST(LimitSearch, TheKneeIsWhereTheMostWritesComeForTheirLatency) {
  LimitSearch search(Options());
  Storage storage = UpTo(900);
  // The mean of a server whose work takes 1 ms: the power is greatest at half of what it can do.
  storage.mean_ns = [](const LimitStep& step) { return 1e6 / (1 - std::min(step.load, 999.0) / 1000); };
  Search(search, storage);
  EXPECT_THAT(search.knee(), AllOf(Ge(400.0), Le(600.0)));
}

}  // namespace
}  // namespace plimsoll::tests
