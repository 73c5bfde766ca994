// Whether a cluster carries its load with any one host down, and that a queue manager that is silent by plan is missed
// nowhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/analysis/analyzer.h"
#include "controller/analysis/whole_run.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

std::set<std::pair<std::string, std::string>> WhoWrote(const v1::StepReport& step) {
  std::set<std::pair<std::string, std::string>> who;
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() == v1::SCOPE_KIND_QM) who.emplace(scope.queue_manager(), scope.host());
  }
  return who;
}

std::vector<v1::Outcome> Outcomes(const v1::PlacementReport& placement) {
  std::vector<v1::Outcome> outcomes;
  for (const v1::PlacementStepReport& step : placement.steps()) outcomes.push_back(step.outcome());
  return outcomes;
}

TEST(PlacementReport, ALoadThatIsCarriedWithEachHostDownPassesWithoutAnyReason) {
  SimRun run = Placement();
  run.criteria = {"p50<5ms"};
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_THAT(report.verdict().reasons(), IsEmpty());
  EXPECT_THAT(report.notes(), IsEmpty());
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(report.run().queue_managers(), 3U) << "each is counted once, however many hosts have its files";
  const v1::PlacementReport& placement = report.placement();
  EXPECT_EQ(placement.outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(placement.answer(), "Yes: with all hosts up, and with any one of the 3 hosts down.");
  ASSERT_EQ(placement.steps_size(), 4);
  EXPECT_EQ(placement.steps(2).down_host(), "beta");
  ASSERT_EQ(placement.steps(2).moved_size(), 2);
  EXPECT_EQ(placement.steps(2).moved(0).queue_manager(), "ORDERS");
  EXPECT_EQ(placement.steps(2).moved(0).host(), "gamma");
  EXPECT_EQ(placement.steps(2).moved(1).host(), "alpha");
  EXPECT_THAT(placement.steps(3).moved(), IsEmpty()) << "gamma is home to nobody";
  for (const v1::PlacementStepReport& step : placement.steps()) {
    EXPECT_TRUE(step.played());
    EXPECT_EQ(step.asked_iops(), 350) << "the load is the same in every step";
    EXPECT_NEAR(step.iops(), 350, 2);
    EXPECT_EQ(step.reason(), "");
  }
}

TEST(PlacementReport, FiguresAreThoseOfTheQueueManagersThatWrote) {
  using Who = std::set<std::pair<std::string, std::string>>;
  const v1::Report report = Analyze(MakeJournal(Placement()));
  EXPECT_EQ(WhoWrote(report.steps(0)), (Who{{"PAYMENTS", "alpha"}, {"ORDERS", "beta"}, {"STOCK", "beta"}}));
  EXPECT_EQ(WhoWrote(report.steps(1)), (Who{{"PAYMENTS", "beta"}, {"ORDERS", "beta"}, {"STOCK", "beta"}}));
  EXPECT_EQ(WhoWrote(report.steps(2)), (Who{{"PAYMENTS", "alpha"}, {"ORDERS", "gamma"}, {"STOCK", "alpha"}}));
  EXPECT_EQ(report.steps(1).down_host(), "alpha");
  EXPECT_FALSE(report.steps(0).has_down_host());
  for (const v1::StepReport& step : report.steps()) {
    for (const v1::HostLoadReport& load : step.load()) EXPECT_NE(load.host(), step.down_host());
    EXPECT_FALSE(step.has_fairness()) << "their loads differ by plan";
    EXPECT_EQ(step.stalls().count(), 0U);
  }
}

TEST(PlacementReport, BytesAreThoseOfEachQueueManagersOwnBlockSize) {
  const v1::Report report = Analyze(MakeJournal(Placement()));
  const v1::StepReport& step = report.steps(0);
  EXPECT_EQ(step.block_size_bytes(), 0U);
  const v1::ScopeReport& payments = Scope(step, v1::SCOPE_KIND_QM, "alpha", 1);
  const v1::ScopeReport& beta = Scope(step, v1::SCOPE_KIND_HOST, "beta");
  const v1::ScopeReport& cluster = Scope(step, v1::SCOPE_KIND_CLUSTER);
  EXPECT_EQ(payments.bytes(), payments.writes() * 16384);
  EXPECT_EQ(beta.bytes(), beta.writes() * 4096);
  EXPECT_EQ(cluster.bytes(), payments.bytes() + beta.bytes());
  EXPECT_EQ(cluster.bandwidth().max_bytes_per_second(), 100U * 16384 + 250U * 4096);
  EXPECT_EQ(cluster.bandwidth().min_bytes_per_second(), 100U * 16384 + 250U * 4096);
  EXPECT_EQ(Series(step, v1::SCOPE_KIND_CLUSTER).bytes(0), 100U * 16384 + 250U * 4096);
  EXPECT_EQ(Scope(step, v1::SCOPE_KIND_QM, "beta", 3).rate().asked_iops(), 200);
}

TEST(PlacementReport, ARateThatIsMissedWithOneHostDownFailsThatStepAloneWithoutAnyCriterionInThePlan) {
  SimRun run = Placement();
  // On its standby host a write of STOCK takes 8 ms, where 200 writes/s were due.
  run.hosts[0].steps[2][1] = Steady(run.duration_ns, 8 * kNsPerMs);
  std::vector<v1::JournalRecord> journal = MakeJournal(run);
  for (v1::JournalRecord& record : journal) {
    if (!record.has_step_done() || record.step_done().done().step() != 2) continue;
    for (v1::WriterTotals& totals : *record.mutable_step_done()->mutable_done()->mutable_writers()) {
      if (totals.qm() == 2) totals.set_max_behind_ns(750 * kNsPerMs);
    }
  }
  const v1::Report report = Analyze(journal);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL);
  const v1::PlacementReport& placement = report.placement();
  EXPECT_THAT(Outcomes(placement), ElementsAre(v1::OUTCOME_PASS, v1::OUTCOME_PASS, v1::OUTCOME_FAIL, v1::OUTCOME_PASS));
  EXPECT_EQ(placement.answer(), "No: not with beta down.");
  EXPECT_THAT(placement.steps(2).reason(), StartsWith("rate_achieved>=99%: "));
  EXPECT_THAT(placement.steps(2).reason(),
              HasSubstr("at alpha/STOCK; the schedule fell behind by up to 0.750 s, 0 writes not issued"));
}

TEST(PlacementReport, TheWorstHostIsNamedWhereEachHasWritesEnoughForItsP99) {
  for (const int64_t seconds : {2, 21}) {
    SimRun run = Placement(seconds * kNsPerSecond);
    run.hosts[0].steps[2][1] = Steady(run.duration_ns, 3 * kNsPerMs, 2 * kNsPerMs);
    EXPECT_EQ(Analyze(MakeJournal(run)).placement().steps(2).worst_host(), seconds == 2 ? "" : "alpha");
  }
}

TEST(PlacementReport, ALatencyBeyondItsLimitWithOneHostDownNamesTheQueueManager) {
  SimRun run = Placement();
  run.criteria = {"p50<5ms"};
  run.hosts[1].steps[1][0] = Steady(run.duration_ns, 7 * kNsPerMs, 3 * kNsPerMs);
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_EQ(report.verdict().criteria(0).queue_manager(), "PAYMENTS");
  EXPECT_EQ(report.placement().answer(), "No: not with alpha down.");
  EXPECT_THAT(report.placement().steps(1).reason(), StartsWith("p50<5ms: 7.0"));
  EXPECT_THAT(report.placement().steps(1).reason(), HasSubstr(" at beta/PAYMENTS"));
}

// alpha's writers wait for a CPU in the third step, in which STOCK writes on its standby host.
SimRun OnABusyHost() {
  SimRun run = Placement();
  run.criteria = {"p50<5ms"};
  run.hosts[0].sample = [](uint32_t step, int64_t since_start_ns) {
    v1::HostSample sample;
    if (step == 2) sample.set_writer_cpu_wait_ns(static_cast<uint64_t>(since_start_ns) / 2);
    return sample;
  };
  return run;
}

TEST(PlacementReport, WhatALoadGeneratorThatWaitsForACpuDidNotIssueIsNotHeldAgainstTheStorage) {
  SimRun run = OnABusyHost();
  // Each write starts 20 ms late and takes 1 ms; half of those that were due come to be issued.
  run.hosts[0].schedule_lag_ns = 20 * kNsPerMs;
  run.hosts[0].steps[2][1] = Steady(run.duration_ns, kNsPerMs, 9 * kNsPerMs);
  const v1::Report report = Analyze(MakeJournal(run));
  const v1::PlacementStepReport& step = report.placement().steps(2);
  EXPECT_EQ(step.outcome(), v1::OUTCOME_INCONCLUSIVE) << step.reason();
  EXPECT_THAT(step.reason(), HasSubstr("p50<5ms: alpha/PAYMENTS: the load generator may be CPU-bound"));
  EXPECT_THAT(step.reason(), HasSubstr("the load generator on alpha may be CPU-bound: its writers waited 25.0 %"));
}

// alpha's writers wait for a CPU for 250 ms in all, of a step of 2 s in which both of them write.
SimRun OnASlightlyBusyHost(const std::string& criterion) {
  SimRun run = Placement();
  run.criteria = {criterion};
  run.hosts[0].sample = [](uint32_t step, int64_t since_start_ns) {
    v1::HostSample sample;
    if (step == 2) sample.set_writer_cpu_wait_ns(static_cast<uint64_t>(since_start_ns) / 8);
    return sample;
  };
  return run;
}

// The outcome of the plan's criterion in the third step, where STOCK's writes on the busy host are these.
v1::Outcome OutcomeWith(SimRun run, const tests::SimWriter& writes) {
  run.hosts[0].steps[2][1] = writes;
  const v1::Report report = Analyze(MakeJournal(run));
  for (const v1::CriterionStepReport& step : report.verdict().criteria(0).steps()) {
    if (step.step() == 3) return step.outcome();
  }
  return v1::OUTCOME_UNSPECIFIED;
}

// 200 writes/s of 1 ms, but the one under way after 0.5 s takes so long.
tests::SimWriter OneLongWrite(int64_t length_ns) {
  const auto latency =
      tests::WithStalls([](uint64_t, int64_t) { return kNsPerMs; }, {{500 * kNsPerMs, 500 * kNsPerMs + length_ns}});
  return tests::ClosedLoop(2 * kNsPerSecond, 4 * kNsPerMs, latency);
}

TEST(PlacementReport, WritesThatAreSlowThemselvesFailWhateverTheLoadGeneratorDid) {
  SimRun run = OnASlightlyBusyHost("p50<5ms");
  run.hosts[0].steps[2][1] = Steady(run.duration_ns, 20 * kNsPerMs);
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_EQ(report.placement().answer(), "No: not with beta down.");
  EXPECT_THAT(report.placement().steps(2).reason(), StartsWith("p50<5ms: 20.0"));
}

TEST(PlacementReport, WritesThatMayHaveWaitedForACpuForAsLongAsTheyAreTooSlowDecideNothing) {
  // 2 s of writes of 8 ms are 0.75 s too long; the writers waited for 1 s.
  EXPECT_EQ(OutcomeWith(OnABusyHost(), Steady(2 * kNsPerSecond, 8 * kNsPerMs)), v1::OUTCOME_INCONCLUSIVE);
  for (const char* criterion : {"max<40ms", "service_max<40ms", "max@host<40ms", "p99.8<40ms", "p99.8@host<40ms"}) {
    EXPECT_EQ(OutcomeWith(OnASlightlyBusyHost(criterion), OneLongWrite(250 * kNsPerMs)), v1::OUTCOME_INCONCLUSIVE)
        << criterion;
  }
  EXPECT_EQ(OutcomeWith(OnASlightlyBusyHost("max<40ms"), OneLongWrite(400 * kNsPerMs)), v1::OUTCOME_FAIL)
      << "360 ms too long, of which 250 ms may be waiting";
  EXPECT_EQ(OutcomeWith(OnASlightlyBusyHost("avg<5ms"), Steady(2 * kNsPerSecond, 20 * kNsPerMs)), v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeWith(OnASlightlyBusyHost("avg<5ms"), Steady(2 * kNsPerSecond, 5'500'000)), v1::OUTCOME_INCONCLUSIVE);
}

TEST(PlacementReport, ARateThatIsMissedForNoLongerThanWritersWaitedForACpuInTheirWritesDecidesNothing) {
  // 5.5 ms each, where one is due every 5 ms.
  EXPECT_EQ(OutcomeWith(OnASlightlyBusyHost("rate_achieved>=99%"), Steady(2 * kNsPerSecond, 5'500'000)),
            v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(OutcomeWith(OnASlightlyBusyHost("rate_achieved>=99%"), Steady(2 * kNsPerSecond, 20 * kNsPerMs)),
            v1::OUTCOME_FAIL);
}

TEST(PlacementReport, WritesThatABusyHostDidNotIssueAreNotHeldAgainstTheStorage) {
  for (const bool busy : {true, false}) {
    SimRun run = OnASlightlyBusyHost("not_issued==0");
    if (!busy) run.hosts[0].sample = nullptr;
    run.hosts[0].not_issued = 3;
    EXPECT_EQ(OutcomeWith(run, run.hosts[0].steps[2][1]), busy ? v1::OUTCOME_INCONCLUSIVE : v1::OUTCOME_FAIL);
  }
}

TEST(PlacementReport, AStallOnABusyHostFailsOnlyWhereItIsLongerThanItsWritersWaitedForACpu) {
  for (const char* criterion : {"stalls==0", "stalls[one_qm]==0", "longest_stall<150ms"}) {
    EXPECT_EQ(OutcomeWith(OnASlightlyBusyHost(criterion), OneLongWrite(200 * kNsPerMs)), v1::OUTCOME_INCONCLUSIVE)
        << criterion;
    EXPECT_EQ(OutcomeWith(OnASlightlyBusyHost(criterion), OneLongWrite(500 * kNsPerMs)), v1::OUTCOME_FAIL) << criterion;
    SimRun with_cpus = OnASlightlyBusyHost(criterion);
    with_cpus.hosts[0].sample = nullptr;
    EXPECT_EQ(OutcomeWith(with_cpus, OneLongWrite(200 * kNsPerMs)), v1::OUTCOME_FAIL) << criterion;
  }
}

TEST(PlacementReport, WhatFailsComesFirstOfMoreReasonsThanAreShown) {
  SimRun run = Placement();
  // Too few writes for each of the first ones.
  run.criteria = {"p99.99<1s", "p99.98<1s", "p99.97<1s"};
  run.hosts[0].steps[2][1] = Steady(run.duration_ns, 8 * kNsPerMs);
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_THAT(report.placement().steps(2).reason(), StartsWith("rate_achieved>=99%: 62"));
  EXPECT_THAT(report.placement().steps(2).reason(), HasSubstr("; p99.98<1s: "));
  EXPECT_THAT(report.placement().steps(2).reason(), HasSubstr("; and 1 more criterion"));
  EXPECT_THAT(report.placement().steps(2).reason(), ::testing::Not(HasSubstr("p99.97")));
}

TEST(PlacementReport, EachHostThatMayBeCpuBoundIsNamed) {
  SimRun run = OnABusyHost();
  run.criteria = {"not_issued==0"};
  run.hosts[2].sample = run.hosts[0].sample;
  run.hosts[2].not_issued = 1;
  const v1::Report report = Analyze(MakeJournal(run));
  for (const char* host : {"alpha", "gamma"}) {
    EXPECT_THAT(report.placement().steps(2).reason(),
                HasSubstr(absl::StrCat("the load generator on ", host, " may be CPU-bound")));
  }
}

TEST(PlacementReport, NoCriterionOfThePlanTakesAwayTheDemandForEachQueueManagersRate) {
  for (const char* criterion : {"rate_achieved<=100%", "rate_achieved@cluster>=50%", "rate_achieved@16k>=1%"}) {
    SimRun run = Placement();
    run.criteria = {criterion};
    run.hosts[0].steps[2][1] = Steady(run.duration_ns, 8 * kNsPerMs);
    const v1::Report report = Analyze(MakeJournal(run));
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL) << criterion;
    EXPECT_EQ(report.placement().answer(), "No: not with beta down.") << criterion;
    EXPECT_THAT(report.placement().steps(2).reason(), HasSubstr("rate_achieved>=99%: ")) << criterion;
  }
}

TEST(PlacementReport, ALowerShareOfTheRatesIsInTheAnswer) {
  SimRun run = Placement();
  run.criteria = {"rate_achieved>=50%"};
  run.hosts[0].steps[2][1] = Steady(run.duration_ns, 8 * kNsPerMs);
  EXPECT_EQ(Analyze(MakeJournal(run)).placement().answer(),
            "Yes, at 50 % of its rates or more: with all hosts up, and with any one of the 3 hosts down.");
  run.hosts[0].steps[2][1] = Steady(run.duration_ns, 12 * kNsPerMs);
  EXPECT_EQ(Analyze(MakeJournal(run)).placement().answer(), "No: not with beta down.");
}

TEST(PlacementReport, AFailureThatWasNotPlayedToItsEndLeavesTheAnswerOpen) {
  SimRun run = Placement();
  run.cut_short = "interrupted";
  std::vector<v1::JournalRecord> journal = MakeJournal(run);
  // The last step never began.
  const auto in_last = [](const v1::JournalRecord& record) {
    return (record.has_step_begin() && record.step_begin().step() == 3) ||
           (record.has_frames() && !record.frames().frames().empty() && record.frames().frames(0).step() == 3) ||
           (record.has_step_done() && record.step_done().done().step() == 3) ||
           (record.has_step_end() && record.step_end().step() == 3);
  };
  std::erase_if(journal, in_last);
  const v1::Report report = Analyze(journal);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(report.placement().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(report.placement().answer(), "Not known: 1 of 4 steps decides nothing.");
  ASSERT_EQ(report.placement().steps_size(), 4);
  EXPECT_EQ(report.placement().steps(3).reason(), "did not run");
  EXPECT_EQ(report.placement().steps(3).down_host(), "gamma");
  EXPECT_FALSE(report.placement().steps(3).played());
}

TEST(PlacementReport, AHostThatIsLostLeavesTheAnswerOpenThoughAllOthersDoWell) {
  SimRun run = Placement();
  run.hosts[2].lost_after_ns = kNsPerSecond;
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(report.placement().outcome(), v1::OUTCOME_INCONCLUSIVE);
  // gamma writes in the third step alone, as the standby of ORDERS.
  EXPECT_TRUE(report.placement().steps(1).played());
  EXPECT_FALSE(report.placement().steps(2).played());
  EXPECT_EQ(report.placement().steps(2).outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.placement().steps(2).reason(), HasSubstr("ORDERS did not write to the step's end on gamma"));
}

TEST(PlacementReport, WritesOfAQueueManagerThatShouldBeSilentAreLeftOutAndSaySo) {
  SimRun run = Placement();
  std::vector<v1::JournalRecord> journal = MakeJournal(run);
  for (v1::JournalRecord& record : journal) {
    // On beta the first writer is PAYMENTS's standby: it has no business in the first step.
    if (!record.has_frames() || record.frames().host() != 1 || record.frames().frames().empty()) continue;
    v1::Frame& frame = *record.mutable_frames()->mutable_frames(0);
    if (frame.step() != 0) continue;
    frame.set_qm(1);
    frame.set_bytes(frame.latency().count() * 16384);
  }
  const v1::Report report = Analyze(journal);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(),
              ::testing::Contains(HasSubstr("beta/PAYMENTS, step 1: a writer that is silent in the step")));
  EXPECT_FALSE(WhoWrote(report.steps(0)).contains({"PAYMENTS", "beta"}));
}

TEST(PlacementReport, AWriterThatShouldWriteAndReportsNothingIsMissed) {
  SimRun run = Placement();
  std::vector<v1::JournalRecord> journal = MakeJournal(run);
  for (v1::JournalRecord& record : journal) {
    const auto drop = [](auto& items) {
      for (int i = items.size() - 1; i >= 0; --i) {
        if (items.Get(i).qm() == 2) items.DeleteSubrange(i, 1);
      }
    };
    if (record.has_frames() && record.frames().host() == 1) drop(*record.mutable_frames()->mutable_frames());
    if (record.has_step_done() && record.step_done().host() == 1) {
      drop(*record.mutable_step_done()->mutable_done()->mutable_writers());
    }
  }
  const v1::Report report = Analyze(journal);
  EXPECT_THAT(report.verdict().reasons(), ::testing::Contains(HasSubstr("beta/ORDERS, step 1: nothing was reported.")));
  EXPECT_EQ(report.placement().outcome(), v1::OUTCOME_INCONCLUSIVE);
}

TEST(PlacementReport, AStallWithAHostDownIsClassedByTheHostsThatWrite) {
  SimRun run = Placement();
  run.stall_ns = 100 * kNsPerMs;
  const auto stalled =
      tests::WithStalls([](uint64_t, int64_t) { return kNsPerMs; }, {{500 * kNsPerMs, 900 * kNsPerMs}});
  // alpha is down: beta's three writers all stall, and beta is the only host that writes.
  for (tests::SimWriter& writer : run.hosts[1].steps[1]) {
    writer = tests::ClosedLoop(run.duration_ns, 4 * kNsPerMs, stalled);
  }
  const v1::Report report = Analyze(MakeJournal(run));
  ASSERT_EQ(report.steps(1).stalls().stalls_size(), 1);
  EXPECT_EQ(report.steps(1).stalls().stalls(0).stall_class(), v1::STALL_CLASS_SINGLE_HOST);
  EXPECT_THAT(report.steps(1).stalls().stalls(0).others(), IsEmpty());
}

TEST(PlacementReport, LinesOfAnIntervalDoNotWaitForWhoeverIsSilent) {
  std::vector<IntervalRow> rows;
  Analyzer analyzer;
  analyzer.SetIntervalListener(kNsPerSecond, [&rows](const IntervalRow& row) { rows.push_back(row); });
  std::vector<v1::JournalRecord> journal = MakeJournal(Placement(3 * kNsPerSecond));
  // Up to the third second of the first step.
  const auto end = std::find_if(journal.begin(), journal.end(),
                                [](const v1::JournalRecord& record) { return record.has_step_end(); });
  for (auto record = journal.begin(); record != end; ++record) analyzer.Add(*record);
  ASSERT_GE(rows.size(), 2U);
  EXPECT_EQ(rows[0].interval.writes, 350U);
  EXPECT_EQ(rows[0].max_name, "PAYMENTS");
  EXPECT_EQ(rows[0].down_host, "");
  for (auto record = end; record != journal.end(); ++record) analyzer.Add(*record);
  analyzer.Finish();
  EXPECT_EQ(rows.back().down_host, "gamma");
}

}  // namespace
}  // namespace plimsoll
