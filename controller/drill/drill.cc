#include "controller/drill/drill.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/run/run_records.h"

namespace plimsoll {
namespace {

constexpr int64_t kTryAgainNs = kNsPerSecond;
constexpr int64_t kPollCommandNs = 20 * kNsPerMs;
// For how long the analysis is waited for to show what a round has found.
constexpr int64_t kShowRoundNs = 200 * kNsPerMs;

}  // namespace

Drill::Drill(Options options)
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
                    .plans = options_.host_plans,
                    .workloads = HaFilledWorkloads(options_.plan)}),
      instances_(options_.fleet, &driver_, options_.log),
      pairs_(HaPairs(options_.plan)),
      random_(options_.plan.seed()) {
  for (size_t pair = 0; pair < pairs_.size(); ++pair) {
    for (uint32_t i = 0; i < pairs_[pair].qms; ++i) queue_managers_.push_back({pairs_[pair].first_qm + i, pair});
  }
}

std::optional<Failure> Drill::Run() {
  AppendRunBegin(options_.plan, options_.host_plans, {}, options_.controller, clock_, fleet_, log_);
  options_.feed->Preparing();
  std::optional<Failure> failure = preparation_.Run();
  options_.feed->StepEnds();
  prepared_ = !failure.has_value();
  if (prepared_) {
    failure = CheckPairs();
    if (!failure.has_value()) cut_short_ = StartAll();
    // Nothing was drilled where the instances do not even start; where two are granted the lock, that is the finding.
    if (driver_.interrupted()) {
      failure = Failure{Exit::kInconclusive, {"interrupted before the first round: nothing was drilled"}};
    } else if (!cut_short_.empty() && !AnyTookOver()) {
      failure = Failure{Exit::kCannotRun, {cut_short_}};
    }
    for (uint32_t round = 1;
         !failure.has_value() && cut_short_.empty() && !left() && round <= options_.plan.ha().rounds(); ++round) {
      cut_short_ = RunRound(round);
    }
  }
  if (left()) return failure;
  if (prepared_) {
    EndAll();
    if (!driver_.interrupted() && !failure.has_value()) ScanAll();
  }
  if (left()) return failure;
  ReleaseAll();
  if (left()) return failure;
  AppendRunEnd(driver_.interrupted() ? "interrupted" : cut_short_, fleet_, log_);
  return failure;
}

std::optional<Failure> Drill::CheckPairs() const {
  Failure failure{Exit::kWrong, {}};
  for (const HaPair& pair : pairs_) {
    const Host& first = *options_.fleet->hosts()[pair.first];
    const Host& second = *options_.fleet->hosts()[pair.second];
    const auto sees = [](const Host& host, const Host& other) {
      const auto& seen = host.placed->visible_hosts();
      return std::ranges::find(seen, other.label) != seen.end();
    };
    if (sees(first, second) && sees(second, first)) continue;
    failure.lines.push_back(absl::StrCat(first.label, " and ", second.label,
                                         " do not see one another's files: --dir (and --data-dir) must be on storage "
                                         "that both hosts of a pair have mounted"));
  }
  if (failure.lines.empty()) return std::nullopt;
  return failure;
}

std::string Drill::StartAll() {
  options_.say("starting the active instances");
  for (QueueManager& qm : queue_managers_) qm.active = instances_.Start(qm.number, pairs_[qm.pair].first);
  const auto all_write = [this] {
    return std::ranges::all_of(queue_managers_,
                               [](const QueueManager& qm) { return qm.active->writes || qm.active->ended; });
  };
  AwaitFor(options_.plan.hang_limit_ns(), all_write);
  if (std::string must = MustEnd(); !must.empty()) return must;
  for (const QueueManager& qm : queue_managers_) {
    if (qm.active->ended) return absl::StrCat(instances_.NameOf(*qm.active), " ended: ", qm.active->end_text);
    if (!qm.active->writes) {
      return absl::StrCat(instances_.NameOf(*qm.active), " did not become active within ",
                          FormatDuration(options_.plan.hang_limit_ns()));
    }
  }
  for (QueueManager& qm : queue_managers_) qm.standby = instances_.Start(qm.number, pairs_[qm.pair].second);
  return AwaitReady();
}

std::string Drill::AwaitReady() {
  const MonotonicNs since = clock_.Now();
  const auto is_ready = [since](const QueueManager& qm) {
    return qm.active != nullptr && qm.standby != nullptr && qm.active->writes && !qm.active->ended &&
           qm.active->last_write >= since && qm.standby->waits && !qm.standby->granted && !qm.standby->ended;
  };
  AwaitFor(options_.plan.hang_limit_ns(),
           [&] { return std::ranges::all_of(queue_managers_, is_ready) || !WhyUnready().empty(); });
  if (std::string problem = Unready(); !problem.empty()) return problem;
  for (const QueueManager& qm : queue_managers_) {
    if (is_ready(qm)) continue;
    return absl::StrCat("qm", qm.number, " had no active and no standby instance at once within ",
                        FormatDuration(options_.plan.hang_limit_ns()));
  }
  return "";
}

std::string Drill::WhyUnready() const {
  for (const QueueManager& qm : queue_managers_) {
    for (const Instance* instance : {qm.active, qm.standby}) {
      if (instance != nullptr && instance->ended) {
        return absl::StrCat(instances_.NameOf(*instance), " ended: ", instance->end_text);
      }
    }
    if (qm.standby != nullptr && qm.standby->granted) {
      return absl::StrCat(instances_.NameOf(*qm.standby), " was granted the lock of ", instances_.NameOf(*qm.active));
    }
  }
  return "";
}

std::string Drill::Unready() {
  // The end of the one whose lock was granted may arrive later.
  if (GrantedTwice()) AwaitFor(kNsPerSecond, [this] { return !GrantedTwice(); });
  const std::string must = MustEnd();
  return must.empty() ? WhyUnready() : must;
}

bool Drill::AnyTookOver() const {
  return std::ranges::any_of(queue_managers_,
                             [](const QueueManager& qm) { return qm.standby != nullptr && qm.standby->granted; });
}

bool Drill::GrantedTwice() const {
  return std::ranges::any_of(queue_managers_, [](const QueueManager& qm) {
    return qm.standby != nullptr && qm.standby->granted && !qm.active->ended;
  });
}

std::string Drill::RunRound(uint32_t round) {
  if (std::string problem = AwaitReady(); !problem.empty()) return problem;
  const v1::HaPlan& ha = options_.plan.ha();
  const size_t pair = (round - 1) % pairs_.size();
  const auto fault =
      static_cast<v1::HaFaultKind>(ha.faults(static_cast<int>((round - 1) / pairs_.size()) % ha.faults_size()));
  AwaitFor(NextMomentNs(), [this] { return !WhyUnready().empty(); });
  if (std::string problem = Unready(); !problem.empty()) return problem;

  std::vector<QueueManager*> victims;
  for (QueueManager& qm : queue_managers_) {
    if (qm.pair == pair) victims.push_back(&qm);
  }
  const Host& host = fleet_.host(victims.front()->active->host);
  v1::JournalRecord record;
  v1::HaRoundBegin& begin = *record.mutable_ha()->mutable_round_begin();
  begin.set_round(round);
  begin.set_fault(fault);
  begin.set_pair(static_cast<uint32_t>(pair));
  begin.set_host(static_cast<uint32_t>(host.index));
  for (const QueueManager* qm : victims) {
    v1::HaRoundQueueManager& one = *begin.add_queue_managers();
    one.set_qm(qm->number);
    one.set_active(qm->active->number);
    one.set_standby(qm->standby->number);
  }
  log_.Append(std::move(record));
  options_.say(absl::StrCat("round ", round, " of ", ha.rounds(), ": ", HaFaultWord(fault), " on ", host.label));
  if (NeedsCommands(fault)) victim_ = host.index;
  std::string problem = CauseFault(round, fault, victims);
  v1::JournalRecord ended;
  ended.mutable_ha()->mutable_round_end()->set_round(round);
  ended.mutable_ha()->mutable_round_end()->set_cut_short(problem.empty() ? MustEnd() : problem);
  log_.Append(std::move(ended));
  if (left()) return "interrupted";
  // A command that failed makes its round inconclusive, and leaves the others as they are.
  problem = Restore(fault, victims);
  victim_.reset();
  if (const Analyzer* analyzer = log_.AnalyzerWithin(kShowRoundNs)) options_.say(analyzer->LastRoundText());
  return problem;
}

int64_t Drill::NextMomentNs() {
  const v1::HaPlan& ha = options_.plan.ha();
  if (ha.has_at_ns()) return ha.at_ns();
  // To the millisecond; the generator's numbers are the same everywhere.
  const auto steps = static_cast<uint64_t>(ha.window_ns() / kNsPerMs) + 1;
  return static_cast<int64_t>(random_() % steps) * kNsPerMs;
}

std::string Drill::CauseFault(uint32_t round, v1::HaFaultKind fault, const std::vector<QueueManager*>& victims) {
  const v1::HaPlan& ha = options_.plan.ha();
  const auto taken_over = [](const QueueManager* qm) { return qm->standby->writes || qm->standby->ended; };
  const auto all_taken = [&] { return std::ranges::all_of(victims, taken_over); };
  if (fault == v1::HA_FAULT_KIND_HANG) return RunHang(victims);
  if (!NeedsCommands(fault)) {
    for (const QueueManager* qm : victims) {
      if (fault == v1::HA_FAULT_KIND_SWITCH) {
        instances_.End(*qm->active);
      } else {
        instances_.Kill(*qm->active);
      }
    }
    AwaitFor(TakeoverWaitNs(ha), all_taken);
    return "";
  }
  const v1::HaFaultCommands& commands = *CommandsOf(ha, fault);
  const std::string address = fleet_.host(*victim_).address;
  std::string problem = RunCommand(round, false, {commands.do_().begin(), commands.do_().end()}, address);
  if (problem.empty()) {
    const MonotonicNs since = clock_.Now();
    const auto writes_again = [since, &taken_over](const QueueManager* qm) {
      return taken_over(qm) || (!qm->active->ended && qm->active->last_write > since);
    };
    const bool restart = fault == v1::HA_FAULT_KIND_SERVER_RESTART;
    const bool over = AwaitFor(TakeoverWaitNs(ha),
                               [&] { return restart ? std::ranges::all_of(victims, writes_again) : all_taken(); });
    // Other faults are judged by the takeover that must follow.
    if (restart && !over && !left() && MustEnd().empty()) {
      problem = absl::StrCat("not every queue manager wrote again within ", FormatDuration(ha.takeover_limit_ns()));
    }
  }
  if (commands.undo().empty() || left()) return problem;
  const std::string undone = RunCommand(round, true, {commands.undo().begin(), commands.undo().end()}, address);
  return problem.empty() ? undone : problem;
}

std::string Drill::RunHang(const std::vector<QueueManager*>& victims) {
  for (const QueueManager* qm : victims) instances_.Hang(*qm->active);
  AwaitFor(HangNs(options_.plan.ha()),
           [&] { return std::ranges::any_of(victims, [](const QueueManager* qm) { return qm->standby->granted; }); });
  for (const QueueManager* qm : victims) instances_.Resume(*qm->active);
  const MonotonicNs resumed = clock_.Now();
  const bool goes_on = AwaitFor(options_.plan.ha().takeover_limit_ns(), [&] {
    return std::ranges::all_of(victims, [&](const QueueManager* qm) {
      return qm->active->last_write > resumed || qm->active->ended || qm->standby->writes;
    });
  });
  if (!goes_on && MustEnd().empty()) return "an instance did not write again after SIGCONT";
  for (const QueueManager* qm : victims) {
    if (qm->active->ended && !qm->standby->granted) {
      return absl::StrCat(instances_.NameOf(*qm->active), " ended after SIGCONT: ", qm->active->end_text);
    }
  }
  return "";
}

std::string Drill::Restore(v1::HaFaultKind fault, const std::vector<QueueManager*>& victims) {
  if (std::string must = MustEnd(); !must.empty()) return must;
  const bool by_command = NeedsCommands(fault);
  if (by_command) {
    const size_t host = *victim_;
    // A machine that starts takes as long as that takes; its agent's earlier session ends with its lease.
    const int64_t limit_ns = options_.plan.ha().restore_limit_ns();
    if (!AwaitFor(limit_ns, [&] { return instances_.IsThere(host); })) {
      return MustEnd().empty() ? absl::StrCat(fleet_.host(host).label, " did not return within ",
                                              FormatDuration(limit_ns), " (--restore-limit)")
                               : MustEnd();
    }
  }
  for (QueueManager* qm : victims) {
    if (qm->standby->writes && !qm->standby->ended) {
      Instance* const old = qm->active;
      qm->active = std::exchange(qm->standby, nullptr);
      // An active instance that lost its lock finds out by its verification.
      const int64_t patience_ns = by_command ? 2 * options_.plan.ha().verify_ns() + kEndLimitNs : kEndLimitNs;
      if (!AwaitFor(patience_ns, [&] { return old->ended; })) instances_.Kill(*old);
      if (!AwaitFor(kEndLimitNs, [&] { return old->ended; })) {
        return MustEnd().empty() ? absl::StrCat(instances_.NameOf(*old), " did not end") : MustEnd();
      }
      qm->standby = instances_.Start(qm->number, Partner(*qm, qm->active->host));
      continue;
    }
    if (qm->standby->ended) return absl::StrCat(instances_.NameOf(*qm->standby), " ended: ", qm->standby->end_text);
    if (!qm->active->ended && instances_.IsThere(qm->active->host)) continue;
    if (qm->standby->granted) {
      return absl::StrCat(instances_.NameOf(*qm->standby), " got the lock and wrote nothing within ",
                          FormatDuration(options_.plan.ha().takeover_limit_ns()));
    }
    return absl::StrCat("the lock of qm", qm->number, " was not taken over within ",
                        FormatDuration(options_.plan.ha().takeover_limit_ns()));
  }
  return "";
}

// The end of a drill: instances end in order, logs are scanned, files go.

void Drill::EndAll() {
  const auto end = [this](Instance* QueueManager::* which) {
    for (const QueueManager& qm : queue_managers_) {
      if (qm.*which != nullptr && !(qm.*which)->ended) instances_.End(*(qm.*which));
    }
    const auto over = [this, which] {
      return std::ranges::all_of(queue_managers_, [&](const QueueManager& qm) {
        return qm.*which == nullptr || (qm.*which)->ended || !instances_.IsThere((qm.*which)->host);
      });
    };
    // Not AwaitFor: it would not wait once the drill must end.
    driver_.PumpFor(kEndLimitNs, over);
  };
  if (left()) return;
  options_.say("ending the instances");
  // The standby ones first, or they would take over.
  end(&QueueManager::standby);
  if (!left()) end(&QueueManager::active);
  if (left()) return;
  // Whatever is still there goes now.
  for (const auto& host : fleet_.hosts()) instances_.Finish(host->index);
  driver_.PumpFor(kEndLimitNs, [this] { return instances_.AllOver(); });
}

void Drill::ScanAll() {
  options_.say("scanning the logs");
  scanning_ = true;
  std::vector<const Instance*> scans;
  for (const QueueManager& qm : queue_managers_) {
    const Instance* last = qm.active;
    if (last == nullptr) continue;
    // The other host's caches know nothing of the last writes.
    const size_t other = Partner(qm, last->host);
    const size_t host = instances_.IsThere(other) ? other : last->host;
    if (!instances_.IsThere(host)) continue;
    scans.push_back(instances_.Scan(qm.number, host));
  }
  driver_.PumpUntil([&] {
    return driver_.interrupted() || std::ranges::all_of(scans, [this](const Instance* scan) {
             return scan->ended || !instances_.IsThere(scan->host);
           });
  });
  scanning_ = false;
}

void Drill::ReleaseAll() {
  // A host that is not back by now is not waited for.
  away_.clear();
  for (auto& host : fleet_.hosts()) {
    if (host->lost() || host->phase == Host::Phase::kGone || host->phase == Host::Phase::kKnown) continue;
    SessionDriver::Release(*host, options_.plan.keep_files());
  }
  options_.feed->Releasing();
  driver_.PumpUntil([this] {
    return std::ranges::all_of(fleet_.hosts(), [](const auto& host) {
      return host->lost() || host->phase == Host::Phase::kGone || host->phase == Host::Phase::kKnown;
    });
  });
  driver_.Close();
  options_.feed->StepEnds();
}

std::vector<size_t> Drill::AbsentHosts() const {
  std::vector<size_t> absent;
  for (const auto& host : options_.fleet->hosts()) {
    if (host->lost()) absent.push_back(host->index);
  }
  return absent;
}

bool Drill::Full() {
  log_.Tend();
  return log_.full();
}

MonotonicNs Drill::next_update() const {
  MonotonicNs next = options_.feed->next_update();
  if (!away_.empty()) next = std::min(next, next_try_);
  return next;
}

void Drill::Update(MonotonicNs now) {
  if (now >= options_.feed->next_update()) options_.feed->Update(now, fleet_.hosts());
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
  return scanning_ && instances_.AnyOn(host.index) ? "its logs were scanned" : "";
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
  away.set_last_heard_ns(host.last_message.value);
  log_.Append(std::move(record));
  options_.say(absl::StrCat(host.label, " is away: ", reason));
}

void Drill::OnPreparedAgain(Host& host) {
  away_.erase(host.index);
  instances_.OnSessionOver(host);
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
      return instances_.OnEvents(host, events);
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
        instances_.OnRefused(host, message.command_done());
      }
      record.mutable_host_command_done()->set_host(index);
      *record.mutable_host_command_done()->mutable_done() = std::move(*message.mutable_command_done());
      return log_.Append(std::move(record));
    default:
      return;  // the driver's, or of another kind of work
  }
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
  options_.feed->Warn(absl::StrCat("host ", host.label, " is lost: ", reason));
}

std::string Drill::MustEnd() const {
  return driver_.interrupted() ? "interrupted" : fatal_;
}

bool Drill::AwaitFor(int64_t limit_ns, const std::function<bool()>& condition) {
  driver_.PumpFor(limit_ns, [&] { return !MustEnd().empty() || condition(); });
  return condition();
}

size_t Drill::Partner(const QueueManager& qm, size_t host) const {
  const HaPair& pair = pairs_[qm.pair];
  return host == pair.first ? pair.second : pair.first;
}

std::string Drill::RunCommand(uint32_t round, bool undo, const std::vector<std::string>& arguments,
                              const std::string& address) {
  std::vector<std::string> filled;
  filled.reserve(arguments.size());
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
    error = ended.value_or(left() ? "killed: interrupted"
                                  : absl::StrCat("killed after ", FormatDuration(limit_ns), " (--command-limit)"));
  }
  if (!error.empty()) error = absl::StrCat(absl::StrJoin(filled, " "), ": ", error);
  v1::JournalRecord done;
  done.mutable_ha()->mutable_fault_command_done()->set_round(round);
  done.mutable_ha()->mutable_fault_command_done()->set_undo(undo);
  done.mutable_ha()->mutable_fault_command_done()->set_exit_code(exit_code);
  done.mutable_ha()->mutable_fault_command_done()->set_error(error);
  log_.Append(std::move(done));
  if (!error.empty()) options_.feed->Warn(absl::StrCat("the ", undo ? "undo" : "do", " command failed: ", error));
  return error;
}

}  // namespace plimsoll
