// Why a verdict is what it is: the order of its reasons, its primary cause, and what a PASS does not show.
#pragma once

#include <string>
#include <vector>

#include "controller/analysis/note_book.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Kinds of reasons (NoteBook) that the table of their order names.
inline constexpr char kInterruptedReason[] = "interrupted";
inline constexpr char kClockPaceReason[] = "pace";
// Figures of a watch are bounds.
inline constexpr char kBoundsReason[] = "bounds";
inline constexpr char kSuspendedReason[] = "suspended";

// A reason for INCONCLUSIVE.
using Reason = NoteBook::Entry;

// The user ended the run.
bool IsInterrupted(const v1::RunEnd& end);

// Why the run as a whole does not support a PASS: how it ended. `run` and `end` are null if the journal lacks them.
// `mid_step`: the journal ends within the report's last step.
NoteBook RunReasons(const v1::Report& report, const v1::RunBegin* run, const v1::RunEnd* end, bool mid_step);

// Orders the reasons such that the first one is the primary cause, by their kinds: what ended the run or made its
// figures void comes before what follows from it. Reasons of one kind, and those of other kinds, keep their order. An
// interrupt explains all others: they are dropped.
void OrderReasons(std::vector<Reason>& reasons);

// Hosts whose agents were suspended, where that left a criterion of the report undecided: "node2 was suspended for
// 1.5 s.", the longest first.
std::vector<std::string> SuspendedHosts(const v1::Report& report);

// What to print behind the outcome: of INCONCLUSIVE the first of its reasons, or else the first undecided criterion; of
// FAIL the first criterion that failed. Empty for other outcomes.
std::string PrimaryCause(const v1::VerdictReport& verdict);

// The reasons that PrimaryCause does not give.
std::vector<std::string> SecondaryReasons(const v1::VerdictReport& verdict);

// VerdictReport::warnings. Of a PASS: a load generator that may be CPU-bound, stalls of a closed loop that no criterion
// tests. Of any run that issues recorded writes as they are: that it is never judged. Empty for others.
std::vector<std::string> VerdictWarnings(const v1::Report& report);

}  // namespace plimsoll
