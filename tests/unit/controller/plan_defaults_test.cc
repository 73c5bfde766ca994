#include "controller/plan/plan_defaults.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/protocol.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using google::protobuf::util::MessageDifferencer;

v1::TestPlan TwoHosts() {
  v1::TestPlan plan;
  plan.mutable_workload()->set_dir("/mnt/a");
  plan.add_hosts()->set_address("alpha");
  v1::HostSpec& beta = *plan.add_hosts();
  beta.set_address("beta:70");
  beta.mutable_workload()->set_qm(4);
  return plan;
}

TEST(PlanDefaults, EveryRuleWithADefaultIsFilledIn) {
  v1::TestPlan plan;
  FillDefaults(plan);
  EXPECT_EQ(plan.workload().file_size_bytes(), 16U << 20U);
  EXPECT_EQ(plan.workload().num_files(), 3U);
  EXPECT_EQ(plan.workload().file_prefix(), "S");
  EXPECT_EQ(plan.workload().sync(), v1::SYNC_MODE_DSYNC);
  EXPECT_EQ(plan.workload().direct(), v1::DIRECT_MODE_AUTO);
  EXPECT_TRUE(plan.workload().has_delay_ns());
  ASSERT_EQ(plan.block_size_bytes_size(), 1);
  EXPECT_EQ(plan.block_size_bytes(0), 4096U);
  EXPECT_EQ(plan.duration_ns(), 10'000'000'000);
  EXPECT_EQ(plan.warmup_ns(), 2'000'000'000);
  EXPECT_EQ(plan.settle_ns(), 0);
  EXPECT_EQ(plan.workload().arrival(), v1::ARRIVAL_EVEN);
  EXPECT_TRUE(plan.has_read_percent());
  EXPECT_EQ(plan.read_percent(), 0U);
  EXPECT_EQ(plan.access(), v1::ACCESS_SEQUENTIAL);
  EXPECT_FALSE(plan.workload().has_min_free_bytes()) << "depends on the file system";
  EXPECT_FALSE(plan.has_seed());
  EXPECT_EQ(plan.lease_ns(), 10'000'000'000);
  EXPECT_EQ(plan.on_host_loss(), v1::HOST_LOSS_POLICY_CONTINUE);
  EXPECT_EQ(plan.trace(), v1::TOGGLE_ON);
  EXPECT_EQ(plan.trace_limit_bytes(), 1U << 30U);
  EXPECT_FALSE(plan.has_name());
  EXPECT_FALSE(plan.workload().has_dir());
  EXPECT_EQ(plan.hosts_size(), 0);
}

TEST(PlanDefaults, WhatWasGivenStays) {
  v1::TestPlan plan;
  plan.set_duration_ns(5);
  plan.add_block_size_bytes(512);
  plan.add_block_size_bytes(1024);
  plan.mutable_workload()->set_rate_per_second(0);
  FillDefaults(plan);
  EXPECT_EQ(plan.duration_ns(), 5);
  EXPECT_EQ(plan.block_size_bytes_size(), 2);
}

TEST(PlanDefaults, AHostKeepsOnlyWhatDiffers) {
  v1::TestPlan plan = TwoHosts();
  plan.mutable_hosts(0)->mutable_workload()->set_dir("/mnt/a");
  plan.mutable_hosts(1)->mutable_workload()->set_dir("/mnt/b");
  plan.mutable_hosts(1)->mutable_workload()->set_num_files(3);
  FillDefaults(plan);
  EXPECT_FALSE(plan.hosts(0).has_workload());
  EXPECT_EQ(plan.hosts(1).workload().dir(), "/mnt/b");
  EXPECT_EQ(plan.hosts(1).workload().qm(), 4U);
  EXPECT_FALSE(plan.hosts(1).workload().has_num_files()) << "3 is the default";
}

TEST(PlanDefaults, AddressesGetTheirPort) {
  v1::TestPlan plan = TwoHosts();
  FillDefaults(plan);
  EXPECT_EQ(plan.hosts(0).address(), "alpha:7461");
  EXPECT_EQ(plan.hosts(1).address(), "beta:70");
}

TEST(PlanDefaults, FillingInTwiceChangesNothing) {
  v1::TestPlan once = TwoHosts();
  FillDefaults(once);
  v1::TestPlan twice = once;
  FillDefaults(twice);
  EXPECT_TRUE(MessageDifferencer::Equals(once, twice));
}

TEST(PlanDefaults, AHostsOwnValuesLieOverThePlansOverTheDefaults) {
  v1::TestPlan plan = TwoHosts();
  plan.mutable_workload()->set_qm(2);
  plan.mutable_workload()->set_delay_ns(7);
  plan.mutable_hosts(1)->mutable_workload()->set_delay_ns(0);
  EXPECT_EQ(EffectiveWorkload(plan, 0).qm(), 2U);
  EXPECT_EQ(EffectiveWorkload(plan, 0).delay_ns(), 7);
  EXPECT_EQ(EffectiveWorkload(plan, 1).qm(), 4U);
  EXPECT_EQ(EffectiveWorkload(plan, 1).delay_ns(), 0);
  EXPECT_EQ(EffectiveWorkload(plan, 1).dir(), "/mnt/a");
  EXPECT_EQ(EffectiveWorkload(plan, 1).num_files(), 3U);
}

TEST(PlanDefaults, APlanWithoutHostsHasOneWorkload) {
  v1::TestPlan plan;
  plan.mutable_workload()->set_dir("/mnt/a");
  EXPECT_EQ(EffectiveWorkload(plan, 0).dir(), "/mnt/a");
  EXPECT_EQ(EffectiveWorkload(plan, 0).qm(), 1U);
}

TEST(PlanDefaults, DirectoriesOfTheirOwnCountTheQueueManagers) {
  v1::TestPlan plan;
  plan.mutable_workload()->add_qm_dirs("/a");
  plan.mutable_workload()->add_qm_dirs("/b");
  EXPECT_EQ(EffectiveWorkload(plan, 0).qm(), 2U);
  EXPECT_EQ(EffectiveWorkload(plan, 0).dir(), "/a") << "for what knows one directory";
  FillDefaults(plan);
  EXPECT_EQ(plan.workload().qm(), 2U);
  EXPECT_FALSE(plan.workload().has_dir());
  plan.mutable_workload()->set_qm(3);
  EXPECT_EQ(EffectiveWorkload(plan, 0).qm(), 3U) << "what was given stays, for the check to see";
}

TEST(PlanDefaults, AHostsOwnDirectoriesStandInPlaceOfThePlans) {
  v1::TestPlan plan = TwoHosts();
  plan.mutable_workload()->clear_dir();
  for (const char* dir : {"/a", "/b", "/c"}) plan.mutable_workload()->add_qm_dirs(dir);
  v1::LogWorkload& own = *plan.mutable_hosts(1)->mutable_workload();
  own.Clear();
  own.add_qm_dirs("/a");
  own.add_qm_dirs("/x");
  FillDefaults(plan);
  v1::TestPlan twice = plan;
  FillDefaults(twice);
  EXPECT_TRUE(MessageDifferencer::Equals(plan, twice));
  EXPECT_EQ(EffectiveWorkload(plan, 0).qm(), 3U);
  const v1::LogWorkload beta = EffectiveWorkload(plan, 1);
  EXPECT_EQ(beta.qm(), 2U);
  ASSERT_EQ(beta.qm_dirs_size(), 2);
  EXPECT_EQ(beta.qm_dirs(1), "/x");
  plan.mutable_hosts(1)->mutable_workload()->clear_qm_dirs();
  plan.mutable_hosts(1)->mutable_workload()->set_dir("/one");
  EXPECT_EQ(EffectiveWorkload(plan, 1).dir(), "/one");
  EXPECT_EQ(EffectiveWorkload(plan, 1).qm_dirs_size(), 0);
}

TEST(PlanSteps, BlockSizesInTheirOrderTheWholeListRepeated) {
  v1::TestPlan plan;
  plan.add_block_size_bytes(16384);
  plan.add_block_size_bytes(4096);
  plan.set_repeat(2);
  plan.set_duration_ns(5);
  plan.set_warmup_ns(3);
  FillDefaults(plan);
  const std::vector<v1::LogStep> steps = ExpandSteps(plan);
  ASSERT_EQ(steps.size(), 4U);
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].block_size_bytes(), i % 2 == 0 ? 16384U : 4096U);
    EXPECT_EQ(steps[i].repetition(), i / 2);
    EXPECT_EQ(steps[i].duration_ns(), 5);
    EXPECT_EQ(steps[i].warmup_ns(), 3);
  }
}

TEST(PlanSteps, MeasureThePartsOfAWriteWhereSomeHostHasASyncBehindIt) {
  v1::TestPlan plan = TwoHosts();
  FillDefaults(plan);
  for (const v1::LogStep& step : ExpandSteps(plan)) EXPECT_EQ(step.operations_size(), 0);
  plan.mutable_hosts(1)->mutable_workload()->set_sync(v1::SYNC_MODE_FDATASYNC);
  for (const v1::LogStep& step : ExpandSteps(plan)) {
    ASSERT_EQ(step.operations_size(), 3);
    EXPECT_EQ(step.operations(kSyncOperation).name(), "sync");
    EXPECT_EQ(step.operations(kMainOperation).kind(), v1::OPERATION_UNSPECIFIED);
    EXPECT_THAT(CheckOperations(step), IsOk());
  }
  v1::LogStep unknown;
  unknown.add_operations()->set_name("read");
  EXPECT_THAT(CheckOperations(unknown), StatusIs(absl::StatusCode::kInvalidArgument, "'read'"));
}

// Returns the names of the operations that a step measures.
std::vector<std::string> OperationsIn(const v1::LogStep& step) {
  std::vector<std::string> names;
  for (const v1::Operation& operation : step.operations()) names.push_back(operation.name());
  return names;
}

TEST(PlanSteps, ReadTheShareThatThePlanAsksForInItsOrder) {
  v1::TestPlan plan = TwoHosts();
  plan.set_repeat(2);
  FillDefaults(plan);
  for (const v1::LogStep& step : ExpandSteps(plan)) {
    EXPECT_EQ(step.read_percent(), 0U);
    EXPECT_FALSE(step.random_order());
  }
  plan.set_read_percent(30);
  plan.set_access(v1::ACCESS_RANDOM);
  ASSERT_EQ(ExpandSteps(plan).size(), 2U);
  for (const v1::LogStep& step : ExpandSteps(plan)) {
    EXPECT_EQ(step.read_percent(), 30U);
    EXPECT_TRUE(step.random_order());
    EXPECT_THAT(OperationsIn(step), ElementsAre("write", "read"));
    EXPECT_THAT(CheckOperations(step), IsOk());
  }
  plan.mutable_hosts(1)->mutable_workload()->set_sync(v1::SYNC_MODE_FDATASYNC);
  EXPECT_THAT(OperationsIn(ExpandSteps(plan)[1]), ElementsAre("write", "write_call", "sync", "read"));
  // Where nothing is written, a write has no parts.
  plan.set_read_percent(100);
  EXPECT_FALSE(MeasuresParts(plan));
  for (const v1::LogStep& step : ExpandSteps(plan)) {
    EXPECT_THAT(OperationsIn(step), ElementsAre("read"));
    EXPECT_THAT(CheckOperations(step), IsOk());
  }
  plan.set_read_percent(0);
  for (const v1::LogStep& step : ExpandSteps(plan)) {
    EXPECT_TRUE(step.random_order());
    EXPECT_THAT(OperationsIn(step), ElementsAre("write", "write_call", "sync"));
  }
}

TEST(PlanSteps, TheFirstStepOfAHostThatReadsHasTheListForAll) {
  v1::TestPlan plan = TwoHosts();
  plan.set_repeat(3);
  plan.set_read_percent(30);
  plan.set_access(v1::ACCESS_RANDOM);
  plan.set_seed(7);
  FillDefaults(plan);
  const v1::HostPlan host = MakeHostPlan(plan, 1, "beta", "7f3a21", std::string(16, 't'), 250'000'000);
  EXPECT_EQ(host.log().seed(), 7U);
  ASSERT_EQ(host.log().steps_size(), 3);
  for (const v1::LogStep& step : host.log().steps()) {
    EXPECT_EQ(step.read_percent(), 30U);
    EXPECT_TRUE(step.random_order());
    EXPECT_EQ(step.operations_size(), &step == &host.log().steps(0) ? 2 : 0);
  }
}

TEST(PlanSteps, ASearchReadsFromItsFirstStepOn) {
  v1::TestPlan plan = TwoHosts();
  plan.mutable_limit();
  plan.set_read_percent(30);
  plan.set_access(v1::ACCESS_RANDOM);
  FillDefaults(plan);
  ASSERT_EQ(ExpandSteps(plan).size(), 1U);
  EXPECT_EQ(ExpandSteps(plan).front().purpose(), v1::STEP_PURPOSE_PROBE);
  EXPECT_EQ(ExpandSteps(plan).front().read_percent(), 30U);
  EXPECT_TRUE(ExpandSteps(plan).front().random_order());
  EXPECT_THAT(OperationsIn(ExpandSteps(plan).front()), ElementsAre("write", "read"));
}

TEST(PlanSteps, ASearchMeasuresThePartsOfAWriteFromItsFirstStepOn) {
  v1::TestPlan plan = TwoHosts();
  plan.mutable_limit();
  FillDefaults(plan);
  ASSERT_EQ(ExpandSteps(plan).size(), 1U);
  EXPECT_EQ(ExpandSteps(plan).front().operations_size(), 0);
  plan.mutable_workload()->set_sync(v1::SYNC_MODE_FDATASYNC);
  ASSERT_EQ(ExpandSteps(plan).size(), 1U);
  EXPECT_EQ(ExpandSteps(plan).front().purpose(), v1::STEP_PURPOSE_PROBE);
  EXPECT_EQ(ExpandSteps(plan).front().operations_size(), 3);
}

TEST(HostPlan, HoldsEverythingThatTheAgentNeeds) {
  v1::TestPlan plan = TwoHosts();
  plan.set_keep_files(true);
  plan.set_trace(v1::TOGGLE_OFF);
  FillDefaults(plan);
  const v1::HostPlan host = MakeHostPlan(plan, 1, "beta", "7f3a21", std::string(16, 't'), 250'000'000);
  EXPECT_EQ(host.run_id(), "7f3a21");
  EXPECT_EQ(host.run_token(), std::string(16, 't'));
  EXPECT_EQ(host.host_label(), "beta");
  EXPECT_EQ(host.host_index(), 1U);
  EXPECT_EQ(host.lease_ns(), 10'000'000'000);
  EXPECT_EQ(host.frame_interval_ns(), 250'000'000);
  EXPECT_TRUE(host.keep_files());
  EXPECT_FALSE(host.log().trace());
  EXPECT_EQ(host.log().workload().qm(), 4U);
  EXPECT_EQ(host.log().workload().dir(), "/mnt/a");
  EXPECT_EQ(host.log().workload().file_size_bytes(), 16U << 20U);
  ASSERT_EQ(host.log().steps_size(), 1);
  EXPECT_EQ(host.log().steps(0).block_size_bytes(), 4096U);
}

TEST(HostPlan, ReportsWhatArrivalsDependOn) {
  v1::TestPlan plan = TwoHosts();
  plan.set_seed(77);
  FillDefaults(plan);
  const v1::HostPlan host = MakeHostPlan(plan, 1, "beta", "7f3a21", "", 250'000'000);
  EXPECT_EQ(host.log().workload().arrival(), v1::ARRIVAL_EVEN);
  EXPECT_EQ(host.log().hosts(), 2U);
  EXPECT_EQ(host.log().seed(), 77U);
  plan.clear_hosts();
  EXPECT_EQ(MakeHostPlan(plan, 0, "alpha", "7f3a21", "", 250'000'000).log().hosts(), 1U) << "this machine";
}

TEST(HostPlan, AgentsReportStallsFromWhatThePlanSaysOr100Milliseconds) {
  v1::TestPlan plan = TwoHosts();
  FillDefaults(plan);
  EXPECT_FALSE(plan.has_stall_ns()) << "not given stays not given: the writers' medians count then";
  EXPECT_EQ(MakeHostPlan(plan, 0, "alpha", "7f3a21", "", 250'000'000).log().stall_ns(), 100'000'000);
  plan.set_stall_ns(3'000'000);
  EXPECT_EQ(MakeHostPlan(plan, 0, "alpha", "7f3a21", "", 250'000'000).log().stall_ns(), 3'000'000);
}

}  // namespace
}  // namespace plimsoll
