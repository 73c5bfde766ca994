// A report is as large as its journal justifies, not as long as the journal claims that its steps are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/timeline/timeline.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

// Steps of so long that the host completes without a single frame.
std::vector<v1::JournalRecord> StepsWithoutFrames(int steps, int64_t duration_ns) {
  std::vector<v1::JournalRecord> records;
  const auto add = [&records]() -> v1::JournalRecord& {
    records.emplace_back().set_time_ns(static_cast<int64_t>(records.size()));
    return records.back();
  };
  v1::RunBegin& begin = *add().mutable_run_begin();
  begin.set_frame_interval_ns(kNsPerSecond);
  for (int i = 0; i < steps; ++i) {
    begin.add_steps()->set_block_size_bytes(4096);
    begin.mutable_steps(i)->set_duration_ns(duration_ns);
  }
  add().mutable_host_joined()->set_label("alpha");
  for (int i = 0; i < steps; ++i) {
    v1::StepBegin& step = *add().mutable_step_begin();
    step.set_step(static_cast<uint32_t>(i));
    step.set_start_ns(1);
    step.add_host_start_ns(1);
    add().mutable_step_done()->mutable_done()->set_step(static_cast<uint32_t>(i));
  }
  return records;
}

TEST(UnreportedSeconds, AStepOfTenDaysWithoutAFrameHasNoSeries) {
  const v1::Report report = Analyze(StepsWithoutFrames(3, kMaxSeriesSeconds * kNsPerSecond));
  ASSERT_EQ(report.steps_size(), 3);
  for (const v1::StepReport& step : report.steps()) {
    EXPECT_EQ(step.series_size(), 0);
    EXPECT_FALSE(step.has_trend());
  }
  EXPECT_LT(report.ByteSizeLong(), 10'000);
  EXPECT_THAT(report.notes(), Contains(HasSubstr("alpha, step 1: the per-second series is left out: no frame covers "
                                                 "864,000 of its 864,000 seconds.")));
}

TEST(UnreportedSeconds, AQueueManagerOfAPlacementIsNamed) {
  std::vector<v1::JournalRecord> records = MakeJournal(tests::Placement());
  for (v1::JournalRecord& record : records) {
    if (!record.has_run_begin()) continue;
    for (v1::LogStep& step : *record.mutable_run_begin()->mutable_steps()) step.set_duration_ns(200'000 * kNsPerSecond);
  }
  EXPECT_THAT(Analyze(records).notes(),
              Contains(HasSubstr("alpha/PAYMENTS, step 1: the per-second series is left out")));
}

TEST(UnreportedSeconds, ManyStepsShareWhatTheyMayHave) {
  const v1::Report report = Analyze(StepsWithoutFrames(100, 10'000 * kNsPerSecond));
  size_t rows = 0;
  for (const v1::StepReport& step : report.steps()) {
    for (const v1::SeriesReport& series : step.series()) rows += static_cast<size_t>(series.second_size());
  }
  EXPECT_EQ(rows, 100'000);
}

TEST(UnreportedSeconds, AMinuteWithoutAFrameIsAMinuteOfZeros) {
  const v1::Report report = Analyze(StepsWithoutFrames(1, 60 * kNsPerSecond));
  ASSERT_GT(report.steps(0).series_size(), 0);
  for (const v1::SeriesReport& series : report.steps(0).series()) EXPECT_EQ(series.second_size(), 60);
}

// Nothing of a run that tells of all its seconds counts as unreported, stalled or coalesced.
TEST(UnreportedSeconds, SecondsWithoutAWriteAreReported) {
  for (const uint32_t coalesce : {1U, 12U}) {
    SimRun run;
    run.duration_ns = 2'000 * kNsPerSecond;
    SimHost host;
    host.label = "alpha";
    host.coalesce = coalesce;
    // One write, and nothing after it.
    host.steps = {std::vector(60, Steady(kNsPerMs, kNsPerMs))};
    run.hosts = {host};
    const v1::Report report = Analyze(MakeJournal(run));
    // Of the writers, the host, its storage and the cluster: more rows than may be unreported.
    EXPECT_EQ(report.steps(0).series_size(), 63) << coalesce;
    for (const std::string& note : report.notes()) EXPECT_THAT(note, ::testing::Not(HasSubstr("left out")));
  }
}

}  // namespace
}  // namespace plimsoll
