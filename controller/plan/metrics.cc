#include "controller/plan/metrics.h"

#include "absl/strings/str_cat.h"

namespace plimsoll {
namespace {

using enum CriterionScope;

constexpr char kNoWrite[] = "nothing was written";
constexpr char kNoSecond[] = "the step has no whole second";
constexpr char kNoTrend[] = "the step has fewer than five whole seconds";

std::vector<MetricInfo> MakeMetrics() {
  const std::vector<CriterionScope> every_qm = {kQm, kHost, kStorage, kCluster};
  const std::vector<CriterionScope> together = {kCluster, kStorage, kHost, kQm};
  const std::vector<CriterionScope> whole = {kCluster};
  return {
      {Metric::kPercentile, "pN", "", MetricUnit::kNanoseconds, "", Better::kLower, every_qm, true, false,
       "latency that N % of the writes do not exceed, N between 0 and 100 (p50, p99, p99.9)", kNoWrite},
      {Metric::kMin, "min", "", MetricUnit::kNanoseconds, "", Better::kLower, every_qm, true, false, "lowest latency",
       kNoWrite},
      {Metric::kMax, "max", "", MetricUnit::kNanoseconds, "", Better::kLower, every_qm, true, false, "highest latency",
       kNoWrite},
      {Metric::kAverage, "avg", "mean", MetricUnit::kNanoseconds, "", Better::kLower, every_qm, true, false,
       "mean latency", kNoWrite},
      {Metric::kWeightedAverage, "wavg", "", MetricUnit::kNanoseconds, "", Better::kLower, every_qm, true, false,
       "WAvg of the report", kNoWrite},
      {Metric::kWritesPerSecond, "iops", "", MetricUnit::kWritesPerSecond, "", Better::kHigher, together, false, false,
       "writes per second over the step", "nothing was measured"},
      {Metric::kBytesPerSecond, "mbps", "mb/s", MetricUnit::kBytesPerSecond, "", Better::kHigher, together, false,
       false, "megabytes (10^6 bytes) per second over the step", "nothing was measured"},
      {Metric::kMinWritesPerSecond, "min_second_iops", "", MetricUnit::kWritesPerSecond, "", Better::kHigher, together,
       false, false, "writes in the worst whole second of the step", kNoSecond},
      {Metric::kMinBytesPerSecond, "min_second_mbps", "", MetricUnit::kBytesPerSecond, "", Better::kHigher, together,
       false, false, "megabytes in the worst whole second of the step", kNoSecond},
      {Metric::kWrites, "writes", "", MetricUnit::kCount, "writes", Better::kHigher, together, false, false,
       "writes of the step", "never"},
      {Metric::kRateAchieved, "rate_achieved", "", MetricUnit::kPercent, "", Better::kHigher, every_qm, false, false,
       "writes that completed within the measured time, in percent of those that the target rate (`rate`) asks for",
       "no queue manager has a target rate; one write of a queue manager more or less decides"},
      {Metric::kNotIssued, "not_issued", "", MetricUnit::kCount, "writes", Better::kLower, together, false, false,
       "writes that were due and not issued when the step ended",
       "no queue manager has a target rate, or a writer's own count is missing"},
      {Metric::kStalls, "stalls", "", MetricUnit::kCount, "stalls", Better::kLower, whole, false, true,
       "stalls of the step",
       "the hosts do not report stalls; `storage` or `host_path`: which of them a stall was is undetermined"},
      {Metric::kLongestStall, "longest_stall", "", MetricUnit::kNanoseconds, "", Better::kLower, whole, false, true,
       "length of the longest stall; 0s: there was none", "likewise; or the limit is below what counts as a stall"},
      {Metric::kSteady, "steady", "", MetricUnit::kYesNo, "", Better::kHigher, whole, false, false,
       "whether IO/s is steady by SNIA's rule; `steady` alone requires it", kNoTrend},
      {Metric::kDriftIops, "drift_iops", "", MetricUnit::kSignedPercent, "", Better::kHigher, whole, false, false,
       "change of IO/s from the first to the last third of the step", kNoTrend},
      {Metric::kDriftLatency, "drift_latency", "", MetricUnit::kSignedPercent, "", Better::kLower, whole, false, false,
       "change of the mean service time from the first to the last third of the step", kNoTrend},
      {Metric::kFairness,
       "fairness",
       "",
       MetricUnit::kRatio,
       "",
       Better::kHigher,
       {kQm, kHost},
       false,
       false,
       "Jain's index of IO/s among the queue managers, or with `@host` among the hosts; 1: all have the same",
       "there are fewer than two of them"},
      {Metric::kStartSkew, "start_skew", "", MetricUnit::kNanoseconds, "", Better::kLower, whole, false, false,
       "latest minus earliest first write of the hosts", "a host has no first write, or its clock is not known"},
      {Metric::kClockError,
       "clock_error",
       "",
       MetricUnit::kNanoseconds,
       "",
       Better::kLower,
       {kHost},
       false,
       false,
       "bound of a host's clock error while steps ran",
       "the host answered no clock probe"},
      {Metric::kNfsRetransmits,
       "nfs_retransmits",
       "",
       MetricUnit::kCount,
       "retransmits",
       Better::kLower,
       {kCluster, kHost},
       false,
       false,
       "NFS WRITE and COMMIT calls that a host's kernel sent again",
       "a host reports no NFS mount below its directory, its counters went back, or calls were sent again as the "
       "warm-up "
       "ended"},
      {Metric::kHosts, "hosts", "", MetricUnit::kCount, "hosts", Better::kHigher, whole, false, false,
       "hosts that were measured to the end of the step; where `hosts>=N` is given and holds, a host that was lost or "
       "failed is not a reason for INCONCLUSIVE",
       "never"},
  };
}

std::string UnitWords(const MetricInfo& info) {
  switch (info.unit) {
    case MetricUnit::kNanoseconds:
      return "time with unit";
    case MetricUnit::kWritesPerSecond:
      return "writes/s";
    case MetricUnit::kBytesPerSecond:
      return "MB/s";
    case MetricUnit::kCount:
      return absl::StrCat("number of ", info.noun);
    case MetricUnit::kPercent:
    case MetricUnit::kSignedPercent:
      return "percent";
    case MetricUnit::kRatio:
      return "0 to 1";
    case MetricUnit::kYesNo:
      break;
  }
  return "`yes`, `no`";
}

}  // namespace

const std::vector<MetricInfo>& Metrics() {
  static const auto& metrics = *new std::vector<MetricInfo>(MakeMetrics());
  return metrics;
}

const MetricInfo& InfoOf(Metric metric) {
  return Metrics()[static_cast<size_t>(metric)];
}

const char* ScopeName(CriterionScope scope) {
  switch (scope) {
    case kCluster:
      return "cluster";
    case kStorage:
      return "storage";
    case kHost:
      return "host";
    case kQm:
      break;
  }
  return "qm";
}

std::string MetricNames() {
  std::string names;
  for (const MetricInfo& info : Metrics()) {
    absl::StrAppend(&names,
                    names.empty()                ? ""
                    : &info == &Metrics().back() ? " or "
                                                 : ", ",
                    info.name, info.metric == Metric::kPercentile ? " (such as p99.9)" : "");
  }
  return names;
}

std::string MetricTable() {
  std::string table =
      "| Metric | Of what | Unit | Better | Where | No value where |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const MetricInfo& info : Metrics()) {
    absl::StrAppend(&table, "| `", info.name, "`",
                    info.alias[0] == '\0' ? "" : absl::StrCat(" (or `", info.alias, "`)"),
                    info.has_service_time ? absl::StrCat(", `service_", info.name, "`") : "",
                    info.has_stall_class ? absl::StrCat(", `", info.name, "[class]`") : "", " | ", info.meaning, " | ",
                    UnitWords(info), " | ", info.better == Better::kLower ? "lower" : "higher", " | ");
    for (const CriterionScope scope : info.scopes) {
      const bool first = scope == info.scopes.front();
      absl::StrAppend(&table, first ? "**`@" : ", `@", ScopeName(scope), first ? "`**" : "`");
    }
    absl::StrAppend(&table, " | ", info.missing, " |\n");
  }
  return table;
}

}  // namespace plimsoll
