// What the coordinator does about hosts that are lost, hang or cannot go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing.h"
#include "tests/unit/run/coordinator_fixture.h"

namespace plimsoll::tests {
namespace {

TEST_F(CoordinatorTest, StopsTheOthersWhenAHostIsLost) {
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

TEST_F(CoordinatorTest, WhateverBytesAnErrorHoldsTheJournalReadsBack) {
  scripts_[0].run_until_stopped = true;
  scripts_[1].break_at_step = 0;
  scripts_[1].break_message = "\xff\x1b[2J\n";
  EXPECT_FALSE(Run().has_value());
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].host_lost().reason(), "the session broke: \xef\xbf\xbd\xef\xbf\xbd[2J\xef\xbf\xbd");
  EXPECT_EQ(Records(v1::JournalRecord::kRunEnd).size(), 1U);
}

TEST_F(CoordinatorTest, AMessageThatIsTooLargeIsNotTakenForABusyAgent) {
  scripts_[0].run_until_stopped = true;
  scripts_[1].break_at_step = 0;
  scripts_[1].break_code = absl::StatusCode::kResourceExhausted;
  scripts_[1].break_message = "a message of 9 bytes would take more than 32 MiB of memory";
  EXPECT_FALSE(Run().has_value());
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].host_lost().reason(), "the session broke: " + scripts_[1].break_message);
}

TEST_F(CoordinatorTest, LosesAHostThatSaysNothingForALease) {
  plan_.set_lease_ns(200 * kNsPerMs);
  scripts_[0].run_until_stopped = true;
  scripts_[1].silent_from_step = 0;
  EXPECT_FALSE(Run().has_value()) << "what was measured has its report";
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U) << "the other answers heartbeats";
  EXPECT_EQ(lost[0].host_lost().host(), 1U);
  EXPECT_THAT(lost[0].host_lost().reason(), HasSubstr("lease expired: no message for 200ms"));
  const auto frames = Records(v1::JournalRecord::kFrames);
  ASSERT_EQ(frames.size(), 2U) << "the lost host's own data stay";
  EXPECT_EQ(lost[0].time_ns() - frames[1].time_ns(), 200 * kNsPerMs) << "a lease after it was last heard";
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "arm 0", "stop", "release"));
}

TEST_F(CoordinatorTest, GoesOnWithTheOthersWhereThePlanSaysSo) {
  plan_.set_on_host_loss(v1::HOST_LOSS_POLICY_CONTINUE);
  plan_.add_block_size_bytes(8192);
  scripts_[1].break_at_step = 0;
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "arm 0", "arm 1", "release"));
  EXPECT_THAT(diaries_[1], Not(Contains("arm 1")));
}

TEST_F(CoordinatorTest, AHostWhoseClockIsNotKnownIsLostAndNotLeftOutSilently) {
  plan_.set_lease_ns(200 * kNsPerMs);
  scripts_[1].answer_probes = false;
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value()) << "the other host was measured without it";
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("beta")));
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  const auto prepared = Records(v1::JournalRecord::kHostPrepared);
  // The condition is looked at whenever a timer is due, at least each 100 ms.
  EXPECT_GE(lost[0].time_ns() - prepared[1].time_ns(), 8 * 200 * kNsPerMs);
  EXPECT_LT(lost[0].time_ns() - prepared[1].time_ns(), 8 * 200 * kNsPerMs + 100 * kNsPerMs);
  EXPECT_THAT(diaries_[0], Not(Contains("arm 0")));
}

TEST_F(CoordinatorTest, AHostWhoseClockContradictsItselfIsLostAndNotLeftOutSilently) {
  plan_.set_on_host_loss(v1::HOST_LOSS_POLICY_CONTINUE);
  scripts_[1].contradictory_clock = true;
  EXPECT_FALSE(Run().has_value());
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].host_lost().host(), 1U);
  EXPECT_THAT(lost[0].host_lost().reason(), HasSubstr("its clock readings contradict each other"));
  EXPECT_THAT(diaries_[0], Contains("arm 0"));
  EXPECT_THAT(diaries_[1], Not(Contains("arm 0")));
}

TEST_F(CoordinatorTest, SaysWhyAnAgentEndedAStepByItself) {
  scripts_[1].ends_early = "the lease ran out";
  EXPECT_FALSE(Run().has_value());
  const auto ends = Records(v1::JournalRecord::kStepEnd);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_THAT(ends[0].step_end().cut_short(), HasSubstr("the lease ran out"));
}

TEST_F(CoordinatorTest, AHostThatFailsEndsTheStepForItselfAlone) {
  plan_.set_on_host_loss(v1::HOST_LOSS_POLICY_CONTINUE);
  plan_.add_block_size_bytes(8192);
  scripts_[1].ends_early = "qm1: pwritev2 /fake/S0000001.LOG: Input/output error (5)";
  EXPECT_FALSE(Run().has_value());
  const auto ends = Records(v1::JournalRecord::kStepEnd);
  ASSERT_EQ(ends.size(), 2U);
  for (const v1::JournalRecord& end : ends) EXPECT_EQ(end.step_end().cut_short(), "");
  EXPECT_EQ(Records(v1::JournalRecord::kRunEnd).at(0).run_end().cut_short(), "");
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "arm 0", "arm 1", "release"));
  EXPECT_THAT(diaries_[1], Not(Contains("arm 1")));
}

// As after a controller that was frozen: what the agents say of their ends may come after the step's last totals.
TEST_F(CoordinatorTest, ARunWhoseHostsAllEndedTheStepByThemselvesIsNotComplete) {
  plan_.set_on_host_loss(v1::HOST_LOSS_POLICY_CONTINUE);
  for (FakeScript& script : scripts_) script.ends_early = "the lease ran out";
  EXPECT_FALSE(Run().has_value());
  const auto ends = Records(v1::JournalRecord::kRunEnd);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].run_end().cut_short(), "no host remains");
}

TEST_F(CoordinatorTest, NamesEveryHostThatCouldNotPrepare) {
  scripts_[1].prepare_fault = absl::ResourceExhaustedError("pwritev2 /fake/S0000001.LOG: No space left on device (28)");
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kWrong);
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("beta: pwritev2 /fake/S0000001.LOG")));
  EXPECT_THAT(diaries_[0], Contains("release"));
}

TEST_F(CoordinatorTest, GivesUpAHostWhoseLastWriteHangsAndSaysSinceWhen) {
  plan_.set_duration_ns(100 * kNsPerMs);
  plan_.set_hang_limit_ns(300 * kNsPerMs);
  scripts_[1].hang = FakeScript::Hang::kInStep;
  EXPECT_FALSE(Run().has_value()) << "what was measured has its report";
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].host_lost().host(), 1U);
  EXPECT_EQ(lost[0].host_lost().step(), 0);
  EXPECT_THAT(lost[0].host_lost().reason(),
              HasSubstr("for 300ms (--hang-limit) while waiting for the step's last writes; qm1 has been in one write "
                        "to /fake/qm1/active/S0000001.LOG since "));
  ASSERT_EQ(lost[0].host_lost().in_flight_size(), 1);
  EXPECT_EQ(lost[0].host_lost().in_flight(0).age_ns(), 1'500'000'000);
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "arm 0", "release"));
  EXPECT_THAT(diaries_[1], ElementsAre("open", "prepare", "arm 0", "close"));
}

TEST_F(CoordinatorTest, AHangDoesNotCountAsLongAsTheStepRuns) {
  plan_.set_warmup_ns(0);
  plan_.set_duration_ns(900 * kNsPerMs);
  plan_.set_hang_limit_ns(200 * kNsPerMs);
  scripts_[1].hang = FakeScript::Hang::kInStep;
  EXPECT_FALSE(Run().has_value());
  const auto begin = Records(v1::JournalRecord::kStepBegin);
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  // Looked at with each heartbeat, a tenth of the lease apart.
  EXPECT_GE(lost[0].time_ns() - begin[0].step_begin().start_ns(), 1'100 * kNsPerMs);
  EXPECT_LE(lost[0].time_ns() - begin[0].step_begin().start_ns(), 1'100 * kNsPerMs + 2 * 200 * kNsPerMs);
}

TEST_F(CoordinatorTest, WaitsForAHostThatGetsOnHoweverLongThatTakes) {
  plan_.set_duration_ns(100 * kNsPerMs);
  plan_.set_lease_ns(kNsPerSecond);  // a heartbeat each 100 ms
  plan_.set_hang_limit_ns(400 * kNsPerMs);
  scripts_[1].hang = FakeScript::Hang::kInStep;
  scripts_[1].gets_on = true;
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(Records(v1::JournalRecord::kHostLost), ::testing::IsEmpty());
  EXPECT_EQ(Records(v1::JournalRecord::kStepDone).size(), 2U);
}

TEST_F(CoordinatorTest, GivesUpAHostThatHangsWhilePreparing) {
  plan_.set_hang_limit_ns(300 * kNsPerMs);
  scripts_[1].hang = FakeScript::Hang::kPreparing;
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kCannotRun);
  EXPECT_THAT(Records(v1::JournalRecord::kHostLost)[0].host_lost().reason(),
              HasSubstr("while it prepared; qm1 has been filling /fake/qm1/active/S0000001.LOG since "));
  EXPECT_THAT(diaries_[0], Contains("release"));
}

TEST_F(CoordinatorTest, GivesUpAHostThatHangsWhileItRemovesItsFiles) {
  plan_.set_hang_limit_ns(300 * kNsPerMs);
  scripts_[1].hang = FakeScript::Hang::kReleasing;
  EXPECT_FALSE(Run().has_value());
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].host_lost().step(), -1);
  EXPECT_THAT(lost[0].host_lost().reason(), HasSubstr("while its files were removed"));
}

TEST_F(CoordinatorTest, NamesTheDetachingOfAWatchWhereItHangsAndNoRemovalOfFiles) {
  plan_.set_hang_limit_ns(300 * kNsPerMs);
  plan_.mutable_watch()->add_queue_managers("QM1");
  scripts_[1].hang = FakeScript::Hang::kReleasing;
  EXPECT_FALSE(Run().has_value());
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_THAT(lost[0].host_lost().reason(), HasSubstr("while it detached"));
}

TEST_F(CoordinatorTest, KeepsTheLeaseOfAQuietHostOverANewConnection) {
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
TEST_F(CoordinatorTest, KeepsTheLeaseOfAHostThatIsHeardButHearsNothing) {
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
}  // namespace plimsoll::tests
