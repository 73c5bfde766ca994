#include "controller/run/session_driver.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr int64_t kShortestProbePeriodNs = 100 * kNsPerMs;
constexpr int64_t kLongestProbePeriodNs = kNsPerSecond;
constexpr int64_t kProbePeriodPerHostNs = 10 * kNsPerMs;
// Around a start that all hosts share the clocks are probed so long before and after it: its error is that of these
// probes. In the first moments after it every host's writers begin.
constexpr int64_t kAroundStartNs[] = {-18 * kNsPerMs, -6 * kNsPerMs, 4 * kNsPerMs, 16 * kNsPerMs};
constexpr int kProbesAroundStart = 4;
constexpr int kProbesAtEndOfMany = 3;
// Round trips up to this long never count as delayed. A host is probed again at most kMostProbesAgain times per period,
// so that a slow network is not flooded.
constexpr int64_t kShortestDelayNs = kNsPerMs;
constexpr int64_t kDelayOverFastest = 4;
constexpr int kMostProbesAgain = 3;
// All hosts together are probed again no more often than this in a period: where answers of many hosts are late, the
// controller itself is busy, and more probes would make it busier.
constexpr int kMostProbesAgainOfAll = 48;
// An agent whose network is cut has had its last message up to one heartbeat before: so much of the lease is lost.
constexpr int64_t kHeartbeatsPerLease = 10;
// While nothing is taken from the queue.
constexpr int64_t kLookAgainNs = 10 * kNsPerMs;
// Most bytes of the writes in flight that a host reports; 4,096 writers have a quarter of it.
constexpr size_t kMostInFlightBytes = size_t{4} << 20;

}  // namespace

SessionDriver::SessionDriver(Options options)
    : options_(std::move(options)),
      clock_(*options_.clock),
      fleet_(*options_.fleet),
      course_(*options_.course),
      renewals_(fleet_.size()),
      probed_again_(fleet_.size()),
      heartbeat_period_ns_(std::min(options_.lease_ns / kHeartbeatsPerLease, kNsPerSecond)),
      probe_period_ns_(std::clamp(static_cast<int64_t>(fleet_.size()) * kProbePeriodPerHostNs, kShortestProbePeriodNs,
                                  kLongestProbePeriodNs)) {}

void SessionDriver::Open(Host& host, const v1::HostPlan& plan) {
  const MonotonicNs now = clock_.Now();
  if (!open_) {
    open_ = true;
    timers_ran_ = now;
    next_heartbeat_ = now + heartbeat_period_ns_;
    next_probe_ = now + probe_period_ns_;
    next_silence_ = now + options_.lease_ns;
  }
  renewals_[host.index].set_run_id(plan.run_id());
  renewals_[host.index].set_run_token(plan.run_token());
  host.phase = Host::Phase::kPlacing;
  host.last_message = now;
  host.last_progress = now;
  host.answered_heartbeat = heartbeat_id_;
  host.client->OpenSession();
  v1::ControllerMessage message;
  message.mutable_prepare()->set_protocol_version(kProtocolVersion);
  *message.mutable_prepare()->mutable_plan() = plan;
  message.mutable_prepare()->set_beside_key(options_.beside_key);
  host.client->Send(std::move(message));
}

bool SessionDriver::PumpUntil(const Condition& done) {
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
    // Timers look at silence: only when everything that arrived has been processed.
    if (pending_.empty()) RunTimers(clock_.Now());
  }
}

bool SessionDriver::PumpFor(int64_t pause_ns, const Condition& done) {
  const MonotonicNs end = clock_.Now() + pause_ns;
  pause_end_ = end;
  const bool stayed = PumpUntil([&] { return done() || clock_.Now() >= end; });
  pause_end_.reset();
  return stayed;
}

void SessionDriver::TakeEvents() {
  if (course_.Full()) {
    // What comes meanwhile stays in the queue; leases are kept, and it is looked again soon.
    if (!unread_since_.has_value()) unread_since_ = clock_.Now();
    options_.events->WaitUntil(std::min(NextTimer(), clock_.Now() + kLookAgainNs));
    return;
  }
  if (unread_since_.has_value()) {
    const MonotonicNs now = clock_.Now();
    // No message or progress was seen, because no host was read from.
    for (auto& host : fleet_.hosts()) {
      host->last_message = std::max(host->last_message, now);
      host->last_progress = std::max(host->last_progress, now);
      host->answered_heartbeat = heartbeat_id_;
    }
    course_.Note(absl::StrCat("what the hosts sent was not read for ",
                              FormatDuration((now - *unread_since_) / kNsPerMs * kNsPerMs),
                              ": the journal's disk or the analysis did not keep up"));
    unread_since_.reset();
  }
  for (Event& event : options_.events->TakeUntil(NextTimer())) pending_.push_back(std::move(event));
}

MonotonicNs SessionDriver::NextTimer() const {
  MonotonicNs next = course_.next_update();
  if (open_) {
    next = std::min({next, next_heartbeat_, next_probe_});
    if (!around_start_.empty()) next = std::min(next, around_start_.front());
    if (!unread_since_.has_value()) next = std::min(next, next_silence_);
  }
  if (pause_end_.has_value()) next = std::min(next, *pause_end_);
  return next;
}

void SessionDriver::AllowForOwnStandstill(MonotonicNs now) {
  const MonotonicNs before = std::exchange(timers_ran_, now);
  if (!open_ || now - before < options_.lease_ns / 2) return;
  // The hosts' messages from meanwhile are still unread; if their leases expired, they report it.
  course_.Note(
      absl::StrCat("the controller itself was suspended for ", FormatDuration((now - before) / kNsPerMs * kNsPerMs)));
  for (auto& host : fleet_.hosts()) host->last_message = std::max(host->last_message, now);
}

void SessionDriver::RunTimers(MonotonicNs now) {
  AllowForOwnStandstill(now);
  if (now >= course_.next_update()) course_.Update(now);
  if (!open_) return;
  if (now >= next_heartbeat_) {
    next_heartbeat_ = now + heartbeat_period_ns_;
    if (!unread_since_.has_value()) {
      RenewDeafHosts();
      LoseHungHosts(now);
    }
    SendHeartbeats();
  }
  if (now >= next_silence_ && !unread_since_.has_value()) LoseSilentHosts(now);
  if (!around_start_.empty() && now >= around_start_.front()) {
    while (!around_start_.empty() && now >= around_start_.front()) around_start_.pop_front();
    for (auto& host : fleet_.hosts()) {
      if (host->in_session() && !host->probing) Probe(*host, kProbesAroundStart);
    }
  }
  if (now >= next_probe_) {
    next_probe_ = now + probe_period_ns_;
    all_probed_again_ = 0;
    for (auto& host : fleet_.hosts()) {
      if (!host->in_session() || host->probing) continue;
      probed_again_[host->index] = 0;
      Probe(*host, 1);
    }
  }
}

void SessionDriver::ProbeAgainIfDelayed(Host& host, const v1::ProbeBatch& probes) {
  int64_t fastest_ns = INT64_MAX;
  for (const v1::ProbeResult& probe : probes.probes()) {
    const int64_t round_trip_ns = probe.received_ns() - probe.sent_ns();
    // For how long the agent held the probe: untrusted, so that it may not fit.
    int64_t held_ns = 0;
    if (__builtin_sub_overflow(probe.agent_sent_ns(), probe.agent_received_ns(), &held_ns)) held_ns = 0;
    fastest_ns =
        std::min(fastest_ns, round_trip_ns - std::clamp<int64_t>(held_ns, 0, std::max<int64_t>(round_trip_ns, 0)));
  }
  if (probes.probes().empty() ||
      fastest_ns <= std::max(kShortestDelayNs, kDelayOverFastest * host.clock.MinRoundTripNs())) {
    return;
  }
  if (!host.in_session() || host.phase == Host::Phase::kReleasing) return;
  if (probed_again_[host.index] == kMostProbesAgain || all_probed_again_ == kMostProbesAgainOfAll) return;
  ++probed_again_[host.index];
  ++all_probed_again_;
  Probe(host, 1);
}

void SessionDriver::ProbeAround(MonotonicNs start) {
  around_start_.clear();
  if (probe_period_ns_ > kShortestProbePeriodNs) return;
  for (const int64_t offset_ns : kAroundStartNs) around_start_.push_back(start + offset_ns);
}

void SessionDriver::Probe(Host& host, int probes) {
  host.probing = true;
  host.client->Probe(probes);
}

int SessionDriver::ProbesAtEnd() const {
  return probe_period_ns_ > kShortestProbePeriodNs ? kProbesAtEndOfMany : kBurstProbes;
}

void SessionDriver::Release(Host& host, bool keep_files, int probes) {
  if (host.phase == Host::Phase::kFilling) {
    v1::ControllerMessage stop;
    stop.mutable_stop()->set_reason("timed out");
    host.client->Send(std::move(stop));
  }
  host.phase = Host::Phase::kReleasing;
  Probe(host, probes);
  v1::ControllerMessage message;
  message.mutable_release()->set_keep_files(keep_files);
  host.client->Send(std::move(message));
}

uint64_t SessionDriver::SendCommand(Host& host, v1::Command command) {
  v1::ControllerMessage message;
  *message.mutable_command() = std::move(command);
  message.mutable_command()->set_id(++command_id_);
  host.client->Send(std::move(message));
  return command_id_;
}

void SessionDriver::SendChunk(Host& host, v1::PatternChunk chunk) {
  v1::ControllerMessage message;
  *message.mutable_pattern_chunk() = std::move(chunk);
  ++host.unsent_chunks;
  ++unsent_chunks_;
  host.client->Send(std::move(message));
}

void SessionDriver::ForgetChunks(Host& host, size_t chunks) {
  const size_t forgotten = std::min(host.unsent_chunks, chunks);
  host.unsent_chunks -= forgotten;
  unsent_chunks_ -= forgotten;
}

void SessionDriver::SendHeartbeats() {
  v1::ControllerMessage message;
  message.mutable_heartbeat()->set_id(++heartbeat_id_);
  for (auto& host : fleet_.hosts()) {
    if (host->in_session()) host->client->Send(message);
  }
}

void SessionDriver::LoseSilentHosts(MonotonicNs now) {
  MonotonicNs longest_silent = now;
  for (auto& host : fleet_.hosts()) {
    if (!host->in_session()) continue;
    // Events were taken just before: silence is the host's, unless this process itself was suspended for as long.
    if (now - host->last_message >= options_.lease_ns) {
      Lose(*host, absl::StrCat("lease expired: no message for ", FormatDuration(options_.lease_ns)));
    } else {
      longest_silent = std::min(longest_silent, host->last_message);
    }
  }
  // A host that sends something meanwhile is silent later: none can have been silent for a lease before that.
  next_silence_ = longest_silent + options_.lease_ns;
}

void SessionDriver::RenewDeafHosts() {
  for (auto& host : fleet_.hosts()) {
    // Each heartbeat is answered: two that were not are more than a message that took its time.
    if (!host->in_session() || heartbeat_id_ - host->answered_heartbeat < 2) continue;
    host->client->Renew(renewals_[host->index], options_.lease_ns);
  }
}

void SessionDriver::LoseHungHosts(MonotonicNs now) {
  for (auto& host : fleet_.hosts()) {
    const std::string awaited = host->in_session() ? course_.Awaited(*host, now) : "";
    if (awaited.empty()) {
      host->awaited_since.reset();
      continue;
    }
    if (!host->awaited_since.has_value()) host->awaited_since = now;
    const MonotonicNs since = std::max(*host->awaited_since, host->last_progress);
    if (now - since < options_.hang_limit_ns) continue;
    std::string reason =
        absl::StrCat("no progress for ", FormatDuration(options_.hang_limit_ns), " (--hang-limit) while ", awaited);
    for (const v1::InFlight& write : host->in_flight) {
      // What is known of the write is as old as the last answer.
      const int64_t age_ns = host->clock.empty() ? static_cast<int64_t>(write.age_ns())
                                                 : host->clock.ToRemote(now.value) - write.since_ns();
      absl::StrAppend(&reason, "; ", InFlightText(write), " since ", FormatUtc(clock_.WallNow().value - age_ns));
    }
    Lose(*host, reason);
  }
}

bool SessionDriver::ShowsProgress(Host& host, const v1::AgentMessage& message) {
  if (message.has_prepare_progress()) return message.prepare_progress().done_bytes() != host.prepare_done_bytes;
  if (message.has_frames()) {
    // Frames of a writer that hangs continue, and are empty.
    const auto& frames = message.frames().frames();
    return std::ranges::any_of(frames, [](const v1::Frame& frame) { return frame.latency().count() > 0; });
  }
  if (!message.has_alive()) return true;
  const bool progressed = message.alive().progress() != host.progress;
  host.progress = message.alive().progress();
  return progressed;
}

void SessionDriver::Handle(Event& event) {
  Host& host = fleet_.host(event.host);
  if (std::holds_alternative<Renewed>(event.body)) {
    host.last_message = std::max(host.last_message, event.time);
    host.answered_heartbeat = heartbeat_id_;
  } else if (auto* message = std::get_if<v1::AgentMessage>(&event.body)) {
    host.last_message = std::max(host.last_message, event.time);
    if (ShowsProgress(host, *message)) host.last_progress = std::max(host.last_progress, event.time);
    if (message->has_alive()) {
      host.answered_heartbeat = std::max(host.answered_heartbeat, message->alive().id());
      host.in_flight.clear();
      size_t bytes = 0;
      for (v1::InFlight& write : *message->mutable_alive()->mutable_in_flight()) {
        bytes += write.SpaceUsedLong();
        if (bytes > kMostInFlightBytes) break;
        host.in_flight.push_back(std::move(write));
      }
    } else if (message->has_prepare_progress()) {
      host.prepare_done_bytes = message->prepare_progress().done_bytes();
      host.prepare_total_bytes = message->prepare_progress().total_bytes();
    }
    course_.OnMessage(host, *message);
  } else if (auto* closed = std::get_if<SessionClosed>(&event.body)) {
    if (host.in_session()) course_.OnClosed(host, closed->status);
  } else if (std::holds_alternative<ChunkSent>(event.body)) {
    host.last_progress = std::max(host.last_progress, event.time);
    ForgetChunks(host, 1);
  } else if (auto* probes = std::get_if<v1::ProbeBatch>(&event.body)) {
    fleet_.AbsorbProbes(host, *probes);
    ProbeAgainIfDelayed(host, *probes);
    if (probes->probes_size() > 0) course_.OnProbes(host, *probes);
  }
}

void SessionDriver::Lose(Host& host, const std::string& reason) {
  if (host.lost()) return;
  host.phase = Host::Phase::kLost;
  ForgetChunks(host, host.unsent_chunks);
  course_.OnLost(host, reason);
  // Nothing that comes later belongs to what is known of it; and an agent that lives ends at once.
  host.client->CloseSession();
}

}  // namespace plimsoll
