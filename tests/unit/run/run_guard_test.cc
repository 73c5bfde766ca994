// The guard of a run: by the seconds that the live view shows, and by the time of day.
#include "controller/run/run_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/units.h"
#include "controller/run/journal_size.h"
#include "tests/testing.h"
#include "tests/unit/run/coordinator_fixture.h"

namespace plimsoll::tests {
namespace {

constexpr MonotonicNs kStart{1'000 * kNsPerSecond};

// A step of which one second after the other is shown.
class GuardedStep {
 public:
  explicit GuardedStep(const std::vector<std::string>& conditions) {
    std::vector<AbortCondition> parsed;
    for (const std::string& text : conditions) parsed.push_back(*ParseAbortCondition(text));
    guard_ = std::make_unique<RunGuard>(std::move(parsed), std::nullopt);
    Begin(1);
  }

  void Begin(uint32_t step) {
    moment_ = {};
    moment_.view.now.step = step;
    moment_.now = now_;
    moment_.begins = true;
    Show(LivePhase::kStarting);
    moment_.begins = false;
  }

  // The next second, 1 s later, whose p99 is this.
  LiveSecond& Second(int64_t p99_ns, uint64_t writes = 100) {
    LiveSecond& second = moment_.view.seconds.emplace_back();
    second.number = static_cast<int64_t>(moment_.view.seconds.size()) - 1;
    second.end_ns = (second.number + 1) * kNsPerSecond;
    second.cluster.writes = writes;
    second.cluster.iops = static_cast<double>(writes);
    second.cluster.p99_ns = second.cluster.max_ns = static_cast<uint64_t>(p99_ns);
    return second;
  }

  // Why the run must stop once that is shown; empty: it need not.
  std::string Look() {
    now_ = now_ + kNsPerSecond;
    moment_.now = now_;
    Show(LivePhase::kRunning);
    return guard_->MustStop(now_);
  }

  std::string After(int64_t p99_ns, uint64_t writes = 100) {
    Second(p99_ns, writes);
    return Look();
  }

  void End() { Show(LivePhase::kMeasured); }
  RunGuard& guard() { return *guard_; }
  MonotonicNs now() const { return now_; }

 private:
  void Show(LivePhase phase) {
    moment_.phase = phase;
    guard_->OnMoment(std::make_shared<const LiveMoment>(moment_));
  }

  std::unique_ptr<RunGuard> guard_;
  LiveMoment moment_;
  MonotonicNs now_ = kStart;
};

TEST(RunGuard, EndsARunAtTheSecondInARowThatTheConditionNames) {
  GuardedStep step({"p99>20ms for 3s"});
  EXPECT_EQ(step.After(30 * kNsPerMs), "");
  EXPECT_EQ(step.After(25 * kNsPerMs), "");
  EXPECT_EQ(step.After(20 * kNsPerMs), "") << "not beyond the limit: the row begins again";
  EXPECT_EQ(step.After(20 * kNsPerMs + 1), "");
  EXPECT_EQ(step.After(25 * kNsPerMs), "");
  EXPECT_EQ(step.After(21 * kNsPerMs),
            "--abort-if 'p99>20ms for 3s': 20.000 ms to 25.000 ms in 3 seconds in a row, up to second 6 of step 1");
  EXPECT_NE(step.After(1), "") << "it stays so";
}

TEST(RunGuard, BeginsAnewWithEachStep) {
  GuardedStep step({"p99>20ms for 2s"});
  EXPECT_EQ(step.After(30 * kNsPerMs), "");
  step.Begin(2);
  EXPECT_EQ(step.After(30 * kNsPerMs), "");
  EXPECT_THAT(step.After(30 * kNsPerMs), HasSubstr("up to second 2 of step 2"));
}

TEST(RunGuard, CountsAWriteThatHasNotReturned) {
  GuardedStep step({"p99>20ms for 2s", "max>5s"});
  // No write ended in these seconds: what is in flight is all that there is to judge.
  LiveSecond& first = step.Second(0, 0);
  first.waiting_ns = first.idle_waiting_ns = 900 * kNsPerMs;
  EXPECT_EQ(step.Look(), "");
  LiveSecond& second = step.Second(0, 0);
  second.waiting_ns = second.idle_waiting_ns = 1'900 * kNsPerMs;
  second.waiting_writer = "alpha/qm1";
  EXPECT_THAT(step.Look(), HasSubstr("900.000 ms to 1900.000 ms in 2 seconds in a row"));
  EXPECT_THAT(step.Look(), HasSubstr("; a write of alpha/qm1 had not returned"));

  // Other writers' percentiles stay what they are; the longest write is that one.
  GuardedStep beside({"p99>20ms", "max>5s"});
  LiveSecond& busy = beside.Second(1 * kNsPerMs);
  busy.waiting_ns = busy.idle_waiting_ns = 6 * kNsPerSecond;
  EXPECT_THAT(beside.Look(), HasSubstr("--abort-if 'max>5s': 6000.000 ms in a second"));
}

TEST(RunGuard, OfTheHostThatIsWorst) {
  GuardedStep step({"p99@host>20ms"});
  LiveSecond& second = step.Second(1 * kNsPerMs);
  second.worst_host = "beta";
  second.worst.p99_ns = 21 * kNsPerMs;
  EXPECT_NE(step.Look(), "");
  GuardedStep silent({"p99@host>20ms"});
  LiveSecond& other = silent.Second(1 * kNsPerMs);
  other.worst_host = "alpha";
  other.worst.p99_ns = 1 * kNsPerMs;
  other.idle_waiting_ns = 21 * kNsPerMs;
  EXPECT_NE(silent.Look(), "") << "a host on which nothing ended is the worst one";
}

TEST(RunGuard, ASecondWithoutAnythingToJudgeChangesNothing) {
  GuardedStep step({"p99>20ms for 2s"});
  EXPECT_EQ(step.After(30 * kNsPerMs), "");
  EXPECT_EQ(step.After(0, 0), "");
  EXPECT_NE(step.After(30 * kNsPerMs), "");
}

TEST(RunGuard, OfThroughputIsBelowALimit) {
  GuardedStep step({"iops<50 for 2s"});
  EXPECT_EQ(step.After(1, 50), "");
  EXPECT_EQ(step.After(1, 0), "");
  EXPECT_THAT(step.After(1, 49), HasSubstr("'iops<50 for 2s': 0.0/s to 49.0/s"));
}

TEST(RunGuard, ThatSeesNothingEndsTheRun) {
  GuardedStep step({"p99>20ms"});
  EXPECT_EQ(step.After(1), "");
  const MonotonicNs seen = step.now();
  EXPECT_EQ(step.guard().MustStop(seen + kGuardBlindNs), "");
  step.End();
  EXPECT_EQ(step.guard().MustStop(seen + 10 * kGuardBlindNs), "") << "between steps there is nothing to see";
  step.Begin(2);
  const std::string why = step.guard().MustStop(step.now() + kGuardBlindNs + 1);
  EXPECT_THAT(why, HasSubstr("no complete figures for more than 5s"));
  step.End();
  EXPECT_EQ(step.guard().MustStop(step.now()), why) << "it stays so";
}

TEST(RunGuard, EndsByATime) {
  RunGuard guard({}, RunGuard::End{kStart + 100 * kNsPerSecond, "04:30"});
  const MonotonicNs last = kStart + 100 * kNsPerSecond - kCleanUpReserveNs;
  EXPECT_EQ(guard.MustStop(last - 1), "");
  EXPECT_THAT(guard.MustStop(last), HasSubstr("--end-by: its files have to be removed by 04:30"));
  EXPECT_EQ(guard.MayNotBegin(10 * kNsPerSecond, last - 10 * kNsPerSecond), "");
  EXPECT_THAT(guard.MayNotBegin(10 * kNsPerSecond, last - 10 * kNsPerSecond + 1),
              HasSubstr("do not fit in before 04:30"));
  EXPECT_THAT(guard.Notes(kStart + 100 * kNsPerSecond), IsEmpty());
  EXPECT_THAT(guard.Notes(kStart + 101 * kNsPerSecond),
              ElementsAre("--end-by: the files were removed 1.0 s after 04:30."));
}

// In a whole run.
class GuardedRun : public CoordinatorTest {};

TEST_F(GuardedRun, ThatMustEndStopsItsHostsAndSaysWhy) {
  for (FakeScript& script : scripts_) script.run_until_stopped = true;
  plan_.add_abort_if("p99>20ms");
  guard_ = std::make_unique<RunGuard>(std::vector{*ParseAbortCondition("p99>20ms")}, std::nullopt);
  // The fake hosts send no second: the guard is blind.
  EXPECT_EQ(Run(), std::nullopt);
  const auto ends = Records(v1::JournalRecord::kRunEnd);
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_THAT(ends[0].run_end().cut_short(), HasSubstr("--abort-if: there were no complete figures"));
  ASSERT_THAT(ends[0].run_end().released(), SizeIs(2)) << "what each host removed";
  for (const FakeDiary& diary : diaries_) EXPECT_THAT(diary, Contains("stop"));
}

TEST_F(GuardedRun, WhoseJournalBecomesTooLargeEndsAndSaysSo) {
  for (FakeScript& script : scripts_) {
    script.run_until_stopped = true;
    script.trace_bytes = 600'000;
  }
  plan_.set_journal_limit_bytes(1U << 20U);
  guard_ = RunGuard::Make(plan_, clock_).value();
  ASSERT_NE(guard_, nullptr);
  on_log_ = [this](RunLog& log) {
    guard_->Ask([&log](MonotonicNs /*now*/) { return OverJournalLimit(log.journal_bytes(), 1U << 20U); });
    // Virtual time does not run ahead of the journal's thread.
    scripts_[0].on_heartbeat = [&log] { log.Flush(); };
  };
  EXPECT_EQ(Run(), std::nullopt);
  const auto ends = Records(v1::JournalRecord::kRunEnd);
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_THAT(ends[0].run_end().cut_short(), ContainsRegex("^--journal-limit: the journal has .* of 1 MiB"));
  EXPECT_THAT(Records(v1::JournalRecord::kStepEnd), SizeIs(1)) << "what was measured is reported";
  for (const FakeDiary& diary : diaries_) EXPECT_THAT(diary, Contains("stop"));
}

TEST_F(GuardedRun, NoStepBeginsThatCannotEndInTime) {
  plan_.set_duration_ns(10 * kNsPerSecond);
  plan_.set_warmup_ns(0);
  next_step_ = [this](RunLog& /*log*/) {
    v1::LogStep longer = ExpandSteps(plan_)[0];
    longer.set_duration_ns(60 * kNsPerSecond);
    return std::optional(longer);
  };
  guard_ = std::make_unique<RunGuard>(std::vector<AbortCondition>(),
                                      RunGuard::End{clock_.Now() + 30 * kNsPerSecond + kCleanUpReserveNs, "04:30"});
  EXPECT_EQ(Run(), std::nullopt);
  EXPECT_THAT(Records(v1::JournalRecord::kStepEnd), SizeIs(1));
  const std::string why = Records(v1::JournalRecord::kRunEnd).at(0).run_end().cut_short();
  EXPECT_THAT(why, ContainsRegex("step 2 was not begun: --end-by: 1m and 15s for removing files do not fit in"));
}

TEST_F(GuardedRun, ThatIsLateBeforeItsFirstStepMeasuresNothing) {
  guard_ = std::make_unique<RunGuard>(std::vector<AbortCondition>(), RunGuard::End{clock_.Now() + 1, "04:30"});
  const std::optional<Failure> failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kInconclusive);
  EXPECT_THAT(failure->lines.front(), HasSubstr("ended while preparing: --end-by"));
  for (const FakeDiary& diary : diaries_) EXPECT_THAT(diary, Contains("release"));
}

}  // namespace
}  // namespace plimsoll::tests
