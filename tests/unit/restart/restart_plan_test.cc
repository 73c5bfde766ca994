// What a plan of restart I/O asks for, and what is refused.
#include "controller/plan/restart_plan.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_schema.h"
#include "controller/report/run_kind.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

v1::TestPlan Read(const std::string& yaml) {
  v1::TestPlan plan = PlanOf(yaml);
  FillDefaults(plan);
  return plan;
}

std::vector<std::string> RestartProblemsOf(const std::string& yaml) {
  return ProblemsOf(PlanOf(yaml));
}

constexpr char kSides[] = "workload: {qm_dirs: [/san, /nfs1, /nfs2]}\n";

TEST(RestartPlan, HasThreeNumbersOfRecordsBothWaysAndFiveRoundsWhereNothingIsSaid) {
  const v1::TestPlan plan = Read(absl::StrCat(kSides, "restart_time: {}\n"));
  EXPECT_EQ(RunKindOf(plan), RunKind::kRestart);
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  EXPECT_THAT(RestartDirs(plan), ElementsAre("/san", "/nfs1", "/nfs2"));
  EXPECT_THAT(RestartRecords(plan, 2048), ElementsAre(500U, 1000U, 2000U));
  EXPECT_EQ(plan.restart_time().rounds(), 5U);
  const std::vector<v1::RestartTrial> cases = RestartCases(plan);
  ASSERT_EQ(cases.size(), 6U) << "no queue is loaded, and nothing is backed out";
  EXPECT_EQ(cases[0].redo().way(), v1::RESTART_REDO_WAY_COALESCED);
  EXPECT_EQ(cases[1].redo().way(), v1::RESTART_REDO_WAY_PER_RECORD);
  EXPECT_EQ(cases[0].redo().record_bytes(), 750U + 2048U);
  EXPECT_EQ(cases[0].redo().round_trips_per_record(), 2.4);
}

TEST(RestartPlan, CountsMayBeWrittenInThousandsAndMillions) {
  const v1::TestPlan plan =
      Read(absl::StrCat(kSides, "restart_time: {records: [500, 1k, 2K], depth: [0, 250k, 1m], uncommitted: [400k]}\n"));
  EXPECT_THAT(plan.restart_time().records(), ElementsAre(500U, 1000U, 2000U));
  EXPECT_THAT(plan.restart_time().depth(), ElementsAre(0U, 250'000U, 1'000'000U));
  EXPECT_THAT(plan.restart_time().uncommitted(), ElementsAre(400'000U));
  const google::protobuf::FieldDescriptor& records =
      *v1::RestartPlan::descriptor()->FindFieldByNumber(v1::RestartPlan::kRecordsFieldNumber);
  for (const char* wrong : {"k", "1kk", "1.5k", "1g", "-1k", "99m"}) {
    EXPECT_FALSE(ParseValue(records, wrong).ok()) << wrong;
  }
}

TEST(RestartPlan, TheShareOfTheLogSaysHowManyRecordsThereAre) {
  const v1::TestPlan plan = Read(
      "workload: {dir: /mq, file_size: 64m, num_files: 32}\n"
      "restart_time: {log_used: [5, 80%], message_size: [2k, 20k]}\n");
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  // 5 % of 2 GiB in records of 750 bytes and the message.
  EXPECT_THAT(RestartRecords(plan, 2048), ElementsAre(38'375U, 614'005U));
  EXPECT_THAT(RestartRecords(plan, 20480), ElementsAre(5'057U, 80'922U));
}

TEST(RestartPlan, TheFilesHoldTheLargestCase) {
  const v1::TestPlan plan = Read(absl::StrCat(
      kSides, "restart_time: {records: [500, 2000], queues: 10, depth: [0, 1000], uncommitted: [0, 30000]}\n"));
  const v1::RestartWork work = MakeRestartWork(plan);
  EXPECT_EQ(work.dirs_size(), 3);
  EXPECT_EQ(work.log_bytes(), 5'599'232U) << "2,000 records of 2,798 bytes in whole pages";
  EXPECT_EQ(work.metadata_bytes(), 131'072U) << "1,000 messages of 128 bytes, in whole pages";
  EXPECT_EQ(work.queue_bytes(), 4096U + 131'072U + 6'144'000U) << "3,000 messages of 2 KiB on each queue";
  const std::vector<v1::LogWorkload> filled = RestartFilledWorkloads(plan);
  ASSERT_EQ(filled.size(), 1U);
  EXPECT_EQ(filled[0].file_size_bytes(), work.log_bytes() + 10 * work.queue_bytes());
}

TEST(RestartPlan, ATransactionHasAMessageAtLeast) {
  const v1::TestPlan plan =
      Read(absl::StrCat(kSides, "restart_time: {uncommitted: [0, 20], transactions: [10, 3200, 20]}\n"));
  std::set<uint64_t> transactions;
  for (const v1::RestartTrial& each : RestartCases(plan)) {
    if (each.has_undo()) transactions.insert(each.undo().transactions());
  }
  EXPECT_THAT(transactions, ElementsAre(10U, 20U));
}

TEST(RestartPlan, WhatHasNoMeaningForItIsRefusedByName) {
  const std::string section = absl::StrCat(kSides, "restart_time: {}\n");
  EXPECT_THAT(RestartProblemsOf(section + "criteria: [p99<5ms]\n"), Contains(HasSubstr("a model and decides nothing")));
  EXPECT_THAT(RestartProblemsOf(section + "hosts: [node1, node2]\n"),
              Contains(HasSubstr("a queue manager restarts on one: name that one")));
  EXPECT_THAT(RestartProblemsOf(absl::StrCat(kSides, "restart_time: {records: [5], log_used: [5]}\n")),
              Contains(HasSubstr("are both given: the share of the log says")));
  EXPECT_THAT(RestartProblemsOf(absl::StrCat(kSides, "restart_time: {records: [5, 5]}\n")),
              Contains(HasSubstr("lists a value twice")));
  EXPECT_THAT(RestartProblemsOf("workload: {qm_dirs: [/san, /san]}\nrestart_time: {}\n"),
              Contains(HasSubstr("/san is listed twice")));
  EXPECT_THAT(RestartProblemsOf(section + "end_by: \"04:30\"\n"), Contains(HasSubstr("takes none; leave it out")));
  EXPECT_THAT(RestartProblemsOf(section + "ha: {pairs: [a+b]}\n"),
              Contains(HasSubstr("are both given: a plan is an HA drill")));
  EXPECT_THAT(RestartProblemsOf(absl::StrCat(kSides, "restart_time: {records: [10000000], message_size: [100m]}\n")),
              Contains(HasSubstr("ask for fewer records or smaller messages")));
}

}  // namespace
}  // namespace plimsoll
