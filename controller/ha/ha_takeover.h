// One queue manager in one round, and who held its lock when: pure functions of what the journal says happened.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/analysis/timeline.h"
#include "controller/ha/ha_facts.h"
#include "controller/ha/ha_moments.h"
#include "controller/ha/log_check.h"
#include "plimsoll/v1/ha_report.pb.h"

namespace plimsoll {

// What a fault must lead to.
enum class HaExpectation { kTakeover, kNoTakeover, kEither };
HaExpectation ExpectationOf(v1::HaFaultKind fault);

// What an instance had acknowledged when another one was granted the lock.
struct HaBefore {
  uint64_t last_sequence = 0;
  int64_t last_end_ns = 0;
};

// The last write of `old` that had ended for certain before the grant to `next`, as far as a pause sets it apart; else
// its last one.
HaBefore AcknowledgedBefore(const Timeline& timeline, const HaInstanceFacts& old, const HaInstanceFacts& next);

// What `old` read back of the log before the grant to `next`: behind it the blocks may be the next one's. `next` null:
// all of it.
HaReadings ReadBackBefore(const Timeline& timeline, const HaInstanceFacts& old, const HaInstanceFacts* next);

// What two instances that were granted the lock one after the other did to each other.
struct HaSuccession {
  // The grant came before the old one can have given the lock up.
  bool both_held = false;
  // The old one started a write after the grant, which succeeded.
  bool late_writer = false;
  // Why that cannot be known; empty: it can.
  std::string unknown;
};
HaSuccession JudgeSuccession(const Timeline& timeline, const HaFacts& facts, const HaInstanceFacts& old,
                             const HaInstanceFacts& next);

// When the phases of a takeover began and ended; what is not known is absent.
struct HaTakeoverMoments {
  // The last write that the old active instance had acknowledged before the grant.
  std::optional<HaMoment> last_write;
  std::optional<HaMoment> fault;
  std::optional<HaMoment> free;
  std::optional<HaMoment> granted;
  std::optional<HaMoment> replayed;
  std::optional<HaMoment> first_write;
};

// A takeover in the report, and what the verdict needs beside it.
struct HaJudgedTakeover {
  v1::HaTakeoverReport report;
  HaTakeoverMoments moments;
  // None happened in time: it would have taken longer than this. 0: one did, or none had to.
  int64_t at_least_ns = 0;
  std::vector<std::string> reasons;
};

// Whether it ended without an order and without being killed. An order may still have been on its way.
bool EndedByItself(const HaInstanceFacts& instance);

// `qm` is one of the round's queue managers, `hang_ns` what a hang must last at least. The replay's findings, and those
// about the write in flight, are in the report; `known` as in CheckReplay.
HaJudgedTakeover JudgeTakeover(const Timeline& timeline, const HaFacts& facts, const HaRoundFacts& round,
                               const v1::HaRoundQueueManager& qm, int64_t hang_ns, std::set<uint64_t>& known);

}  // namespace plimsoll
