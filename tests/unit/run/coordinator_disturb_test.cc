// A run whose plan disturbs the storage: what is undone before the hosts are released, and what is read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "controller/run/read_back.h"
#include "controller/run/run_guard.h"
#include "tests/testing.h"
#include "tests/unit/run/coordinator_fixture.h"

namespace plimsoll::tests {
namespace {

// A disturbance 10 s after the beginning of the measured time, undone 10 s later, in a step of 40 s.
class CoordinatorDisturbTest : public CoordinatorTest {
 protected:
  CoordinatorDisturbTest() {
    plan_.set_duration_ns(40 * kNsPerSecond);
    plan_.set_warmup_ns(kWarmUpNs);
    v1::Disturbance& one = *plan_.add_disturb();
    one.set_name("takeover");
    one.set_at_ns(10 * kNsPerSecond);
    one.set_hold_ns(10 * kNsPerSecond);
    one.add_do_("break");
    one.add_undo("fix");
    for (FakeScript& script : scripts_) script.step_ns = kWarmUpNs + 40 * kNsPerSecond;
  }

  // Calls `act` with the first heartbeat that finds so many commands started.
  void WhenStarted(size_t commands, const std::function<void()>& act) {
    scripts_[0].on_heartbeat = [this, commands, act] {
      if (commands_.started.size() < commands) return;
      scripts_[0].on_heartbeat = [] {};
      act();
    };
  }

  // What the hosts read back, by number of the host: the error, or "".
  std::vector<std::pair<uint32_t, std::string>> ReadBack() const {
    std::vector<std::pair<uint32_t, std::string>> read;
    for (const v1::JournalRecord& record : records_) {
      const v1::HostReadBack& one = record.disturb().read_back();
      if (record.disturb().has_read_back()) read.emplace_back(one.host(), one.done().error());
    }
    return read;
  }

  static constexpr int64_t kWarmUpNs = 2 * kNsPerSecond;
};

TEST_F(CoordinatorDisturbTest, CommandsRunAtTheirTimesOfTheMeasuredPartAndThenTheHostsReadBack) {
  EXPECT_FALSE(Run().has_value());
  for (const FakeDiary& diary : diaries_) {
    EXPECT_THAT(diary, ElementsAre("open", "prepare", "arm 0", "read back 0", "release"));
  }
  EXPECT_THAT(commands_.Names(), ElementsAre("break", "fix"));
  const auto begins = Records(v1::JournalRecord::kStepBegin);
  ASSERT_EQ(begins.size(), 1U);
  const MonotonicNs measured{begins[0].step_begin().start_ns() + kWarmUpNs};
  EXPECT_EQ(commands_.started[0].at - measured, 10 * kNsPerSecond);
  EXPECT_NEAR(static_cast<double>(commands_.started[1].at - measured), 20e9, 30e6);
  EXPECT_THAT(ReadBack(), ::testing::UnorderedElementsAre(std::pair(0U, ""), std::pair(1U, "")));
}

TEST_F(CoordinatorDisturbTest, AnInterruptUndoesBeforeTheHostsAreReleased) {
  WhenStarted(1, [this] { events_.Interrupt(); });
  commands_.ends["fix"] = {.length_ns = 3 * kNsPerSecond};
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(commands_.Names(), ElementsAre("break", "fix"));
  EXPECT_FALSE(left_);
  for (const FakeDiary& diary : diaries_) {
    EXPECT_THAT(diary, ElementsAre("open", "prepare", "arm 0", "stop", "release")) << "nothing is read back";
  }
  const auto ends = Records(v1::JournalRecord::kRunEnd);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].run_end().cut_short(), "interrupted");
  EXPECT_GE(ends[0].time_ns(), (commands_.started[1].at + 3 * kNsPerSecond).value) << "undo is waited for";
}

TEST_F(CoordinatorDisturbTest, ASecondInterruptLeavesUndoRunning) {
  WhenStarted(1, [this] {
    events_.Interrupt();
    events_.Interrupt();
  });
  Run();
  EXPECT_TRUE(left_);
  ASSERT_THAT(commands_.Names(), ElementsAre("break", "fix"));
  EXPECT_TRUE(commands_.started[1].left);
}

TEST_F(CoordinatorDisturbTest, AHostThatIsLostUndoesAndTheOthersReadBack) {
  // Says nothing from its arming on: its lease expires.
  scripts_[1].silent_from_step = 0;
  plan_.mutable_disturb(0)->set_at_ns(5 * kNsPerSecond);
  plan_.set_lease_ns(10 * kNsPerSecond);
  EXPECT_FALSE(Run().has_value());
  ASSERT_THAT(commands_.Names(), ElementsAre("break", "fix"));
  EXPECT_LT(commands_.started[1].at - commands_.started[0].at, 9 * kNsPerSecond) << "before the hold is over";
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "arm 0", "stop", "read back 0", "release"));
  EXPECT_THAT(diaries_[1], Not(Contains("read back 0")));
  EXPECT_THAT(ReadBack(), ElementsAre(std::pair(0U, "")));
}

TEST_F(CoordinatorDisturbTest, AHostWhoseWritersFailedReadsBack) {
  plan_.set_on_host_loss(v1::HOST_LOSS_POLICY_CONTINUE);
  scripts_[1].ends_early = "pwritev2: Input/output error (5)";
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(diaries_[1], Contains("read back 0"));
  EXPECT_THAT(ReadBack(), ::testing::UnorderedElementsAre(std::pair(0U, ""), std::pair(1U, "")));
}

TEST_F(CoordinatorDisturbTest, ARefusalToReadBackIsKeptAsAnError) {
  scripts_[1].refuses_read_back = "the step has no ledger";
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(ReadBack(),
              ::testing::UnorderedElementsAre(
                  std::pair(0U, ""), std::pair(1U, "the agent refused to read them back: the step has no ledger")));
}

// Its writes may end only then.
TEST_F(CoordinatorDisturbTest, TheHangLimitCountsFromTheEndOfUndo) {
  plan_.set_hang_limit_ns(10 * kNsPerSecond);
  plan_.mutable_disturb(0)->set_hold_ns(3600 * kNsPerSecond);
  commands_.ends["fix"] = {.length_ns = 20 * kNsPerSecond};
  scripts_[1].step_ns = 0;
  scripts_[1].hang = FakeScript::Hang::kInStep;
  EXPECT_FALSE(Run().has_value());
  ASSERT_THAT(commands_.Names(), ElementsAre("break", "fix"));
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_GE(lost[0].time_ns(), (commands_.started[1].at + 30 * kNsPerSecond).value);
}

// Preparing takes some 20 s, and so does reading back.
class TimedDisturbTest : public CoordinatorDisturbTest {
 protected:
  TimedDisturbTest() {
    plan_.set_lease_ns(10 * kNsPerSecond);
    plan_.set_hang_limit_ns(600 * kNsPerSecond);
    plan_.mutable_disturb(0)->set_command_limit_ns(kNsPerSecond);
    scripts_[0].prepares_after_heartbeats = kPreparingSeconds;
  }

  // Steps, and what follows them, have to be over so many seconds after the beginning.
  void EndAfter(int64_t seconds) {
    guard_ =
        std::make_unique<RunGuard>(std::vector<AbortCondition>(),
                                   RunGuard::End{clock_.Now() + seconds * kNsPerSecond + kCleanUpReserveNs, "04:30"});
  }

  static constexpr int kPreparingSeconds = 20;
  // Warm-up, step, `do` and `undo` at their limits.
  static constexpr int64_t kStepSeconds = 2 + 40 + 2;
};

TEST_F(TimedDisturbTest, TheStepBeginsOnlyIfReadingBackFitsInAsWell) {
  EndAfter(kPreparingSeconds + kStepSeconds + kPreparingSeconds / 2);
  const std::optional<Failure> failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_THAT(failure->lines.front(), HasSubstr("step 1 was not begun: --end-by: "));
  EXPECT_THAT(commands_.Names(), IsEmpty());
}

TEST_F(TimedDisturbTest, WithTimeForItTheFilesAreReadBack) {
  EndAfter(kPreparingSeconds + kStepSeconds + kPreparingSeconds + 5);
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(ReadBack(), ::testing::UnorderedElementsAre(std::pair(0U, ""), std::pair(1U, "")));
}

TEST_F(TimedDisturbTest, ReadingBackThatCannotEndInTimeIsNotBegunAndSaysSo) {
  EndAfter(kPreparingSeconds + kStepSeconds + kPreparingSeconds + 5);
  // The last write returns late.
  for (FakeScript& script : scripts_) script.step_ns += 20 * kNsPerSecond;
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(commands_.Names(), ElementsAre("break", "fix"));
  EXPECT_THAT(ReadBack(), IsEmpty());
  for (const FakeDiary& diary : diaries_) EXPECT_THAT(diary, Not(Contains("read back 0")));
  EXPECT_THAT(Records(v1::JournalRecord::kNote),
              Contains(ResultOf([](const v1::JournalRecord& record) { return record.note().text(); },
                                ContainsRegex("^The files were not read back: --end-by: .* do not fit in before"))));
}

TEST(ReadBackReserve, IsThatOfTheHostWithTheLargestLogs) {
  std::vector<v1::LogWorkload> workloads(2);
  for (v1::LogWorkload& workload : workloads) {
    workload.set_qm(1);
    workload.set_num_files(3);
    workload.set_file_size_bytes(100'000'000);
  }
  EXPECT_EQ(ReadBackReserveNs(workloads), 3 * kNsPerSecond);
  workloads[1].set_qm(4);
  EXPECT_EQ(ReadBackReserveNs(workloads), 12 * kNsPerSecond);
  workloads[1].set_file_size_bytes(UINT64_MAX);
  EXPECT_GT(ReadBackReserveNs(workloads), 12 * kNsPerSecond);
}

TEST_F(CoordinatorDisturbTest, AHostThatHangsWhileItReadsBackIsLost) {
  plan_.set_hang_limit_ns(10 * kNsPerSecond);
  scripts_[1].hang = FakeScript::Hang::kReadingBack;
  EXPECT_FALSE(Run().has_value());
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_THAT(lost[0].host_lost().reason(), HasSubstr("no progress for 10s (--hang-limit) while it read its files"));
  EXPECT_THAT(diaries_[0], Contains("release"));
}

}  // namespace
}  // namespace plimsoll::tests
