#include "controller/run/coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing.h"
#include "tests/unit/run/coordinator_fixture.h"

namespace plimsoll::tests {
namespace {

const v1::ScopeReport& Scope(const v1::StepReport& step) {
  return *std::find_if(step.scopes().begin(), step.scopes().end(),
                       [](const v1::ScopeReport& scope) { return scope.kind() == v1::SCOPE_KIND_CLUSTER; });
}

TEST_F(CoordinatorTest, TakesEveryHostThroughEveryStep) {
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

TEST_F(CoordinatorTest, TakesEveryHostThroughStepsThatAreAddedOneByOne) {
  std::vector<size_t> reports;
  next_step_ = [&reports](RunLog& log) -> std::optional<v1::LogStep> {
    reports.push_back(log.analyzer().reports().size());
    if (reports.size() > 2) return std::nullopt;
    v1::LogStep step;
    step.set_block_size_bytes(4096);
    step.set_duration_ns(kNsPerSecond);
    step.set_rate_per_second(100 * static_cast<double>(reports.size()));
    return step;
  };
  EXPECT_FALSE(Run().has_value());
  for (const FakeDiary& diary : diaries_) {
    EXPECT_THAT(diary, ElementsAre("open", "prepare", "arm 0", "add 1", "arm 1", "add 2", "arm 2", "release"));
  }
  EXPECT_THAT(reports, ElementsAre(1U, 2U, 3U)) << "asked when the step before has its report";
  // The journal has them, with the commands and their answers.
  const auto begins = Records(v1::JournalRecord::kStepBegin);
  ASSERT_EQ(begins.size(), 3U);
  EXPECT_FALSE(begins[0].step_begin().has_added());
  EXPECT_EQ(begins[2].step_begin().added().rate_per_second(), 200);
  EXPECT_EQ(Records(v1::JournalRecord::kHostCommand).size(), 4U);
  EXPECT_EQ(Records(v1::JournalRecord::kHostCommandDone).size(), 4U);
  Analyzer again;
  for (const v1::JournalRecord& record : records_) EXPECT_TRUE(again.Add(record));
  const v1::Report report = again.Finish();
  ASSERT_EQ(report.steps_size(), 3);
  EXPECT_EQ(report.steps(2).rate_per_second(), 200);
  EXPECT_EQ(Scope(report.steps(2)).rate().asked_iops(), 400) << "two hosts";
}

TEST_F(CoordinatorTest, AHostWithoutAWriterInAStepTakesNoPartInItAndIsNotMissed) {
  v1::PlacedQueueManager& qm = *plan_.add_placement();
  qm.set_qm("PAYMENTS");
  qm.set_home("alpha:1");
  qm.set_standby("beta:1");
  qm.set_rate_per_second(1);
  EXPECT_FALSE(Run().has_value());
  // All up, alpha down, beta down.
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "arm 0", "arm 2", "release"));
  EXPECT_THAT(diaries_[1], ElementsAre("open", "prepare", "arm 1", "release"));
  const auto begins = Records(v1::JournalRecord::kStepBegin);
  ASSERT_EQ(begins.size(), 3U);
  EXPECT_EQ(begins[0].step_begin().host_start_ns(1), 0);
  EXPECT_EQ(begins[1].step_begin().host_start_ns(0), 0);
  EXPECT_NE(begins[1].step_begin().host_start_ns(1), 0);
  Analyzer again;
  for (const v1::JournalRecord& record : records_) EXPECT_TRUE(again.Add(record));
  const v1::Report report = again.Finish();
  EXPECT_THAT(report.notes(), ::testing::Not(Contains(HasSubstr("took no part"))));
  EXPECT_THAT(report.verdict().reasons(), ::testing::Not(Contains(HasSubstr("took no part"))));
  ASSERT_EQ(report.steps_size(), 3);
  EXPECT_EQ(report.steps(1).down_host(), "alpha");
}

TEST_F(CoordinatorTest, AStepWaitsForItsTurnWhileTheSessionsAreKept) {
  // Far longer than a lease.
  constexpr int64_t kOthersTurnNs = 60 * kNsPerSecond;
  std::vector<MonotonicNs> asked;
  turn_ = [&](uint32_t step) {
    if (asked.size() == step) asked.push_back(clock_.Now());
    if (step == 2) return Coordinator::Turn::kNever;
    return clock_.Now() - asked.back() >= kOthersTurnNs ? Coordinator::Turn::kBegin : Coordinator::Turn::kWait;
  };
  next_step_ = [&](RunLog& log) {
    EXPECT_EQ(log.analyzer().SoFar(0).steps_size(), 1) << "the step before is reported";
    EXPECT_EQ(log.analyzer().SoFar(1).steps_size(), 0);
    EXPECT_EQ(log.analyzer().SoFar(0).hosts_size(), 2);
    return ExpandSteps(plan_).front();
  };
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "arm 0", "add 1", "arm 1", "release"));
  const auto begins = Records(v1::JournalRecord::kStepBegin);
  ASSERT_EQ(begins.size(), 2U);
  EXPECT_GE(begins[1].time_ns() - begins[0].time_ns(), kOthersTurnNs);
  EXPECT_TRUE(Records(v1::JournalRecord::kHostLost).empty());
}

TEST_F(CoordinatorTest, ARunThatNeverGetsATurnHasMeasuredNothingAndLeavesNothing) {
  turn_ = [](uint32_t /*step*/) { return Coordinator::Turn::kNever; };
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kInconclusive);
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "release"));
}

TEST_F(CoordinatorTest, AnInterruptEndsTheWaitForATurn) {
  turn_ = [this](uint32_t /*step*/) {
    if (events_.interrupts() == 0) events_.Interrupt();
    return Coordinator::Turn::kWait;
  };
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kInconclusive);
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "release"));
}

TEST_F(CoordinatorTest, AHostThatRefusesAStepIsLost) {
  scripts_[1].refuses_steps = "nothing was prepared for blocks of 8k";
  next_step_ = [](RunLog& /*log*/) { return v1::LogStep(); };
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "arm 0", "add 1", "release"));
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].host_lost().reason(), "the agent refused a step: nothing was prepared for blocks of 8k");
}

TEST_F(CoordinatorTest, ReportsEachHostTheCommonStartInItsOwnClock) {
  EXPECT_FALSE(Run().has_value());
  const auto begins = Records(v1::JournalRecord::kStepBegin);
  ASSERT_EQ(begins.size(), 1U);
  const v1::StepBegin& begin = begins[0].step_begin();
  ASSERT_EQ(begin.host_start_ns_size(), 2);
  // The probes took no time: nothing is left to be uncertain of.
  EXPECT_EQ(begin.host_start_ns(0), begin.start_ns());
  EXPECT_EQ(begin.host_start_ns(1) - scripts_[1].clock_offset_ns, begin.start_ns());
  EXPECT_LT(begins[0].time_ns(), begin.start_ns()) << "the start must lie ahead";
}

TEST_F(CoordinatorTest, ArmsAllAgainWhenOneGotItsStartTooLate) {
  scripts_[1].late_arms = 1;
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "arm 0", "stop", "arm 0", "release"));
  EXPECT_THAT(diaries_[1], ElementsAre("open", "prepare", "arm 0", "arm 0", "release"));
  EXPECT_EQ(Records(v1::JournalRecord::kFrames).size(), 2U) << "frames of the start that was called off do not count";
  EXPECT_EQ(Records(v1::JournalRecord::kStepDone).size(), 2U);
  ASSERT_EQ(Records(v1::JournalRecord::kNote).size(), 1U);
}

// A probe that a cut has delayed is answered when the start is about to be fixed: it says nothing of the way there.
TEST_F(CoordinatorTest, AStartIsFixedByProbesThatWereSentForItAndNotByOneThatWasUnderWay) {
  scripts_[0].prepares_after_heartbeats = 10;
  scripts_[1].hold_single_probe = true;
  EXPECT_FALSE(Run().has_value());
  const auto begins = Records(v1::JournalRecord::kStepBegin);
  ASSERT_EQ(begins.size(), 1U);
  EXPECT_EQ(begins[0].step_begin().start_ns() - begins[0].time_ns(), 50 * kNsPerMs) << "the shortest lead there is";
}

// One delayed answer would leave the clock uncertain until the next period.
TEST_F(CoordinatorTest, AHostWhoseAnswerWasDelayedIsProbedAgainAtOnceButNotWithoutEnd) {
  scripts_[0].prepares_after_heartbeats = 10;
  scripts_[1].probe_delays_ns.assign(7, 10 * kNsPerMs);
  scripts_[1].probe_delays_ns.front() = 0;
  EXPECT_FALSE(Run().has_value());
  // Of the second host: when the batches of one probe were taken.
  std::vector<int64_t> taken_ns;
  for (const v1::JournalRecord& record : Records(v1::JournalRecord::kProbes)) {
    if (record.probes().host() == 1 && record.probes().probes_size() == 1) taken_ns.push_back(record.time_ns());
  }
  ASSERT_GT(taken_ns.size(), 8U);
  // A regular probe; in the next period one and three more, all delayed; then one and two more, of which the last is
  // not delayed; then a regular one.
  for (const size_t i : {2U, 3U, 4U, 6U, 7U}) EXPECT_EQ(taken_ns[i], taken_ns[i - 1]) << i;
  for (const size_t i : {1U, 5U, 8U}) EXPECT_EQ(taken_ns[i] - taken_ns[i - 1], 100 * kNsPerMs) << i;
}

TEST_F(CoordinatorTest, LateAnswersOfManyHostsDoNotMultiplyTheProbes) {
  constexpr size_t kHosts = 40;
  AddHostsUpTo(kHosts);
  scripts_[0].prepares_after_heartbeats = 10;
  for (FakeScript& script : scripts_) {
    script.probe_delays_ns.assign(7, 10 * kNsPerMs);
    script.probe_delays_ns.front() = 0;
  }
  EXPECT_FALSE(Run().has_value());
  std::map<int64_t, size_t> taken;
  for (const v1::JournalRecord& record : Records(v1::JournalRecord::kProbes)) {
    if (record.probes().probes_size() == 1) ++taken[record.time_ns()];
  }
  size_t most = 0;
  for (const auto& [moment_ns, probes] : taken) most = std::max(most, probes);
  // Regular probes of all hosts, and 48 more where each host could have had three.
  EXPECT_EQ(most, kHosts + 48);
}

TEST_F(CoordinatorTest, AHostThatIsLateAgainAndAgainGetsMoreTimeForEachStart) {
  scripts_[1].late_arms = 3;
  EXPECT_FALSE(Run().has_value());
  const auto begins = Records(v1::JournalRecord::kStepBegin);
  ASSERT_EQ(begins.size(), 1U);
  EXPECT_EQ(begins[0].step_begin().start_ns() - begins[0].time_ns(), 64 * 50 * kNsPerMs);
  EXPECT_EQ(Records(v1::JournalRecord::kNote).size(), 3U);
}

TEST_F(CoordinatorTest, GivesUpWhenAHostIsLateFourTimes) {
  scripts_[1].late_arms = 4;
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kCannotRun);
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("beta: got its start too late four times")));
  EXPECT_THAT(diaries_[0], Contains("release"));
}

// A slow path delays the answer until long after the step. Without the answer, the step's figures would rest on a clock
// that is not known.
TEST_F(CoordinatorTest, NoHostIsReleasedBeforeItsClockIsKnownAtTheEndOfTheLastStep) {
  scripts_[1].hang = FakeScript::Hang::kInStep;
  scripts_[1].gets_on = true;
  scripts_[1].answers_probes_late = true;
  EXPECT_FALSE(Run().has_value());
  bool done = false;
  bool known_afterwards = false;
  for (const v1::JournalRecord& record : records_) {
    done = done || (record.has_step_done() && record.step_done().host() == 1);
    known_afterwards = known_afterwards || (done && record.has_probes() && record.probes().host() == 1);
  }
  EXPECT_TRUE(known_afterwards);
}

TEST_F(CoordinatorTest, AnInterruptStopsEveryHostAndKeepsWhatThereIs) {
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

TEST_F(CoordinatorTest, ASecondInterruptLeavesAtOnce) {
  for (FakeScript& script : scripts_) script.run_until_stopped = true;
  scripts_[1].on_running = [this] {
    events_.Interrupt();
    events_.Interrupt();
  };
  Run();
  EXPECT_TRUE(left_);
  EXPECT_THAT(diaries_[0], Not(Contains("release")));
}

TEST_F(CoordinatorTest, WhatWasReceivedIsInTheJournalWithinASecondWhileTheCoordinatorWaits) {
  plan_.set_lease_ns(400 * kNsPerMs);
  size_t sent = 0;
  MonotonicNs received;
  for (FakeScript& script : scripts_) {
    script.run_until_stopped = true;
    script.on_running = [&] {
      ++sent;
      received = clock_.Now();
    };
  }
  size_t kept = 0;
  // The first one after both hosts' frames came. Nothing but the journal's own thread does anything meanwhile.
  scripts_[0].on_heartbeat = [&] {
    if (sent < 2) return;
    EXPECT_LE(clock_.Now() - received, kNsPerSecond);
    // Time stands still until the disk has it.
    const MonotonicNs patience = SystemClock::Read() + 20 * kNsPerSecond;
    while (kept < 2 && SystemClock::Read() < patience) {
      kept = 0;
      EXPECT_THAT(
          ReadJournal(path_, [&kept](const v1::JournalRecord& record) { kept += record.has_frames() ? 1U : 0U; }),
          IsOk());
    }
    events_.Interrupt();
    scripts_[0].on_heartbeat = [] {};
  };
  Run();
  EXPECT_EQ(kept, 2U);
}

TEST_F(CoordinatorTest, AJournalWhoseDiskHangsForTenSecondsCostsNoLease) {
  HangForTenSeconds(disk_);
  EXPECT_FALSE(Run().has_value());
  // Five a lease of two seconds and more.
  EXPECT_GE(heartbeats_, 45U);
  EXPECT_TRUE(Records(v1::JournalRecord::kHostLost).empty());
  EXPECT_EQ(Records(v1::JournalRecord::kFrames).size(), 2U);
  EXPECT_EQ(Records(v1::JournalRecord::kRunEnd).size(), 1U);
  EXPECT_TRUE(Records(v1::JournalRecord::kNote).empty());
}

TEST_F(CoordinatorTest, AnAnalysisThatTakesTenSecondsCostsNoLease) {
  Hang analysis;
  HangForTenSeconds(analysis);
  on_log_ = [&analysis](RunLog& log) {
    log.analyzer().SetFrameListener([&analysis](uint32_t, const v1::Frame&) { analysis.WaitWhileHung(); });
  };
  EXPECT_FALSE(Run().has_value());
  EXPECT_GE(heartbeats_, 45U);
  EXPECT_TRUE(Records(v1::JournalRecord::kHostLost).empty());
}

TEST_F(CoordinatorTest, WhenTooMuchWaitsForTheJournalNothingMoreIsReadAndNobodyIsLostForIt) {
  most_waiting_bytes_ = 3'000;
  HangForTenSeconds(disk_);
  EXPECT_FALSE(Run().has_value());
  EXPECT_GE(heartbeats_, 45U);
  EXPECT_TRUE(Records(v1::JournalRecord::kHostLost).empty());
  EXPECT_EQ(Records(v1::JournalRecord::kStepDone).size(), 2U);
  const auto notes = Records(v1::JournalRecord::kNote);
  ASSERT_FALSE(notes.empty());
  EXPECT_THAT(notes.back().note().text(), HasSubstr("did not keep up"));
}

TEST_F(CoordinatorTest, NoHostIsArmedBeforeTheReportOfTheStepBeforeIsMade) {
  plan_.add_block_size_bytes(65536);
  Hang analysis;
  analysis.Begin();
  on_log_ = [&analysis](RunLog& log) {
    log.analyzer().SetFrameListener([&analysis](uint32_t, const v1::Frame&) { analysis.WaitWhileHung(); });
  };
  scripts_[0].on_heartbeat = [&] {
    if (++heartbeats_ != 3) return;
    EXPECT_THAT(diaries_[0], Contains("arm 0"));
    EXPECT_THAT(diaries_[0], Not(Contains("arm 1"))) << "the analysis of the first step is still under way";
    analysis.End();
  };
  EXPECT_FALSE(Run().has_value());
  EXPECT_GE(heartbeats_, 3U);
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "arm 0", "arm 1", "release"));
  const auto ahead = Records(v1::JournalRecord::kStepAhead);
  ASSERT_EQ(ahead.size(), 1U);
  EXPECT_EQ(ahead[0].step_ahead().step(), 1U);
}

TEST_F(CoordinatorTest, TheReportOfEightThousandWritersIsMadeBetweenTheStepsWhileHeartbeatsGoOn) {
  plan_.mutable_workload()->set_qm(4'000);
  plan_.add_block_size_bytes(65536);
  plan_.set_lease_ns(500 * kNsPerMs);
  Mutex mutex;
  std::vector<std::string> events;
  const auto happens = [&](const std::string& event) {
    MutexLock lock(mutex);
    events.push_back(event);
  };
  Hang report;
  report.Begin();
  on_log_ = [&](RunLog& log) {
    log.analyzer().SetStepListener([&](const v1::StepReport& step) {
      happens(
          absl::StrCat("report of ",
                       std::count_if(step.scopes().begin(), step.scopes().end(),
                                     [](const v1::ScopeReport& scope) { return scope.kind() == v1::SCOPE_KIND_QM; }),
                       " writers"));
      report.WaitWhileHung();
    });
  };
  for (FakeScript& script : scripts_) {
    script.writers = 4'000;
    script.trace_bytes = 1;
    script.on_running = [&] { happens("armed"); };
  }
  // The report lasts for one and a half leases from when it is seen.
  scripts_[0].on_heartbeat = [&] {
    {
      MutexLock lock(mutex);
      if (events.empty() || events.back() == "armed") return;
    }
    if (++heartbeats_ == 15) report.End();
  };
  EXPECT_FALSE(Run().has_value());
  EXPECT_GE(heartbeats_, 15U);
  EXPECT_TRUE(Records(v1::JournalRecord::kHostLost).empty());
  // Two hosts are armed for each step. The last report is made when somebody asks for it.
  EXPECT_THAT(events, ElementsAre("armed", "armed", "report of 8000 writers", "armed", "armed"));
}

TEST_F(CoordinatorTest, StopsTracesOnAllHostsAtTheLimit) {
  plan_.set_trace_limit_bytes(1'500);
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(diaries_[0], Contains("stop trace"));
  EXPECT_THAT(diaries_[1], Contains("stop trace"));
  ASSERT_EQ(Records(v1::JournalRecord::kNote).size(), 1U);
  EXPECT_THAT(Records(v1::JournalRecord::kNote)[0].note().text(), HasSubstr("--trace-limit"));
  const auto commands = Records(v1::JournalRecord::kHostCommand);
  const auto answers = Records(v1::JournalRecord::kHostCommandDone);
  ASSERT_EQ(commands.size(), 2U);
  ASSERT_EQ(answers.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(commands[i].host_command().host(), i);
    EXPECT_TRUE(commands[i].host_command().command().has_stop_trace());
    EXPECT_EQ(answers[i].host_command_done().host(), i);
    EXPECT_EQ(answers[i].host_command_done().done().id(), commands[i].host_command().command().id());
  }
  EXPECT_NE(commands[0].host_command().command().id(), commands[1].host_command().command().id());
}

TEST_F(CoordinatorTest, DropsTracesOfAnAgentThatGoesOnBeyondTheLimit) {
  plan_.set_trace_limit_bytes(1 << 20);
  plan_.add_block_size_bytes(65536);
  for (FakeScript& script : scripts_) script.trace_bytes = 20 << 20;
  EXPECT_FALSE(Run().has_value());
  uint64_t bytes = 0;
  uint64_t untraced = 0;
  for (const v1::JournalRecord& record : Records(v1::JournalRecord::kFrames)) {
    for (const v1::Frame& frame : record.frames().frames()) {
      for (const std::string& block : frame.trace()) bytes += block.size();
      untraced += frame.untraced_writes();
    }
  }
  EXPECT_EQ(bytes, uint64_t{20} << 20);
  EXPECT_EQ(untraced, 30U) << "writes of the three frames whose traces were dropped";
}

}  // namespace
}  // namespace plimsoll::tests
