// What agents could tell of a stall and what not, and what the report makes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing.h"
#include "tests/unit/analysis/stall_report_fixture.h"

namespace plimsoll::tests {
namespace {

class StallDataTest : public StallReportTest {};

TEST_F(StallDataTest, AnIntervalWhoseTimeNoProbeCoversIsCountedAsLeftOut) {
  Stall(1, 0, {{1'000 * kMs, 1'200 * kMs}});
  std::vector<v1::JournalRecord> records = MakeJournal(run_);
  std::erase_if(records,
                [](const v1::JournalRecord& record) { return record.has_probes() && record.probes().host() == 1; });
  const v1::Report report = Analyze(records);
  EXPECT_EQ(report.steps(0).stalls().count(), 0U);
  EXPECT_EQ(report.steps(0).stalls().left_out(), 1U);
}

// The frames of a writer, of the regular intervals, in order.
std::vector<v1::Frame*> FramesOf(std::vector<v1::JournalRecord>& records, uint32_t host, uint32_t qm) {
  std::vector<v1::Frame*> frames;
  for (v1::JournalRecord& record : records) {
    if (!record.has_frames() || record.frames().host() != host) continue;
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      if (frame.qm() == qm && !frame.closing()) frames.push_back(&frame);
    }
  }
  return frames;
}

void SetGrowing(v1::Frame& frame, int64_t from_end_ns, int64_t to_end_ns) {
  v1::StalledInterval& growing = *frame.mutable_growing_stall();
  growing.set_begin_ns(frame.cut_ns() - from_end_ns);
  growing.set_end_ns(frame.cut_ns() - to_end_ns);
  growing.set_first_seq(77);
  growing.set_writes(9);
  growing.set_longest_ns(200 * kMs);
  growing.set_in_flight_ns(300 * kMs);
}

TEST_F(StallDataTest, AnIntervalThatWasNotOverWhenTheDataEndIsOpen) {
  run_.hosts[1].lost_after_ns = 2'000 * kMs;
  std::vector<v1::JournalRecord> records = MakeJournal(run_);
  const std::vector<v1::Frame*> frames = FramesOf(records, 1, 2);
  ASSERT_THAT(frames, SizeIs(8));
  SetGrowing(*frames[6], 650 * kMs, 0);
  EXPECT_EQ(Analyze(records).steps(0).stalls().count(), 0U) << "the last frame does not tell of it: it was none";
  SetGrowing(*frames[7], 900 * kMs, 100 * kMs);
  const v1::StepReport step = Analyze(records).steps(0);
  ASSERT_EQ(step.stalls().count(), 1U);
  const v1::StallReport& stall = step.stalls().stalls(0);
  EXPECT_TRUE(stall.open());
  EXPECT_EQ(stall.stall_class(), v1::STALL_CLASS_ONE_QM);
  EXPECT_EQ(stall.writers(0).length_ns(), 800 * kMs);
  EXPECT_EQ(stall.writers(0).number(), 77U);
  EXPECT_EQ(stall.writers(0).writes(), 9U);
  // Another host's stall at that time finds no witness in this one.
  Stall(0, 0, {{1'200 * kMs, 1'800 * kMs}});
  Stall(0, 1, {{1'200 * kMs, 1'800 * kMs}});
  records = MakeJournal(run_);
  SetGrowing(*FramesOf(records, 1, 2)[7], 900 * kMs, 100 * kMs);
  const v1::StepReport both = Analyze(records).steps(0);
  ASSERT_EQ(both.stalls().count(), 1U);
  EXPECT_EQ(both.stalls().stalls(0).stall_class(), v1::STALL_CLASS_ALL_HOSTS);
}

TEST_F(StallDataTest, AWriteInFlightGoesOnWithTheIntervalThatIsNotOver) {
  Stall(1, 0, {{1'200 * kMs, 60 * kNsPerSecond}});
  run_.hosts[1].lost_after_ns = 2'000 * kMs;
  std::vector<v1::JournalRecord> records = MakeJournal(run_);
  SetGrowing(*FramesOf(records, 1, 1)[7], 1'000 * kMs, 0);
  const v1::StepReport step = Analyze(records).steps(0);
  ASSERT_EQ(step.stalls().count(), 1U);
  EXPECT_EQ(step.stalls().stretches(), 1U);
  EXPECT_EQ(step.stalls().stalls(0).length_ns(), 1'000 * kMs);
}

TEST_F(StallDataTest, OnceTheStepIsDoneNothingIsOpen) {
  std::vector<v1::JournalRecord> records = MakeJournal(run_);
  SetGrowing(*FramesOf(records, 1, 2).back(), 900 * kMs, 100 * kMs);
  EXPECT_EQ(Analyze(records).steps(0).stalls().count(), 0U);
}

TEST_F(StallDataTest, AHostThatWasLostInTheWarmUpDoesNotVouchForTheRestOfIt) {
  run_.warmup_ns = 4'000 * kMs;
  for (const size_t host : {0U, 1U}) {
    for (const size_t writer : {0U, 1U}) Stall(host, writer, {});
  }
  for (const size_t writer : {0U, 1U}) Stall(0, writer, {{-600 * kMs, 400 * kMs}});
  EXPECT_EQ(Step().stalls().stalls(0).stall_class(), v1::STALL_CLASS_ONE_HOST);
  run_.hosts[1].lost_after_ns = -2'000 * kMs;
  const v1::StepReport step = Step();
  ASSERT_EQ(step.stalls().count(), 1U);
  EXPECT_EQ(step.stalls().stalls(0).stall_class(), v1::STALL_CLASS_SINGLE_HOST);
  EXPECT_THAT(step.stalls().stalls(0).others(), IsEmpty());
}

TEST_F(StallDataTest, AHostOfWhichIntervalsAreMissingDoesNotVouchFromThereOn) {
  for (const size_t writer : {0U, 1U}) Stall(0, writer, {{400 * kMs, 700 * kMs}, {2'000 * kMs, 2'400 * kMs}});
  Stall(1, 0, {{1'000 * kMs, 1'060 * kMs}});
  std::vector<v1::JournalRecord> records = MakeJournal(run_);
  for (v1::Frame* frame : FramesOf(records, 1, 1)) {
    if (frame->stalls_size() > 0) frame->set_stalls_left_out(3);
  }
  const v1::StepReport step = Analyze(records).steps(0);
  ASSERT_EQ(step.stalls().count(), 2U);
  EXPECT_EQ(step.stalls().left_out(), 3U);
  EXPECT_EQ(step.stalls().stalls(0).stall_class(), v1::STALL_CLASS_ONE_HOST);
  EXPECT_THAT(step.stalls().stalls(0).others(), ElementsAre("beta"));
  EXPECT_EQ(step.stalls().stalls(1).stall_class(), v1::STALL_CLASS_SINGLE_HOST);
}

}  // namespace
}  // namespace plimsoll::tests
