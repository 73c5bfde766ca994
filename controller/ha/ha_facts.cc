#include "controller/ha/ha_facts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "controller/timeline/timeline.h"

namespace plimsoll {
namespace {

// No drill has more; bounds what a damaged journal can make us hold.
constexpr size_t kMostInstances = 1'000'000;
constexpr size_t kMostRounds = 100'000;
// Beyond 292 years / 4 no clock is, and sums of a few moments stay in 64 bits.
constexpr int64_t kMostMomentNs = INT64_MAX / 4;

bool IsMoment(int64_t moment_ns) {
  return moment_ns >= 0 && moment_ns <= kMostMomentNs;
}

// The moments that an event has beside its own.
bool HasSaneMoments(const v1::HaEvent& event) {
  return IsMoment(event.at_ns()) && IsMoment(event.lock_free().last_held_ns()) &&
         IsMoment(event.lock_free().asked_ns()) && IsMoment(event.replayed().began_ns()) &&
         IsMoment(event.signalled().began_ns());
}

template <typename Event>
void KeepFirst(std::optional<HaEventAt<Event>>& kept, int64_t at_ns, const Event& event) {
  if (!kept.has_value()) kept = {at_ns, event};
}

}  // namespace

const HaInstanceFacts* HaFacts::Find(uint32_t instance) const {
  const auto found = instances_.find(instance);
  return found == instances_.end() ? nullptr : &found->second;
}

std::vector<const HaInstanceFacts*> HaFacts::Actives(uint32_t qm) const {
  std::vector<const HaInstanceFacts*> actives;
  for (const auto& [number, instance] : instances_) {
    if (instance.qm == qm && instance.active.has_value()) actives.push_back(&instance);
  }
  const auto epoch = [](const HaInstanceFacts* one) {
    // An instance that died before it raised the epoch was the last so far to be granted.
    return one->epoch.has_value() ? one->epoch->event.epoch() : UINT32_MAX;
  };
  std::sort(actives.begin(), actives.end(), [&](const HaInstanceFacts* a, const HaInstanceFacts* b) {
    return std::pair(epoch(a), a->number) < std::pair(epoch(b), b->number);
  });
  return actives;
}

const HaInstanceFacts* HaFacts::ScanOf(uint32_t qm) const {
  const HaInstanceFacts* scan = nullptr;
  for (const auto& [number, instance] : instances_) {
    if (instance.qm == qm && instance.scanned.has_value()) scan = &instance;
  }
  return scan;
}

absl::StatusOr<HaInstanceFacts*> HaFacts::Get(uint32_t host, uint32_t instance, uint32_t qm, const Timeline& timeline) {
  const auto ordered = ordered_.find(instance);
  if (ordered == ordered_.end() || ordered->second.host != host || ordered->second.qm != qm) {
    return absl::InvalidArgumentError(absl::StrCat("protocol error: host number ", host, " reports instance ", instance,
                                                   " of qm", qm, ", which it was not ordered to start"));
  }
  const auto found = instances_.find(instance);
  if (found != instances_.end()) {
    HaInstanceFacts& known = found->second;
    if (known.clock_open) known.clock = timeline.ClockOf(host);
    known.clock_open = known.clock_open && timeline.IsAway(host);
    return &known;
  }
  HaInstanceFacts& made = instances_[instance];
  made.number = instance;
  made.qm = qm;
  made.host = host;
  made.clock = timeline.ClockOf(host);
  made.clock_open = timeline.IsAway(host);
  return &made;
}

std::map<uint32_t, std::string> HaFacts::DirectRefused() const {
  std::map<uint32_t, std::string> refused;
  for (const auto& [number, instance] : instances_) {
    if (!instance.started.has_value()) continue;
    const v1::HaStarted& started = instance.started->event;
    const std::string& why =
        started.direct_refused().empty() ? started.small_files_direct_refused() : started.direct_refused();
    if (!why.empty()) refused.emplace(instance.host, why);
  }
  return refused;
}

HaRoundFacts* HaFacts::RoundOf(uint32_t round) {
  return !rounds_.empty() && rounds_.back().begin.round() == round ? &rounds_.back() : nullptr;
}

absl::Status HaFacts::Take(const v1::JournalRecord& record, const Timeline& timeline) {
  const int64_t now_ns = record.time_ns();
  switch (record.record_case()) {
    case v1::JournalRecord::kHostJoined:
      joined_.insert(record.host_joined().host());
      return absl::OkStatus();
    case v1::JournalRecord::kHostCommand:
      OnCommand(now_ns, record.host_command());
      return absl::OkStatus();
    case v1::JournalRecord::kHostCommandDone:
      OnCommandDone(now_ns, record.host_command_done());
      return absl::OkStatus();
    case v1::JournalRecord::kHostLost:
      away_.insert(record.host_lost().host());
      return absl::OkStatus();
    case v1::JournalRecord::kHa:
      return TakeOfDrill(now_ns, record.ha(), timeline);
    default:
      return absl::OkStatus();
  }
}

absl::Status HaFacts::TakeOfDrill(int64_t now_ns, const v1::HaRecord& record, const Timeline& timeline) {
  HaRoundFacts* round = rounds_.empty() ? nullptr : &rounds_.back();
  const auto of = [&](uint32_t number) {
    round = RoundOf(number);
    return round != nullptr ? absl::OkStatus()
                            : absl::InvalidArgumentError(absl::StrCat("round ", number, " is not on"));
  };
  switch (record.record_case()) {
    case v1::HaRecord::kEvents: {
      const v1::HostHaEvents& from_host = record.events();
      if (!joined_.contains(from_host.host())) {
        return absl::InvalidArgumentError(absl::StrCat("host number ", from_host.host(), " did not join"));
      }
      absl::Status first;
      for (const v1::HaLedgerEntry& entry : from_host.events().ledger())
        first.Update(OnLedger(from_host.host(), entry, timeline));
      for (const v1::HaEvent& event : from_host.events().events())
        first.Update(OnEvent(now_ns, from_host.host(), event, timeline));
      return first;
    }
    case v1::HaRecord::kRoundBegin: {
      if (rounds_.size() >= kMostRounds || (!rounds_.empty() && !rounds_.back().end.has_value())) {
        return absl::InvalidArgumentError("a round begins in another one");
      }
      HaRoundFacts& begun = rounds_.emplace_back();
      begun.begin = record.round_begin();
      begun.begin_ns = now_ns;
      return absl::OkStatus();
    }
    case v1::HaRecord::kFaultCommand:
      PLIMSOLL_RETURN_IF_ERROR(of(record.fault_command().round()));
      if (record.fault_command().undo()) return absl::OkStatus();
      round->command_ns = now_ns;
      for (const v1::HaRoundQueueManager& qm : round->begin.queue_managers()) {
        const auto victim = instances_.find(qm.active());
        if (victim != instances_.end()) victim->second.struck_by_command = true;
      }
      return absl::OkStatus();
    case v1::HaRecord::kFaultCommandDone: {
      const v1::HaFaultCommandDone& done = record.fault_command_done();
      PLIMSOLL_RETURN_IF_ERROR(of(done.round()));
      if (!done.undo()) round->command_done_ns = now_ns;
      if (!done.error().empty()) {
        round->command_errors.push_back(absl::StrCat("the ", done.undo() ? "undo" : "do", " command: ", done.error()));
      }
      return absl::OkStatus();
    }
    case v1::HaRecord::kHostAway:
      away_.insert(record.host_away().host());
      if (round != nullptr && !round->end.has_value() && round->begin.host() == record.host_away().host() &&
          round->away_ns == 0) {
        round->away_ns = now_ns;
      }
      return absl::OkStatus();
    case v1::HaRecord::kRoundEnd:
      PLIMSOLL_RETURN_IF_ERROR(of(record.round_end().round()));
      round->end = record.round_end();
      round->end_ns = now_ns;
      return absl::OkStatus();
    default:
      return absl::OkStatus();
  }
}

void HaFacts::OnCommand(int64_t time_ns, const v1::HostCommand& command) {
  const v1::HaCommand& order = command.command().ha();
  if (ordered_.size() < kMostInstances) {
    if (order.has_start()) ordered_.emplace(order.start().instance(), Ordered{command.host(), order.start().qm()});
    if (order.has_scan()) ordered_.emplace(order.scan().instance(), Ordered{command.host(), order.scan().qm()});
  }
  const auto end = [&](HaInstanceFacts& instance) {
    if (instance.end_ordered_ns != 0) return;
    instance.end_ordered_ns = time_ns;
    ending_[{command.host(), command.command().id()}] = instance.number;
  };
  if (order.has_finish()) {
    for (auto& [number, instance] : instances_) {
      if (instance.host == command.host() && !instance.ended.has_value()) end(instance);
    }
    return;
  }
  if (order.has_resume()) {
    const auto hung = instances_.find(order.resume().instance());
    if (hung != instances_.end()) hung->second.resume_ordered_ns = time_ns;
    return;
  }
  const uint32_t number = order.has_end() ? order.end().instance() : order.has_kill() ? order.kill().instance() : 0;
  const auto found = instances_.find(number);
  if (number != 0 && found != instances_.end()) end(found->second);
}

void HaFacts::OnCommandDone(int64_t time_ns, const v1::HostCommandDone& done) {
  const auto found = ending_.find({done.host(), done.done().id()});
  if (found != ending_.end()) instances_.at(found->second).end_taken_ns = time_ns;
}

absl::Status HaFacts::OnLedger(uint32_t host, const v1::HaLedgerEntry& entry, const Timeline& timeline) {
  PLIMSOLL_ASSIGN_OR_RETURN(HaInstanceFacts* const instance, Get(host, entry.instance(), entry.qm(), timeline));
  if (!IsMoment(entry.last_start_ns()) || !IsMoment(entry.last_end_ns()) || entry.first_sequence() == 0 ||
      entry.last_sequence() < entry.first_sequence()) {
    instance->ledger.broken = true;
    return absl::InvalidArgumentError("a ledger entry that no writes make");
  }
  HaLedger& ledger = instance->ledger;
  if (ledger.entries == 0) {
    ledger.first_sequence = entry.first_sequence();
    ledger.epoch = entry.epoch();
  } else if (entry.first_sequence() != ledger.last_sequence + 1 || entry.epoch() != ledger.epoch ||
             entry.last_end_ns() < ledger.last_end_ns) {
    ledger.broken = true;
    return absl::InvalidArgumentError(
        absl::StrCat("a ledger entry of instance ", entry.instance(), " that does not follow the one before"));
  } else {
    NotePause({ledger.last_sequence, ledger.last_end_ns, entry.last_end_ns()}, ledger);
  }
  ++ledger.entries;
  ledger.last_sequence = entry.last_sequence();
  ledger.last_start_ns = entry.last_start_ns();
  ledger.last_end_ns = entry.last_end_ns();
  return absl::OkStatus();
}

void HaFacts::NotePause(const HaWritePause& pause, HaLedger& ledger) {
  if (ledger.pauses.size() == kMostHaPauses) {
    // What it wrote long after the grant does not matter.
    if (ledger.overtaken) return;
    TrimPauses(ledger);
  }
  ledger.pauses.push_back(pause);
}

void HaFacts::TrimPauses(HaLedger& ledger) {
  constexpr size_t kRecent = kMostHaPauses / 2;
  constexpr size_t kLeft = kMostHaPauses / 4 * 3;
  std::vector<HaWritePause>& pauses = ledger.pauses;
  if (pauses.size() <= kRecent) return;
  const auto recent = pauses.end() - static_cast<std::ptrdiff_t>(kRecent);
  // What it wrote without a break long before does not matter either.
  pauses.erase(std::remove_if(pauses.begin(), recent,
                              [](const HaWritePause& one) { return one.next_end_ns - one.last_end_ns <= kHaPauseNs; }),
               recent);
  if (pauses.size() > kLeft) pauses.erase(pauses.begin(), pauses.end() - static_cast<std::ptrdiff_t>(kLeft));
}

absl::Status HaFacts::NoteReadBack(int64_t now_ns, const v1::HaEvent& event, HaInstanceFacts& instance) {
  // More than an instance reads at once.
  constexpr uint64_t kMostBlocks = 1'000'000;
  const v1::HaReadBack& read = event.read_back();
  const uint64_t first = read.first_sequence();
  const uint64_t last = read.last_sequence();
  const auto contradicts = [&instance] {
    instance.read_back.left_out = true;
    return absl::InvalidArgumentError("blocks that were read back, and do not follow those before them");
  };
  if (first <= instance.last_read_sequence || last < first || last - first >= kMostBlocks) return contradicts();
  HaReadPiece piece{now_ns, event.at_ns(), {}};
  uint64_t next = first;
  for (const v1::HaReadRange& range : read.ranges()) {
    if (range.blocks() == 0 || range.blocks() > kMostBlocks || range.first_sequence() < next ||
        range.first_sequence() + range.blocks() - 1 > last) {
      return contradicts();
    }
    next = range.first_sequence() + range.blocks();
    piece.readings.runs.push_back({range.epoch(), range.first_sequence(), next - 1});
  }
  for (const v1::HaFaultyBlock& block : read.faults().blocks()) {
    if (block.sequence() < first || block.sequence() > last) return contradicts();
    piece.readings.wrong.push_back({block.sequence(), block.kind(), block.found_epoch(), block.found_sequence()});
  }
  piece.readings.left_out = read.faults().left_out() > 0;
  instance.last_read_sequence = last;
  if (instance.last_read_back.size() >= kMostHaReadPieces) {
    // What it reads long after the grant is not used.
    if (instance.ledger.overtaken) return absl::OkStatus();
    instance.read_back.Append(instance.last_read_back.front().readings);
    instance.last_read_back.pop_front();
  }
  instance.last_read_back.push_back(std::move(piece));
  return absl::OkStatus();
}

absl::Status HaFacts::OnEvent(int64_t now_ns, uint32_t host, const v1::HaEvent& event, const Timeline& timeline) {
  PLIMSOLL_ASSIGN_OR_RETURN(HaInstanceFacts* const instance, Get(host, event.instance(), event.qm(), timeline));
  const int64_t at_ns = event.at_ns();
  if (!HasSaneMoments(event)) return absl::InvalidArgumentError("an event at a time that no clock shows");
  switch (event.event_case()) {
    case v1::HaEvent::kStarted:
      KeepFirst(instance->started, at_ns, event.started());
      break;
    case v1::HaEvent::kLockGranted:
      if (event.lock_granted().lock() != v1::HA_LOCK_ACTIVE) break;
      KeepFirst(instance->active, at_ns, event.lock_granted());
      if (const auto before = last_active_.find(instance->qm); before != last_active_.end()) {
        HaLedger& ledger = instances_.at(before->second).ledger;
        // Once, so that there is room for what comes next.
        if (before->second != instance->number && !std::exchange(ledger.overtaken, true)) TrimPauses(ledger);
      }
      last_active_[instance->qm] = instance->number;
      break;
    case v1::HaEvent::kLockFree:
      KeepFirst(instance->free, at_ns, event.lock_free());
      break;
    case v1::HaEvent::kLockLost:
      KeepFirst(instance->lock_lost, at_ns, event.lock_lost());
      break;
    case v1::HaEvent::kEpochRaised:
      KeepFirst(instance->epoch, at_ns, event.epoch_raised());
      break;
    case v1::HaEvent::kReplayed:
      KeepFirst(instance->replayed, at_ns, event.replayed());
      break;
    case v1::HaEvent::kWriting:
      KeepFirst(instance->writing, at_ns, event.writing());
      break;
    case v1::HaEvent::kFirstWrite:
      KeepFirst(instance->first_write, at_ns, event.first_write());
      break;
    case v1::HaEvent::kSignalled:
      if (event.signalled().signal() == v1::HaSignalled::SIGNAL_KILL) {
        KeepFirst(instance->killed, at_ns, event.signalled());
      } else if (event.signalled().signal() == v1::HaSignalled::SIGNAL_STOP) {
        if (instance->hangs.size() < kMostRounds) instance->hangs.push_back({at_ns, std::nullopt});
      } else if (!instance->hangs.empty() && !instance->hangs.back().resumed_ns.has_value()) {
        instance->hangs.back().resumed_ns = event.signalled().began_ns();
      }
      break;
    case v1::HaEvent::kScanned:
      KeepFirst(instance->scanned, at_ns, event.scanned());
      break;
    case v1::HaEvent::kReadBack:
      return NoteReadBack(now_ns, event, *instance);
    case v1::HaEvent::kEnded:
      KeepFirst(instance->ended, at_ns, event.ended());
      if (instance->ledger.overtaken) break;
      std::vector<HaWritePause>().swap(instance->ledger.pauses);
      for (const HaReadPiece& piece : instance->last_read_back) instance->read_back.Append(piece.readings);
      std::deque<HaReadPiece>().swap(instance->last_read_back);
      break;
    default:
      break;  // nothing that the judgement is made from
  }
  return absl::OkStatus();
}

}  // namespace plimsoll
