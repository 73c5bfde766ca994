// What the analysis makes of a watched program, and what text shows of it.
#include "controller/analysis/watch_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "controller/analysis/analyzer.h"
#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/report/scopes.h"
#include "tests/testing.h"
#include "tests/unit/analysis/watched_journal.h"

namespace plimsoll::tests {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

SimRun Requiring(std::vector<std::string> criteria) {
  SimRun run = WatchedHosts();
  run.criteria = std::move(criteria);
  return run;
}

TEST(WatchReport, WritesAndCallsHaveFiguresAndRatesOfTheirOwn) {
  const v1::Report report = Analyze(AsWatch(WatchedHosts(), WatchedQm1()));
  EXPECT_THAT(report.verdict().reasons(), IsEmpty());
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_DONE);
  ASSERT_EQ(report.steps_size(), 1);
  const v1::StepReport& step = report.steps(0);
  EXPECT_EQ(step.block_size_bytes(), 0U);
  EXPECT_EQ(step.measured_ns(), 2 * kNsPerSecond);
  const v1::ScopeReport& cluster = Scope(step, v1::SCOPE_KIND_CLUSTER);
  ASSERT_GT(cluster.writes(), 0U);
  EXPECT_EQ(cluster.bytes(), 4'096 * cluster.writes());
  const v1::OperationReport& puts = OperationOf(step, "MQPUT");
  const v1::OperationScopeReport* const own = FindScope(puts, cluster);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(own->throughput().count(), cluster.writes());
  EXPECT_EQ(own->throughput().bytes(), 100 * cluster.writes());
  EXPECT_DOUBLE_EQ(own->throughput().iops(), cluster.iops());
  EXPECT_EQ(own->latency().sum_ns(), cluster.latency().sum_ns());
  EXPECT_EQ(Scope(step, v1::SCOPE_KIND_QM, "beta", 1).queue_manager(), "QM1");
}

TEST(WatchReport, WhatIsInFlightAtTheEndCountsWithItsAge) {
  WatchedRun watched = WatchedQm1();
  v1::OpenOperation& open = *watched.done.add_open();
  open.set_qm(1);
  open.set_age_ns(kNsPerSecond);
  const v1::Report report = Analyze(AsWatch(Requiring({"max<500ms", "max<2s", "p50<5ms", "mqput_max<500ms"}), watched));
  std::vector<v1::Outcome> outcomes;
  for (const auto& criterion : report.verdict().criteria()) outcomes.push_back(criterion.outcome());
  EXPECT_THAT(outcomes, ElementsAre(v1::OUTCOME_FAIL, v1::OUTCOME_INCONCLUSIVE, v1::OUTCOME_PASS, v1::OUTCOME_PASS));
  ASSERT_EQ(report.steps(0).in_flight_size(), 2) << "of two hosts";
  EXPECT_EQ(report.steps(0).in_flight(0).age_ns(), kNsPerSecond);
  EXPECT_THAT(report.notes(), Contains(HasSubstr("at the end a write had been in flight for 1 s, longer than any that "
                                                 "completed")));
  open.set_operation(1);
  const v1::Report of_call = Analyze(AsWatch(Requiring({"max<500ms", "mqput_max<500ms"}), watched));
  EXPECT_EQ(of_call.verdict().criteria(0).outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(of_call.verdict().criteria(1).outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(of_call.notes(), Contains(HasSubstr("at the end MQPUT had been in flight")));
  // An agent that lies about places.
  open.set_qm(77);
  open.set_operation(4'000'000'000U);
  open.set_age_ns(-1);
  EXPECT_EQ(Analyze(AsWatch(Requiring({"max<500ms"}), watched)).verdict().outcome(), v1::OUTCOME_PASS);
}

TEST(WatchReport, ProcessesThatWereFoundLateMakeBounds) {
  WatchedRun watched = WatchedQm1();
  watched.done.add_found_late("process 4712 (amqzmuc0) was found during the watch");
  const v1::Report report = Analyze(AsWatch(Requiring({"p99<5ms"}), watched));
  EXPECT_TRUE(report.watch().bounds());
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(),
              Contains(HasSubstr("process 4712 (amqzmuc0) was found during the watch: what it did before is missing")));
}

TEST(WatchReport, NamesWhatWasWatchedAndWhatItCost) {
  const v1::Report report = Analyze(AsWatch(WatchedHosts(), WatchedQm1()));
  ASSERT_EQ(report.watch().hosts_size(), 2);
  const v1::WatchHostReport& host = report.watch().hosts(1);
  EXPECT_EQ(host.host(), "beta");
  EXPECT_EQ(host.writers(0).processes(0).name(), "amqzmuc0");
  EXPECT_EQ(host.write_overhead_ns(), 500U);
  EXPECT_EQ(host.counts().overhead_percent(), 0.25);
  EXPECT_FALSE(report.watch().bounds());
  EXPECT_EQ(report.hosts(0).mount().directory(), "/var/mqm/log/QM1/active");
  EXPECT_EQ(report.hosts(0).mount().fs_type(), "ext4");
}

TEST(WatchReport, WritesThatOverlapAreNoFaultOfTheRecorder) {
  std::vector<v1::JournalRecord> records = AsWatch(WatchedHosts(), WatchedQm1());
  for (v1::JournalRecord& record : records) {
    if (!record.has_frames()) continue;
    // Another thread wrote meanwhile: what lies between two writes is less than nothing.
    for (v1::Frame& frame : *record.mutable_frames()->mutable_frames()) {
      if (frame.operation() == 0 && frame.latency().count() > 0) frame.set_between_ns(-100 * kNsPerMs);
    }
  }
  EXPECT_THAT(Analyze(records).verdict().reasons(), IsEmpty());
}

TEST(WatchReport, LostRecordsMakeFiguresBoundsAndNeverAPass) {
  WatchedRun watched = WatchedQm1();
  const std::vector<std::string> criteria = {"p99<10ms", "mqput_p99<10ms", "max<500us"};
  const v1::Report good = Analyze(AsWatch(Requiring(criteria), watched));
  EXPECT_EQ(OutcomeOf(good, "p99<10ms"), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOf(good, "mqput_p99<10ms"), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOf(good, "max<500us"), v1::OUTCOME_FAIL);

  watched.done.set_lost_records(3);
  const v1::Report report = Analyze(AsWatch(Requiring({"p99<10ms", "mqput_p99<10ms"}), watched));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(), Contains(AllOf(HasSubstr("alpha: the kernel dropped 3 records"))));
  EXPECT_EQ(OutcomeOf(report, "p99<10ms"), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_TRUE(report.watch().bounds());
  // A value that is too long stays so, whatever was lost.
  EXPECT_EQ(OutcomeOf(Analyze(AsWatch(Requiring({"max<500us"}), watched)), "max<500us"), v1::OUTCOME_FAIL);
}

TEST(WatchReport, WithoutCriteriaBoundsAreANote) {
  for (const auto set : {&v1::WatchDone::set_lost_records, &v1::WatchDone::set_unknown_file_writes,
                         &v1::WatchDone::set_async_submissions, &v1::WatchDone::set_unpaired_calls,
                         &v1::WatchDone::set_self_submitting_processes}) {
    WatchedRun watched = WatchedQm1();
    (watched.done.*set)(1'000);
    const v1::Report report = Analyze(AsWatch(WatchedHosts(), watched));
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_DONE);
    EXPECT_THAT(report.notes(), Contains(HasSubstr("alpha: ")));
    EXPECT_TRUE(report.watch().bounds());
  }
}

TEST(WatchReport, AnAgentThatDetachedSaysWhy) {
  WatchedRun watched = WatchedQm1();
  watched.done.set_detached("the probes cost 1.4 % of a CPU, and --max-overhead is 1 %");
  const v1::Report report = Analyze(AsWatch(Requiring({"p99<10ms"}), watched));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(), Contains(HasSubstr("detached before the end: the probes cost 1.4 %")));
}

TEST(WatchReport, OfCallsAloneTheFirstIsTheMainOperation) {
  WatchedRun watched = WatchedQm1();
  watched.watch.clear_queue_managers();
  watched.watch.set_pid(4711);
  const v1::Report report = Analyze(AsWatch(WatchedHosts(), watched));
  EXPECT_THAT(report.steps(0).operations(), IsEmpty());
  EXPECT_THAT(RenderText(report), AllOf(HasSubstr("MQPUT"), HasSubstr("alpha/pid 4711"), Not(HasSubstr("writes/s"))));
}

TEST(WatchReport, AProfileStandsBesideWhatARunDoes) {
  WatchedRun watched = WatchedQm1();
  watched.watch.set_profile(true);
  v1::WatchProfile& profile = *watched.done.mutable_profile();
  profile.add_open_flags("O_RDWR|O_DSYNC|O_DIRECT");
  profile.add_calls("pwrite64 1000");
  const auto add_size = [&profile](uint64_t bytes, uint64_t writes) {
    v1::WatchedSize& size = *profile.add_sizes();
    size.set_bytes(bytes);
    size.set_writes(writes);
  };
  add_size(4'096, 700);
  add_size(5'000, 300);
  profile.set_sequential_writes(900);
  profile.set_rewriting_writes(100);
  v1::Report report = Analyze(AsWatch(WatchedHosts(), watched));
  std::vector<std::string> differing;
  for (const v1::WatchAspect& aspect : report.watch().aspects()) {
    if (aspect.differs()) differing.push_back(aspect.aspect());
  }
  EXPECT_THAT(differing, ElementsAre("order", "write sizes"));
  EXPECT_THAT(report.watch().simulation(),
              AllOf(HasSubstr("--sync dsync --direct on --bsize-mix 4k=70,8k=30"), HasSubstr(" --rate ")));
  EXPECT_THAT(RenderText(report), AllOf(HasSubstr("! order: 90 % sequential, 10 % over pages already written"),
                                        HasSubstr("plimsoll run --dir DIR")));

  profile.set_open_flags(0, "O_RDWR");
  profile.add_calls("fdatasync 1000");
  profile.clear_sizes();
  add_size(4'096, 1'000);
  report = Analyze(AsWatch(WatchedHosts(), watched));
  EXPECT_THAT(report.watch().simulation(), HasSubstr("--sync fdatasync --direct off --bsize 4k"));
}

TEST(WatchReport, ProgramsThatEndEarlyAreMeasuredUpToTheirLastOperation) {
  SimRun run = WatchedHosts();
  for (SimHost& host : run.hosts) host.steps = {{Steady(kNsPerSecond, kNsPerMs)}};
  std::vector<v1::JournalRecord> records = AsWatch(run, WatchedQm1());
  // Nothing is sent of what follows.
  for (v1::JournalRecord& record : records) {
    if (!record.has_frames()) continue;
    auto& frames = *record.mutable_frames()->mutable_frames();
    std::vector<v1::Frame> kept;
    for (v1::Frame& frame : frames) {
      if (!frame.closing() && frame.first_interval() < 5) kept.push_back(frame);
    }
    frames.Clear();
    for (v1::Frame& frame : kept) *frames.Add() = frame;
  }
  const v1::Report report = Analyze(records);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_DONE) << RenderText(report);
  EXPECT_NEAR(static_cast<double>(report.steps(0).measured_ns()), 1e9, 2e7);
  EXPECT_NEAR(Scope(report.steps(0), v1::SCOPE_KIND_CLUSTER).iops(), 2'000, 50);
}

TEST(WatchReport, TextFitsAndIsSafeOnATerminal) {
  WatchedRun watched = WatchedQm1();
  watched.prepared.mutable_writers(0)->mutable_processes(0)->set_name("\033[31mamq```");
  watched.prepared.mutable_writers(0)->set_log_dir("/" + std::string(200, 'x'));
  watched.done.set_lost_records(1);
  const v1::Report report = Analyze(AsWatch(WatchedHosts(), watched));
  for (const std::string& text : {RenderText(report), RenderBrief(report, {"results"})}) {
    EXPECT_THAT(text, Not(HasSubstr("\033")));
    const std::vector<std::string> lines = absl::StrSplit(text, '\n');
    for (const std::string& line : lines) {
      const bool path = line.find("xxxxxxxx") != std::string::npos;
      EXPECT_TRUE(path || DisplayWidth(line) <= kTextWidth) << line;
    }
  }
  EXPECT_THAT(RenderMarkdown(report, ""), Not(HasSubstr("amq```")));
}

TEST(WatchReport, CsvHasTheThroughputOfCalls) {
  const v1::Report report = Analyze(AsWatch(WatchedHosts(), WatchedQm1()));
  EXPECT_THAT(RenderCsv(report), HasSubstr("MQPUT_completed,MQPUT_bytes,MQPUT_iops,MQPUT_mb_per_second"));
  EXPECT_THAT(RenderTimelineCsv(report), HasSubstr("MQPUT_count,MQPUT_bytes"));
}

}  // namespace
}  // namespace plimsoll::tests
