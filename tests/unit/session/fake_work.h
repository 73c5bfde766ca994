// Log work that does what a test tells it to, and remembers what it was asked.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/work/work.h"
#include "common/mutex.h"
#include "common/protocol.h"

namespace plimsoll::tests {

// What all copies of the fake share with their test. Thread-safe.
class FakeWorkState {
 public:
  // Makes Prepare wait until Stop (or for ever, where nobody stops it).
  void BlockPrepare() {
    With([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { block_prepare_ = true; });
  }
  // Makes WaitIdle fail until UnblockWrites: a write that does not return.
  void BlockWrites(bool blocked) {
    With([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { writes_blocked_ = blocked; });
  }

  bool WaitForPrepareOrStop() {
    MutexLock lock(mutex_);
    preparing_ = true;
    if (streams_ > 0) order_.emplace_back("prepare");
    changed_.NotifyAll();
    while (block_prepare_ && stops_.empty()) changed_.Wait(mutex_);
    return !block_prepare_ || stops_.empty();
  }
  void AwaitPreparing() {
    MutexLock lock(mutex_);
    while (!preparing_) changed_.Wait(mutex_);
  }
  void AwaitStop() {
    MutexLock lock(mutex_);
    while (stops_.empty()) changed_.Wait(mutex_);
  }
  void AwaitArm() {
    MutexLock lock(mutex_);
    while (arms_.empty()) changed_.Wait(mutex_);
  }
  void AwaitRelease() {
    MutexLock lock(mutex_);
    while (!released_) changed_.Wait(mutex_);
  }
  bool WaitIdle(int64_t timeout_ns) {
    MutexLock lock(mutex_);
    while (writes_blocked_) {
      if (!changed_.WaitFor(mutex_, std::chrono::nanoseconds(timeout_ns))) return !writes_blocked_;
    }
    return true;
  }

  void AddCommand(const std::string& what) {
    With([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { order_.push_back(what); });
  }
  // Takes the streams of recorded writes below `streams`, and notes each chunk.
  void PlayStreams(uint32_t streams) {
    With([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { streams_ = streams; });
  }
  absl::Status Take(const v1::PatternChunk& chunk) {
    MutexLock lock(mutex_);
    if (chunk.stream() >= streams_) return absl::InvalidArgumentError("no such stream");
    order_.push_back("chunk of stream " + std::to_string(chunk.stream()));
    return absl::OkStatus();
  }
  void AddStop(const std::string& reason) {
    With([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      stops_.push_back(reason);
      order_.emplace_back("stop");
    });
  }
  void AddArm(const v1::Arm& arm) {
    With([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      arms_.push_back(arm);
      order_.emplace_back("arm");
    });
  }
  void SetReleased(bool keep) {
    With([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      released_ = true;
      kept_ = keep;
    });
  }
  // A write in flight as the agent shows it once it hangs.
  void ShowInFlight(v1::InFlight write) {
    With([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { in_flight_.push_back(std::move(write)); });
  }
  std::vector<v1::InFlight> InFlight() {
    MutexLock lock(mutex_);
    return in_flight_;
  }
  void GetOn() {
    With([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { ++progress_; });
  }
  uint64_t Progress() {
    MutexLock lock(mutex_);
    return progress_;
  }
  std::vector<std::string> stops() {
    MutexLock lock(mutex_);
    return stops_;
  }
  // "arm", "stop", "prepare" and the like in the order in which they came.
  std::vector<std::string> order() {
    MutexLock lock(mutex_);
    return order_;
  }
  bool released() {
    MutexLock lock(mutex_);
    return released_;
  }
  bool kept() {
    MutexLock lock(mutex_);
    return kept_;
  }

 private:
  template <typename Change>
  void With(const Change& change) {
    MutexLock lock(mutex_);
    change();
    changed_.NotifyAll();
  }

  Mutex mutex_;
  CondVar changed_;
  bool block_prepare_ ABSL_GUARDED_BY(mutex_) = false;
  bool writes_blocked_ ABSL_GUARDED_BY(mutex_) = false;
  bool preparing_ ABSL_GUARDED_BY(mutex_) = false;
  bool released_ ABSL_GUARDED_BY(mutex_) = false;
  bool kept_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::string> stops_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> order_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::Arm> arms_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::InFlight> in_flight_ ABSL_GUARDED_BY(mutex_);
  uint64_t progress_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t streams_ ABSL_GUARDED_BY(mutex_) = 0;
};

class FakeWork final : public SteppedWork {
 public:
  FakeWork(std::shared_ptr<FakeWorkState> state, const v1::HostPlan& plan, WorkSink& sink)
      : state_(std::move(state)), plan_(plan.log()), sink_(sink) {}

  absl::Status Take(const v1::PatternChunk& chunk) override { return state_->Take(chunk); }
  absl::StatusOr<v1::Prepared> Prepare(const std::function<void(uint64_t, uint64_t)>& progress) override {
    progress(1, 2);
    if (!state_->WaitForPrepareOrStop()) return absl::CancelledError("stopped while preparing");
    v1::Prepared prepared;
    prepared.set_directory("/fake");
    return prepared;
  }
  int64_t StepNs(uint32_t step) const override {
    return static_cast<int>(step) < plan_.steps_size() ? plimsoll::StepNs(plan_.steps(static_cast<int>(step))) : 0;
  }
  v1::Armed Arm(const v1::Arm& arm) override {
    v1::Armed armed;
    armed.set_step(arm.step());
    armed.set_start_ns(arm.start_ns());
    state_->AddArm(arm);
    v1::FrameBatch frames;
    frames.add_frames()->set_step(arm.step());
    sink_.OnFrames(std::move(frames));
    v1::StepDone done;
    done.set_step(arm.step());
    sink_.OnStepDone(std::move(done));
    return armed;
  }
  void Stop(const std::string& reason) override { state_->AddStop(reason); }
  absl::Status Do(const v1::Command& command) override {
    if (!command.has_stop_trace()) return Work::Do(command);
    state_->AddCommand("stop trace");
    return absl::OkStatus();
  }
  std::string State() const override { return "ready"; }
  std::vector<v1::InFlight> InFlight(int64_t /*min_age_ns*/) const override { return state_->InFlight(); }
  uint64_t Progress() const override { return state_->Progress(); }
  std::string Directory() const override { return "/fake/plimsoll-7f3a21/alpha"; }
  bool WaitIdle(int64_t timeout_ns) override { return state_->WaitIdle(timeout_ns); }
  v1::Released Release(bool keep_files) override {
    state_->SetReleased(keep_files);
    v1::Released released;
    released.set_removed_files(3);
    return released;
  }

 private:
  const std::shared_ptr<FakeWorkState> state_;
  const v1::LogWork plan_;
  WorkSink& sink_;
};

// Log work that `make(plan, sink)` makes, as a session knows it.
template <typename Make>
WorkKinds FakeKinds(Make make) {
  WorkKinds kinds;
  WorkKind& kind = kinds[v1::HostPlan::kLog];
  kind.demand_of = [](const v1::HostPlan& plan) { return LogDemand(plan.log().workload(), plan.log().steps()); };
  kind.make = [make](const v1::HostPlan& plan, const std::atomic<int64_t>& /*lease_deadline_ns*/,
                     WorkSink& sink) -> absl::StatusOr<std::unique_ptr<Work>> { return make(plan, sink); };
  return kinds;
}

}  // namespace plimsoll::tests
