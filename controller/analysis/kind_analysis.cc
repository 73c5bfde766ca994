#include "controller/analysis/kind_analysis.h"

#include "controller/report/run_kind.h"

namespace plimsoll {

// Each is in the sources of its kind.
#define PLIMSOLL_KIND(Name) \
  std::unique_ptr<SectionAnalysis> Make##Name##Analysis(const v1::TestPlan& plan, uint32_t rules);
PLIMSOLL_ANALYSED_KINDS(PLIMSOLL_KIND)
#undef PLIMSOLL_KIND

std::unique_ptr<SectionAnalysis> MakeSectionAnalysis(const v1::TestPlan& plan, uint32_t rules) {
  switch (RunKindOf(plan)) {
#define PLIMSOLL_KIND(Name) \
  case RunKind::k##Name:    \
    return Make##Name##Analysis(plan, rules);
    PLIMSOLL_ANALYSED_KINDS(PLIMSOLL_KIND)
#undef PLIMSOLL_KIND
    default:
      return nullptr;
  }
}

}  // namespace plimsoll
