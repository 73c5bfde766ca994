#include "controller/from_watch/watch_recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/units.h"
#include "controller/from_watch/playback_plan.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_yaml.h"
#include "controller/playback/pattern_file.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"
#include "tests/unit/export/traced_journal.h"
#include "tests/unit/playback/watched_traces.h"

namespace plimsoll {
namespace {

// A write of a pattern that was read back.
struct PlayedWrite {
  int64_t moment_ns = 0;
  uint64_t pages = 0;
};

class WatchRecordingTest : public ::testing::Test {
 protected:
  WatchRecordingTest() : run_(tests::WatchedPair()), watched_(tests::WatchedTwoQueueManagers()) {}

  void Build(const tests::SizeOfWrite& size_of = tests::WholePages) {
    records_ = tests::AsWatch(run_, watched_);
    tests::AddSizedTraces(run_, size_of, records_);
  }
  void ForEachWriteFrame(const std::function<void(v1::Frame&)>& change) {
    for (v1::JournalRecord& record : records_) {
      if (!record.has_frames()) continue;
      for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
        if (frame.first_seq() != 0) change(frame);
      }
    }
  }
  absl::Status Make() {
    std::filesystem::remove(directory_.Sub("journal"));
    tests::WriteJournal(directory_.Sub("journal"), records_);
    absl::StatusOr<std::unique_ptr<RunIndex>> index = RunIndex::Read(directory_.Sub("journal"));
    if (!index.ok()) return index.status();
    index_ = *std::move(index);
    absl::StatusOr<WatchRecording> recording = WatchRecording::Make(*index_, "watched");
    if (!recording.ok()) return recording.status();
    recording_.emplace(*std::move(recording));
    return absl::OkStatus();
  }
  // The file that the recording writes.
  PatternFile Written() {
    absl::StatusOr<FileWriter> writer = FileWriter::ToPath(directory_.Sub("pattern"));
    EXPECT_THAT(writer, IsOk());
    const absl::StatusOr<std::string> sha256 = recording_->Write(*std::move(writer));
    EXPECT_THAT(sha256, IsOk());
    absl::StatusOr<PatternFile> file = PatternFile::Open(directory_.Sub("pattern"), sha256.value_or("none"));
    EXPECT_THAT(file, IsOk());
    return *std::move(file);
  }
  static std::vector<PlayedWrite> WritesOf(const PatternFile& file, uint32_t stream) {
    std::vector<PatternEntry> entries;
    EXPECT_THAT(file.Read({stream}, [&](const v1::PatternChunk& chunk) { return ReadChunk(chunk, entries); }), IsOk());
    std::vector<PlayedWrite> writes;
    int64_t before_ns = 0;
    for (const PatternEntry& entry : entries) {
      for (int64_t i = 1; i <= entry.count; ++i) {
        writes.push_back({before_ns + int64_t{entry.gap_ns} * i / entry.count, entry.pages});
      }
      before_ns += entry.gap_ns;
    }
    return writes;
  }
  absl::StatusOr<std::string> MakePlan(v1::PlaybackMode mode = v1::PLAYBACK_MODE_DEMAND) {
    PlaybackChoice choice;
    choice.results = "watched";
    choice.pattern = "/var/plimsoll/watched/pattern.plimsoll";
    choice.sha256 = std::string(64, '5');
    choice.playback = mode;
    choice.load_factor = 1.5;
    return MakePlaybackPlan(index_->report(), *recording_, choice);
  }

  tests::TempDirectory directory_;
  tests::SimRun run_;
  tests::WatchedRun watched_;
  std::vector<v1::JournalRecord> records_;
  std::unique_ptr<RunIndex> index_;
  std::optional<WatchRecording> recording_;
};

TEST_F(WatchRecordingTest, EachQueueManagerThatWroteIsAStreamOfItsWrites) {
  Build();
  ASSERT_THAT(Make(), IsOk());
  EXPECT_FALSE(recording_->per_second());
  EXPECT_EQ(recording_->most_pages(), 9);
  const PatternFile file = Written();
  EXPECT_EQ(file.header().SerializeAsString(), recording_->header().SerializeAsString());
  EXPECT_EQ(file.header().run_id(), "7f3a21");
  ASSERT_EQ(file.header().streams_size(), 2);
  for (uint32_t number = 0; number < 2; ++number) {
    const v1::PatternStream& stream = file.header().streams(static_cast<int>(number));
    EXPECT_EQ(stream.host(), "alpha");
    EXPECT_EQ(stream.queue_manager(), number == 0 ? "QM1" : "QM2");
    EXPECT_EQ(stream.length_ns(), 2 * kNsPerSecond);
    const tests::SimWriter& expected = run_.hosts[0].steps[0][number];
    const std::vector<PlayedWrite> writes = WritesOf(file, number);
    ASSERT_EQ(writes.size(), expected.size());
    EXPECT_EQ(stream.writes(), expected.size());
    uint64_t bytes = 0;
    for (size_t i = 0; i < writes.size(); ++i) {
      // The clocks of the hosts are mapped by probes in cells of 4 ms.
      EXPECT_NEAR(static_cast<double>(writes[i].moment_ns), static_cast<double>(expected[i].start_ns), 10) << i;
      EXPECT_EQ(writes[i].pages * 4096, tests::WholePages(i + 1)) << i;
      bytes += tests::WholePages(i + 1);
    }
    EXPECT_EQ(stream.bytes(), bytes);
    EXPECT_EQ(stream.paged_bytes(), bytes);
  }
}

TEST_F(WatchRecordingTest, AnIdleStandbyInstanceIsLeftOutAndNamed) {
  Build();
  ASSERT_THAT(Make(), IsOk());
  ASSERT_THAT(recording_->notes(), ElementsAre(HasSubstr("beta/QM1, beta/QM2 have no log write in the watch")));
  ASSERT_EQ(recording_->writers().size(), 2U);
  EXPECT_EQ(recording_->writers()[1].figures->queue_manager(), "QM2");
}

TEST_F(WatchRecordingTest, StreamsOfSeveralHostsHaveOneStart) {
  run_.hosts[1].clock_ahead_ns = -7 * kNsPerSecond;
  run_.hosts[1].steps = {{tests::Steady(run_.duration_ns, 250'000), {}}};
  Build();
  ASSERT_THAT(Make(), IsOk());
  const PatternFile file = Written();
  ASSERT_EQ(file.header().streams_size(), 3);
  EXPECT_EQ(file.header().streams(2).host(), "beta");
  const tests::SimWriter& expected = run_.hosts[1].steps[0][0];
  const std::vector<PlayedWrite> writes = WritesOf(file, 2);
  ASSERT_EQ(writes.size(), expected.size());
  EXPECT_NEAR(static_cast<double>(writes.front().moment_ns), static_cast<double>(expected.front().start_ns), 10);
  EXPECT_NEAR(static_cast<double>(writes.back().moment_ns), static_cast<double>(expected.back().start_ns), 10);
}

TEST_F(WatchRecordingTest, AWriteIsRoundedUpToWholePagesAndBothSumsAreKept) {
  Build([](uint64_t number) { return uint64_t{number % 2 == 0 ? 1U : 4097U}; });
  ASSERT_THAT(Make(), IsOk());
  const PatternFile file = Written();
  const std::vector<PlayedWrite> writes = WritesOf(file, 0);
  EXPECT_EQ(writes[0].pages, 2U);
  EXPECT_EQ(writes[1].pages, 1U);
  EXPECT_EQ(file.header().streams(0).bytes(), writes.size() / 2 * 4098);
  EXPECT_EQ(file.header().streams(0).paged_bytes(), writes.size() / 2 * 3 * 4096);
  const absl::StatusOr<std::string> plan = MakePlan();
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(*plan, HasSubstr("in whole pages of 4 KiB, 199.9 % more bytes"));
}

TEST_F(WatchRecordingTest, WhereSingleWritesAreMissingAllStreamsHaveTheCountsOfEachSecond) {
  Build();
  bool one = false;
  uint64_t missing = 0;
  ForEachWriteFrame([&](v1::Frame& frame) {
    if (frame.qm() != 2 || one) return;
    one = true;
    missing = frame.latency().count();
    frame.clear_trace();
    frame.set_untraced_writes(missing);
  });
  ASSERT_THAT(Make(), IsOk());
  EXPECT_TRUE(recording_->per_second());
  EXPECT_THAT(recording_->notes(), Contains(AllOf(HasSubstr(absl::StrCat(missing, " of ")), HasSubstr("--trace-limit"),
                                                  HasSubstr("the number and the bytes of each second"))));
  const PatternFile file = Written();
  for (uint32_t number = 0; number < 2; ++number) {
    const v1::PatternStream& stream = file.header().streams(static_cast<int>(number));
    EXPECT_TRUE(stream.per_second());
    const std::vector<PlayedWrite> writes = WritesOf(file, number);
    // A write that was in flight at the end completed in no second.
    const v1::ScopeReport& scope = tests::Scope(index_->report().steps(0), v1::SCOPE_KIND_QM, "alpha", number + 1);
    EXPECT_EQ(writes.size(), scope.writes());
    EXPECT_EQ(stream.bytes(), scope.bytes());
    EXPECT_EQ(stream.paged_bytes(), scope.bytes());
    // Each second has its own.
    const v1::SeriesReport& series = tests::Series(index_->report().steps(0), v1::SCOPE_KIND_QM, "alpha", number + 1);
    const auto first =
        std::ranges::count_if(writes, [](const PlayedWrite& write) { return write.moment_ns <= kNsPerSecond; });
    EXPECT_EQ(static_cast<uint64_t>(first), series.writes(0));
    EXPECT_EQ(writes.back().moment_ns, 2 * kNsPerSecond);
    // Sizes differ by a page at most within a second.
    EXPECT_LE(writes[0].pages - writes[static_cast<size_t>(first) - 1].pages, 1U);
  }
  const absl::StatusOr<std::string> plan = MakePlan();
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(*plan, HasSubstr("by second:"));
}

TEST_F(WatchRecordingTest, TracesThatContradictTheirFramesAreNotPlayed) {
  Build();
  ForEachWriteFrame([](v1::Frame& frame) { frame.set_bytes(frame.bytes() + 1); });
  ASSERT_THAT(Make(), IsOk());
  EXPECT_TRUE(recording_->per_second());
  EXPECT_THAT(recording_->notes(), Contains(HasSubstr("the traces of the journal contradict its figures")));
}

TEST_F(WatchRecordingTest, AWatchThatSawAPartOnlySaysThatItIsALowerBound) {
  watched_.done.set_lost_records(7);
  watched_.done.set_detached("the probes cost 3 % of a CPU");
  Build();
  ASSERT_THAT(Make(), IsOk());
  EXPECT_THAT(
      recording_->notes(),
      AllOf(Contains(AllOf(HasSubstr("the recording is a lower bound: alpha:"), HasSubstr("dropped 7 records"))),
            Contains(HasSubstr("the agent detached before the end"))));
  const absl::StatusOr<std::string> plan = MakePlan();
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(*plan, HasSubstr("# - the recording is a lower bound: alpha:"));
}

TEST_F(WatchRecordingTest, AJournalThatEndsEarlyIsPlayedAsFarAsItGoesAndSaysSo) {
  Build();
  const auto last =
      std::ranges::find_if(records_, [](const v1::JournalRecord& record) { return record.has_step_done(); });
  records_.erase(last, records_.end());
  ASSERT_THAT(Make(), IsOk());
  EXPECT_THAT(recording_->notes(), Contains(HasSubstr("journal")));
}

TEST_F(WatchRecordingTest, WhatIsNoWatchOfALogIsRefusedByName) {
  std::mt19937_64 random(3);
  tests::SimRun of_run = tests::TwoHosts(random);
  records_ = tests::MakeJournal(of_run);
  EXPECT_THAT(Make(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "watched: a run, whose writes are Plimsoll's own: name the results of `plimsoll watch`"));
  records_.front().mutable_run_begin()->mutable_plan()->mutable_limit();
  EXPECT_THAT(Make(), StatusIs(absl::StatusCode::kInvalidArgument, "watched: a search for the highest load"));
  watched_.watch.Clear();
  watched_.watch.set_pid(4711);
  watched_.watch.add_calls("MQPUT");
  records_ = tests::AsWatch(run_, watched_);
  EXPECT_THAT(Make(), StatusIs(absl::StatusCode::kInvalidArgument,
                               "a watch of calls (MQPUT), which has no log writes to play: watch a log"));
}

TEST_F(WatchRecordingTest, AWatchWithoutALogWriteOrWithoutAStepIsRefused) {
  run_.hosts[0].steps = {{{}, {}}};
  Build();
  EXPECT_THAT(Make(), StatusIs(absl::StatusCode::kInvalidArgument, "no log write was seen: watch again"));
  std::erase_if(records_, [](const v1::JournalRecord& record) {
    return record.has_step_begin() || record.has_frames() || record.has_step_done() || record.has_step_end();
  });
  EXPECT_THAT(Make(), StatusIs(absl::StatusCode::kInvalidArgument, "a watch that never began"));
}

TEST_F(WatchRecordingTest, AWriteThatNoQueueManagerMakesIsRefusedByItsWriter) {
  Build([](uint64_t number) { return number == 100 ? (uint64_t{16} << 20) + 1 : 4096; });
  EXPECT_THAT(Make(), StatusIs(absl::StatusCode::kInvalidArgument, "watched: alpha/QM1 wrote 16 MiB at once"));
  Build([](uint64_t number) { return number == 100 ? uint64_t{16} << 20 : 4096; });
  ASSERT_THAT(Make(), IsOk());
  EXPECT_EQ(recording_->most_pages(), 4096);
  const absl::StatusOr<std::string> plan = MakePlan();
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(*plan, HasSubstr("log_buffer_pages: 4096\n"));
}

TEST_F(WatchRecordingTest, ThePlanIsCheckedAndSaysWhatItPlays) {
  Build();
  ASSERT_THAT(Make(), IsOk());
  const absl::StatusOr<std::string> yaml = MakePlan();
  ASSERT_THAT(yaml, IsOk());
  absl::StatusOr<v1::TestPlan> plan = ReadPlan(*yaml, "plan.yaml");
  ASSERT_THAT(plan, IsOk());
  const v1::GroupCommit& commits = plan->group_commit();
  EXPECT_EQ(commits.pattern(), "/var/plimsoll/watched/pattern.plimsoll");
  EXPECT_EQ(commits.pattern_sha256(), std::string(64, '5'));
  EXPECT_EQ(commits.playback(), v1::PLAYBACK_MODE_DEMAND);
  EXPECT_EQ(commits.load_factor(), 1.5);
  EXPECT_EQ(commits.log_buffer_pages(), 512U);
  EXPECT_FALSE(commits.has_clients());
  EXPECT_EQ(plan->workload().qm(), 2U);
  EXPECT_FALSE(plan->workload().has_dir());
  EXPECT_EQ(plan->duration_ns(), 2 * kNsPerSecond);
  EXPECT_TRUE(plan->has_warmup_ns());
  EXPECT_EQ(plan->warmup_ns(), 0);
  plan->mutable_workload()->set_dir("/mnt/mqlog");
  EXPECT_THAT(CheckPlan(*plan), IsOk());
  EXPECT_THAT(*yaml, HasSubstr("# - alpha/QM1: 2,000 writes, 1,000.00 writes/s of 20,4"));
  EXPECT_THAT(*yaml, HasSubstr("#   latency on its own storage: mean 0.700 ms, p99 0.700 ms"));
  EXPECT_THAT(*yaml, HasSubstr("plimsoll compare watched simulated"));
  EXPECT_THAT(*yaml, HasSubstr("# - beta/QM1, beta/QM2 have no log write"));
  EXPECT_THAT(*yaml, HasSubstr("`plimsoll watch --profile` shows it"));
  EXPECT_EQ(RecordingInBrief(*recording_), "2 queue managers, 3,000 writes in 2s");
}

TEST_F(WatchRecordingTest, APlanOfExactWritesSaysThatMqWouldNotIssueThem) {
  Build();
  ASSERT_THAT(Make(), IsOk());
  const absl::StatusOr<std::string> yaml = MakePlan(v1::PLAYBACK_MODE_WRITES);
  ASSERT_THAT(yaml, IsOk());
  EXPECT_THAT(*yaml, AllOf(HasSubstr("playback: writes\n"), HasSubstr("This is not what MQ would issue"),
                           HasSubstr("takes no criteria")));
}

TEST_F(WatchRecordingTest, TheWatchedHostsAreListedWithTheirQueueManagers) {
  run_.hosts[1].steps = {{tests::Steady(run_.duration_ns, 250'000), {}}};
  Build();
  ASSERT_THAT(Make(), IsOk());
  const absl::StatusOr<std::string> yaml = MakePlan();
  ASSERT_THAT(yaml, IsOk());
  std::string hosts;
  const std::vector<std::string> lines = absl::StrSplit(*yaml, '\n');
  for (const std::string& line : lines) {
    if (absl::StartsWith(line, "# hosts:") || absl::StartsWith(line, "#   - address") ||
        absl::StartsWith(line, "#     workload")) {
      absl::StrAppend(&hosts, line.substr(2), "\n");
    }
  }
  const absl::StatusOr<v1::TestPlan> plan = ReadPlan(hosts, "hosts");
  ASSERT_THAT(plan, IsOk()) << hosts;
  ASSERT_EQ(plan->hosts_size(), 2);
  EXPECT_EQ(plan->hosts(0).workload().qm(), 2U);
  EXPECT_EQ(plan->hosts(1).workload().qm(), 1U);
}

TEST_F(WatchRecordingTest, OpenFlagsThatTheWatchSawAreThoseOfThePlan) {
  watched_.watch.set_profile(true);
  v1::WatchProfile& profile = *watched_.done.mutable_profile();
  profile.add_open_flags("O_RDWR|O_SYNC");
  profile.add_calls("pwrite64 3000");
  v1::WatchedSize& size = *profile.add_sizes();
  size.set_bytes(4096);
  size.set_writes(3'000);
  profile.set_sequential_writes(3'000);
  Build();
  ASSERT_THAT(Make(), IsOk());
  const absl::StatusOr<std::string> yaml = MakePlan();
  ASSERT_THAT(yaml, IsOk());
  const absl::StatusOr<v1::TestPlan> plan = ReadPlan(*yaml, "plan.yaml");
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->workload().sync(), v1::SYNC_MODE_SYNC);
  EXPECT_EQ(plan->workload().direct(), v1::DIRECT_MODE_OFF);
}

}  // namespace
}  // namespace plimsoll
