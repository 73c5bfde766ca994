// Two agents' parts of one drill, in this process, with instances that are real processes on a real file system.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/ha/ha_work.h"
#include "agent/writer/file_env.h"
#include "agent/writer/writer_state.h"
#include "common/mutex.h"
#include "common/units.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll::tests {

// Keeps all that an agent says.
class DrillSink final : public WorkSink {
 public:
  void OnFrames(v1::FrameBatch frames) override {
    const MutexLock lock(mutex_);
    for (const v1::Frame& frame : frames.frames()) frames_.push_back(frame);
    changed_.NotifyAll();
  }
  void OnStepDone(v1::StepDone /*done*/) override {}
  void OnFault(v1::Fault /*fault*/) override {}
  void OnMessage(v1::AgentMessage message) override {
    const MutexLock lock(mutex_);
    for (const v1::HaEvent& event : message.ha().events()) events_.push_back(event);
    for (const v1::HaLedgerEntry& entry : message.ha().ledger()) ledger_.push_back(entry);
    messages_.push_back(std::move(message));
    changed_.NotifyAll();
  }

  // The first event of the instance that `wanted` takes; waits for it, far longer than anything takes that works.
  v1::HaEvent Await(uint32_t instance, const std::function<bool(const v1::HaEvent&)>& wanted) {
    const MutexLock lock(mutex_);
    while (true) {
      for (const v1::HaEvent& event : events_) {
        if (event.instance() == instance && wanted(event)) return event;
      }
      if (!WaitForChange()) {
        ADD_FAILURE() << "no such event of instance " << instance << " in" << Describe();
        return {};
      }
    }
  }
  v1::HaEvent Await(uint32_t instance, v1::HaEvent::EventCase which) {
    return Await(instance, [which](const v1::HaEvent& event) { return event.event_case() == which; });
  }
  v1::HaEvent AwaitGranted(uint32_t instance, v1::HaLock lock) {
    return Await(instance, [lock](const v1::HaEvent& event) {
      return event.has_lock_granted() && event.lock_granted().lock() == lock;
    });
  }
  v1::HaEnded AwaitEnded(uint32_t instance) { return Await(instance, v1::HaEvent::kEnded).ended(); }
  // Waits until the ledger of the instance has this block.
  void AwaitWritten(uint32_t instance, uint64_t sequence) {
    const MutexLock lock(mutex_);
    while (LastInLedger(instance) < sequence) {
      if (!WaitForChange()) {
        ADD_FAILURE() << "instance " << instance << " does not write block " << sequence << Describe();
        return;
      }
    }
  }
  uint64_t LastWritten(uint32_t instance) {
    const MutexLock lock(mutex_);
    return LastInLedger(instance);
  }
  void AwaitFrames(uint32_t step) {
    const MutexLock lock(mutex_);
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      for (const v1::Frame& frame : frames_) {
        if (frame.step() == step && frame.latency().count() > 0) return true;
      }
      return false;
    };
    while (!there()) ASSERT_TRUE(WaitForChange());
  }
  bool Has(uint32_t instance, v1::HaEvent::EventCase which) {
    const MutexLock lock(mutex_);
    for (const v1::HaEvent& event : events_) {
      if (event.instance() == instance && event.event_case() == which) return true;
    }
    return false;
  }
  // Everything but frames, in the order in which it came.
  std::vector<v1::AgentMessage> Messages() {
    const MutexLock lock(mutex_);
    return messages_;
  }
  std::vector<v1::HaLedgerEntry> LedgerOf(uint32_t instance) {
    const MutexLock lock(mutex_);
    std::vector<v1::HaLedgerEntry> entries;
    for (const v1::HaLedgerEntry& entry : ledger_) {
      if (entry.instance() == instance) entries.push_back(entry);
    }
    return entries;
  }

 private:
  bool WaitForChange() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return changed_.WaitFor(mutex_, std::chrono::seconds(30));
  }
  uint64_t LastInLedger(uint32_t instance) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    uint64_t last = 0;
    for (const v1::HaLedgerEntry& entry : ledger_) {
      if (entry.instance() == instance) last = entry.last_sequence();
    }
    return last;
  }
  std::string Describe() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::string text;
    for (const v1::HaEvent& event : events_) text += "\n" + event.ShortDebugString();
    return text;
  }

  Mutex mutex_;
  CondVar changed_;
  std::vector<v1::Frame> frames_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::HaEvent> events_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::AgentMessage> messages_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::HaLedgerEntry> ledger_ ABSL_GUARDED_BY(mutex_);
};

// One agent's part.
struct DrillHost {
  std::unique_ptr<Sandbox> sandbox;
  std::atomic<int64_t> lease_deadline_ns{StopControl::kNever};
  DrillSink sink;
  std::unique_ptr<HaWork> work;

  absl::Status Create(const v1::HostPlan& plan, const std::string& root) {
    auto made = Sandbox::Create({root}, "agent-" + plan.host_label());
    if (!made.ok()) return made.status();
    sandbox = *std::move(made);
    auto created = HaWork::Create(plan, *sandbox, lease_deadline_ns, sink, PLIMSOLL_AGENT);
    if (!created.ok()) return created.status();
    work = *std::move(created);
    return absl::OkStatus();
  }
  absl::Status Prepare() {
    return work->Prepare([](uint64_t, uint64_t) {}).status();
  }
  absl::Status Do(const std::function<void(v1::HaCommand&)>& fill) const {
    v1::Command command;
    fill(*command.mutable_ha());
    return work->Do(command);
  }
  absl::Status Start(uint32_t instance, uint32_t qm = 1) const {
    return Do([&](v1::HaCommand& command) {
      command.mutable_start()->set_instance(instance);
      command.mutable_start()->set_qm(qm);
    });
  }
  absl::Status Scan(uint32_t instance, uint32_t qm = 1) const {
    return Do([&](v1::HaCommand& command) {
      command.mutable_scan()->set_instance(instance);
      command.mutable_scan()->set_qm(qm);
    });
  }
  absl::Status End(uint32_t instance) const {
    return Do([&](v1::HaCommand& command) { command.mutable_end()->set_instance(instance); });
  }
  absl::Status Kill(uint32_t instance) const {
    return Do([&](v1::HaCommand& command) { command.mutable_kill()->set_instance(instance); });
  }
  absl::Status Hang(uint32_t instance) const {
    return Do([&](v1::HaCommand& command) { command.mutable_hang()->set_instance(instance); });
  }
  absl::Status Resume(uint32_t instance) const {
    return Do([&](v1::HaCommand& command) { command.mutable_resume()->set_instance(instance); });
  }
  void Finish(bool keep = false) {
    if (work == nullptr) return;
    work->Stop("the test is over");
    EXPECT_TRUE(work->WaitIdle(30 * kNsPerSecond));
    EXPECT_EQ(work->Release(keep).left_behind(), "");
    work.reset();
  }
};

// Queue manager 1, whose home is alpha, and whose partner is beta.
class DrillTest : public ::testing::Test {
 protected:
  DrillTest() {
    plan_.set_run_id("0123abcd");
    plan_.set_run_token("0123456789abcdef");
    plan_.set_frame_interval_ns(20 * kNsPerMs);
    v1::HaWork& work = *plan_.mutable_ha();
    v1::LogWorkload& workload = *work.mutable_workload();
    workload.set_dir(root_);
    workload.set_file_size_bytes(1024 * 1024);
    workload.set_num_files(3);
    workload.set_file_prefix("S");
    workload.set_sync(v1::SYNC_MODE_DSYNC);
    workload.set_direct(v1::DIRECT_MODE_AUTO);
    workload.set_min_free_bytes(0);
    workload.set_delay_ns(kNsPerMs);
    work.set_block_size_bytes(8192);
    work.set_lock_poll_ns(20 * kNsPerMs);
    work.set_free_poll_ns(5 * kNsPerMs);
    work.set_checkpoint_ns(50 * kNsPerMs);
    v1::HaQueueManager& queue_manager = *work.add_queue_managers();
    queue_manager.set_qm(1);
    queue_manager.set_home("alpha");
  }
  ~DrillTest() override {
    beta_.Finish();
    alpha_.Finish();
    std::error_code error;
    EXPECT_TRUE(std::filesystem::is_empty(root_, error)) << root_;
  }

  v1::HostPlan PlanOf(const std::string& label, uint32_t index) const {
    v1::HostPlan plan = plan_;
    plan.set_host_label(label);
    plan.set_host_index(index);
    return plan;
  }
  void PrepareBoth() {
    ASSERT_THAT(alpha_.Create(PlanOf("alpha", 1), root_), IsOk());
    ASSERT_THAT(beta_.Create(PlanOf("beta", 2), root_), IsOk());
    ASSERT_THAT(alpha_.Prepare(), IsOk());
    ASSERT_THAT(beta_.Prepare(), IsOk());
  }
  // Instance 1 on alpha writes, instance 2 on beta waits.
  void StartPair() {
    PrepareBoth();
    ASSERT_THAT(alpha_.Start(1), IsOk());
    alpha_.sink.Await(1, v1::HaEvent::kFirstWrite);
    ASSERT_THAT(beta_.Start(2), IsOk());
    beta_.sink.AwaitGranted(2, v1::HA_LOCK_STANDBY);
    alpha_.sink.AwaitWritten(1, 20);
  }
  std::string FileName(const std::string& name) const { return root_ + "/plimsoll-0123abcd/alpha/qm1/" + name; }

  TempDirectory directory_;
  std::string root_ = directory_.path();
  v1::HostPlan plan_;
  DrillHost alpha_;
  DrillHost beta_;
};

}  // namespace plimsoll::tests
