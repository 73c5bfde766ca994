// From journals to the stalls and the slowest writes of the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/testing.h"
#include "tests/unit/analysis/stall_report_fixture.h"

namespace plimsoll::tests {
namespace {

TEST_F(StallReportTest, WithoutAStallItSaysWhatWouldHaveBeenOne) {
  const v1::StepReport step = Step();
  ASSERT_TRUE(step.has_stalls());
  EXPECT_EQ(step.stalls().count(), 0U);
  EXPECT_EQ(step.stalls().threshold_ns(), 100 * kMs);
  EXPECT_TRUE(step.stalls().threshold_by_median());
  run_.stall_given = true;
  run_.stall_ns = 30 * kMs;
  EXPECT_EQ(Step().stalls().threshold_ns(), 30 * kMs);
  EXPECT_FALSE(Step().stalls().threshold_by_median());
}

TEST_F(StallReportTest, WhereAgentsWereNotAskedNothingIsSaid) {
  run_.stall_ns = 0;
  EXPECT_FALSE(Step().has_stalls());
}

TEST_F(StallReportTest, AStallOfAllHostsIsOneOnTheTimeline) {
  for (const size_t host : {0U, 1U}) {
    for (const size_t writer : {0U, 1U}) Stall(host, writer, {{1'000 * kMs, 1'700 * kMs}});
  }
  const v1::StepReport step = Step();
  ASSERT_EQ(step.stalls().count(), 1U);
  EXPECT_EQ(step.stalls().stretches(), 4U);
  ASSERT_THAT(step.stalls().classes(), SizeIs(1));
  EXPECT_EQ(step.stalls().classes(0).stall_class(), v1::STALL_CLASS_ALL_HOSTS);
  EXPECT_EQ(step.stalls().classes(0).count(), 1U);
  const v1::StallReport& stall = step.stalls().stalls(0);
  EXPECT_EQ(stall.stall_class(), v1::STALL_CLASS_ALL_HOSTS);
  EXPECT_EQ(stall.storage(), 1U);
  EXPECT_LE(std::abs(stall.offset_ns() - 1'000 * kMs), stall.error_ns());
  EXPECT_LE(std::abs(stall.length_ns() - 700 * kMs), 2 * stall.error_ns());
  EXPECT_GT(stall.error_ns(), 0);
  EXPECT_THAT(stall.hosts(), ElementsAre("alpha", "beta"));
  EXPECT_EQ(stall.writers_count(), 4U);
  ASSERT_THAT(stall.writers(), SizeIs(4));
  // 1,000 writes of 1 ms, then the one that stood.
  EXPECT_EQ(stall.writers(0).number(), 1'001U);
  EXPECT_EQ(stall.writers(0).length_ns(), 700 * kMs);
  EXPECT_EQ(stall.writers(0).in_flight_ns(), 700 * kMs);
  EXPECT_EQ(stall.writers(0).paused_ns(), 0);
}

TEST_F(StallReportTest, HostsThatWriteInSeveralDirectoriesShowNothingOfOneAnothersStorage) {
  for (const size_t writer : {0U, 1U}) Stall(0, writer, {{1'000 * kMs, 1'700 * kMs}});
  std::vector<v1::JournalRecord> records = MakeJournal(run_);
  ASSERT_EQ(Analyze(records).steps(0).stalls().stalls(0).stall_class(), v1::STALL_CLASS_ONE_HOST) << "beta saw none";
  for (v1::JournalRecord& record : records) {
    if (record.has_host_joined()) {
      v1::HostJoined& joined = *record.mutable_host_joined();
      v1::LogWorkload& workload = *joined.mutable_plan()->mutable_log()->mutable_workload();
      workload.set_dir("/mnt/mqlog");
      workload.add_qm_dirs("/mnt/mqlog");
      workload.add_qm_dirs("/mnt/second");
      v1::DirectoryDescription& second = *joined.mutable_description()->add_directories();
      second.set_path("/mnt/second");
      second.set_fs_type("xfs");
      second.set_fs_source("/dev/sdb1");
    } else if (record.has_host_prepared()) {
      v1::PreparedDirectory& more = *record.mutable_host_prepared()->mutable_prepared()->add_more();
      more.set_directory("/mnt/second/plimsoll-7f3a21/host");
      more.set_direct(true);
    }
  }
  const v1::Report report = Analyze(records);
  const v1::StallReport& stall = report.steps(0).stalls().stalls(0);
  EXPECT_EQ(stall.stall_class(), v1::STALL_CLASS_SINGLE_HOST)
      << "its path, or a file system that beta did not write on";
  EXPECT_THAT(report.notes(),
              ::testing::Contains(HasSubstr("stalls of one host are not compared with those of others")));
  ASSERT_THAT(report.storages(), SizeIs(1));
  EXPECT_THAT(report.storages(0).more_file_systems(), ElementsAre("xfs from /dev/sdb1"));
  ASSERT_THAT(report.hosts(1).more_mounts(), SizeIs(1));
  EXPECT_EQ(report.hosts(1).more_mounts(0).fs_type(), "xfs");
  EXPECT_EQ(report.hosts(1).more_mounts(0).directory(), "/mnt/second/plimsoll-7f3a21/host");
  EXPECT_TRUE(report.hosts(1).more_mounts(0).direct());
}

TEST_F(StallReportTest, AHostThatDidNotRunIsRecognisedByItsPauses) {
  for (const size_t writer : {0U, 1U}) Stall(1, writer, {{1'000 * kMs, 1'700 * kMs}});
  run_.hosts[1].pauses = {{0, 1'002 * kMs, 1'300 * kMs}, {0, 1'301 * kMs, 1'699 * kMs}};
  const v1::StepReport step = Step();
  ASSERT_EQ(step.stalls().count(), 1U);
  const v1::StallReport& stall = step.stalls().stalls(0);
  EXPECT_EQ(stall.stall_class(), v1::STALL_CLASS_HOST_PAUSED);
  EXPECT_THAT(stall.hosts(), ElementsAre("beta"));
  EXPECT_THAT(stall.others(), ElementsAre("alpha"));
  EXPECT_EQ(stall.writers(0).paused_ns(), 696 * kMs);
  run_.hosts[1].pauses.clear();
  EXPECT_EQ(Step().stalls().stalls(0).stall_class(), v1::STALL_CLASS_ONE_HOST);
}

TEST_F(StallReportTest, WritesThatUsuallyTakeLongAreNoStalls) {
  // Writes of 150 ms: the threshold is 3 s.
  run_.duration_ns = 20 * kNsPerSecond;
  for (SimHost& host : run_.hosts) {
    for (SimWriter& writer : host.steps[0]) writer = Writer({}, 150 * kMs);
  }
  EXPECT_EQ(Step().stalls().count(), 0U);
  run_.hosts[0].steps[0][1] = Writer({{6'000 * kMs, 9'500 * kMs}}, 150 * kMs);
  const v1::StepReport step = Step();
  ASSERT_EQ(step.stalls().count(), 1U);
  EXPECT_EQ(step.stalls().stalls(0).stall_class(), v1::STALL_CLASS_ONE_QM);
  EXPECT_EQ(step.stalls().stalls(0).length_ns(), 3'500 * kMs);
  EXPECT_EQ(step.stalls().stretches(), 1U);
  // With a threshold of the plan each of them is one. Those in a row are one together, and what is not usual among them
  // stands for itself: before, and after, and in between.
  run_.stall_given = true;
  const v1::StepReport given = Step();
  ASSERT_EQ(given.stalls().count(), 3U);
  EXPECT_EQ(given.stalls().stretches(), 6U);
  for (const v1::StallReport& stall : given.stalls().stalls()) {
    const v1::StalledWriterReport& writer = stall.writers(0);
    if (stall.stall_class() == v1::STALL_CLASS_ALL_HOSTS) {
      EXPECT_EQ(stall.writers_count(), 4U);
      EXPECT_TRUE(writer.in_a_row());
      EXPECT_EQ(writer.writes(), 134U);
    } else {
      EXPECT_EQ(stall.stall_class(), v1::STALL_CLASS_ONE_QM);
      EXPECT_EQ(writer.in_a_row(), stall.offset_ns() < 1'000 * kMs);
      EXPECT_EQ(writer.writes(), writer.in_a_row() ? 40U : 1U);
      EXPECT_EQ(writer.length_ns(), writer.in_a_row() ? 6'000 * kMs : 3'500 * kMs);
    }
  }
}

TEST_F(StallReportTest, SlowWritesOneAfterTheOtherAreAStallEach) {
  for (const size_t writer : {0U, 1U}) {
    Stall(0, writer, {{1'000 * kMs, 1'250 * kMs}, {1'250 * kMs, 1'500 * kMs}, {1'500 * kMs, 1'750 * kMs}});
  }
  for (const bool given : {false, true}) {
    run_.stall_given = given;
    const v1::StepReport step = Step();
    ASSERT_EQ(step.stalls().count(), 3U);
    for (const v1::StallReport& stall : step.stalls().stalls()) {
      EXPECT_EQ(stall.stall_class(), v1::STALL_CLASS_ONE_HOST);
      for (const v1::StalledWriterReport& writer : stall.writers()) {
        EXPECT_EQ(writer.length_ns(), 250 * kMs) << "as the slowest writes";
        EXPECT_EQ(writer.writes(), 1U);
        EXPECT_FALSE(writer.in_a_row());
      }
    }
  }
}

TEST_F(StallReportTest, AWriterWithALargerMedianIsNotTakenToHaveBeenWell) {
  // What is a stall of the first writer, at 100 ms, is none of the second one's, at 120 ms. The storage stood for both.
  run_.hosts.resize(1);
  run_.hosts[0].steps = {
      {Writer({{1'000 * kMs, 1'110 * kMs}}, 4 * kMs), Writer({{1'000 * kMs, 1'110 * kMs}}, 6 * kMs)}};
  const v1::StepReport step = Step();
  ASSERT_EQ(step.stalls().count(), 1U);
  EXPECT_EQ(step.stalls().stretches(), 1U);
  EXPECT_EQ(step.stalls().stalls(0).stall_class(), v1::STALL_CLASS_SINGLE_HOST);
}

TEST_F(StallReportTest, AMillisecondTooLittleForTheThresholdOfThePlanIsNoSignOfHealth) {
  run_.hosts.resize(1);
  run_.stall_given = true;
  run_.stall_ns = 300 * kMs;
  Stall(0, 0, {{1'000 * kMs, 1'301 * kMs}});
  Stall(0, 1, {{1'002 * kMs, 1'301 * kMs}});
  const v1::StepReport step = Step();
  ASSERT_EQ(step.stalls().count(), 1U);
  EXPECT_EQ(step.stalls().stretches(), 1U);
  EXPECT_EQ(step.stalls().stalls(0).stall_class(), v1::STALL_CLASS_SINGLE_HOST);
}

TEST_F(StallReportTest, TheThresholdsThatWereUsedAreReported) {
  run_.hosts[0].steps[0][1] = Writer({{1'000 * kMs, 1'200 * kMs}}, 31 * kMs);
  const v1::Report report = Report();
  const v1::StallsReport& stalls = report.steps(0).stalls();
  EXPECT_EQ(stalls.count(), 0U);
  EXPECT_EQ(stalls.threshold_ns(), 100 * kMs);
  EXPECT_EQ(stalls.least_threshold_ns(), 100 * kMs);
  EXPECT_NEAR(static_cast<double>(stalls.largest_threshold_ns()), 620e6, 1e6);
}

TEST_F(StallReportTest, StallsOfTheWarmUpDoNotCount) {
  run_.warmup_ns = 1'000 * kMs;
  for (const size_t writer : {0U, 1U}) Stall(1, writer, {});
  for (const size_t writer : {0U, 1U}) Stall(0, writer, {{-800 * kMs, -500 * kMs}});
  EXPECT_EQ(Step().stalls().count(), 0U);
  // One that lasts into the measured part does.
  for (const size_t writer : {0U, 1U}) Stall(0, writer, {{-800 * kMs, 50 * kMs}});
  const v1::StepReport step = Step();
  ASSERT_EQ(step.stalls().count(), 1U);
  EXPECT_NEAR(static_cast<double>(step.stalls().stalls(0).offset_ns()), -800e6, 2e6);
}

TEST_F(StallReportTest, AWriteThatIsInFlightWhenTheDataEndIsAnOpenStall) {
  Stall(1, 0, {{1'200 * kMs, 60 * kNsPerSecond}});
  run_.hosts[1].lost_after_ns = 2'000 * kMs;
  const v1::StepReport step = Step();
  ASSERT_EQ(step.stalls().count(), 1U);
  const v1::StallReport& stall = step.stalls().stalls(0);
  EXPECT_EQ(stall.stall_class(), v1::STALL_CLASS_ONE_QM);
  EXPECT_TRUE(stall.open());
  EXPECT_TRUE(stall.writers(0).open());
  EXPECT_EQ(stall.length_ns(), 800 * kMs);
  EXPECT_THAT(stall.hosts(), ElementsAre("beta"));
}

TEST_F(StallReportTest, ALostHostWasNeitherStalledNorUnaffectedAfterwards) {
  run_.hosts[1].lost_after_ns = 1'000 * kMs;
  for (const size_t writer : {0U, 1U}) Stall(0, writer, {{1'500 * kMs, 1'900 * kMs}});
  const v1::StepReport step = Step();
  ASSERT_EQ(step.stalls().count(), 1U);
  EXPECT_EQ(step.stalls().stalls(0).stall_class(), v1::STALL_CLASS_SINGLE_HOST);
  EXPECT_THAT(step.stalls().stalls(0).others(), IsEmpty());
}

TEST_F(StallReportTest, CoalescedFramesChangeNothing) {
  for (const size_t writer : {0U, 1U}) Stall(0, writer, {{300 * kMs, 700 * kMs}, {1'100 * kMs, 1'300 * kMs}});
  run_.hosts[0].pauses = {{0, 1'100 * kMs, 1'300 * kMs}};
  const v1::StepReport plain = Step();
  ASSERT_EQ(plain.stalls().count(), 2U);
  run_.hosts[0].coalesce = 5;
  EXPECT_EQ(Step().stalls().SerializeAsString(), plain.stalls().SerializeAsString());
  EXPECT_EQ(Step().slowest_size(), plain.slowest_size());
  for (int i = 0; i < plain.slowest_size(); ++i) {
    EXPECT_EQ(Step().slowest(i).SerializeAsString(), plain.slowest(i).SerializeAsString());
  }
}

TEST_F(StallReportTest, WhatPoorClocksLeaveOpenIsSaidInANote) {
  for (const size_t writer : {0U, 1U}) Stall(0, writer, {{1'000 * kMs, 1'400 * kMs}});
  for (const size_t writer : {0U, 1U}) Stall(1, writer, {{1'000 * kMs, 1'400 * kMs}});
  std::vector<v1::JournalRecord> records = MakeJournal(run_);
  for (v1::JournalRecord& record : records) {
    if (!record.has_probes()) continue;
    // Each way may have taken half a second.
    for (v1::ProbeResult& probe : *record.mutable_probes()->mutable_probes()) {
      probe.set_sent_ns(probe.sent_ns() - 500 * kMs);
      probe.set_received_ns(probe.received_ns() + 500 * kMs);
    }
  }
  const v1::Report report = Analyze(records);
  ASSERT_EQ(report.steps(0).stalls().count(), 2U);
  for (const v1::StallReport& stall : report.steps(0).stalls().stalls()) {
    EXPECT_EQ(stall.stall_class(), v1::STALL_CLASS_SINGLE_HOST);
    EXPECT_GE(stall.error_ns(), 500 * kMs);
  }
  EXPECT_THAT(report.notes(), ::testing::Contains(HasSubstr("it is undetermined, within the clock error")));
  EXPECT_THAT(Report().notes(), Not(::testing::Contains(HasSubstr("clock error"))));
}

TEST_F(StallReportTest, OnlyTheLongestHundredAreListedInTheOrderOfTime) {
  run_.duration_ns = 60 * kNsPerSecond;
  std::vector<SimStall> stalls;
  stalls.reserve(120);
  for (int64_t i = 0; i < 120; ++i) stalls.push_back({i * 500 * kMs, (i * 500 + 100 + i) * kMs});
  for (SimHost& host : run_.hosts) {
    for (SimWriter& writer : host.steps[0]) writer = Writer({});
  }
  Stall(0, 0, stalls);
  const v1::StallsReport report = Step().stalls();
  EXPECT_EQ(report.count(), 120U);
  EXPECT_EQ(report.classes(0).count(), 120U);
  ASSERT_EQ(report.stalls_size(), 100);
  EXPECT_EQ(report.stalls(0).writers(0).length_ns(), 120 * kMs);
  for (int i = 1; i < 100; ++i) EXPECT_GT(report.stalls(i).offset_ns(), report.stalls(i - 1).offset_ns());
}

TEST_F(StallReportTest, TheTenSlowestWritesAreThoseOfAllWriters) {
  uint64_t n = 0;
  std::multiset<uint64_t> latencies;
  for (SimHost& host : run_.hosts) {
    for (SimWriter& writer : host.steps[0]) {
      writer = ClosedLoop(run_.duration_ns, 1'000, [&n](uint64_t, int64_t) {
        ++n;
        return 200'000 + static_cast<int64_t>(n * 0x9E3779B97F4A7C15U >> 44U);
      });
      for (const SimWrite& write : writer) latencies.insert(static_cast<uint64_t>(write.latency_ns));
    }
  }
  const v1::StepReport step = Step();
  ASSERT_EQ(step.slowest_size(), 10);
  auto expected = latencies.rbegin();
  for (const v1::SlowestReport& write : step.slowest()) EXPECT_EQ(write.latency_ns(), *expected++);
  EXPECT_EQ(step.slowest(0).SerializeAsString(), Scope(step, v1::SCOPE_KIND_CLUSTER).slowest().SerializeAsString());
}

TEST_F(StallReportTest, OfEquallySlowWritesTheFirstIsThatOfTheCluster) {
  const v1::StepReport step = Step();
  ASSERT_EQ(step.slowest_size(), 10);
  EXPECT_EQ(step.slowest(0).SerializeAsString(), Scope(step, v1::SCOPE_KIND_CLUSTER).slowest().SerializeAsString());
  EXPECT_EQ(step.slowest(9).number(), 10U);
}

TEST_F(StallReportTest, RecordsThatContradictThemselvesAreLeftOut) {
  Stall(0, 0, {{1'000 * kMs, 1'400 * kMs}});
  const std::vector<v1::JournalRecord> whole = MakeJournal(run_);
  struct Damage {
    std::string what;
    std::function<void(v1::Frame&)> spoil;
  };
  const std::vector<Damage> damages = {
      {"a stall at a time", [](v1::Frame& frame) { frame.mutable_stalls(0)->set_begin_ns(-5); }},
      {"a stall at a time", [](v1::Frame& frame) { frame.mutable_stalls(0)->set_end_ns(INT64_MAX); }},
      {"a stall at a time", [](v1::Frame& frame) { std::swap(*frame.mutable_stalls(0), *frame.add_stalls()); }},
      {"overlap", [](v1::Frame& frame) { *frame.add_stalls() = v1::StalledInterval(frame.stalls(0)); }},
      {"in flight for longer", [](v1::Frame& frame) { frame.mutable_stalls(0)->set_in_flight_ns(INT64_MAX); }},
      {"in flight for longer", [](v1::Frame& frame) { frame.mutable_stalls(0)->set_in_flight_ns(-1); }},
      {"none of the frame's", [](v1::Frame& frame) { frame.mutable_slow(0)->set_seq(1); }},
      {"none of the frame's", [](v1::Frame& frame) { frame.mutable_slow(0)->set_seq(UINT64_MAX); }},
      {"none of the frame's", [](v1::Frame& frame) { frame.mutable_slow(0)->set_latency_ns(UINT64_MAX); }},
      {"none of the frame's", [](v1::Frame& frame) { *frame.add_slow() = v1::WriteSample(frame.slow(0)); }},
      {"a slow write at a time", [](v1::Frame& frame) { frame.mutable_slow(0)->set_start_ns(-1); }},
  };
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.what);
    std::vector<v1::JournalRecord> records = whole;
    bool spoiled = false;
    for (v1::JournalRecord& record : records) {
      if (!record.has_frames() || spoiled) continue;
      for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
        if (frame.stalls().empty()) continue;
        ASSERT_GE(frame.slow_size(), 1);
        damage.spoil(frame);
        spoiled = true;
      }
    }
    ASSERT_TRUE(spoiled);
    const v1::Report report = Analyze(records);
    EXPECT_EQ(report.steps(0).stalls().count(), 0U);
    EXPECT_THAT(report.verdict().reasons(), ::testing::Contains(HasSubstr(damage.what)));
  }
}

TEST_F(StallReportTest, PausesThatNoClockShowsAreLeftOut) {
  for (const size_t writer : {0U, 1U}) Stall(1, writer, {{1'000 * kMs, 1'700 * kMs}});
  run_.hosts[1].pauses = {{0, 1'002 * kMs, 1'699 * kMs}};
  std::vector<v1::JournalRecord> records = MakeJournal(run_);
  for (v1::JournalRecord& record : records) {
    if (record.frames().has_sample()) record.mutable_frames()->mutable_sample()->mutable_pauses(0)->set_begin_ns(-1);
  }
  const v1::Report report = Analyze(records);
  EXPECT_EQ(report.steps(0).stalls().stalls(0).stall_class(), v1::STALL_CLASS_ONE_HOST);
  EXPECT_THAT(report.verdict().reasons(), ::testing::Contains(HasSubstr("a pause at a time")));
}

}  // namespace
}  // namespace plimsoll::tests
