#include "controller/criteria/abort_condition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "common/units.h"
#include "tests/testing.h"

namespace plimsoll::tests {
namespace {

TEST(AbortCondition, HoldsInOneSecondOrInSeveralInARow) {
  const absl::StatusOr<AbortCondition> condition = ParseAbortCondition(" p99 > 20ms for 5s ");
  ASSERT_THAT(condition, IsOk());
  EXPECT_EQ(condition->criterion.metric, Metric::kPercentile);
  EXPECT_EQ(condition->criterion.percentile, 99);
  EXPECT_EQ(condition->criterion.comparison, Comparison::kGreater);
  EXPECT_EQ(condition->criterion.limit, 20 * kNsPerMs);
  EXPECT_EQ(condition->criterion.scope, CriterionScope::kCluster);
  EXPECT_EQ(condition->seconds, 5U);
  EXPECT_EQ(condition->text, "p99 > 20ms for 5s");
  EXPECT_EQ(ParseAbortCondition("max>=1s")->seconds, 1U);
  EXPECT_EQ(ParseAbortCondition("max>1s FOR 2m")->seconds, 120U);
  EXPECT_EQ(ParseAbortCondition("p99@host>1s")->criterion.scope, CriterionScope::kHost);
  for (const char* text : {"p50>1ms", "p99.9>1ms", "avg>1ms", "iops<100", "mbps<=3 for 10s", "max@host>1ms"}) {
    EXPECT_THAT(ParseAbortCondition(text), IsOk()) << text;
  }
}

TEST(AbortCondition, RefusesWhatNoSecondShowsOrWhatIsTrueOfAGoodOne) {
  const auto refused = [](const char* text, const char* why) {
    EXPECT_THAT(ParseAbortCondition(text), StatusIs(absl::StatusCode::kInvalidArgument, why)) << text;
  };
  refused("p99<20ms", "did you mean 'p99>20ms'?");
  refused("iops>100", "did you mean 'iops<100'?");
  refused("p95>1ms", "a second has p50, p99, p99.9, max, avg, iops and mbps");
  refused("stalls>0", "a second has p50");
  refused("steady", "a second has p50");
  refused("p99@qm>1ms", "'@cluster' or '@host'");
  refused("avg@host>1ms", "only p99 and max are known for each host");
  refused("p99@4k>1ms", "leave the block size out");
  refused("service_p99>1ms", "leave the part before '_' out");
  refused("commit_p99>1ms", "leave the part before '_' out");
  refused("p99:20ms", "':' is for criteria");
  refused("p99>20", "p99>20ms for 5s");
  refused("p99>20ms for 1500ms", "whole seconds");
  refused("p99>20ms for 0s", "whole seconds");
  refused("p99>20ms for 2h", "from 1s to 1h");
  refused("p99>20ms for ever", "p99>20ms for 5s");
  refused("p99", "p99>20ms for 5s");
  refused("", "p99>20ms for 5s");
}

}  // namespace
}  // namespace plimsoll::tests
