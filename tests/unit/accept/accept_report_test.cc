// What each part of an acceptance found, its figures, and how they are shown.
#include "controller/accept/accept_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "common/units.h"
#include "tests/testing.h"
#include "tests/unit/accept/made_up_acceptance.h"

namespace plimsoll {
namespace {

// One run of a part alone, after `take`.
template <typename Take>
v1::AcceptRun TakenBy(const Take& take) {
  v1::AcceptReport report = PlannedAcceptance(AcceptPlanOf());
  v1::AcceptRun& run = NextRun(report);
  take(run, report);
  return run;
}

TEST(AcceptStorage, AProblemFailsAndNamesItsHosts) {
  const v1::AcceptRun run = TakenBy([](v1::AcceptRun& one, v1::AcceptReport& report) {
    TakeStorage(NfsHosts("rw,vers=4.2,soft"), 4096, one, report);
  });
  EXPECT_EQ(run.outcome(), v1::OUTCOME_FAIL);
  EXPECT_TRUE(run.complete());
  EXPECT_THAT(run.reasons(), ElementsAre(AllOf(HasSubstr("alpha,beta: soft mount: "), HasSubstr("[nfs(5)]"))));
}

TEST(AcceptStorage, WarningsDoNotFail) {
  const v1::AcceptRun run = TakenBy([](v1::AcceptRun& one, v1::AcceptReport& report) {
    TakeStorage(NfsHosts("rw,vers=4.2,hard,wsize=4096"), 1 << 20, one, report);
  });
  EXPECT_EQ(run.outcome(), v1::OUTCOME_PASS);
  EXPECT_THAT(run.notes(), Contains(HasSubstr("Warning: alpha,beta: wsize=4096 is below the largest write (1m)")));
  EXPECT_EQ(run.result(), "nfs4 from filer7:/vol/mq: 0 problems, 1 warning");
}

TEST(AcceptChecks, TheQuickChecksPassAndTheVerdictNamesWhatTheyDoNotProve) {
  v1::AcceptReport report = PlannedAcceptance(AcceptPlanOf());
  v1::AcceptRun& run = NextRun(report);
  TakeChecks(Checks(), run, report);
  EXPECT_EQ(run.outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(run.result(), "2 of 2 required checks passed");
  EXPECT_THAT(report.limits(), Contains(HasSubstr("do not prove what IBM requires")));
}

TEST(AcceptChecks, AFailedCheckFailsAndAnUndecidedOneDecidesNothing) {
  const auto outcome = [](v1::CheckOutcome exclusive) {
    return TakenBy([&](v1::AcceptRun& one, v1::AcceptReport& report) { TakeChecks(Checks(exclusive), one, report); })
        .outcome();
  };
  EXPECT_EQ(outcome(v1::CHECK_OUTCOME_FAIL), v1::OUTCOME_FAIL);
  EXPECT_EQ(outcome(v1::CHECK_OUTCOME_UNDECIDED), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(outcome(v1::CHECK_OUTCOME_NOT_TESTED), v1::OUTCOME_INCONCLUSIVE);
}

TEST(AcceptChecks, OneThatNoRequirementNeedsIsANote) {
  v1::CheckReport checks = Checks();
  v1::CheckResult& check = *checks.add_checks();
  check.set_name("time.timestamps-against-host-clocks");
  check.set_requirement(v1::CHECK_REQUIREMENT_NONE);
  check.set_level(v1::CHECK_LEVEL_QUICK);
  check.set_outcome(v1::CHECK_OUTCOME_FAIL);
  check.set_reason("2 s apart");
  const v1::AcceptRun run =
      TakenBy([&](v1::AcceptRun& one, v1::AcceptReport& report) { TakeChecks(checks, one, report); });
  EXPECT_EQ(run.outcome(), v1::OUTCOME_PASS);
  EXPECT_THAT(run.reasons(), IsEmpty());
  EXPECT_THAT(run.notes(), ElementsAre("time.timestamps-against-host-clocks: 2 s apart"));
  EXPECT_EQ(run.result(), "2 of 2 required checks passed");
}

TEST(AcceptChecks, OneHostOrOneKernelProvesNothingBetweenHosts) {
  v1::CheckReport one_kernel = Checks();
  for (v1::CheckHost& host : *one_kernel.mutable_hosts()) host.set_boot_id("same");
  v1::CheckReport alone = Checks();
  alone.mutable_hosts()->RemoveLast();
  for (const v1::CheckReport& checks : {one_kernel, alone}) {
    const v1::AcceptRun run =
        TakenBy([&](v1::AcceptRun& one, v1::AcceptReport& report) { TakeChecks(checks, one, report); });
    EXPECT_EQ(run.outcome(), v1::OUTCOME_INCONCLUSIVE);
    EXPECT_THAT(run.reasons(), Contains(HasSubstr("nothing was tested between hosts")));
    EXPECT_EQ(run.result(), checks.hosts_size() < 2
                                ? "2 of 2 required checks passed, on one host: nothing was tested between hosts"
                                : "2 of 2 required checks passed, on one kernel: nothing was tested between hosts");
  }
}

TEST(AcceptChecks, ChecksThatWereCutShortAreNotWhole) {
  v1::CheckReport checks = Checks();
  checks.add_notes("ended early: interrupted");
  const v1::AcceptRun run =
      TakenBy([&](v1::AcceptRun& one, v1::AcceptReport& report) { TakeChecks(checks, one, report); });
  EXPECT_FALSE(run.complete());
  EXPECT_EQ(run.outcome(), v1::OUTCOME_INCONCLUSIVE);
}

TEST(AcceptRuns, ARunThatDidNotEndHasNotPassed) {
  v1::Report cut = LoadReportOf(3);
  cut.mutable_run()->set_state(v1::RUN_STATE_INTERRUPTED);
  cut.mutable_run()->set_state_reason("interrupted");
  const v1::AcceptRun run = TakenBy([&](v1::AcceptRun& one, v1::AcceptReport& report) { TakeRun(cut, one, report); });
  EXPECT_EQ(run.outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_FALSE(run.complete());
  EXPECT_THAT(run.reasons(), Contains("interrupted"));
}

// A load of beta with a load generator that may be CPU-bound; `closed_loop`: without target rates.
v1::Report CpuBoundLoad(bool closed_loop) {
  v1::Report found = LoadReportOf(3);
  v1::StepReport& step = *found.mutable_steps(0);
  v1::ScopeReport beta = step.scopes(0);
  beta.set_kind(v1::SCOPE_KIND_HOST);
  beta.set_host("beta");
  *step.add_scopes() = beta;
  if (closed_loop) {
    for (v1::ScopeReport& scope : *step.mutable_scopes()) scope.clear_rate();
  }
  v1::HostLoadReport& load = *step.add_load();
  load.set_host("beta");
  load.set_bottleneck("its writers waited 40 % of their time for a CPU");
  return found;
}

TEST(AcceptRuns, ALoadInAClosedLoopWhoseGeneratorMayBeCpuBoundIsNoPass) {
  const v1::AcceptRun run = TakenBy(
      [](v1::AcceptRun& one, v1::AcceptReport& report) { TakeRun(CpuBoundLoad(/*closed_loop=*/true), one, report); });
  EXPECT_EQ(run.outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(run.reasons(),
              ElementsAre("the load may not have been reached: without a target rate, waiting for a CPU lowers it; the "
                          "load generator on beta may be CPU-bound (step 1): its writers waited 40 % of their time for "
                          "a CPU"));
}

TEST(AcceptRuns, ATargetRateThatWasMetWasReachedWhateverTheGenerator) {
  const auto outcome = [](const v1::Report& found) {
    return TakenBy([&](v1::AcceptRun& one, v1::AcceptReport& report) { TakeRun(found, one, report); }).outcome();
  };
  EXPECT_EQ(outcome(CpuBoundLoad(/*closed_loop=*/false)), v1::OUTCOME_PASS);
  // Another host has a target rate; this one has none.
  v1::Report mixed = CpuBoundLoad(/*closed_loop=*/false);
  mixed.mutable_steps(0)->mutable_scopes(1)->clear_rate();
  EXPECT_EQ(outcome(mixed), v1::OUTCOME_INCONCLUSIVE);
}

// A failure stands, beside what may have caused it.
TEST(AcceptRuns, ALoadGeneratorThatMayBeInTheWayIsNamedWhereALoadDoesNotPass) {
  for (const double p99_ms : {3.0, 14.0}) {
    v1::Report found = LoadReportOf(p99_ms);
    v1::HostLoadReport& load = *found.mutable_steps(0)->add_load();
    load.set_host("beta");
    load.set_bottleneck("its writers waited 40 % of their time for a CPU");
    const v1::AcceptRun run =
        TakenBy([&](v1::AcceptRun& one, v1::AcceptReport& report) { TakeRun(found, one, report); });
    EXPECT_EQ(run.outcome(), p99_ms < 10 ? v1::OUTCOME_PASS : v1::OUTCOME_FAIL);
    const std::string reason =
        "the load generator on beta may be CPU-bound (step 1): its writers waited 40 % of their time for a CPU";
    EXPECT_EQ(std::count(run.reasons().begin(), run.reasons().end(), reason), p99_ms < 10 ? 0 : 1);
  }
}

TEST(AcceptRuns, ALimitIsComparedWithTheLoad) {
  const v1::AcceptRun run =
      TakenBy([&](v1::AcceptRun& one, v1::AcceptReport& report) { TakeRun(SearchReportOf(500), one, report); });
  EXPECT_EQ(run.result(), "500 writes/s per queue manager, held, 2.50 times the load");
}

// What a plan of two hosts has `change` made of it, as `found` shows it in a run of `part`.
template <typename Change>
v1::AcceptRun TakenWith(const Change& change, const v1::Report& found, v1::AcceptReport* of = nullptr) {
  v1::TestPlan plan = AcceptPlanOf();
  change(plan);
  v1::AcceptReport own;
  v1::AcceptReport& report = of != nullptr ? *of : own;
  report = PlannedAcceptance(plan);
  v1::AcceptRun& run = NextRun(report);
  TakeRun(found, run, report);
  return run;
}

constexpr auto kAsItIs = [](v1::TestPlan&) {};
// alpha at 20 writes/s, beta at 200.
constexpr auto kDifferentRates = [](v1::TestPlan& plan) {
  plan.mutable_hosts(0)->mutable_workload()->set_rate_per_second(20);
};

// The search says nothing about a load above it.
TEST(AcceptRuns, ALimitBelowTheLoadIsNoPass) {
  v1::Report found = SearchReportOf(50);
  v1::AcceptRun run = TakenWith(kAsItIs, found);
  EXPECT_EQ(run.outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(run.reasons(), ElementsAre("the limit of 50 writes/s per queue manager is below the load of 200 "
                                         "writes/s of each queue manager"));
  EXPECT_EQ(run.result(), "50 writes/s per queue manager, held, 0.25 times the load");
  found.mutable_limit()->set_exceeded_at(60);
  EXPECT_THAT(TakenWith(kAsItIs, found).reasons(),
              ElementsAre(HasSubstr("each queue manager; the criteria were exceeded at 60 already")));
  found.mutable_limit()->set_exceeded_at(240);
  EXPECT_THAT(TakenWith(kAsItIs, found).reasons(), ElementsAre(Not(HasSubstr("exceeded"))));
  EXPECT_EQ(TakenWith(kAsItIs, SearchReportOf(200)).outcome(), v1::OUTCOME_PASS);
  // All hosts have the limit's rate at once: it has to reach the largest.
  EXPECT_EQ(TakenWith(kDifferentRates, SearchReportOf(199)).outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(TakenWith(kDifferentRates, SearchReportOf(200)).outcome(), v1::OUTCOME_PASS);
  const auto unpaced = [](v1::TestPlan& plan) { plan.mutable_workload()->set_rate_per_second(0); };
  EXPECT_EQ(TakenWith(unpaced, SearchReportOf(1)).outcome(), v1::OUTCOME_PASS);
}

TEST(AcceptRuns, FewerQueueManagersThanTheLoadHasAreNoPass) {
  v1::Report found = SearchReportOf(1);
  found.mutable_limit()->set_over(v1::LIMIT_OVER_QM);
  const v1::AcceptRun run = TakenWith(kAsItIs, found);
  EXPECT_EQ(run.outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(run.reasons(), ElementsAre("the limit of 1 queue managers per host is below the load of 2 queue "
                                         "managers"));
  found.mutable_limit()->set_limit(2);
  EXPECT_EQ(TakenWith(kAsItIs, found).outcome(), v1::OUTCOME_PASS);
}

TEST(AcceptRuns, ALimitIsNoMultipleOfRatesThatDiffer) {
  EXPECT_EQ(TakenWith(kDifferentRates, SearchReportOf(500)).result(), "500 writes/s per queue manager, held");
  const auto one_unpaced = [](v1::TestPlan& plan) {
    plan.mutable_hosts(1)->mutable_workload()->set_rate_per_second(0);
  };
  EXPECT_EQ(TakenWith(one_unpaced, SearchReportOf(500)).result(), "500 writes/s per queue manager, held");
}

// The figure of that name; the run must have it.
double FigureNamed(const v1::AcceptReport& report, const std::string& name) {
  for (const v1::AcceptFigure& figure : report.figures()) {
    if (figure.name() == name) return figure.values(0).value();
  }
  ADD_FAILURE() << "no figure " << name;
  return 0;
}

// A load with a step for each of these IO/s.
v1::Report LoadOf(const std::vector<double>& iops) {
  v1::Report found = LoadReportOf(3, iops.front());
  for (size_t i = 1; i < iops.size(); ++i) {
    *found.add_steps() = LoadReportOf(3 + static_cast<double>(i), iops[i]).steps(0);
    found.mutable_steps(static_cast<int>(i))->set_number(static_cast<uint32_t>(i + 1));
  }
  return found;
}

TEST(AcceptFigures, OfRoundsAreThoseOfTheLastFive) {
  v1::Report found = LoadOf({5'000, 14'000, 15'000, 15'000, 15'000, 15'000, 15'000});
  found.mutable_steps(1)->mutable_scopes(0)->mutable_rate()->mutable_response()->set_p99_ns(900 * kNsPerMs);
  v1::AcceptReport report;
  const auto until_steady = [](v1::TestPlan& plan) { plan.set_until_steady_ns(600 * kNsPerSecond); };
  const v1::AcceptRun run = TakenWith(until_steady, found, &report);
  EXPECT_EQ(FigureNamed(report, "IO/s"), 15'000);
  EXPECT_EQ(FigureNamed(report, "p99"), 9);
  EXPECT_EQ(run.result(), "4 KiB: 15,000 IO/s, p99 9.000 ms");
  // Steps that are not rounds all count.
  TakenWith(kAsItIs, found, &report);
  EXPECT_DOUBLE_EQ(FigureNamed(report, "IO/s"), 94'000.0 / 7);
}

TEST(AcceptFigures, OfAPlacementAreApartForEachHostThatIsDown) {
  v1::Report found = LoadOf({800, 700, 600});
  for (v1::StepReport& step : *found.mutable_steps()) step.set_block_size_bytes(0);
  found.mutable_steps(1)->set_down_host("alpha");
  found.mutable_steps(2)->set_down_host("beta");
  v1::AcceptReport report;
  const v1::AcceptRun run = TakenWith(
      [](v1::TestPlan& plan) {
        plan.add_placement()->set_block_size_bytes(4096);
        plan.add_placement()->set_block_size_bytes(65536);
      },
      found, &report);
  EXPECT_EQ(run.result(),
            "mixed, all hosts up: 800 IO/s, p99 3.000 ms; mixed, alpha down: 700 IO/s, p99 4.000 ms; mixed, beta down: "
            "600 IO/s, p99 5.000 ms");
  EXPECT_EQ(FigureNamed(report, "IO/s, all hosts up"), 800);
  EXPECT_EQ(FigureNamed(report, "p99, beta down"), 5);
}

TEST(AcceptSpread, IsTheRangeInPercentOfTheMeanAndLeavesOutThinPercentiles) {
  const v1::AcceptReport report = WholeAcceptance({3, 4, 5});
  std::vector<std::string> names;
  for (const v1::AcceptFigure& figure : report.figures()) {
    names.push_back(figure.name());
    if (figure.name() != "p99") continue;
    EXPECT_DOUBLE_EQ(figure.least(), 3);
    EXPECT_DOUBLE_EQ(figure.most(), 5);
    EXPECT_DOUBLE_EQ(figure.spread_percent(), 50);
  }
  EXPECT_THAT(names, ElementsAre("IO/s", "p50", "p99", "max", "limit", "maximum"));
  const v1::AcceptReport once = WholeAcceptance({3});
  for (const v1::AcceptFigure& figure : once.figures()) EXPECT_FALSE(figure.has_spread_percent());
}

TEST(AcceptJUnit, EachCriterionOfEachStepIsACase) {
  v1::AcceptReport report;
  v1::AcceptRun& run = *report.add_runs();
  run.set_part(v1::ACCEPT_PART_LOAD);
  run.set_run(2);
  run.set_began(true);
  run.set_complete(true);
  run.set_outcome(v1::OUTCOME_INCONCLUSIVE);
  v1::CriterionReport& criterion = *run.add_criteria();
  criterion.set_criterion("p99<10ms");
  criterion.set_outcome(v1::OUTCOME_INCONCLUSIVE);
  for (const v1::Outcome outcome : {v1::OUTCOME_PASS, v1::OUTCOME_INCONCLUSIVE}) {
    v1::CriterionStepReport& step = *criterion.add_steps();
    step.set_step(static_cast<uint32_t>(criterion.steps_size()));
    step.set_outcome(outcome);
  }
  const std::string suite = RenderAcceptJUnit(report);
  EXPECT_THAT(suite, HasSubstr("<testcase classname=\"accept.load.run 2.step 1\" name=\"p99&lt;10ms\" time=\"0.000\">\n"
                               "  </testcase>"));
  EXPECT_THAT(suite, HasSubstr("<testcase classname=\"accept.load.run 2.step 2\" name=\"p99&lt;10ms\" time=\"0.000\">\n"
                               "    <error "));
  EXPECT_THAT(suite, HasSubstr("failures=\"0\" errors=\"2\"")) << "the run and its second step";
}

TEST(AcceptReport, NamesThatNoFailureOfAHostWasTested) {
  v1::TestPlan plan;
  plan.add_hosts()->set_address("node1:7461");
  plan.mutable_accept()->add_parts(v1::ACCEPT_PART_LOAD);
  plan.mutable_accept()->set_runs(1);
  const auto names_it = [](const v1::TestPlan& of) {
    const v1::AcceptReport report = PlannedAcceptance(of);
    return std::any_of(report.limits().begin(), report.limits().end(),
                       [](const std::string& limit) { return absl::StrContains(limit, "No failure of a host"); });
  };
  EXPECT_FALSE(names_it(plan)) << "one host";
  plan.add_hosts()->set_address("node2:7461");
  EXPECT_TRUE(names_it(plan));
  plan.add_placement()->set_home("node1:7461");
  EXPECT_FALSE(names_it(plan));
}

TEST(AcceptJUnit, IsGreenWhereTheVerdictIsPassAndNowhereElse) {
  const v1::AcceptReport whole = WholeAcceptance();
  EXPECT_THAT(RenderAcceptJUnit(whole), HasSubstr("failures=\"0\" errors=\"0\""));
  for (int i = 0; i < whole.runs_size(); ++i) {
    v1::AcceptReport report = whole;
    report.mutable_runs(i)->set_outcome(v1::OUTCOME_INCONCLUSIVE);
    JudgeAcceptance(report);
    EXPECT_THAT(RenderAcceptJUnit(report), HasSubstr("failures=\"0\" errors=\"1\""));
    report.mutable_runs(i)->set_complete(false);
    report.mutable_runs(i)->set_outcome(v1::OUTCOME_PASS);
    JudgeAcceptance(report);
    EXPECT_THAT(RenderAcceptJUnit(report), HasSubstr("errors=\"1\""));
  }
  v1::AcceptReport nothing;
  JudgeAcceptance(nothing);
  EXPECT_THAT(RenderAcceptJUnit(nothing), HasSubstr("errors=\"1\""));
}

TEST(AcceptText, ThePlacementIsNamedAsTheLoad) {
  v1::AcceptReport report = WholeAcceptance();
  for (const auto& [name, rate] : {std::pair("A", 200), std::pair("B", 150)}) {
    v1::PlacedQueueManager& placed = *report.mutable_plan()->add_placement();
    placed.set_qm(name);
    placed.set_block_size_bytes(16384);
    placed.set_rate_per_second(rate);
  }
  const auto lines = AcceptConfiguration(report);
  EXPECT_EQ(lines.front().first, "Load");
  EXPECT_THAT(lines.front().second,
              HasSubstr("2 queue managers, 16 KiB, 350 writes/s in all, with all hosts up and with "
                        "each one down"));
}

// What AcceptConfiguration has under the heading; empty: nothing.
template <typename Change>
std::string Configured(const std::string& heading, const Change& change) {
  v1::TestPlan plan = AcceptPlanOf();
  change(plan);
  for (const auto& [name, text] : AcceptConfiguration(PlannedAcceptance(plan))) {
    if (name == heading) return text;
  }
  return "";
}

auto OnlyPart(v1::AcceptPart part) {
  return [part](v1::TestPlan& plan) {
    plan.mutable_accept()->clear_parts();
    plan.mutable_accept()->add_parts(part);
  };
}

TEST(AcceptText, TheLoadNamesTheRatesOfAllHosts) {
  EXPECT_EQ(Configured("Load", kAsItIs), "2 hosts, 4 queue managers, 4 KiB, 200 writes/s of each queue manager, 1m");
  EXPECT_THAT(Configured("Load", kDifferentRates), HasSubstr(", 20 to 200 writes/s of each queue manager, 1m"));
  EXPECT_THAT(
      Configured("Load", [](v1::TestPlan& plan) { plan.mutable_hosts(1)->mutable_workload()->set_rate_per_second(0); }),
      HasSubstr(", 200 writes/s of each queue manager, as fast as possible on beta, 1m"));
  EXPECT_THAT(Configured("Load", [](v1::TestPlan& plan) { plan.mutable_workload()->set_rate_per_second(0); }),
              HasSubstr(", as fast as possible, 1m"));
}

TEST(AcceptText, ChangeAndOperatorAreShownWhereThePlanNamesThem) {
  EXPECT_EQ(Configured("Change", kAsItIs) + Configured("Operator", kAsItIs), "");
  EXPECT_EQ(Configured("Change", [](v1::TestPlan& plan) { plan.set_change("CHG0012345"); }), "CHG0012345");
  EXPECT_EQ(Configured("Operator", [](v1::TestPlan& plan) { plan.set_operator_("J. Doe"); }), "J. Doe");
}

TEST(AcceptText, OnlyWhatThePartsDidIsShown) {
  EXPECT_TRUE(AcceptConfiguration(PlannedAcceptance([] {
                v1::TestPlan plan = AcceptPlanOf();
                OnlyPart(v1::ACCEPT_PART_STORAGE)(plan);
                return plan;
              }()))
                  .empty());
  EXPECT_EQ(Configured("Load", OnlyPart(v1::ACCEPT_PART_LIMIT)), "");
  EXPECT_THAT(Configured("Search", OnlyPart(v1::ACCEPT_PART_LIMIT)),
              HasSubstr("2 hosts, 4 queue managers, 4 KiB, at most 10m"));
  EXPECT_EQ(Configured("Search", OnlyPart(v1::ACCEPT_PART_LOAD)), "");
}

TEST(AcceptText, TheCriteriaAreThoseThatEachPartIsJudgedBy) {
  EXPECT_EQ(Configured("Criteria", kAsItIs),
            "load: p99<10ms, steady, rate_achieved>=99%; limit: p99<10ms, rate_achieved>=99%");
  EXPECT_EQ(Configured("Criteria", OnlyPart(v1::ACCEPT_PART_LIMIT)), "p99<10ms, rate_achieved>=99%");
  EXPECT_EQ(Configured("Criteria",
                       [](v1::TestPlan& plan) {
                         OnlyPart(v1::ACCEPT_PART_LOAD)(plan);
                         plan.mutable_workload()->set_rate_per_second(0);
                       }),
            "p99<10ms, steady");
  EXPECT_EQ(Configured("Criteria",
                       [](v1::TestPlan& plan) {
                         OnlyPart(v1::ACCEPT_PART_LOAD)(plan);
                         plan.add_criteria("rate_achieved>=50%");
                       }),
            "p99<10ms, rate_achieved>=50%, steady");
  EXPECT_EQ(Configured("Criteria", OnlyPart(v1::ACCEPT_PART_FSCK)), "");
}

TEST(AcceptText, TheWritePathIsNamedAndIsALimitWhereItIsNotMqs) {
  EXPECT_EQ(Configured("Writes", kAsItIs),
            "O_DSYNC, O_DIRECT where the file system accepts it, 3 extents of 16 MiB per queue manager");
  EXPECT_EQ(Configured("Writes",
                       [](v1::TestPlan& plan) {
                         plan.mutable_workload()->set_delay_ns(2 * kNsPerMs);
                         plan.mutable_hosts(1)->mutable_workload()->set_direct(v1::DIRECT_MODE_OFF);
                         plan.mutable_hosts(1)->mutable_workload()->set_cpu_load(2);
                       }),
            "alpha: O_DSYNC, O_DIRECT where the file system accepts it, 3 extents of 16 MiB per queue manager, 2 ms "
            "pause after each write; beta: O_DSYNC, without O_DIRECT, 3 extents of 16 MiB per queue manager, 2 ms "
            "pause after each write, 2 busy threads per host");
  EXPECT_EQ(UnlikeMqText(AcceptPlanOf()), "");
  v1::TestPlan plan = AcceptPlanOf();
  plan.mutable_workload()->set_sync(v1::SYNC_MODE_FDATASYNC);
  const std::string unlike =
      "Not written as MQ's logger writes, with O_DSYNC and O_DIRECT: write and fdatasync, O_DIRECT where the file "
      "system accepts it.";
  EXPECT_THAT(PlannedAcceptance(plan).limits(), Contains(unlike));
  OnlyPart(v1::ACCEPT_PART_FSCK)(plan);
  EXPECT_EQ(UnlikeMqText(plan), "");
}

TEST(AcceptHosts, OfAStorageCheckGetTheNodesOfTheirPodsFromARun) {
  v1::AcceptReport report = PlannedAcceptance(AcceptPlanOf(1));
  TakeStorage(NfsHosts(), 4096, NextRun(report), report);
  TakeChecks(Checks(), NextRun(report), report);
  v1::Report load = LoadReportOf(3);
  for (const char* label : {"alpha", "beta"}) load.add_hosts()->set_label(label);
  load.mutable_hosts(1)->set_node("worker-7");
  TakeRun(load, NextRun(report), report);
  ASSERT_EQ(report.hosts_size(), 2);
  EXPECT_FALSE(report.hosts(0).has_node());
  EXPECT_EQ(report.hosts(1).node(), "worker-7");
  const std::string text = RenderAcceptText(report);
  EXPECT_THAT(text, HasSubstr("beta on node worker-7: "));
  EXPECT_THAT(text, Not(HasSubstr("alpha on node")));
}

TEST(AcceptHosts, OfAStorageCheckGetTheNodesOfTheirPodsFromChecks) {
  v1::AcceptReport report = PlannedAcceptance(AcceptPlanOf(1));
  TakeStorage(NfsHosts(), 4096, NextRun(report), report);
  v1::CheckReport checks = Checks();
  ASSERT_EQ(checks.hosts(0).label(), "alpha");
  checks.mutable_hosts(0)->set_node("worker-6");
  TakeChecks(checks, NextRun(report), report);
  ASSERT_EQ(report.hosts_size(), 2);
  EXPECT_EQ(report.hosts(0).node(), "worker-6");
  EXPECT_FALSE(report.hosts(1).has_node());
}

TEST(AcceptText, StaysWithin80ColumnsAndNeutralisesWhatHostsSend) {
  v1::AcceptReport report = WholeAcceptance();
  report.mutable_hosts(0)->set_mount_options(std::string(300, 'x') + "\033[2J");
  report.set_name("\033[31m" + std::string(200, 'y'));
  const std::string text = RenderAcceptText(report);
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  size_t widest = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    // What has no blank, such as a path, stays whole.
    const std::string line = text.substr(at, end - at);
    if (line.find("xxxx") == std::string::npos && line.find("yyyy") == std::string::npos) {
      widest = std::max(widest, line.size());
    }
    at = end + 1;
  }
  EXPECT_LE(widest, 84U) << text;  // dashes have three bytes
}

}  // namespace
}  // namespace plimsoll
