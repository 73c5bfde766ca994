// Plans that play a recording in place of simulated clients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "controller/plan/group_commit_plan.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_yaml.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

// "workload" with a directory, and a recording with `more` keys.
std::string RecordingYaml(const std::string& more = "") {
  return absl::StrCat("workload: {dir: /mnt/x}\ngroup_commit: {pattern: /var/watched/pattern.plimsoll",
                      more.empty() ? "" : ", ", more, "}\n");
}

v1::TestPlan FilledRecording(const std::string& more = "", const std::string& of_plan = "") {
  v1::TestPlan plan = PlanOf(RecordingYaml(more) + of_plan);
  FillDefaults(plan);
  return plan;
}

TEST(RecordedPlan, MakesOneStepThatMeasuresCommitsAndNamesTheFileAlone) {
  const v1::TestPlan plan = FilledRecording(absl::StrCat("pattern_sha256: ", std::string(64, 'a')));
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  EXPECT_EQ(plan.group_commit().playback(), v1::PLAYBACK_MODE_DEMAND);
  EXPECT_EQ(plan.group_commit().load_factor(), 1);
  EXPECT_EQ(plan.group_commit().log_buffer_pages(), 512U);
  EXPECT_EQ(plan.trace(), v1::TOGGLE_OFF);
  const std::vector<v1::LogStep> steps = ExpandSteps(plan);
  ASSERT_THAT(steps, SizeIs(1));
  EXPECT_EQ(steps[0].block_size_bytes(), 0U);
  EXPECT_EQ(CommitOperationOf(steps[0]), 1U);
  EXPECT_EQ(steps[0].group_commit().load_factor(), 1);
  // A plan of many steps would be larger than an agent takes if each had the path.
  EXPECT_EQ(steps[0].group_commit().pattern(), "pattern.plimsoll");
  EXPECT_FALSE(steps[0].group_commit().has_pattern_sha256());
}

TEST(RecordedPlan, HasNothingOfClientsAndClientsHaveNothingOfARecording) {
  const v1::TestPlan recording = FilledRecording();
  v1::TestPlan clients = PlanOf("workload: {dir: /x}\ngroup_commit: {clients: 2}\n");
  FillDefaults(clients);
  int of_clients = 0;
  int of_recording = 0;
  for (const auto& field : FieldsOf(*v1::GroupCommit::descriptor())) {
    if (IsOfClients(field)) {
      ++of_clients;
      EXPECT_EQ(CountOf(field, recording.group_commit()), 0) << field.name();
    }
    if (IsOfPattern(field)) {
      ++of_recording;
      EXPECT_EQ(CountOf(field, clients.group_commit()), 0) << field.name();
    }
  }
  EXPECT_EQ(of_clients, 5);
  EXPECT_EQ(of_recording, 4);
}

TEST(RecordedPlan, ReadsBackAsItIsWritten) {
  const v1::TestPlan plan = FilledRecording("load_factor: 1.5, playback: writes");
  const std::string text = WritePlan(plan);
  v1::TestPlan again = PlanOf(text);
  FillDefaults(again);
  EXPECT_EQ(WritePlan(again), text);
  EXPECT_THAT(ProblemsOf(again), IsEmpty());
}

TEST(RecordedPlan, RefusesTheKeysOfClientsByName) {
  const auto refused = [](const std::string& more, const std::string& name) {
    EXPECT_THAT(ProblemsOf(PlanOf(RecordingYaml(more))),
                ElementsAre(HasSubstr(absl::StrCat(name, " and --pattern (group_commit.pattern) are both given"))));
  };
  refused("clients: 2", "--clients (group_commit.clients)");
  refused("message_size: 4k", "--message-size (group_commit.message_size)");
  refused("think_time: 1ms", "--think-time (group_commit.think_time)");
  refused("client_rate: 5", "--client-rate (group_commit.client_rate)");
  refused("log_write_integrity: TripleWrite", "--log-write-integrity (group_commit.log_write_integrity)");
}

TEST(RecordedPlan, RefusesTheKeysOfARecordingWithoutOne) {
  const auto refused = [](const std::string& more, const std::string& name) {
    for (const std::string clients : {"clients: 2, ", ""}) {
      EXPECT_THAT(ProblemsOf(PlanOf(absl::StrCat("workload: {dir: /x}\ngroup_commit: {", clients, more, "}\n"))),
                  ElementsAre(HasSubstr(absl::StrCat(name, " needs --pattern (group_commit.pattern)"))));
    }
  };
  refused("playback: demand", "--playback (group_commit.playback)");
  refused("load_factor: 2", "--load-factor (group_commit.load_factor)");
  refused(absl::StrCat("pattern_sha256: ", std::string(64, '0')), "group_commit.pattern_sha256");
}

TEST(RecordedPlan, RefusesWhatGroupCommitRefuses) {
  const auto refused = [](const std::string& yaml, const std::string& text) {
    EXPECT_THAT(ProblemsOf(PlanOf(yaml)), Contains(HasSubstr(text))) << yaml;
  };
  const std::string recording = "group_commit: {pattern: /p}\n";
  const std::string dir = "workload: {dir: /x}\n";
  refused(dir + recording + "block_size: [64k]\n",
          "--pattern (group_commit.pattern) and --bsize (block_size) are both given: the recorded writes");
  refused(dir + recording + "read: 30\n", "--read-percent (read) are both given");
  refused(dir + recording + "trace: on\n", "--trace on (trace) are both given");
  refused("workload: {dir: /x, rate: 100}\n" + recording,
          "--rate (workload.rate) are both given: the recording sets the pace");
  refused("workload: {dir: /x, delay: 5}\n" + recording, "--delay (workload.delay) are both given");
  refused("workload: {dir: /x, files: [F]}\n" + recording, "--files (workload.files) are both given");
  refused("workload: {dir: /x, file_size: 64k}\n" + recording, "too small for a log: use 256k");
  refused(dir + recording + "ha: {pairs: [a+b]}\n", "an HA drill plays no recording");
  refused(dir + "group_commit: {pattern: ''}\n", "--pattern (group_commit.pattern) is empty");
  refused(dir + "group_commit: {pattern: /p, pattern_sha256: 12ab}\n", "is not a SHA-256");
  v1::TestPlan slow = PlanOf(RecordingYaml());
  slow.mutable_group_commit()->set_load_factor(0.001);
  EXPECT_THAT(ProblemsOf(slow), Contains(HasSubstr("'0.001' is out of range")));
}

TEST(RecordedPlan, WritesAsRecordedAreNeverJudged) {
  const auto plan = [](const std::string& more) { return PlanOf(RecordingYaml("playback: writes") + more); };
  EXPECT_THAT(ProblemsOf(plan("")), IsEmpty());
  EXPECT_THAT(ProblemsOf(plan("criteria: [commit_p99<5ms]\n")),
              ElementsAre(AllOf(HasSubstr("--require (criteria) and --playback writes (group_commit.playback)"),
                                HasSubstr("not what MQ would issue here, so that they are never judged"))));
  EXPECT_THAT(ProblemsOf(plan("criteria: [commit_p99<5ms]\nlimit: {budget: 30m}\n")),
              Contains(HasSubstr("limit and --playback writes (group_commit.playback)")));
  EXPECT_THAT(PlanNotes(plan("")), ElementsAre(HasSubstr("not what MQ would issue here; the run is not judged")));
  EXPECT_THAT(PlanNotes(PlanOf(RecordingYaml())), IsEmpty());
}

TEST(RecordedPlan, ASearchIsOverTheLoadFactorAndStartsWithATenth) {
  const v1::TestPlan plan = FilledRecording("load_factor: 10", "limit: {budget: 30m}\ncriteria: [commit_p99<5ms]\n");
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  EXPECT_EQ(plan.limit().over(), v1::LIMIT_OVER_LOAD_FACTOR);
  const std::vector<v1::LogStep> steps = ExpandSteps(plan);
  ASSERT_THAT(steps, SizeIs(1));
  EXPECT_EQ(steps[0].group_commit().load_factor(), 1);
  EXPECT_TRUE(steps[0].group_commit().has_pattern());
  // Not below what a plan may have.
  EXPECT_EQ(ExpandSteps(FilledRecording("load_factor: 0.02", "limit: {budget: 30m}\n"))[0].group_commit().load_factor(),
            0.01);
}

TEST(RecordedPlan, ASearchOverTheLoadFactorNeedsARecordingAndACriterionAboutCommits) {
  const auto refused = [](const std::string& yaml, const std::string& text) {
    EXPECT_THAT(ProblemsOf(PlanOf(yaml)), Contains(HasSubstr(text))) << yaml;
  };
  const std::string recording = RecordingYaml();
  refused("workload: {dir: /x}\nlimit: {over: load-factor}\ncriteria: [p99<5ms]\n",
          "--over load-factor (limit.over) needs --pattern (group_commit.pattern)");
  refused("workload: {dir: /x}\ngroup_commit: {clients: 2}\nlimit: {over: load-factor}\ncriteria: [p99<5ms]\n",
          "--over load-factor (limit.over) needs --pattern (group_commit.pattern)");
  refused(recording + "limit: {over: clients}\ncriteria: [commit_p99<5ms]\n", "needs --clients");
  refused(recording + "limit: {over: rate}\ncriteria: [commit_p99<5ms]\n", "search with --over load-factor");
  // On a storage that falls behind the writes only become larger.
  refused(recording + "limit: {budget: 30m}\ncriteria: [p99<5ms]\n", "needs one about commits");
  EXPECT_THAT(ProblemsOf(PlanOf(recording + "limit: {budget: 30m}\ncriteria: [p99<5ms, commit_max<1s]\n")), IsEmpty());
  // A run, and a search over anything else, need one as well.
  refused(recording + "criteria: [p99<5ms]\n", "needs one about commits");
  refused(recording + "limit: {over: qm}\ncriteria: [p99<5ms]\n", "needs one about commits");
  EXPECT_THAT(ProblemsOf(PlanOf(recording + "criteria: [commit_p99<5ms]\n")), IsEmpty());
}

}  // namespace
}  // namespace plimsoll
