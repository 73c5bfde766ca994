#include "controller/ha/ha_takeover.h"

#include <algorithm>

namespace plimsoll {
namespace {

constexpr int64_t kNever = INT64_MAX;

bool DrivenByCommand(const HaRoundFacts& round) {
  return round.command_ns != 0;
}

// The round in which the instance was a victim; null: in none that ended it.
const HaRoundFacts* RoundOfVictim(const HaFacts& facts, uint32_t instance) {
  const HaRoundFacts* found = nullptr;
  for (const HaRoundFacts& round : facts.rounds()) {
    for (const v1::HaRoundQueueManager& qm : round.begin.queue_managers()) {
      if (qm.active() == instance) found = &round;
    }
  }
  return found;
}

bool IsVictim(const HaRoundFacts& round, uint32_t instance) {
  const auto& qms = round.begin.queue_managers();
  return std::any_of(qms.begin(), qms.end(), [&](const auto& qm) { return qm.active() == instance; });
}

}  // namespace

bool EndedByItself(const HaInstanceFacts& instance) {
  if (!instance.ended.has_value()) return false;
  const v1::HaEnded::Reason reason = instance.ended->event.reason();
  if (reason == v1::HaEnded::REASON_SIGNAL) return !instance.killed.has_value();
  return reason != v1::HaEnded::REASON_ORDERED && reason != v1::HaEnded::REASON_UNSPECIFIED;
}

namespace {

// Before this moment of the timeline the instance held its lock, as long as the storage keeps its word. Each round in
// which it was the victim of a command may have cost it the lock; with `survived`, only the last of its rounds: after
// each other one it was seen to write again.
int64_t HeldUntil(const Timeline& timeline, const HaFacts& facts, const HaInstanceFacts& instance, bool survived) {
  int64_t until_ns = kNever;
  if (instance.end_ordered_ns != 0 && !EndedByItself(instance)) until_ns = instance.end_ordered_ns;
  const HaRoundFacts* const last_round = RoundOfVictim(facts, instance.number);
  for (const HaRoundFacts& round : facts.rounds()) {
    if (!IsVictim(round, instance.number) || !DrivenByCommand(round)) continue;
    if (!survived || &round == last_round) until_ns = std::min(until_ns, round.command_ns);
  }
  const bool gone = instance.ended.has_value() || facts.WasAway(instance.host);
  if (!gone || (until_ns != kNever && !EndedByItself(instance))) return until_ns;
  // It went by itself: it held the lock when it began its last write, and as long as it was stopped, for a stopped
  // process gives nothing up.
  int64_t held_ns = instance.resume_ordered_ns != 0 ? instance.resume_ordered_ns : INT64_MIN;
  const auto last = MomentOf(timeline, instance.clock, instance.ledger.last_start_ns);
  if (instance.ledger.entries > 0 && last.has_value()) held_ns = std::max(held_ns, last->low_ns);
  return std::min(until_ns, held_ns);
}

// When the fault happened; nothing where that is not known.
std::optional<HaMoment> FaultMoment(const Timeline& timeline, const HaRoundFacts& round, const HaInstanceFacts& old,
                                    const std::optional<HaMoment>& last, const std::optional<HaMoment>& granted) {
  if (round.begin.fault() == v1::HA_FAULT_KIND_KILL) {
    if (!old.killed.has_value()) return std::nullopt;
    const auto began = MomentOf(timeline, old.clock, old.killed->event.began_ns());
    const auto done = MomentOf(timeline, old.clock, old.killed->at_ns);
    if (!began.has_value() || !done.has_value()) return std::nullopt;
    return HaMoment{began->low_ns, done->high_ns};
  }
  if (round.begin.fault() == v1::HA_FAULT_KIND_SWITCH) {
    if (old.end_ordered_ns == 0) return std::nullopt;
    return HaMoment{old.end_ordered_ns, std::max(old.end_ordered_ns, old.end_taken_ns)};
  }
  if (!DrivenByCommand(round)) return std::nullopt;
  HaMoment fault{round.command_ns, kNever};
  if (last.has_value()) fault.low_ns = std::max(fault.low_ns, last->low_ns);
  for (const int64_t end_ns : {round.command_done_ns, round.away_ns}) {
    if (end_ns != 0) fault.high_ns = std::min(fault.high_ns, end_ns);
  }
  if (granted.has_value()) fault.high_ns = std::min(fault.high_ns, granted->high_ns);
  if (fault.high_ns == kNever) return std::nullopt;
  fault.high_ns = std::max(fault.high_ns, fault.low_ns);
  return fault;
}

// Whether it was stopped in the round for as long.
bool HungFor(const Timeline& timeline, const HaRoundFacts& round, const HaInstanceFacts& instance, int64_t hang_ns) {
  return std::any_of(instance.hangs.begin(), instance.hangs.end(), [&](const HaInstanceFacts::Hang& hang) {
    const auto stopped = MomentOf(timeline, instance.clock, hang.stopped_ns);
    return hang.resumed_ns.has_value() && *hang.resumed_ns - hang.stopped_ns >= hang_ns && stopped.has_value() &&
           stopped->high_ns >= round.begin_ns && stopped->low_ns <= round.end_ns;
  });
}

// Whether the lock was granted before the fault, whatever the error of the two clocks.
bool GrantedBeforeFault(const Timeline& timeline, const HaRoundFacts& round, const HaInstanceFacts& old,
                        const HaInstanceFacts& next) {
  const auto granted = MomentOf(timeline, next.clock, next.active->at_ns);
  const auto fault = FaultMoment(timeline, round, old, std::nullopt, std::nullopt);
  return granted.has_value() && fault.has_value() && granted->high_ns < fault->low_ns;
}

void SetPhases(const Timeline& timeline, const HaRoundFacts& round, const HaInstanceFacts& old,
               const HaInstanceFacts& next, const HaBefore& before, HaJudgedTakeover& judged) {
  v1::HaTakeoverReport& report = judged.report;
  std::optional<HaMoment> last;
  if (before.last_sequence > 0) last = MomentOf(timeline, old.clock, before.last_end_ns);
  const auto granted = MomentOf(timeline, next.clock, next.active->at_ns);
  std::optional<HaMoment> first;
  if (next.first_write.has_value()) first = MomentOf(timeline, next.clock, next.first_write->at_ns);
  if (last.has_value() && first.has_value()) *report.mutable_gap() = SpanOf(*last, *first);
  const auto fault = FaultMoment(timeline, round, old, last, granted);
  judged.moments = {last, fault, std::nullopt, granted, std::nullopt, first};
  if (next.replayed.has_value()) judged.moments.replayed = MomentOf(timeline, next.clock, next.replayed->at_ns);
  if (fault.has_value()) {
    *report.mutable_fault_at() = timeline.ToUtc(fault->low_ns);
    if (next.free.has_value()) {
      const auto free = MomentOf(timeline, next.clock, next.free->at_ns);
      const int64_t held_ns = next.free->event.last_held_ns();
      const auto held = MomentOf(timeline, next.clock, held_ns == 0 ? next.free->event.asked_ns() : held_ns);
      if (free.has_value() && held.has_value()) {
        judged.moments.free = HaMoment{std::min(held->low_ns, free->high_ns), free->high_ns};
        *report.mutable_to_free() = SpanOf(*fault, *judged.moments.free);
      }
    }
    if (granted.has_value()) *report.mutable_to_granted() = SpanOf(*fault, *granted);
    if (first.has_value()) *report.mutable_takeover() = SpanOf(*fault, *first);
  } else {
    judged.reasons.emplace_back("the moment of the fault is not known");
  }
  if (next.free.has_value()) {
    // Grant and release are times of one clock. A granted lock is free, whatever the poller saw later.
    const int64_t granted_ns = next.active->at_ns;
    const int64_t free_ns = std::min(next.free->at_ns, granted_ns);
    const int64_t held_ns =
        next.free->event.last_held_ns() == 0 ? next.free->event.asked_ns() : next.free->event.last_held_ns();
    *report.mutable_free_to_granted() =
        SpanOf(HaMoment{std::min(held_ns, free_ns), free_ns}, HaMoment{granted_ns, granted_ns});
  }
  if (!next.replayed.has_value()) return;
  *report.mutable_to_replayed() = ExactSpan(next.active->at_ns, next.replayed->at_ns);
  if (!next.first_write.has_value()) return;
  *report.mutable_to_first_write() = ExactSpan(next.replayed->at_ns, next.first_write->at_ns);
  *report.mutable_own() =
      ExactSpan(next.active->at_ns, next.first_write->at_ns - (next.replayed->at_ns - next.replayed->event.began_ns()));
}

// What became of the log, and of the write in flight.
void SetLog(const HaInstanceFacts& old, const HaInstanceFacts& next, const HaBefore& before, std::set<uint64_t>& known,
            HaJudgedTakeover& judged) {
  v1::HaTakeoverReport& report = judged.report;
  report.set_acknowledged(before.last_sequence);
  if (old.ledger.broken) judged.reasons.emplace_back("the ledger of the old active instance has a hole");
  if (!next.replayed.has_value()) {
    judged.reasons.emplace_back("the new active instance did not report that it had read the log");
    return;
  }
  const v1::HaReplayed& replayed = next.replayed->event;
  report.set_replayed(replayed.last_sequence());
  report.set_replayed_pages(replayed.pages_checked());
  const HaLogFindings log = CheckReplay(replayed, before.last_sequence, known);
  v1::HaFindings& findings = *report.mutable_findings();
  findings.set_missing(log.missing);
  findings.set_torn(log.torn);
  findings.set_misplaced(log.misplaced);
  findings.set_order_broken(log.order_broken);
  findings.set_lost(log.missing + log.torn + log.misplaced);
  if (!log.unknown.empty()) judged.reasons.push_back(log.unknown);
  if (next.writing.has_value() && next.writing->event.first_sequence() != replayed.last_sequence() + 1) {
    judged.reasons.emplace_back("the new active instance did not continue behind the end of the log that it had read");
  }
  // At most one write was in flight. More of them are writes whose entries did not arrive, as of a host that died.
  const bool complete = old.ended.has_value() && old.ended->event.last_sequence() != 0;
  if (replayed.last_sequence() > before.last_sequence) {
    findings.set_in_doubt_present(1);
    if (complete && replayed.last_sequence() > before.last_sequence + 1 &&
        old.ledger.last_sequence == before.last_sequence) {
      judged.reasons.emplace_back("reading the log found more writes than the old active instance had completed");
    }
  } else if (!complete || old.ended->event.in_flight_since_ns() != 0) {
    findings.set_in_doubt_absent(1);
  }
}

}  // namespace

HaExpectation ExpectationOf(v1::HaFaultKind fault) {
  switch (fault) {
    case v1::HA_FAULT_KIND_HANG:
      return HaExpectation::kNoTakeover;
    case v1::HA_FAULT_KIND_SERVER_RESTART:
      return HaExpectation::kEither;
    default:
      return HaExpectation::kTakeover;
  }
}

namespace {

// Whether what `old` did at this moment of its host's clock counts as after the grant to the next instance.
bool CountsAsAfter(const Timeline& timeline, const HaInstanceFacts& old, const std::optional<HaMoment>& granted,
                   int64_t moment_ns) {
  const auto moment = MomentOf(timeline, old.clock, moment_ns);
  if (!granted.has_value() || !moment.has_value()) return false;
  // What may be a zombie's is not held against the storage. Another instance is dead when its lock is granted again,
  // and all that it wrote was before; where it is not, the storage has lied.
  // One that was granted its lock's successor while it hung wrote on when it was resumed.
  const bool hung = old.resume_ordered_ns != 0 && granted->low_ns < old.resume_ordered_ns;
  return old.struck_by_command || hung ? moment->high_ns > granted->low_ns : moment->low_ns > granted->high_ns;
}

}  // namespace

HaBefore AcknowledgedBefore(const Timeline& timeline, const HaInstanceFacts& old, const HaInstanceFacts& next) {
  HaBefore before{old.ledger.last_sequence, old.ledger.last_end_ns};
  if (!next.active.has_value()) return before;
  const auto granted = MomentOf(timeline, next.clock, next.active->at_ns);
  for (auto pause = old.ledger.pauses.rbegin();
       pause != old.ledger.pauses.rend() && CountsAsAfter(timeline, old, granted, pause->next_end_ns); ++pause) {
    before = {pause->last_sequence, pause->last_end_ns};
  }
  return before;
}

HaReadings ReadBackBefore(const Timeline& timeline, const HaInstanceFacts& old, const HaInstanceFacts* next) {
  HaReadings readings = old.read_back;
  std::optional<HaMoment> granted;
  if (next != nullptr && next->active.has_value()) granted = MomentOf(timeline, next->clock, next->active->at_ns);
  for (const HaReadPiece& piece : old.last_read_back) {
    // What had arrived at the controller by then was read before, whatever the clocks show.
    const bool arrived = granted.has_value() && piece.arrived_ns <= granted->low_ns;
    if (!arrived && CountsAsAfter(timeline, old, granted, piece.read_ns)) break;
    readings.Append(piece.readings);
  }
  return readings;
}

HaSuccession JudgeSuccession(const Timeline& timeline, const HaFacts& facts, const HaInstanceFacts& old,
                             const HaInstanceFacts& next) {
  HaSuccession judged;
  const auto granted = MomentOf(timeline, next.clock, next.active->at_ns);
  if (!granted.has_value()) {
    judged.unknown = "the clock of the new active instance's host is not known";
    return judged;
  }
  const int64_t held_until_ns = HeldUntil(timeline, facts, old, false);
  if (granted->high_ns < held_until_ns) {
    judged.both_held = true;
  } else if (granted->low_ns < held_until_ns) {
    judged.unknown = "whether the lock was granted before it was released is undetermined within the clock error";
  } else if (granted->high_ns < HeldUntil(timeline, facts, old, true)) {
    judged.unknown =
        "the old active instance survived a fault, and held or had lost its lock when it was granted again";
  }
  if (old.epoch.has_value() && next.epoch.has_value() && next.epoch->event.epoch() <= old.epoch->event.epoch()) {
    judged.unknown = "the epoch was not raised: a checkpoint was lost, or read as it was before";
  }
  if (old.ledger.entries == 0) return judged;
  const auto start = MomentOf(timeline, old.clock, old.ledger.last_start_ns);
  if (!start.has_value()) {
    judged.unknown = "the clock of the old active instance's host is not known";
  } else if (start->low_ns > granted->high_ns) {
    judged.late_writer = true;
  } else if (start->high_ns > granted->low_ns && RoundOfVictim(facts, old.number) != nullptr &&
             DrivenByCommand(*RoundOfVictim(facts, old.number))) {
    judged.unknown = "whether the old active instance wrote after the grant is undetermined within the clock error";
  }
  return judged;
}

HaJudgedTakeover JudgeTakeover(const Timeline& timeline, const HaFacts& facts, const HaRoundFacts& round,
                               const v1::HaRoundQueueManager& qm, int64_t hang_ns, std::set<uint64_t>& known) {
  HaJudgedTakeover judged;
  v1::HaTakeoverReport& report = judged.report;
  report.set_qm(qm.qm());
  report.set_old_instance(qm.active());
  const HaExpectation expectation = ExpectationOf(round.begin.fault());
  const HaInstanceFacts* old = facts.Find(qm.active());
  const HaInstanceFacts* next = facts.Find(qm.standby());
  if (old == nullptr || next == nullptr) {
    report.set_outcome(v1::HA_TAKEOVER_OUTCOME_UNKNOWN);
    judged.reasons.emplace_back("an instance sent no message");
    return judged;
  }
  // A standby that became active in a later round was not taken over to in this one.
  bool taken = next->active.has_value();
  if (taken && round.end.has_value()) {
    const auto granted = MomentOf(timeline, next->clock, next->active->at_ns);
    taken = granted.has_value() && granted->low_ns <= round.end_ns;
  }
  if (!taken) {
    const bool finished = round.end.has_value();
    report.set_outcome(expectation != HaExpectation::kTakeover && finished ? v1::HA_TAKEOVER_OUTCOME_KEPT
                       : finished                                          ? v1::HA_TAKEOVER_OUTCOME_NONE
                                                                           : v1::HA_TAKEOVER_OUTCOME_UNKNOWN);
    if (!finished) judged.reasons.emplace_back("the round did not end");
    if (finished && round.begin.fault() == v1::HA_FAULT_KIND_HANG && !HungFor(timeline, round, *old, hang_ns)) {
      judged.reasons.emplace_back("the active instance was not seen to hang for long enough");
    }
    if (report.outcome() != v1::HA_TAKEOVER_OUTCOME_NONE) return judged;
    const auto fault = FaultMoment(timeline, round, *old, std::nullopt, std::nullopt);
    judged.moments.fault = fault;
    // Where the standby was gone, or the fault never came, nothing is known of the lock.
    bool waited = true;
    if (next->ended.has_value()) {
      const auto ended = MomentOf(timeline, next->clock, next->ended->at_ns);
      waited = next->end_ordered_ns >= round.end_ns || (ended.has_value() && ended->low_ns > round.end_ns);
    }
    if (!fault.has_value() || !waited || !round.command_errors.empty()) {
      report.set_outcome(v1::HA_TAKEOVER_OUTCOME_UNKNOWN);
      judged.reasons.emplace_back("no takeover happened, and the lock was not waited for long enough to know why");
      return judged;
    }
    judged.at_least_ns = round.end_ns - fault->high_ns;
    return judged;
  }
  report.set_new_instance(qm.standby());
  report.set_outcome(expectation == HaExpectation::kNoTakeover ? v1::HA_TAKEOVER_OUTCOME_UNWANTED
                                                               : v1::HA_TAKEOVER_OUTCOME_TAKEN);
  const HaBefore before = AcknowledgedBefore(timeline, *old, *next);
  if (GrantedBeforeFault(timeline, round, *old, *next)) report.set_outcome(v1::HA_TAKEOVER_OUTCOME_UNWANTED);
  if (report.outcome() == v1::HA_TAKEOVER_OUTCOME_UNWANTED) {
    judged.reasons.emplace_back("the lock was granted while the active instance held it");
  }
  // A takeover that must not happen is not timed.
  if (report.outcome() == v1::HA_TAKEOVER_OUTCOME_TAKEN) SetPhases(timeline, round, *old, *next, before, judged);
  if (old->active.has_value()) {
    judged.succession = JudgeSuccession(timeline, facts, *old, *next);
    if (!judged.succession->unknown.empty()) judged.reasons.push_back(judged.succession->unknown);
  }
  const size_t others = judged.reasons.size();
  SetLog(*old, *next, before, known, judged);
  if (judged.reasons.size() > others) judged.log_doubt = judged.reasons[others];
  if (!next->first_write.has_value()) judged.reasons.emplace_back("the new active instance wrote nothing");
  return judged;
}

}  // namespace plimsoll
