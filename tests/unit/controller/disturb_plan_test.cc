// What a plan with disturbances may ask for, and what it is refused for.
#include "controller/plan/disturb_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_kinds.h"
#include "controller/plan/plan_yaml.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

constexpr char kDisturbed[] = R"(workload: {dir: /san}
duration: 60s
disturb:
  - name: controller takeover
    at: 10s
    do: [ssh, filer1, storage failover takeover]
    hold: 20s
    undo: [ssh, filer1, storage failover giveback]
  - at: 45s
    do: [/usr/local/bin/snapshot, "a b"]
)";

// Of kDisturbed with the first `what` replaced.
std::vector<std::string> ProblemsOfDisturbed(const std::string& what, const std::string& by) {
  std::string text = kDisturbed;
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return ProblemsOf(PlanOf(text.replace(at, what.size(), by)));
}

v1::TestPlan FilledDisturbed() {
  v1::TestPlan plan = PlanOf(kDisturbed);
  FillDefaults(plan);
  return plan;
}

TEST(DisturbPlan, KeysAreReadAndWhatIsNotGivenHasItsDefault) {
  EXPECT_THAT(ProblemsOf(PlanOf(kDisturbed)), IsEmpty());
  const v1::TestPlan plan = FilledDisturbed();
  EXPECT_EQ(PlanKindOf(plan).kind, RunKind::kDisturb);
  ASSERT_EQ(plan.disturb_size(), 2);
  EXPECT_THAT(plan.disturb(0).do_(), ElementsAre("ssh", "filer1", "storage failover takeover"));
  EXPECT_EQ(plan.disturb(0).command_limit_ns(), 60 * kNsPerSecond);
  EXPECT_EQ(plan.disturb(1).name(), "snapshot") << "the program without its path";
  EXPECT_FALSE(plan.disturb(1).has_hold_ns()) << "there is nothing to undo";
  EXPECT_EQ(ExpandSteps(plan).size(), 1U);
}

TEST(DisturbPlan, AFilledPlanIsTheSameOnceMoreAndAsResultsKeepIt) {
  const v1::TestPlan plan = FilledDisturbed();
  v1::TestPlan again = plan;
  FillDefaults(again);
  EXPECT_EQ(again.SerializeAsString(), plan.SerializeAsString());
  v1::TestPlan written = PlanOf(WritePlan(plan));
  FillDefaults(written);
  EXPECT_EQ(written.SerializeAsString(), plan.SerializeAsString());
}

TEST(DisturbPlan, WhatRunsAndWhenIsShownBeforeItIsAllowed) {
  EXPECT_THAT(DescribeDisturbances(FilledDisturbed()),
              ElementsAre("10s: controller takeover: runs on this machine, with --allow-commands: ssh filer1 'storage "
                          "failover takeover'; undone after 20s by: ssh filer1 'storage failover giveback'",
                          "45s: snapshot: runs on this machine, with --allow-commands: /usr/local/bin/snapshot 'a b'"));
  EXPECT_THAT(ForbiddenCommands(FilledDisturbed()), HasSubstr("pass --allow-commands"));
  EXPECT_EQ(ForbiddenCommands(PlanOf("workload: {dir: /san}")), "");
}

TEST(DisturbPlan, CommandsHaveToBeProgramsWithArguments) {
  EXPECT_THAT(ProblemsOfDisturbed("    do: [ssh, filer1, storage failover takeover]\n", ""),
              ElementsAre("disturb[1]: 'controller takeover' has no 'do': list the program and its arguments"));
  EXPECT_THAT(ProblemsOfDisturbed("[ssh, filer1, storage failover takeover]", "ssh filer1"),
              ElementsAre("disturb[1].do: 'ssh filer1' is not a program: commands run without a shell; list the "
                          "program and its arguments"));
  EXPECT_THAT(ProblemsOfDisturbed("    undo: [ssh, filer1, storage failover giveback]\n", ""),
              ElementsAre("disturb[1].hold 20s: 'controller takeover' has no 'undo' that would wait; give one, or "
                          "leave hold out"));
  EXPECT_THAT(ProblemsOfDisturbed("    at: 10s\n", ""), ElementsAre(HasSubstr("'controller takeover' has no 'at'")));
}

TEST(DisturbPlan, AProgramsNameMayHaveABlankWhereItHasArguments) {
  EXPECT_THAT(ProblemsOfDisturbed("[ssh, filer1, storage failover takeover]", "[/opt/my tools/takeover, filer1]"),
              IsEmpty());
}

TEST(DisturbPlan, WritesFromTheFirstDisturbanceOnHaveToFindRoom) {
  // 51 s x 240 blocks of 4 KiB, in 3 x 16 MiB.
  EXPECT_THAT(ProblemsOfDisturbed("{dir: /san}", "{dir: /san, rate: 240}"), IsEmpty());
  EXPECT_THAT(
      ProblemsOfDisturbed("{dir: /san}", "{dir: /san, rate: 241}"),
      ElementsAre("--file-size (workload.file_size) 16m x --num-files (workload.num_files) 3: 12,291 writes of each "
                  "queue manager from the first disturbance on would overwrite one another in 12,288 blocks, and a "
                  "lost one might not be found; use files of 49m or more together"));
  EXPECT_THAT(ProblemsOfDisturbed("{dir: /san}", "{dir: /san, rate: 241, num_files: 4}"), IsEmpty());
  EXPECT_THAT(ProblemsOfDisturbed("{dir: /san}\n", "{dir: /san}\nhosts: [a, {address: b, workload: {rate: 900}}]\n"),
              ElementsAre(HasSubstr(" 3 on b:7461: 45,900 writes")));
}

TEST(DisturbPlan, TheLoadIsSeenBeforeBetweenAndAfterDisturbances) {
  std::string early = kDisturbed;
  early.replace(early.find("at: 10s"), 7, "at: 4s");
  EXPECT_THAT(ReadPlan(early, "plan.yaml"), StatusIs(absl::StatusCode::kInvalidArgument, "from 5s"));
  EXPECT_THAT(ProblemsOfDisturbed("at: 45s", "at: 34s"),
              ElementsAre("disturb[2].at 34s of 'snapshot' is too early after 'controller takeover' at 10s with a hold "
                          "of 20s, and 5s to see what followed; use 35s or later"));
  EXPECT_THAT(ProblemsOfDisturbed("at: 45s", "at: 35s"), IsEmpty());
  EXPECT_THAT(ProblemsOfDisturbed("duration: 60s", "duration: 49s"),
              ElementsAre("--duration (duration) 49s is too short for 'snapshot' at 45s, and 5s to see what followed, "
                          "without the time that the commands take; use 50s or more"));
}

TEST(DisturbPlan, WhatMakesSeveralStepsOrOtherOperationsIsRefusedByItsKey) {
  const auto with = [](const std::string& line) { return ProblemsOf(PlanOf(absl::StrCat(kDisturbed, line, "\n"))); };
  EXPECT_THAT(with("block_size: [4k, 64k]"), ElementsAre(HasSubstr("--bsize (block_size): a run with disturbances")));
  EXPECT_THAT(with("repeat: 2"), ElementsAre(HasSubstr("--repeat (repeat) 2: a run with disturbances has one step")));
  EXPECT_THAT(with("until_steady: 10m"), ElementsAre(HasSubstr("a run with disturbances has one step; leave it out")));
  EXPECT_THAT(with("read: 30"), ElementsAre(HasSubstr("a run with disturbances only writes")));
  EXPECT_THAT(with("access: random"), ElementsAre(HasSubstr("a run with disturbances only writes")));
  EXPECT_THAT(with("block_size_mix: 4k=70,64k=30"), ElementsAre(HasSubstr("a run with disturbances takes no mix")));
  EXPECT_THAT(with("group_commit: {clients: 8}"), Contains(HasSubstr("a run with disturbances")));
  EXPECT_THAT(with("mq_log: {write_size: [4k], bandwidth_mb: [1]}"), Contains(HasSubstr("a run with disturbances")));
  EXPECT_THAT(ProblemsOfDisturbed("{dir: /san}", "{dir: /san, rate: [100, 200]}"),
              ElementsAre(HasSubstr("a run with disturbances takes one value")));
  EXPECT_THAT(ProblemsOfDisturbed("{dir: /san}", "{dir: /san, files: [F...]}"),
              Contains(HasSubstr("a run with disturbances")));
  EXPECT_THAT(with("limit: {}\ncriteria: [p99<1s]"),
              Contains("disturb: a search for the highest load takes none; give each its own plan"));
}

TEST(DisturbPlan, WritesThatAreAcknowledgedBeforeTheyAreStableAreRefused) {
  EXPECT_THAT(ProblemsOfDisturbed("{dir: /san}", "{dir: /san, sync: none}"),
              ElementsAre("--sync (workload.sync) none acknowledges writes that are not durable, so that a lost one "
                          "would show nothing; use dsync"));
  EXPECT_THAT(ProblemsOfDisturbed("{dir: /san}\n", "{dir: /san}\nhosts: [a, {address: b, workload: {sync: none}}]\n"),
              ElementsAre(HasSubstr("none on b:7461 acknowledges writes")));
  EXPECT_THAT(ProblemsOfDisturbed("{dir: /san}", "{dir: /san, sync: fdatasync}"), IsEmpty());
}

}  // namespace
}  // namespace plimsoll
