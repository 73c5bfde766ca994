// What a drill does with what comes, and how it orders and awaits.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/ha/drill.h"
#include "controller/render/json.h"

namespace plimsoll {
namespace {

constexpr int64_t kTryAgainNs = kNsPerSecond;
constexpr int64_t kPollCommandNs = 20 * kNsPerMs;

std::string EndText(const v1::HaEnded& ended) {
  if (!ended.message().empty()) return ended.message();
  if (ended.signal() != 0) return absl::StrCat("signal ", ended.signal());
  return EnumName(*v1::HaEnded::Reason_descriptor(), ended.reason());
}

}  // namespace

bool Drill::Full() {
  log_.Tend();
  return log_.full();
}

MonotonicNs Drill::next_update() const {
  MonotonicNs next = options_.progress->next_update();
  if (!away_.empty()) next = std::min(next, next_try_);
  return next;
}

void Drill::Update(MonotonicNs now) {
  if (now >= options_.progress->next_update()) options_.progress->Update(now, fleet_.hosts(), log_.live());
  if (away_.empty() || now < next_try_) return;
  next_try_ = now + kTryAgainNs;
  for (const size_t index : away_) {
    Host& host = fleet_.host(index);
    if (host.in_session()) continue;
    host.fault.reset();
    driver_.Open(host, options_.host_plans[index]);
  }
}

std::string Drill::Awaited(const Host& host, MonotonicNs /*now*/) const {
  switch (host.phase) {
    case Host::Phase::kPlacing:
    case Host::Phase::kLooking:
    case Host::Phase::kFilling:
      return "it prepared";
    case Host::Phase::kReleasing:
      return "its files were removed";
    default:
      break;
  }
  const bool scans = scanning_ && std::any_of(instances_.begin(), instances_.end(), [&](const auto& one) {
                       return one.second.host == host.index && !one.second.ended;
                     });
  return scans ? "its logs were scanned" : "";
}

bool Drill::IsThere(size_t host) const {
  return fleet_.host(host).phase == Host::Phase::kReady;
}

bool Drill::MayBeAway(const Host& host) const {
  return away_.contains(host.index) || victim_ == host.index;
}

void Drill::SetAway(Host& host, const std::string& reason) {
  host.phase = Host::Phase::kLost;
  if (!away_.insert(host.index).second) return;
  next_try_ = clock_.Now() + kTryAgainNs;
  v1::JournalRecord record;
  v1::HaHostAway& away = *record.mutable_ha()->mutable_host_away();
  away.set_host(static_cast<uint32_t>(host.index));
  away.set_reason(reason);
  away.set_last_heard_ns(host.last_heard.value);
  log_.Append(std::move(record));
  options_.say(absl::StrCat(host.label, " is away: ", reason));
}

void Drill::OnPreparedAgain(Host& host) {
  away_.erase(host.index);
  // Its earlier session is over, and with that session's lease its instances.
  for (auto& [number, instance] : instances_) {
    if (instance.host != host.index || instance.ended) continue;
    instance.ended = true;
    instance.end_text = "its host was away";
  }
  v1::JournalRecord record;
  record.mutable_ha()->mutable_host_back()->set_host(static_cast<uint32_t>(host.index));
  log_.Append(std::move(record));
  options_.say(absl::StrCat(host.label, " is back"));
}

void Drill::OnProbes(Host& host, v1::ProbeBatch& probes) {
  v1::JournalRecord record;
  probes.set_host(static_cast<uint32_t>(host.index));
  *record.mutable_probes() = std::move(probes);
  log_.Append(std::move(record));
}

void Drill::OnMessage(Host& host, v1::AgentMessage& message) {
  const auto index = static_cast<uint32_t>(host.index);
  v1::JournalRecord record;
  switch (message.message_case()) {
    case v1::AgentMessage::kPlaced:
      if (!away_.contains(host.index)) return preparation_.OnPlaced(host, *message.mutable_placed());
      if (host.phase == Host::Phase::kPlacing) {
        host.phase = Host::Phase::kFilling;
        v1::ControllerMessage fill;
        fill.mutable_fill();
        host.client->Send(std::move(fill));
      }
      return;
    case v1::AgentMessage::kPrepared:
      if (host.phase != Host::Phase::kFilling) return;
      host.phase = Host::Phase::kReady;
      if (away_.contains(host.index)) return OnPreparedAgain(host);
      record.mutable_host_prepared()->set_host(index);
      *record.mutable_host_prepared()->mutable_prepared() = std::move(*message.mutable_prepared());
      return log_.Append(std::move(record));
    case v1::AgentMessage::kHa: {
      const v1::HaEvents events = std::move(*message.mutable_ha());
      record.mutable_ha()->mutable_events()->set_host(index);
      *record.mutable_ha()->mutable_events()->mutable_events() = events;
      log_.Append(std::move(record));
      return OnEvents(host, events);
    }
    case v1::AgentMessage::kFrames:
      record.mutable_frames()->set_host(index);
      record.mutable_frames()->mutable_frames()->Swap(message.mutable_frames()->mutable_frames());
      if (message.frames().has_sample()) {
        record.mutable_frames()->mutable_sample()->Swap(message.mutable_frames()->mutable_sample());
      }
      return log_.Append(std::move(record));
    case v1::AgentMessage::kFault:
      // One that is away, and opened again, may be refused: it is tried once more.
      if (MayBeAway(host)) return;
      if (!host.fault.has_value()) host.fault = message.fault();
      if (prepared_ && fatal_.empty())
        fatal_ = absl::StrCat("host ", host.label, " failed: ", message.fault().message());
      record.mutable_fault()->set_host(index);
      record.mutable_fault()->set_step(-1);
      *record.mutable_fault()->mutable_fault() = std::move(*message.mutable_fault());
      return log_.Append(std::move(record));
    case v1::AgentMessage::kReleased:
      host.released = std::move(*message.mutable_released());
      return;
    case v1::AgentMessage::kCommandDone:
      if (message.command_done().code() != 0) {
        log_.Note(absl::StrCat(host.label, ": did not carry out an order: ", message.command_done().message()));
        OnRefused(host, message.command_done());
      }
      record.mutable_host_command_done()->set_host(index);
      *record.mutable_host_command_done()->mutable_done() = std::move(*message.mutable_command_done());
      return log_.Append(std::move(record));
    default:
      return;  // the driver's, or of another kind of work
  }
}

void Drill::OnEvents(Host& host, const v1::HaEvents& events) {
  const auto find = [&](uint32_t number) -> Instance* {
    const auto found = instances_.find(number);
    return found == instances_.end() || found->second.host != host.index ? nullptr : &found->second;
  };
  for (const v1::HaLedgerEntry& entry : events.ledger()) {
    Instance* instance = find(entry.instance());
    if (instance != nullptr && !entry.recovered()) instance->last_write = host.last_heard;
  }
  for (const v1::HaEvent& event : events.events()) {
    Instance* instance = find(event.instance());
    if (instance == nullptr) continue;
    if (event.has_lock_granted()) {
      instance->waits = instance->waits || event.lock_granted().lock() == v1::HA_LOCK_STANDBY;
      instance->granted = instance->granted || event.lock_granted().lock() == v1::HA_LOCK_ACTIVE;
    } else if (event.has_first_write()) {
      instance->writes = true;
      instance->last_write = host.last_heard;
    } else if (event.has_scanned()) {
      instance->scanned = true;
    } else if (event.has_ended()) {
      instance->ended = true;
      instance->end_text = EndText(event.ended());
    }
  }
}

void Drill::OnRefused(const Host& host, const v1::CommandDone& done) {
  const auto start = starts_.find({host.index, done.id()});
  if (start == starts_.end()) return;
  Instance& instance = instances_.at(start->second);
  instance.ended = true;
  instance.end_text = done.message();
}

void Drill::OnClosed(Host& host, const absl::Status& status) {
  if (host.phase == Host::Phase::kReleasing) {
    host.phase = Host::Phase::kGone;
    return;
  }
  const std::string why = status.ok() ? "the agent ended the session" : std::string(status.message());
  const std::string reason = absl::StrCat("the session broke: ", why.empty() ? "connection lost" : why);
  if (MayBeAway(host)) return SetAway(host, reason);
  driver_.Lose(host, reason);
}

void Drill::OnLost(Host& host, const std::string& reason) {
  if (MayBeAway(host)) return SetAway(host, reason);
  if (fatal_.empty()) fatal_ = absl::StrCat("host ", host.label, " was lost: ", reason);
  v1::JournalRecord record;
  record.mutable_host_lost()->set_host(static_cast<uint32_t>(host.index));
  record.mutable_host_lost()->set_reason(reason);
  record.mutable_host_lost()->set_step(-1);
  log_.Append(std::move(record));
  options_.progress->Warn(absl::StrCat("host ", host.label, " is lost: ", reason));
}

std::string Drill::MustEnd() const {
  return driver_.interrupted() ? "interrupted" : fatal_;
}

bool Drill::AwaitFor(int64_t limit_ns, const std::function<bool()>& condition) {
  driver_.PumpFor(limit_ns, [&] { return !MustEnd().empty() || condition(); });
  return condition();
}

std::string Drill::NameOf(const Instance& instance) const {
  return absl::StrCat("instance ", instance.number, " of qm", instance.qm, " on ",
                      options_.fleet->host(instance.host).label);
}

size_t Drill::Partner(const QueueManager& qm, size_t host) const {
  const HaPair& pair = pairs_[qm.pair];
  return host == pair.first ? pair.second : pair.first;
}

Drill::Instance* Drill::Start(uint32_t qm, size_t host) {
  const uint32_t number = static_cast<uint32_t>(instances_.size()) + 1;
  Instance& instance = instances_[number];
  instance.number = number;
  instance.qm = qm;
  instance.host = host;
  v1::HaCommand order;
  order.mutable_start()->set_instance(number);
  order.mutable_start()->set_qm(qm);
  Order(host, std::move(order));
  return &instance;
}

void Drill::Order(size_t host, v1::HaCommand order) {
  if (!IsThere(host)) return;
  v1::Command command;
  *command.mutable_ha() = std::move(order);
  command.set_id(driver_.next_command_id());
  // In the journal first: nothing can come of an order before the moment that it has there.
  v1::JournalRecord record;
  record.mutable_host_command()->set_host(static_cast<uint32_t>(host));
  *record.mutable_host_command()->mutable_command() = command;
  log_.Append(std::move(record));
  if (command.ha().has_start()) starts_[{host, command.id()}] = command.ha().start().instance();
  if (command.ha().has_scan()) starts_[{host, command.id()}] = command.ha().scan().instance();
  driver_.SendCommand(fleet_.host(host), std::move(command));
}

void Drill::End(const Instance& instance) {
  v1::HaCommand order;
  order.mutable_end()->set_instance(instance.number);
  Order(instance.host, std::move(order));
}

void Drill::Kill(const Instance& instance) {
  v1::HaCommand order;
  order.mutable_kill()->set_instance(instance.number);
  Order(instance.host, std::move(order));
}

std::string Drill::RunCommand(uint32_t round, bool undo, const std::vector<std::string>& arguments,
                              const std::string& address) {
  std::vector<std::string> filled;
  for (const std::string& argument : arguments) filled.push_back(FillHost(argument, address));
  v1::JournalRecord record;
  v1::HaFaultCommand& begun = *record.mutable_ha()->mutable_fault_command();
  begun.set_round(round);
  begun.set_undo(undo);
  for (const std::string& argument : filled) begun.add_arguments(argument);
  log_.Append(std::move(record));

  std::string error;
  int exit_code = -1;
  auto running = options_.commands->Start(filled);
  if (!running.ok()) {
    error = std::string(running.status().message());
  } else {
    const int64_t limit_ns = options_.plan.ha().command_limit_ns();
    const MonotonicNs deadline = clock_.Now() + limit_ns;
    std::optional<std::string> ended;
    while (!(ended = (*running)->Poll()).has_value() && clock_.Now() < deadline && !left()) {
      driver_.PumpFor(kPollCommandNs, [] { return false; });
    }
    if (!ended.has_value()) (*running)->Kill();
    exit_code = (*running)->exit_code();
    error = ended.value_or(absl::StrCat("killed after ", FormatDuration(limit_ns), " (--command-limit)"));
  }
  if (!error.empty()) error = absl::StrCat(absl::StrJoin(filled, " "), ": ", error);
  v1::JournalRecord done;
  done.mutable_ha()->mutable_fault_command_done()->set_round(round);
  done.mutable_ha()->mutable_fault_command_done()->set_undo(undo);
  done.mutable_ha()->mutable_fault_command_done()->set_exit_code(exit_code);
  done.mutable_ha()->mutable_fault_command_done()->set_error(error);
  log_.Append(std::move(done));
  if (!error.empty()) options_.progress->Warn(absl::StrCat("the ", undo ? "undo" : "do", " command failed: ", error));
  return error;
}

}  // namespace plimsoll
