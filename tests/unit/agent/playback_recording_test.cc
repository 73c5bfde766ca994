// Recorded writes in the write loop, and in the recorder, whose copy of the model sees nothing but the samples; and
// what a plan may say of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "agent/writer/work_setup.h"
#include "common/load_pattern.h"
#include "common/units.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/agent/fake_env.h"
#include "tests/unit/agent/playback_plan.h"
#include "tests/unit/agent/recorded_step.h"

namespace plimsoll::tests {
namespace {

// 24 writes in 10 ms: summarised ones, a pause, and one that is larger than an extent.
const std::vector<PatternEntry> kRecordedEntries = {{300'000, 1, 1},   {2'000'000, 2, 20}, {100'000, 40, 1},
                                                    {3'000'000, 0, 0}, {1'000, 3, 1},      {400'000, 300, 1}};
constexpr int64_t kRecordedLengthNs = 10 * kNsPerMs;

v1::HostPlan PlanOf(v1::PlaybackMode mode, double load_factor = 1) {
  return PlaybackPlan(mode, load_factor, kRecordedEntries.size(), kRecordedLengthNs);
}

TEST(PlaybackRecording, TheRecordersModelAgreesWithTheWriters) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  for (const v1::PlaybackMode mode : {v1::PLAYBACK_MODE_DEMAND, v1::PLAYBACK_MODE_WRITES}) {
    for (const double load_factor : {0.5, 1.0, 3.7, 50.0}) {
      SCOPED_TRACE(testing::Message() << v1::PlaybackMode_Name(mode) << " x " << load_factor);
      const RecordedStep run(SetUpPlayback(PlanOf(mode, load_factor), kRecordedEntries), RandomLatency(seed));
      ASSERT_EQ(run.done.writers_size(), 2);
      ExpectFramesAndTotalsAgree(run, 500);
    }
  }
}

// The recorded writes in their order, as long as each fits into what is left of its extent.
TEST(PlaybackRecording, OneByOneEachWriteIsARecordedWriteBehindTheOneBeforeAndNotBeforeItsMoment) {
  const std::vector<PatternEntry> entries = {{1'000'000, 1, 1}, {4'000'000, 16, 2}, {1'000'000, 31, 1}};
  const v1::HostPlan plan = PlaybackPlan(v1::PLAYBACK_MODE_WRITES, 2, entries.size(), kRecordedLengthNs);
  const RecordedStep run(SetUpPlayback(plan, entries), RandomLatency(1));
  const std::vector<uint64_t> pages = {1, 16, 16, 31};
  const std::vector<int64_t> moments_us = {500, 1'500, 2'500, 3'000};
  // 5 ms a lap.
  ASSERT_EQ(run.calls.size(), 4U * 1'300 / 5);
  uint64_t page = 0;
  for (size_t i = 0; i < run.calls.size(); ++i) {
    const FakeEnv::Call& call = run.calls[i];
    ASSERT_EQ(call.size_bytes, pages[i % 4] * kPatternPageBytes);
    ASSERT_EQ(call.extent, page / 256 % 3);
    ASSERT_EQ(call.offset_bytes, page % 256 * kPatternPageBytes);
    page += pages[i % 4];
    const int64_t due_ns = kStartNs + static_cast<int64_t>(i / 4) * 5 * kNsPerMs + moments_us[i % 4] * kNsPerUs;
    ASSERT_GE(call.start_ns, due_ns);
    ASSERT_LE(call.start_ns, due_ns + 1'000);
  }
}

TEST(PlaybackRecording, WritesOfALogFollowOneAnotherAndNoneIsWrittenAgain) {
  for (const v1::PlaybackMode mode : {v1::PLAYBACK_MODE_DEMAND, v1::PLAYBACK_MODE_WRITES}) {
    const RecordedStep run(SetUpPlayback(PlanOf(mode, 2), kRecordedEntries), RandomLatency(1));
    uint64_t page = 0;
    for (const FakeEnv::Call& call : run.calls) {
      ASSERT_EQ(call.extent, page / 256 % 3);
      ASSERT_EQ(call.offset_bytes, page % 256 * kPatternPageBytes);
      page += call.size_bytes / kPatternPageBytes;
      ASSERT_LE(call.offset_bytes + call.size_bytes, uint64_t{1} << 20U);
    }
  }
}

TEST(PlaybackRecording, AGapInTheRecordingIsNoStallAndALongWriteIsOne) {
  v1::HostPlan plan = PlaybackPlan(v1::PLAYBACK_MODE_DEMAND, 1, 1, 100 * kNsPerMs);
  plan.mutable_log()->set_stall_ns(20 * kNsPerMs);
  const std::vector<PatternEntry> entries = {{50 * kNsPerMs, 1, 1}};
  const auto stalls = [&](int64_t latency_ns) {
    const RecordedStep run(SetUpPlayback(plan, entries), [=](size_t) { return latency_ns; });
    int found = 0;
    for (const v1::Frame& frame : run.frames) found += frame.stalls_size();
    return found;
  };
  EXPECT_EQ(stalls(5 * kNsPerMs), 0);
  EXPECT_EQ(stalls(30 * kNsPerMs), 13);
}

TEST(PlaybackRecording, CommitsThatWaitAtTheEndAreReportedWithTheirAges) {
  // One each millisecond; the write of the last one of the first 1.2 s hangs beyond the end.
  const std::vector<PatternEntry> entries = {{100 * kNsPerMs, 1, 100}};
  const v1::HostPlan plan = PlaybackPlan(v1::PLAYBACK_MODE_DEMAND, 1, entries.size(), 100 * kNsPerMs);
  constexpr size_t kHangingCall = 1'199;
  const RecordedStep run(SetUpPlayback(plan, entries),
                         [](size_t call) { return call == kHangingCall ? 5 * kNsPerSecond : 100 * kNsPerUs; });
  ASSERT_EQ(run.calls.size(), kHangingCall + 1);
  const v1::WriterTotals& commits = run.done.writers(1);
  EXPECT_EQ(commits.writes(), kHangingCall + 1);
  // At 1.201 s, 1.202 s and so on, before the end at 1.3 s.
  EXPECT_EQ(commits.not_issued(), 99U);
  EXPECT_EQ(commits.not_issued_age().count(), 99U);
  EXPECT_EQ(commits.not_issued_age().max_ns(), 99U * kNsPerMs);
  EXPECT_EQ(commits.not_issued_age().min_ns(), 1U * kNsPerMs);
  EXPECT_EQ(run.done.writers(0).not_issued(), 0U) << "of the writes none was due";
}

TEST(PlaybackSetup, BuffersHoldTheLogBufferByDemandAndTheLargestRecordedWriteOneByOne) {
  const auto largest = [](v1::PlaybackMode mode, uint16_t pages, uint64_t file_size_bytes) {
    v1::HostPlan plan = PlaybackPlan(mode, 1, 1, kNsPerSecond);
    plan.mutable_log()->mutable_workload()->set_file_size_bytes(file_size_bytes);
    return SetUpPlayback(plan, {{1'000, pages, 1}}).BlockBytesOf(0, 2) / kPatternPageBytes;
  };
  constexpr uint64_t kExtent = uint64_t{64} << 20U;
  EXPECT_EQ(largest(v1::PLAYBACK_MODE_DEMAND, 1, kExtent), 128U);
  EXPECT_EQ(largest(v1::PLAYBACK_MODE_DEMAND, 4096, kExtent), 128U);
  EXPECT_EQ(largest(v1::PLAYBACK_MODE_WRITES, 1, kExtent), 1U);
  EXPECT_EQ(largest(v1::PLAYBACK_MODE_WRITES, 4096, kExtent), 4096U);
  // No write goes beyond its extent.
  EXPECT_EQ(largest(v1::PLAYBACK_MODE_DEMAND, 1, 256 << 10U), 64U);
  EXPECT_EQ(largest(v1::PLAYBACK_MODE_WRITES, 4096, 256 << 10U), 64U);
}

TEST(PlaybackSetup, EachWriterPlaysItsStreamAndWritersOfOneStreamShareIt) {
  v1::HostPlan plan = PlaybackPlan(v1::PLAYBACK_MODE_DEMAND, 1, 1, kNsPerSecond);
  plan.mutable_log()->mutable_workload()->set_qm(3);
  v1::PatternParts& parts = *plan.mutable_log()->mutable_pattern();
  AddStream(2, kNsPerSecond, parts);
  parts.set_stream_of_writer(1, 1);
  parts.add_stream_of_writer(0);
  WorkSetup setup = *MakeWorkSetup(plan);
  PatternIntake intake(parts);
  ASSERT_THAT(intake.Take(ChunkOf(1, {{9, 9, 1}})), IsOk());
  ASSERT_THAT(intake.Take(ChunkOf(0, {{1, 1, 1}})), IsOk());
  ASSERT_THAT(intake.Take(ChunkOf(1, {{8, 8, 1}})), IsOk());
  setup.streams = *intake.Finish();
  const auto pattern = [&setup](uint32_t writer) { return setup.LoopOf(0, 0, writer).commits->pattern; };
  EXPECT_EQ(pattern(1)->entries, (std::vector<PatternEntry>{{1, 1, 1}}));
  EXPECT_EQ(pattern(2)->entries, (std::vector<PatternEntry>{{9, 9, 1}, {8, 8, 1}}));
  EXPECT_EQ(pattern(3), pattern(1));
  EXPECT_EQ(setup.TallyOf(0, 0, 3).commits->pattern, pattern(1));
}

TEST(PlaybackSetup, AStepWithAnotherLoadFactorCanBeAddedAndOneThatNeedsOtherBuffersCannot) {
  WorkSetup setup = SetUpPlayback(PlanOf(v1::PLAYBACK_MODE_DEMAND), kRecordedEntries);
  v1::AddStep add;
  add.set_step(1);
  add.mutable_spec()->set_duration_ns(kNsPerSecond);
  PlayPattern(v1::PLAYBACK_MODE_DEMAND, 2.5, *add.mutable_spec());
  EXPECT_THAT(setup.Add(add), IsOk());
  EXPECT_THAT(setup.Add(add), IsOk()) << "the same once more";
  EXPECT_EQ(setup.LoopOf(1, 0, 1).commits->load_factor, 2.5);
  EXPECT_EQ(setup.LoopOf(0, 0, 1).commits->load_factor, 1);
  EXPECT_EQ(setup.LoopOf(1, 0, 2).commits->pattern, setup.LoopOf(0, 0, 1).commits->pattern);

  add.set_step(2);
  const auto refused = [&](const std::string& text, const auto& change) {
    v1::AddStep other = add;
    change(*other.mutable_spec()->mutable_group_commit());
    EXPECT_THAT(setup.Add(other), StatusIs(absl::StatusCode::kInvalidArgument, text));
  };
  refused("nothing was prepared for blocks of this playback",
          [](v1::GroupCommit& commits) { commits.set_playback(v1::PLAYBACK_MODE_WRITES); });
  refused("nothing was prepared for blocks of this playback",
          [](v1::GroupCommit& commits) { commits.set_log_buffer_pages(512); });
  refused("load_factor must be from 0.01 to 1000; it is 2000",
          [](v1::GroupCommit& commits) { commits.set_load_factor(2'000); });
  refused("nothing was prepared for blocks of this log buffer", [](v1::GroupCommit& commits) {
    commits.Clear();
    commits.set_clients(2);
    commits.set_message_size_bytes(2048);
    commits.set_think_time_ns(0);
    commits.set_log_buffer_pages(128);
    commits.set_log_write_integrity(v1::LOG_WRITE_INTEGRITY_TRIPLEWRITE);
  });
}

TEST(PlaybackSetup, RefusesWhatNoPlaybackHas) {
  const auto refuses = [](const std::string& text, const auto& change,
                          absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
    v1::HostPlan plan = PlanOf(v1::PLAYBACK_MODE_DEMAND);
    change(*plan.mutable_log(), *plan.mutable_log()->mutable_steps(0)->mutable_group_commit());
    EXPECT_THAT(MakeWorkSetup(plan), StatusIs(code, text)) << text;
  };
  refuses("neither clients, think_time nor client_rate",
          [](auto&, v1::GroupCommit& commits) { commits.set_clients(2); });
  refuses("neither clients, think_time nor client_rate",
          [](auto&, v1::GroupCommit& commits) { commits.set_think_time_ns(2); });
  refuses("neither clients, think_time nor client_rate",
          [](auto&, v1::GroupCommit& commits) { commits.set_client_rate_per_second(2); });
  for (const double factor :
       {0.0, -1.0, 0.001, 1'001.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    refuses("load_factor must be from 0.01 to 1000",
            [factor](auto&, v1::GroupCommit& commits) { commits.set_load_factor(factor); });
  }
  refuses("load_factor must be", [](auto&, v1::GroupCommit& commits) { commits.clear_load_factor(); });
  refuses("log_buffer_pages must be", [](auto&, v1::GroupCommit& commits) { commits.clear_log_buffer_pages(); });
  refuses("log_buffer_pages must be", [](auto&, v1::GroupCommit& commits) { commits.set_log_buffer_pages(4097); });
  refuses("playback must be demand or writes", [](auto&, v1::GroupCommit& commits) { commits.clear_playback(); });
  refuses("playback must be demand or writes",
          [](auto&, v1::GroupCommit& commits) { commits.set_playback(static_cast<v1::PlaybackMode>(7)); });
  refuses("group_commit and delay", [](v1::LogWork& work, auto&) { work.mutable_workload()->set_delay_ns(5); });
  refuses("extents of at least 256k",
          [](v1::LogWork& work, auto&) { work.mutable_workload()->set_file_size_bytes(128 << 10U); });

  refuses("a step plays a recording, and the plan has no pattern for its writers",
          [](v1::LogWork& work, auto&) { work.clear_pattern(); });
  refuses("the plan has a pattern for its writers, and no step plays it", [](v1::LogWork& work, auto&) {
    v1::LogStep& step = *work.mutable_steps(0);
    step.clear_group_commit();
    step.clear_operations();
    step.set_block_size_bytes(4096);
  });
  refuses("pattern has 0 streams for 2 writers", [](v1::LogWork& work, auto&) {
    work.mutable_pattern()->clear_entries();
    work.mutable_pattern()->clear_length_ns();
  });
  refuses("pattern has 3 streams for 2 writers", [](v1::LogWork& work, auto&) {
    AddStream(1, kNsPerSecond, *work.mutable_pattern());
    AddStream(1, kNsPerSecond, *work.mutable_pattern());
  });
  refuses("the entries of 1 streams and the lengths of 2",
          [](v1::LogWork& work, auto&) { work.mutable_pattern()->add_length_ns(5); });
  refuses("names the streams of 3 writers; the host has 2",
          [](v1::LogWork& work, auto&) { work.mutable_pattern()->add_stream_of_writer(0); });
  refuses("names stream 1 for writer 2; there are 1, from 0",
          [](v1::LogWork& work, auto&) { work.mutable_pattern()->set_stream_of_writer(1, 1); });
  for (const uint64_t entries : {kMostPatternEntries, UINT64_MAX}) {
    refuses(
        "entries; an agent takes at most 10,000,000",
        [entries](v1::LogWork& work, auto&) {
          work.mutable_pattern()->set_entries(0, 1);
          AddStream(entries, kNsPerSecond, *work.mutable_pattern());
        },
        absl::StatusCode::kResourceExhausted);
  }
}

}  // namespace
}  // namespace plimsoll::tests
