// What the conductor does with what comes: events, timers, messages, losses.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/run/conductor.h"

namespace plimsoll {
namespace {

// What the run waits for.
const char* WhileIt(Host::Phase phase) {
  switch (phase) {
    case Host::Phase::kPlacing:
    case Host::Phase::kLooking:
    case Host::Phase::kFilling:
      return "it prepared";
    case Host::Phase::kReleasing:
      return "its files were removed";
    default:
      return "the step's last writes were awaited";
  }
}

}  // namespace

bool Conductor::Full() {
  log_.Tend();
  return log_.full();
}

void Conductor::Note(const std::string& text) {
  log_.Note(text);
}

MonotonicNs Conductor::next_update() const {
  return options_.progress->next_update();
}

void Conductor::Update(MonotonicNs now) {
  options_.progress->Update(now, fleet_.hosts(), log_.live());
}

std::string Conductor::Awaited(const Host& host, MonotonicNs now) const {
  const bool late = host.armed.has_value() && host.armed->late();
  bool awaited = false;
  switch (host.phase) {
    case Host::Phase::kPlacing:
    case Host::Phase::kLooking:
    case Host::Phase::kFilling:
    case Host::Phase::kReleasing:
      awaited = true;
      break;
    case Host::Phase::kArmed:
      awaited = stopping_ ? !host.step_done && !late : !host.armed.has_value();
      break;
    case Host::Phase::kRunning:
      awaited = !host.step_done && (stopping_ || now >= step_end_);
      break;
    default:
      break;
  }
  return awaited ? WhileIt(host.phase) : "";
}

void Conductor::SendCommand(Host& host, v1::Command command) {
  command.set_id(driver_.SendCommand(host, command));
  v1::JournalRecord record;
  record.mutable_host_command()->set_host(static_cast<uint32_t>(host.index));
  *record.mutable_host_command()->mutable_command() = std::move(command);
  log_.Append(std::move(record));
}

void Conductor::OnProbes(Host& host, v1::ProbeBatch& probes) {
  v1::JournalRecord record;
  probes.set_host(static_cast<uint32_t>(host.index));
  *record.mutable_probes() = std::move(probes);
  log_.Append(std::move(record));
}

void Conductor::OnMessage(Host& host, v1::AgentMessage& message) {
  if (hold_ && (message.has_frames() || message.has_step_done())) {
    host.step_done |= message.has_step_done();
    held_.emplace_back(host.index, std::move(message));
    return;
  }
  const auto index = static_cast<uint32_t>(host.index);
  v1::JournalRecord record;
  switch (message.message_case()) {
    case v1::AgentMessage::kPrepareProgress:
    case v1::AgentMessage::kAlive:
      return;  // the driver's
    case v1::AgentMessage::kPlaced:
      // An answer to an earlier look says less than the one that is awaited.
      if (message.placed().round() != look_round_) return;
      if (host.phase == Host::Phase::kPlacing || host.phase == Host::Phase::kLooking) {
        host.placed = std::move(*message.mutable_placed());
        host.phase = Host::Phase::kPlaced;
      }
      return;
    case v1::AgentMessage::kPrepared:
      if (host.phase != Host::Phase::kFilling) return;
      host.phase = Host::Phase::kReady;
      record.mutable_host_prepared()->set_host(index);
      *record.mutable_host_prepared()->mutable_prepared() = std::move(*message.mutable_prepared());
      log_.Append(std::move(record));
      return;
    case v1::AgentMessage::kArmed:
      host.armed = std::move(*message.mutable_armed());
      return;
    case v1::AgentMessage::kFrames:
      if (step_ >= 0) LogFrames(host, *message.mutable_frames());
      return;
    case v1::AgentMessage::kStepDone:
      host.step_done = true;
      host.step_stopped = message.step_done().stopped();
      if (step_ < 0) return;
      record.mutable_step_done()->set_host(index);
      *record.mutable_step_done()->mutable_done() = std::move(*message.mutable_step_done());
      log_.Append(std::move(record));
      return;
    case v1::AgentMessage::kFault:
      if (!host.fault.has_value()) host.fault = message.fault();
      trouble_ = true;
      record.mutable_fault()->set_host(index);
      record.mutable_fault()->set_step(step_);
      *record.mutable_fault()->mutable_fault() = std::move(*message.mutable_fault());
      log_.Append(std::move(record));
      return;
    case v1::AgentMessage::kReleased:
      host.released = std::move(*message.mutable_released());
      return;
    case v1::AgentMessage::kCommandDone:
      if (message.command_done().code() != 0) {
        log_.Note(absl::StrCat(host.label, ": did not do what it was told: ", message.command_done().message()));
      }
      record.mutable_host_command_done()->set_host(index);
      *record.mutable_host_command_done()->mutable_done() = std::move(*message.mutable_command_done());
      log_.Append(std::move(record));
      return;
    default:
      return;  // what other kinds of work send, and a newer agent's message that this version does not know
  }
}

void Conductor::LogFrames(Host& host, v1::FrameBatch& frames) {
  DropTracesBeyondLimit(frames);
  CountTraces(frames);
  v1::JournalRecord record;
  v1::HostFrames& kept = *record.mutable_frames();
  kept.set_host(static_cast<uint32_t>(host.index));
  kept.mutable_frames()->Swap(frames.mutable_frames());
  if (frames.has_sample()) kept.mutable_sample()->Swap(frames.mutable_sample());
  log_.Append(std::move(record));
}

void Conductor::DropTracesBeyondLimit(v1::FrameBatch& frames) const {
  // An agent stops sending traces at StopTrace; what was in transit is far less. This bounds the cost of one that does
  // not.
  constexpr uint64_t kOnTheirWayBytes = uint64_t{32} << 20;
  if (!traces_stopped_) return;
  uint64_t bytes = trace_bytes_;
  for (v1::Frame& frame : *frames.mutable_frames()) {
    for (const std::string& block : frame.trace()) bytes += block.size();
    if (frame.trace().empty() || bytes < options_.plan.trace_limit_bytes() + kOnTheirWayBytes) continue;
    frame.clear_trace();
    frame.set_untraced_writes(frame.latency().count());
  }
}

void Conductor::CountTraces(const v1::FrameBatch& frames) {
  for (const v1::Frame& frame : frames.frames()) {
    for (const std::string& block : frame.trace()) trace_bytes_ += block.size();
  }
  if (traces_stopped_ || trace_bytes_ < options_.plan.trace_limit_bytes()) return;
  traces_stopped_ = true;
  // One moment for all, far enough ahead for the message to reach every host.
  const MonotonicNs moment = clock_.Now() + kNsPerSecond;
  for (auto& host : fleet_.hosts()) {
    if (host->lost() || host->clock.empty()) continue;
    v1::Command command;
    command.mutable_stop_trace()->set_at_ns(host->clock.ToRemote(moment.value));
    SendCommand(*host, std::move(command));
  }
  log_.Note(absl::StrCat("traces reached --trace-limit (", FormatSizeForPeople(options_.plan.trace_limit_bytes()),
                         ") and stopped on all hosts at one moment; the histograms go on"));
}

void Conductor::OnClosed(Host& host, const absl::Status& status) {
  if (host.phase == Host::Phase::kReleasing) {
    // An agent that was still preparing ends its session as cancelled; it has cleaned up all the same.
    if (!host.released.has_value() && !status.ok()) {
      log_.Note(absl::StrCat(host.label, ": the session ended before the agent said that its files are removed (",
                             std::string(status.message()), "); it removes them by itself"));
    }
    host.phase = Host::Phase::kGone;
    return;
  }
  const std::string why = status.ok() ? "the agent ended the session" : std::string(status.message());
  if (status.code() == absl::StatusCode::kResourceExhausted && !host.fault.has_value()) {
    Lose(host, absl::StrCat("the agent is ", why));
  } else {
    Lose(host, absl::StrCat("the session broke: ", why.empty() ? "connection lost" : why));
  }
}

void Conductor::OnLost(Host& host, const std::string& reason) {
  trouble_ = true;
  v1::JournalRecord record;
  record.mutable_host_lost()->set_host(static_cast<uint32_t>(host.index));
  record.mutable_host_lost()->set_reason(reason);
  record.mutable_host_lost()->set_step(step_);
  record.mutable_host_lost()->mutable_in_flight()->Assign(host.in_flight.begin(), host.in_flight.end());
  log_.Append(std::move(record));
  options_.progress->Warn(absl::StrCat("host ", host.label, " is lost: ", reason));
}

}  // namespace plimsoll
