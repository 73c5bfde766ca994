// A LogWork over a real directory, and a sink that keeps all that it says.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/host/sandbox.h"
#include "agent/host/target_files.h"
#include "agent/writer/file_env.h"
#include "agent/writer/log_work.h"
#include "agent/writer/writer_state.h"
#include "common/mutex.h"
#include "common/units.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll::tests {

class KeepingSink final : public WorkSink {
 public:
  void OnFrames(v1::FrameBatch frames) override {
    const MutexLock lock(mutex_);
    batches_.push_back(std::move(frames));
    changed_.NotifyAll();
  }
  void OnStepDone(v1::StepDone done) override {
    const MutexLock lock(mutex_);
    done_.push_back(std::move(done));
    changed_.NotifyAll();
    while (held_) changed_.Wait(mutex_);
  }
  void OnMessage(v1::AgentMessage message) override {
    const MutexLock lock(mutex_);
    messages_.push_back(std::move(message));
    changed_.NotifyAll();
  }
  void OnFault(v1::Fault fault) override {
    const MutexLock lock(mutex_);
    faults_.push_back(std::move(fault));
    changed_.NotifyAll();
  }

  // The step's last message; waits for as many as were not taken yet.
  v1::StepDone NextDone() {
    const MutexLock lock(mutex_);
    while (done_.size() <= taken_) changed_.Wait(mutex_);
    return done_[taken_++];
  }
  // The next message of the work's own; waits for it.
  v1::AgentMessage NextMessage() {
    const MutexLock lock(mutex_);
    while (messages_.size() <= taken_messages_) changed_.Wait(mutex_);
    return messages_[taken_messages_++];
  }
  // While held, OnStepDone does not return.
  void Hold(bool held) {
    const MutexLock lock(mutex_);
    held_ = held;
    changed_.NotifyAll();
  }
  // Waits until `writers` writers have reported `each` writes in `step`.
  void AwaitWrites(size_t writers = 1, uint32_t step = 0, uint64_t each = 1) {
    const MutexLock lock(mutex_);
    while (WritersWithWrites(step, each) < writers) changed_.Wait(mutex_);
  }
  // Forgets the frames, for another run of the same step.
  void Clear() {
    const MutexLock lock(mutex_);
    batches_.clear();
  }
  std::vector<v1::Frame> Frames() {
    const MutexLock lock(mutex_);
    std::vector<v1::Frame> all;
    for (const v1::FrameBatch& batch : batches_) all.insert(all.end(), batch.frames().begin(), batch.frames().end());
    return all;
  }
  std::vector<v1::FrameBatch> Batches() {
    const MutexLock lock(mutex_);
    return batches_;
  }
  std::vector<v1::Fault> Faults() {
    const MutexLock lock(mutex_);
    return faults_;
  }

 private:
  size_t WritersWithWrites(uint32_t step, uint64_t each) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::map<uint32_t, uint64_t> writes;
    for (const v1::FrameBatch& batch : batches_) {
      for (const v1::Frame& frame : batch.frames()) {
        if (frame.step() == step) writes[frame.qm()] += frame.latency().count();
      }
    }
    return static_cast<size_t>(
        std::count_if(writes.begin(), writes.end(), [each](const auto& writer) { return writer.second >= each; }));
  }

  Mutex mutex_;
  CondVar changed_;
  std::vector<v1::FrameBatch> batches_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::StepDone> done_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::Fault> faults_ ABSL_GUARDED_BY(mutex_);
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<v1::AgentMessage> messages_ ABSL_GUARDED_BY(mutex_);
  size_t taken_messages_ ABSL_GUARDED_BY(mutex_) = 0;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
};

// A fresh directory below the machine's temporary one, a sandbox over it, and a plan of one short step.
class LogWorkTest : public ::testing::Test {
 protected:
  static constexpr int64_t kMs = kNsPerMs;
  // A lead that a busy test machine keeps, and one that no test waits for.
  static constexpr int64_t kSoon = 50 * kMs;
  static constexpr int64_t kHour = 3600 * kNsPerSecond;

  LogWorkTest() {
    auto sandbox = Sandbox::Create({root_}, "test-agent");
    EXPECT_THAT(sandbox, IsOk());
    sandbox_ = *std::move(sandbox);

    plan_.set_run_id("0123abcd");
    plan_.set_run_token("0123456789abcdef");
    plan_.set_host_label("alpha");
    plan_.set_host_index(3);
    plan_.set_lease_ns(10 * kNsPerSecond);
    plan_.set_frame_interval_ns(20 * kMs);
    v1::LogWorkload& workload = *plan_.mutable_log()->mutable_workload();
    workload.set_dir(root_);
    workload.set_qm(2);
    workload.set_file_size_bytes(256 * 1024);
    workload.set_num_files(2);
    workload.set_file_prefix("S");
    workload.set_sync(v1::SYNC_MODE_DSYNC);
    workload.set_direct(v1::DIRECT_MODE_AUTO);
    plan_.mutable_log()->set_trace(true);
    AddStep(4096, 100 * kMs, 0);
  }

 public:
  ~LogWorkTest() override {
    work_.reset();
    // The write path removed what it had made: nothing is left in the root.
    if (expect_clean_) {
      std::error_code error;
      EXPECT_TRUE(std::filesystem::is_empty(root_, error)) << root_;
    }
    if (mounted_) umount2(root_.c_str(), MNT_DETACH);
  }

 protected:
  // Puts a file system over the directory, seen by this process alone. False where that is not allowed.
  bool MountOverRoot(const std::string& type, const std::string& options) {
    if (unshare(CLONE_NEWNS) != 0) return false;
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
    mounted_ = mount("none", root_.c_str(), type.c_str(), 0, options.c_str()) == 0;
    return mounted_;
  }

  void AddStep(uint64_t block_bytes, int64_t duration_ns, int64_t warmup_ns) {
    v1::LogStep& step = *plan_.mutable_log()->add_steps();
    step.set_block_size_bytes(block_bytes);
    step.set_duration_ns(duration_ns);
    step.set_warmup_ns(warmup_ns);
  }
  v1::LogWorkload& workload() { return *plan_.mutable_log()->mutable_workload(); }
  v1::LogStep& step() { return *plan_.mutable_log()->mutable_steps(0); }

  absl::Status Create() {
    work_.reset();
    auto targets = TargetFiles::Create(*sandbox_, permissions_);
    if (!targets.ok()) return targets.status();
    targets_ = *std::move(targets);
    auto work = LogWork::Create(plan_, *sandbox_, *targets_, lease_deadline_ns_, sink_);
    if (!work.ok()) return work.status();
    work_ = *std::move(work);
    return absl::OkStatus();
  }
  absl::StatusOr<v1::Prepared> Prepare() {
    return work_->Prepare([this](uint64_t done, uint64_t total) { progress_.emplace_back(done, total); });
  }
  void CreateAndPrepare() {
    ASSERT_THAT(Create(), IsOk());
    ASSERT_THAT(Prepare(), IsOk());
  }
  // Arms `step` to start in `lead_ns`.
  v1::Armed ArmIn(int64_t lead_ns, uint32_t step = 0) {
    v1::Arm arm;
    arm.set_step(step);
    arm.set_start_ns(MonotonicNowNs() + lead_ns);
    return work_->Arm(arm);
  }
  std::string ExtentPath(uint32_t qm, uint32_t extent) const {
    return root_ + "/plimsoll-0123abcd/alpha/qm" + std::to_string(qm) + "/active/S000000" + std::to_string(extent) +
           ".LOG";
  }

  TempDirectory directory_;
  const std::string root_ = directory_.path();
  bool mounted_ = false;
  std::unique_ptr<Sandbox> sandbox_;
  // Of the agent, for files that the run does not make.
  FilePermissions permissions_;
  std::unique_ptr<TargetFiles> targets_;
  v1::HostPlan plan_;
  std::atomic<int64_t> lease_deadline_ns_{StopControl::kNever};
  KeepingSink sink_;
  std::vector<std::pair<uint64_t, uint64_t>> progress_;
  bool expect_clean_ = true;
  std::unique_ptr<LogWork> work_;
};

}  // namespace plimsoll::tests
