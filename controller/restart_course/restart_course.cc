#include "controller/restart_course/restart_course.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/plan/restart_plan.h"
#include "controller/run/run_records.h"

namespace plimsoll {

RestartCourse::RestartCourse(Options options)
    : options_(std::move(options)),
      clock_(*options_.clock),
      fleet_(*options_.fleet),
      log_(*options_.log),
      driver_({.fleet = options_.fleet,
               .events = options_.events,
               .clock = options_.clock,
               .course = this,
               .lease_ns = options_.plan.lease_ns(),
               .hang_limit_ns = options_.plan.hang_limit_ns()}),
      preparation_({.fleet = options_.fleet,
                    .driver = &driver_,
                    .plans = {options_.host_plan},
                    .workloads = RestartFilledWorkloads(options_.plan)}) {}

std::optional<Failure> RestartCourse::Run() {
  AppendRunBegin(options_.plan, {options_.host_plan}, {}, options_.controller, clock_, fleet_, log_);
  options_.feed->Preparing();
  std::optional<Failure> failure = preparation_.Run();
  options_.feed->StepEnds();
  prepared_ = !failure.has_value();
  if (prepared_) RunRounds();
  if (left()) return failure;
  if (prepared_ && answered_ == 0) {
    failure = driver_.interrupted() ? Failure{Exit::kInconclusive, {"interrupted: nothing was measured"}}
                                    : Failure{Exit::kCannotRun, {absl::StrCat("nothing was measured: ", fatal_)}};
  }
  Release();
  if (left()) return failure;
  AppendRunEnd(MustEnd(), fleet_, log_);
  return failure;
}

void RestartCourse::RunRounds() {
  const std::vector<v1::RestartTrial> cases = RestartCases(options_.plan);
  const auto sides = static_cast<uint32_t>(options_.host_plan.restart().dirs_size());
  for (uint32_t round = 1; round <= options_.plan.restart_time().rounds(); ++round) {
    options_.say(absl::StrCat("round ", round, " of ", options_.plan.restart_time().rounds()));
    for (const v1::RestartTrial& each : cases) {
      for (uint32_t turn = 0; turn < sides; ++turn) {
        if (!MustEnd().empty() || left()) return;
        v1::RestartTrial trial = each;
        trial.set_side(round % 2 == 1 ? turn : sides - 1 - turn);
        Measure(round, std::move(trial));
      }
    }
  }
}

void RestartCourse::Measure(uint32_t round, v1::RestartTrial trial) {
  trial.set_trial(++last_trial_);
  running_trial_ = last_trial_;
  v1::JournalRecord record;
  v1::RestartTrialBegin& begin = *record.mutable_restart()->mutable_trial_begin();
  begin.set_round(round);
  *begin.mutable_trial() = trial;
  log_.Append(std::move(record));
  v1::Command command;
  *command.mutable_restart() = std::move(trial);
  running_command_ = driver_.next_command_id();
  driver_.SendCommand(host(), std::move(command));
  driver_.PumpUntil([this] { return running_trial_ == 0 || !MustEnd().empty(); });
}

void RestartCourse::Release() {
  if (host().in_session()) SessionDriver::Release(host(), /*keep_files=*/false);
  options_.feed->Releasing();
  driver_.PumpUntil([this] { return !host().in_session(); });
  driver_.Close();
  options_.feed->StepEnds();
}

void RestartCourse::OnMessage(Host& host, v1::AgentMessage& message) {
  const auto index = static_cast<uint32_t>(host.index);
  v1::JournalRecord record;
  switch (message.message_case()) {
    case v1::AgentMessage::kPlaced:
      return preparation_.OnPlaced(host, *message.mutable_placed());
    case v1::AgentMessage::kPrepared:
      if (host.phase != Host::Phase::kFilling) return;
      host.phase = Host::Phase::kReady;
      record.mutable_host_prepared()->set_host(index);
      *record.mutable_host_prepared()->mutable_prepared() = std::move(*message.mutable_prepared());
      return log_.Append(std::move(record));
    case v1::AgentMessage::kRestart: {
      const v1::RestartTrialDone done = std::move(*message.mutable_restart());
      *record.mutable_restart()->mutable_trial_done() = done;
      log_.Append(std::move(record));
      if (done.trial() != running_trial_) return;
      running_trial_ = 0;
      ++answered_;
      if (done.code() != 0 && !driver_.interrupted()) {
        options_.feed->Warn(absl::StrCat(host.label, ": ", done.message()));
      }
      return;
    }
    case v1::AgentMessage::kCommandDone: {
      const v1::CommandDone done = std::move(*message.mutable_command_done());
      record.mutable_host_command_done()->set_host(index);
      *record.mutable_host_command_done()->mutable_done() = done;
      log_.Append(std::move(record));
      if (done.code() == 0 || done.id() != running_command_ || running_trial_ == 0) return;
      // The agent takes no such order: none of the others either.
      if (fatal_.empty()) fatal_ = absl::StrCat(host.label, " refused a measurement: ", done.message());
      return;
    }
    case v1::AgentMessage::kFault:
      if (!host.fault.has_value()) host.fault = message.fault();
      if (prepared_ && fatal_.empty()) {
        fatal_ = absl::StrCat("host ", host.label, " failed: ", message.fault().message());
      }
      record.mutable_fault()->set_host(index);
      record.mutable_fault()->set_step(-1);
      *record.mutable_fault()->mutable_fault() = std::move(*message.mutable_fault());
      return log_.Append(std::move(record));
    case v1::AgentMessage::kReleased:
      host.released = std::move(*message.mutable_released());
      return;
    default:
      return;  // the driver's, or of another kind of work
  }
}

void RestartCourse::OnProbes(Host& host, v1::ProbeBatch& probes) {
  v1::JournalRecord record;
  probes.set_host(static_cast<uint32_t>(host.index));
  *record.mutable_probes() = std::move(probes);
  log_.Append(std::move(record));
}

void RestartCourse::OnClosed(Host& host, const absl::Status& status) {
  if (host.phase == Host::Phase::kReleasing) {
    host.phase = Host::Phase::kGone;
    return;
  }
  const std::string why = status.ok() ? "the agent ended the session" : std::string(status.message());
  driver_.Lose(host, absl::StrCat("the session broke: ", why.empty() ? "connection lost" : why));
}

void RestartCourse::OnLost(Host& host, const std::string& reason) {
  if (fatal_.empty()) fatal_ = absl::StrCat("host ", host.label, " was lost: ", reason);
  v1::JournalRecord record;
  record.mutable_host_lost()->set_host(static_cast<uint32_t>(host.index));
  record.mutable_host_lost()->set_reason(reason);
  record.mutable_host_lost()->set_step(-1);
  log_.Append(std::move(record));
  options_.feed->Warn(absl::StrCat("host ", host.label, " is lost: ", reason));
}

std::string RestartCourse::Awaited(const Host& host, MonotonicNs /*now*/) const {
  switch (host.phase) {
    case Host::Phase::kPlacing:
    case Host::Phase::kLooking:
    case Host::Phase::kFilling:
      return "it prepared";
    case Host::Phase::kReleasing:
      return "its files were removed";
    default:
      return running_trial_ > 0 ? "it read and wrote the files of a restart" : "";
  }
}

bool RestartCourse::Full() {
  log_.Tend();
  return log_.full();
}

std::string RestartCourse::MustEnd() const {
  return driver_.interrupted() ? "interrupted" : fatal_;
}

}  // namespace plimsoll
