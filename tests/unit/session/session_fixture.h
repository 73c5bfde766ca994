// A session over fake work, and what it would send.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent/session/session.h"
#include "common/protocol.h"
#include "common/units.h"
#include "tests/unit/session/fake_work.h"

namespace plimsoll::tests {

// Waits for the session's end and keeps what it would send.
class SessionTest : public ::testing::Test {
 protected:
  void Open(int64_t first_lease_ns = 10 * kNsPerSecond) {
    Session::Options options;
    options.work =
        tests::FakeKinds([this](const v1::HostPlan& plan, WorkSink& sink) -> absl::StatusOr<std::unique_ptr<Work>> {
          ++makes_;
          if (!make_error_.ok()) return make_error_;
          return std::make_unique<FakeWork>(state_, plan, sink);
        });
    options.clock = &clock_;
    options.peer = "test";
    options.caps = std::make_shared<SessionCaps>(limits_);
    options.first_lease_ns = first_lease_ns;
    options.wake = [] {};
    options.finished = [this](const absl::Status& status) {
      MutexLock lock(mutex_);
      // Shares nothing with the session's: the thread sanitizer does not see the reference counts of Debian's abseil.
      result_ = absl::Status(status.code(), status.message());
      changed_.NotifyAll();
    };
    session_ = std::make_unique<Session>(std::move(options));
  }

  // Has the work made; it fills nothing before Fill.
  void Place(int64_t lease_ns = 10 * kNsPerSecond, bool keep_files = false) {
    v1::ControllerMessage message;
    message.mutable_prepare()->set_protocol_version(kProtocolVersion);
    v1::HostPlan& plan = *message.mutable_prepare()->mutable_plan();
    plan.set_run_id("7f3a21");
    plan.set_lease_ns(lease_ns);
    plan.set_keep_files(keep_files);
    plan.mutable_log()->mutable_workload()->set_qm(1);
    session_->Deliver(std::move(message));
  }
  void Fill() {
    v1::ControllerMessage message;
    message.mutable_fill();
    session_->Deliver(std::move(message));
  }
  void Prepare(int64_t lease_ns = 10 * kNsPerSecond, bool keep_files = false) {
    Place(lease_ns, keep_files);
    Fill();
  }
  void Stop() {
    v1::ControllerMessage message;
    message.mutable_stop()->set_reason("interrupted");
    session_->Deliver(std::move(message));
  }
  void Arm() {
    v1::ControllerMessage message;
    message.mutable_arm()->set_step(0);
    session_->Deliver(std::move(message));
  }
  void Release() {
    v1::ControllerMessage message;
    message.mutable_release();
    session_->Deliver(std::move(message));
  }
  absl::Status AwaitEnd() {
    MutexLock lock(mutex_);
    while (!result_.has_value()) changed_.Wait(mutex_);
    return *result_;
  }
  // Everything in the outbox, in order.
  std::vector<v1::AgentMessage::MessageCase> Sent() {
    std::vector<v1::AgentMessage::MessageCase> cases;
    while (auto message = session_->outbox().Pop()) cases.push_back(message->message_case());
    return cases;
  }

  const SystemClock clock_;
  const std::shared_ptr<FakeWorkState> state_ = std::make_shared<FakeWorkState>();
  absl::Status make_error_;
  v1::AgentLimits limits_;
  int makes_ = 0;  // how often work was made
  Mutex mutex_;
  CondVar changed_;
  std::optional<absl::Status> result_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Session> session_;
};

}  // namespace plimsoll::tests
