#include "controller/mq/mq_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_yaml.h"
#include "tests/testing.h"
#include "tests/unit/mq/mq_samples.h"

namespace plimsoll {
namespace {

QmLog Log(const std::string& text, const std::string& file = "QM1/qm.ini") {
  return ReadQmIni(text, file).value();
}

LogRecording Recording(const std::string& text, const std::string& file = "log.txt") {
  return ReadAmqsrua(text, file).value();
}

v1::TestPlan Parsed(const MqPlan& plan) {
  const absl::StatusOr<v1::TestPlan> read = ReadPlan(plan.yaml, "plan.yaml");
  EXPECT_TRUE(read.ok()) << read.status().message() << plan.yaml;
  if (!read.ok()) return {};
  EXPECT_THAT(PlanProblems(*read), ElementsAre()) << plan.yaml;
  return *read;
}

TEST(MqPlanTest, ALogAndItsLoadBecomeAPlan) {
  const MqPlan made = MakeMqPlan({Log(tests::kQmIni)}, {Recording(tests::kPublication)}).value();
  const v1::TestPlan plan = Parsed(made);
  EXPECT_EQ(plan.workload().dir(), "/var/mqm/log/saturn!queue!manager");
  EXPECT_EQ(plan.workload().qm(), 1U);
  EXPECT_EQ(plan.workload().file_size_bytes(), 16384U * 4096);
  EXPECT_EQ(plan.workload().num_files(), 16U);
  EXPECT_EQ(plan.workload().arrival(), v1::ARRIVAL_POISSON);
  // 304,454 bytes are 74.3 pages; fewer bytes in a write, so more writes.
  EXPECT_THAT(plan.block_size_bytes(), ElementsAre(74U * 4096));
  EXPECT_NEAR(plan.workload().rate_per_second(), 3'660'836'864 / 10.001 / (74 * 4096), 0.001);
  EXPECT_THAT(plan.name(), HasSubstr("MQ's mean write latency was 306 us"));
  EXPECT_THAT(made.notes, ElementsAre());
  EXPECT_EQ(made.brief, "1 queue manager, 16 extents of 64 MiB each, blocks of 296 KiB, 1,207.66 writes/s each");
}

TEST(MqPlanTest, ThePlanSaysWhereEachValueIsFrom) {
  const std::string yaml = MakeMqPlan({Log(tests::kQmIni)}, {Recording(tests::kWholePublication)}).value().yaml;
  EXPECT_THAT(
      yaml,
      HasSubstr("# - log.txt:1, put 2024-02-29 23:59:59.99 GMT, 93784.500 s long (1 of 1 publications have writes)\n"));
  EXPECT_THAT(yaml, HasSubstr("#   93,784,500 bytes physical (0.00 MB/s), 90,000,000 bytes logical\n"));
  EXPECT_THAT(yaml, HasSubstr("#   mean write latency 994 us, so 0 % of the time a write was outstanding\n"));
  EXPECT_THAT(yaml, HasSubstr("since the queue manager's restart 71,902 us, at 2024-02-29T23:59:59"));
  EXPECT_THAT(yaml, HasSubstr("criteria: [\"service_avg<=994us\"]"));
  EXPECT_THAT(yaml, HasSubstr("is rounded to the nearest whole number of log pages (4096 bytes)"));
  EXPECT_THAT(yaml, HasSubstr("# - TripleWrite writes a partly filled last page that has grown elsewhere first, then "
                              "over itself; where is not known"));
  EXPECT_THAT(yaml, HasSubstr("# LogPath of QM1/qm.ini:15."));
}

TEST(MqPlanTest, NeitherWritesNorBytesAreLessThanMqs) {
  for (const int64_t size : {1, 512, 4095, 4099, 5122, 6143, 6145, 10'076, 304'454, 3'670'000}) {
    LogInterval interval;
    interval.length_ms = 10'000;
    interval.values[static_cast<size_t>(LogElement::kPhysicalBytesWritten)] = 1'000'000'000;
    interval.values[static_cast<size_t>(LogElement::kWriteSize)] = size;
    const uint64_t block = BlockSizeFor(size);
    EXPECT_EQ(block % 4096, 0U);
    EXPECT_GE(block, 4096U);
    EXPECT_LE(std::abs(static_cast<int64_t>(block) - std::max<int64_t>(size, 4096)), 2048) << size;
    const double rate = RateFor(interval, block);
    EXPECT_GE(rate, interval.WritesPerSecond());
    EXPECT_GE(rate * static_cast<double>(block), interval.BytesPerSecond() * (1 - 1e-12));
    // And one of them is met exactly.
    EXPECT_TRUE(rate == interval.WritesPerSecond() ||
                rate * static_cast<double>(block) <= interval.BytesPerSecond() * (1 + 1e-12));
  }
}

TEST(MqPlanTest, WithoutALoadNoneIsMadeUp) {
  const MqPlan made = MakeMqPlan({Log(tests::kQmIni)}, {}).value();
  const v1::TestPlan plan = Parsed(made);
  EXPECT_FALSE(plan.workload().has_rate_per_second());
  EXPECT_EQ(plan.block_size_bytes_size(), 0);
  EXPECT_THAT(made.notes, ElementsAre(HasSubstr("without --amqsrua MQ's block size and rate are not known")));
  EXPECT_THAT(made.yaml, HasSubstr(made.notes.front()));
}

TEST(MqPlanTest, OfSeveralTheLargestIsChosenAndSaidSo) {
  const std::string small = "Log:\n   LogPath=/log/small\n";
  const std::string busy = absl::StrReplaceAll(tests::kPublication, {{"36608", "96608"}, {" 366039835/sec", ""}});
  const MqPlan made = MakeMqPlan({Log(small, "QM1/qm.ini"), Log(tests::kQmIni, "QM2/qm.ini")},
                                 {Recording(tests::kPublication, "a.txt"), Recording(busy, "b.txt")})
                          .value();
  const v1::TestPlan plan = Parsed(made);
  EXPECT_EQ(plan.workload().qm(), 2U);
  EXPECT_EQ(plan.workload().num_files(), 16U);
  EXPECT_FALSE(plan.workload().has_dir());
  EXPECT_THAT(plan.workload().qm_dirs(), ElementsAre("/log/small", "/var/mqm/log/saturn!queue!manager"));
  EXPECT_NEAR(plan.workload().rate_per_second(), 9'660'836'864 / 10.001 / (74 * 4096), 0.001);
  EXPECT_THAT(
      made.notes,
      ElementsAre(HasSubstr("chosen is the largest, of QM2/qm.ini"),
                  "a plan has one load for all queue managers: chosen is the largest, of b.txt, for each of the 2 "
                  "queue managers"));
  for (const std::string& note : made.notes) EXPECT_THAT(made.yaml, HasSubstr(note));
  EXPECT_THAT(made.yaml, HasSubstr("# - a.txt:1, put "));
}

TEST(MqPlanTest, TwoQueueManagersCannotHaveOneLog) {
  const auto made = MakeMqPlan({Log(tests::kQmIni, "QM1/qm.ini"), Log(tests::kQmIni, "QM2/qm.ini")}, {});
  EXPECT_EQ(std::string(made.status().message()),
            "QM2/qm.ini:15: LogPath /var/mqm/log/saturn!queue!manager is also that of QM1/qm.ini:15; each queue "
            "manager of a host has a log of its own: give each qm.ini once, or pass --dir or --qm-dirs");
}

TEST(MqPlanTest, MoreQueueManagersThanAHostHasDirectoriesAreSeveralPlans) {
  std::vector<QmLog> logs;
  for (int i = 0; i < 64; ++i) logs.push_back(Log("Log:\n   LogPath=/log/" + std::to_string(i) + "\n"));
  EXPECT_EQ(Parsed(MakeMqPlan(logs, {}).value()).workload().qm(), 64U);
  logs.push_back(Log("Log:\n   LogPath=/log/last\n"));
  EXPECT_EQ(
      std::string(MakeMqPlan(logs, {}).status().message()),
      "--qm-ini: 65 queue managers, each with a LogPath of its own; a host writes in at most 64 directories: make "
      "several plans, each from at most 64 qm.ini, or pass --dir");
  EXPECT_EQ(Parsed(MakeMqPlan(logs, {}, {"/mnt/new", {}}).value()).workload().qm(), 65U);
}

constexpr char kFragment[] = "Log:\n   LogPrimaryFiles=90\n   LogSecondaryFiles=240\n   LogFilePages=65535\n";

TEST(MqPlanTest, AFragmentWithoutALogPathMakesAPlanThatLacksItsDirectoryAlone) {
  const MqPlan made = MakeMqPlan({Log(kFragment, "qm.ini")}, {}).value();
  EXPECT_THAT(made.notes, ::testing::Contains("qm.ini: the Log stanza has no LogPath, and its default is not known "
                                              "here: the plan has no directory; pass --dir or --qm-dirs here or to "
                                              "`plimsoll run`"));
  v1::TestPlan plan = ReadPlan(made.yaml, "plan.yaml").value();
  EXPECT_FALSE(plan.workload().has_dir());
  EXPECT_EQ(plan.workload().file_size_bytes(), 65'535U * 4096);
  EXPECT_EQ(plan.workload().num_files(), 90U);
  EXPECT_EQ(plan.workload().qm(), 1U);
  EXPECT_THAT(made.yaml, HasSubstr("90 primary and 240 secondary extents"));
  plan.mutable_workload()->set_dir("/mnt/new");
  EXPECT_THAT(PlanProblems(plan), ElementsAre());
}

TEST(MqPlanTest, DirectoriesThatAreGivenStandInPlaceOfEachLogPath) {
  const QmLog windows = Log("Log:\n   LogPath=C:\\MQ\\log\n", "win.ini");
  const QmLog linux_log = Log(tests::kQmIni, "QM2/qm.ini");
  const MqPlan one = MakeMqPlan({windows, linux_log, linux_log}, {}, {"/mnt/new", {}}).value();
  EXPECT_EQ(Parsed(one).workload().dir(), "/mnt/new");
  EXPECT_EQ(Parsed(one).workload().qm(), 3U);
  for (const std::string& note : one.notes) EXPECT_THAT(note, ::testing::Not(HasSubstr("LogPath")));
  const MqPlan each = MakeMqPlan({windows, linux_log}, {}, {"", {"/mnt/a", "/mnt/b"}}).value();
  EXPECT_THAT(Parsed(each).workload().qm_dirs(), ElementsAre("/mnt/a", "/mnt/b"));
  EXPECT_EQ(std::string(MakeMqPlan({windows, linux_log}, {}, {"", {"/mnt/a"}}).status().message()),
            "--qm-dirs lists 1 directory for 2 --qm-ini: list one for each, in their order");
  EXPECT_THAT(std::string(MakeMqPlan({windows}, {}, {"new", {}}).status().message()), HasSubstr("is not absolute"));
  // One without a path: none has a directory, and each queue manager remains.
  const MqPlan none = MakeMqPlan({windows, linux_log}, {}).value();
  EXPECT_EQ(ReadPlan(none.yaml, "plan.yaml").value().workload().qm(), 2U);
  EXPECT_THAT(none.notes, ::testing::Contains(HasSubstr("win.ini: line 2: LogPath 'C:\\MQ\\log' is not absolute")));
}

TEST(MqPlanTest, AWriteThatDoesNotFitAnExtentIsRefused) {
  const auto made = MakeMqPlan({Log("Log:\n   LogPath=/log\n   LogFilePages=64\n")}, {Recording(tests::kPublication)});
  EXPECT_EQ(
      std::string(made.status().message()),
      "log.txt:1: writes of 296k are larger than an extent of QM1/qm.ini, 256k: pass the files of one queue manager");
}

TEST(MqPlanTest, ALoadThatNoQueueManagerHasIsRefused) {
  const std::string head = "Publication received PutDate:20171004 PutTime:13560170 Interval:10.000 seconds\n";
  const auto error = [&](const std::string& lines) {
    return std::string(MakeMqPlan({Log(tests::kQmIni)}, {Recording(head + lines)}).status().message());
  };
  EXPECT_THAT(error("Log - physical bytes written 90000000000\nLog - write size 16779265\n"),
              HasSubstr("log.txt:1: writes of 16388k on average are more than MQ's largest log buffer, 16m"));
  EXPECT_THAT(error("Log - physical bytes written 90000000000\nLog - write size 1\n"),
              HasSubstr("log.txt:1: 9,000,000,000.00 writes/s are more than a plan can hold, 1,000,000.00"));
}

TEST(MqPlanTest, ALoadThatWouldBeWrittenAsNoRateIsRefused) {
  const std::string idle =
      "Publication received PutDate:20171004 PutTime:13560170 Interval:1 days,0 hours,0 minutes,0.000 seconds\n"
      "Log - physical bytes written 4096\nLog - write size 4096\n";
  EXPECT_THAT(std::string(MakeMqPlan({Log(tests::kQmIni)}, {Recording(idle)}).status().message()),
              HasSubstr("log.txt:1: MQ wrote less than once in 100 s"));
}

TEST(MqPlanTest, TheBusiestByWritesIsNamedWhereItIsAnother) {
  const std::string more = std::string(tests::kPublication) +
                           "Publication received PutDate:20171004 PutTime:13561170 Interval:10.000 seconds\n"
                           "Log - physical bytes written 81920000 8192000/sec\nLog - write size 4096\n";
  EXPECT_THAT(
      MakeMqPlan({Log(tests::kQmIni)}, {Recording(more)}).value().yaml,
      HasSubstr("most writes per second is another one: log.txt:7, put 2017-10-04 13:56:11.70 GMT, 10.000 s long\n"
                "#     2,000.00 writes/s of 4,096 bytes on average\n"));
}

TEST(MqPlanTest, NamesOfFilesAndPathsCannotBreakOutOfThePlan) {
  const std::string file = "a\nworkload: {qm: 4096}\n\xc2\x85#\x1b[31m";
  for (const std::string path :
       {"/log/a: b", "/log/'\"", "/log/{x}", "/log/\xc3\xa9y", "/log/ - x", "/~", "/log/&a *b !c %d @e `f |g >h"}) {
    const MqPlan made =
        MakeMqPlan({Log("Log:\n   LogPath=" + path + "\n", file)}, {Recording(tests::kPublication, file)}).value();
    const v1::TestPlan plan = Parsed(made);
    EXPECT_EQ(plan.workload().dir(), path);
    EXPECT_EQ(plan.workload().qm(), 1U);
    EXPECT_THAT(made.yaml, ::testing::Not(HasSubstr("\x1b")));
  }
}

}  // namespace
}  // namespace plimsoll
