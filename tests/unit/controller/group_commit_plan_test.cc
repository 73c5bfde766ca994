#include "controller/plan/group_commit_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_yaml.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

constexpr char kClients[] = "workload: {dir: /mnt/x}\ngroup_commit: {clients: 60}\n";

v1::TestPlan FilledClients(const std::string& more = "") {
  v1::TestPlan plan = PlanOf(absl::StrCat(kClients, more));
  FillDefaults(plan);
  return plan;
}

TEST(GroupCommitPlan, MakesOneStepThatMeasuresCommits) {
  const v1::TestPlan plan = FilledClients();
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  const std::vector<v1::LogStep> steps = ExpandSteps(plan);
  ASSERT_THAT(steps, SizeIs(1));
  EXPECT_EQ(steps[0].block_size_bytes(), 0U);
  EXPECT_EQ(steps[0].group_commit().clients(), 60U);
  EXPECT_EQ(steps[0].group_commit().message_size_bytes(), 2048U);
  EXPECT_EQ(steps[0].group_commit().think_time_ns(), 38'000);
  EXPECT_EQ(steps[0].group_commit().log_buffer_pages(), 512U);
  EXPECT_EQ(steps[0].group_commit().log_write_integrity(), v1::LOG_WRITE_INTEGRITY_TRIPLEWRITE);
  EXPECT_EQ(CommitOperationOf(steps[0]), 1U);
  EXPECT_THAT(CheckOperations(steps[0]), IsOk());
  EXPECT_EQ(plan.trace(), v1::TOGGLE_OFF);
}

TEST(GroupCommitPlan, MeasuresThePartsOfWritesBesideCommits) {
  v1::TestPlan plan = PlanOf("workload: {dir: /x, sync: fdatasync}\ngroup_commit: {clients: 2}\n");
  FillDefaults(plan);
  const v1::LogStep step = ExpandSteps(plan)[0];
  EXPECT_EQ(CommitOperationOf(step), kSyncOperation + 1);
  EXPECT_EQ(KnownOperations(step), kSyncOperation + 2);
  EXPECT_THAT(CheckOperations(step), IsOk());
}

TEST(GroupCommitPlan, ReadsBackAsItIsWritten) {
  const v1::TestPlan plan = FilledClients();
  const std::string text = WritePlan(plan);
  v1::TestPlan again = PlanOf(text);
  FillDefaults(again);
  EXPECT_EQ(WritePlan(again), text);
  EXPECT_THAT(ProblemsOf(again), IsEmpty());
}

TEST(GroupCommitPlan, AnOpenLoopHasNoThinkTime) {
  v1::TestPlan plan = PlanOf("workload: {dir: /x}\ngroup_commit: {clients: 10, client_rate: 100}\n");
  FillDefaults(plan);
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  EXPECT_FALSE(plan.group_commit().has_think_time_ns());
}

TEST(GroupCommitPlan, SaysWhatItDoesNotGoWith) {
  const auto refused = [](const std::string& yaml, const std::string& text) {
    EXPECT_THAT(ProblemsOf(PlanOf(yaml)), Contains(HasSubstr(text))) << yaml;
  };
  const std::string clients = "group_commit: {clients: 2}\n";
  const std::string dir = "workload: {dir: /x}\n";
  refused(dir + clients + "block_size: [64k]\n", "--bsize (block_size) are both given: commits make the size");
  refused(dir + clients + "block_size_mix: 4k=70,64k=30\n", "--bsize-mix (block_size_mix) are both given");
  refused(dir + clients + "read: 30\n", "--read-percent (read) are both given: a log is only written");
  refused(dir + clients + "access: random\n", "--access random (access) are both given: a log has an order");
  refused(dir + clients + "trace: on\n", "--trace on (trace) are both given");
  refused("workload: {dir: /x, rate: 100}\n" + clients, "--rate (workload.rate) are both given: clients set the pace");
  refused("workload: {dir: /x, rate: [0, 100]}\n" + clients, "--rate (workload.rate) are both given");
  refused("workload: {dir: /x, delay: 5}\n" + clients, "--delay (workload.delay) are both given");
  refused("workload: {dir: /x, files: [F]}\n" + clients, "--files (workload.files) are both given");
  refused("workload: {dir: /x, file_size: 64k}\n" + clients, "too small for a log: use 256k");
  refused(dir + "group_commit: {clients: 2, think_time: 1ms, client_rate: 5}\n", "either wait for their commits");
  refused(dir + "group_commit: {message_size: 4k}\n", "--clients (group_commit.clients) is missing");
  refused(dir + "group_commit: {clients: 10000, client_rate: 1000}\n", "more than 1,000,000 commits/s");
  refused(dir + "criteria: [commit_p99<5ms]\n", "no clients are simulated");
  refused(dir + "limit: {over: clients}\ncriteria: [p99<5ms]\n", "needs --clients");
  refused(dir + clients + "limit: {over: rate}\ncriteria: [commit_p99<5ms]\n", "search with --over clients");
  refused(dir + clients + "ha: {pairs: [a+b]}\n", "an HA drill takes no clients");
}

TEST(GroupCommitPlan, SaysWhatItDoesNotGoWithOnce) {
  const std::string clients = "workload: {dir: /x}\ngroup_commit: {clients: 2}\n";
  EXPECT_THAT(ProblemsOf(PlanOf(clients + "block_size_mix: 4k=70,64k=30\n")), SizeIs(1));
  EXPECT_THAT(ProblemsOf(PlanOf(clients + "mq_log: {write_size: [4096], bandwidth_mb: [1]}\n")),
              ElementsAre(HasSubstr("makes writes of many sizes")));
}

TEST(GroupCommitPlan, ASearchIsOverClientsAndStartsWithOne) {
  const v1::TestPlan plan = FilledClients("limit: {budget: 30m}\ncriteria: [commit_p99<5ms]\n");
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  EXPECT_EQ(plan.limit().over(), v1::LIMIT_OVER_CLIENTS);
  const std::vector<v1::LogStep> steps = ExpandSteps(plan);
  ASSERT_THAT(steps, SizeIs(1));
  EXPECT_EQ(steps[0].group_commit().clients(), 1U);
  EXPECT_EQ(steps[0].group_commit().think_time_ns(), 38'000);
  EXPECT_EQ(steps[0].block_size_bytes(), 0U);
}

TEST(GroupCommitPlan, NotesWhatTheOtherIntegritiesMean) {
  const auto notes = [](const std::string& integrity) {
    return PlanNotes(PlanOf(
        absl::StrCat("workload: {dir: /x}\ngroup_commit: {clients: 2, log_write_integrity: ", integrity, "}\n")));
  };
  EXPECT_THAT(notes("TripleWrite"), IsEmpty());
  EXPECT_THAT(notes("DoubleWrite"), ElementsAre(HasSubstr("simulated as TripleWrite")));
  EXPECT_THAT(notes("SingleWrite"), ElementsAre(HasSubstr("atomically, which is not tested")));
}

}  // namespace
}  // namespace plimsoll
