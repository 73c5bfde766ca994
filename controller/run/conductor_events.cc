// What the conductor does with what comes: events, timers, messages, losses.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/run/conductor.h"

namespace plimsoll {
namespace {

// While nothing is taken from the queue.
constexpr int64_t kLookAgainNs = 10 * kNsPerMs;

// What the run waits for.
const char* Awaited(Host::Phase phase) {
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

// Whether the message shows that the host has got on since the one before.
bool GetsOn(Host& host, const v1::AgentMessage& message) {
  if (message.has_prepare_progress()) return message.prepare_progress().done_bytes() != host.prepare_done_bytes;
  if (message.has_frames()) {
    // Frames of a writer that hangs go on, and are empty.
    const auto& frames = message.frames().frames();
    return std::any_of(frames.begin(), frames.end(),
                       [](const v1::Frame& frame) { return frame.latency().count() > 0; });
  }
  if (!message.has_alive()) return true;
  const bool got_on = message.alive().progress() != host.progress;
  host.progress = message.alive().progress();
  return got_on;
}

}  // namespace

bool Conductor::PumpUntil(const Condition& done) {
  while (true) {
    if (options_.events->interrupts() > 0) interrupted_ = true;
    if (options_.events->interrupts() > 1) {
      left_ = true;
      return false;
    }
    if (done()) return true;
    if (pending_.empty()) TakeEvents();
    if (!pending_.empty()) {
      Handle(pending_.front());
      pending_.pop_front();
    }
    // Timers look at silence: only when everything that came has been heard.
    if (pending_.empty()) RunTimers(clock_.Now());
  }
}

void Conductor::TakeEvents() {
  log_.Tend();
  if (log_.full()) {
    // What comes meanwhile stays in the queue; leases are kept, and it is looked again soon.
    if (!unread_since_.has_value()) unread_since_ = clock_.Now();
    options_.events->WaitUntil(std::min(NextTimer(), clock_.Now() + kLookAgainNs));
    return;
  }
  if (unread_since_.has_value()) {
    const MonotonicNs now = clock_.Now();
    // Nobody was heard, or seen to make progress, since nobody was listened to.
    for (auto& host : fleet_.hosts()) {
      host->last_heard = std::max(host->last_heard, now);
      host->last_progress = std::max(host->last_progress, now);
      host->heard_heartbeat = heartbeat_id_;
    }
    log_.Note(absl::StrCat("what the hosts sent was not read for ",
                           FormatDuration((now - *unread_since_) / kNsPerMs * kNsPerMs),
                           ": the journal's disk or the analysis did not keep up"));
    unread_since_.reset();
  }
  for (Event& event : options_.events->TakeUntil(NextTimer())) pending_.push_back(std::move(event));
}

MonotonicNs Conductor::NextTimer() const {
  MonotonicNs next = options_.progress->next_update();
  if (sessions_open_) {
    next = std::min({next, next_heartbeat_, next_probe_});
    if (!unread_since_.has_value()) next = std::min(next, next_silence_);
  }
  if (pause_end_.has_value()) next = std::min(next, *pause_end_);
  return next;
}

void Conductor::AllowForOwnStandstill(MonotonicNs now) {
  const MonotonicNs before = std::exchange(timers_ran_, now);
  if (!sessions_open_ || now - before < options_.plan.lease_ns() / 2) return;
  // What the hosts said meanwhile is yet to be read; if it is that their leases ran out, they say so.
  log_.Note(
      absl::StrCat("the controller itself stood still for ", FormatDuration((now - before) / kNsPerMs * kNsPerMs)));
  for (auto& host : fleet_.hosts()) host->last_heard = std::max(host->last_heard, now);
}

void Conductor::RunTimers(MonotonicNs now) {
  AllowForOwnStandstill(now);
  if (now >= options_.progress->next_update()) options_.progress->Update(now, fleet_.hosts(), log_.live());
  if (!sessions_open_) return;
  if (now >= next_heartbeat_) {
    next_heartbeat_ = now + heartbeat_period_ns_;
    if (!unread_since_.has_value()) {
      RenewDeafHosts();
      GiveUpHungHosts(now);
    }
    v1::ControllerMessage message;
    message.mutable_heartbeat()->set_id(++heartbeat_id_);
    for (auto& host : fleet_.hosts()) {
      if (host->lost() || host->phase == Host::Phase::kGone) continue;
      Send(*host, message);
    }
  }
  if (now >= next_silence_ && !unread_since_.has_value()) LoseSilentHosts(now);
  if (now >= next_probe_) {
    next_probe_ = now + probe_period_ns_;
    for (auto& host : fleet_.hosts()) {
      if (host->lost() || host->phase == Host::Phase::kGone || host->probing) continue;
      host->probing = true;
      host->client->Probe(1);
    }
  }
}

void Conductor::LoseSilentHosts(MonotonicNs now) {
  const int64_t lease_ns = options_.plan.lease_ns();
  MonotonicNs longest_silent = now;
  for (auto& host : fleet_.hosts()) {
    if (host->lost() || host->phase == Host::Phase::kGone) continue;
    // Events were taken just before: silence is the host's, unless this process itself stood still for so long.
    if (now - host->last_heard >= lease_ns) {
      Lose(*host, absl::StrCat("lease expired: no message for ", FormatDuration(lease_ns)));
    } else {
      longest_silent = std::min(longest_silent, host->last_heard);
    }
  }
  // Whoever is heard meanwhile is silent later: nobody can have been silent for a lease before that.
  next_silence_ = longest_silent + lease_ns;
}

void Conductor::RenewDeafHosts() {
  for (auto& host : fleet_.hosts()) {
    // Each heartbeat is answered: two that were not are more than a message that took its time.
    if (host->lost() || host->phase == Host::Phase::kGone || heartbeat_id_ - host->heard_heartbeat < 2) continue;
    v1::RenewRequest request;
    request.set_run_id(options_.host_plans[host->index].run_id());
    request.set_run_token(options_.host_plans[host->index].run_token());
    host->client->Renew(std::move(request), options_.plan.lease_ns());
  }
}

bool Conductor::Awaits(const Host& host, MonotonicNs now) const {
  const bool late = host.armed.has_value() && host.armed->late();
  switch (host.phase) {
    case Host::Phase::kPlacing:
    case Host::Phase::kLooking:
    case Host::Phase::kFilling:
    case Host::Phase::kReleasing:
      return true;
    case Host::Phase::kArmed:
      return stopping_ ? !host.step_done && !late : !host.armed.has_value();
    case Host::Phase::kRunning:
      return !host.step_done && (stopping_ || now >= step_end_);
    default:
      return false;
  }
}

void Conductor::GiveUpHungHosts(MonotonicNs now) {
  for (auto& host : fleet_.hosts()) {
    if (!Awaits(*host, now)) {
      host->awaited_since.reset();
      continue;
    }
    if (!host->awaited_since.has_value()) host->awaited_since = now;
    const MonotonicNs since = std::max(*host->awaited_since, host->last_progress);
    if (now - since < options_.plan.hang_limit_ns()) continue;
    std::string reason = absl::StrCat("nothing has got on there for ", FormatDuration(options_.plan.hang_limit_ns()),
                                      " (--hang-limit) while ", Awaited(host->phase));
    for (const v1::InFlight& write : host->in_flight) {
      // What was told is as old as the last answer.
      const int64_t age_ns = host->clock.empty() ? static_cast<int64_t>(write.age_ns())
                                                 : host->clock.ToRemote(now.value) - write.since_ns();
      absl::StrAppend(&reason, "; qm", write.qm(), " has been ", write.filling() ? "filling " : "in one write to ",
                      write.path(), " since ", FormatUtc(clock_.WallNow().value - age_ns));
    }
    Lose(*host, reason);
  }
}

void Conductor::Handle(Event& event) {
  Host& host = fleet_.host(event.host);
  if (std::holds_alternative<Renewed>(event.body)) {
    host.last_heard = std::max(host.last_heard, event.time);
    host.heard_heartbeat = heartbeat_id_;
  } else if (auto* message = std::get_if<v1::AgentMessage>(&event.body)) {
    host.last_heard = std::max(host.last_heard, event.time);
    if (GetsOn(host, *message)) host.last_progress = std::max(host.last_progress, event.time);
    HandleMessage(host, *message);
  } else if (auto* closed = std::get_if<SessionClosed>(&event.body)) {
    HandleClosed(host, closed->status);
  } else if (auto* probes = std::get_if<v1::ProbeBatch>(&event.body)) {
    fleet_.AbsorbProbes(host, *probes);
    if (probes->probes_size() == 0) return;
    v1::JournalRecord record;
    probes->set_host(static_cast<uint32_t>(host.index));
    *record.mutable_probes() = std::move(*probes);
    log_.Append(std::move(record));
  }
}

void Conductor::HandleMessage(Host& host, v1::AgentMessage& message) {
  if (hold_ && (message.has_frames() || message.has_step_done())) {
    host.step_done |= message.has_step_done();
    held_.emplace_back(host.index, std::move(message));
    return;
  }
  const auto index = static_cast<uint32_t>(host.index);
  v1::JournalRecord record;
  switch (message.message_case()) {
    case v1::AgentMessage::kPrepareProgress:
      host.prepare_done_bytes = message.prepare_progress().done_bytes();
      host.prepare_total_bytes = message.prepare_progress().total_bytes();
      return;
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
    case v1::AgentMessage::kAlive:
      host.heard_heartbeat = std::max(host.heard_heartbeat, message.alive().id());
      host.in_flight.assign(message.alive().in_flight().begin(), message.alive().in_flight().end());
      return;
    case v1::AgentMessage::MESSAGE_NOT_SET:
      return;  // a newer agent's message that this version does not know
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
    v1::ControllerMessage message;
    message.mutable_stop_trace()->set_at_ns(host->clock.ToRemote(moment.value));
    Send(*host, std::move(message));
  }
  log_.Note(absl::StrCat("traces reached --trace-limit (", FormatSizeForPeople(options_.plan.trace_limit_bytes()),
                         ") and stopped on all hosts at one moment; the histograms go on"));
}

void Conductor::HandleClosed(Host& host, const absl::Status& status) {
  if (host.lost() || host.phase == Host::Phase::kGone) return;
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

void Conductor::Lose(Host& host, const std::string& reason) {
  if (host.lost()) return;
  host.phase = Host::Phase::kLost;
  trouble_ = true;
  v1::JournalRecord record;
  record.mutable_host_lost()->set_host(static_cast<uint32_t>(host.index));
  record.mutable_host_lost()->set_reason(reason);
  record.mutable_host_lost()->set_step(step_);
  record.mutable_host_lost()->mutable_in_flight()->Assign(host.in_flight.begin(), host.in_flight.end());
  log_.Append(std::move(record));
  options_.progress->Warn(absl::StrCat("host ", host.label, " is lost: ", reason));
  // Nothing that comes later belongs to what is known of it; and an agent that lives ends at once.
  host.client->CloseSession();
}

}  // namespace plimsoll
