// WatchWork against a stand-in queue manager, which logs its own clock around each write and call.
#include <gtest/gtest.h>
#include <sys/statfs.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "agent/watch/watch_work.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/trace.h"
#include "common/units.h"
#include "tests/standin/standin.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

// Keeps what the work reports.
class WatchSink final : public WorkSink {
 public:
  void OnFrames(v1::FrameBatch frames) override {
    const MutexLock lock(mutex_);
    for (v1::Frame& frame : *frames.mutable_frames()) frames_.push_back(std::move(frame));
    changed_.NotifyAll();
  }
  void OnStepDone(v1::StepDone done) override {
    const MutexLock lock(mutex_);
    done_ = std::move(done);
    finished_ = true;
    changed_.NotifyAll();
  }
  void OnMessage(v1::AgentMessage /*message*/) override {}
  void OnFault(v1::Fault fault) override { ADD_FAILURE() << fault.message(); }

  v1::StepDone AwaitDone() {
    const MutexLock lock(mutex_);
    while (!finished_) changed_.Wait(mutex_);
    return done_;
  }
  // Until so many operations are in frames, or the step is over.
  void AwaitOperations(uint64_t number) {
    const MutexLock lock(mutex_);
    const auto counted = [](uint64_t sum, const v1::Frame& frame) { return sum + frame.latency().count(); };
    while (!finished_ && std::accumulate(frames_.begin(), frames_.end(), uint64_t{0}, counted) < number) {
      changed_.Wait(mutex_);
    }
  }
  std::vector<v1::Frame> Frames() {
    const MutexLock lock(mutex_);
    return frames_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<v1::Frame> frames_ ABSL_GUARDED_BY(mutex_);
  v1::StepDone done_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

class WatchStandinTest : public ::testing::Test {
 protected:
  // Memory, which takes 20,000 synchronous writes a second.
  static std::string MakeLogDirectory(const TempDirectory& temp) {
    std::string path = "/dev/shm/" + std::filesystem::path(temp.path()).filename().string();
    std::error_code error;
    if (std::filesystem::create_directories(path + "/log/active", error)) return path;
    return temp.MakeDirectory("");
  }

  WatchStandinTest() : log_(MakeLogDirectory(temp_)) {
    std::filesystem::create_directories(active());
    plan_.set_run_id("0123abcd");
    plan_.set_frame_interval_ns(250 * kNsPerMs);
    v1::WatchWork& work = *plan_.mutable_watch();
    work.set_trace(true);
    work.set_stall_ns(50 * kNsPerMs);
    work.mutable_watch()->set_max_overhead_percent(100);
    work.mutable_watch()->set_profile(true);
    v1::LogStep& step = *work.add_steps();
    v1::Operation& write = *step.add_operations();
    write.set_name("write");
  }
  ~WatchStandinTest() override {
    std::error_code error;
    std::filesystem::remove_all(log_, error);
  }

  std::string active() const { return log_ + "/log/active"; }
  v1::WatchPlan& watch() { return *plan_.mutable_watch()->mutable_watch(); }
  void AddCall(const std::string& name) {
    watch().add_calls(name);
    v1::Operation& operation = *plan_.mutable_watch()->mutable_steps(0)->add_operations();
    operation.set_name(name);
    operation.set_kind(v1::OPERATION_CALL);
  }

  // Makes and prepares the work. The reason why the kernel refuses; empty: it does not.
  std::string Prepare() {
    auto work = WatchWork::Create(plan_, lease_deadline_ns_, sink_, temp_.Sub("mqs.ini"));
    EXPECT_THAT(work, IsOk());
    if (!work.ok()) return std::string(work.status().message());
    work_ = *std::move(work);
    auto prepared = work_->Prepare([](uint64_t, uint64_t) {});
    if (absl::IsPermissionDenied(prepared.status()) || absl::IsFailedPrecondition(prepared.status()) ||
        absl::IsResourceExhausted(prepared.status())) {
      return std::string(prepared.status().message());
    }
    EXPECT_THAT(prepared, IsOk());
    if (!prepared.ok()) return std::string(prepared.status().message());
    prepared_ = *std::move(prepared);
    return "";
  }
  void ArmFor(double seconds) {
    plan_.mutable_watch()->mutable_steps(0)->set_duration_ns(static_cast<int64_t>(seconds * 1e9));
  }
  // Starts the step, and waits for its start.
  void Start() {
    v1::Arm arm;
    arm.set_start_ns(SystemClock::Read().value + 100 * kNsPerMs);
    ASSERT_FALSE(work_->Arm(arm).late());
    SystemClock().SleepUntil({arm.start_ns()});
  }

  // Compares an operation's frames and totals with what the program logged itself.
  void CheckOperation(uint32_t operation, const std::vector<StandinEntry>& made, const v1::StepDone& done) {
    std::vector<TracedWrite> traced;
    uint64_t framed = 0;
    uint64_t bytes = 0;
    uint64_t untraced = 0;
    for (const v1::Frame& frame : sink_.Frames()) {
      if (frame.operation() != operation) continue;
      framed += frame.latency().count();
      bytes += frame.bytes();
      untraced += frame.untraced_writes();
      for (const std::string& block : frame.trace()) ASSERT_THAT(DecodeTrace(block, traced), IsOk());
    }
    uint64_t made_bytes = 0;
    for (const StandinEntry& entry : made) made_bytes += entry.bytes;
    EXPECT_EQ(framed, made.size());
    EXPECT_EQ(bytes, made_bytes);
    EXPECT_EQ(done.writers(static_cast<int>(operation)).writes(), made.size());
    EXPECT_EQ(done.writers(static_cast<int>(operation)).bytes(), made_bytes);
    EXPECT_EQ(traced.size() + untraced, made.size());
    EXPECT_LE(untraced, made.size() / 100);
    // Each one that was seen lies within the clock readings of one that was made. Two threads' may contain one another:
    // in the order of starts, the one that ends first of those that contain it leaves the others to later ones.
    std::vector<bool> used(made.size());
    size_t outside = 0;
    for (const TracedWrite& seen : traced) {
      const int64_t end_ns = seen.start_ns + static_cast<int64_t>(seen.latency_ns);
      const uint64_t seen_bytes = std::max<uint64_t>(seen.bytes, 1);
      auto candidate =
          std::ranges::upper_bound(made, seen.start_ns, {}, [](const StandinEntry& entry) { return entry.before_ns; });
      std::optional<size_t> found;
      for (int steps = 0; candidate != made.begin() && steps < 64; ++steps) {
        --candidate;
        const auto place = static_cast<size_t>(candidate - made.begin());
        if (used[place] || candidate->after_ns < end_ns || std::max<uint64_t>(candidate->bytes, 1) != seen_bytes)
          continue;
        if (!found || candidate->after_ns < made[*found].after_ns) found = place;
      }
      if (found) used[*found] = true;
      if (!found) ++outside;
    }
    EXPECT_EQ(outside, 0U) << "of " << traced.size();
  }

  // Watches the whole life of a stand-in's writes and calls, and compares.
  void WatchAll(double writes, double calls, double seconds) {
    Standin standin(STANDIN_QM, active(), temp_.Sub("record"), writes, calls, seconds);
    ASSERT_TRUE(standin.Await("ready"));
    if (watch().queue_managers().empty()) {
      watch().set_pid(standin.pid());
      watch().set_log_dir(active());
    }
    ArmFor(seconds + 1);
    if (const std::string reason = Prepare(); !reason.empty()) GTEST_SKIP() << reason;
    Start();
    standin.Continue();
    ASSERT_TRUE(standin.Await("done"));
    const v1::StepDone done = sink_.AwaitDone();
    EXPECT_EQ(done.stopped(), "");
    EXPECT_EQ(done.watch().detached(), "");
    EXPECT_EQ(done.watch().lost_records(), 0U);
    EXPECT_EQ(done.watch().unknown_file_writes(), 0U);
    std::map<std::string, std::vector<StandinEntry>> made;
    for (StandinEntry& entry : standin.ReadRecord()) made[entry.what].push_back(std::move(entry));
    const auto& operations = plan_.watch().steps(0).operations();
    for (int operation = 0; operation < operations.size(); ++operation) {
      SCOPED_TRACE(operations[operation].name());
      std::vector<StandinEntry>& entries = made[operations[operation].name()];
      std::ranges::sort(entries, {}, &StandinEntry::before_ns);
      CheckOperation(static_cast<uint32_t>(operation), entries, done);
    }
    RecordProperty("overhead_percent", std::to_string(done.watch().overhead_percent()));
    done_ = done;
  }

  TempDirectory temp_;
  const std::string log_;
  v1::HostPlan plan_;
  std::atomic<int64_t> lease_deadline_ns_{StopControl::kNever};
  WatchSink sink_;
  std::unique_ptr<WatchWork> work_;
  v1::Prepared prepared_;
  v1::StepDone done_;
};

TEST_F(WatchStandinTest, SeesEachWriteOfASlowLogWithinTheProgramsClock) {
  WatchAll(5, 0, 3);
}

TEST_F(WatchStandinTest, SeesEachOf20000WritesASecondWithinTheProgramsClock) {
  WatchAll(20'000, 0, 5);
  if (IsSkipped()) return;
  const v1::WatchProfile& profile = done_.watch().profile();
  EXPECT_THAT(profile.open_flags(), ElementsAre("O_RDWR|O_DSYNC"));
  EXPECT_EQ(profile.calls_size(), 4);
  EXPECT_GT(profile.extent_changes(), 0U);
  EXPECT_GT(profile.sequential_writes(), 0U);
  EXPECT_GT(profile.unaligned_writes(), 0U);
  std::printf("probes: %lu ns a write, %.2f %% of a CPU\n",
              static_cast<unsigned long>(prepared_.watch().write_overhead_ns()), done_.watch().overhead_percent());
}

TEST_F(WatchStandinTest, TimesCallsBesideWrites) {
  AddCall("MQPUT");
  AddCall("MQGET");
  AddCall("MQCMIT");
  WatchAll(100, 2'000, 3);
  if (IsSkipped()) return;
  EXPECT_EQ(prepared_.watch().writers(0).probes_size(), 3);
  std::printf("probes: %lu ns a call\n", static_cast<unsigned long>(prepared_.watch().call_overhead_ns()));
}

TEST_F(WatchStandinTest, FindsAQueueManagersProcessesByItsIniFiles) {
  const std::string data = temp_.MakeDirectory("qmgrs/QM1");
  std::ofstream(temp_.Sub("mqs.ini")) << "QueueManager:\n   Name=QM1\n   Prefix=" << temp_.path()
                                      << "\n   Directory=QM1\n";
  std::ofstream(data + "/qm.ini") << "Log:\n   LogPrimaryFiles=3\n   LogPath=" << log_ << "/log/\n";
  watch().add_queue_managers("QM1");
  WatchAll(200, 0, 2);
  if (IsSkipped()) return;
  ASSERT_EQ(prepared_.watch().writers(0).processes_size(), 1);
  EXPECT_EQ(prepared_.watch().writers(0).processes(0).name(), "standin_qm");
  EXPECT_EQ(prepared_.watch().writers(0).processes(0).log_files(), 2U);
  EXPECT_EQ(prepared_.watch().writers(0).log_dir(), active());
}

TEST_F(WatchStandinTest, SeesTheLogOfAProcessThatItKnewForItsCallsAlone) {
  const std::string data = temp_.MakeDirectory("qmgrs/QM1");
  std::ofstream(temp_.Sub("mqs.ini")) << "QueueManager:\n   Name=QM1\n   Prefix=" << temp_.path()
                                      << "\n   Directory=QM1\n";
  std::ofstream(data + "/qm.ini") << "Log:\n   LogPath=" << log_ << "/log/\n";
  // A queue manager that starts: a file of its data, and only then its log.
  std::ofstream(temp_.Sub("starts.sh"))
      << "exec 5>" << data << "/file\necho ready\nread line\nexec 6>" << active()
      << "/S0000000.LOG\nwhile read -t 0.05 line || [ $? -gt 128 ]; do echo x >&6; done\n";
  watch().add_queue_managers("QM1");
  AddCall("MQPUT");
  Standin standin("/bin/bash", temp_.Sub("starts.sh"), temp_.Sub("record"), 0, 0, 0);
  ASSERT_TRUE(standin.Await("ready"));
  // A search for processes may take so long on a busy host that the next one comes seconds later.
  ArmFor(120);
  if (const std::string reason = Prepare(); !reason.empty()) GTEST_SKIP() << reason;
  ASSERT_EQ(prepared_.watch().writers(0).processes_size(), 1);
  Start();
  standin.Continue();
  sink_.AwaitOperations(10);
  work_->Stop("seen");
  const v1::StepDone done = sink_.AwaitDone();
  EXPECT_GE(done.writers(0).writes(), 10U);
  EXPECT_THAT(done.watch().found_late(), Contains(EndsWith("(bash) was found during the watch to write the log")));
}

TEST_F(WatchStandinTest, DetachesWhereTheProbesCostTooMuch) {
  watch().set_max_overhead_percent(0.01);
  Standin standin(STANDIN_QM, active(), temp_.Sub("record"), 2'000, 0, 5);
  ASSERT_TRUE(standin.Await("ready"));
  watch().set_pid(standin.pid());
  watch().set_log_dir(active());
  ArmFor(20);
  if (const std::string reason = Prepare(); !reason.empty()) GTEST_SKIP() << reason;
  Start();
  standin.Continue();
  const v1::StepDone done = sink_.AwaitDone();
  EXPECT_THAT(done.watch().detached(), HasSubstr("--max-overhead 0.01 %"));
  EXPECT_EQ(done.stopped(), "");
}

TEST_F(WatchStandinTest, EndsWithTheProcess) {
  Standin standin(STANDIN_QM, active(), temp_.Sub("record"), 100, 0, 30);
  ASSERT_TRUE(standin.Await("ready"));
  watch().set_pid(standin.pid());
  watch().set_log_dir(active());
  ArmFor(60);
  if (const std::string reason = Prepare(); !reason.empty()) GTEST_SKIP() << reason;
  Start();
  standin.Continue();
  SystemClock().SleepUntil({SystemClock::Read().value + 500 * kNsPerMs});
  standin.Kill();
  const v1::StepDone done = sink_.AwaitDone();
  ASSERT_EQ(done.watch().ended_processes_size(), 1);
  EXPECT_THAT(done.watch().ended_processes(0), EndsWith("(standin_qm) ended"));
  EXPECT_GT(done.writers(0).writes(), 20U);
}

TEST_F(WatchStandinTest, EndsWhenTheProcessIsIdle) {
  watch().set_until_idle_ns(500 * kNsPerMs);
  Standin standin(STANDIN_QM, active(), temp_.Sub("record"), 100, 0, 1);
  ASSERT_TRUE(standin.Await("ready"));
  watch().set_pid(standin.pid());
  watch().set_log_dir(active());
  ArmFor(60);
  if (const std::string reason = Prepare(); !reason.empty()) GTEST_SKIP() << reason;
  Start();
  standin.Continue();
  const v1::StepDone done = sink_.AwaitDone();
  EXPECT_TRUE(done.watch().idle_end());
  EXPECT_EQ(done.writers(0).writes(), 100U);
}

TEST_F(WatchStandinTest, RefusesAProcessWithoutALogByNameWithTheWayOut) {
  Standin standin("/bin/cat", "-", temp_.Sub("record"), 0, 0, 0);
  watch().set_pid(standin.pid());
  ArmFor(1);
  auto work = WatchWork::Create(plan_, lease_deadline_ns_, sink_);
  ASSERT_THAT(work, IsOk());
  const auto prepared = (*work)->Prepare([](uint64_t, uint64_t) {});
  if (absl::IsPermissionDenied(prepared.status())) GTEST_SKIP() << prepared.status().message();
  EXPECT_THAT(prepared, StatusIs(absl::StatusCode::kNotFound,
                                 "has no extent of an MQ log open: name the directory of "
                                 "its log files with --log-dir"));
}

TEST(WatchWorkKind, RefusesEveryPlanWithoutAllowWatch) {
  const std::atomic<int64_t> lease_deadline_ns{StopControl::kNever};
  WatchSink sink;
  EXPECT_THAT(WatchWork::Kind(false).make(v1::HostPlan(), lease_deadline_ns, sink),
              StatusIs(absl::StatusCode::kPermissionDenied, "--allow-watch"));
}

}  // namespace
}  // namespace plimsoll
