// Which steps fold their frames, and how large a journal becomes.
#include "controller/run/fold_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/units.h"
#include "controller/run/journal_size.h"
#include "tests/testing.h"
#include "tests/unit/run/coordinator_fixture.h"

namespace plimsoll::tests {
namespace {

constexpr int64_t kHourNs = 3'600 * kNsPerSecond;

v1::StepFoldRules HourWhole() {
  v1::StepFoldRules rules;
  rules.set_whole_seconds(3'600);
  rules.set_settle_seconds(10);
  rules.set_around_stall_seconds(3);
  rules.set_most_whole_of_hour(60);
  return rules;
}

v1::TestPlan Untraced() {
  v1::TestPlan plan;
  plan.set_trace(v1::TOGGLE_OFF);
  return plan;
}

v1::LogStep StepOf(int64_t duration_ns) {
  v1::LogStep step;
  step.set_duration_ns(duration_ns);
  // Does not count.
  step.set_warmup_ns(kHourNs);
  return step;
}

TEST(FoldChoice, AStepOfAnHourKeepsItsFramesAndALongerOneFoldsThem) {
  EXPECT_FALSE(FoldsFrames(Untraced(), StepOf(kHourNs), HourWhole()));
  EXPECT_TRUE(FoldsFrames(Untraced(), StepOf(kHourNs + 1), HourWhole()));
}

TEST(FoldChoice, RunsThatNeedEveryFrameNeverFold) {
  const v1::LogStep day = StepOf(24 * kHourNs);
  v1::TestPlan traced = Untraced();
  traced.set_trace(v1::TOGGLE_ON);
  EXPECT_FALSE(FoldsFrames(traced, day, HourWhole()));
  v1::TestPlan one_pass = Untraced();
  one_pass.mutable_workload()->set_one_pass(true);
  EXPECT_FALSE(FoldsFrames(one_pass, day, HourWhole()));
  v1::TestPlan search = Untraced();
  search.mutable_limit();
  EXPECT_FALSE(FoldsFrames(search, day, HourWhole()));
  v1::TestPlan watch = Untraced();
  watch.mutable_watch();
  EXPECT_FALSE(FoldsFrames(watch, day, HourWhole()));
  v1::TestPlan disturbed = Untraced();
  disturbed.add_disturb();
  EXPECT_FALSE(FoldsFrames(disturbed, day, HourWhole()));
}

// In a whole run: the journal says how the step folds, and has numbers from there on.
class FoldingRun : public CoordinatorTest {};

TEST_F(FoldingRun, SaysSoInTheRecordOfItsStep) {
  plan_.set_trace(v1::TOGGLE_OFF);
  plan_.set_duration_ns(2 * kHourNs);
  fold_ = HourWhole();
  ASSERT_EQ(Run(), std::nullopt);
  const auto begins = Records(v1::JournalRecord::kStepBegin);
  ASSERT_THAT(begins, SizeIs(1));
  EXPECT_EQ(begins[0].step_begin().fold().SerializeAsString(), HourWhole().SerializeAsString());
  EXPECT_EQ(begins[0].number(), 1U);
  EXPECT_THAT(Records(v1::JournalRecord::kRunEnd), SizeIs(1));
  EXPECT_GT(Records(v1::JournalRecord::kRunEnd)[0].number(), 1U);
}

TEST_F(FoldingRun, OfShortStepsHasNoSuchRecords) {
  plan_.set_trace(v1::TOGGLE_OFF);
  plan_.set_duration_ns(kHourNs);
  fold_ = HourWhole();
  ASSERT_EQ(Run(), std::nullopt);
  for (const v1::JournalRecord& record : records_) {
    EXPECT_FALSE(record.step_begin().has_fold());
    EXPECT_EQ(record.number(), 0U);
  }
}

TEST(JournalSize, GrowsWithWritersWritesFramesAndTime) {
  JournalLoad load;
  load.writers = 10;
  load.measured_ns = 100 * kNsPerSecond;
  load.interval_ns = kNsPerSecond;
  // A thousand frames of 300 writes, each 1,317 B as measured.
  const uint64_t bytes = JournalBytesOf(load);
  EXPECT_NEAR(static_cast<double>(bytes), 1'317'000, 20'000);
  load.warmup_ns = 100 * kNsPerSecond;
  EXPECT_EQ(JournalBytesOf(load), 2 * bytes);
  load.writers = 20;
  EXPECT_EQ(JournalBytesOf(load), 4 * bytes);
  load.interval_ns = 250 * kNsPerMs;
  EXPECT_GT(JournalBytesOf(load), 5 * bytes);
  EXPECT_LT(JournalBytesOf(load), 8 * bytes);
  const uint64_t usual = JournalBytesOf(load);
  load.writes_per_second = 600;
  EXPECT_GT(JournalBytesOf(load), usual);
}

TEST(JournalSize, OfAStepThatFoldsIsThatOfItsWholePartAndOfItsMinutes) {
  JournalLoad load;
  load.writers = 1'600;
  load.measured_ns = 24 * kHourNs;
  load.interval_ns = kNsPerSecond;
  const uint64_t whole = JournalBytesOf(load);
  load.fold = HourWhole();
  const uint64_t folded = JournalBytesOf(load);
  EXPECT_LT(folded, whole / 3);
  load.measured_ns = kHourNs;
  EXPECT_GT(folded, JournalBytesOf(load));
}

TEST(JournalSize, IsOverItsLimitWhileThereIsRoomForTheEnd) {
  constexpr uint64_t kLimit = uint64_t{16} << 30;
  EXPECT_EQ(OverJournalLimit((uint64_t{15} << 30) - 1, kLimit), "");
  EXPECT_THAT(OverJournalLimit(uint64_t{15} << 30, kLimit),
              AllOf(HasSubstr("--journal-limit: the journal has 15"), HasSubstr("use a larger limit")));
}

}  // namespace
}  // namespace plimsoll::tests
