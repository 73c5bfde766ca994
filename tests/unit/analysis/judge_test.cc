#include "controller/analysis/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/analysis/figures.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

// A fast and a slow host, two block sizes; every second write of the slow one's second step takes 4 ms.
SimRun FastAndSlow(const std::vector<std::string>& criteria) {
  SimRun run;
  run.block_sizes = {4096, 65536};
  run.duration_ns = 2 * kNsPerSecond;
  run.criteria = criteria;
  for (const char* label : {"fast", "slow"}) {
    SimHost host;
    host.label = label;
    host.steps.push_back({tests::Steady(run.duration_ns, 400'000)});
    const int64_t second_ns = std::string(label) == "slow" ? 4 * kNsPerMs : 500'000;
    host.steps.push_back({tests::ClosedLoop(run.duration_ns, 1'000, [second_ns](uint64_t number, int64_t) {
      return number % 2 == 0 ? second_ns : int64_t{500'000};
    })});
    run.hosts.push_back(host);
  }
  return run;
}

v1::VerdictReport Verdict(const std::vector<std::string>& criteria) {
  return tests::Analyze(tests::MakeJournal(FastAndSlow(criteria))).verdict();
}

TEST(Judge, PassesWhereEveryCriterionHoldsInEveryStep) {
  const v1::VerdictReport verdict = Verdict({"p90@cluster<10ms", "iops>=500", "max<=4ms"});
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(verdict.criteria(0).step(), 2);
  EXPECT_EQ(verdict.criteria(2).value_text(), "4.000 ms");
}

TEST(Judge, NamesTheWorstStepAndHost) {
  const v1::VerdictReport verdict = Verdict({"p50@host<10ms", "avg@qm<2ms"});
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(verdict.criteria(0).outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(verdict.criteria(1).outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(verdict.criteria(1).step(), 2);
  EXPECT_EQ(verdict.criteria(1).host(), "slow");
  EXPECT_EQ(verdict.criteria(1).qm(), 1);
  EXPECT_NEAR(verdict.criteria(1).value(), 2.25e6, 1e4);
}

TEST(Judge, GivesTheWorstValueOfEachStepAndItsPlace) {
  const v1::VerdictReport verdict = Verdict({"avg@qm<2ms", "max@64k<1ms", "max@16k<1ms"});
  const v1::CriterionReport& average = verdict.criteria(0);
  ASSERT_EQ(average.steps_size(), 2);
  EXPECT_EQ(average.steps(0).step(), 1);
  EXPECT_EQ(average.steps(0).outcome(), v1::OUTCOME_PASS);
  EXPECT_NEAR(average.steps(0).value(), 400'000, 1'000);
  EXPECT_EQ(average.steps(0).value_text(), "0.400 ms");
  EXPECT_EQ(average.steps(1).step(), 2);
  EXPECT_EQ(average.steps(1).outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(average.steps(1).value(), average.value());
  EXPECT_EQ(average.steps(1).kind(), v1::SCOPE_KIND_QM);
  EXPECT_EQ(average.steps(1).host(), "slow");
  EXPECT_EQ(average.steps(1).qm(), 1);
  // Only steps that the criterion looks at.
  ASSERT_EQ(verdict.criteria(1).steps_size(), 1);
  EXPECT_EQ(verdict.criteria(1).steps(0).step(), 2);
  EXPECT_EQ(verdict.criteria(2).steps_size(), 0);
}

TEST(Judge, HoldsEachStorageToACriterionForStorages) {
  const v1::VerdictReport verdict = Verdict({"avg@storage<2ms"});
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(verdict.criteria(0).kind(), v1::SCOPE_KIND_STORAGE);
  EXPECT_EQ(verdict.criteria(0).storage(), 2);
  // Both on one storage: the fast host's writes outnumber the slow one's.
  SimRun shared = FastAndSlow({"avg@storage<2ms"});
  shared.hosts[0].sees = {"slow"};
  shared.hosts[1].sees = {"fast"};
  EXPECT_EQ(tests::Analyze(tests::MakeJournal(shared)).verdict().outcome(), v1::OUTCOME_PASS);
}

TEST(Judge, LooksOnlyAtTheNamedBlockSize) {
  EXPECT_EQ(Verdict({"max@4k<1ms"}).outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(Verdict({"max@64k<1ms"}).outcome(), v1::OUTCOME_FAIL);
}

TEST(Judge, IsInconclusiveWhereNothingWasMeasured) {
  const v1::VerdictReport verdict = Verdict({"max@16k<1ms"});
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(verdict.criteria(0).reason(), HasSubstr("nothing in its scope was measured"));
}

TEST(Judge, NeverPassesWithoutACriterion) {
  EXPECT_EQ(Verdict({}).outcome(), v1::OUTCOME_DONE);
}

TEST(Judge, APercentileOfTooFewWritesIsInconclusive) {
  const v1::VerdictReport verdict = Verdict({"p99.99<10ms"});
  EXPECT_EQ(verdict.outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(verdict.criteria(0).reason(), HasSubstr("needs 100,000 writes, has "));
}

TEST(Judge, FewWritesFailWhereEvenTheMedianDoes) {
  SimRun run;
  run.duration_ns = 10 * kNsPerSecond;
  run.criteria = {"p99<10ms"};
  SimHost host;
  host.label = "hung";
  host.steps = {{tests::Steady(run.duration_ns, 2 * kNsPerSecond)}};
  run.hosts.push_back(host);
  EXPECT_EQ(tests::Analyze(tests::MakeJournal(run)).verdict().outcome(), v1::OUTCOME_FAIL);
}

TEST(Judge, InconclusiveBeatsPassButNotFail) {
  for (const auto& [criterion, outcome] :
       {std::pair{"max<1s", v1::OUTCOME_INCONCLUSIVE}, std::pair{"max<1us", v1::OUTCOME_FAIL}}) {
    SimRun run = FastAndSlow({criterion});
    run.cut_short = "interrupted";
    EXPECT_EQ(tests::Analyze(tests::MakeJournal(run)).verdict().outcome(), outcome) << criterion;
  }
}

TEST(Judge, ACriterionThatCannotBeReadIsInconclusive) {
  EXPECT_EQ(Verdict({"speed of light"}).outcome(), v1::OUTCOME_INCONCLUSIVE);
}

TEST(Judge, ValuesCountWritesReadsOrBoth) {
  const auto value_of = [](uint32_t read_percent, const std::string& criterion) {
    SimRun run = FastAndSlow({criterion});
    run.read_percent = read_percent;
    for (SimHost& host : run.hosts) host.rate_per_second = 100;
    return tests::Analyze(tests::MakeJournal(run)).verdict().criteria(0).value_text();
  };
  EXPECT_THAT(value_of(0, "iops>=1"), EndsWith(" writes/s"));
  EXPECT_EQ(value_of(0, "not_issued<=1"), "0 writes");
  EXPECT_THAT(value_of(30, "iops>=1"), EndsWith(" writes/s"));
  EXPECT_THAT(value_of(30, "writes>=1"), EndsWith(" writes"));
  EXPECT_THAT(value_of(30, "read_iops>=1"), EndsWith(" reads/s"));
  EXPECT_EQ(value_of(30, "not_issued<=1"), "0 operations") << "the target rate is that of both";
  EXPECT_THAT(value_of(100, "iops>=1"), EndsWith(" reads/s"));
  EXPECT_THAT(value_of(100, "writes>=1"), EndsWith(" reads"));
  EXPECT_EQ(value_of(100, "not_issued<=1"), "0 reads");
}

TEST(Judge, WorstSecondsComeFromTheSeries) {
  const v1::VerdictReport verdict = Verdict({"min_second_iops>=100", "min_second_mbps@64k>=1000"});
  EXPECT_EQ(verdict.criteria(0).outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(verdict.criteria(1).outcome(), v1::OUTCOME_FAIL);
}

TEST(Judge, EveryMetricHasExactlyOneGetter) {
  ASSERT_EQ(MetricGetters().size(), Metrics().size());
  for (size_t i = 0; i < Metrics().size(); ++i) {
    const MetricGetter& getter = MetricGetters()[i];
    EXPECT_EQ(getter.metric, Metrics()[i].metric);
    EXPECT_EQ((getter.of_scope ? 1 : 0) + (getter.of_step ? 1 : 0) + (getter.of_run ? 1 : 0), 1) << Metrics()[i].name;
  }
}

TEST(Judge, GivesEachStepOfACriterionItsOwnWorstValueAndPlace) {
  const v1::VerdictReport verdict = Verdict({"avg<2ms"});
  const v1::CriterionReport& criterion = verdict.criteria(0);
  EXPECT_EQ(criterion.scope(), v1::SCOPE_KIND_QM);
  ASSERT_EQ(criterion.steps_size(), 2);
  EXPECT_EQ(criterion.steps(0).outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(criterion.steps(0).value_text(), "0.400 ms");
  EXPECT_EQ(criterion.steps(1).outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(criterion.steps(1).host(), "slow");
  EXPECT_EQ(criterion.steps(1).scopes(), 2U);
  EXPECT_EQ(criterion.steps(1).beyond(), 1U);
}

TEST(Judge, ChancesOfCountsAreThoseOfTheBinomialDistribution) {
  // By hand: 1 - 0.99^100, 1 - 0.99^100 - 100 x 0.01 x 0.99^99; and by summing exact terms.
  EXPECT_EQ(ChanceOfAtLeast(1, 100, 0.01), 1) << "expected that many";
  EXPECT_NEAR(ChanceOfAtLeast(2, 100, 0.01), 0.264238, 1e-6);
  EXPECT_NEAR(ChanceOfAtLeast(5, 5, 0.01), 1e-10, 1e-16);
  EXPECT_EQ(ChanceOfAtLeast(6, 5, 0.01), 0);
  EXPECT_NEAR(ChanceOfAtLeast(1'100, 100'000, 0.01), 0.00092, 0.0002);
  EXPECT_LT(ChanceOfAtLeast(500'000, 1'000'000, 0.01), 1e-300);
}

// The rate is missed for as long as the storage is away, which `max` limits.
TEST(Judge, AsksForNoRateUnderDisturbances) {
  v1::TestPlan plan;
  plan.add_criteria("max@cluster<20s");
  EXPECT_TRUE(Judge(plan, 1).LooksAt(v1::SCOPE_KIND_QM, 4096));
  plan.add_disturb();
  EXPECT_FALSE(Judge(plan, 1).LooksAt(v1::SCOPE_KIND_QM, 4096));
  EXPECT_TRUE(Judge(plan, 1).LooksAt(v1::SCOPE_KIND_CLUSTER, 4096));
}

TEST(Judge, ExitCodesFollowTheVerdict) {
  for (const auto& [outcome, code] : {std::pair{v1::OUTCOME_PASS, 0}, std::pair{v1::OUTCOME_DONE, 0},
                                      std::pair{v1::OUTCOME_FAIL, 1}, std::pair{v1::OUTCOME_INCONCLUSIVE, 3}}) {
    v1::Report report;
    report.mutable_verdict()->set_outcome(outcome);
    EXPECT_EQ(ExitCode(report), code);
  }
}

}  // namespace
}  // namespace plimsoll
