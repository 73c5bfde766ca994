// How sure the percentiles of a step are.
#include "controller/limit/step_parts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/histogram.h"
#include "common/units.h"
#include "controller/plan/criteria.h"

namespace plimsoll::testing {
namespace {

StepParts PartsFor(const std::string& criterion) {
  return StepParts({ParseCriterion(criterion).value()});
}

// So many writes of 0.5 ms, and so many of 50 ms.
v1::Frame Frame(int32_t interval, uint64_t prompt, uint64_t slow) {
  Histogram writes;
  writes.RecordN(kNsPerMs / 2, prompt);
  writes.RecordN(50 * kNsPerMs, slow);
  v1::Frame frame;
  frame.set_qm(1);
  frame.set_first_interval(interval);
  *frame.mutable_latency() = writes.ToProto();
  return frame;
}

TEST(StepParts, AHostWithoutFramesLeavesTheOthersTheirStorages) {
  StepParts parts = PartsFor("p90@storage<1ms");
  parts.Add(1, Frame(0, 100, 0));
  parts.Add(2, Frame(0, 80, 20));
  const std::optional<BeyondShare> share = parts.ShareOf("p90@storage<1ms", kNsPerSecond, {{0, 1}, {1, 1}, {2, 2}});
  ASSERT_TRUE(share);
  EXPECT_DOUBLE_EQ(share->measured, 0.2);
  EXPECT_DOUBLE_EQ(share->allowed, 0.1);
}

// Wilson's bound with Student's t of one degree of freedom, 31.82.
TEST(StepParts, TwoPartsThatDifferMakeAWideInterval) {
  StepParts parts = PartsFor("p90<1ms");
  parts.Add(1, Frame(0, 995, 5));
  parts.Add(1, Frame(1, 985, 15));
  const std::optional<BeyondShare> share = parts.ShareOf("p90<1ms", kNsPerSecond, {});
  ASSERT_TRUE(share);
  EXPECT_DOUBLE_EQ(share->measured, 0.01);
  EXPECT_NEAR(share->high, 0.7245, 0.001);
}

}  // namespace
}  // namespace plimsoll::testing
