// Holds what was measured against the plan's criteria.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/histogram.h"
#include "controller/analysis/second_series.h"
#include "controller/plan/criteria.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Looks at every scope of every step while its histogram is at hand. Not thread-safe.
class Judge {
 public:
  // A criterion that cannot be read makes the verdict inconclusive.
  explicit Judge(const v1::TestPlan& plan);

  // One scope of one step. `step` counts from 1; `scope` holds everything but the slowest write.
  void Observe(uint32_t step, uint64_t block_size_bytes, const v1::ScopeReport& scope, const Histogram& latency,
               const SecondExtremes& extremes);

  // The same scope with writes that had been in flight for `ages_ns` when they were last heard of: they take that long
  // at least. A limit on the maximum or a percentile that they break already is broken for certain; one that they may
  // still break is in doubt.
  void ObserveInFlight(uint32_t step, uint64_t block_size_bytes, const v1::ScopeReport& scope, Histogram latency,
                       const std::vector<int64_t>& ages_ns);

  // FAIL where a criterion fails; else INCONCLUSIVE where there are `reasons` or a criterion cannot be told; else
  // PASS, or DONE where there is no criterion.
  v1::VerdictReport Finish(const std::vector<std::string>& reasons) const;

 private:
  struct Case {
    Criterion criterion;
    v1::CriterionReport report;
    bool seen = false;
    bool failed = false;
    std::string doubt;
  };
  // A criterion as a whole, and in one step alone.
  std::vector<Case*> CasesOf(uint32_t step);
  // The report of a case, with its outcome and reason.
  static v1::CriterionReport Settle(const Case& one);
  void Take(Case& one, uint32_t step, const v1::ScopeReport& scope, const Histogram& latency,
            const SecondExtremes& extremes);
  // Keeps the value where it is the worst so far.
  static void Keep(Case& one, uint32_t step, const v1::ScopeReport& scope, double value);

  std::vector<Case> cases_;
  std::map<uint32_t, std::vector<Case>> by_step_;
};

// Exit code of `plimsoll` for a finished run: 0 passed or done, 1 a criterion failed, 3 inconclusive.
int ExitCode(const v1::Report& report);

}  // namespace plimsoll
