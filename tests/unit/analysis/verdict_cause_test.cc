// A verdict names its primary cause, and a PASS what it does not show.
#include "controller/analysis/verdict_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll::tests {
namespace {

constexpr int64_t kWriteNs = 200'000;

// Two hosts with a writer each for 3 s, each write 0.2 ms.
SimRun TwoWriters(std::vector<std::string> criteria) {
  SimRun run;
  run.duration_ns = 3 * kNsPerSecond;
  run.criteria = std::move(criteria);
  for (const char* label : {"node1", "node2"}) {
    SimHost& host = run.hosts.emplace_back();
    host.label = label;
    host.sees = {"node1", "node2"};
    host.steps = {{Steady(run.duration_ns, kWriteNs)}};
  }
  return run;
}

// The second host hangs for 2.5 s.
SimRun Hung(std::vector<std::string> criteria) {
  SimRun run = TwoWriters(std::move(criteria));
  run.hosts[1].steps[0][0] =
      ClosedLoop(run.duration_ns, 1'000,
                 WithStalls([](uint64_t, int64_t) { return kWriteNs; }, {{kNsPerSecond / 4, 2'750 * kNsPerMs}}));
  return run;
}

v1::Report CauseReport(const SimRun& run) {
  return Analyze(MakeJournal(run));
}

std::string CauseOf(const SimRun& run) {
  return PrimaryCause(CauseReport(run).verdict());
}

TEST(PrimaryCause, IsEmptyForAPassAndWithoutCriteria) {
  EXPECT_EQ(CauseOf(TwoWriters({"p90<10ms"})), "");
  EXPECT_EQ(CauseOf(TwoWriters({})), "");
}

TEST(PrimaryCause, OfAFailIsTheCriterionThatFailed) {
  EXPECT_EQ(CauseOf(TwoWriters({"p90<10ms", "p90<0.1ms"})), "p90<0.1ms: 0.200 ms, step 1, node1/qm1");
}

TEST(PrimaryCause, OfAnUndecidedCriterionIsItsReason) {
  EXPECT_THAT(CauseOf(TwoWriters({"p99.99<10ms"})), HasSubstr("p99.99<10ms: step 1, node1/qm1: needs 100,000 writes"));
}

TEST(PrimaryCause, OfAnInterruptedRunIsTheInterruptAlone) {
  SimRun run = TwoWriters({"p99.99<10ms"});
  run.cut_short = "interrupted";
  run.hosts[1].lost_after_ns = kNsPerSecond;
  const v1::VerdictReport verdict = CauseReport(run).verdict();
  EXPECT_EQ(PrimaryCause(verdict), "interrupted");
  EXPECT_THAT(SecondaryReasons(verdict), IsEmpty());
}

TEST(PrimaryCause, OfALostHostIsTheLossAndNotThatTheRunEnded) {
  SimRun run = TwoWriters({"p99.99<10ms"});
  run.cut_short = "host node2 was lost (--on-host-loss abort)";
  run.hosts[1].lost_after_ns = kNsPerSecond;
  const v1::VerdictReport verdict = CauseReport(run).verdict();
  EXPECT_EQ(PrimaryCause(verdict), "node2 was lost: no message for 10 s");
  EXPECT_THAT(SecondaryReasons(verdict),
              ElementsAre("The run ended early: host node2 was lost (--on-host-loss abort)."));
}

TEST(PrimaryCause, OfAJournalThatEndsEarlyIsThat) {
  std::vector<v1::JournalRecord> records = MakeJournal(TwoWriters({"p90<10ms"}));
  records.pop_back();
  EXPECT_EQ(PrimaryCause(Analyze(records).verdict()), "the journal ends before the run does");
}

// The second host's agent did not run for 1.5 s of a step of `duration_ns`, in which its writers waited for a CPU for a
// share of the time.
SimRun Suspended(std::vector<std::string> criteria, int64_t duration_ns = 3 * kNsPerSecond, double wait_share = 0) {
  SimRun run = TwoWriters(std::move(criteria));
  run.duration_ns = duration_ns;
  run.hosts[0].steps[0][0] = Steady(duration_ns, kWriteNs);
  const SimStall pause{kNsPerSecond, 2'500 * kNsPerMs};
  run.hosts[1].steps[0][0] =
      ClosedLoop(run.duration_ns, 1'000, WithStalls([](uint64_t, int64_t) { return kWriteNs; }, {pause}));
  run.hosts[1].pauses = {{0, pause.begin_ns, pause.end_ns}};
  run.hosts[1].sample = [pause, wait_share](uint32_t, int64_t since_start_ns) {
    v1::HostSample sample;
    sample.set_writer_cpu_wait_ns(static_cast<uint64_t>(wait_share * static_cast<double>(since_start_ns)));
    if (since_start_ns > pause.end_ns) {
      sample.set_recorder_late_max_ns(static_cast<uint64_t>(pause.end_ns - pause.begin_ns));
    }
    return sample;
  };
  return run;
}

TEST(PrimaryCause, OfASuspendedHostIsTheSuspensionAndNotWhatItDidToTheWriters) {
  const v1::VerdictReport verdict = CauseReport(Suspended({"p90<10ms", "max<100ms"})).verdict();
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(PrimaryCause(verdict), "node2 was suspended for 1.5 s");
}

// Has its host's writers wait for a CPU for half of the time, and a pause of 60 ms in each second.
void MakeShortOfCpu(SimHost& host, int64_t duration_ns) {
  for (int64_t at_ns = kNsPerSecond / 2; at_ns < duration_ns; at_ns += kNsPerSecond) {
    host.pauses.push_back({0, at_ns, at_ns + 60 * kNsPerMs});
  }
  host.sample = [](uint32_t, int64_t since_start_ns) {
    v1::HostSample sample;
    sample.set_writer_cpu_wait_ns(static_cast<uint64_t>(since_start_ns) / 2);
    sample.set_recorder_late_max_ns(60 * kNsPerMs);
    return sample;
  };
}

TEST(PrimaryCause, OfASuspendedHostDoesNotDependOnTheLengthOfTheStep) {
  const SimRun run = Suspended({"max<100ms"}, 11 * kNsPerSecond, 0.25);
  EXPECT_EQ(CauseOf(run), "node2 was suspended for 1.5 s") << "its writers waited for 2.75 s of the step";
}

TEST(PrimaryCause, OfAHostThatIsShortOfCpuIsNotASuspensionHoweverLongTheStep) {
  SimRun run = TwoWriters({"max<0.18ms"});
  run.duration_ns = 20 * kNsPerSecond;
  for (SimHost& host : run.hosts) host.steps = {{Steady(run.duration_ns, kWriteNs)}};
  for (SimHost& host : run.hosts) MakeShortOfCpu(host, run.duration_ns);
  EXPECT_THAT(CauseOf(run), HasSubstr("the load generator may be CPU-bound"));
}

TEST(PrimaryCause, IsOfTheHostThatHasTheWorstValue) {
  SimRun run = Suspended({"max<0.18ms"}, 11 * kNsPerSecond, 0.25);
  MakeShortOfCpu(run.hosts[0], run.duration_ns);
  const v1::Report report = CauseReport(run);
  EXPECT_EQ(PrimaryCause(report.verdict()), "node2 was suspended for 1.5 s");
  EXPECT_THAT(report.verdict().criteria(0).reason(), HasSubstr("node2/qm1"));
  // Of another host's value a suspension is no cause.
  run.hosts[0].steps[0][0] =
      ClosedLoop(run.duration_ns, 1'000,
                 WithStalls([](uint64_t, int64_t) { return kWriteNs; }, {{3 * kNsPerSecond, 5 * kNsPerSecond}}));
  EXPECT_THAT(CauseOf(run), HasSubstr("node1/qm1: the load generator may be CPU-bound"));
}

TEST(PrimaryCause, IsNotASuspensionThatIsShortBesideTheWorstValue) {
  SimRun run = Suspended({"max<3s"}, 11 * kNsPerSecond, 0);
  run.hosts[1].steps[0][0] =
      ClosedLoop(run.duration_ns, 1'000,
                 WithStalls([](uint64_t, int64_t) { return kWriteNs; },
                            {{kNsPerSecond, 2'500 * kNsPerMs}, {4 * kNsPerSecond, 8 * kNsPerSecond}}));
  EXPECT_THAT(CauseReport(run).verdict().reasons(), ::testing::Not(::testing::Contains(HasSubstr("suspended"))));
}

TEST(PrimaryCause, IsNotASuspensionThatDecidesNothing) {
  EXPECT_EQ(CauseOf(Suspended({"p90<10ms"})), "");
}

TEST(PrimaryCause, OfAHostThatWasLostLaterIsTheLoss) {
  SimRun run = Suspended({"max<2s"});
  run.hosts[0].lost_after_ns = kNsPerSecond;
  EXPECT_EQ(CauseOf(run), "node1 was lost: no message for 10 s");
}

TEST(VerdictWarnings, NameStallsOfAClosedLoopThatNoCriterionTests) {
  const v1::Report report = CauseReport(Hung({"p99<10ms"}));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS);
  EXPECT_THAT(VerdictWarnings(report),
              ElementsAre("1 stall of up to 2.500 s in step 1: in a closed loop a stall is one slow write among many, "
                          "and no criterion tests max, stalls or response times."));
}

TEST(VerdictWarnings, AreSilentWhereACriterionTestsTheStalls) {
  for (const char* const criterion : {"max<10s", "max@cluster<=3s", "stalls<=1", "stalls[one_host]<2",
                                      "longest_stall<5s", "service_max<1h", "stalls@4k==1"}) {
    const v1::Report report = CauseReport(Hung({"p99<10ms", criterion}));
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS) << criterion;
    EXPECT_THAT(VerdictWarnings(report), IsEmpty()) << criterion;
  }
}

TEST(VerdictWarnings, AreNotSilentForACriterionThatDoesNotLookAtTheStalls) {
  for (const char* const criterion :
       {"max>0.1ms", "stalls[all_hosts]==0", "stalls>=0", "avg<10ms", "iops>=10", "hosts>=2"}) {
    const v1::Report report = CauseReport(Hung({"p99<10ms", criterion}));
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS) << criterion;
    EXPECT_EQ(VerdictWarnings(report).size(), 1U) << criterion;
  }
}

TEST(VerdictWarnings, OfAMixedRunAreSilentWhereBothTheLongestWriteAndTheLongestReadAreTested) {
  const std::vector<std::pair<std::vector<std::string>, size_t>> wanted = {{{"max<10s"}, 1},
                                                                           {{"read_max<10s"}, 1},
                                                                           {{"max<10s", "read_max>0.1ms"}, 1},
                                                                           {{"max<10s", "read_max<10s"}, 0},
                                                                           {{"stalls<=1"}, 0}};
  for (const auto& [criteria, warnings] : wanted) {
    SimRun run = Hung(criteria);
    run.read_percent = 30;
    const v1::Report report = CauseReport(run);
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS) << criteria.back();
    EXPECT_EQ(VerdictWarnings(report).size(), warnings) << criteria.back();
  }
}

TEST(VerdictWarnings, AreSilentWithATargetRateWithoutStallsAndWithoutAPass) {
  EXPECT_THAT(VerdictWarnings(CauseReport(TwoWriters({"p99<10ms"}))), IsEmpty());
  EXPECT_THAT(VerdictWarnings(CauseReport(Hung({"p50<0.1ms"}))), IsEmpty());
  EXPECT_THAT(VerdictWarnings(CauseReport(Hung({}))), IsEmpty());
  SimRun paced = Hung({"service_p99<10ms", "rate_achieved>=1%"});
  for (SimHost& host : paced.hosts) host.rate_per_second = 100;
  EXPECT_EQ(CauseReport(paced).verdict().outcome(), v1::OUTCOME_PASS);
  EXPECT_THAT(VerdictWarnings(CauseReport(paced)), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::tests
