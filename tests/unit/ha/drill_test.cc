// The course of a drill with agents that live in the test, in virtual time.
#include "controller/drill/drill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/live/live_feed.h"
#include "controller/live/views.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/run/run_records.h"
#include "tests/testing.h"
#include "tests/unit/ha/fake_ha_agent.h"
#include "tests/virtual_clock.h"

namespace plimsoll::tests {
namespace {

// Ends when its time has come.
class FakeCommand final : public RunningCommand {
 public:
  FakeCommand(const Clock& clock, MonotonicNs end, std::string error)
      : clock_(clock), end_(end), error_(std::move(error)) {}
  std::optional<std::string> Poll() override {
    if (clock_.Now() < end_) return std::nullopt;
    return error_;
  }
  int exit_code() const override { return error_.empty() ? 0 : 1; }
  void Kill() override {}

 private:
  const Clock& clock_;
  const MonotonicNs end_;
  const std::string error_;
};

class FakeRunner final : public CommandRunner {
 public:
  explicit FakeRunner(const Clock& clock) : clock_(clock) {}
  absl::StatusOr<std::unique_ptr<RunningCommand>> Start(const std::vector<std::string>& arguments) override {
    started.push_back(absl::StrJoin(arguments, " "));
    on_start(started.back());
    return std::make_unique<FakeCommand>(clock_, clock_.Now() + length_ns, error);
  }

  std::vector<std::string> started;
  std::function<void(const std::string& command)> on_start = [](const std::string&) {};
  int64_t length_ns = 0;
  std::string error;

 private:
  const Clock& clock_;
};

class DrillTest : public ::testing::Test {
 protected:
  DrillTest() {
    hosts_[0].name = "alpha";
    hosts_[1].name = "beta";
    hosts_[1].clock_offset_ns = 100'000 * kNsPerSecond;
    plan_.mutable_workload()->set_dir("/fake");
    plan_.mutable_workload()->set_qm(2);
    plan_.mutable_ha()->add_pairs("alpha+beta");
    plan_.mutable_ha()->set_rounds(2);
    plan_.set_seed(7);
  }

  void Fault(v1::HaFaultKind fault) {
    plan_.mutable_ha()->add_faults(fault);
    if (!NeedsCommands(fault)) return;
    v1::HaFaultCommands& commands = *plan_.mutable_ha()->add_commands();
    commands.set_fault(fault);
    for (const char* argument : {"break", "{host}"}) commands.add_do_(argument);
    for (const char* argument : {"fix", "{host}"}) commands.add_undo(argument);
  }

  std::optional<Failure> Run() {
    FillDefaults(plan_);
    EXPECT_THAT(PlanProblems(plan_), ElementsAre());
    Fleet fleet(
        {"alpha:7461", "beta:7461"}, 500,
        [this](const std::string& address, AgentListener& listener) {
          const size_t i = address[0] == 'a' ? 0 : 1;
          auto agent = std::make_unique<FakeHaAgent>(hosts_[i], storage_, clock_, listener);
          agents_[i] = agent.get();
          return agent;
        },
        clock_, events_);
    fleet.DescribeAll({{"/fake"}, {"/fake"}}, kNsPerSecond);
    LabelHosts(fleet.hosts());
    RunLog log(nullptr, clock_);
    log.Watch([this](const v1::JournalRecord& record) {
      records_.push_back(record);
      on_record_(record);
    });
    LiveFeed feed;
    feed.Add(std::make_shared<PlainLines>(stderr, PlainLines::Of::kWarnings));
    Drill::Options options;
    options.plan = plan_;
    options.fleet = &fleet;
    options.events = &events_;
    options.clock = &clock_;
    options.log = &log;
    options.feed = &feed;
    options.commands = &runner_;
    options.say = [this](const std::string& line) { said_ += line + "\n"; };
    for (size_t i = 0; i < 2; ++i) {
      options.host_plans.push_back(
          MakeHaHostPlan(plan_, i, {"alpha", "beta"}, "7f3a21", std::string(16, 't'), kFrameIntervalNs));
    }
    Drill drill(std::move(options));
    std::optional<Failure> failure = drill.Run();
    left_ = drill.left();
    // Instances of a drill that was left at once end with their leases.
    for (size_t i = 0; i < 2 && !left_; ++i) {
      EXPECT_EQ(agents_[i]->running(), 0U) << "an instance is left on " << hosts_[i].name;
    }
    absent_ = drill.AbsentHosts();
    report_ = log.analyzer().Finish();
    return failure;
  }

  std::vector<v1::JournalRecord> Records(v1::JournalRecord::RecordCase wanted) const {
    std::vector<v1::JournalRecord> found;
    for (const v1::JournalRecord& record : records_) {
      if (record.record_case() == wanted) found.push_back(record);
    }
    return found;
  }
  std::vector<v1::JournalRecord> Records(v1::HaRecord::RecordCase wanted) const {
    std::vector<v1::JournalRecord> found;
    for (const v1::JournalRecord& record : Records(v1::JournalRecord::kHa)) {
      if (record.ha().record_case() == wanted) found.push_back(record);
    }
    return found;
  }
  std::string CutShortOfRound() const { return Records(v1::HaRecord::kRoundEnd).at(0).ha().round_end().cut_short(); }
  std::string CutShort() const { return Records(v1::JournalRecord::kRunEnd).at(0).run_end().cut_short(); }

  VirtualClock clock_;
  EventQueue events_{clock_};
  v1::TestPlan plan_;
  FakeStorage storage_;
  FakeHaHost hosts_[2];
  FakeHaAgent* agents_[2] = {};
  FakeRunner runner_{clock_};
  std::vector<v1::JournalRecord> records_;
  std::function<void(const v1::JournalRecord&)> on_record_ = [](const v1::JournalRecord&) {};
  std::string said_;
  v1::Report report_;
  std::vector<size_t> absent_;
  bool left_ = false;
};

TEST_F(DrillTest, RolesAlternateOverKillsAndEveryLogIsScanned) {
  Fault(v1::HA_FAULT_KIND_KILL);
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_EQ(CutShort(), "");
  const auto rounds = Records(v1::HaRecord::kRoundBegin);
  ASSERT_EQ(rounds.size(), 2U);
  EXPECT_EQ(rounds[0].ha().round_begin().host(), 0U);
  EXPECT_EQ(rounds[1].ha().round_begin().host(), 1U);
  EXPECT_EQ(rounds[0].ha().round_begin().queue_managers_size(), 2);
  ASSERT_EQ(report_.ha().rounds_size(), 2);
  EXPECT_EQ(report_.ha().rounds(0).takeovers(0).outcome(), v1::HA_TAKEOVER_OUTCOME_TAKEN);
  EXPECT_TRUE(report_.ha().queue_managers(0).scanned());
  EXPECT_TRUE(report_.ha().queue_managers(1).scanned());
  for (const char* round : {"\nround 1: gap ", "\nround 2: gap "}) EXPECT_THAT(said_, HasSubstr(round));
  for (const FakeHaHost& host : hosts_) EXPECT_EQ(host.diary.back(), "release");
}

TEST_F(DrillTest, ASwitchEndsTheActiveInstanceInOrder) {
  Fault(v1::HA_FAULT_KIND_SWITCH);
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_EQ(CutShort(), "");
  EXPECT_THAT(hosts_[0].diary, Not(Contains("kill")));
  EXPECT_EQ(report_.ha().rounds(1).takeovers(1).outcome(), v1::HA_TAKEOVER_OUTCOME_TAKEN);
}

TEST_F(DrillTest, AHangLastsLongerThanTheServersLeaseAndTwoPollsAndIsResumed) {
  Fault(v1::HA_FAULT_KIND_HANG);
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_EQ(CutShort(), "");
  const auto begins = Records(v1::HaRecord::kRoundBegin);
  const auto ends = Records(v1::HaRecord::kRoundEnd);
  EXPECT_GT(ends[0].time_ns() - begins[0].time_ns(), 94 * kNsPerSecond);
  EXPECT_EQ(begins[1].ha().round_begin().host(), 0U) << "the roles stay";
  EXPECT_THAT(hosts_[0].diary, Contains("resume"));
  EXPECT_EQ(report_.ha().rounds(0).takeovers(0).outcome(), v1::HA_TAKEOVER_OUTCOME_KEPT);
}

TEST_F(DrillTest, AFrozenHostIsResumedAfterTheTakeoverAndIsNoLoss) {
  Fault(v1::HA_FAULT_KIND_FREEZE);
  runner_.on_start = [this](const std::string& command) {
    const size_t i = command.find("alpha") != std::string::npos ? 0 : 1;
    hosts_[i].frozen = command.rfind("break", 0) == 0;
    if (hosts_[i].frozen) agents_[i]->ExpireLocks();
  };
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_EQ(CutShort(), "");
  EXPECT_THAT(runner_.started, ElementsAre("break alpha", "fix alpha", "break beta", "fix beta"));
  EXPECT_TRUE(Records(v1::JournalRecord::kHostLost).empty());
  EXPECT_EQ(report_.ha().rounds(1).takeovers(0).outcome(), v1::HA_TAKEOVER_OUTCOME_TAKEN);
}

TEST_F(DrillTest, AHostThatComesBackFromPowerOffGetsANewSessionOfTheSameDrill) {
  Fault(v1::HA_FAULT_KIND_POWEROFF);
  runner_.on_start = [this](const std::string& command) {
    const size_t i = command.find("alpha") != std::string::npos ? 0 : 1;
    if (command.rfind("break", 0) == 0) return agents_[i]->SwitchOff();
    hosts_[i].off = false;
  };
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_EQ(CutShort(), "");
  EXPECT_EQ(Records(v1::HaRecord::kHostAway).size(), 2U);
  EXPECT_EQ(Records(v1::HaRecord::kHostBack).size(), 2U);
  EXPECT_TRUE(Records(v1::JournalRecord::kHostLost).empty());
  EXPECT_EQ(report_.ha().rounds(1).takeovers(0).outcome(), v1::HA_TAKEOVER_OUTCOME_TAKEN);
}

TEST_F(DrillTest, AHostThatDoesNotComeBackEndsTheDrillAndIsNamedForCleaning) {
  Fault(v1::HA_FAULT_KIND_POWEROFF);
  runner_.on_start = [this](const std::string& command) {
    if (command.rfind("break", 0) == 0) agents_[0]->SwitchOff();
  };
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_THAT(CutShort(), HasSubstr("alpha did not return within 5m (--restore-limit)"));
  EXPECT_THAT(absent_, ElementsAre(0U));
  EXPECT_EQ(hosts_[1].diary.back(), "release");
  EXPECT_EQ(report_.ha().rounds(0).takeovers(0).outcome(), v1::HA_TAKEOVER_OUTCOME_TAKEN);
  EXPECT_EQ(report_.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
}

TEST_F(DrillTest, ACommandThatFailsMakesItsRoundInconclusiveAndIsUndone) {
  Fault(v1::HA_FAULT_KIND_FREEZE);
  runner_.error = "exit code 1";
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_THAT(runner_.started, ElementsAre("break alpha", "fix alpha", "break alpha", "fix alpha"));
  EXPECT_EQ(report_.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report_.ha().rounds(0).reasons(0), HasSubstr("exit code 1"));
}

TEST_F(DrillTest, AServerAfterWhoseRestartNobodyWritesInTimeGivesNoPass) {
  Fault(v1::HA_FAULT_KIND_SERVER_RESTART);
  plan_.mutable_ha()->set_rounds(1);
  runner_.on_start = [this](const std::string& command) { storage_.hangs = command.rfind("break", 0) == 0; };
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_THAT(CutShortOfRound(), HasSubstr("not every queue manager wrote again within 1m"));
  EXPECT_EQ(report_.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
}

TEST_F(DrillTest, AServerAfterWhoseRestartAllWriteAgainIsWaitedForNoLonger) {
  Fault(v1::HA_FAULT_KIND_SERVER_RESTART);
  plan_.mutable_ha()->set_rounds(1);
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_EQ(CutShortOfRound(), "");
}

TEST_F(DrillTest, ACommandThatDoesNotEndIsKilledAtItsLimit) {
  Fault(v1::HA_FAULT_KIND_FREEZE);
  plan_.mutable_ha()->set_rounds(1);
  runner_.length_ns = 3'600 * kNsPerSecond;
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_THAT(Records(v1::HaRecord::kFaultCommandDone)[0].ha().fault_command_done().error(),
              HasSubstr("killed after 1m"));
}

TEST_F(DrillTest, ACommandThatASecondInterruptEndsIsNotBlamedForItsLimit) {
  Fault(v1::HA_FAULT_KIND_FREEZE);
  runner_.length_ns = 3'600 * kNsPerSecond;
  runner_.on_start = [this](const std::string& /*command*/) {
    events_.Interrupt();
    events_.Interrupt();
  };
  Run();
  EXPECT_TRUE(left_);
  EXPECT_THAT(Records(v1::HaRecord::kFaultCommandDone)[0].ha().fault_command_done().error(),
              HasSubstr("killed: interrupted"));
}

TEST_F(DrillTest, ALockThatIsNotReleasedEndsTheDrillWithFail) {
  Fault(v1::HA_FAULT_KIND_KILL);
  storage_.never_releases = true;
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_THAT(CutShort(), HasSubstr("was not taken over within 1m"));
  EXPECT_EQ(report_.verdict().outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(report_.ha().findings().not_released(), 2U) << "of both queue managers";
}

TEST_F(DrillTest, AnInterruptTakesTheFaultBackAndLeavesNothingRunning) {
  Fault(v1::HA_FAULT_KIND_FREEZE);
  runner_.on_start = [this](const std::string& command) {
    hosts_[0].frozen = command.rfind("break", 0) == 0;
    if (hosts_[0].frozen) events_.Interrupt();
  };
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_THAT(runner_.started, ElementsAre("break alpha", "fix alpha"));
  EXPECT_EQ(CutShort(), "interrupted");
  for (const FakeHaHost& host : hosts_) EXPECT_EQ(host.diary.back(), "release");
}

TEST_F(DrillTest, AHostThatIsLostWithoutAFaultOfTheDrillEndsIt) {
  Fault(v1::HA_FAULT_KIND_KILL);
  on_record_ = [this](const v1::JournalRecord& record) {
    if (record.ha().has_round_end()) agents_[1]->SwitchOff();
  };
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_THAT(CutShort(), HasSubstr("host beta was lost"));
  EXPECT_NE(report_.verdict().outcome(), v1::OUTCOME_PASS);
}

TEST_F(DrillTest, InstancesThatDoNotStartAreAFailureAndEverythingIsReleased) {
  Fault(v1::HA_FAULT_KIND_KILL);
  hosts_[1].fails_to_start = true;
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("of qm1 on beta ended: failed")));
  for (const FakeHaHost& host : hosts_) EXPECT_EQ(host.diary.back(), "release");
}

TEST_F(DrillTest, AnOrderToStartThatIsRefusedIsTheInstancesEnd) {
  Fault(v1::HA_FAULT_KIND_KILL);
  hosts_[0].refuses_to_start = true;
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("on alpha ended: the plan has no qm1")));
}

TEST_F(DrillTest, APairThatSharesNoStorageIsRefusedBeforeAnythingStarts) {
  Fault(v1::HA_FAULT_KIND_KILL);
  hosts_[1].sees_nobody = true;
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kWrong);
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("alpha and beta do not see one another's files")));
  EXPECT_THAT(hosts_[0].diary, ElementsAre("open", "release"));
}

TEST_F(DrillTest, AnInterruptBeforeTheFirstRoundIsNoFailureOfTheHosts) {
  Fault(v1::HA_FAULT_KIND_KILL);
  on_record_ = [this](const v1::JournalRecord& record) {
    if (record.has_host_prepared() && record.host_prepared().host() == 1) events_.Interrupt();
  };
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kInconclusive);
}

TEST_F(DrillTest, AHostThatBootsForMinutesIsWaitedForWithinTheLimit) {
  Fault(v1::HA_FAULT_KIND_POWEROFF);
  plan_.mutable_ha()->set_rounds(1);
  plan_.mutable_ha()->set_restore_limit_ns(1'000 * kNsPerSecond);
  MonotonicNs fixed;
  runner_.on_start = [this, &fixed](const std::string& command) {
    if (command.rfind("break", 0) == 0) return agents_[0]->SwitchOff();
    fixed = clock_.Now();
  };
  hosts_[0].on_open = [this, &fixed] {
    if (fixed.value != 0) hosts_[0].off = clock_.Now() < fixed + 900 * kNsPerSecond;
  };
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_EQ(CutShort(), "");
  EXPECT_EQ(Records(v1::HaRecord::kHostBack).size(), 1U);
  EXPECT_TRUE(report_.ha().rounds(0).reasons().empty());
}

TEST_F(DrillTest, AnInstanceThatWritesNothingAfterItWasResumedMakesTheRoundInconclusive) {
  Fault(v1::HA_FAULT_KIND_HANG);
  plan_.mutable_ha()->set_rounds(1);
  hosts_[0].ignores_resume = true;
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_EQ(CutShortOfRound(), "an instance did not write again after SIGCONT");
  EXPECT_EQ(report_.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
}

TEST_F(DrillTest, AnInstanceThatEndsWhenItIsResumedMakesTheRoundInconclusive) {
  Fault(v1::HA_FAULT_KIND_HANG);
  plan_.mutable_ha()->set_rounds(1);
  hosts_[0].ends_at_resume = true;
  storage_.never_releases = true;
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_THAT(CutShortOfRound(), HasSubstr("instance 1 of qm1 on alpha ended after SIGCONT: write_failed"));
  EXPECT_EQ(report_.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
}

TEST_F(DrillTest, ATakeoverDuringAHangEndsTheHangAndFails) {
  Fault(v1::HA_FAULT_KIND_HANG);
  plan_.mutable_ha()->set_rounds(1);
  on_record_ = [this](const v1::JournalRecord& record) {
    if (record.ha().has_round_begin()) agents_[0]->ExpireLocks();
  };
  EXPECT_FALSE(Run().has_value()) << said_;
  EXPECT_THAT(hosts_[0].diary, Contains("resume"));
  EXPECT_EQ(report_.ha().rounds(0).takeovers(0).outcome(), v1::HA_TAKEOVER_OUTCOME_UNWANTED);
  EXPECT_NE(report_.verdict().outcome(), v1::OUTCOME_PASS);
}

// A drill of its own, for more than one in a test.
class OneDrill : public DrillTest {
 public:
  void TestBody() override {}
  // From the end of one round to the next one's begin: the moments of the faults, and what making ready takes, which is
  // the same in each drill.
  std::vector<int64_t> Moments(uint32_t seed, std::optional<int64_t> at_ns) {
    Fault(v1::HA_FAULT_KIND_KILL);
    plan_.mutable_ha()->set_rounds(8);
    plan_.set_seed(seed);
    if (at_ns.has_value()) plan_.mutable_ha()->set_at_ns(*at_ns);
    EXPECT_FALSE(Run().has_value()) << said_;
    std::vector<int64_t> moments;
    int64_t before_ns = 0;
    for (const v1::JournalRecord& record : Records(v1::JournalRecord::kHa)) {
      if (record.ha().has_round_begin() && before_ns != 0) moments.push_back(record.time_ns() - before_ns);
      if (record.ha().has_round_end()) before_ns = record.time_ns();
    }
    EXPECT_EQ(moments.size(), 7U);
    return moments;
  }
};

TEST(DrillMoments, TheSameSeedGivesTheSameMomentsAndAnotherSeedOthers) {
  const std::vector<int64_t> seven = OneDrill().Moments(7, std::nullopt);
  EXPECT_EQ(OneDrill().Moments(7, std::nullopt), seven);
  const std::vector<int64_t> eight = OneDrill().Moments(8, std::nullopt);
  for (size_t i = 0; i < seven.size(); ++i) EXPECT_NE(seven[i], eight[i]) << i;
  EXPECT_GT(std::set<int64_t>(seven.begin(), seven.end()).size(), 5U) << "each round has a moment of its own";
}

TEST(DrillMoments, AGivenMomentIsThatOfEachRoundWhateverTheSeed) {
  const std::vector<int64_t> moments = OneDrill().Moments(7, 3 * kNsPerSecond);
  EXPECT_EQ(OneDrill().Moments(8, 3 * kNsPerSecond), moments);
  for (const int64_t moment_ns : moments) {
    EXPECT_GE(moment_ns, 3 * kNsPerSecond);
    EXPECT_LT(moment_ns, 5 * kNsPerSecond) << "with what making ready takes";
  }
}

}  // namespace
}  // namespace plimsoll::tests
