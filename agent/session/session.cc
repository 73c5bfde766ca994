#include "agent/session/session.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/field_rules.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

namespace {

// Adds the other session's amount to the one that a session demands.
void AddBeside(const WorkDemand::Amount& beside, const std::string& text, WorkDemand::Amount& amount) {
  if (beside.value == 0) return;
  amount.value += beside.value;
  absl::StrAppend(&amount.asked, " in addition to ", text, " of the same controller's other session");
}

}  // namespace

absl::Status SessionCaps::Join(const void* session, const WorkDemand& demand) {
  const MutexLock lock(mutex_);
  WorkDemand together = demand;
  for (const auto& [other, has] : demands_) {
    AddBeside(has.bytes, absl::StrCat(FormatCount(has.bytes.value), " bytes"), together.bytes);
    AddBeside(has.files, FormatCount(has.files.value), together.files);
    AddBeside(has.threads, absl::StrCat(has.threads.value), together.threads);
    AddBeside(has.duration_ns, FormatDuration(static_cast<int64_t>(has.duration_ns.value)), together.duration_ns);
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckDemand(limits_, together));
  demands_[session] = demand;
  return absl::OkStatus();
}

void SessionCaps::Leave(const void* session) {
  const MutexLock lock(mutex_);
  demands_.erase(session);
}

absl::Status SessionCaps::AllowsStep(const void* session, int64_t length_ns) const {
  const MutexLock lock(mutex_);
  return Fits(session, length_ns);
}

absl::Status SessionCaps::Fits(const void* session, int64_t length_ns) const {
  int64_t used_ns = used_ns_;
  for (const auto& [other, step] : steps_) used_ns += other == session ? 0 : step.length_ns;
  const int64_t max_ns = limits_.max_duration_ns();
  if (max_ns > 0 && length_ns > max_ns - used_ns) {
    return absl::OutOfRangeError(absl::StrCat(
        "the agent's --max-duration is ", FormatDuration(max_ns), ", the writers of this controller wrote for ",
        FormatDuration(used_ns), ", and a step of ", FormatDuration(length_ns),
        " does not fit: start the agent with a larger --max-duration, or begin another run"));
  }
  return absl::OkStatus();
}

absl::Status SessionCaps::BeginStep(const void* session, int64_t start_ns, int64_t length_ns) {
  const MutexLock lock(mutex_);
  PLIMSOLL_RETURN_IF_ERROR(Fits(session, length_ns));
  const auto [found, first] = steps_.try_emplace(session, Step{start_ns, length_ns, 1});
  if (!first) {
    // Armed again before its start, or while it runs: the earlier start and the greater length count.
    Step& step = found->second;
    step.start_ns = std::min(step.start_ns, start_ns);
    step.length_ns = std::max(step.length_ns, length_ns);
    ++step.armings;
  }
  return absl::OkStatus();
}

void SessionCaps::StepNotArmed(const void* session) {
  const MutexLock lock(mutex_);
  const auto found = steps_.find(session);
  if (found != steps_.end() && --found->second.armings == 0) steps_.erase(found);
}

void SessionCaps::EndStep(const void* session, int64_t now_ns) {
  const MutexLock lock(mutex_);
  const auto found = steps_.find(session);
  if (found == steps_.end()) return;
  const Step& step = found->second;
  used_ns_ += std::clamp<int64_t>(now_ns - std::min(step.start_ns, now_ns), 0, step.length_ns);
  steps_.erase(found);
}

namespace {

// A write that has been in flight for longer is reported with every Alive.
constexpr int64_t kHangReportNs = kNsPerSecond;

Session::Options WithCaps(Session::Options options) {
  if (options.caps == nullptr) options.caps = std::make_shared<SessionCaps>(v1::AgentLimits());
  return options;
}

}  // namespace

Session::Session(Options options)
    : options_(WithCaps(std::move(options))),
      opened_(options_.clock->Now()),
      lease_(opened_, options_.first_lease_ns),
      thread_([this] { Run(); }) {}

Session::~Session() {
  Shutdown("the agent shuts down");
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
    default:
      if (!Enqueue(std::move(message))) Break("the controller sends more than the agent can take");
  }
}

bool Session::Enqueue(v1::ControllerMessage message) {
  // Parts of a recording come before Fill. While the work fills or cleans up, nothing takes them out.
  constexpr size_t kMostWaitingBytes = size_t{16} << 20;
  const size_t bytes = message.ByteSizeLong();
  MutexLock lock(mutex_);
  if (inbox_bytes_ + bytes > kMostWaitingBytes) return false;
  inbox_bytes_ += bytes;
  inbox_.push_back(std::move(message));
  changed_.NotifyAll();
  return true;
}

void Session::CarryOut(const v1::Command& command) {
  std::shared_ptr<Work> work;
  {
    MutexLock lock(mutex_);
    work = work_;
  }
  absl::Status status =
      work == nullptr ? absl::FailedPreconditionError("no work is active that could take a command") : absl::OkStatus();
  // A step that cannot be armed is refused before the work has it.
  if (command.has_add_step()) status.Update(options_.caps->AllowsStep(this, StepNs(command.add_step().spec())));
  if (status.ok()) status = work->Do(command);
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
  if (work != nullptr) work->Abandon(reason);
}

void Session::Shutdown(const std::string& reason) {
  std::shared_ptr<Work> work;
  {
    MutexLock lock(mutex_);
    if (over_) return;
    if (!broken_.has_value()) broken_ = reason;
    shut_down_ = true;
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
  return absl::StrCat(run_id_.empty() ? "a new session" : absl::StrCat("run ", run_id_), " of ", options_.peer, " for ",
                      age_s, " s (", doing, ")");
}

std::string Session::Doing() const {
  std::string text;
  std::shared_ptr<Work> work;
  {
    MutexLock lock(mutex_);
    text = StateName();
    const int64_t age_ns = options_.clock->Now() - phase_since_;
    if (phase_ == kCleaningUp && age_ns >= kHangReportNs) absl::StrAppend(&text, " for ", age_ns / kNsPerSecond, " s");
    if (writing_ns_ > 0) absl::StrAppend(&text, ", at most ", FormatLength(writing_ns_), " of writing in all");
    work = work_;
  }
  if (work != nullptr) {
    for (const v1::InFlight& write : work->InFlight(kHangReportNs)) {
      absl::StrAppend(&text, "; ", InFlightText(write), " for ", write.age_ns() / kNsPerSecond, " s");
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

bool Session::MayBeJoined(const std::string& beside_key) const {
  MutexLock lock(mutex_);
  return !beside_key_.empty() && beside_key_ == beside_key && !broken_.has_value() && !over_;
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
  options_.caps->EndStep(this, options_.clock->Now().value);
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
      return absl::DeadlineExceededError(
          absl::StrCat("lease expired: no message from the controller for ", FormatDuration(lease_.length_ns())));
    }
    if (work_deadline_.has_value() && options_.clock->Now() >= *work_deadline_) {
      return absl::OutOfRangeError(absl::StrCat("the agent's --max-duration is ",
                                                FormatDuration(options_.caps->max_duration_ns()),
                                                ", and the check is not done: ask for less (--level, --only), or start "
                                                "the agent with a larger --max-duration"));
    }
    if (!inbox_.empty()) {
      v1::ControllerMessage message = std::move(inbox_.front());
      inbox_.pop_front();
      const size_t bytes = message.ByteSizeLong();
      inbox_bytes_ -= std::min(inbox_bytes_, bytes);
      return message;
    }
    const MonotonicNs lease_end{lease_.deadline_ns().load(std::memory_order_relaxed)};
    options_.clock->WaitUntil(mutex_, changed_, std::min(lease_end, work_deadline_.value_or(lease_end)));
  }
}

void Session::Run() {
  const absl::Status result = Serve();
  if (!result.ok()) {
    spdlog::warn("session of {} ends: {}", options_.peer, std::string(result.message()));
    SendFault(result);
  }
  StopAndCleanUp(result);
  options_.caps->Leave(this);
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
      PLIMSOLL_RETURN_IF_ERROR(ReportPlace(*work, message.look()));
    } else if (!prepared_.has_value() && message.has_pattern_chunk()) {
      PLIMSOLL_RETURN_IF_ERROR(TakeChunk(*work, message.pattern_chunk()));
    } else if (!prepared_.has_value() && message.has_stop()) {
      return absl::CancelledError("stopped while preparing");
    } else if (!prepared_.has_value() && message.has_arm()) {
      return absl::FailedPreconditionError("nothing is filled yet: expected Look, PatternChunk, Fill, Stop or Release");
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
  PLIMSOLL_RETURN_IF_ERROR(options_.caps->BeginStep(this, arm.start_ns(), stepped->StepNs(arm.step())));
  v1::AgentMessage answer;
  *answer.mutable_armed() = stepped->Arm(arm);
  if (answer.armed().late()) options_.caps->StepNotArmed(this);
  Send(std::move(answer));
  return absl::OkStatus();
}

void Session::StopAndCleanUp(const absl::Status& reason) {
  std::shared_ptr<Work> work;
  bool keep_files = false;
  bool abandoned = false;
  {
    MutexLock lock(mutex_);
    work = work_;
    SetPhase(kCleaningUp);
    keep_files = keep_files_;
    abandoned = broken_.has_value() && !shut_down_ && !reason.ok();
  }
  if (work == nullptr) return;
  if (abandoned) {
    work->Abandon(std::string(reason.message()));
  } else {
    work->Stop(reason.ok() ? "released" : std::string(reason.message()));
  }
  // A write in a hung system call cannot be called back; until it returns nothing can be cleaned and no other session
  // served.
  while (!work->WaitIdle(5 * kNsPerSecond)) spdlog::warn("waiting for a write that does not return: {}", Describe());
  v1::AgentMessage message;
  *message.mutable_released() = work->Release(keep_files);
  if (!message.released().left_behind().empty()) spdlog::error("not removed: {}", message.released().left_behind());
  Send(std::move(message));
  MutexLock lock(mutex_);
  work_ = nullptr;
}

namespace {

// What the rule of a plan's lease allows.
int64_t LongestLeaseNs() {
  return std::get<int64_t>(LargestOf(PlanField(v1::TestPlan::kLeaseNsFieldNumber)).value());
}

// A plan for cleaning names no run and no host.
bool IsPlain(const std::string& name) {
  return name.empty() || IsPlainName(name);
}

}  // namespace

absl::Status Session::PrepareWork(const v1::Prepare& prepare) {
  if (prepare.protocol_version() != kProtocolVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the controller speaks protocol ", prepare.protocol_version(),
                                                      ", this agent (", kVersion, ") speaks ", kProtocolVersion,
                                                      ": install the same version on both"));
  }
  const v1::HostPlan& plan = prepare.plan();
  // They are shown to others before the plan as a whole is checked.
  if (!IsPlain(plan.run_id()) || !IsPlain(plan.host_label())) {
    return absl::InvalidArgumentError(
        "run_id and host_label must be at most 64 letters, digits, '.', '_' and '-', not beginning with '.'");
  }
  if (plan.lease_ns() <= 0 || plan.lease_ns() > LongestLeaseNs()) {
    return absl::InvalidArgumentError(absl::StrCat("lease must be above 0 and at most ",
                                                   FormatDuration(LongestLeaseNs()), "; it is ",
                                                   FormatDuration(plan.lease_ns())));
  }
  lease_.SetLength(options_.clock->Now(), plan.lease_ns());
  {
    MutexLock lock(mutex_);
    run_id_ = plan.run_id();
    run_token_ = plan.run_token();
    beside_key_ = prepare.beside_key();
    SetPhase(kPreparing);
    keep_files_ = plan.keep_files();
  }
  spdlog::info("session of {}: run {} as {}", options_.peer, plan.run_id(), plan.host_label());
  const auto kind = options_.work.find(plan.work_case());
  if (kind == options_.work.end()) {
    return absl::UnimplementedError(
        absl::StrCat("this agent (", kVersion, ") does not support the requested kind of work"));
  }
  const WorkDemand demand = kind->second.demand_of(plan);
  PLIMSOLL_RETURN_IF_ERROR(options_.caps->Join(this, demand));
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<Work> made, kind->second.make(plan, lease_.deadline_ns(), *this));
  std::shared_ptr<Work> work = std::move(made);
  if (options_.caps->max_duration_ns() > 0 && work->stepped() == nullptr && demand.threads.value > 0) {
    work_deadline_ = options_.clock->Now() + options_.caps->max_duration_ns();
  }
  std::optional<std::string> stop;
  {
    MutexLock lock(mutex_);
    writing_ns_ = static_cast<int64_t>(std::min<uint64_t>(demand.duration_ns.value, INT64_MAX));
    work_ = work;
    awaits_fill_ = true;
    stop = broken_.has_value() ? broken_ : stop_reason_;
  }
  if (stop.has_value()) {
    work->Stop(*stop);  // it came while there was nothing to stop yet
    return absl::CancelledError("stopped while preparing");
  }
  return ReportPlace(*work, v1::Look());
}

absl::Status Session::ReportPlace(Work& work, const v1::Look& look) {
  v1::AgentMessage message;
  PLIMSOLL_ASSIGN_OR_RETURN(*message.mutable_placed(), work.Look(look));
  message.mutable_placed()->set_round(look.round());
  Send(std::move(message));
  return absl::OkStatus();
}

absl::Status Session::TakeChunk(Work& work, const v1::PatternChunk& chunk) {
  PLIMSOLL_RETURN_IF_ERROR(work.Take(chunk));
  MutexLock lock(mutex_);
  ++phases_;
  return absl::OkStatus();
}

absl::Status Session::FillWork(Work& work) {
  if (!prepared_.has_value()) {
    {
      MutexLock lock(mutex_);
      awaits_fill_ = false;
      ++phases_;
      // One that came right behind Fill: from here on, Deliver passes commands to the work itself.
      for (const v1::ControllerMessage& message : inbox_) {
        if (message.has_stop()) return absl::CancelledError("stopped while preparing");
      }
    }
    PLIMSOLL_ASSIGN_OR_RETURN(prepared_, work.Prepare([this](uint64_t done_bytes, uint64_t total_bytes) {
      v1::AgentMessage progress;
      progress.mutable_prepare_progress()->set_done_bytes(done_bytes);
      progress.mutable_prepare_progress()->set_total_bytes(total_bytes);
      Send(std::move(progress));
    }));
    MutexLock lock(mutex_);
    SetPhase(kWorking);
  }
  v1::AgentMessage message;
  *message.mutable_prepared() = *prepared_;
  Send(std::move(message));
  return absl::OkStatus();
}

}  // namespace plimsoll
