// One queue manager in one round, and who held its lock when: pure functions of the journal's records. Moments of
// hosts' clocks are intervals of the timeline.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/ha/ha_facts.h"
#include "controller/ha/log_check.h"
#include "controller/timeline/timeline.h"
#include "plimsoll/v1/ha_report.pb.h"

namespace plimsoll {

// A moment of the timeline that is known within bounds.
struct HaMoment {
  int64_t low_ns = 0;
  int64_t high_ns = 0;
};

// A moment of a host's clock (Timeline::ClockOf); nothing where that was never probed.
inline std::optional<HaMoment> MomentOf(const Timeline& timeline, uint32_t clock, int64_t agent_ns) {
  const std::optional<MappedMoment> mapped = timeline.ToTimeline(clock, agent_ns);
  if (!mapped.has_value() || mapped->error_ns > INT64_MAX / 4) return std::nullopt;
  return HaMoment{mapped->local_ns - mapped->error_ns, mapped->local_ns + mapped->error_ns};
}

// From one moment to another.
inline v1::HaSpan SpanOf(const HaMoment& from, const HaMoment& to) {
  v1::HaSpan span;
  const int64_t least_ns = to.low_ns - from.high_ns;
  const int64_t most_ns = to.high_ns - from.low_ns;
  span.set_ns(least_ns + (most_ns - least_ns) / 2);
  span.set_error_ns((most_ns - least_ns + 1) / 2);
  return span;
}

// Between two moments of one clock.
inline v1::HaSpan ExactSpan(int64_t from_ns, int64_t to_ns) {
  v1::HaSpan span;
  span.set_ns(to_ns - from_ns);
  return span;
}

inline bool IsShorter(const v1::HaSpan& a, const v1::HaSpan& b) {
  return std::pair(a.ns(), a.error_ns()) < std::pair(b.ns(), b.error_ns());
}

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

// What two successive holders of the lock did to each other.
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
  // What the two instances did to each other; absent where the lock did not go from one to the other.
  std::optional<HaSuccession> succession;
  // Lower bound of the time of a takeover that did not happen in time. 0: one did, or none had to.
  int64_t at_least_ns = 0;
  std::vector<std::string> reasons;
  // The first of the reasons for which writes may be lost without being found so; empty: there is none.
  std::string log_doubt;
};

// A round, judged once: the report, the verdict, the pictures and the line of progress all show this.
struct HaJudgedRound {
  // Without the hosts' labels.
  v1::HaRoundReport report;
  // Takeover of each queue manager of the round, in the round's order.
  std::vector<HaJudgedTakeover> takeovers;
};

// Whether it ended without an order and without being killed. An order may still have been on its way.
bool EndedByItself(const HaInstanceFacts& instance);

// `qm` is one of the round's queue managers, `hang_ns` what a hang must last at least. The replay's findings, and those
// about the write in flight, are in the report; `known` as in CheckReplay.
HaJudgedTakeover JudgeTakeover(const Timeline& timeline, const HaFacts& facts, const HaRoundFacts& round,
                               const v1::HaRoundQueueManager& qm, int64_t hang_ns, std::set<uint64_t>& known);

}  // namespace plimsoll
