// Runs that were measured in turn: which of them form a round, after which rounds they are tested, and when more rounds
// would add nothing. Pure functions; paired_rounds.h has the statistics.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "controller/compare/comparable.h"
#include "controller/compare/paired_rounds.h"
#include "plimsoll/v1/compare.pb.h"

namespace plimsoll {

// Takes each side's only run apart where its plan repeats block sizes (--repeat): the n-th step of every block size
// makes the n-th run. Sides of several runs stay as they are. FAILED_PRECONDITION unless there are two sides with as
// many runs then, kMostRounds at most.
absl::Status PairUp(std::vector<SideInput>& sides);

// `design` for that many complete rounds. Where it plans no looks, as for runs that are there already: one after all of
// them.
v1::PairedDesign CompleteDesign(v1::PairedDesign design, size_t rounds);

// Looks of PlannedLooks as a design has them, and back.
void SetLooks(const std::vector<Look>& looks, v1::PairedDesign& design);
std::vector<Look> LooksOf(const v1::PairedDesign& design);

// Whether more rounds would hardly say more: of each of these figures at each block size the difference is significant
// and its interval beyond the minimum effect, or the interval is no wider than from the minimum effect below to the
// minimum effect above, and none is inconclusive; and where something is gated, the gate has its answer.
bool IsDecided(const v1::Comparison& comparison, const std::vector<v1::Figure>& figures);

}  // namespace plimsoll
