#include "tests/report_sums.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"

namespace plimsoll::tests {
namespace {

const v1::ScopeReport* ClusterOf(const v1::StepReport& step) {
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() == v1::SCOPE_KIND_CLUSTER) return &scope;
  }
  return nullptr;
}

std::string NameOf(const v1::ScopeReport& scope) {
  return absl::StrCat(v1::ScopeKind_Name(scope.kind()), " ", scope.host(), "/", scope.qm(), "/", scope.storage());
}

template <typename Value>
Value SumOfKind(const v1::StepReport& step, v1::ScopeKind kind, Value (*value)(const v1::ScopeReport&)) {
  Value sum = 0;
  for (const v1::ScopeReport& scope : step.scopes()) sum += scope.kind() == kind ? value(scope) : 0;
  return sum;
}

std::string LatencyProblem(const v1::LatencyReport& latency) {
  const std::vector<uint64_t> ordered = {latency.min_ns(),   latency.p50_ns(),    latency.p90_ns(), latency.p99_ns(),
                                         latency.p99_9_ns(), latency.p99_99_ns(), latency.max_ns()};
  return std::is_sorted(ordered.begin(), ordered.end()) ? "" : "percentiles that do not rise";
}

}  // namespace

void ReportSums::Sums::Add(const Sums& other) {
  writes += other.writes;
  closing_writes += other.closing_writes;
  warmup_writes += other.warmup_writes;
  bytes += other.bytes;
  latency_sum_ns += other.latency_sum_ns;
  latency_max_ns = std::max(latency_max_ns, other.latency_max_ns);
}

void ReportSums::Watch(Analyzer& analyzer) {
  analyzer.SetFrameListener([this](uint32_t host, const v1::Frame& frame) { Add(host, frame); });
}

void ReportSums::Add(uint32_t host, const v1::Frame& frame) {
  if (frame.operation() != 0) {
    // Parts of writes have no bytes, and are in no sum.
    const bool is_measured_read = frame.bytes() > 0 && (frame.first_interval() >= 0 || frame.closing());
    if (is_measured_read) reads_ += frame.latency().count();
    return;
  }
  Sums& sums = sums_[{frame.step(), host, frame.qm()}];
  if (frame.first_interval() < 0 && !frame.closing()) {
    sums.warmup_writes += frame.latency().count();
    return;
  }
  const uint64_t writes = frame.latency().count();
  sums.Add(
      {writes, frame.closing() ? writes : 0, 0, frame.bytes(), frame.latency().sum_ns(), frame.latency().max_ns()});
}

uint64_t ReportSums::writes() const {
  return std::accumulate(sums_.begin(), sums_.end(), uint64_t{0},
                         [](uint64_t sum, const auto& one) { return sum + one.second.writes; });
}

std::string ReportSums::Compare(const Sums& sums, const v1::ScopeReport& scope) {
  const auto differs = [&scope](const char* what, uint64_t received, uint64_t told) {
    return received == told ? std::string()
                            : absl::StrCat(NameOf(scope), ": ", what, ": received ", received, ", told ", told, "\n");
  };
  return absl::StrCat(differs("writes", sums.writes, scope.writes() + scope.closing().writes()),
                      differs("bytes", sums.bytes, scope.bytes() + scope.closing().bytes()),
                      differs("closing writes", sums.closing_writes, scope.closing().writes()),
                      differs("warm-up writes", sums.warmup_writes, scope.warmup_writes()),
                      differs("latency sum", sums.latency_sum_ns, scope.latency().sum_ns()),
                      differs("latencies", sums.writes, scope.latency().count()),
                      differs("largest latency", sums.latency_max_ns, scope.latency().max_ns()));
}

std::string ReportSums::StepProblem(const v1::StepReport& step) const {
  const uint32_t number = step.number() - 1;
  Sums all;
  std::vector<Sums> writers;
  for (const auto& [key, sums] : sums_) {
    if (std::get<0>(key) != number) continue;
    all.Add(sums);
    writers.push_back(sums);
  }
  const v1::ScopeReport* cluster = ClusterOf(step);
  if (cluster == nullptr) return "no row for the cluster";
  std::string problem = Compare(all, *cluster);
  // Writers have no numbers of hosts in the report: those of one host stand together, hosts in the order of numbers.
  std::vector<const v1::ScopeReport*> rows;
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() == v1::SCOPE_KIND_QM && (scope.latency().count() > 0 || scope.warmup_writes() > 0))
      rows.push_back(&scope);
  }
  std::erase_if(writers, [](const Sums& sums) { return sums.writes == 0 && sums.warmup_writes == 0; });
  if (rows.size() != writers.size()) {
    return absl::StrCat(problem, rows.size(), " writers are told of, ", writers.size(), " were heard of");
  }
  for (size_t i = 0; i < rows.size(); ++i) problem += Compare(writers[i], *rows[i]);
  return problem;
}

std::string ReportSums::Problem(const v1::Report& report) const {
  std::string problem;
  std::map<uint32_t, int> told;
  for (const v1::StepReport& step : report.steps()) {
    if (++told[step.number()] > 1) problem += "a step is told of twice\n";
    const std::string of_step = absl::StrCat(StepProblem(step), Contradiction(step));
    if (!of_step.empty()) absl::StrAppend(&problem, "step ", step.number(), ": ", of_step, "\n");
  }
  for (const auto& [key, sums] : sums_) {
    if (!told.contains(std::get<0>(key) + 1)) absl::StrAppend(&problem, "step ", std::get<0>(key) + 1, " is missing\n");
  }
  return problem;
}

std::string Contradiction(const v1::StepReport& step) {
  std::string problem;
  const v1::ScopeReport* cluster = ClusterOf(step);
  if (cluster == nullptr) return "no row for the cluster";
  const auto check = [&](const char* what, uint64_t (*value)(const v1::ScopeReport&)) {
    for (const v1::ScopeKind kind : {v1::SCOPE_KIND_QM, v1::SCOPE_KIND_HOST}) {
      if (SumOfKind(step, kind, value) != value(*cluster)) {
        absl::StrAppend(&problem, what, " of ", v1::ScopeKind_Name(kind), " do not add up to the cluster's\n");
      }
    }
  };
  check("writes", [](const v1::ScopeReport& scope) { return scope.writes(); });
  check("closing writes", [](const v1::ScopeReport& scope) { return scope.closing().writes(); });
  check("bytes", [](const v1::ScopeReport& scope) { return scope.bytes(); });
  check("latencies", [](const v1::ScopeReport& scope) { return scope.latency().sum_ns(); });
  for (const v1::ScopeReport& scope : step.scopes()) {
    const std::string name = NameOf(scope);
    if (step.block_size_bytes() > 0 && scope.bytes() != scope.writes() * step.block_size_bytes()) {
      absl::StrAppend(&problem, name, ": bytes that are not writes times block size\n");
    }
    if (scope.latency().count() != scope.writes() + scope.closing().writes()) {
      absl::StrAppend(&problem, name, ": writes without a latency\n");
    }
    const std::string latency = LatencyProblem(scope.latency());
    if (!latency.empty()) absl::StrAppend(&problem, name, ": ", latency, "\n");
  }
  for (const v1::DistributionReport& one : step.distributions()) {
    if (one.kind() != v1::SCOPE_KIND_CLUSTER) continue;
    const uint64_t count = std::accumulate(one.count().begin(), one.count().end(), uint64_t{0});
    if (count != cluster->latency().count()) absl::StrAppend(&problem, "a distribution of ", count, " writes\n");
  }
  return problem;
}

}  // namespace plimsoll::tests
