#include "agent/session/session.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// A write that has been in flight for longer is reported with every Alive.
constexpr int64_t kHangReportNs = kNsPerSecond;

}  // namespace

Session::Session(Options options)
    : options_(std::move(options)),
      opened_(options_.clock->Now()),
      lease_(opened_, options_.first_lease_ns),
      thread_([this] { Run(); }) {}

Session::~Session() {
  Break("the agent shuts down");
  thread_.join();
}

void Session::Deliver(v1::ControllerMessage message) {
  if (!lease_.Renew(options_.clock->Now())) {
    // Too late: the session's thread is ending the session, or will find out at once.
    MutexLock lock(mutex_);
    changed_.NotifyAll();
    return;
  }
  switch (message.message_case()) {
    case v1::ControllerMessage::kHeartbeat:
      SendAlive(message.heartbeat().id());
      return;
    case v1::ControllerMessage::kStop: {
      std::shared_ptr<Work> work;
      {
        MutexLock lock(mutex_);
        if (phase_ == kWorking || awaits_fill_) {
          // Behind an Arm that the session's thread has not handled yet: a stop must not overtake it.
          inbox_.push_back(std::move(message));
          changed_.NotifyAll();
          return;
        }
        stop_reason_ = message.stop().reason();
        work = work_;
      }
      if (work != nullptr) work->Stop(message.stop().reason());
      return;
    }
    case v1::ControllerMessage::kCommand:
      CarryOut(message.command());
      return;
    default: {
      MutexLock lock(mutex_);
      inbox_.push_back(std::move(message));
      changed_.NotifyAll();
    }
  }
}

void Session::CarryOut(const v1::Command& command) {
  std::shared_ptr<Work> work;
  {
    MutexLock lock(mutex_);
    work = work_;
  }
  const absl::Status status =
      work == nullptr ? absl::FailedPreconditionError("there is no work that could take a command") : work->Do(command);
  v1::AgentMessage answer;
  v1::CommandDone& done = *answer.mutable_command_done();
  done.set_id(command.id());
  done.set_code(static_cast<int32_t>(status.code()));
  done.set_message(std::string(status.message()));
  done.set_at_ns(options_.clock->Now().value);
  Send(std::move(answer));
}

void Session::Break(const std::string& reason) {
  std::shared_ptr<Work> work;
  {
    MutexLock lock(mutex_);
    if (broken_.has_value() || over_) return;
    broken_ = reason;
    work = work_;
    changed_.NotifyAll();
  }
  if (work != nullptr) work->Stop(reason);
}

bool Session::over() const {
  MutexLock lock(mutex_);
  return over_;
}

v1::SessionHolder Session::holder() const {
  v1::SessionHolder holder;
  holder.set_doing(Doing());
  MutexLock lock(mutex_);
  holder.set_run_id(run_id_);
  holder.set_peer(options_.peer);
  holder.set_age_ns(static_cast<uint64_t>(options_.clock->Now() - opened_));
  return holder;
}

void Session::SetPhase(const std::string& phase) {
  phase_ = phase;
  phase_since_ = options_.clock->Now();
  ++phases_;
}

std::string Session::StateName() const {
  return work_ != nullptr && phase_ == kWorking ? work_->State() : phase_;
}

std::string Session::Describe() const {
  const int64_t age_s = (options_.clock->Now() - opened_) / kNsPerSecond;
  const std::string doing = Doing();
  MutexLock lock(mutex_);
  return absl::StrCat(run_id_.empty() ? "a session that has just begun" : absl::StrCat("run ", run_id_), " of ",
                      options_.peer, " for ", age_s, " s (", doing, ")");
}

std::string Session::Doing() const {
  std::string text;
  std::shared_ptr<Work> work;
  {
    MutexLock lock(mutex_);
    text = StateName();
    const int64_t age_ns = options_.clock->Now() - phase_since_;
    if (phase_ == kCleaningUp && age_ns >= kHangReportNs) absl::StrAppend(&text, " for ", age_ns / kNsPerSecond, " s");
    work = work_;
  }
  if (work != nullptr) {
    for (const v1::InFlight& write : work->InFlight(kHangReportNs)) {
      absl::StrAppend(&text, "; qm", write.qm(), " has been ", write.filling() ? "filling " : "in one write to ",
                      write.path(), " for ", write.age_ns() / kNsPerSecond, " s");
    }
  }
  return text;
}

bool Session::Hangs() const {
  std::shared_ptr<Work> work;
  {
    MutexLock lock(mutex_);
    if (over_) return false;
    if (phase_ == kCleaningUp && options_.clock->Now() - phase_since_ >= kHangReportNs) return true;
    if (phase_ == kPreparing && work_ == nullptr && options_.clock->Now() - phase_since_ >= kHangReportNs) return true;
    work = work_;
  }
  return work != nullptr && !work->InFlight(kHangReportNs).empty();
}

uint64_t Session::Progress() const {
  std::shared_ptr<Work> work;
  uint64_t progress = 0;
  {
    MutexLock lock(mutex_);
    work = work_;
    progress = phases_;
  }
  return work == nullptr ? progress : progress + work->Progress();
}

std::string Session::Directory() const {
  MutexLock lock(mutex_);
  return work_ == nullptr ? "" : work_->Directory();
}

bool Session::Renew(const std::string& run_id, const std::string& run_token) {
  {
    MutexLock lock(mutex_);
    if (run_id_ != run_id || run_token_ != run_token || over_) return false;
  }
  return lease_.Renew(options_.clock->Now());
}

void Session::OnFrames(v1::FrameBatch frames) {
  outbox_.PushFrames(std::move(frames));
  options_.wake();
}

void Session::OnStepDone(v1::StepDone done) {
  budget_.End(options_.clock->Now().value);
  v1::AgentMessage message;
  *message.mutable_step_done() = std::move(done);
  Send(std::move(message));
}

void Session::OnFault(v1::Fault fault) {
  v1::AgentMessage message;
  *message.mutable_fault() = std::move(fault);
  Send(std::move(message));
}

void Session::OnMessage(v1::AgentMessage message) {
  Send(std::move(message));
}

void Session::Send(v1::AgentMessage message) {
  outbox_.Push(std::move(message));
  options_.wake();
}

void Session::SendFault(const absl::Status& status) {
  v1::Fault fault;
  fault.set_code(static_cast<int32_t>(status.code()));
  fault.set_message(std::string(status.message()));
  OnFault(std::move(fault));
}

void Session::SendAlive(uint64_t id) {
  v1::AgentMessage message;
  v1::Alive& alive = *message.mutable_alive();
  alive.set_id(id);
  std::shared_ptr<Work> work;
  {
    MutexLock lock(mutex_);
    alive.set_state(StateName());
    work = work_;
  }
  if (work != nullptr) {
    for (v1::InFlight& write : work->InFlight(kHangReportNs)) *alive.add_in_flight() = std::move(write);
  }
  alive.set_progress(Progress());
  Send(std::move(message));
}

absl::StatusOr<v1::ControllerMessage> Session::NextMessage() {
  MutexLock lock(mutex_);
  while (true) {
    if (broken_.has_value()) return absl::CancelledError(*broken_);
    if (lease_.Expired(options_.clock->Now())) {
      return absl::DeadlineExceededError(absl::StrCat("no message from the controller for ",
                                                      FormatDuration(lease_.length_ns()), ": the lease ran out"));
    }
    if (!inbox_.empty()) {
      v1::ControllerMessage message = std::move(inbox_.front());
      inbox_.pop_front();
      return message;
    }
    options_.clock->WaitUntil(mutex_, changed_, {lease_.deadline_ns().load(std::memory_order_relaxed)});
  }
}

void Session::Run() {
  const absl::Status result = Serve();
  if (!result.ok()) {
    spdlog::warn("session of {} ends: {}", options_.peer, std::string(result.message()));
    SendFault(result);
  }
  StopAndCleanUp(result);
  {
    MutexLock lock(mutex_);
    over_ = true;
  }
  options_.finished(result);
}

absl::Status Session::Serve() {
  PLIMSOLL_ASSIGN_OR_RETURN(const v1::ControllerMessage first, NextMessage());
  if (!first.has_prepare()) return absl::FailedPreconditionError("a session begins with Prepare");
  PLIMSOLL_RETURN_IF_ERROR(PrepareWork(first.prepare()));
  while (true) {
    PLIMSOLL_ASSIGN_OR_RETURN(const v1::ControllerMessage message, NextMessage());
    std::shared_ptr<Work> work;
    {
      MutexLock lock(mutex_);
      work = work_;
    }
    if (message.has_fill()) {
      PLIMSOLL_RETURN_IF_ERROR(FillWork(*work));
    } else if (!prepared_.has_value() && message.has_look()) {
      PLIMSOLL_RETURN_IF_ERROR(TellPlace(*work, message.look()));
    } else if (!prepared_.has_value() && message.has_stop()) {
      return absl::CancelledError("stopped while preparing");
    } else if (!prepared_.has_value() && message.has_arm()) {
      return absl::FailedPreconditionError("nothing is filled yet: expected Look, Fill, Stop or Release");
    } else if (message.has_arm()) {
      PLIMSOLL_RETURN_IF_ERROR(ArmWork(*work, message.arm()));
    } else if (message.has_stop()) {
      work->Stop(message.stop().reason());
    } else if (message.has_release()) {
      MutexLock lock(mutex_);
      keep_files_ = message.release().keep_files();
      return absl::OkStatus();
    } else {
      return absl::FailedPreconditionError("the agent is prepared: expected Fill, Arm, Stop or Release");
    }
  }
}

absl::Status Session::ArmWork(Work& work, const v1::Arm& arm) {
  SteppedWork* const stepped = work.stepped();
  if (stepped == nullptr) return absl::FailedPreconditionError("this kind of work has no steps to arm");
  PLIMSOLL_RETURN_IF_ERROR(budget_.Begin(arm.start_ns(), stepped->StepNs(arm.step())));
  v1::AgentMessage answer;
  *answer.mutable_armed() = stepped->Arm(arm);
  if (answer.armed().late()) budget_.NotArmed();
  Send(std::move(answer));
  return absl::OkStatus();
}

void Session::StopAndCleanUp(const absl::Status& reason) {
  std::shared_ptr<Work> work;
  bool keep_files = false;
  {
    MutexLock lock(mutex_);
    work = work_;
    SetPhase(kCleaningUp);
    keep_files = keep_files_;
  }
  if (work == nullptr) return;
  work->Stop(reason.ok() ? "released" : std::string(reason.message()));
  // A write in a hung system call cannot be called back; until it returns nothing can be cleaned and nobody else
  // served.
  while (!work->WaitIdle(5 * kNsPerSecond)) spdlog::warn("waiting for a write that does not return: {}", Describe());
  v1::AgentMessage message;
  *message.mutable_released() = work->Release(keep_files);
  if (!message.released().left_behind().empty()) spdlog::error("left behind: {}", message.released().left_behind());
  Send(std::move(message));
  MutexLock lock(mutex_);
  work_ = nullptr;
}

}  // namespace plimsoll
