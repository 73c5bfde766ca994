#include "controller/plan/watch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_yaml.h"
#include "controller/report/main_operation.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

constexpr char kQm1[] = "watch: {queue_managers: [QM1]}\n";

v1::TestPlan FilledWatch(const std::string& yaml) {
  v1::TestPlan plan = PlanOf(yaml);
  FillDefaults(plan);
  return plan;
}

std::vector<std::string> WatchProblemsOf(const std::string& yaml) {
  return ProblemsOf(PlanOf(yaml));
}

TEST(WatchPlan, HasDefaultsOfItsOwnAndNoneOfWriting) {
  const v1::TestPlan plan = FilledWatch(kQm1);
  EXPECT_EQ(plan.duration_ns(), 60 * kNsPerSecond);
  EXPECT_EQ(plan.warmup_ns(), 0);
  EXPECT_EQ(plan.watch().max_overhead_percent(), 1);
  EXPECT_FALSE(plan.watch().profile());
  EXPECT_EQ(plan.watch().until_idle_ns(), 0);
  EXPECT_FALSE(plan.has_workload());
  EXPECT_THAT(plan.block_size_bytes(), IsEmpty());
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  v1::TestPlan again = plan;
  FillDefaults(again);
  EXPECT_EQ(again.SerializeAsString(), plan.SerializeAsString());
}

TEST(WatchPlan, HasOneStepWithTheLogBeforeTheCalls) {
  const std::vector<v1::LogStep> steps =
      ExpandSteps(FilledWatch("watch: {queue_managers: [QM1], calls: [mqput, libx.so:Commit]}\n"));
  ASSERT_THAT(steps, SizeIs(1));
  EXPECT_EQ(steps[0].block_size_bytes(), 0U);
  ASSERT_EQ(steps[0].operations_size(), 3);
  EXPECT_EQ(steps[0].operations(0).name(), "write");
  EXPECT_EQ(steps[0].operations(0).kind(), v1::OPERATION_UNSPECIFIED);
  EXPECT_EQ(steps[0].operations(1).name(), "MQPUT");
  EXPECT_EQ(steps[0].operations(2).name(), "Commit");
  EXPECT_EQ(steps[0].operations(2).kind(), v1::OPERATION_CALL);
}

TEST(WatchPlan, OfCallsAloneTheFirstIsTheMainOperation) {
  const v1::TestPlan plan = FilledWatch("watch: {pid: 4711, calls: [MQGET, MQCMIT]}\ncriteria: [\"mqget_p99<5ms\"]\n");
  EXPECT_EQ(ExpandSteps(plan)[0].operations(0).name(), "MQGET");
  EXPECT_EQ(MainOperation(plan), "MQGET");
  EXPECT_EQ(MainOperations(plan), "MQGET calls");
  EXPECT_THAT(plan.criteria(), ElementsAre("p99<5ms")) << "the main operation has no name in criteria";
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
}

TEST(WatchPlan, GoesToEachHostAsAWatch) {
  const v1::TestPlan plan = FilledWatch("hosts: node[1-2]\nwatch: {queue_managers: [QM1, QM2]}\n");
  const v1::HostPlan host = MakeHostPlan(plan, 1, "node2", "7f3a21", std::string(16, 'x'), 250 * kNsPerMs);
  ASSERT_TRUE(host.has_watch());
  EXPECT_THAT(host.watch().watch().queue_managers(), ElementsAre("QM1", "QM2"));
  EXPECT_EQ(host.watch().steps_size(), 1);
  EXPECT_TRUE(host.watch().trace());
  EXPECT_EQ(host.watch().stall_ns(), kUsualStallNs);
  EXPECT_EQ(EffectiveWorkload(plan, 1).qm(), 2U);
}

struct Refusal {
  const char* yaml;
  const char* why;
};

TEST(WatchPlan, NamesWhatCannotBeWatched) {
  std::string many = "watch: {queue_managers: [A0";
  for (int i = 1; i < 65; ++i) absl::StrAppend(&many, ", A", i);
  many += "]}\n";
  for (const auto& [yaml, why] : {
           Refusal{"watch: {}\n", "name the queue managers to watch, or a process"},
           Refusal{"watch: {queue_managers: [QM1], pid: 1}\n", "are both given: watch queue managers, or one process"},
           Refusal{"hosts: node[1-2]\nwatch: {pid: 1, calls: [MQPUT]}\n", "a process is on one of them"},
           Refusal{"watch: {queue_managers: [\"QM 1\"]}\n", "'QM 1' is not the name of a queue manager"},
           Refusal{"watch: {queue_managers: [QM1, QM1]}\n", "QM1 is listed twice"},
           Refusal{"watch: {queue_managers: [A, B], log_dir: /l}\n", "2 queue managers have logs of their own"},
           Refusal{"watch: {queue_managers: [A], log_dir: log}\n", "is not absolute: begin it with '/'"},
           Refusal{many.c_str(), "65 are listed, and a watch takes at most 64"},
           Refusal{"watch: {pid: 1}\n", "nothing of the process is watched"},
           Refusal{"watch: {pid: 1, calls: [MQPUT], profile: true}\n", "only calls are watched"},
           Refusal{"watch: {queue_managers: [A], calls: [MQOPEN]}\n", "'MQOPEN' is neither one of MQPUT, MQPUT1"},
           Refusal{"watch: {queue_managers: [A], calls: [\":f\"]}\n", "nor LIBRARY:FUNCTION"},
           Refusal{"watch: {queue_managers: [A], calls: [MQPUT, \"x.so:MQPUT\"]}\n", "MQPUT is listed twice"},
       }) {
    EXPECT_THAT(WatchProblemsOf(yaml), Contains(HasSubstr(why))) << yaml;
  }
}

TEST(WatchPlan, RefusesByNameWhatSaysHowToWrite) {
  for (const auto& [yaml, why] : {
           Refusal{"workload: {dir: /mnt/x}\n", "--dir (workload.dir)"},
           Refusal{"workload: {qm: 2}\n", "--qm (workload.qm)"},
           Refusal{"workload: {rate: 100}\n", "--rate (workload.rate)"},
           Refusal{"workload: {create: true}\n", "--create (workload.create)"},
           Refusal{"block_size: [4k]\n", "--bsize (block_size)"},
           Refusal{"keep_files: true\n", "--keep-files (keep_files)"},
           Refusal{"settle: 1s\n", "--settle (settle)"},
           Refusal{"seed: 1\n", "--seed (seed)"},
           Refusal{"repeat: 2\n", "a watch has one step"},
           Refusal{"until_steady: 10m\n", "a watch has one step"},
           Refusal{"read: 50\n", "a watch only writes"},
           Refusal{"criteria: [\"rate_achieved>=99%\"]\n", "which a watched program does not have"},
           Refusal{"criteria: [\"fairness>=0.9\"]\n", "have loads of their own"},
           Refusal{"criteria: [\"sync_p99<1ms\"]\n", "a part of each write, which is not watched"},
           Refusal{"criteria: [\"mqput_p99<1ms\"]\n", "about a call that is not watched"},
       }) {
    EXPECT_THAT(WatchProblemsOf(absl::StrCat(kQm1, yaml)), Contains(HasSubstr(why))) << yaml;
  }
  EXPECT_THAT(WatchProblemsOf("workload: {dir: /x}\ncriteria: [\"mqput_p99<1ms\"]\n"),
              Contains(HasSubstr("about a call that is not watched")));
}

TEST(WatchPlan, CriteriaOfWatchedCallsAreTaken) {
  EXPECT_THAT(WatchProblemsOf("watch: {queue_managers: [A], calls: [MQPUT, MQCMIT]}\n"
                              "criteria: [\"MQPUT_p99<1ms\", \"mqcmit_iops>=10\", \"max<1s\", \"stalls==0\"]\n"),
              IsEmpty());
}

TEST(WatchPlan, IsEitherAWatchOrSomethingElse) {
  EXPECT_THAT(WatchProblemsOf(absl::StrCat(kQm1, "limit: {over: rate}\ncriteria: [\"p99<5ms\"]\n")),
              Contains(HasSubstr("are both given")));
}

}  // namespace
}  // namespace plimsoll
