// What a report says of a search: the limit, what it is, and the curve.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/ascii.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/limit/limit_analysis.h"
#include "controller/plan/plan_defaults.h"
#include "controller/render/csv.h"
#include "controller/render/sections.h"
#include "controller/render/text.h"
#include "controller/timeline/timeline.h"
#include "tests/testing.h"
#include "tests/unit/limit/simulated_queue.h"

namespace plimsoll::tests {
namespace {

SimulatedSearch ThreeHosts() {
  SimulatedSearch search;
  search.queue = {3, 300'000};
  search.plan = SearchPlan("p99<2ms");
  return search;
}

std::string Text(const v1::Report& report) {
  std::string text;
  for (const std::vector<std::string>& part : kLimitTextSection.parts(report)) {
    for (const std::string& line : part) text += line + "\n";
  }
  return text;
}

TEST(LimitReport, ALimitThatAllHostsFeelIsTheStorages) {
  const v1::Report report = RunSearch(ThreeHosts());
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(report.limit().cause(), v1::LIMIT_CAUSE_STORAGE) << report.limit().cause_text();
  EXPECT_TRUE(report.limit().held());
  // Criteria at the answer, and the rate that it had to reach.
  ASSERT_EQ(report.verdict().criteria_size(), 2);
  EXPECT_EQ(report.verdict().criteria(0).step(), report.limit().step());
  const std::string text = Text(report);
  EXPECT_THAT(text, ContainsRegex("Limit +[0-9.,]+ writes/s per queue manager, [0-9.,]+ writes/s of all hosts, held"));
  EXPECT_THAT(text, HasSubstr("Cause     the storage: at "));
  EXPECT_THAT(text, HasSubstr("<- limit"));
  EXPECT_THAT(text, HasSubstr("The same of the host with the highest p99"));
  for (size_t from = 0; from < text.size();) {
    const size_t end = text.find('\n', from);
    EXPECT_LE(end - from, 80U + 16U) << text.substr(from, end - from);  // a dash takes three bytes
    from = end + 1;
  }
}

// After the first probe, the load of `first` itself: the step that the search asks for, and what it says that it will
// do.
struct NextStep {
  v1::LogStep first;
  v1::LogStep next;
  std::string outlook;
};

NextStep AfterFirstStep(const v1::TestPlan& plan, uint32_t rules) {
  LimitAnalysis analysis(plan, rules);
  NextStep result;
  result.first = ExpandSteps(plan).front();
  v1::JournalRecord record;
  record.mutable_host_joined()->set_label("node1");
  *record.mutable_host_joined()->mutable_plan()->mutable_log()->add_steps() = result.first;
  EXPECT_THAT(analysis.Take(record, Timeline()), IsOk());
  v1::StepReport step;
  step.set_number(1);
  step.set_purpose(result.first.purpose());
  const v1::GroupCommit& commits = result.first.group_commit();
  if (commits.has_clients()) step.set_clients(commits.clients());
  if (commits.has_load_factor()) step.set_load_factor(commits.load_factor());
  analysis.OnStep(step, {}, kNsPerSecond);
  const std::optional<v1::LogStep> next = analysis.NextStep();
  EXPECT_TRUE(next.has_value());
  if (next.has_value()) result.next = *next;
  result.outlook = analysis.NextStepOutlook()->text;
  return result;
}

TEST(LimitReport, ASearchOverClientsBeginsWithOneClientAndThenTakesAllOfThem) {
  v1::TestPlan plan;
  plan.mutable_workload()->set_dir("/mnt/mqlog");
  plan.add_criteria("commit_p99<5ms");
  plan.mutable_group_commit()->set_clients(300);
  plan.mutable_limit();
  FillDefaults(plan);
  const NextStep step = AfterFirstStep(plan, SimulatedSearch().verdict_rules);
  EXPECT_EQ(step.first.group_commit().clients(), 1U);
  EXPECT_EQ(step.next.purpose(), v1::STEP_PURPOSE_MAXIMUM);
  EXPECT_EQ(step.next.group_commit().clients(), 300U);
  EXPECT_EQ(step.next.group_commit().think_time_ns(), step.first.group_commit().think_time_ns());
  EXPECT_EQ(step.next.block_size_bytes(), 0U);
  EXPECT_EQ(step.outlook, "maximum: 300 clients per queue manager");
}

// A recording of 100 writes/s of each of three queue managers, on a server that does 3,333 writes/s.
SimulatedSearch RecordedSearch() {
  SimulatedSearch search;
  search.queue = {3, 300'000};
  search.recorded_per_second = 100;
  v1::TestPlan& plan = search.plan;
  plan.mutable_workload()->set_dir("/mnt/mqlog");
  plan.add_criteria("commit_p99<2ms");
  plan.set_duration_ns(20 * kNsPerSecond);
  plan.mutable_limit()->set_budget_ns(int64_t{24} * 3600 * kNsPerSecond);
  plan.mutable_group_commit()->set_pattern("/var/watched/pattern.plimsoll");
  plan.mutable_group_commit()->set_load_factor(20);
  FillDefaults(plan);
  return search;
}

TEST(LimitReport, ASearchOverTheLoadFactorFindsHowMuchOfTheRecordedLoadMeetsTheCriteria) {
  const SimulatedSearch search = RecordedSearch();
  const v1::Report report = RunSearch(search);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(report.limit().over(), v1::LIMIT_OVER_LOAD_FACTOR);
  const double truth = RateAt(search.queue, 0.01, 2'000'000) / search.recorded_per_second;
  EXPECT_NEAR(report.limit().limit(), truth, 0.06 * truth);
  EXPECT_TRUE(report.limit().held());
  ASSERT_GT(report.limit().points_size(), 2);
  EXPECT_EQ(report.limit().points(0).load(), 2) << "the first probe";
  EXPECT_EQ(report.limit().points(1).load(), 20) << "the maximum is the largest factor";
  const std::string text = Text(report);
  EXPECT_THAT(text, ContainsRegex("Limit +[0-9.]+ times the recorded load, [0-9.,]+ commits/s of all hosts, held"));
  EXPECT_THAT(text, ContainsRegex("per queue manager, at 20 times the recorded\n? +load"));
  EXPECT_THAT(text, ContainsRegex("at [0-9.]+ times the recorded load \\(step"));
  EXPECT_THAT(text, ContainsRegex("step +factor +commits/s"));
  EXPECT_THAT(text, HasSubstr("commit latency (simulated) in"));
  EXPECT_THAT(RenderCurveCsv(report), ::testing::StartsWith("step,load_factor,iops"));
}

TEST(LimitReport, AStepOverTheLoadFactorPlaysTheRecordingAtThatFactor) {
  const SimulatedSearch search = RecordedSearch();
  const NextStep step = AfterFirstStep(search.plan, search.verdict_rules);
  EXPECT_EQ(step.next.group_commit().load_factor(), 20);
  EXPECT_EQ(step.next.group_commit().pattern(), "pattern.plimsoll");
  EXPECT_FALSE(step.next.group_commit().has_clients());
  EXPECT_EQ(step.outlook, "maximum: 20 times the recorded load");
}

TEST(LimitReport, StepsOverQueueManagersHaveThePlansClients) {
  v1::TestPlan plan;
  plan.mutable_workload()->set_dir("/mnt/mqlog");
  plan.mutable_workload()->set_qm(4);
  plan.add_criteria("commit_p99<5ms");
  plan.mutable_group_commit()->set_clients(300);
  plan.mutable_limit()->set_over(v1::LIMIT_OVER_QM);
  FillDefaults(plan);
  LimitAnalysis analysis(plan, SimulatedSearch().verdict_rules);
  v1::JournalRecord record;
  record.mutable_host_joined()->set_label("node1");
  *record.mutable_host_joined()->mutable_plan()->mutable_log()->add_steps() = ExpandSteps(plan).front();
  ASSERT_THAT(analysis.Take(record, Timeline()), IsOk());
  analysis.OnStep(v1::StepReport(), {}, kNsPerSecond);
  const std::optional<v1::LogStep> next = analysis.NextStep();
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->group_commit().clients(), 300U);
  EXPECT_EQ(next->block_size_bytes(), 0U);
  EXPECT_THAT(CheckOperations(*next), IsOk());
}

TEST(LimitReport, APlantedLimitOfTheLoadGeneratorIsInconclusiveAndNamed) {
  SimulatedSearch search = ThreeHosts();
  // node2 has no CPU left from 300 writes/s on, and its writers feel it.
  search.plant = [](v1::StepReport& report) {
    if (report.rate_per_second() < 300) return;
    v1::HostLoadReport& load = *report.add_load();
    load.set_host("node2");
    load.set_writer_cpu_wait_percent(31);
    load.set_bottleneck("its writers waited 31.0 % of their time for a CPU");
  };
  const v1::Report report = RunSearch(search);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(report.limit().cause(), v1::LIMIT_CAUSE_LOAD_GENERATOR);
  EXPECT_EQ(report.limit().host(), "node2");
  ASSERT_FALSE(report.verdict().reasons().empty());
  EXPECT_THAT(report.verdict().reasons(0),
              AllOf(HasSubstr("the load generator on node2 may be CPU-bound: its writers waited 31.0 %"),
                    HasSubstr("the result is a lower bound")));
  EXPECT_THAT(Text(report), HasSubstr("Limit     at least "));
}

void PlantBottleneck(v1::StepReport& report) {
  v1::HostLoadReport& load = *report.add_load();
  load.set_host("node1");
  load.set_bottleneck("its writers waited 69.7 % of their time for a CPU");
}

TEST(LimitReport, LoadsThatTheLoadGeneratorKeptUndecidedAreItsLimit) {
  SimulatedSearch search = ThreeHosts();
  search.plan.mutable_limit()->set_budget_ns(400 * kNsPerSecond);
  // Its steps end early.
  search.plant = [](v1::StepReport& report) {
    if (report.purpose() != v1::STEP_PURPOSE_SEARCH) return;
    report.set_measured_ns(report.duration_ns() / 2);
    PlantBottleneck(report);
  };
  const v1::Report report = RunSearch(search);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_FALSE(report.limit().has_exceeded_at());
  EXPECT_EQ(report.limit().cause(), v1::LIMIT_CAUSE_LOAD_GENERATOR) << report.limit().cause_text();
  EXPECT_EQ(report.limit().host(), "node1");
}

TEST(LimitReport, AProbeWhoseLoadGeneratorWasBusyIsNotTheCauseOfUndecidedLoads) {
  SimulatedSearch search = ThreeHosts();
  search.plan.mutable_limit()->set_budget_ns(400 * kNsPerSecond);
  // Its steps end early.
  search.plant = [](v1::StepReport& report) {
    if (report.purpose() == v1::STEP_PURPOSE_MAXIMUM) return;
    report.set_measured_ns(report.duration_ns() / 2);
    if (report.purpose() == v1::STEP_PURPOSE_PROBE) PlantBottleneck(report);
  };
  const v1::Report report = RunSearch(search);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_FALSE(report.limit().has_exceeded_at());
  EXPECT_NE(report.limit().cause(), v1::LIMIT_CAUSE_LOAD_GENERATOR) << report.limit().cause_text();
}

// Of queue managers that each wait for all others: n x 300 us.
SimulatedSearch OverQueueManagers(const std::string& criterion) {
  SimulatedSearch search = ThreeHosts();
  search.plan = SearchPlan(criterion);
  search.plan.mutable_workload()->set_qm(6);
  search.plan.mutable_workload()->clear_arrival();
  search.plan.mutable_limit()->set_over(v1::LIMIT_OVER_QM);
  FillDefaults(search.plan);
  search.queue.writers = 6;
  return search;
}

TEST(LimitReport, QueueManagersThatWaitForACpuShowNoLoadThatTheStorageBears) {
  // Nothing exceeds the criterion; the second one is met at the answer alone by queue managers that waited.
  for (const char* const criterion : {"p50<1s", "p50<1ms"}) {
    SimulatedSearch search = OverQueueManagers(criterion);
    const bool nothing_exceeds = std::string(criterion) == "p50<1s";
    search.plant = [nothing_exceeds](v1::StepReport& report) {
      if (nothing_exceeds || report.purpose() == v1::STEP_PURPOSE_HOLD) PlantBottleneck(report);
    };
    const v1::Report report = RunSearch(search);
    EXPECT_EQ(report.limit().limit(), nothing_exceeds ? 6 : 3);
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE) << criterion;
    EXPECT_EQ(report.limit().cause(), v1::LIMIT_CAUSE_LOAD_GENERATOR) << report.limit().cause_text();
    EXPECT_EQ(report.limit().host(), "node1");
    EXPECT_THAT(Text(report), HasSubstr("Limit     at least "));
  }
}

TEST(LimitReport, ARateThatIsReachedIsReachedWhateverItsHostWaitedFor) {
  SimulatedSearch search = ThreeHosts();
  search.plant = [](v1::StepReport& report) {
    if (report.purpose() == v1::STEP_PURPOSE_HOLD) PlantBottleneck(report);
  };
  EXPECT_EQ(RunSearch(search).verdict().outcome(), v1::OUTCOME_PASS);
}

TEST(LimitReport, AnAnswerInTheWakeOfAnOverloadIsInconclusiveAndMarked) {
  SimulatedSearch search = ThreeHosts();
  // From the first overload of the search on, low rates are slow.
  search.plant = [](v1::StepReport& report) {
    if (report.purpose() != v1::STEP_PURPOSE_PROBE || report.number() < 6) return;
    for (v1::ScopeReport& scope : *report.mutable_scopes()) {
      if (scope.has_rate()) scope.mutable_rate()->mutable_response()->set_p50_ns(90'000'000);
    }
  };
  const v1::Report report = RunSearch(search);
  EXPECT_TRUE(report.limit().held());
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  ASSERT_FALSE(report.verdict().reasons().empty());
  EXPECT_THAT(report.verdict().reasons(0), HasSubstr("although the storage had not recovered"));
  EXPECT_THAT(Text(report), AllOf(HasSubstr("met*"), HasSubstr("* measured although the storage had not recovered")));
  EXPECT_THAT(RenderCurveCsv(report), ContainsRegex(",no,p99<2ms,"));
}

TEST(LimitReport, APercentileOfTooFewWritesNamesNoHost) {
  SimulatedSearch search = ThreeHosts();
  search.plant = [](v1::StepReport& report) {
    for (v1::ScopeReport& scope : *report.mutable_scopes()) {
      if (scope.kind() == v1::SCOPE_KIND_HOST && scope.has_rate()) {
        scope.mutable_rate()->mutable_response()->add_thin("p99");
      }
    }
  };
  const v1::Report report = RunSearch(search);
  EXPECT_EQ(report.limit().cause(), v1::LIMIT_CAUSE_UNDETERMINED);
  EXPECT_THAT(report.limit().cause_text(), HasSubstr("too few writes for p99"));
  for (const v1::LimitPoint* const point : LimitCurve(report.limit())) EXPECT_EQ(point->worst_host(), "");
}

TEST(LimitReport, ALoadMeetsAndExceedsTheCriteriaOnlyBeyondChance) {
  const v1::Report report = RunSearch(ThreeHosts());
  int undecided = 0;
  for (const v1::LimitPoint& point : report.limit().points()) {
    if (point.purpose() != v1::STEP_PURPOSE_SEARCH) continue;
    ASSERT_TRUE(point.has_confidence());
    const v1::LimitConfidence& confidence = point.confidence();
    EXPECT_EQ(confidence.criterion(), "p99<2ms");
    EXPECT_NEAR(confidence.allowed_percent(), 1, 1e-9);
    EXPECT_LE(confidence.low_percent(), confidence.beyond_percent());
    EXPECT_GE(confidence.high_percent(), confidence.beyond_percent());
    if (point.state() == v1::LIMIT_STATE_MEETS) {
      EXPECT_LE(confidence.high_percent(), confidence.allowed_percent());
    }
    if (point.state() == v1::LIMIT_STATE_UNDECIDED) ++undecided;
  }
  EXPECT_GE(undecided, 1);
  EXPECT_THAT(Text(report), HasSubstr("Writes beyond a criterion's limit, where most are"));
  EXPECT_THAT(RenderCurveCsv(report),
              HasSubstr(",recovered,limit,beyond_percent,beyond_low_percent,beyond_high_percent,beyond_allowed_percent,"
                        "average_ns,average_low_ns,average_high_ns,average_allowed_ns\r\n"));
}

TEST(LimitReport, AJournalOfAnOlderVersionIsJudgedWithoutIntervals) {
  SimulatedSearch search = ThreeHosts();
  const v1::Report now = RunSearch(search);
  search.verdict_rules = 2;
  const v1::Report older = RunSearch(search);
  EXPECT_EQ(older.verdict().outcome(), v1::OUTCOME_PASS);
  for (const v1::LimitPoint& point : older.limit().points()) EXPECT_FALSE(point.has_confidence());
  // Both measure the same until a load is met or exceeded that the interval leaves undecided.
  int same = 0;
  while (same < std::min(now.limit().points_size(), older.limit().points_size()) &&
         now.limit().points(same).state() == older.limit().points(same).state()) {
    ++same;
  }
  ASSERT_LT(same, std::min(now.limit().points_size(), older.limit().points_size()));
  EXPECT_EQ(now.limit().points(same).load(), older.limit().points(same).load());
  EXPECT_EQ(now.limit().points(same).state(), v1::LIMIT_STATE_UNDECIDED);
}

TEST(LimitReport, TheLimitAndTheKneeMayBeOneLoad) {
  v1::Report report = RunSearch(ThreeHosts());
  report.mutable_limit()->set_knee(report.limit().limit());
  EXPECT_THAT(Text(report), HasSubstr("<- limit, knee"));
}

TEST(LimitReport, LoadsHaveOneStyleOfDigitsAndEachEndOfTheIntervalIsNamed) {
  v1::Report report = RunSearch(ThreeHosts());
  report.mutable_limit()->set_limit(1538);
  report.mutable_limit()->set_exceeded_at(1923);
  report.mutable_limit()->set_knee(307.6);
  report.mutable_limit()->set_iops(3076);
  std::string text = Text(report);
  absl::RemoveExtraAsciiWhitespace(&text);
  EXPECT_THAT(text,
              AllOf(HasSubstr("Limit 1,538 writes/s per queue manager, 3,076 writes/s of all hosts, held"),
                    HasSubstr("Interval from 1,538 to 1,923 writes/s per queue manager; 1,538 meets the criteria, "
                              "1,923 exceeds them"),
                    HasSubstr("Knee 307.6 writes/s per queue manager")));
}

TEST(LimitReport, OneHostThatIsSlowByItselfIsItsPath) {
  SimulatedSearch search = ThreeHosts();
  search.plant = [](v1::StepReport& report) {
    for (v1::ScopeReport& scope : *report.mutable_scopes()) {
      if (scope.kind() != v1::SCOPE_KIND_HOST || scope.host() != "node3" || !scope.has_rate()) continue;
      v1::LatencyReport& response = *scope.mutable_rate()->mutable_response();
      response.set_p99_ns(response.p99_ns() * 5);
    }
    // The others would be well at any load.
    for (v1::ScopeReport& scope : *report.mutable_scopes()) {
      if (scope.kind() == v1::SCOPE_KIND_HOST && scope.host() != "node3" && scope.has_rate()) {
        scope.mutable_rate()->mutable_response()->set_p99_ns(500'000);
      }
    }
  };
  const v1::Report report = RunSearch(search);
  EXPECT_EQ(report.limit().cause(), v1::LIMIT_CAUSE_HOST_PATH) << report.limit().cause_text();
  EXPECT_EQ(report.limit().host(), "node3");
}

// Three hosts whose syncs are the limit, and what the plant makes of their figures for the cause.
SimulatedSearch SlowSyncs(const std::function<void(v1::OperationScopeReport& host)>& plant) {
  SimulatedSearch search = ThreeHosts();
  search.plan = SearchPlan("sync_p99<600us");
  search.plan.mutable_workload()->set_sync(v1::SYNC_MODE_FDATASYNC);
  search.plant = [plant](v1::StepReport& report) {
    for (v1::OperationReport& operation : *report.mutable_operations()) {
      if (operation.name() != "sync") continue;
      for (v1::OperationScopeReport& scope : *operation.mutable_scopes()) plant(scope);
    }
  };
  return search;
}

TEST(LimitReport, TheCauseOfSlowSyncsIsReadFromTheSyncs) {
  const v1::Report storage = RunSearch(SlowSyncs([](v1::OperationScopeReport& /*scope*/) {}));
  EXPECT_EQ(storage.limit().cause(), v1::LIMIT_CAUSE_STORAGE) << storage.limit().cause_text();
  EXPECT_THAT(storage.limit().cause_text(), HasSubstr("all 3 hosts are affected, sync_p99 from "));
  // The writes of all hosts are alike.
  const v1::Report path = RunSearch(SlowSyncs([](v1::OperationScopeReport& scope) {
    scope.mutable_latency()->set_p99_ns(scope.host() == "node3" ? 5'000'000U : 100'000U);
  }));
  EXPECT_EQ(path.limit().cause(), v1::LIMIT_CAUSE_HOST_PATH) << path.limit().cause_text();
  EXPECT_EQ(path.limit().host(), "node3");
  EXPECT_THAT(path.limit().cause_text(), HasSubstr("node3 has a sync_p99 of 5.000 ms"));
}

// The reads' service times, and the writes, are the same on all hosts.
TEST(LimitReport, TheCauseOfSlowReadsIsReadFromWhatTheirCallersFelt) {
  SimulatedSearch search = ThreeHosts();
  search.plan = SearchPlan("read_p99<2ms");
  search.plan.set_read_percent(40);
  const v1::Report storage = RunSearch(search);
  EXPECT_EQ(storage.limit().cause(), v1::LIMIT_CAUSE_STORAGE) << storage.limit().cause_text();
  EXPECT_THAT(storage.limit().cause_text(), HasSubstr("all 3 hosts are affected, read_p99 from "));
  search.plant = [](v1::StepReport& report) {
    for (v1::OperationScopeReport& scope : *report.mutable_operations(0)->mutable_scopes()) {
      if (!scope.has_response() || scope.kind() != v1::SCOPE_KIND_HOST) continue;
      scope.mutable_response()->set_p99_ns(scope.host() == "node3" ? 5'000'000U : 100'000U);
    }
  };
  const v1::Report path = RunSearch(search);
  EXPECT_EQ(path.limit().cause(), v1::LIMIT_CAUSE_HOST_PATH) << path.limit().cause_text();
  EXPECT_EQ(path.limit().host(), "node3");
  EXPECT_THAT(path.limit().cause_text(), HasSubstr("node3 has a read_p99 of 5.000 ms"));
}

TEST(LimitReport, HostsWithoutASyncBehindEachWriteAreNotComparedByIt) {
  SimulatedSearch search = SlowSyncs([](v1::OperationScopeReport& /*scope*/) {});
  for (const int hosts : {1, 2}) {
    search.plant = [hosts](v1::StepReport& report) {
      for (v1::OperationReport& operation : *report.mutable_operations()) {
        while (operation.scopes_size() > 2 * hosts) operation.mutable_scopes()->RemoveLast();
      }
    };
    const v1::Report report = RunSearch(search);
    EXPECT_EQ(report.limit().cause(), hosts == 1 ? v1::LIMIT_CAUSE_UNDETERMINED : v1::LIMIT_CAUSE_STORAGE);
    EXPECT_THAT(report.limit().cause_text(),
                HasSubstr(hosts == 1 ? ": no other host measures the sync"
                                     : "both hosts that measure the sync are affected, sync_p99 from "));
  }
}

TEST(LimitReport, OneHostAloneCannotDistinguishTheStorageFromItsPath) {
  SimulatedSearch search = ThreeHosts();
  search.queue.writers = 1;
  const v1::Report report = RunSearch(search);
  EXPECT_EQ(report.limit().cause(), v1::LIMIT_CAUSE_UNDETERMINED);
  EXPECT_THAT(report.limit().cause_text(), HasSubstr("one host alone"));
  EXPECT_THAT(Text(report), Not(HasSubstr("The same of the host")));
}

TEST(LimitReport, CriteriaThatTheLowestLoadExceedsFail) {
  SimulatedSearch search = ThreeHosts();
  search.plan = SearchPlan("p99<200us");  // less than one write takes
  const v1::Report report = RunSearch(search);
  EXPECT_EQ(report.limit().limit(), 0);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL);
  ASSERT_FALSE(report.verdict().criteria().empty());
  EXPECT_EQ(report.verdict().criteria(0).outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(Text(report), HasSubstr("no load was shown to meet the criteria"));
}

TEST(LimitReport, AnAnswerThatWasNotHeldIsInconclusive) {
  SimulatedSearch search = ThreeHosts();
  // Each hold is disturbed, from the first to the last.
  search.plant = [](v1::StepReport& report) {
    if (report.purpose() == v1::STEP_PURPOSE_HOLD) report.set_cut_short("interrupted");
  };
  search.plan.mutable_limit()->set_budget_ns(3000 * kNsPerSecond);
  const v1::Report report = RunSearch(search);
  EXPECT_FALSE(report.limit().held());
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
}

TEST(LimitReport, TheCurveRisesFromATenthToTheLimitInCsvToo) {
  const v1::Report report = RunSearch(ThreeHosts());
  const auto curve = LimitCurve(report.limit());
  ASSERT_GE(curve.size(), 7U);
  EXPECT_NEAR(curve.front()->load() / report.limit().limit(), 0.1, 0.03);
  EXPECT_TRUE(std::is_sorted(curve.begin(), curve.end(), [](auto* a, auto* b) { return a->load() < b->load(); }));
  // Latency rises with the load, from the lowest to the highest point.
  EXPECT_LT(curve.front()->cluster().p99_ns(), curve.back()->cluster().p99_ns());
  EXPECT_THAT(report.limit().knee(), AllOf(Ge(0.2 * report.limit().limit()), Le(report.limit().limit())));
  const std::string csv = RenderCurveCsv(report);
  EXPECT_THAT(csv, ::testing::StartsWith("step,rate_per_queue_manager,iops,criteria,worst_host,cluster_avg_ns,"));
  EXPECT_EQ(static_cast<size_t>(std::count(csv.begin(), csv.end(), '\n')), curve.size() + 1);
}

TEST(LimitReport, QueueManagersAreALoadToo) {
  const v1::Report report = RunSearch(OverQueueManagers("p50<1ms"));
  EXPECT_EQ(report.limit().limit(), 3);
  EXPECT_EQ(report.limit().exceeded_at(), 4);
  EXPECT_THAT(Text(report), HasSubstr("Limit     3 queue managers per host"));
}

}  // namespace
}  // namespace plimsoll::tests
