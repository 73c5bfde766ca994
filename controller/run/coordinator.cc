#include "controller/run/coordinator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/run/run_records.h"

namespace plimsoll {
namespace {

constexpr int64_t kShortestLeadNs = 50 * kNsPerMs;
// How often a run asks whether it has its turn.
constexpr int64_t kAskForTurnNs = 20 * kNsPerMs;

std::vector<v1::LogWorkload> WorkloadsOf(const std::vector<v1::HostPlan>& plans) {
  std::vector<v1::LogWorkload> workloads;
  for (const v1::HostPlan& plan : plans) workloads.push_back(plan.log().workload());
  return workloads;
}

}  // namespace

Coordinator::Coordinator(Options options)
    : options_(std::move(options)),
      steps_(options_.steps),
      clock_(*options_.clock),
      fleet_(*options_.fleet),
      log_(*options_.log),
      driver_({.fleet = options_.fleet,
               .events = options_.events,
               .clock = options_.clock,
               .course = this,
               .lease_ns = options_.plan.lease_ns(),
               .hang_limit_ns = options_.plan.hang_limit_ns(),
               .beside_key = options_.beside_key}),
      preparation_({.fleet = options_.fleet,
                    .driver = &driver_,
                    .plans = options_.host_plans,
                    .workloads = WorkloadsOf(options_.host_plans),
                    .pattern = options_.pattern,
                    .must_stop = [this] { return StoppedByGuard(); }}),
      parts_(fleet_.size()),
      trace_limit_(options_.plan.trace_limit_bytes()),
      read_backs_(options_.log) {}

bool Coordinator::All(const std::function<bool(const Host&)>& condition) const {
  return std::all_of(fleet_.hosts().begin(), fleet_.hosts().end(), [&](const auto& host) { return condition(*host); });
}

bool Coordinator::AllThat(InStep phase, const std::function<bool(const Host&, const StepPart&)>& condition) const {
  return All([&](const Host& host) { return !Is(host, phase) || condition(host, parts_[host.index]); });
}

void Coordinator::LeaveStep() {
  for (StepPart& part : parts_) part.phase = InStep::kNot;
}

void Coordinator::Send(Host& host, v1::ControllerMessage message) {
  host.client->Send(std::move(message));
}

std::optional<Failure> Coordinator::Run() {
  AppendRunBegin(options_.plan, options_.host_plans, options_.steps, options_.controller, clock_, fleet_, log_);
  for (const std::string& note : options_.notes) log_.Note(note);
  for (auto& host : fleet_.hosts()) {
    for (const v1::LogQueueManager& qm : options_.host_plans[host->index].log().queue_managers()) {
      host->qm_names.push_back(qm.name());
    }
    for (const std::string& name : options_.host_plans[host->index].watch().watch().queue_managers()) {
      host->qm_names.push_back(name);
    }
  }
  options_.feed->Preparing();
  const MonotonicNs preparing_since = clock_.Now();
  std::optional<Failure> failure = preparation_.Run();
  preparing_ns_ = clock_.Now() - preparing_since;
  if (!failure.has_value()) Settle();
  std::string cut_short;
  bool measured = false;
  for (uint32_t step = 0; !failure.has_value() && !left() && HasStep(step); ++step) {
    if (const std::string why = MayNotBegin(step); !why.empty()) {
      failure = Failure{Exit::kInconclusive, {absl::StrCat("step ", step + 1, " was not begun: ", why)}};
    } else {
      failure = RunStep(step);
    }
    if (failure.has_value() && measured) {
      // What earlier steps measured is worth its report.
      cut_short = failure->lines.front();
      failure.reset();
      break;
    }
    measured = true;
    cut_short = MustStop();
    if (!cut_short.empty()) break;
  }
  if (left()) return failure;
  if (options_.turn && !measured && !failure.has_value())
    failure = Failure{Exit::kInconclusive, {"no step was measured"}};
  // It may have come while the next step was looked for.
  if (options_.next_step && cut_short.empty()) cut_short = MustStop();
  // A step counts where each host's clock is known to its end. On a slow path the answer waits behind the results.
  const bool probed = measured && cut_short.empty();
  if (probed) AwaitProbes(1, options_.plan.hang_limit_ns(), [this] { return !MustStop().empty(); });
  ReleaseAll(probed ? driver_.ProbesAtEnd() : SessionDriver::kBurstProbes);
  if (options_.guard != nullptr) {
    for (const std::string& note : options_.guard->Notes(clock_.Now())) log_.Note(note);
  }
  AppendRunEnd(cut_short, fleet_, log_);
  return failure;
}

void Coordinator::Settle() {
  if (options_.plan.settle_ns() <= 0) return;
  options_.feed->Settling(clock_.Now(), options_.plan.settle_ns());
  Pause(options_.plan.settle_ns());
  options_.feed->StepEnds();
}

std::string Coordinator::MustStop() const {
  if (driver_.interrupted()) return "interrupted";
  if (std::string why = StoppedByGuard(); !why.empty()) return why;
  if (!trouble_) return "";
  const bool any_left = !All([](const Host& host) { return host.lost() || host.fault.has_value(); });
  if (!any_left) return "no host remains";
  if (options_.plan.on_host_loss() == v1::HOST_LOSS_POLICY_CONTINUE) return "";
  for (const auto& host : fleet_.hosts()) {
    if (host->lost()) return absl::StrCat("host ", host->label, " was lost (--on-host-loss abort)");
    if (host->fault.has_value()) return absl::StrCat("host ", host->label, " failed: ", host->fault->message());
  }
  return "";
}

bool Coordinator::StepIsDone() const {
  return AllThat(InStep::kRunning, [](const Host&, const StepPart& part) { return part.done; });
}

MonotonicNs Coordinator::AwaitProbes(int probes, int64_t patience_ns, const Condition& give_up) {
  const MonotonicNs asked = clock_.Now();
  for (auto& host : fleet_.hosts()) {
    if (host->phase == Host::Phase::kReady) SessionDriver::Probe(*host, probes);
  }
  PumpUntil([&] {
    return give_up() || clock_.Now() >= asked + patience_ns ||
           All([&](const Host& host) { return host.phase != Host::Phase::kReady || host.last_probed >= asked; });
  });
  return asked;
}

void Coordinator::AskClocks() {
  // Each of the exchanges, which follow one another, may take as long as a host may be silent.
  const int64_t patience_ns = SessionDriver::kBurstProbes * options_.plan.lease_ns();
  const MonotonicNs asked =
      AwaitProbes(SessionDriver::kBurstProbes, patience_ns, [this] { return !MustStop().empty(); });
  for (auto& host : fleet_.hosts()) {
    if (left() || driver_.interrupted() || host->phase != Host::Phase::kReady) continue;
    if (host->last_probed < asked) {
      // No host is left out silently: one whose clock is not known cannot be started with the others.
      if (clock_.Now() >= asked + patience_ns) {
        Lose(*host, absl::StrCat("no answer to clock probes for ", FormatDuration(patience_ns)));
      }
    } else if (!host->fault.has_value() && host->clock.empty()) {
      // Neither is one whose moments cannot be mapped: its figures would be missed.
      Lose(*host, "its clock readings contradict each other");
    }
  }
}

void Coordinator::AwaitReports(uint32_t step) {
  // With what is asked now the clocks are known around the end of the step before.
  AskClocks();
  v1::JournalRecord record;
  record.mutable_step_ahead()->set_step(step);
  log_.Append(std::move(record));
  // The report of a large step takes seconds of this machine's processors. Leases are kept meanwhile.
  const int64_t patience_ns = std::min(driver_.heartbeat_period_ns() / 2, 100 * kNsPerMs);
  while (!left() && MustStop().empty() && !log_.AnalyzerWithin(patience_ns)) Pause(patience_ns);
}

Coordinator::ArmResult Coordinator::ArmAll(uint32_t step, int64_t lead_times) {
  // Fresh probes keep the error of each host's start time small.
  AskClocks();
  if (left() || !MustStop().empty()) return ArmResult::kMustStop;
  int64_t worst_round_trip_ns = 0;
  for (const auto& host : fleet_.hosts()) {
    if (host->phase == Host::Phase::kReady) {
      worst_round_trip_ns = std::max(worst_round_trip_ns, host->worst_round_trip_ns);
    }
  }
  const MonotonicNs start = clock_.Now() + lead_times * std::max(kShortestLeadNs, 10 * worst_round_trip_ns);
  driver_.ProbeAround(start);
  v1::JournalRecord record;
  v1::StepBegin& begin = *record.mutable_step_begin();
  begin.set_step(step);
  begin.set_start_ns(start.value);
  if (step >= options_.steps.size()) *begin.mutable_added() = steps_[step];
  if (options_.fold && FoldsFrames(options_.plan, steps_[step], *options_.fold)) *begin.mutable_fold() = *options_.fold;
  hold_ = true;
  held_.clear();
  for (auto& host : fleet_.hosts()) {
    // One without a writer in the step (the plan has it down, or it is a standby only) takes no part in it.
    const bool writes =
        AnyWrites(options_.host_plans[host->index].log(), static_cast<uint32_t>(host->index), steps_[step]);
    if (host->phase != Host::Phase::kReady || host->fault.has_value() || host->clock.empty() || !writes) {
      begin.add_host_start_ns(0);
      continue;
    }
    parts_[host->index] = StepPart();
    parts_[host->index].phase = InStep::kArmed;
    v1::ControllerMessage message;
    message.mutable_arm()->set_step(step);
    message.mutable_arm()->set_start_ns(host->clock.ToRemote(start.value));
    begin.add_host_start_ns(message.arm().start_ns());
    Send(*host, std::move(message));
  }
  PumpUntil([&] {
    return !MustStop().empty() ||
           AllThat(InStep::kArmed, [](const Host&, const StepPart& part) { return part.armed.has_value(); });
  });
  if (left()) return ArmResult::kMustStop;
  const bool all_in_time =
      AllThat(InStep::kArmed, [](const Host&, const StepPart& part) { return part.armed.has_value() && !part.late(); });
  if (!MustStop().empty() || !all_in_time) {
    DisarmAll();
    return MustStop().empty() ? ArmResult::kLate : ArmResult::kMustStop;
  }
  step_ = static_cast<int32_t>(step);
  step_end_ = start + steps_[step].warmup_ns() + steps_[step].duration_ns();
  log_.Append(std::move(record));
  hold_ = false;
  for (auto& host : fleet_.hosts()) {
    if (Is(*host, InStep::kArmed)) parts_[host->index].phase = InStep::kRunning;
  }
  for (auto& [index, message] : held_) OnMessage(fleet_.host(index), message);
  held_.clear();
  return ArmResult::kArmed;
}

void Coordinator::DisarmAll() {
  stopping_ = true;
  // Hosts that were armed are stopped, and what they may have written is not counted.
  for (auto& host : fleet_.hosts()) {
    if (!Is(*host, InStep::kArmed)) continue;
    v1::ControllerMessage message;
    message.mutable_stop()->set_reason("not every host could start in time");
    // One that has not answered yet is stopped too: it may have been armed in time.
    if (!parts_[host->index].late()) Send(*host, std::move(message));
  }
  PumpUntil([this] {
    return AllThat(InStep::kArmed, [](const Host&, const StepPart& part) { return part.done || part.late(); });
  });
  LeaveStep();
  stopping_ = false;
  hold_ = false;
  held_.clear();
}

bool Coordinator::HasStep(uint32_t step) {
  const bool listed = step < steps_.size();
  if (step > 0 && (listed || options_.next_step)) AwaitReports(step);
  if (!AwaitTurn(step)) return false;
  if (listed || !options_.next_step || left() || !MustStop().empty()) return listed;
  const std::optional<v1::LogStep> next = options_.next_step();
  if (!next.has_value()) return false;
  steps_.push_back(*next);
  AddStep(step);
  return true;
}

bool Coordinator::AwaitTurn(uint32_t step) {
  if (!options_.turn) return true;
  // The terminal is the other run's now.
  options_.feed->Waiting();
  Turn turn = Turn::kWait;
  while (!left() && MustStop().empty() && (turn = options_.turn(step)) == Turn::kWait) Pause(kAskForTurnNs);
  return turn != Turn::kNever;
}

void Coordinator::AddStep(uint32_t step) {
  for (auto& host : fleet_.hosts()) {
    if (host->phase != Host::Phase::kReady || host->fault.has_value()) continue;
    v1::Command command;
    command.mutable_add_step()->set_step(step);
    *command.mutable_add_step()->mutable_spec() = steps_[step];
    adding_[host->index] = SendCommand(*host, std::move(command));
  }
  PumpUntil([this] { return adding_.empty() || !MustStop().empty(); });
  adding_.clear();
}

std::optional<Failure> Coordinator::RunStep(uint32_t step) {
  ArmResult armed = ArmAll(step, 1);
  for (int64_t times = 4; armed == ArmResult::kLate && times <= kLongestLeadTimes; times *= 4) {
    log_.Note(absl::StrCat("step ", step + 1, ": a host received its start time too late; all hosts were armed again"));
    armed = ArmAll(step, times);
  }
  if (armed == ArmResult::kLate) {
    Failure failure{Exit::kCannotRun, {}};
    for (const auto& host : fleet_.hosts()) {
      if (parts_[host->index].late()) {
        failure.lines.push_back(absl::StrCat(host->label, ": got its start too late four times (round trip ",
                                             FormatDuration(host->worst_round_trip_ns / kNsPerUs * kNsPerUs),
                                             "): is the host or the network overloaded?"));
      }
    }
    return failure;
  }
  if (armed == ArmResult::kMustStop) return Failure{Exit::kInconclusive, {MustStop()}};

  const auto round_steps = static_cast<uint32_t>(options_.plan.until_steady_ns() > 0 ? options_.steps.size() : 0);
  options_.feed->StepStarts(step, static_cast<uint32_t>(steps_.size()), round_steps, steps_[step], clock_.Now());
  if (options_.disturber != nullptr) options_.disturber->Begin(step_end_ - steps_[step].duration_ns(), step_end_);
  std::string cut_short;
  const bool stay = PumpUntil([&] {
    cut_short = MustStop();
    return !cut_short.empty() || StepIsDone();
  });
  if (stay && !cut_short.empty() && !StepIsDone()) {
    StopAll(cut_short);
    // Writes that hang because of a disturbance may end only when it is undone.
    if (options_.disturber != nullptr) options_.disturber->Finish();
    options_.feed->Draining(cut_short);
    PumpUntil([this] { return StepIsDone(); });
  }
  options_.feed->StepMeasured(clock_.Now(), fleet_.hosts());
  options_.feed->StepEnds();
  // An agent may end a step by itself (its lease ran out) before it says what is wrong, or its session breaks.
  if (!stopping_) AwaitReasons();
  // A host that failed ends the step for itself alone, as one that is lost does.
  const bool others_went_on =
      options_.plan.on_host_loss() == v1::HOST_LOSS_POLICY_CONTINUE &&
      !AllThat(InStep::kRunning, [](const Host&, const StepPart& part) { return !part.stopped.empty(); });
  for (const auto& host : fleet_.hosts()) {
    const std::string& stopped = parts_[host->index].stopped;
    if (!cut_short.empty() || !Is(*host, InStep::kRunning) || stopped.empty()) continue;
    if (!others_went_on || !host->fault.has_value()) cut_short = absl::StrCat(host->label, ": ", stopped);
  }
  v1::JournalRecord record;
  record.mutable_step_end()->set_step(step);
  record.mutable_step_end()->set_cut_short(cut_short);
  log_.Append(std::move(record));
  LeaveStep();
  step_ = -1;
  stopping_ = false;
  EndDisturbances(step);
  return std::nullopt;
}

void Coordinator::AwaitReasons() {
  driver_.PumpFor(options_.plan.lease_ns(), [this] {
    return driver_.interrupted() || AllThat(InStep::kRunning, [](const Host& host, const StepPart& part) {
             return part.stopped.empty() || host.fault.has_value();
           });
  });
}

void Coordinator::StopAll(const std::string& reason) {
  stopping_ = true;
  v1::ControllerMessage message;
  message.mutable_stop()->set_reason(reason);
  for (auto& host : fleet_.hosts()) {
    if (Is(*host, InStep::kRunning) && !parts_[host->index].done) Send(*host, message);
  }
}

void Coordinator::ReleaseAll(int probes) {
  for (auto& host : fleet_.hosts()) {
    if (host->lost() || host->phase == Host::Phase::kGone) continue;
    SessionDriver::Release(*host, options_.plan.keep_files(), probes);
  }
  if (options_.plan.has_watch()) {
    options_.feed->Releasing("detaching");
  } else {
    options_.feed->Releasing();
  }
  PumpUntil([this] { return All([](const Host& host) { return host.lost() || host.phase == Host::Phase::kGone; }); });
  driver_.Close();
}

namespace {

// What the run waits for.
const char* WhileIt(Host::Phase phase, bool watches) {
  switch (phase) {
    case Host::Phase::kPlacing:
    case Host::Phase::kLooking:
    case Host::Phase::kFilling:
      return "it prepared";
    case Host::Phase::kPlaced:
      return "it received the recording";
    case Host::Phase::kReleasing:
      return watches ? "it detached" : "its files were removed";
    default:
      return "waiting for the step's last writes";
  }
}

}  // namespace

bool Coordinator::Full() {
  log_.Tend();
  return log_.full();
}

void Coordinator::Note(const std::string& text) {
  log_.Note(text);
}

MonotonicNs Coordinator::next_update() const {
  const MonotonicNs of_feed = options_.feed->next_update();
  return options_.disturber == nullptr ? of_feed : std::min(of_feed, options_.disturber->next_update());
}

void Coordinator::Update(MonotonicNs now) {
  if (options_.disturber != nullptr) options_.disturber->Update(now);
  if (now >= options_.feed->next_update()) options_.feed->Update(now, fleet_.hosts());
}

std::string Coordinator::Awaited(const Host& host, MonotonicNs now) const {
  const StepPart& part = parts_[host.index];
  if (adding_.contains(host.index)) return "it took another step";
  if (read_backs_.Awaits(host)) return "it read its files back";
  bool awaited = false;
  switch (host.phase) {
    case Host::Phase::kPlacing:
    case Host::Phase::kLooking:
    case Host::Phase::kFilling:
    case Host::Phase::kReleasing:
      awaited = true;
      break;
    case Host::Phase::kPlaced:
      awaited = host.unsent_chunks > 0;
      break;
    default:
      if (Is(host, InStep::kArmed)) awaited = stopping_ ? !part.done && !part.late() : !part.armed.has_value();
      // Writes that hang because of a disturbance end only after it is undone.
      if (Is(host, InStep::kRunning) && !IsUndoing()) awaited = !part.done && (stopping_ || now >= step_end_);
      break;
  }
  return awaited ? WhileIt(host.phase, options_.plan.has_watch()) : "";
}

uint64_t Coordinator::SendCommand(Host& host, v1::Command command) {
  const uint64_t id = driver_.SendCommand(host, command);
  command.set_id(id);
  v1::JournalRecord record;
  record.mutable_host_command()->set_host(static_cast<uint32_t>(host.index));
  *record.mutable_host_command()->mutable_command() = std::move(command);
  log_.Append(std::move(record));
  return id;
}

void Coordinator::OnProbes(Host& host, v1::ProbeBatch& probes) {
  v1::JournalRecord record;
  probes.set_host(static_cast<uint32_t>(host.index));
  *record.mutable_probes() = std::move(probes);
  log_.Append(std::move(record));
}

void Coordinator::OnMessage(Host& host, v1::AgentMessage& message) {
  if (hold_ && (message.has_frames() || message.has_step_done())) {
    parts_[host.index].done |= message.has_step_done();
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
      preparation_.OnPlaced(host, *message.mutable_placed());
      return;
    case v1::AgentMessage::kPrepared:
      if (host.phase != Host::Phase::kFilling) return;
      host.phase = Host::Phase::kReady;
      record.mutable_host_prepared()->set_host(index);
      *record.mutable_host_prepared()->mutable_prepared() = std::move(*message.mutable_prepared());
      log_.Append(std::move(record));
      return;
    case v1::AgentMessage::kArmed:
      parts_[host.index].armed = std::move(*message.mutable_armed());
      return;
    case v1::AgentMessage::kFrames:
      if (step_ >= 0) LogFrames(host, *message.mutable_frames());
      return;
    case v1::AgentMessage::kStepDone:
      parts_[host.index].done = true;
      parts_[host.index].stopped = message.step_done().stopped();
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
    case v1::AgentMessage::kReadBack:
      return read_backs_.OnReadBack(host, *message.mutable_read_back());
    case v1::AgentMessage::kReleased:
      host.released = std::move(*message.mutable_released());
      return;
    case v1::AgentMessage::kCommandDone:
      OnCommandDone(host, message.command_done());
      read_backs_.OnCommandDone(host, message.command_done());
      if (message.command_done().code() != 0) {
        log_.Note(absl::StrCat(host.label, ": refused a command: ", message.command_done().message()));
      }
      record.mutable_host_command_done()->set_host(index);
      *record.mutable_host_command_done()->mutable_done() = std::move(*message.mutable_command_done());
      log_.Append(std::move(record));
      return;
    default:
      return;  // what other kinds of work send, and a newer agent's message that this version does not know
  }
}

void Coordinator::OnCommandDone(Host& host, const v1::CommandDone& done) {
  const auto adding = adding_.find(host.index);
  if (adding == adding_.end() || adding->second != done.id()) return;
  adding_.erase(adding);
  if (done.code() != 0) Lose(host, absl::StrCat("the agent refused a step: ", done.message()));
}

void Coordinator::LogFrames(Host& host, v1::FrameBatch& frames) {
  if (trace_limit_.Take(frames)) StopTraces();
  v1::JournalRecord record;
  v1::HostFrames& kept = *record.mutable_frames();
  kept.set_host(static_cast<uint32_t>(host.index));
  kept.mutable_frames()->Swap(frames.mutable_frames());
  if (frames.has_sample()) kept.mutable_sample()->Swap(frames.mutable_sample());
  log_.Append(std::move(record));
}

void Coordinator::StopTraces() {
  // One moment for all, far enough ahead for the message to reach every host.
  const MonotonicNs moment = clock_.Now() + kNsPerSecond;
  for (auto& host : fleet_.hosts()) {
    if (host->lost() || host->clock.empty()) continue;
    v1::Command command;
    command.mutable_stop_trace()->set_at_ns(host->clock.ToRemote(moment.value));
    SendCommand(*host, std::move(command));
  }
  log_.Note(absl::StrCat("traces reached --trace-limit (", FormatSizeForPeople(options_.plan.trace_limit_bytes()),
                         ") and stopped on all hosts at one moment; the histograms continue"));
}

void Coordinator::OnClosed(Host& host, const absl::Status& status) {
  if (host.phase == Host::Phase::kReleasing) {
    // An agent that was still preparing ends its session as cancelled; it has cleaned up all the same.
    if (!host.released.has_value() && !status.ok()) {
      const bool watches = options_.plan.has_watch();
      log_.Note(absl::StrCat(host.label, ": the session ended before the agent reported that ",
                             watches ? "it had detached (" : "its files are removed (", std::string(status.message()),
                             watches ? "); it detaches on its own" : "); it removes them on its own"));
    }
    host.phase = Host::Phase::kGone;
    return;
  }
  const std::string why = status.ok() ? "the agent ended the session" : std::string(status.message());
  // An agent that is busy refuses the session with that word; a message of its own that is too large breaks the
  // session.
  if (status.code() == absl::StatusCode::kResourceExhausted && absl::StartsWith(why, "busy with ")) {
    Lose(host, absl::StrCat("the agent is ", why));
  } else {
    Lose(host, absl::StrCat("the session broke: ", why.empty() ? "connection lost" : why));
  }
}

void Coordinator::OnLost(Host& host, const std::string& reason) {
  trouble_ = true;
  adding_.erase(host.index);
  read_backs_.OnLost(host);
  v1::JournalRecord record;
  record.mutable_host_lost()->set_host(static_cast<uint32_t>(host.index));
  record.mutable_host_lost()->set_reason(reason);
  record.mutable_host_lost()->set_step(step_);
  record.mutable_host_lost()->mutable_in_flight()->Assign(host.in_flight.begin(), host.in_flight.end());
  log_.Append(std::move(record));
  options_.feed->Warn(absl::StrCat("host ", host.label, " is lost: ", reason));
  options_.feed->Warn(CleanupAdvice(host.Joined(options_.host_plans[host.index])));
}

}  // namespace plimsoll
