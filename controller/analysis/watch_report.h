// What a watch adds to the analysis of a log run: what was watched on each host, why figures are bounds, and how the
// log was written beside how a run writes.
#pragma once

#include <string>
#include <vector>

#include "controller/analysis/host_facts.h"
#include "controller/analysis/note_book.h"
#include "plimsoll/v1/report.pb.h"
#include "plimsoll/v1/watch.pb.h"

namespace plimsoll {

// Why the host's figures are bounds, as sentences that begin with its label; none where they are exact.
std::vector<std::string> WatchDoubts(const HostFacts& facts);

// Keeps what the agent counted, and notes what it shows. What makes figures bounds goes to `reasons`, which keep the
// run from a PASS; without criteria to `notes`, since the run is complete all the same.
void TakeWatchDone(const v1::WatchDone& done, const v1::TestPlan& plan, HostFacts& facts, NoteBook& reasons,
                   NoteBook& notes);

// The section of the report, from one that has its plan and its steps. A pure function.
v1::WatchReport MakeWatchReport(const v1::Report& report, const HostTable& hosts);

}  // namespace plimsoll
