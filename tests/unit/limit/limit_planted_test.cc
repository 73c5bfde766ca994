// Searches in which something is planted: storages that change, pauses that come by chance, load generators in the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>

#include "common/units.h"
#include "controller/plan/plan_defaults.h"
#include "tests/testing.h"
#include "tests/unit/limit/simulated_queue.h"

namespace plimsoll::tests {
namespace {

SimulatedSearch ThreeWriters() {
  SimulatedSearch search;
  search.queue = {3, 300'000};
  search.plan = SearchPlan("p99<2ms");
  search.plan.set_duration_ns(10 * kNsPerSecond);
  return search;
}

const v1::LimitPoint* Last(const v1::LimitReport& limit, v1::StepPurpose purpose) {
  const v1::LimitPoint* last = nullptr;
  for (const v1::LimitPoint& point : limit.points()) {
    if (point.purpose() == purpose) last = &point;
  }
  return last;
}

TEST(LimitPlanted, AStorageThatBecomesSlowerOrFasterMidwayGivesNoPassWithAWrongInterval) {
  const SimulatedSearch steady = ThreeWriters();
  const double before = RateAt(steady.queue, 0.01, 2'000'000);
  for (const double factor : {1.4, 0.7}) {
    SimulatedQueue changed = steady.queue;
    changed.service_ns = static_cast<int64_t>(static_cast<double>(changed.service_ns) * factor);
    const double after = RateAt(changed, 0.01, 2'000'000);
    int named = 0;
    for (uint32_t at = 5; at <= 23; at += 2) {
      SimulatedSearch search = steady;
      search.seed = at;
      search.change = [&](uint32_t number, SimulatedQueue& queue) {
        if (number >= at) queue = changed;
      };
      const v1::Report report = RunSearch(search);
      const v1::LimitReport& limit = report.limit();
      const std::string reason = report.verdict().reasons().empty() ? "" : report.verdict().reasons(0);
      if (reason.find("The storage changed between steps ") == 0) ++named;
      if (report.verdict().outcome() != v1::OUTCOME_PASS) continue;
      // What held at that time, up to the upper end's check.
      const v1::LimitPoint* const check = Last(limit, v1::STEP_PURPOSE_CHECK);
      ASSERT_NE(check, nullptr) << at;
      const double truth = check->step() >= at ? after : before;
      EXPECT_LE(limit.limit(), truth * 1.01) << factor << " from step " << at;
      EXPECT_GE(limit.exceeded_at(), truth * 0.99) << factor << " from step " << at;
    }
    EXPECT_GE(named, 2) << factor;
  }
}

TEST(LimitPlanted, ALoadThatExceedsBelowOneThatHadMetIsInconclusiveAndNamesBothSteps) {
  SimulatedSearch search = ThreeWriters();
  // From the hold on the storage is slower by far.
  bool held = false;
  search.change = [&](uint32_t /*number*/, SimulatedQueue& queue) {
    if (held) queue.service_ns *= 2;
  };
  search.plant = [&](v1::StepReport& report) { held = held || report.purpose() == v1::STEP_PURPOSE_HOLD; };
  const v1::Report report = RunSearch(search);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  ASSERT_FALSE(report.verdict().reasons().empty());
  EXPECT_THAT(report.verdict().reasons(0),
              ContainsRegex("^The storage changed between steps [0-9]+ and [0-9]+: [0-9.,]+ writes/s per queue manager "
                            "met the criteria in step [0-9]+(, [0-9.,]+ writes/s per queue manager| and) exceeded them "
                            "in step [0-9]+ .p99<2ms: "));
  EXPECT_EQ(report.verdict().reasons_size(), 1) << report.verdict().reasons(1);
}

TEST(LimitPlanted, TheUpperEndIsMeasuredOnceMoreAfterTheHold) {
  const v1::Report report = RunSearch(ThreeWriters());
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS);
  const v1::LimitPoint* const hold = Last(report.limit(), v1::STEP_PURPOSE_HOLD);
  const v1::LimitPoint* const check = Last(report.limit(), v1::STEP_PURPOSE_CHECK);
  ASSERT_TRUE(hold != nullptr && check != nullptr);
  EXPECT_GT(check->step(), hold->step());
  EXPECT_EQ(check->load(), report.limit().exceeded_at());
  EXPECT_EQ(check->state(), v1::LIMIT_STATE_EXCEEDS);
}

TEST(LimitPlanted, PausesInOneStepAreNoUpperEndOfASearchForAMaximum) {
  SimulatedSearch search = ThreeWriters();
  search.plan = SearchPlan("max<50ms");
  search.plan.set_duration_ns(10 * kNsPerSecond);
  // In the first step at a load that is searched.
  uint32_t paused = 0;
  bool searching = false;
  search.plant = [&](v1::StepReport& report) {
    searching = searching || report.purpose() == v1::STEP_PURPOSE_SEARCH;
    if (!searching) paused = report.number() + 1;
  };
  search.change = [&](uint32_t number, SimulatedQueue& queue) {
    if (number != paused || number < 4) return;
    queue.pause_every_ns = 2 * kNsPerSecond;
    queue.pause_ns = 60'000'000;
  };
  const v1::LimitReport limit = RunSearch(search).limit();
  const auto first = std::find_if(limit.points().begin(), limit.points().end(), [](const v1::LimitPoint& point) {
    return point.purpose() == v1::STEP_PURPOSE_SEARCH;
  });
  ASSERT_NE(first, limit.points().end());
  const double load = first->load();
  EXPECT_EQ(first->state(), v1::LIMIT_STATE_UNDECIDED);
  EXPECT_EQ(first->criterion(), "max<50ms");
  // It is measured again, and again since the two differ.
  EXPECT_EQ((first + 1)->load(), load);
  EXPECT_EQ((first + 1)->state(), v1::LIMIT_STATE_UNDECIDED);
  EXPECT_EQ((first + 2)->load(), load);
  EXPECT_EQ((first + 2)->state(), v1::LIMIT_STATE_MEETS);
  EXPECT_GE(limit.limit(), load);
}

// A stall of all hosts.
void PlantStall(v1::StepReport& report) {
  v1::StallsReport& stalls = *report.mutable_stalls();
  stalls.set_count(1);
  v1::StallReport& stall = *stalls.add_stalls();
  stall.set_stall_class(v1::STALL_CLASS_ALL_HOSTS);
  stall.set_length_ns(300 * kNsPerMs);
}

// The storage stalls at high rates, and from the end of the upper end's check on it pauses and stalls at any rate.
SimulatedSearch WorseOnTheCurve(const std::string& criterion) {
  SimulatedSearch search = ThreeWriters();
  search.plan = SearchPlan(criterion);
  search.plan.set_duration_ns(10 * kNsPerSecond);
  search.plan.mutable_limit()->set_tolerance_percent(20);
  const auto worse = std::make_shared<bool>(false);
  search.change = [worse](uint32_t /*number*/, SimulatedQueue& queue) {
    if (!*worse) return;
    queue.pause_every_ns = 2 * kNsPerSecond;
    queue.pause_ns = 60 * kNsPerMs;
  };
  search.plant = [worse](v1::StepReport& report) {
    report.mutable_stalls()->set_threshold_ns(50 * kNsPerMs);
    if (*worse || report.rate_per_second() > 800) PlantStall(report);
    *worse = *worse || report.purpose() == v1::STEP_PURPOSE_CHECK;
  };
  return search;
}

std::ptrdiff_t Count(const v1::LimitReport& limit, v1::StepPurpose purpose) {
  return std::count_if(limit.points().begin(), limit.points().end(),
                       [purpose](const v1::LimitPoint& point) { return point.purpose() == purpose; });
}

// The check of the upper end exceeds the criterion in any case, so that the curve alone shows the change.
TEST(LimitPlanted, AStorageThatGetsWorseAfterTheHoldIsInconclusiveForCriteriaWithoutBoundsToo) {
  for (const char* const criterion : {"max<30ms", "stalls==0", "longest_stall<100ms"}) {
    SimulatedSearch search = WorseOnTheCurve(criterion);
    const v1::Report report = RunSearch(search);
    const v1::LimitPoint* const check = Last(report.limit(), v1::STEP_PURPOSE_CHECK);
    ASSERT_NE(check, nullptr) << criterion;
    EXPECT_EQ(check->state(), v1::LIMIT_STATE_EXCEEDS) << criterion;
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE) << criterion;
    EXPECT_THAT(report.verdict().reasons(),
                ElementsAre(AllOf(ContainsRegex("^The storage changed between steps [0-9]+ and [0-9]+: [0-9.,]+ "
                                                "writes/s per queue manager met the criteria in step [0-9]+, [0-9.,]+ "
                                                "writes/s per queue manager exceeded them in step [0-9]+ ."),
                                  HasSubstr(criterion))));

    // The budget has room for two points of the curve, but not for measuring the first one again.
    int64_t elapsed_ns = 0;
    for (const v1::LimitPoint& point : report.limit().points()) {
      if (point.purpose() == v1::STEP_PURPOSE_CURVE) break;
      elapsed_ns += point.measured_ns() + search.plan.warmup_ns();
    }
    search = WorseOnTheCurve(criterion);
    search.plan.mutable_limit()->set_budget_ns(elapsed_ns + 28 * kNsPerSecond);
    const v1::Report shorter = RunSearch(search);
    EXPECT_EQ(Count(shorter.limit(), v1::STEP_PURPOSE_CURVE), 2) << criterion;
    EXPECT_EQ(shorter.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE) << criterion;
    EXPECT_THAT(shorter.verdict().reasons(), ElementsAre(HasSubstr("The storage changed between steps "))) << criterion;

    // A search of an older version measured each point of the curve once, and its report keeps its verdict.
    search = WorseOnTheCurve(criterion);
    search.verdict_rules = 4;
    EXPECT_EQ(RunSearch(search).verdict().outcome(), v1::OUTCOME_PASS) << criterion;
  }
}

TEST(LimitPlanted, AStallInOneStepOfTheCurveIsNoChangeOfTheStorage) {
  SimulatedSearch search = ThreeWriters();
  search.plan = SearchPlan("stalls==0");
  search.plan.set_duration_ns(10 * kNsPerSecond);
  search.plant = [stalled = false](v1::StepReport& report) mutable {
    report.mutable_stalls()->set_threshold_ns(50 * kNsPerMs);
    const bool first = !stalled && report.purpose() == v1::STEP_PURPOSE_CURVE;
    if (first || report.rate_per_second() > 800) PlantStall(report);
    stalled = stalled || first;
  };
  const v1::Report report = RunSearch(search);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS);
  const auto first =
      std::find_if(report.limit().points().begin(), report.limit().points().end(),
                   [](const v1::LimitPoint& point) { return point.purpose() == v1::STEP_PURPOSE_CURVE; });
  ASSERT_NE(first, report.limit().points().end());
  EXPECT_EQ(first->state(), v1::LIMIT_STATE_UNDECIDED);
  EXPECT_EQ((first + 1)->load(), first->load()) << "it is measured once more";
  EXPECT_EQ((first + 1)->purpose(), v1::STEP_PURPOSE_CURVE);
  EXPECT_NE((first + 2)->load(), first->load());
  EXPECT_EQ(report.limit().ended(), "");
}

// Each overload leaves eight slow probes behind, for which the budget has no time beside the check; and the interval's
// last upper end is found after the check of the one before it.
TEST(LimitPlanted, AnUpperEndThatWasNotMeasuredOnceMoreIsNotClaimed) {
  for (const uint32_t rules : {4U, 5U}) {
    int open = 0;
    int closed = 0;
    for (int64_t budget_s = 640; budget_s <= 700; budget_s += 5) {
      SimulatedSearch search = ThreeWriters();
      search.plan.mutable_limit()->set_budget_ns(budget_s * kNsPerSecond);
      search.verdict_rules = rules;
      search.plant = [slow = 0](v1::StepReport& report) mutable {
        if (report.purpose() != v1::STEP_PURPOSE_PROBE) {
          slow = 8;
        } else if (slow-- > 0) {
          for (v1::ScopeReport& scope : *report.mutable_scopes()) {
            if (scope.has_rate()) scope.mutable_rate()->mutable_response()->set_p50_ns(90 * kNsPerMs);
          }
        }
      };
      const v1::Report report = RunSearch(search);
      const v1::LimitReport& limit = report.limit();
      if (report.verdict().outcome() != v1::OUTCOME_PASS) continue;
      const v1::LimitPoint* const check = Last(limit, v1::STEP_PURPOSE_CHECK);
      if (check != nullptr && check->step() > limit.step() && limit.exceeded_at() == check->load()) continue;
      (limit.has_exceeded_at() ? closed : open) += 1;
      if (rules < 5) continue;
      EXPECT_THAT(report.verdict().remark(), HasSubstr("ended before the interval's upper end was measured once more"));
    }
    // Searches of older versions keep what they claimed.
    EXPECT_EQ(closed > 0, rules < 5) << closed;
    EXPECT_EQ(open > 0, rules >= 5) << open;
  }
}

TEST(LimitPlanted, ABudgetThatRecoveryUsedUpIsExplained) {
  SimulatedSearch search = ThreeWriters();
  search.plan = SearchPlan("p99<350us");
  search.plan.mutable_limit()->set_budget_ns(100 * kNsPerSecond);
  search.plant = [](v1::StepReport& report) {
    if (report.purpose() != v1::STEP_PURPOSE_PROBE) return;
    for (v1::ScopeReport& scope : *report.mutable_scopes()) {
      if (scope.has_rate()) scope.mutable_rate()->mutable_response()->set_p50_ns(90 * kNsPerMs);
    }
  };
  const v1::Report report = RunSearch(search);
  EXPECT_EQ(report.limit().limit(), 0);
  EXPECT_THAT(report.verdict().reasons(),
              Contains(ContainsRegex("ended .*; no lower load was held against the criteria: [0-9]+ of [0-9]+ steps "
                                     "probed whether the storage had recovered\\.")));
}

TEST(LimitPlanted, WhereTheLoadGeneratorLeavesLoadsUndecidedTheAnswerIsALowerBoundThatWasMeasured) {
  SimulatedSearch search;
  search.queue = {1, 1'000'000};
  search.plan = SearchPlan("p99<50ms");
  search.plan.set_duration_ns(10 * kNsPerSecond);
  search.plan.mutable_limit()->set_budget_ns(240 * kNsPerSecond);
  search.generator_rate = 150;
  const v1::Report report = RunSearch(search);
  const v1::LimitReport& limit = report.limit();
  EXPECT_TRUE(limit.held());
  EXPECT_GE(limit.limit(), 100);
  EXPECT_LE(limit.limit(), 150);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(limit.cause(), v1::LIMIT_CAUSE_LOAD_GENERATOR) << limit.cause_text();
  ASSERT_FALSE(report.verdict().reasons().empty());
  EXPECT_THAT(report.verdict().reasons(0), AllOf(HasSubstr("the result is a lower bound"),
                                                 HasSubstr("its writers started writes up to 100.0 ms late")));
  // Half of the maximum was not measured again and again.
  const double half = limit.maximum() / 2;
  EXPECT_EQ(std::count_if(limit.points().begin(), limit.points().end(),
                          [half](const v1::LimitPoint& point) {
                            return point.purpose() == v1::STEP_PURPOSE_SEARCH && std::abs(point.load() - half) < 1;
                          }),
            1);
}

// Three writers, with a sync behind each write.
SimulatedSearch ThreeWritersThatSync() {
  SimulatedSearch search = ThreeWriters();
  search.plan.mutable_workload()->set_sync(v1::SYNC_MODE_FDATASYNC);
  return search;
}

struct Syncs {
  double beyond = 0;
  double mean_ns = 0;
};

// The share of the syncs that take longer than `limit_ns` at a rate in the long run, and their mean.
Syncs SyncsAt(const SimulatedQueue& queue, double rate_per_second, int64_t limit_ns) {
  double count = 0;
  Syncs syncs;
  for (const SimulatedWriter& writer : RunQueue(queue, rate_per_second, kNsPerSecond, 600 * kNsPerSecond, 4711)) {
    count += static_cast<double>(writer.sync_ns.size());
    for (const int64_t sync_ns : writer.sync_ns) {
      syncs.beyond += sync_ns > limit_ns ? 1 : 0;
      syncs.mean_ns += static_cast<double>(sync_ns);
    }
  }
  return {syncs.beyond / count, syncs.mean_ns / count};
}

// Syncs take longer the more of the three writers wait for the server, long before writes are queued for it.
TEST(LimitPlanted, ASlowSyncIsTheLimitWhereTheWritesHaveRoom) {
  const v1::LimitReport of_writes = RunSearch(ThreeWritersThatSync()).limit();
  for (const char* const criterion : {"sync_p99<600us", "sync_avg<320us"}) {
    SimulatedSearch search = ThreeWritersThatSync();
    search.plan.add_criteria("write_call_avg<1ms");
    search.plan.add_criteria(criterion);
    const v1::Report report = RunSearch(search);
    const v1::LimitReport& limit = report.limit();
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS) << criterion;
    ASSERT_TRUE(limit.held() && limit.has_exceeded_at()) << criterion;
    EXPECT_LT(limit.exceeded_at(), 0.9 * of_writes.limit()) << criterion;
    const Syncs met = SyncsAt(search.queue, limit.limit(), 600'000);
    const Syncs exceeded = SyncsAt(search.queue, limit.exceeded_at(), 600'000);
    const v1::LimitPoint* const check = Last(limit, v1::STEP_PURPOSE_CHECK);
    ASSERT_NE(check, nullptr) << criterion;
    EXPECT_EQ(check->criterion(), criterion);
    EXPECT_EQ(check->state(), v1::LIMIT_STATE_EXCEEDS) << criterion;
    EXPECT_EQ(check->confidence().criterion(), criterion);
    if (check->confidence().has_average_ns()) {
      EXPECT_LE(met.mean_ns, 1.01 * 320'000);
      EXPECT_GE(exceeded.mean_ns, 0.99 * 320'000);
      EXPECT_GT(check->confidence().low_ns(), 320'000);
    } else {
      EXPECT_LE(met.beyond, 0.0105);
      EXPECT_GE(exceeded.beyond, 0.0095);
      EXPECT_GT(check->confidence().low_percent(), 1);
    }
    // The verdict shows all three criteria at the answer, and that the rate was reached.
    ASSERT_EQ(report.verdict().criteria_size(), 4) << criterion;
    EXPECT_EQ(report.verdict().criteria(2).criterion(), criterion);
    EXPECT_EQ(report.verdict().criteria(2).outcome(), v1::OUTCOME_PASS);
  }
}

TEST(LimitPlanted, TheLongestSyncHasNoBoundsOfChanceAndMustExceedItsLimitTwice) {
  SimulatedSearch search = ThreeWriters();
  search.plan = SearchPlan("sync_max<50ms");
  search.plan.mutable_workload()->set_sync(v1::SYNC_MODE_FDATASYNC);
  search.plan.set_duration_ns(10 * kNsPerSecond);
  search.plan.mutable_limit()->set_budget_ns(400 * kNsPerSecond);
  // In the first step at a load that is searched.
  uint32_t paused = 0;
  bool searching = false;
  search.plant = [&](v1::StepReport& report) {
    searching = searching || report.purpose() == v1::STEP_PURPOSE_SEARCH;
    if (!searching) paused = report.number() + 1;
  };
  search.change = [&](uint32_t number, SimulatedQueue& queue) {
    if (number != paused || number < 4) return;
    queue.pause_every_ns = 2 * kNsPerSecond;
    queue.pause_ns = 60'000'000;
  };
  const v1::LimitReport limit = RunSearch(search).limit();
  const auto first = std::find_if(limit.points().begin(), limit.points().end(), [](const v1::LimitPoint& point) {
    return point.purpose() == v1::STEP_PURPOSE_SEARCH;
  });
  ASSERT_NE(first, limit.points().end());
  EXPECT_EQ(first->state(), v1::LIMIT_STATE_UNDECIDED);
  EXPECT_EQ(first->criterion(), "sync_max<50ms");
  EXPECT_FALSE(first->has_confidence());
  EXPECT_EQ((first + 1)->load(), first->load());
}

TEST(LimitPlanted, TheTimesOfPartsAreNeverThoseOfWrites) {
  for (const char* const criterion : {"p99<2ms", "avg<600us"}) {
    SimulatedSearch search = ThreeWriters();
    search.plan = SearchPlan(criterion);
    search.plan.set_duration_ns(10 * kNsPerSecond);
    const v1::Report without = RunSearch(search);
    search.plan.mutable_workload()->set_sync(v1::SYNC_MODE_FDATASYNC);
    const v1::Report with = RunSearch(search);
    ASSERT_EQ(without.steps_size(), with.steps_size()) << criterion;
    for (int step = 0; step < with.steps_size(); ++step) {
      EXPECT_EQ(without.steps(step).operations_size(), 0) << criterion;
      EXPECT_EQ(with.steps(step).operations_size(), 2) << criterion;
    }
    EXPECT_EQ(without.limit().SerializeAsString(), with.limit().SerializeAsString()) << criterion;
  }
}

// Such a plan is refused. A journal that has one must not show that a load meets the criterion.
TEST(LimitPlanted, NoLoadMeetsACriterionOfAPartThatWasNotMeasured) {
  SimulatedSearch search = ThreeWriters();
  search.plan.add_criteria("sync_p99<1s");
  search.plan.mutable_limit()->set_budget_ns(400 * kNsPerSecond);
  const v1::Report report = RunSearch(search);
  EXPECT_EQ(report.limit().limit(), 0);
  EXPECT_NE(report.verdict().outcome(), v1::OUTCOME_PASS);
}

// Search with three writers on a server that takes 0.3 ms for a write and 0.1 ms for a read. `percent` of the
// operations read.
SimulatedSearch ThreeWritersThatRead(uint32_t percent, const std::string& criterion) {
  SimulatedSearch search = ThreeWriters();
  search.plan = SearchPlan(criterion);
  search.plan.set_duration_ns(10 * kNsPerSecond);
  search.plan.set_read_percent(percent);
  return search;
}

// At full speed the server takes 0.22 ms per operation on average, and each writer has every third operation.
TEST(LimitPlanted, TheLoadOfAMixedRunCountsItsReadsAndItsWrites) {
  const v1::Report report = RunSearch(ThreeWritersThatRead(40, "p99<2ms"));
  const v1::LimitReport& limit = report.limit();
  EXPECT_NEAR(limit.maximum(), 1e9 / (3 * 220'000), 20);
  EXPECT_TRUE(limit.held());
  EXPECT_NEAR(limit.iops(), 3 * limit.limit(), 0.03 * limit.iops());
  for (const v1::StepReport& step : report.steps()) {
    ASSERT_EQ(step.operations_size(), 1) << "step " << step.number() << " reads, too";
    EXPECT_EQ(step.operations(0).name(), "read");
  }
  EXPECT_THAT(limit.cause_text(), HasSubstr(" operations/s per queue manager (step "));
}

// The share of the reads that take longer than `limit_ns` at a rate in the long run.
double ReadsBeyond(const SimulatedQueue& queue, double rate_per_second, int64_t limit_ns) {
  double count = 0;
  double beyond = 0;
  for (const SimulatedWriter& writer : RunQueue(queue, rate_per_second, kNsPerSecond, 600 * kNsPerSecond, 4711)) {
    count += static_cast<double>(writer.read_response_ns.size());
    for (const int64_t read_ns : writer.read_response_ns) beyond += read_ns > limit_ns ? 1 : 0;
  }
  return beyond / count;
}

TEST(LimitPlanted, SlowReadsLimitAMixedRunWhoseWritesHaveRoom) {
  SimulatedSearch search = ThreeWritersThatRead(40, "p99<4ms");
  search.plan.add_criteria("read_p99<2ms");
  const v1::LimitReport limit = RunSearch(search).limit();
  ASSERT_GT(limit.limit(), 0);
  ASSERT_TRUE(limit.has_exceeded_at());
  search.queue.read_percent = 40;
  EXPECT_LE(ReadsBeyond(search.queue, limit.limit(), 2'000'000), 0.012);
  EXPECT_GE(ReadsBeyond(search.queue, limit.exceeded_at(), 2'000'000), 0.008);
  const v1::LimitPoint* const check = Last(limit, v1::STEP_PURPOSE_CHECK);
  ASSERT_NE(check, nullptr);
  EXPECT_EQ(check->criterion(), "read_p99<2ms");
  EXPECT_EQ(check->confidence().criterion(), "read_p99<2ms");
}

TEST(LimitPlanted, ASearchOfReadsAloneFindsWhatOneOfAsLongWritesFinds) {
  const v1::LimitReport of_writes = RunSearch(ThreeWriters()).limit();
  SimulatedSearch search = ThreeWritersThatRead(100, "p99<2ms");
  search.queue.read_ns = search.queue.service_ns;
  const v1::Report report = RunSearch(search);
  const v1::LimitReport& limit = report.limit();
  EXPECT_EQ(limit.limit(), of_writes.limit());
  EXPECT_EQ(limit.maximum(), of_writes.maximum());
  EXPECT_EQ(limit.iops(), of_writes.iops());
  EXPECT_EQ(limit.points_size(), of_writes.points_size());
  for (const v1::StepReport& step : report.steps()) EXPECT_EQ(step.operations_size(), 0);
  EXPECT_THAT(of_writes.cause_text(), HasSubstr(" writes/s per queue manager (step "));
  EXPECT_THAT(limit.cause_text(), HasSubstr(" reads/s per queue manager (step "));
}

TEST(LimitPlanted, AHostThatStartsReadsLateIsInTheWayOfAMixedRun) {
  SimulatedSearch search;
  search.queue = {1, 1'000'000};
  search.queue.read_ns = 1'000'000;
  search.plan = SearchPlan("read_p99<50ms");
  search.plan.set_read_percent(50);
  search.plan.set_duration_ns(10 * kNsPerSecond);
  search.plan.mutable_limit()->set_budget_ns(240 * kNsPerSecond);
  search.generator_rate = 150;
  const v1::Report report = RunSearch(search);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(report.limit().cause(), v1::LIMIT_CAUSE_LOAD_GENERATOR) << report.limit().cause_text();
  ASSERT_FALSE(report.verdict().reasons().empty());
  EXPECT_THAT(report.verdict().reasons(0), HasSubstr("its writers started operations up to 100.0 ms late"));
}

// After each overload the writes are fast again at once, and the reads in the third probe.
TEST(LimitPlanted, AMixedRunHasRecoveredWhenItsReadsHave) {
  for (const bool enough : {true, false}) {
    SimulatedSearch search = ThreeWritersThatRead(enough ? 40 : 10, "p99<2ms");
    std::vector<v1::StepPurpose> purposes;
    search.plant = [&purposes, slow = 0](v1::StepReport& report) mutable {
      purposes.push_back(report.purpose());
      if (report.purpose() != v1::STEP_PURPOSE_PROBE) {
        slow = 2;
      } else if (slow-- > 0) {
        for (v1::OperationScopeReport& scope : *report.mutable_operations(0)->mutable_scopes()) {
          scope.mutable_response()->set_p50_ns(90 * kNsPerMs);
        }
      }
    };
    RunSearch(search);
    ASSERT_GT(purposes.size(), 5U);
    ASSERT_EQ(purposes[1], v1::STEP_PURPOSE_MAXIMUM);
    // Two probes show that the second one is not faster than the first.
    const auto next = std::find_if(purposes.begin() + 2, purposes.end(),
                                   [](v1::StepPurpose one) { return one != v1::STEP_PURPOSE_PROBE; });
    EXPECT_EQ(next - purposes.begin() - 2, enough ? 4 : 2);
  }
}

// What a search of an older version measured is what its report shows; its journal has no check, nor is one missed.
TEST(LimitPlanted, ASearchOfAnOlderVersionKeepsItsPassWithoutACheck) {
  SimulatedSearch search = ThreeWriters();
  search.verdict_rules = 3;
  const v1::Report report = RunSearch(search);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(Last(report.limit(), v1::STEP_PURPOSE_CHECK), nullptr);
  EXPECT_EQ(report.limit().ended(), "");
}

}  // namespace
}  // namespace plimsoll::tests
