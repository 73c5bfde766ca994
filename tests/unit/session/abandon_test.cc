// Work that only the lease ends, when the controller's stream breaks.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "agent/session/session.h"
#include "common/mutex.h"
#include "common/protocol.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// What became of the work, shared with the test.
struct Asked {
  Mutex mutex;
  CondVar changed;
  std::vector<std::string> calls ABSL_GUARDED_BY(mutex);

  void Add(const std::string& call) {
    const MutexLock lock(mutex);
    calls.push_back(call);
    changed.NotifyAll();
  }
  void Await(const std::string& call) {
    const MutexLock lock(mutex);
    while (calls.empty() || calls.back() != call) changed.Wait(mutex);
  }
};

// Is idle only once it was stopped.
class LeaseBoundWork final : public Work {
 public:
  explicit LeaseBoundWork(Asked& asked) : asked_(asked) {}
  absl::StatusOr<v1::Prepared> Prepare(const std::function<void(uint64_t, uint64_t)>& /*progress*/) override {
    asked_.Add("prepare");
    return v1::Prepared();
  }
  void Stop(const std::string& /*reason*/) override {
    asked_.Add("stop");
    const MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
  }
  void Abandon(const std::string& reason) override { asked_.Add("abandon: " + reason); }
  uint64_t Progress() const override { return 0; }
  bool WaitIdle(int64_t timeout_ns) override {
    const MutexLock lock(mutex_);
    while (!stopped_) {
      if (!changed_.WaitFor(mutex_, std::chrono::nanoseconds(timeout_ns))) return stopped_;
    }
    return true;
  }
  v1::Released Release(bool keep_files) override {
    asked_.Add(keep_files ? "keep" : "release");
    return {};
  }

 private:
  Asked& asked_;
  Mutex mutex_;
  CondVar changed_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST(AbandonTest, ABrokenStreamAbandonsTheWorkAndTheAgentsEndStopsIt) {
  const SystemClock clock;
  Asked asked;
  Session::Options options;
  options.work[v1::HostPlan::kHa] = {
      [](const v1::HostPlan& /*plan*/) { return WorkDemand(); },
      [&asked](const v1::HostPlan& /*plan*/, const std::atomic<int64_t>& /*lease_deadline_ns*/, WorkSink& /*sink*/)
          -> absl::StatusOr<std::unique_ptr<Work>> { return std::make_unique<LeaseBoundWork>(asked); }};
  options.clock = &clock;
  options.peer = "test";
  options.wake = [] {};
  options.finished = [](const absl::Status& /*status*/) {};
  Session session(std::move(options));
  v1::ControllerMessage prepare;
  prepare.mutable_prepare()->set_protocol_version(kProtocolVersion);
  v1::HostPlan& plan = *prepare.mutable_prepare()->mutable_plan();
  plan.set_run_id("7f3a21");
  plan.set_lease_ns(10 * kNsPerSecond);
  plan.set_keep_files(true);
  plan.mutable_ha();
  session.Deliver(std::move(prepare));
  v1::ControllerMessage fill;
  fill.mutable_fill();
  session.Deliver(std::move(fill));
  asked.Await("prepare");

  session.Break("the controller is gone");
  asked.Await("abandon: the controller is gone");
  EXPECT_FALSE(session.over());
  session.Shutdown("the agent was stopped");
  asked.Await("keep");
  const MutexLock lock(asked.mutex);
  // Nothing stopped it before the agent did.
  ASSERT_GE(asked.calls.size(), 4U);
  EXPECT_EQ(asked.calls[0], "prepare");
  EXPECT_EQ(asked.calls[1], "abandon: the controller is gone");
}

}  // namespace
}  // namespace plimsoll
