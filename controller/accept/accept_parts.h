// What an acceptance takes of its drills and of restart I/O.
#pragma once

#include <string>
#include <vector>

#include "plimsoll/v1/accept_report.pb.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Whether the part has one run, without a number.
bool IsDoneOnce(v1::AcceptPart part);

// Whether the run is whole, and passed, or measured a restart, which informs and decides nothing.
bool IsInOrder(const v1::AcceptRun& run);

// A figure of the run, side by side with that of other runs of the part.
void AddFigure(const v1::AcceptRun& run, const std::string& name, const std::string& unit, double value,
               v1::AcceptReport& report);

// Where a drill without locks on the extents fails for nothing but acknowledged writes that an old active instance
// overwrote, the acceptance neither fails nor passes: whether a queue manager has these locks is not known. A PASS that
// is confined, as to hosts with one kernel, does not count as one.
void ConfineDrill(const v1::Report& found, v1::AcceptRun& run);
void AddDrillFigures(const v1::Report& found, const v1::AcceptRun& run, std::vector<std::string>& shown,
                     v1::AcceptReport& report);

// A measurement of restart I/O informs and decides nothing, unless the plan has a criterion for the restarts of a real
// queue manager: the longest of them decides then. One that is not complete is INCONCLUSIVE.
void TakeRestart(const v1::Report& found, v1::AcceptRun& run, v1::AcceptReport& report);

// That hosts of the plan are in none of the pairs that are drilled, as a sentence; empty: there are none, or no drills.
std::string UndrilledText(const v1::TestPlan& plan);

// Whether a watch with --profile saw, on every host where it watched a log, an extent of it locked for writing by the
// process that wrote: what accept.locks_extents says.
bool ShowsExtentLocks(const v1::WatchReport& watch);

}  // namespace plimsoll
