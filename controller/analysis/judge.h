// Holds what was measured against the plan's criteria.
//
// A criterion passes in a step where everything that it looks at fulfils it for certain, fails where something does not
// for certain, and is inconclusive otherwise. Percentiles are held against chance: see docs/plan.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/analysis/metric_values.h"
#include "controller/criteria/criteria.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Added to the criteria of a plan with a target rate, unless a criterion of the plan is about it.
inline constexpr char kAddedRateCriterion[] = "rate_achieved>=99%";

// Chance that of `n` independent events, each of which happens with chance `share` in (0, 1), at least `count` happen.
// Exact to some ten digits where `count` is above the expected number n x share, and 1 where it is not.
double ChanceOfAtLeast(uint64_t count, uint64_t n, double share);

// A value of the metric with its unit: "14.211 ms", "2 stalls", "99.98 %".
std::string FormatMetricValue(const MetricInfo& info, double value, const std::string& operations = "writes");

// What the criterion counts in a run with that share of reads: "writes", "reads" or "operations".
std::string CountedOperations(const Criterion& criterion, uint32_t read_percent);

// "step 2, beta/qm2". Step 0 is the run; an empty host names the storage instead; queue manager 0 and storage 0: none.
// `name` is what the queue manager is called; empty: "qm2".
std::string FormatPlace(uint32_t step, const std::string& host, uint32_t qm, uint32_t storage,
                        const std::string& name = "");

// Looks at every scope of every step while its histogram is at hand. Not thread-safe.
class Judge {
 public:
  // A criterion that cannot be read makes the verdict inconclusive. `rules` is RunBegin::verdict_rules.
  Judge(const v1::TestPlan& plan, uint32_t rules);

  // RunBegin::verdict_rules.
  uint32_t rules() const { return rules_; }

  // One scope of one step. `step` counts from 1.
  void Observe(uint32_t step, uint64_t block_size_bytes, const ScopeFigures& figures);
  // One step, after its scopes.
  void ObserveStep(const StepFigures& figures);
  // The clocks of that step are wrong: none of its figures decides anything but those that no clock measures. `why` is
  // half a sentence.
  void Distrust(uint32_t step, const std::string& why) { distrusted_[step] = why; }
  // The run, after its steps; everything but notes and verdict is set.
  void ObserveRun(const v1::Report& report);

  // A criterion asks for a number of hosts, and holds: that others were lost, or failed, does not prevent a PASS. After
  // ObserveRun.
  bool AcceptsLosses() const;

  // Whether a criterion looks at scopes of that kind in a step with that block size.
  bool LooksAt(v1::ScopeKind kind, uint64_t block_size_bytes) const;
  // A criterion, null where it cannot be read, and what is known of it by what was observed so far.
  struct SoFar {
    const Criterion* criterion = nullptr;
    v1::CriterionReport report;
  };
  // In the order of the plan; refers to the judge.
  std::vector<SoFar> CriteriaSoFar() const;

  // FAIL where a criterion fails; else INCONCLUSIVE where there are `reasons` or a criterion cannot be decided; else
  // PASS, or DONE where there is no criterion.
  v1::VerdictReport Finish(const std::vector<std::string>& reasons) const;

 private:
  // A value, and where it was.
  struct Finding {
    bool seen = false;
    double value = 0;
    v1::ScopeKind kind = v1::SCOPE_KIND_UNSPECIFIED;
    std::string host;
    uint32_t qm = 0;
    uint32_t storage = 0;
    std::string queue_manager = {};
  };
  // A percentile that does not fulfil its criterion, or has too few writes to decide.
  struct Unsure {
    Finding finding;
    BeyondLimit beyond;
    // Chance that a place at the limit has so many writes beyond it.
    double chance = 1;
    // How long the step would have to be to decide, in ns; 0: nothing was measured.
    double needed_ns = 0;
  };
  // Why something in its scope leaves the criterion undecided, and the value that is doubted, where there is one.
  struct Doubt {
    std::string text;
    std::optional<double> value;
  };
  // A criterion in one step.
  struct StepCase {
    Finding worst;
    // The worst of those that fail for certain: in any case, or unless lost hosts are accepted.
    Finding failed;
    Finding failed_with_losses;
    // The least likely to be chance.
    std::optional<Unsure> least_likely;
    // The thin or close percentile that needs the longest step. The second one leaves out lost hosts.
    std::optional<Unsure> longest_needed;
    std::optional<Unsure> longest_needed_of_present;
    // Doubt of any other kind: about a missing value, or else about the worst value that is doubted; likewise.
    Doubt doubt;
    Doubt doubt_of_present;
    uint64_t scopes = 0;
    uint64_t beyond = 0;
  };
  struct Case {
    Criterion criterion;
    std::string text;
    // Why the criterion cannot be read; empty: it can.
    std::string unreadable;
    bool added = false;
    // Steps with these block sizes are left out.
    std::vector<uint64_t> left_out_block_sizes;
    // By step; 0 is the run.
    std::map<uint32_t, StepCase> steps;
    // Tests against chance that were made.
    uint64_t tests = 0;
  };

  static bool LooksAt(const Case& one, uint64_t block_size_bytes);
  static void Take(Case& one, uint32_t step, const Reading& reading);
  static void TakePercentile(Case& one, StepCase& in_step, const Reading& reading);
  static Finding MakeFinding(const Reading& reading);
  static void KeepWorst(const Criterion& criterion, const Finding& finding, Finding& worst);
  v1::CriterionReport MakeReport(const Case& one, bool losses_accepted) const;
  v1::CriterionStepReport MakeStepReport(const Case& one, uint32_t step, const StepCase& in_step,
                                         bool losses_accepted) const;
  // What the verdict has of a target rate that decides nothing; empty: nothing.
  std::string RateRemark() const;
  std::string NeedText(const Case& one, const Unsure& unsure) const;

  uint32_t rules_;
  uint32_t read_percent_;
  // By step.
  std::map<uint32_t, std::string> distrusted_;
  std::vector<Case> cases_;
  // Whether reaching the target rate is a criterion, and that criterion's case.
  bool rate_is_demand_ = false;
  // Whether the verdict has what was achieved of the target rate, which disturbances keep from being a demand.
  bool rate_is_shown_ = false;
  Case rate_;
};

// Exit code of `plimsoll` for a finished run: 0 passed or done, 1 a criterion failed, 3 inconclusive.
int ExitCode(const v1::Report& report);

}  // namespace plimsoll
