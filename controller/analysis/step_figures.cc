// StepReporter's part about distributions, fairness, trend and load.
#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/analysis/distributions.h"
#include "controller/analysis/host_load.h"
#include "controller/analysis/step_report.h"
#include "controller/analysis/trend.h"

namespace plimsoll {

const SecondTable* StepReporter::StoragePercentiles(uint32_t storage) const {
  std::set<uint32_t> members;
  for (const auto& [number, facts] : run_.hosts) {
    if (facts.storage == storage && stats_.hosts().contains(number)) members.insert(number);
  }
  if (members.size() == 1) return &stats_.hosts().at(*members.begin()).percentiles().host();
  if (members.size() == stats_.hosts().size()) return &stats_.percentiles().cluster();
  return stats_.percentiles().Storage(members);
}

void StepReporter::AddDistribution(const Named& name, const ScopeSums& sums) {
  v1::DistributionReport distribution = MakeDistribution(sums.latency);
  const auto buckets = static_cast<uint64_t>(distribution.from_ns_size());
  if (buckets > run_.distribution_buckets_left) {
    if (!distributions_missing_) {
      run_.notes.Add("distributions", absl::StrCat(StepName(),
                                                   ": distributions of single hosts, storages or the "
                                                   "cluster are left out: all steps together have more "
                                                   "than ",
                                                   FormatCount(kDistributionBuckets), " buckets."));
    }
    distributions_missing_ = true;
    return;
  }
  run_.distribution_buckets_left -= buckets;
  distribution.set_kind(name.kind);
  distribution.set_host(name.host);
  distribution.set_storage(name.storage);
  *report_.add_distributions() = std::move(distribution);
}

void StepReporter::AddSeconds(const ScopeSums& cluster) {
  const StepPercentiles& percentiles = stats_.percentiles();
  if (!percentiles.keeps_seconds()) {
    run_.notes.Add("seconds", absl::StrCat(StepName(),
                                           ": how the latencies of each second are distributed is left out: "
                                           "a step is longer than ",
                                           FormatCount(static_cast<uint64_t>(kMaxDistributionSeconds)),
                                           " s, or all steps together than ",
                                           FormatCount(static_cast<uint64_t>(kDistributionSeconds)), " s."));
    return;
  }
  if (!series_of_cluster_ || !cluster_rows_told_) return;
  cluster.series.ForEachRow(RowsFor(cluster), [&](const SeriesRow& row) {
    const SecondTable& table = percentiles.cluster();
    const bool known = table.closed(row.first) || row.sums.writes == 0;
    if (row.first != row.last || !known || table.spoilt(row.first)) return;
    percentiles.seconds().Append(row.first, *report_.mutable_seconds());
  });
}

void StepReporter::AddFairness() {
  std::vector<double> hosts;
  std::vector<double> qms;
  for (const v1::ScopeReport& scope : report_.scopes()) {
    if (scope.kind() == v1::SCOPE_KIND_HOST) hosts.push_back(scope.iops());
    if (scope.kind() == v1::SCOPE_KIND_QM) qms.push_back(scope.iops());
  }
  if (qms.size() < 2) return;
  report_.mutable_fairness()->set_hosts(JainIndex(hosts));
  report_.mutable_fairness()->set_queue_managers(JainIndex(qms));
}

void StepReporter::AddTrend(const ScopeSums& cluster) {
  if (!cluster_rows_told_) return;
  const auto trend = MakeTrend(WholeSeconds(cluster.series, WholeSecondsIn(cluster.whole_ns)));
  if (!trend) return;
  *report_.mutable_trend() = *trend;
  const std::string note = UnsettledNote(*trend);
  if (!note.empty()) run_.notes.Add("unsettled", absl::StrCat(StepName(), ": ", note));
}

void StepReporter::AddLoad() {
  bool rows_missing = false;
  for (const auto& [number, load] : stats_.loads()) {
    if (load.empty() || !run_.hosts.contains(number)) continue;
    v1::HostLoadReport& report = *report_.add_load();
    report = load.Make();
    report.set_host(run_.hosts.at(number).label());
    const std::string who = absl::StrCat(report.host(), ", ", StepName(), ": ");
    const auto share = ring_wait_share_.find(number);
    report.set_bottleneck(BottleneckOf(report, share == ring_wait_share_.end() ? 0 : share->second));
    if (!report.bottleneck().empty()) {
      run_.notes.Add("bottleneck",
                     absl::StrCat(who, "the harness may have been the bottleneck: ", report.bottleneck(), "."));
    }
    if (load.went_back()) {
      run_.notes.Add("went-back", absl::StrCat(who,
                                               "a counter of its kernel went back; what it told then is left out "
                                               "of the load's figures."));
    }
    rows_missing = rows_missing || load.rows_missing();
  }
  if (rows_missing) {
    run_.notes.Add("load", absl::StrCat(StepName(), ": the load's columns end before the step does: with more than ",
                                        FormatCount(kLoadRows), " rows nobody could read the report."));
  }
}

}  // namespace plimsoll
