// Operations of a watched writer, which may overlap, in frames.
#include "agent/watch/watch_tally.h"

#include <gtest/gtest.h>

#include <vector>

#include "agent/watch/watch_profile.h"
#include "common/trace.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStartNs = 1'000 * kMs;

class WatchTallyTest : public ::testing::Test {
 protected:
  void Take(int64_t start_ms, int64_t end_ms, uint64_t bytes = 4096, uint32_t operation = 0) {
    while (kStartNs + end_ms * kMs >= tally_.interval_end_ns()) Cut();
    tally_.Take({.operation = operation,
                 .start_ns = kStartNs + start_ms * kMs,
                 .end_ns = kStartNs + end_ms * kMs,
                 .bytes = bytes,
                 .place = {}},
                true);
  }
  void Cut(int64_t open_ms = 0) { tally_.Cut(0, open_ms == 0 ? 0 : kStartNs + open_ms * kMs, frames_); }
  std::vector<v1::Frame> FramesOf(uint32_t operation) const {
    std::vector<v1::Frame> found;
    for (const v1::Frame& frame : frames_) {
      if (frame.operation() == operation) found.push_back(frame);
    }
    return found;
  }
  std::vector<TracedWrite> Traced() const {
    std::vector<TracedWrite> traced;
    for (const v1::Frame& frame : FramesOf(0)) {
      for (const std::string& block : frame.trace()) EXPECT_THAT(DecodeTrace(block, traced), IsOk());
    }
    return traced;
  }

  WatchTally tally_{{.step = 0,
                     .qm = 1,
                     .times = StepTimes(kStartNs, 0, 1'000 * kMs, 100 * kMs),
                     .operations = 2,
                     .trace = true,
                     .stall_ns = 40 * kMs}};
  google::protobuf::RepeatedPtrField<v1::Frame> frames_;
};

TEST_F(WatchTallyTest, CountsEachOperationInTheIntervalInWhichItCompleted) {
  Take(10, 20);
  Take(90, 110);
  Take(120, 130, 100, 1);
  Cut();
  ASSERT_EQ(FramesOf(0).size(), 2U);
  EXPECT_EQ(FramesOf(0)[0].latency().count(), 1U);
  EXPECT_EQ(FramesOf(0)[1].latency().count(), 1U);
  EXPECT_EQ(FramesOf(1)[0].latency().count(), 0U);
  EXPECT_EQ(FramesOf(1)[1].bytes(), 100U);
}

TEST_F(WatchTallyTest, TimesBetweenWritesAddUpToTheTimeThatPassedAlsoWhereTheyOverlap) {
  Take(10, 50);
  Take(20, 60);
  Take(55, 150);
  Take(160, 170);
  Cut();
  int64_t between_ns = 0;
  uint64_t sum_ns = 0;
  for (const v1::Frame& frame : FramesOf(0)) {
    between_ns += frame.between_ns();
    sum_ns += frame.latency().sum_ns();
  }
  EXPECT_EQ(between_ns + static_cast<int64_t>(sum_ns), 170 * kMs);
}

TEST_F(WatchTallyTest, TotalsAgreeWithTheFrames) {
  Take(10, 50, 4096);
  Take(20, 60, 8192);
  Take(70, 130, 512);
  Cut();
  v1::StepDone done;
  tally_.AddTotals(done);
  ASSERT_EQ(done.writers_size(), 2);
  EXPECT_EQ(done.writers(0).writes(), 3U);
  EXPECT_EQ(done.writers(0).bytes(), 12'800U);
  EXPECT_EQ(done.writers(0).latency_max_ns(), uint64_t{60} * kMs);
  EXPECT_EQ(done.writers(0).first_start_ns(), kStartNs + 10 * kMs);
  EXPECT_EQ(done.writers(0).last_end_ns(), kStartNs + 130 * kMs);
  EXPECT_EQ(done.writers(1).operation(), 1U);
}

TEST_F(WatchTallyTest, TracesHaveSizesAndStartsThatDoNotGoBack) {
  Take(30, 40, 512);
  Take(10, 50, 4096);
  Take(95, 115, 4096);
  // It started before the last one of the first block.
  Take(5, 120, 4096);
  Take(95, 190, 4096);
  Cut();
  const std::vector<TracedWrite> traced = Traced();
  ASSERT_EQ(traced.size(), 4U);
  EXPECT_EQ(traced[0].bytes, 4096U);
  EXPECT_EQ(traced[1].bytes, 512U);
  EXPECT_EQ(FramesOf(0)[1].untraced_writes(), 1U);
  for (size_t i = 1; i < traced.size(); ++i) EXPECT_GE(traced[i].start_ns, traced[i - 1].start_ns);
}

TEST_F(WatchTallyTest, MoreSizesThanABlockMayListTakeSeveralBlocks) {
  for (int i = 0; i < 5'000; ++i) {
    tally_.Take(
        {.operation = 0, .start_ns = kStartNs + i, .end_ns = kStartNs + i + 1, .bytes = 1 + uint64_t(i), .place = {}},
        true);
  }
  Cut();
  EXPECT_EQ(FramesOf(0)[0].trace_size(), 3);
  const std::vector<TracedWrite> traced = Traced();
  ASSERT_EQ(traced.size(), 5'000U);
  EXPECT_EQ(traced[4'999].bytes, 5'000U);
}

TEST_F(WatchTallyTest, StallsOfOverlappingWritesAreReportedAsOneAndNeverOverlap) {
  Take(10, 40);
  Take(20, 60);
  // In flight since before the stall that the first frame reports.
  Take(15, 150);
  Cut(160);
  ASSERT_EQ(FramesOf(0)[0].stalls_size(), 1);
  EXPECT_EQ(FramesOf(0)[0].stalls(0).begin_ns(), kStartNs + 10 * kMs);
  EXPECT_EQ(FramesOf(0)[0].stalls(0).end_ns(), kStartNs + 60 * kMs);
  EXPECT_EQ(FramesOf(0)[0].stalls(0).writes(), 2U);
  const v1::Frame second = FramesOf(0)[1];
  ASSERT_EQ(second.stalls_size(), 1);
  EXPECT_EQ(second.stalls(0).begin_ns(), kStartNs + 60 * kMs);
  EXPECT_EQ(second.stalls(0).longest_ns(), 135 * kMs);
  EXPECT_EQ(second.growing_stall().begin_ns(), kStartNs + 160 * kMs);
  EXPECT_EQ(second.in_flight_since_ns(), kStartNs + 160 * kMs);
}

TEST(ProfileTally, TellsSequentialWritesFromRewrittenPages) {
  ProfileTally profile;
  const auto write = [&](const std::string& path, uint64_t offset, uint64_t bytes) {
    profile.Take({.qm = 1, .call = "pwrite64", .path = path, .offset_bytes = offset, .bytes = bytes});
  };
  write("S0", 0, 4096);
  write("S0", 4096, 4096);
  // The last page again, grown.
  write("S0", 4096, 8192);
  write("S1", 0, 512);
  write("S0", 12'288, 4096);
  const v1::WatchProfile result = profile.ToProto();
  EXPECT_EQ(result.sequential_writes(), 1U);
  EXPECT_EQ(result.rewriting_writes(), 1U);
  EXPECT_EQ(result.other_writes(), 3U);
  EXPECT_EQ(result.unaligned_writes(), 1U);
  EXPECT_EQ(result.extent_changes(), 2U);
  EXPECT_THAT(result.calls(), ElementsAre("pwrite64 5"));
  EXPECT_EQ(result.sizes(0).bytes(), 4096U);
  EXPECT_EQ(result.sizes(0).writes(), 3U);
}

}  // namespace
}  // namespace plimsoll
