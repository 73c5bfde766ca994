#include "controller/plan/criteria_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "controller/criteria/criteria.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

// Problems of a plan with the criterion, and what else it has.
std::vector<std::string> With(const std::string& criterion, const std::string& rest = "",
                              const std::string& workload = "") {
  return ProblemsOf(PlanOf("workload: {dir: /x" + workload + "}\ncriteria: ['" + criterion + "']\n" + rest));
}

TEST(CriteriaCheck, ABoundOnTheWrongSideIsRefusedWithTheQuestionWhatWasMeant) {
  EXPECT_THAT(With("p99>10ms"), ElementsAre("--require (criteria): 'p99>10ms' is a lower bound, and lower values are "
                                            "better: did you mean 'p99<10ms'?"));
  EXPECT_THAT(With("iops@host<=2000"), ElementsAre("--require (criteria): 'iops@host<=2000' is an upper bound, and "
                                                   "higher values are better: did you mean 'iops@host>=2000'?"));
  for (const char* criterion : {"max>=1s", "service_p50>1ms", "stalls>0", "longest_stall>200ms", "hosts<1",
                                "rate_achieved<99%", "not_issued>=1", "clock_error>1ms", "fairness<0.9"}) {
    EXPECT_THAT(With(criterion, "hosts: [a, b]\n", ", rate: 100"), ElementsAre(HasSubstr("did you mean"))) << criterion;
    EXPECT_THAT(With(criterion, "hosts: [a, b]\naccept: {parts: [load]}\n", ", rate: 1000"),
                ElementsAre(HasSubstr("did you mean")))
        << criterion;
  }
  EXPECT_THAT(With("p99>10ms", "limit: {}\n"), ElementsAre(HasSubstr("did you mean 'p99<10ms'?")));
  EXPECT_THAT(With("p99>10ms", "accept: {}\n"), ElementsAre(HasSubstr("did you mean 'p99<10ms'?")));
  // These may be bounded on either side.
  for (const char* criterion :
       {"writes<=1", "drift_iops<=5%", "drift_iops>=-5%", "drift_latency>=-5%", "drift_latency<5%"}) {
    EXPECT_THAT(With(criterion), IsEmpty()) << criterion;
  }
}

TEST(CriteriaCheck, APercentileNeedsTenWritesBeyondIt) {
  EXPECT_THAT(With("p99.99<10ms", "duration: 3s\n", ", rate: 10"),
              ElementsAre("--duration (duration) 3s is too short for p99.99<10ms: 30 writes at 10 a second, and it "
                          "needs 100000; use 10200s or more"));
  EXPECT_THAT(With("service_p99.99@cluster<10ms", "duration: 3s\n", ", rate: 10"), ElementsAre(HasSubstr("30 writes")));
  // A pause bounds the writes of a closed loop.
  EXPECT_THAT(With("p99<10ms", "duration: 3s\n", ", delay: 100ms"), ElementsAre(HasSubstr("30 writes at 10 a second")));
  EXPECT_THAT(With("p99<10ms", "duration: 3s\n"), IsEmpty()) << "a closed loop writes as fast as the storage allows";
  // 20 writes are enough for the median; 19 in the time, and one at its beginning.
  EXPECT_THAT(With("p50<10ms", "duration: 19s\n", ", rate: 1"), IsEmpty());
  EXPECT_THAT(With("p50<10ms", "duration: 18s\n", ", rate: 1"), ElementsAre(HasSubstr("it needs 20")));
  EXPECT_THAT(With("p50<10ms", "duration: 18s\n", ", rate: 1, arrival: poisson"), IsEmpty()) << "chance may make it 20";
}

TEST(CriteriaCheck, WhereTheScopesDifferTheOneWithTheFewestWritesDecides) {
  const std::string hosts = "duration: 10s\nhosts: [a, {address: b, workload: {rate: 10}}]\n";
  EXPECT_THAT(With("p99<10ms", hosts, ", rate: 1000"), ElementsAre(HasSubstr("100 writes at 10 a second")));
  EXPECT_THAT(With("p99@host<10ms", hosts), ElementsAre(HasSubstr("100 writes at 10 a second")))
      << "b must meet it, too, however much a writes";
  EXPECT_THAT(With("p99@cluster<10ms", hosts), IsEmpty()) << "a writes as fast as it can";
  EXPECT_THAT(With("p99@cluster<10ms", hosts, ", rate: 1000"), IsEmpty());
  EXPECT_THAT(With("p99@host<10ms", hosts, ", qm: 10"), IsEmpty());
}

TEST(CriteriaCheck, AFigureThatNeedsSecondsIsRefusedWhereTheStepHasFewer) {
  EXPECT_THAT(With("steady", "duration: 3s\n"),
              ElementsAre("--duration (duration) 3s is too short to be steady: use 5s "
                          "or more, or --until-steady (until_steady)"));
  EXPECT_THAT(With("steady==no", "duration: 4999ms\n"), ElementsAre(HasSubstr("too short to be steady")));
  EXPECT_THAT(With("drift_iops>=-10%", "duration: 3s\n"),
              ElementsAre("--duration (duration) 3s is too short for drift_iops>=-10%: use 5s or more"));
  EXPECT_THAT(With("min_second_iops>=1", "duration: 500ms\n"), ElementsAre(HasSubstr("use 1s or more")));
  for (const char* criterion : {"steady", "drift_latency<5%", "min_second_mbps>=1"}) {
    EXPECT_THAT(With(criterion, "duration: 5s\n"), IsEmpty()) << criterion;
  }
}

TEST(CriteriaCheck, WhatThePlanHasNotEnoughOfIsRefused) {
  EXPECT_THAT(With("hosts>=5"), ElementsAre("--require (criteria): 'hosts>=5' asks for more hosts than there are (1): "
                                            "lower it, or give more --hosts"));
  EXPECT_THAT(With("hosts>2", "hosts: [a, b]\n"), ElementsAre(HasSubstr("there are (2)")));
  EXPECT_THAT(With("hosts==3", "hosts: [a, b]\n"), ElementsAre(HasSubstr("there are (2)")));
  for (const char* criterion : {"hosts>=2", "hosts>1", "hosts==1", "hosts==2"}) {
    EXPECT_THAT(With(criterion, "hosts: [a, b]\n"), IsEmpty()) << criterion;
  }
  EXPECT_THAT(With("fairness>=0.9"), ElementsAre(HasSubstr("compares queue managers, and there is one")));
  EXPECT_THAT(With("fairness@host>=0.9", "", ", qm: 4"), ElementsAre(HasSubstr("compares hosts, and there is one")));
  EXPECT_THAT(With("fairness>=0.9", "", ", qm: 2"), IsEmpty());
  EXPECT_THAT(With("fairness@host>=0.9", "hosts: [a, b]\n"), IsEmpty());
  for (const char* criterion : {"rate_achieved>=95%", "not_issued==0"}) {
    EXPECT_THAT(With(criterion), ElementsAre(HasSubstr("is about a target rate, and there is none"))) << criterion;
    EXPECT_THAT(With(criterion, "hosts: [a, {address: b, workload: {rate: 5}}]\n"), IsEmpty()) << criterion;
  }
}

TEST(CriteriaCheck, ACriterionAboutAPartOfAWriteNeedsASyncBehindEachWrite) {
  EXPECT_THAT(With("sync_p99<5ms"), ElementsAre(HasSubstr("'sync_p99<5ms' is about a part of each write, which is "
                                                          "measured with --sync (workload.sync) fdatasync alone")));
  EXPECT_THAT(With("sync_p99<5ms", "", ", sync: fdatasync"), IsEmpty());
  EXPECT_THAT(With("write_call_max<5ms", "hosts: [a, {address: b, workload: {sync: fdatasync}}]\n"), IsEmpty());
  // A search measures the parts in all of its steps.
  for (const char* criterion : {"sync_p99<5ms", "write_call_avg<1ms", "sync_max@cluster<1s"}) {
    EXPECT_THAT(With(criterion, "limit: {}\n", ", sync: fdatasync"), IsEmpty()) << criterion;
    for (const char* sync : {"", ", sync: dsync", ", sync: sync", ", sync: none"}) {
      EXPECT_THAT(With(criterion, "limit: {}\n", sync),
                  ElementsAre(AllOf(HasSubstr(criterion),
                                    HasSubstr("is measured with --sync (workload.sync) fdatasync alone"))))
          << sync;
    }
  }
  EXPECT_THAT(With("sync_wavg<5ms", "limit: {}\n", ", sync: fdatasync"),
              ElementsAre(HasSubstr("how far chance moves a weighted average is not known")));
}

TEST(CriteriaCheck, ACriterionAboutReadsNeedsReads) {
  for (const char* criterion : {"read_p99<5ms", "read_max@host<1s", "read_iops>=1", "read_mbps@qm>=1"}) {
    EXPECT_THAT(With(criterion), ElementsAre("--require (criteria): '" + std::string(criterion) +
                                             "' is about reads, and there are none: give --read-percent "
                                             "(read)"));
    EXPECT_THAT(With(criterion, "read: 0\n"), SizeIs(1)) << criterion;
    EXPECT_THAT(With(criterion, "read: 1\n"), IsEmpty()) << criterion;
    EXPECT_THAT(With(criterion, "read: 100\n"), IsEmpty()) << criterion;
  }
  EXPECT_THAT(With("read_p99<5ms", "limit: {}\n"), ElementsAre(HasSubstr("is about reads, and there are none")));
  EXPECT_THAT(With("read_p99<5ms", "limit: {}\nread: 30\n"), IsEmpty());
  EXPECT_THAT(With("read_p99>5ms", "read: 30\n"), ElementsAre(HasSubstr("did you mean 'read_p99<5ms'?")));
}

TEST(CriteriaCheck, WhereAllOperationsReadAWriteHasNoParts) {
  EXPECT_THAT(With("sync_p99<5ms", "read: 99\n", ", sync: fdatasync"), IsEmpty());
  EXPECT_THAT(With("sync_p99<5ms", "read: 100\n", ", sync: fdatasync"),
              ElementsAre(HasSubstr("is about a part of each write, and all operations read")));
}

TEST(CriteriaCheck, APercentileNeedsTenOfItsOwnOperationsBeyondIt) {
  // 100 of 1,000 operations read, or write.
  EXPECT_THAT(With("read_p99<10ms", "duration: 10s\nread: 10\n", ", rate: 100"),
              ElementsAre("--duration (duration) 10s is too short for read_p99<10ms: 100 reads at 10 a second, and it "
                          "needs 1000; use 102s or more"));
  EXPECT_THAT(With("p99<10ms", "duration: 10s\nread: 10\n", ", rate: 100"),
              ElementsAre(HasSubstr("900 writes at 90 a second")));
  EXPECT_THAT(With("p99<10ms", "duration: 10s\nread: 90\n", ", rate: 100"),
              ElementsAre(HasSubstr("100 writes at 10 a second")));
  EXPECT_THAT(With("p99<10ms", "duration: 1s\nread: 100\n", ", rate: 100"),
              ElementsAre(HasSubstr("100 reads at 100 a second")));
  EXPECT_THAT(With("p99<10ms', 'read_p99<10ms", "duration: 20s\nread: 50\n", ", rate: 100"), IsEmpty());
  EXPECT_THAT(With("p99<10ms", "duration: 10s\nread: 100\n", ", rate: 100"), IsEmpty());
}

TEST(CriteriaCheck, AStallMustBeLongEnoughToBeOne) {
  EXPECT_THAT(With("longest_stall<50ms"),
              ElementsAre("--require (criteria): 'longest_stall<50ms': of stalls below 100ms (--stall) no length is "
                          "known; require stalls==0, or use a longer limit, or --stall"));
  EXPECT_THAT(With("longest_stall==0s"), ElementsAre(HasSubstr("require stalls==0")));
  EXPECT_THAT(With("longest_stall<500ms", "stall: 1s\n"), ElementsAre(HasSubstr("of stalls below 1s (--stall)")));
  EXPECT_THAT(With("longest_stall<50ms", "stall: 20ms\n"), IsEmpty());
  EXPECT_THAT(With("longest_stall<=100ms"), IsEmpty());
}

TEST(CriteriaCheck, ACriterionAboutTakeoversNeedsAFaultThatCausesOne) {
  const auto drill = [](const std::string& criterion, const std::string& faults) {
    return ProblemsOf(
        PlanOf("workload: {dir: /x}\nha: {pairs: [a+b], faults: [" + faults + "]}\ncriteria: ['" + criterion + "']\n"));
  };
  for (const HaMetricInfo& info : HaMetrics()) {
    const std::string criterion = std::string(info.name) + (info.is_time ? "<60s" : "==0");
    EXPECT_THAT(drill(criterion, "kill"), IsEmpty()) << criterion;
    EXPECT_EQ(drill(criterion, "hang").empty(), !info.is_time) << criterion;
  }
  EXPECT_THAT(drill("takeover_max<60s", "hang"),
              ElementsAre(HasSubstr("none of the faults makes a standby take over")));
  EXPECT_THAT(drill("takeover_max<60s", "hang, kill"), IsEmpty());
  EXPECT_THAT(drill("takeover_max>60s", "kill"), ElementsAre(HasSubstr("did you mean 'takeover_max<60s'?")));
  EXPECT_THAT(drill("lost>=1", "kill"), ElementsAre(HasSubstr("did you mean 'lost<=1'?")));
}

TEST(CriteriaCheck, ASearchTakesNoWeightedAverageBecauseItsChanceIsNotKnown) {
  for (const char* const criterion : {"wavg<5ms", "service_wavg@cluster<5ms"}) {
    const std::string problem = std::string("--require (criteria): '") + criterion +
                                "': how far chance moves a weighted average is not known, so that no load could be "
                                "shown to meet it; use avg or a percentile";
    EXPECT_THAT(With(criterion, "limit: {}\n"), ElementsAre(problem));
    EXPECT_THAT(With(criterion + std::string("', 'max<1s"), "accept: {}\n"), ElementsAre(problem));
    EXPECT_THAT(With(criterion + std::string("', 'max<1s"), "accept: {parts: [load]}\n"), IsEmpty());
    EXPECT_THAT(With(criterion), IsEmpty());
  }
  EXPECT_THAT(With("avg<5ms", "limit: {}\n"), IsEmpty());
}

TEST(CriteriaCheck, TheAnswerOfASearchIsMeasuredForItsHold) {
  const std::string search = "duration: 3s\nlimit: {over: qm, hold: 60s, budget: 30m}\n";
  EXPECT_THAT(With("p99<10ms", search, ", qm: 4, rate: 20"), IsEmpty());
  EXPECT_THAT(With("p99.9<10ms", search, ", qm: 4, rate: 20"),
              ElementsAre(HasSubstr("1m is too short for p99.9<10ms")));
  EXPECT_THAT(With("p99.9<10ms", "duration: 3s\nlimit: {}\n"), IsEmpty()) << "its rates are not known beforehand";
}

TEST(CriteriaCheck, CriteriaOfEveryMetricAreTakenWhereThePlanHasWhatTheyNeed) {
  std::string all = "workload: {dir: /x, qm: 2, rate: 1000}\nhosts: [a, b]\nduration: 5m\ncriteria: [";
  for (const MetricInfo& info : Metrics()) {
    const std::string name = info.metric == Metric::kPercentile ? "p99" : info.name;
    all += name +
           (info.unit == MetricUnit::kNanoseconds ? ":500ms"
            : info.unit == MetricUnit::kYesNo     ? ":yes"
            : info.unit == MetricUnit::kRatio     ? ":0.5"
                                                  : ":2") +
           ", ";
  }
  EXPECT_THAT(ProblemsOf(PlanOf(all + "]\n")), IsEmpty());
}

TEST(CriteriaCheck, TheUsualComparisonIsSpelledOutInThePlanAsRun) {
  v1::TestPlan plan = PlanOf("workload: {dir: /x}\ncriteria: [p99:10ms, 'stalls@storage:0', 'Max < 1s', nonsense:1]\n");
  FillDefaults(plan);
  EXPECT_THAT(plan.criteria(), ElementsAre("p99<10ms", "stalls[all_hosts]==0", "Max < 1s", "nonsense:1"));
  v1::TestPlan reads =
      PlanOf("workload: {dir: /x}\nread: 100\ncriteria: [read_p99:10ms, 'Read_iops@qm >= 5', p50<1ms, 'Max < 1s']\n");
  FillDefaults(reads);
  EXPECT_THAT(reads.criteria(), ElementsAre("p99<10ms", "iops@qm>=5", "p50<1ms", "Max < 1s")) << "all are of reads";
  reads.set_read_percent(99);
  reads.set_criteria(0, "read_p99:10ms");
  FillDefaults(reads);
  EXPECT_EQ(reads.criteria(0), "read_p99<10ms");
  v1::TestPlan drill = PlanOf("workload: {dir: /x}\nha: {pairs: [a+b]}\ncriteria: [takeover_max:60s]\n");
  FillDefaults(drill);
  EXPECT_THAT(drill.criteria(), ElementsAre("takeover_max<60s"));
}

}  // namespace
}  // namespace plimsoll
