// The search against queueing curves that are computed numerically.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "common/units.h"
#include "tests/unit/limit/simulated_queue.h"

namespace plimsoll::testing {
namespace {

constexpr double kTolerance = 0.05;

struct Case {
  uint32_t writers;
  int64_t service_ns;
  const char* criterion;
  int64_t limit_ns;
};

std::string CaseName(const ::testing::TestParamInfo<Case>& info) {
  return std::to_string(info.param.writers) + "Agents";
}

class LimitSimulation : public ::testing::TestWithParam<Case> {
 protected:
  // Of so many seeds, how many gave an answer within the tolerance of the true limit.
  int Within(int seeds) {
    const Case& one = GetParam();
    SimulatedSearch search;
    search.queue = {one.writers, one.service_ns};
    search.plan = SearchPlan(one.criterion);
    const double truth = RateAt(search.queue, 0.01, one.limit_ns);
    int within = 0;
    for (int seed = 1; seed <= seeds; ++seed) {
      search.seed = static_cast<uint64_t>(seed);
      const v1::Report report = RunSearch(search);
      const double found = report.limit().limit();
      const bool is_within = std::abs(found - truth) <= kTolerance * truth;
      within += is_within ? 1 : 0;
      if (!is_within || std::getenv("VERBOSE") != nullptr) {
        std::printf("seed %d: found %.1f, exceeded at %.1f, truth %.1f, %d steps, %s\n", seed, found,
                    report.limit().exceeded_at(), truth, report.steps_size(),
                    v1::Outcome_Name(report.verdict().outcome()).c_str());
      }
    }
    return within;
  }
};

TEST_P(LimitSimulation, FindsTheLimitWithinTheToleranceWithFiveSeeds) {
  EXPECT_GE(Within(5), 4);
}

TEST_P(LimitSimulation, FindsTheLimitWithinTheToleranceIn95OfAHundredSeeds) {
  EXPECT_GE(Within(100), 95);
}

INSTANTIATE_TEST_SUITE_P(Queues, LimitSimulation,
                         ::testing::Values(Case{1, 1'000'000, "p99<5ms", 5'000'000},
                                           Case{3, 300'000, "p99<2ms", 2'000'000},
                                           Case{12, 100'000, "p99<1ms", 1'000'000}),
                         CaseName);

TEST(SimulatedQueue, OneWriterAgreesWithErlangsFormula) {
  const SimulatedQueue queue{1, 1'000'000};
  for (const double rate : {300.0, 600.0, 800.0}) {
    const double exact = ShareBeyondOfOne(queue.service_ns, rate, 4'000'000);
    EXPECT_NEAR(ShareBeyond(queue, rate, 4'000'000), exact, 0.05 * exact + 2e-5) << rate;
  }
}

}  // namespace
}  // namespace plimsoll::testing
