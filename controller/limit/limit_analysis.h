// What a journal says of a search for the highest load.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/limit/limit_search.h"
#include "controller/limit/step_parts.h"
#include "controller/timeline/section_analysis.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// The search goes over the reports of the steps that were measured, in the run as from its journal: NextStep asks for
// what a run measures, and a report shows the same search again.
class LimitAnalysis final : public SectionAnalysis {
 public:
  // `rules`: RunBegin::verdict_rules.
  LimitAnalysis(const v1::TestPlan& plan, uint32_t rules);

  absl::Status Take(const v1::JournalRecord& record, const Timeline& timeline) override;
  bool HasSteps() const override { return true; }
  void OnFrame(uint32_t host, const v1::Frame& frame, const std::string& operation) override;
  void OnStep(const v1::StepReport& report, const std::vector<v1::CriterionReport>& criteria, int64_t now_ns) override;
  std::optional<v1::LogStep> NextStep() const override;
  std::string LastStepText() const override;
  std::optional<Outlook> NextStepOutlook() const override;
  void Finish(const Timeline& timeline, const std::function<std::string(uint32_t host)>& label_of, v1::Report& report,
              std::vector<std::string>& reasons) override;
  v1::VerdictReport Judge(const std::vector<std::string>& reasons) const override;

 private:
  struct Host {
    std::string label;
    // Queue managers.
    uint32_t writers = 0;
  };
  // A host in a step.
  struct HostFact {
    std::string label;
    // What its callers felt, and the main operation alone.
    v1::LatencyReport felt;
    v1::LatencyReport service;
    // Why its load generator may be CPU-bound; empty: no sign of it.
    std::string bottleneck;
    // Latencies of the parts of its writes, and what callers felt of the reads beside them, by name. Empty if the host
    // measures none.
    std::map<std::string, v1::LatencyReport> operations = {};
  };
  // What is kept of a step, in addition to the search's own record of it.
  struct Step {
    v1::LimitPoint point;
    // Each criterion in this step, as in any run.
    std::vector<v1::CriterionReport> criteria;
    std::vector<HostFact> hosts;
    // It failed a criterion whose figures have no bounds of chance.
    bool failed_once = false;
  };

  LimitSearch::Options SearchOptions() const;
  // A criterion's result in a step.
  struct Judged {
    v1::Outcome outcome = v1::OUTCOME_INCONCLUSIVE;
    // Its figure has bounds of chance.
    bool bounded = false;
  };
  // Sets what the step shows of all hosts. Returns what the search needs of it, without what the criteria say.
  LimitResult TakeCluster(const v1::StepReport& report, v1::LimitPoint& point) const;
  // What all criteria say of a step, each by its result. Sets Step::failed_once.
  v1::LimitState StateOf(const v1::StepReport& report, const std::vector<Judged>& judged, Step& step) const;
  // Names the hosts whose writers started operations late, where that leaves undecided what was beyond a limit.
  void NameLateStarts(Step& step) const;
  // The load generator of a host of the step may have been in the way.
  static bool IsGeneratorBound(const Step& step);
  // The last step before this one that measured the same load; null: there is none.
  const Step* BeforeAt(const Step& step) const;
  // Queue managers have no target rate.
  bool IsClosedLoop() const;
  // It searches over the clients of each queue manager, or over the load factor of a recording.
  bool OverClients() const { return plan_.limit().over() == v1::LIMIT_OVER_CLIENTS; }
  bool OverLoadFactor() const { return plan_.limit().over() == v1::LIMIT_OVER_LOAD_FACTOR; }
  // The highest load that a search over anything but the rate tries.
  double MostLoad() const;
  // The load of a step.
  double LoadOf(const v1::StepReport& report) const;
  // "12.5 writes/s per queue manager", "3 queue managers per host".
  std::string LoadText(double load) const;
  // The load of the step at the maximum, which LimitSearch leaves to the plan.
  std::string MostText() const;
  // The load without its unit.
  std::string AmountText(double load) const;
  // The last step at that load that decides it and has that state; null: there is none.
  const Step* LastOf(double load, v1::LimitState state) const;
  // The step at the lowest load that exceeds the criteria; null if no load does.
  const Step* Exceeding() const;
  void SetCause(v1::LimitReport& limit) const;
  // A step in which a load generator may have been CPU-bound, so that it says nothing of its load; null: there is none.
  const Step* GeneratorBound() const;
  // Sets the cause where no load generator is in the way: whether all hosts of a step are affected, or which.
  void CompareHosts(const Step& step, const std::string& at, v1::LimitReport& limit) const;
  std::string ContradictionText(const LimitSearch::Contradiction& changed) const;
  void AddReasons(const v1::LimitReport& limit, std::vector<std::string>& reasons) const;

  const v1::TestPlan plan_;
  // RunBegin::verdict_rules.
  const uint32_t rules_;
  // Criteria of the plan that can be read.
  const std::vector<Criterion> criteria_;
  // By number.
  std::map<uint32_t, Host> hosts_;
  // The run's first step. Added steps have its operations, share of reads and order of blocks.
  v1::LogStep first_step_;
  // A host was lost or failed: what follows would be measured with less load.
  bool broken_ = false;
  // Parts of the running step.
  StepParts parts_;
  // The most by which each host's writers started an operation late.
  std::map<uint32_t, uint64_t> start_delays_ns_;
  // When the first step began.
  std::optional<int64_t> begin_ns_;
  // Made when the hosts are known.
  std::optional<LimitSearch> search_;
  std::vector<Step> steps_;
  // After Finish.
  v1::LimitReport limit_;
};

}  // namespace plimsoll
