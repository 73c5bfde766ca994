#include "controller/run/conductor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>

#include "common/mutex.h"
#include "common/units.h"
#include "controller/plan/plan_defaults.h"
#include "tests/status_matchers.h"
#include "tests/temp_directory.h"
#include "tests/unit/run/fake_fleet.h"
#include "tests/virtual_clock.h"

namespace plimsoll {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeAgent;
using testing::FakeDiary;
using testing::FakeScript;
using ::testing::HasSubstr;
using ::testing::Not;

// Something that does not return for a while.
class Hang {
 public:
  void Begin() { Set(true); }
  void End() { Set(false); }
  // At most for so long that a test that fails ends.
  void WaitWhileHung() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    MutexLock lock(mutex_);
    while (hung_ && changed_.WaitUntil(mutex_, deadline)) {
    }
  }

 private:
  void Set(bool hung) {
    MutexLock lock(mutex_);
    hung_ = hung;
    changed_.NotifyAll();
  }

  Mutex mutex_;
  CondVar changed_;
  bool hung_ ABSL_GUARDED_BY(mutex_) = false;
};

class ConductorTest : public ::testing::Test {
 protected:
  // Lets `hang` begin when both hosts run, and end with the heartbeat 10 s later, which ends the run, too.
  void HangForTenSeconds(Hang& hang) {
    for (FakeScript& script : scripts_) script.run_until_stopped = true;
    scripts_[1].on_running = [this, &hang] {
      hang.Begin();
      hung_since_ = clock_.Now();
    };
    scripts_[0].on_heartbeat = [this, &hang] {
      if (!hung_since_.has_value() || clock_.Now() - *hung_since_ < 10 * kNsPerSecond) {
        ++heartbeats_;
        return;
      }
      hang.End();
      events_.Interrupt();
      scripts_[0].on_heartbeat = [] {};
    };
  }

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
    auto journal = JournalWriter::Create(path_, /*directory=*/-1, [this](int fd, const void* data, size_t size) {
      disk_.WaitWhileHung();
      return write(fd, data, size);
    });
    EXPECT_THAT(journal, testing::IsOk());
    RunLog log(*std::move(journal), clock_, most_waiting_bytes_);
    on_log_(log);
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

  // Nobody waits for real: leases and limits are looked at to the nanosecond.
  testing::VirtualClock clock_;
  // Reads on after each message: the smallest bound that there is.
  EventQueue events_{clock_, /*most_waiting_bytes=*/1};
  testing::TempDirectory directory_;
  const std::string path_ = directory_.path() + "/journal";
  v1::TestPlan plan_;
  std::vector<FakeScript> scripts_;
  std::vector<FakeDiary> diaries_;
  std::vector<v1::JournalRecord> records_;
  bool left_ = false;
  // The journal's.
  Hang disk_;
  size_t most_waiting_bytes_ = RunLog::kMostWaitingBytes;
  std::function<void(RunLog&)> on_log_ = [](RunLog&) {};
  std::optional<MonotonicNs> hung_since_;
  uint64_t heartbeats_ = 0;
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
  // The probes took no time: nothing is left to be uncertain of.
  EXPECT_EQ(begin.host_start_ns(0), begin.start_ns());
  EXPECT_EQ(begin.host_start_ns(1) - scripts_[1].clock_offset_ns, begin.start_ns());
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

// A probe that a cut has delayed is answered when the start is about to be fixed: it says nothing of the way there.
TEST_F(ConductorTest, AStartIsFixedByProbesThatWereSentForItAndNotByOneThatWasUnderWay) {
  scripts_[0].prepares_after_heartbeats = 10;
  scripts_[1].hold_single_probe = true;
  EXPECT_FALSE(Run().has_value());
  const auto begins = Records(v1::JournalRecord::kStepBegin);
  ASSERT_EQ(begins.size(), 1U);
  EXPECT_EQ(begins[0].step_begin().start_ns() - begins[0].time_ns(), 50 * kNsPerMs) << "the shortest lead there is";
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
  EXPECT_EQ(lost[0].time_ns() - frames[1].time_ns(), 200 * kNsPerMs) << "a lease after it was last heard";
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
  const auto lost = Records(v1::JournalRecord::kHostLost);
  ASSERT_EQ(lost.size(), 1U);
  const auto prepared = Records(v1::JournalRecord::kHostPrepared);
  // The condition is looked at whenever a timer is due, at least each 100 ms.
  EXPECT_GE(lost[0].time_ns() - prepared[1].time_ns(), 8 * 200 * kNsPerMs);
  EXPECT_LT(lost[0].time_ns() - prepared[1].time_ns(), 8 * 200 * kNsPerMs + 100 * kNsPerMs);
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

TEST_F(ConductorTest, WhatWasReceivedIsSoonInTheJournalWhileTheConductorWaits) {
  plan_.set_lease_ns(400 * kNsPerMs);
  size_t sent = 0;
  for (FakeScript& script : scripts_) {
    script.run_until_stopped = true;
    script.on_running = [&sent] { ++sent; };
  }
  size_t kept = 0;
  // The first one after both hosts' frames came. Nothing but the journal's own thread does anything meanwhile.
  scripts_[0].on_heartbeat = [&] {
    if (sent < 2) return;
    const MonotonicNs patience = SystemClock::Read() + 20 * kNsPerSecond;
    while (kept < 2 && SystemClock::Read() < patience) {
      kept = 0;
      EXPECT_THAT(
          ReadJournal(path_, [&kept](const v1::JournalRecord& record) { kept += record.has_frames() ? 1U : 0U; }),
          testing::IsOk());
    }
    events_.Interrupt();
    scripts_[0].on_heartbeat = [] {};
  };
  Run();
  EXPECT_EQ(kept, 2U);
}

TEST_F(ConductorTest, AJournalWhoseDiskHangsForTenSecondsCostsNoLease) {
  HangForTenSeconds(disk_);
  EXPECT_FALSE(Run().has_value());
  // Five a lease of two seconds and more.
  EXPECT_GE(heartbeats_, 45U);
  EXPECT_TRUE(Records(v1::JournalRecord::kHostLost).empty());
  EXPECT_EQ(Records(v1::JournalRecord::kFrames).size(), 2U);
  EXPECT_EQ(Records(v1::JournalRecord::kRunEnd).size(), 1U);
  EXPECT_TRUE(Records(v1::JournalRecord::kNote).empty());
}

TEST_F(ConductorTest, AnAnalysisThatTakesTenSecondsCostsNoLease) {
  Hang analysis;
  HangForTenSeconds(analysis);
  on_log_ = [&analysis](RunLog& log) {
    log.analyzer().SetFrameListener([&analysis](uint32_t, const v1::Frame&) { analysis.WaitWhileHung(); });
  };
  EXPECT_FALSE(Run().has_value());
  EXPECT_GE(heartbeats_, 45U);
  EXPECT_TRUE(Records(v1::JournalRecord::kHostLost).empty());
}

TEST_F(ConductorTest, NoHostIsArmedBeforeTheReportOfTheStepBeforeIsMade) {
  plan_.add_block_size_bytes(65536);
  Hang analysis;
  analysis.Begin();
  on_log_ = [&analysis](RunLog& log) {
    log.analyzer().SetFrameListener([&analysis](uint32_t, const v1::Frame&) { analysis.WaitWhileHung(); });
  };
  const MonotonicNs begin = clock_.Now();
  scripts_[0].on_heartbeat = [&] {
    if (++heartbeats_ < 20) return;
    EXPECT_THAT(diaries_[0], Contains("arm 0"));
    EXPECT_THAT(diaries_[0], Not(Contains("arm 1"))) << "the analysis of the first step is still under way";
    scripts_[0].on_heartbeat = [] {};
    analysis.End();
  };
  EXPECT_FALSE(Run().has_value());
  EXPECT_GT(clock_.Now() - begin, 0);
  EXPECT_THAT(diaries_[0], ElementsAre("open", "prepare", "arm 0", "arm 1", "release"));
  const auto ahead = Records(v1::JournalRecord::kStepAhead);
  ASSERT_EQ(ahead.size(), 1U);
  EXPECT_EQ(ahead[0].step_ahead().step(), 1U);
}

TEST_F(ConductorTest, WhenTooMuchWaitsForTheJournalNothingMoreIsReadAndNobodyIsLostForIt) {
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

TEST_F(ConductorTest, DropsTracesOfAnAgentThatGoesOnBeyondTheLimit) {
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

// Two hosts with kernels of their own, and 1.5 times the space that one of them needs.
class ConductorSpaceTest : public ConductorTest {
 protected:
  ConductorSpaceTest() {
    plan_.mutable_workload()->set_file_size_bytes(kNeeded);
    plan_.mutable_workload()->set_num_files(1);
    for (size_t i = 0; i < scripts_.size(); ++i) {
      scripts_[i].boot_id = scripts_[i].name;
      scripts_[i].total_bytes = 10 * kNeeded;
      scripts_[i].free_bytes = kNeeded * 3 / 2 + i;
      scripts_[i].on_preparing = [this, i](const std::string& what) {
        sequence_.push_back(scripts_[i].name + " " + what);
        times_.push_back(clock_.Now());
      };
    }
  }

  static constexpr uint64_t kNeeded = uint64_t{64} << 20;
  std::vector<std::string> sequence_;
  std::vector<MonotonicNs> times_;
};

TEST_F(ConductorSpaceTest, NothingIsFilledBeforeEveryHostHasLookedForAllDirectories) {
  scripts_[0].visible_hosts = {"alpha"};
  EXPECT_FALSE(Run().has_value());
  EXPECT_THAT(sequence_, ElementsAre("alpha prepare", "beta prepare", "alpha look", "beta look", "alpha look",
                                     "beta look", "alpha fill", "beta fill"))
      << "what share no storage look a second time";
}

TEST_F(ConductorSpaceTest, HostsThatSeeOneAnotherAreSummedBeforeAnythingIsFilled) {
  for (FakeScript& script : scripts_) script.visible_hosts = {"alpha", "beta"};
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kWrong);
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("alpha, beta: the storage that they share (they see one another's "
                                                    "run directories) below /fake has ")));
  EXPECT_THAT(sequence_, ElementsAre("alpha prepare", "beta prepare", "alpha look", "beta look"));
  for (const FakeDiary& diary : diaries_) EXPECT_THAT(diary, Contains("release"));
}

TEST_F(ConductorSpaceTest, ItIsEnoughThatOneOfThemSeesTheOther) {
  scripts_[1].visible_hosts = {"alpha", "beta"};
  EXPECT_TRUE(Run().has_value());
  EXPECT_THAT(sequence_, Not(Contains("alpha fill")));
}

TEST_F(ConductorSpaceTest, ASecondLookFindsWhatTheFirstDidNot) {
  const auto note = scripts_[0].on_preparing;
  int looks = 0;
  scripts_[0].on_preparing = [&, note](const std::string& what) {
    note(what);
    if (what == "look" && ++looks == 2) scripts_[0].visible_hosts = {"alpha", "beta"};
  };
  EXPECT_TRUE(Run().has_value());
  EXPECT_THAT(sequence_, Not(Contains("beta fill")));
}

TEST_F(ConductorSpaceTest, WhatMustStayFreeIsPartOfTheSum) {
  scripts_[1].min_free_bytes = kNeeded;
  const auto failure = Run();
  ASSERT_TRUE(failure.has_value());
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("beta: the storage below /fake has ")));
  EXPECT_THAT(failure->lines.front(), HasSubstr("free (--min-free)"));
}

TEST_F(ConductorSpaceTest, TheStorageHasItsTimeToSettleBeforeTheFirstStep) {
  plan_.set_settle_ns(300 * kNsPerMs);
  MonotonicNs armed;
  scripts_[1].on_running = [&] { armed = clock_.Now(); };
  EXPECT_FALSE(Run().has_value());
  EXPECT_GE(armed - times_.back(), 300 * kNsPerMs);
}

}  // namespace
}  // namespace plimsoll
