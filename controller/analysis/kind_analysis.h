// The analysis that a kind of run has of its own.
#pragma once

#include <cstdint>
#include <memory>

#include "controller/timeline/section_analysis.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// The analysis of the section of the plan's kind; null where there is none, as of a log run. `rules`:
// RunBegin::verdict_rules.
std::unique_ptr<SectionAnalysis> MakeSectionAnalysis(const v1::TestPlan& plan, uint32_t rules);

}  // namespace plimsoll
