// The checks against a model of a file system: an honest one passes them all, and each lie is found, by the check that
// is there for it, and named.
#include "controller/fsck/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing.h"
#include "tests/unit/fsck/simulated_field.h"

namespace plimsoll {
namespace {

v1::CheckResult RunOne(const std::string& name, SimulatedField& field) {
  uint32_t next_process = 0;
  uint32_t index = 0;
  v1::CheckResult result;
  for (const CatalogEntry& entry : FsckCatalog()) {
    if (entry.name == name) {
      FsckCheck run(field, index, next_process, result);
      entry.run(run);
    }
    ++index;
  }
  if (result.outcome() == v1::CHECK_OUTCOME_UNSPECIFIED) result.set_outcome(v1::CHECK_OUTCOME_PASS);
  return result;
}

v1::CheckResult RunOne(const std::string& name, const Lies& lies, size_t hosts = 2) {
  SimulatedField field(hosts, lies);
  return RunOne(name, field);
}

v1::CheckReport Report(SimulatedField& field, v1::CheckLevel level, const std::vector<std::string>& untested = {}) {
  v1::CheckReport report;
  report.set_level(level);
  for (v1::CheckResult& result : RunChecks(field, level, {}, [](const CatalogEntry&) {})) {
    *report.add_checks() = std::move(result);
  }
  JudgeChecks(untested, report);
  return report;
}

v1::CheckReport Report(const Lies& lies, v1::CheckLevel level = v1::CHECK_LEVEL_QUICK) {
  SimulatedField field(2, lies);
  return Report(field, level);
}

v1::CheckVerdict VerdictOf(const v1::CheckReport& report, v1::CheckRequirement requirement) {
  for (const v1::CheckRequirementResult& each : report.requirements()) {
    if (each.requirement() == requirement) return each.verdict();
  }
  return v1::CHECK_VERDICT_UNSPECIFIED;
}

class HonestStorage : public ::testing::TestWithParam<size_t> {};

TEST_P(HonestStorage, PassesEveryCheckAndKeepsNoProcess) {
  SimulatedField field(GetParam());
  const v1::CheckReport report = Report(field, v1::CHECK_LEVEL_FULL);
  for (const v1::CheckResult& check : report.checks()) {
    EXPECT_EQ(check.outcome(), v1::CHECK_OUTCOME_PASS) << check.name() << ": " << check.reason();
  }
  EXPECT_EQ(report.verdict(), v1::CHECK_VERDICT_PASS);
  EXPECT_EQ(field.processes(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Hosts, HonestStorage, ::testing::Values(2, 3, 5));

struct Lie {
  std::string check;
  Lies lies;
  v1::CheckOutcome outcome;
  std::string reason;
};

class LyingStorage : public ::testing::TestWithParam<Lie> {};

TEST_P(LyingStorage, IsFoundAndNamed) {
  const Lie& lie = GetParam();
  SimulatedField field(2, lie.lies);
  const v1::CheckResult result = RunOne(lie.check, field);
  EXPECT_EQ(result.outcome(), lie.outcome) << result.reason();
  EXPECT_THAT(result.reason(), HasSubstr(lie.reason));
  EXPECT_EQ(field.processes(), 0U);
}

constexpr v1::CheckOutcome kFail = v1::CHECK_OUTCOME_FAIL;
constexpr v1::CheckOutcome kUndecided = v1::CHECK_OUTCOME_UNDECIDED;

std::vector<Lie> AllLies() {
  return {
      {"lock.exclusive", {.locks_local = true}, kFail, "granted twice: host2 was granted the lock that host1 held"},
      {"lock.exclusive", {.grant_from_attempt = 2}, kFail, "granted twice"},
      {"lock.exclusive", {.test_is_blind = true}, kFail, "not seen: F_GETLK on host2"},
      {"lock.exclusive", {.contended_twice = true}, kFail, "both wrote number 1"},
      {"lock.exclusive", {.contended_overlap = true}, kFail, "held the lock at one time"},
      {"lock.exclusive", {.lock_error = ENOLCK}, v1::CHECK_OUTCOME_UNSUPPORTED, "fcntl"},
      {"lock.exclusive", {.lock_error = EIO}, v1::CHECK_OUTCOME_UNDECIDED, "fcntl"},
      {"lock.byte-ranges", {.locks_local = true}, kFail, "granted twice"},
      {"lock.byte-ranges", {.ranges_are_whole_files = true}, kFail, "refused: host2 was refused bytes from 10"},
      {"lock.byte-ranges", {.grant_from_attempt = 12}, kFail, "granted twice"},
      {"lock.shared",
       {.locks_local = true},
       kFail,
       "not seen: F_GETLK on host2, for an exclusive lock beside the shared one"},
      {"lock.shared",
       {.shared_blocks_nothing = true},
       kFail,
       "not seen: F_GETLK on host2, for an exclusive lock beside the shared one of host1"},
      {"lock.shared",
       {.grant_from_attempt = 2},
       kFail,
       "granted twice: host2 was granted its exclusive lock beside the shared one of host1"},
      {"lock.shared",
       {.shared_is_exclusive = true},
       kFail,
       "seen in the way: F_GETLK on host2, for a shared lock beside the shared one of host1"},
      {"lock.shared",
       {.shared_is_seen_in_the_way = true},
       kFail,
       "seen in the way: F_GETLK on host2, for a shared lock"},
      {"lock.shared",
       {.shared_go_at_once = true},
       kFail,
       "not seen: F_GETLK on host1, for an exclusive lock beside the shared one of host2"},
      {"lock.shared",
       {.exclusive_lets_shared = true},
       kFail,
       "not seen: F_GETLK on host2, for a shared lock beside the exclusive one of host1"},
      {"lock.released-at-process-death", {.kept_at_death = true}, kFail, "never released: host1 was not granted"},
      {"lock.released-at-process-death", {.waiter_gets_it_early = true}, kFail, "before host2's holder was killed"},
      {"lock.wait-poll", {.kept_at_unlock = true}, kFail, "never released"},
      {"lock.wait-poll", {.locks_local = true}, kFail, "granted twice"},
      {"lock.wait-blocking", {.waiter_gets_it_early = true}, kFail, "before host2's holder unlocked"},
      {"lock.wait-blocking", {.kept_at_death = true}, kFail, "never released"},
      {"lock.storm", {.contended_twice = true}, kFail, "granted twice"},
      {"lock.courtesy", {.locks_local = true}, kFail, "granted twice"},
      {"lock.courtesy", {.locks_lost_in_silence = true}, kFail, "granted twice: host2"},
      {"lock.courtesy",
       {.holder_fails_after_silence = true},
       kFail,
       "lost: host1's holder could not write after the silence"},
      {"lock.capacity", {.most_locks = 256}, kFail, "only 256 locks"},
      {"lock.content-visible-to-next-owner",
       {.cache_is_stale_after_lock = true},
       kFail,
       "host2 read page 0 empty under the lock that the killed writer had held"},
      {"data.concurrent-writes",
       {.page_of_neighbour_lost = true},
       kFail,
       "page 2 empty after all hosts had written at once"},
      {"data.visible-after-close", {.cache_is_stale_after_open = true}, kFail, "after the writer had closed it"},
      {"data.visible-after-lock-handover",
       {.cache_is_stale_after_lock = true},
       kFail,
       "under the lock that the writer had given back"},
      {"data.rename-atomic", {.missing_names = 3}, kFail, "found no file under the name 3 times"},
      {"data.dsync-survives-writer-death", {.lost_at_death = 1}, kFail, "acknowledged write lost: host1 read page 3"},
      {"data.dsync-survives-writer-death", {.torn_at_death = true}, kFail, "page 3 torn"},
      {"data.order-two-files", {.second_file_first = true}, kFail, "order broken"},
      {"data.order-two-files", {.lost_at_death = 1}, kFail, "acknowledged write lost"},
      {"data.direct-buffered-agree",
       {.direct_misses_cache = true},
       kFail,
       "with O_DIRECT, after it was written through the page cache"},
      {"data.direct-buffered-agree", {.direct_refused = true}, v1::CHECK_OUTCOME_UNSUPPORTED, "refuses O_DIRECT"},
      {"data.dsync-survives-server-restart",
       {.lost_at_restart = 1},
       kFail,
       "acknowledged write lost: host1 read page 3"},
      {"data.dsync-survives-server-restart",
       {.file_lost_at_restart = true},
       kFail,
       "acknowledged write lost: host1: open host1/qm1: No such file"},
      {"data.dsync-survives-server-restart",
       {.file_emptied_at_restart = true},
       kFail,
       "acknowledged write lost: host1: qm1 does not carry the run's token: its first page is empty; host1 had "},
      {"data.dsync-survives-server-restart", {.restarts_nothing = true}, kUndecided, "restarted nothing"},
      {"data.dsync-survives-server-restart", {.command_fails = true}, kUndecided, "--restart-server: reset ended"},
      {"lock.after-server-restart", {.locks_lost_at_restart = true}, kFail, "granted twice: host2"},
      {"lock.after-server-restart", {.holder_fails_after_restart = true}, kFail, "lost: host1's holder"},
      {"lock.after-server-restart", {.restarts_nothing = true}, kUndecided, "restarted nothing"},
      {"lock.released-at-host-death", {.kept_at_host_death = true}, kFail, "never released: host1 was not granted"},
      {"lock.released-at-host-death", {.waiter_gets_it_early = true}, kFail, "before host2 was killed"},
      {"lock.released-at-host-death", {.kills_agent_alone = true}, kUndecided, "did not kill host2"},
      {"lock.released-at-host-death", {.never_back = true}, kUndecided, "host2 did not restart"},
      {"lock.released-at-host-death", {.command_fails = true}, kUndecided, "--kill-host: reset ended"},
      {"time.timestamps-against-host-clocks", {.storage_clock_off_ns = 3'000'000'000}, kFail, "is 3.0"},
      {"time.timestamps-against-host-clocks", {.storage_clock_off_ns = -3'000'000'000}, kFail, "is -"},
  };
}

INSTANTIATE_TEST_SUITE_P(Lies, LyingStorage, ::testing::ValuesIn(AllLies()));

TEST(ChecksTest, ALateAnswerToAWaiterPassesAndIsReported) {
  const v1::CheckResult result = RunOne("lock.wait-blocking", {.hears_late_ns = 30'000'000'000});
  EXPECT_EQ(result.outcome(), v1::CHECK_OUTCOME_PASS) << result.reason();
  ASSERT_GE(result.evidence_size(), 2);
  EXPECT_THAT(result.evidence(0), HasSubstr("granted at most 30."));
  EXPECT_THAT(result.evidence(1), HasSubstr("F_SETLKW"));
}

TEST(ChecksTest, OneHostAloneTestsNoLocksAndNeverPasses) {
  SimulatedField field(1);
  const v1::CheckReport report = Report(field, v1::CHECK_LEVEL_STANDARD);
  for (const v1::CheckResult& check : report.checks()) {
    if (check.name().rfind("lock.", 0) != 0 || check.level() == v1::CHECK_LEVEL_FULL) continue;
    EXPECT_EQ(check.outcome(), v1::CHECK_OUTCOME_NOT_TESTED) << check.name();
    EXPECT_EQ(check.reason(), "needs 2 hosts");
  }
  for (const v1::CheckRequirementResult& each : report.requirements()) {
    EXPECT_EQ(each.verdict(), v1::CHECK_VERDICT_NOT_TESTED) << RequirementName(each.requirement());
  }
  EXPECT_EQ(report.verdict(), v1::CHECK_VERDICT_NOT_TESTED);
}

TEST(ChecksTest, AHostThatIsLostLeavesTheRestUntestedAndNothingPasses) {
  SimulatedField field(2, {.lost_at_command = 40});
  const v1::CheckReport report = Report(field, v1::CHECK_LEVEL_QUICK);
  int undecided = 0;
  for (const v1::CheckResult& check : report.checks())
    undecided += check.outcome() == v1::CHECK_OUTCOME_UNDECIDED ? 1 : 0;
  EXPECT_EQ(undecided, 1);
  EXPECT_EQ(report.checks(12).reason(), "the check was ended early");
  EXPECT_EQ(report.verdict(), v1::CHECK_VERDICT_NOT_TESTED);
}

TEST(ChecksTest, WhatIsLeftOutIsNotTestedAndNothingPassesWithoutIt) {
  SimulatedField field(2);
  v1::CheckReport report;
  report.set_level(v1::CHECK_LEVEL_FULL);
  for (v1::CheckResult& result :
       RunChecks(field, v1::CHECK_LEVEL_FULL, {"lock.exclusive"}, [](const CatalogEntry&) {})) {
    *report.add_checks() = std::move(result);
  }
  JudgeChecks({}, report);
  EXPECT_EQ(report.checks(0).outcome(), v1::CHECK_OUTCOME_PASS);
  EXPECT_EQ(report.checks(1).reason(), "left out by --only");
  for (const v1::CheckRequirementResult& each : report.requirements()) {
    EXPECT_EQ(each.verdict(), v1::CHECK_VERDICT_NOT_TESTED) << RequirementName(each.requirement());
  }
}

TEST(ChecksTest, WithoutCommandsFullLeavesTheirChecksUntested) {
  SimulatedField field(2);
  field.GiveNoCommands();
  const v1::CheckReport report = Report(field, v1::CHECK_LEVEL_FULL);
  std::vector<std::string> reasons;
  for (const v1::CheckResult& check : report.checks()) {
    if (check.outcome() == v1::CHECK_OUTCOME_NOT_TESTED) reasons.push_back(check.name() + ": " + check.reason());
  }
  EXPECT_THAT(reasons, ::testing::ElementsAre("data.dsync-survives-server-restart: needs --restart-server",
                                              "lock.after-server-restart: needs --restart-server",
                                              "lock.released-at-host-death: needs --kill-host"));
  EXPECT_EQ(report.verdict(), v1::CHECK_VERDICT_NOT_TESTED);
}

TEST(VerdictTest, QuickPassesExclusiveAccessAndLeavesOpenWhatOnlyFullTests) {
  const v1::CheckReport report = Report(Lies());
  EXPECT_EQ(VerdictOf(report, v1::CHECK_REQUIREMENT_EXCLUSIVE_ACCESS), v1::CHECK_VERDICT_PASS);
  EXPECT_EQ(VerdictOf(report, v1::CHECK_REQUIREMENT_DATA_WRITE_INTEGRITY), v1::CHECK_VERDICT_NOT_TESTED);
  EXPECT_EQ(VerdictOf(report, v1::CHECK_REQUIREMENT_LOCKS_RELEASED_ON_FAILURE), v1::CHECK_VERDICT_NOT_TESTED);
  EXPECT_EQ(report.verdict(), v1::CHECK_VERDICT_NOT_TESTED);
  EXPECT_THAT(report.requirements(1).omitted(),
              ::testing::ElementsAre("lock.storm", "lock.courtesy", "lock.capacity", "lock.after-server-restart"));
  EXPECT_THAT(report.requirements(1).reasons(), IsEmpty());
  ASSERT_EQ(report.requirements(2).reasons_size(), 1);
  EXPECT_EQ(report.requirements(2).reasons(0), "lock.released-at-host-death: needs --level full");
}

TEST(VerdictTest, AllPassWhereEveryDecidingCheckPassed) {
  SimulatedField field(2);
  v1::CheckReport report = Report(field, v1::CHECK_LEVEL_FULL);
  for (v1::CheckResult& check : *report.mutable_checks()) check.set_outcome(v1::CHECK_OUTCOME_PASS);
  JudgeChecks({}, report);
  EXPECT_EQ(report.verdict(), v1::CHECK_VERDICT_PASS);
  // One check that was not tested, of any requirement, and there is no PASS any more.
  for (v1::CheckResult& check : *report.mutable_checks()) {
    if (check.requirement() == v1::CHECK_REQUIREMENT_NONE) continue;
    check.set_outcome(v1::CHECK_OUTCOME_NOT_TESTED);
    JudgeChecks({}, report);
    EXPECT_EQ(report.verdict(), v1::CHECK_VERDICT_NOT_TESTED) << check.name();
    check.set_outcome(v1::CHECK_OUTCOME_UNDECIDED);
    JudgeChecks({}, report);
    EXPECT_EQ(report.verdict(), v1::CHECK_VERDICT_NOT_TESTED) << check.name();
    check.set_outcome(v1::CHECK_OUTCOME_FAIL);
    JudgeChecks({}, report);
    EXPECT_EQ(report.verdict(), v1::CHECK_VERDICT_FAIL) << check.name();
    check.set_outcome(v1::CHECK_OUTCOME_PASS);
  }
  JudgeChecks({"alpha, beta share one kernel"}, report);
  EXPECT_EQ(report.verdict(), v1::CHECK_VERDICT_NOT_TESTED);
}

TEST(VerdictTest, LocksOfOneHostAloneFailTheRequirementsThatTheyBreak) {
  const v1::CheckReport report = Report({.locks_local = true});
  EXPECT_EQ(VerdictOf(report, v1::CHECK_REQUIREMENT_EXCLUSIVE_ACCESS), v1::CHECK_VERDICT_FAIL);
  EXPECT_EQ(report.verdict(), v1::CHECK_VERDICT_FAIL);
}

TEST(VerdictTest, AFileSystemWithoutLocksFailsAndOneWithoutDirectIoDoesNot) {
  const v1::CheckReport without_locks = Report({.lock_error = ENOLCK});
  EXPECT_EQ(VerdictOf(without_locks, v1::CHECK_REQUIREMENT_EXCLUSIVE_ACCESS), v1::CHECK_VERDICT_FAIL);
  EXPECT_EQ(VerdictOf(without_locks, v1::CHECK_REQUIREMENT_LOCKS_RELEASED_ON_FAILURE), v1::CHECK_VERDICT_FAIL);
  const v1::CheckReport without_direct = Report({.direct_refused = true});
  EXPECT_EQ(VerdictOf(without_direct, v1::CHECK_REQUIREMENT_DATA_WRITE_INTEGRITY), v1::CHECK_VERDICT_NOT_TESTED);
  EXPECT_EQ(without_direct.requirements(0).reasons_size(), 1);
}

TEST(CatalogTest, EveryRequirementHasACheckThatDecidesItAndNamesAreUnique) {
  std::set<std::string> names;
  std::set<v1::CheckRequirement> decided;
  for (const CatalogEntry& entry : FsckCatalog()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    if (entry.decides) decided.insert(entry.requirement);
    EXPECT_FALSE(entry.proves.empty());
  }
  EXPECT_EQ(decided.size(), 3U);
}

}  // namespace
}  // namespace plimsoll
