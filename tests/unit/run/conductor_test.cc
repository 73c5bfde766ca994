#include "controller/run/conductor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

#include "common/units.h"
#include "controller/plan/plan_defaults.h"
#include "tests/status_matchers.h"
#include "tests/temp_directory.h"
#include "tests/unit/run/fake_fleet.h"

namespace plimsoll {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeAgent;
using testing::FakeDiary;
using testing::FakeScript;
using ::testing::HasSubstr;
using ::testing::Not;

class ConductorTest : public ::testing::Test {
 protected:
  explicit ConductorTest() : scripts_(2), diaries_(2) {
    scripts_[1].name = "beta";
    scripts_[1].clock_offset_ns = 100'000 * kNsPerSecond;
    plan_.mutable_workload()->set_dir("/fake");
    plan_.add_hosts()->set_address("alpha:1");
    plan_.add_hosts()->set_address("beta:1");
    plan_.add_block_size_bytes(4096);
    plan_.set_lease_ns(2 * kNsPerSecond);
    plan_.set_on_host_loss(v1::HOST_LOSS_POLICY_ABORT);
  }

  std::optional<Failure> Run() {
    FillDefaults(plan_);
    Fleet fleet(
        {"alpha:1", "beta:1"}, 500,
        [this](const std::string& address, AgentListener& listener) {
          const size_t i = address == "alpha:1" ? 0 : 1;
          return std::make_unique<FakeAgent>(scripts_[i], diaries_[i], clock_, listener);
        },
        clock_, events_);
    fleet.DescribeAll({{"/fake"}, {"/fake"}}, kNsPerSecond);
    LabelHosts(fleet.hosts());
    auto journal = JournalWriter::Create(path_);
    EXPECT_THAT(journal, testing::IsOk());
    RunLog log(*std::move(journal), clock_);
    Progress progress(stderr, /*in_place=*/false, /*quiet=*/true);
    Conductor::Options options;
    options.plan = plan_;
    options.steps = ExpandSteps(plan_);
    options.fleet = &fleet;
    options.events = &events_;
    options.clock = &clock_;
    options.log = &log;
    options.progress = &progress;
    for (int i = 0; i < 2; ++i) {
      options.host_plans.push_back(MakeHostPlan(plan_, i, fleet.host(static_cast<size_t>(i)).label, "7f3a21",
                                                std::string(16, 't'), kFrameIntervalNs));
    }
    Conductor conductor(std::move(options));
    std::optional<Failure> failure = conductor.Run();
    left_ = conductor.left();
    log.Flush();
    EXPECT_THAT(ReadJournal(path_, [this](const v1::JournalRecord& record) { records_.push_back(record); }),
                testing::IsOk());
    return failure;
  }

  std::vector<v1::JournalRecord> Records(v1::JournalRecord::RecordCase wanted) const {
    std::vector<v1::JournalRecord> found;
    for (const v1::JournalRecord& record : records_) {
      if (record.record_case() == wanted) found.push_back(record);
    }
    return found;
  }

  const SystemClock clock_;
  EventQueue events_;
  testing::TempDirectory directory_;
  const std::string path_ = directory_.path() + "/journal";
  v1::TestPlan plan_;
  std::vector<FakeScript> scripts_;
  std::vector<FakeDiary> diaries_;
  std::vector<v1::JournalRecord> records_;
  bool left_ = false;
};

TEST_F(ConductorTest, TakesEveryHostThroughEveryStep) {
  plan_.add_block_size_bytes(65536);
  EXPECT_FALSE(Run().has_value());
  for (const FakeDiary& diary : diaries_) {
    EXPECT_THAT(diary, ElementsAre("open", "prepare", "arm 0", "arm 1", "release"));
  }
  EXPECT_EQ(Records(v1::JournalRecord::kFrames).size(), 4U);
  EXPECT_EQ(Records(v1::JournalRecord::kStepDone).size(), 4U);
  EXPECT_EQ(Records(v1::JournalRecord::kStepEnd).size(), 2U);
  ASSERT_EQ(Records(v1::JournalRecord::kRunEnd).size(), 1U);
  EXPECT_EQ(Records(v1::JournalRecord::kRunEnd)[0].run_end().cut_short(), "");
}

TEST_F(ConductorTest, TellsEachHostTheCommonStartInItsOwnClock) {
  EXPECT_FALSE(Run().has_value());
  const auto begins = Records(v1::JournalRecord::kStepBegin);
  ASSERT_EQ(begins.size(), 1U);
  const v1::StepBegin& begin = begins[0].step_begin();
  ASSERT_EQ(begin.host_start_ns_size(), 2);
  EXPECT_NEAR(static_cast<double>(begin.host_start_ns(0)), static_cast<double>(begin.start_ns()), 1e6);
  EXPECT_NEAR(static_cast<double>(begin.host_start_ns(1) - scripts_[1].clock_offset_ns),
              static_cast<double>(begin.start_ns()), 1e6);
  EXPECT_LT(begins[0].time_ns(), begin.start_ns()) << "the start must lie ahead";
}

TEST_F(ConductorTest, ArmsAllAgainWhenOneGotItsStartTooLate) {
  scripts_[1].late_arms = 1;
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "arm 0", "stop", "arm 0", "release"));
  EXPECT_THAT(diaries_[1], ElementsAre("open", "prepare", "arm 0", "arm 0", "release"));
  EXPECT_EQ(Records(v1::JournalRecord::kFrames).size(), 2U) << "frames of the start that was called off do not count";
  EXPECT_EQ(Records(v1::JournalRecord::kStepDone).size(), 2U);
  ASSERT_EQ(Records(v1::JournalRecord::kNote).size(), 1U);
}

TEST_F(ConductorTest, GivesUpWhenAHostIsLateTwice) {
  scripts_[1].late_arms = 2;
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kCannotRun);
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("beta: got its start too late twice")));
  EXPECT_THAT(diaries_[0], Contains("release"));
}

TEST_F(ConductorTest, StopsTheOthersWhenAHostIsLost) {
  scripts_[0].run_until_stopped = true;
  scripts_[1].break_at_step = 0;
  EXPECT_FALSE(Run().has_value()) << "what was measured has its report";
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "arm 0", "stop", "release"));
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].host_lost().host(), 1U);
  EXPECT_EQ(lost[0].host_lost().step(), 0);
  EXPECT_EQ(Records(v1::JournalRecord::kFrames).size(), 2U) << "the lost host's own data stay";
  EXPECT_THAT(Records(v1::JournalRecord::kRunEnd)[0].run_end().cut_short(), HasSubstr("beta"));
}

TEST_F(ConductorTest, WhateverBytesAnErrorHoldsTheJournalReadsBack) {
  scripts_[0].run_until_stopped = true;
  scripts_[1].break_at_step = 0;
  scripts_[1].break_message = "\xff\x1b[2J\n";
  EXPECT_FALSE(Run().has_value());
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].host_lost().reason(), "the session broke: \xef\xbf\xbd\xef\xbf\xbd[2J\xef\xbf\xbd");
  EXPECT_EQ(Records(v1::JournalRecord::kRunEnd).size(), 1U);
}

TEST_F(ConductorTest, LosesAHostThatSaysNothingForALease) {
  plan_.set_lease_ns(200 * kNsPerMs);
  scripts_[0].run_until_stopped = true;
  scripts_[1].silent_from_step = 0;
  EXPECT_FALSE(Run().has_value()) << "what was measured has its report";
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U) << "the other answers heartbeats";
  EXPECT_EQ(lost[0].host_lost().host(), 1U);
  EXPECT_THAT(lost[0].host_lost().reason(), HasSubstr("nothing heard from it for 200ms"));
  const auto frames = Records(v1::JournalRecord::kFrames);
  ASSERT_EQ(frames.size(), 2U) << "the lost host's own data stay";
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "arm 0", "stop", "release"));
}

TEST_F(ConductorTest, GoesOnWithTheOthersWhereThePlanSaysSo) {
  plan_.set_on_host_loss(v1::HOST_LOSS_POLICY_CONTINUE);
  plan_.add_block_size_bytes(8192);
  scripts_[1].break_at_step = 0;
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "arm 0", "arm 1", "release"));
  EXPECT_THAT(diaries_[1], Not(Contains("arm 1")));
}

TEST_F(ConductorTest, AHostWhoseClockIsNotKnownIsLostAndNotLeftOutSilently) {
  plan_.set_lease_ns(200 * kNsPerMs);
  scripts_[1].answer_probes = false;
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value()) << "the other host was measured without it";
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("beta")));
  ASSERT_EQ(Records(v1::JournalRecord::kHostLost).size(), 1U);
  EXPECT_THAT(diaries_[0], Not(Contains("arm 0")));
}

TEST_F(ConductorTest, AHostWhoseClockContradictsItselfIsLostAndNotLeftOutSilently) {
  plan_.set_on_host_loss(v1::HOST_LOSS_POLICY_CONTINUE);
  scripts_[1].contradictory_clock = true;
  EXPECT_FALSE(Run().has_value());
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].host_lost().host(), 1U);
  EXPECT_THAT(lost[0].host_lost().reason(), HasSubstr("its clock's answers contradict themselves"));
  EXPECT_THAT(diaries_[0], Contains("arm 0"));
  EXPECT_THAT(diaries_[1], Not(Contains("arm 0")));
}

TEST_F(ConductorTest, SaysWhyAnAgentEndedAStepByItself) {
  scripts_[1].ends_early = "the lease ran out";
  EXPECT_FALSE(Run().has_value());
  const auto ends = Records(v1::JournalRecord::kStepEnd);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_THAT(ends[0].step_end().cut_short(), HasSubstr("the lease ran out"));
}

TEST_F(ConductorTest, NamesEveryHostThatCouldNotPrepare) {
  scripts_[1].prepare_fault = absl::ResourceExhaustedError("pwritev2 /fake/S0000001.LOG: No space left on device (28)");
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kWrong);
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("beta: pwritev2 /fake/S0000001.LOG")));
  EXPECT_THAT(diaries_[0], Contains("release"));
}

TEST_F(ConductorTest, AnInterruptStopsEveryHostAndKeepsWhatThereIs) {
  for (FakeScript& script : scripts_) script.run_until_stopped = true;
  // The second host's first frame: both are armed then.
  scripts_[1].on_running = [this] { events_.Interrupt(); };
  const auto failure = Run();
  EXPECT_FALSE(left_);
  EXPECT_THAT(diaries_[0], Contains("stop"));
  EXPECT_THAT(diaries_[0], Contains("release"));
  EXPECT_THAT(diaries_[1], Contains("release"));
  ASSERT_EQ(Records(v1::JournalRecord::kRunEnd).size(), 1U);
  // It came while the answers to Arm were under way: nothing was measured yet.
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kInconclusive);
}

TEST_F(ConductorTest, WhatWasReceivedIsInTheJournalWhenTheConductorWaits) {
  plan_.set_lease_ns(400 * kNsPerMs);
  size_t sent = 0;
  for (FakeScript& script : scripts_) {
    script.run_until_stopped = true;
    script.on_running = [&sent] { ++sent; };
  }
  size_t kept = 0;
  // The first one after both hosts' frames came, a tenth of a second later: the conductor waited before it.
  scripts_[0].on_heartbeat = [&] {
    if (sent < 2) return;
    EXPECT_THAT(ReadJournal(path_, [&kept](const v1::JournalRecord& record) { kept += record.has_frames() ? 1U : 0U; }),
                testing::IsOk());
    events_.Interrupt();
    scripts_[0].on_heartbeat = [] {};
  };
  Run();
  EXPECT_EQ(kept, 2U);
}

TEST_F(ConductorTest, ASecondInterruptLeavesAtOnce) {
  for (FakeScript& script : scripts_) script.run_until_stopped = true;
  scripts_[1].on_running = [this] {
    events_.Interrupt();
    events_.Interrupt();
  };
  Run();
  EXPECT_TRUE(left_);
  EXPECT_THAT(diaries_[0], Not(Contains("release")));
}

TEST_F(ConductorTest, StopsTracesOnAllHostsAtTheLimit) {
  plan_.set_trace_limit_bytes(1'500);
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(diaries_[0], Contains("stop trace"));
  EXPECT_THAT(diaries_[1], Contains("stop trace"));
  ASSERT_EQ(Records(v1::JournalRecord::kNote).size(), 1U);
  EXPECT_THAT(Records(v1::JournalRecord::kNote)[0].note().text(), HasSubstr("--trace-limit"));
}

TEST_F(ConductorTest, GivesUpAHostWhoseLastWriteHangsAndSaysSinceWhen) {
  plan_.set_duration_ns(100 * kNsPerMs);
  plan_.set_hang_limit_ns(300 * kNsPerMs);
  scripts_[1].hang = FakeScript::Hang::kInStep;
  EXPECT_FALSE(Run().has_value()) << "what was measured has its report";
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].host_lost().host(), 1U);
  EXPECT_EQ(lost[0].host_lost().step(), 0);
  EXPECT_THAT(lost[0].host_lost().reason(),
              HasSubstr("for 300ms (--hang-limit) while the step's last writes were awaited; qm1 has been in one write "
                        "to /fake/qm1/active/S0000001.LOG since "));
  ASSERT_EQ(lost[0].host_lost().in_flight_size(), 1);
  EXPECT_EQ(lost[0].host_lost().in_flight(0).age_ns(), 1'500'000'000);
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "arm 0", "release"));
  EXPECT_THAT(diaries_[1], ElementsAre("open", "prepare", "arm 0", "close"));
}

TEST_F(ConductorTest, AHangDoesNotCountAsLongAsTheStepRuns) {
  plan_.set_duration_ns(900 * kNsPerMs);
  plan_.set_hang_limit_ns(200 * kNsPerMs);
  scripts_[1].hang = FakeScript::Hang::kInStep;
  EXPECT_FALSE(Run().has_value());
  const auto begin = Records(v1::JournalRecord::kStepBegin);
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_GE(lost[0].time_ns() - begin[0].step_begin().start_ns(), 1'100 * kNsPerMs);
}

TEST_F(ConductorTest, WaitsForAHostThatGetsOnHoweverLongThatTakes) {
  plan_.set_duration_ns(100 * kNsPerMs);
  plan_.set_lease_ns(kNsPerSecond);  // a heartbeat each 100 ms
  plan_.set_hang_limit_ns(400 * kNsPerMs);
  scripts_[1].hang = FakeScript::Hang::kInStep;
  scripts_[1].gets_on = true;
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(Records(v1::JournalRecord::kHostLost), ::testing::IsEmpty());
  EXPECT_EQ(Records(v1::JournalRecord::kStepDone).size(), 2U);
}

TEST_F(ConductorTest, GivesUpAHostThatHangsWhilePreparing) {
  plan_.set_hang_limit_ns(300 * kNsPerMs);
  scripts_[1].hang = FakeScript::Hang::kPreparing;
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kCannotRun);
  EXPECT_THAT(Records(v1::JournalRecord::kHostLost)[0].host_lost().reason(),
              HasSubstr("while it prepared; qm1 has been filling /fake/qm1/active/S0000001.LOG since "));
  EXPECT_THAT(diaries_[0], Contains("release"));
}

TEST_F(ConductorTest, GivesUpAHostThatHangsWhileItRemovesItsFiles) {
  plan_.set_hang_limit_ns(300 * kNsPerMs);
  scripts_[1].hang = FakeScript::Hang::kReleasing;
  EXPECT_FALSE(Run().has_value());
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].host_lost().step(), -1);
  EXPECT_THAT(lost[0].host_lost().reason(), HasSubstr("while its files were removed"));
}

TEST_F(ConductorTest, KeepsTheLeaseOfAQuietHostOverANewConnection) {
  plan_.set_lease_ns(300 * kNsPerMs);
  scripts_[0].run_until_stopped = true;
  scripts_[1].silent_from_step = 0;
  scripts_[1].answer_renewals = true;
  // Ten renewals are a lease that is over; the host is not lost for all that.
  scripts_[1].on_renewed = [this, renewed = 0]() mutable {
    if (++renewed == 20) events_.Interrupt();
  };
  plan_.set_hang_limit_ns(200 * kNsPerMs);
  EXPECT_FALSE(Run().has_value());
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_THAT(lost[0].host_lost().reason(), HasSubstr("--hang-limit")) << "it was heard, though it did nothing";
}

// After a cut what an agent sends may arrive long before the retransmission that it waits for.
TEST_F(ConductorTest, KeepsTheLeaseOfAHostThatIsHeardButHearsNothing) {
  plan_.set_lease_ns(300 * kNsPerMs);
  scripts_[0].run_until_stopped = true;
  scripts_[1].run_until_stopped = true;
  scripts_[1].deaf = true;
  scripts_[1].answer_renewals = true;
  scripts_[1].on_renewed = [this] { events_.Interrupt(); };
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(diaries_[1], Contains("renew"));
  EXPECT_THAT(diaries_[0], Not(Contains("renew")));
}

}  // namespace
}  // namespace plimsoll
