// From everything that the hosts reported of a step to its part of the report.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/analysis/host_facts.h"
#include "controller/analysis/judge.h"
#include "controller/analysis/metric_values.h"
#include "controller/analysis/note_book.h"
#include "controller/analysis/scope_sums.h"
#include "controller/analysis/seconds.h"
#include "controller/analysis/step_stats.h"
#include "controller/report/main_operation.h"
#include "controller/timeline/timeline.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// What steps have in common. All of it outlives the reporter.
struct RunContext {
  const Timeline& timeline;
  // Storages are set.
  const HostTable& hosts;
  Judge& judge;
  NoteBook& notes;
  // Why the run cannot carry a PASS.
  NoteBook& reasons;
  // Why the run cannot carry a PASS because a host was lost or left out.
  NoteBook& loss_reasons;
  // Rows that the series of all steps may take together, and that are left of them.
  uint64_t series_rows;
  uint64_t& series_rows_left;
  // Rows of seconds without any frame that the series of all steps may still take; see kUnreportedRows.
  uint64_t& unreported_rows_left;
  // Buckets that distributions may still take; see kDistributionBuckets.
  uint64_t& distribution_buckets_left;
  // Rows and buckets that operations other than the write may still take. They have budgets of their own, so that the
  // writes lose nothing to them.
  uint64_t& operation_rows_left;
  uint64_t& operation_buckets_left;
  // By number of the host: by how much a clock at the wrong speed gained, in parts per million.
  std::map<uint32_t, double>& wrong_speeds_ppm;
};

// Rows of all series of a report: enough for 64 writers and 16 hosts for 17 hours.
inline constexpr uint64_t kSeriesRows = 5'000'000;
// A row of a series has at least one frame of its second, so that a report grows with its journal and not
// with the step's length that the journal claims. Where frames are missing there may be so many rows of zeros more.
inline constexpr uint64_t kUnreportedRows = 100'000;

// Makes one step's report. Used once.
class StepReporter : private ScopeVisitor {
 public:
  StepReporter(StepStats& stats, const RunContext& run) : stats_(stats), run_(run) {}

  v1::StepReport Make();

 private:
  // A scope and what it is called in the report.
  struct Named {
    v1::ScopeKind kind = v1::SCOPE_KIND_UNSPECIFIED;
    std::string host;
    uint32_t qm = 0;
    uint32_t storage = 0;
    // Why the data of this writer or host end before the step does.
    std::string why_early = {};
    // Name of the queue manager in a placement.
    std::string queue_manager = {};
  };

  void OnScope(const StepScope& scope, const ScopeSums& sums) override;
  void OnSilentWriter(const HostFacts& facts, uint32_t qm, uint32_t operation) override;
  void OnAbsentHost(const HostFacts& facts) override;

  // Name of an operation other than the write.
  const std::string& OperationName(uint32_t operation) const {
    return report_.operations(static_cast<int>(operation) - 1).name();
  }
  // The scope's figures of an operation other than the write.
  void AddOperationScope(const Named& name, const ScopeSums& sums, const StepScope& scope);

  // Why a host's data end before the step does.
  std::string WhyEarly(const HostFacts& facts, const HostStep& part) const;
  void AddScope(const Named& name, const ScopeSums& sums, const StepScope& scope);
  void AddSeries(const Named& name, const ScopeSums& sums, const StepScope& scope);
  // Adds the scope's series of an operation other than the write.
  void AddOperationSeries(const Named& name, const ScopeSums& sums, const StepScope& scope,
                          v1::OperationReport& operation);
  using AllSeries = google::protobuf::RepeatedPtrField<v1::SeriesReport>;
  // Adds the series by second of one time of the scope's operation to `all`; and that by minute.
  void AddSeriesOf(TimeKind kind, const Named& name, const ScopeSums& sums, const StepScope& scope, AllSeries& all);
  void AddMinutesOf(TimeKind kind, const Named& name, const ScopeSums& sums, const StepScope& scope, AllSeries& all);
  // Notes how many seconds of a host are known by their averages only.
  void NoteCoalesced(TimeKind kind, const Named& name, const ScopeSums& sums);
  struct SeriesSpan {
    // Length of a row.
    int64_t row_ns = 0;
    uint32_t rows = 0;
    // The second after the last one of the scope. What was in flight at the end has a row where the rows reach so far.
    uint32_t end_second = 0;
  };
  // `percentiles`: of each row; null where they are not known.
  void AddRows(TimeKind kind, const SeriesSpan& span, const SecondSeries& rows, const SecondTable* percentiles,
               const Named& name, const ScopeSums& sums, AllSeries& all);
  // Percentiles of the scope's seconds, and of its minutes; null where they are not known.
  const SecondTable* PercentilesOf(const StepScope& scope, TimeKind kind) const;
  const SecondTable* MinutePercentilesOf(const StepScope& scope, TimeKind kind) const;
  // Percentiles over the storage's hosts that took part; null where they are not known.
  const SecondTable* StoragePercentiles(uint32_t storage, const StepPercentiles& all,
                                        const std::function<const SecondTable*(const HostStep& part)>& of_host) const;
  // Whether scopes of that kind have series by second, and in a step with a fold, by minute.
  bool HasSeries(v1::ScopeKind kind) const {
    return kind == v1::SCOPE_KIND_CLUSTER ? series_of_cluster_
           : kind == v1::SCOPE_KIND_QM    ? series_of_qms_
                                          : series_of_hosts_;
  }
  bool HasMinutes(v1::ScopeKind kind) const {
    return kind == v1::SCOPE_KIND_CLUSTER ? series_of_cluster_
           : kind == v1::SCOPE_KIND_QM    ? minutes_of_qms_
                                          : minutes_of_hosts_;
  }
  void AddDistributions(const Named& name, const ScopeSums& sums);
  // `buckets_left`: how many buckets there is room for.
  void AddDistribution(const Named& name, const Histogram& latency, uint64_t& buckets_left,
                       google::protobuf::RepeatedPtrField<v1::DistributionReport>& distributions);
  // The distribution of each second of the cluster, or of each minute of a step that is folded.
  void AddSeconds(const ScopeSums& cluster);
  void AddMinuteDistributions(const ScopeSums& cluster);
  // Appends those of the rows of `series`, each of which lasts `row_seconds`.
  static void AppendDistributions(const StepPercentiles& percentiles, const SecondSeries& series, uint32_t rows,
                                  uint32_t row_seconds, v1::SecondDistributionsReport& report);
  void AddFairness();
  RetransmitFigures RetransmitsOf(uint32_t host, const RetransmitBounds& bounds) const;
  // What the step did in place of what the plan says.
  void SetChanges();
  // Shows the judge the finished step.
  void JudgeStep();
  // Whether a host of the step was lost, suspended or short of CPU: figures that change need no other cause.
  bool HostsWereTroubled() const;
  std::string BottleneckOfHost(uint32_t number, const v1::HostLoadReport& load) const;
  void AddTrend(const ScopeSums& cluster);
  void AddLoad();
  void SetSlowest(const ScopeSums& sums, v1::ScopeReport& scope) const;
  // The writer's write of which the end is not known.
  void AddInFlight(const StepScope& scope);
  // Notes and reasons that follow from one writer or one host.
  void CheckWriter(uint32_t host, const HostFacts& facts, uint32_t qm, const WriterStats& writer,
                   const ScopeSums& sums);
  void CheckHost(const HostFacts& facts, const ScopeSums& sums);
  // Clocks that ran at the wrong speed make every criterion of the step undecided.
  void CheckClocks();
  void PlanSeries();
  // `seconds`: of the step. `scopes`: hosts and storages.
  void PlanFoldedSeries(uint64_t seconds, uint64_t scopes, uint64_t qms);
  // Whether frames, and else what is left of kUnreportedRows, account for the rows of the scope's series; notes it
  // where they do not.
  bool AccountsForRows(const Named& name, const ScopeSums& sums) const;
  // Seconds of the scope, begun ones included; and rows of its series by second, which a fold may end earlier.
  uint32_t RowsFor(const ScopeSums& sums) const;
  uint32_t SecondRowsFor(const StepScope& scope, const ScopeSums& sums) const;
  std::string StepName() const;
  // What the step's main figures are about, with a space before it: " writes" or " reads".
  std::string MainText() const { return " " + MainOperations(stats_.step()); }

  StepStats& stats_;
  const RunContext& run_;
  v1::StepReport report_;
  // Kinds of scopes that have series; large runs go without those of QMs.
  bool series_of_qms_ = true;
  bool series_of_hosts_ = true;
  bool series_of_cluster_ = true;
  // The step has frames beyond the seconds that its fold leaves whole; and which scopes have series by minute then.
  bool folded_ = false;
  bool minutes_of_qms_ = false;
  bool minutes_of_hosts_ = false;
  bool cluster_rows_reported_ = true;
  // The seconds of the cluster's reads, where it writes as well.
  SecondSeries reads_series_;
  // By number of the host: largest share of its time that a writer waited for its recorder, where that is too much.
  std::map<uint32_t, double> ring_wait_share_;
  // By number of the host, of those whose load generator may be CPU-bound: CpuWaitToAllow.
  std::map<uint32_t, double> cpu_waits_;
  // Evidence of each stall; empty where no host is CPU-bound.
  std::vector<StallEvidence> stall_evidence_;
  bool distributions_missing_ = false;
  // Storages whose figures are reported.
  std::set<uint32_t> storages_;
  bool data_missing_ = false;
};

// One slow write as the report has it. The host must be one of the run's.
v1::SlowestReport MakeSlowestReport(const RunContext& run, uint32_t host, uint32_t qm, const v1::WriteSample& write);

// Adds the ten slowest of all writers, the slowest first; of equal ones that of the earlier host, then of the earlier
// writer, then the earlier write, as the scopes' slowest ones are chosen.
void AddSlowest(StepStats& stats, const RunContext& run, v1::StepReport& report);

// Adds the stall intervals that the hosts reported, mapped to the timeline and classified (stalls.h).
// Nothing is added if no host was asked to report them. Called once for each step, after its last record.
// `cpu_waits`: by number of the host, of those whose load generator may be CPU-bound, for how long its writers may have
// waited for a CPU. Where there are any, returns the evidence of each stall; else nothing.
std::vector<StallEvidence> AddStalls(StepStats& stats, const RunContext& run,
                                     const std::map<uint32_t, double>& cpu_waits, v1::StepReport& report);

// Adds the start skew: latest minus earliest first write of a host, each counted from when it was scheduled. Nothing is
// added where no host's is known.
void AddStartSkew(StepStats& stats, const RunContext& run, v1::StepReport& report);

}  // namespace plimsoll
