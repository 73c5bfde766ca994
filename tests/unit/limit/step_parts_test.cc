// How sure the percentiles of a step are.
#include "controller/limit/step_parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/histogram.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"

namespace plimsoll::tests {
namespace {

StepParts PartsFor(const std::string& criterion) {
  return StepParts({ParseCriterion(criterion).value()}, /*averages=*/true);
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
  parts.Add(1, Frame(0, 100, 0), "");
  parts.Add(2, Frame(0, 80, 20), "");
  const std::optional<StepFigure> share = parts.FigureOf("p90@storage<1ms", kNsPerSecond, {{0, 1}, {1, 1}, {2, 2}});
  ASSERT_TRUE(share);
  EXPECT_DOUBLE_EQ(share->measured, 0.2);
  EXPECT_DOUBLE_EQ(share->allowed, 0.1);
}

// Wilson's bound with Student's t of one degree of freedom, 31.82.
TEST(StepParts, TwoPartsThatDifferMakeAWideInterval) {
  StepParts parts = PartsFor("p90<1ms");
  parts.Add(1, Frame(0, 995, 5), "");
  parts.Add(1, Frame(1, 985, 15), "");
  const std::optional<StepFigure> share = parts.FigureOf("p90<1ms", kNsPerSecond, {});
  ASSERT_TRUE(share);
  EXPECT_DOUBLE_EQ(share->measured, 0.01);
  EXPECT_NEAR(share->high, 0.7245, 0.001);
}

// Twelve parts of 100 writes: eleven of 0.5 ms, and one that waited for a stall.
TEST(StepParts, OneStallDoesNotShowAnAverageBeyondItsLimit) {
  StepParts parts = PartsFor("avg<2ms");
  for (int32_t interval = 0; interval < 12; ++interval) {
    parts.Add(1, interval == 7 ? Frame(interval, 0, 100) : Frame(interval, 100, 0), "");
  }
  const std::optional<StepFigure> average = parts.FigureOf("avg<2ms", 3 * kNsPerSecond, {});
  ASSERT_TRUE(average && average->is_average);
  EXPECT_NEAR(average->measured / kNsPerMs, 4.625, 1e-6);
  EXPECT_EQ(average->allowed, 2.0 * kNsPerMs);
  EXPECT_LT(average->low, average->allowed);
  EXPECT_GT(average->high, average->measured);
}

// Student's t with eleven degrees of freedom for 1 %: 2.718.
TEST(StepParts, TheBoundsOfAnAverageAreStudents) {
  StepParts parts = PartsFor("avg@cluster<2ms");
  for (int32_t interval = 0; interval < 12; ++interval) {
    parts.Add(interval % 2 == 0 ? 1 : 2, Frame(interval, 99, interval % 2 == 0 ? 1 : 3), "");
  }
  const std::optional<StepFigure> average = parts.FigureOf("avg@cluster<2ms", 3 * kNsPerSecond, {});
  ASSERT_TRUE(average);
  // 1,188 writes of 0.5 ms and 24 of 50 ms; the parts' sums are off by 1 x and 3 x 50 ms for 100 and 102 writes.
  EXPECT_NEAR(average->measured / kNsPerMs, 1794.0 / 1212, 1e-6);
  const double mean = 1794.0 / 1212;
  const double squares = 6 * std::pow(99.5 - 100 * mean, 2) + 6 * std::pow(199.5 - 102 * mean, 2);
  const double error = std::sqrt(12.0 / 11 * squares) / 1212;
  EXPECT_NEAR(average->high / kNsPerMs, mean + 2.718 * error, 0.001);
  EXPECT_NEAR(average->low / kNsPerMs, mean - 2.718 * error, 0.001);
}

TEST(StepParts, AnAverageOfWritesThatAreAllAlikeIsKnownExactly) {
  StepParts parts = PartsFor("avg<2ms");
  for (int32_t interval = 0; interval < 4; ++interval) parts.Add(1, Frame(interval, 100, 0), "");
  const std::optional<StepFigure> average = parts.FigureOf("avg<2ms", kNsPerSecond, {});
  ASSERT_TRUE(average);
  EXPECT_EQ(average->low, average->high);
  EXPECT_FALSE(StepParts({ParseCriterion("avg<2ms").value()}, /*averages=*/false).FigureOf("avg<2ms", 1, {}));
}

// One of ten writes takes 50 ms, and the sync of each takes 0.5 ms.
TEST(StepParts, AFrameCountsForTheCriteriaOfItsOperationAlone) {
  for (const char* const metric : {"p50", "avg"}) {
    const std::string of_write = std::string(metric) + "<2ms";
    const std::string of_sync = "sync_" + of_write;
    const std::string of_call = "write_call_" + of_write;
    StepParts parts(
        {ParseCriterion(of_write).value(), ParseCriterion(of_sync).value(), ParseCriterion(of_call).value()},
        /*averages=*/true);
    for (int32_t interval = 0; interval < 4; ++interval) {
      parts.Add(1, Frame(interval, 90, 10), "");
      parts.Add(1, Frame(interval, 100, 0), "sync");
    }
    const std::optional<StepFigure> write = parts.FigureOf(of_write, kNsPerSecond, {});
    const std::optional<StepFigure> sync = parts.FigureOf(of_sync, kNsPerSecond, {});
    ASSERT_TRUE(write && sync) << metric;
    EXPECT_DOUBLE_EQ(write->measured, write->is_average ? 5.45 * kNsPerMs : 0.1) << metric;
    EXPECT_DOUBLE_EQ(sync->measured, sync->is_average ? 0.5 * kNsPerMs : 0) << metric;
    EXPECT_FALSE(parts.FigureOf(of_call, kNsPerSecond, {})) << metric;
  }
}

// All reads took 0.5 ms, and 40 of 100 waited for their start.
TEST(StepParts, ReadsBesideWritesCountByWhatTheirCallersFelt) {
  StepParts parts = PartsFor("read_p50<2ms");
  v1::Frame reads = Frame(0, 100, 0);
  *reads.mutable_response() = Frame(0, 60, 40).latency();
  parts.Add(1, reads, "read");
  parts.Add(1, Frame(0, 0, 100), "");
  const std::optional<StepFigure> share = parts.FigureOf("read_p50<2ms", kNsPerSecond, {});
  ASSERT_TRUE(share);
  EXPECT_DOUBLE_EQ(share->measured, 0.4);
}

TEST(StepParts, OnePartShowsNothingOfHowMuchAnAverageVaries) {
  StepParts parts = PartsFor("avg<2ms");
  parts.Add(1, Frame(0, 100, 0), "");
  EXPECT_FALSE(parts.FigureOf("avg<2ms", kNsPerSecond / 4, {}));
}

}  // namespace
}  // namespace plimsoll::tests
