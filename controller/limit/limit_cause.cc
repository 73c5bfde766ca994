// What keeps a higher load from meeting the criteria: the storage, one host's path to it, or the load generator.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/algorithm.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"
#include "controller/limit/limit_analysis.h"
#include "controller/report/main_operation.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

// Hosts whose latency is within this factor of the worst one are affected like it.
constexpr double kAlikeFactor = 2;

bool IsLatency(const Criterion& criterion) {
  return InfoOf(criterion.metric).has_service_time;
}

// The next percentile from `wanted` on that a report has; nothing where it has too few writes for that one.
std::optional<double> PercentileOf(double wanted, const v1::LatencyReport& latency) {
  struct Known {
    double percentile;
    const char* name;
    uint64_t value_ns;
  };
  const Known known[] = {{50, "p50", latency.p50_ns()},
                         {90, "p90", latency.p90_ns()},
                         {99, "p99", latency.p99_ns()},
                         {99.9, "p99_9", latency.p99_9_ns()},
                         {99.99, "p99_99", latency.p99_99_ns()}};
  for (const Known& one : known) {
    if (wanted > one.percentile) continue;
    return IsThin(latency, one.name) ? std::nullopt : std::optional(static_cast<double>(one.value_ns));
  }
  return static_cast<double>(latency.max_ns());
}

// The criterion's figure of a distribution, which it is about. Nothing where a percentile has too few writes.
std::optional<double> FigureOf(const Criterion& criterion, const v1::LatencyReport& latency) {
  switch (criterion.metric) {
    case Metric::kMin:
      return static_cast<double>(latency.min_ns());
    case Metric::kAverage:
      return latency.avg_ns();
    case Metric::kWeightedAverage:
      return latency.wavg_ns();
    case Metric::kMax:
      return static_cast<double>(latency.max_ns());
    case Metric::kPercentile:
      return PercentileOf(criterion.percentile, latency);
    // No latencies.
    case Metric::kWritesPerSecond:
    case Metric::kBytesPerSecond:
    case Metric::kMinWritesPerSecond:
    case Metric::kMinBytesPerSecond:
    case Metric::kWrites:
    case Metric::kRateAchieved:
    case Metric::kNotIssued:
    case Metric::kStalls:
    case Metric::kLongestStall:
    case Metric::kSteady:
    case Metric::kDriftIops:
    case Metric::kDriftLatency:
    case Metric::kFairness:
    case Metric::kStartSkew:
    case Metric::kClockError:
    case Metric::kNfsRetransmits:
    case Metric::kHosts:
      break;
  }
  return std::nullopt;
}

}  // namespace

const LimitAnalysis::Step* LimitAnalysis::GeneratorBound() const {
  const Step* const exceeding = Exceeding();
  if (exceeding != nullptr && IsGeneratorBound(*exceeding)) return exceeding;
  const LimitBounds bounds = search_->bounds();
  if (!IsClosedLoop()) {
    // A rate that was reached all the same, was; but the next higher one may be undecided because of it.
    if (exceeding != nullptr || !bounds.above) return nullptr;
    const Step* lowest = nullptr;
    for (const Step& step : steps_) {
      const double load = step.point.load();
      const bool above = rules_ >= 4 ? load > bounds.meets : std::abs(load - *bounds.above) <= 1e-9 * load;
      const bool undecided =
          above && step.point.state() == v1::LIMIT_STATE_UNDECIDED && step.point.purpose() != v1::STEP_PURPOSE_PROBE;
      if (undecided && IsGeneratorBound(step) && (lowest == nullptr || load < lowest->point.load())) lowest = &step;
    }
    return lowest;
  }
  // In a closed loop a writer that waits for a CPU writes less than it could, so that the storage is not shown to bear
  // the load.
  if (bounds.meets > 0 && IsGeneratorBound(steps_[bounds.meets_result])) return &steps_[bounds.meets_result];
  if (exceeding != nullptr) return nullptr;
  const auto found = std::find_if(steps_.begin(), steps_.end(), IsGeneratorBound);
  return found == steps_.end() ? nullptr : &*found;
}

void LimitAnalysis::SetCause(v1::LimitReport& limit) const {
  const Step* const bound = GeneratorBound();
  const Step* const step = bound != nullptr ? bound : Exceeding();
  if (step == nullptr) {
    limit.set_cause_text(limit.limit() > 0 ? "no higher load was shown to exceed the criteria" : "");
    return;
  }
  const std::string at = absl::StrCat("at ", step->point.load() > 0 ? LoadText(step->point.load()) : "no target rate",
                                      " (step ", step->point.step(), ") ");
  if (bound == nullptr) {
    CompareHosts(*step, at, limit);
    return;
  }
  const HostFact& slow = *std::find_if(step->hosts.begin(), step->hosts.end(),
                                       [](const HostFact& host) { return !host.bottleneck.empty(); });
  limit.set_cause(v1::LIMIT_CAUSE_LOAD_GENERATOR);
  limit.set_host(slow.label);
  limit.set_cause_text(absl::StrCat(at, "the load generator on ", slow.label, " may be CPU-bound: ", slow.bottleneck,
                                    "; the storage may carry more"));
}

void LimitAnalysis::CompareHosts(const Step& step, const std::string& at, v1::LimitReport& limit) const {
  const auto one_host_alone = [&limit] {
    limit.set_cause(v1::LIMIT_CAUSE_UNDETERMINED);
    limit.set_cause_text("the storage or this host's path to it: one host alone cannot show which");
  };
  if (step.hosts.size() < 2) return one_host_alone();
  // By the criterion that the load exceeds, or else the plan's first one about a latency; without any, by p99.
  std::vector<std::string> texts = {step.point.criterion()};
  texts.insert(texts.end(), plan_.criteria().begin(), plan_.criteria().end());
  Criterion criterion = ParseCriterion("p99<1h").value();
  std::string name = "p99";
  for (const std::string& text : texts) {
    absl::StatusOr<Criterion> parsed = ParseCriterion(text);
    if (!parsed.ok() || !IsLatency(*parsed)) continue;
    // Hosts without a sync after each write measure no parts. Only the exceeded criterion is worth leaving them out.
    const auto measures = [&parsed](const HostFact& host) { return host.operations.contains(parsed->operation); };
    const bool by_all = parsed->operation.empty() || std::ranges::all_of(step.hosts, measures);
    if (!by_all && text != step.point.criterion()) continue;
    criterion = *std::move(parsed);
    name = text.substr(0, text.find_first_of("@<>="));
    break;
  }
  struct Figure {
    std::string label;
    double value_ns = 0;
  };
  std::vector<Figure> figures;
  for (const HostFact& host : step.hosts) {
    const auto operation = host.operations.find(criterion.operation);
    if (!criterion.operation.empty() && operation == host.operations.end()) continue;
    const std::optional<double> figure = FigureOf(criterion, !criterion.operation.empty() ? operation->second
                                                             : criterion.service_time     ? host.service
                                                                                          : host.felt);
    if (!figure) {
      limit.set_cause(v1::LIMIT_CAUSE_UNDETERMINED);
      limit.set_cause_text(absl::StrCat("storage or path: ", at, host.label, " had too few ",
                                        criterion.operation == kReadName     ? "reads"
                                        : criterion.operation == kCommitName ? "commits"
                                                                             : MainOperations(plan_),
                                        " for ", name));
      return;
    }
    figures.push_back({host.label, *figure});
  }
  if (figures.empty()) return one_host_alone();
  if (figures.size() == 1) {
    limit.set_cause(v1::LIMIT_CAUSE_UNDETERMINED);
    limit.set_cause_text(absl::StrCat("the storage or the path of ", figures[0].label, ": no other host measures the ",
                                      criterion.operation));
    return;
  }
  const std::string hosts =
      figures.size() == step.hosts.size() ? "hosts" : absl::StrCat("hosts that measure the ", criterion.operation);
  StableSort(figures, [](const Figure& a, const Figure& b) { return a.value_ns > b.value_ns; });
  const double worst_ns = figures[0].value_ns;
  const auto alike = static_cast<size_t>(std::count_if(figures.begin(), figures.end(), [&](const Figure& host) {
    return host.value_ns * kAlikeFactor >= worst_ns || !Fulfils(criterion, host.value_ns);
  }));
  const auto text = [](double value_ns) {
    return absl::StrFormat("%.3f ms", value_ns / static_cast<double>(kNsPerMs));
  };
  if (alike == figures.size()) {
    limit.set_cause(v1::LIMIT_CAUSE_STORAGE);
    limit.set_cause_text(absl::StrCat(at, figures.size() == 2 ? "both" : absl::StrCat("all ", figures.size()), " ",
                                      hosts, " are affected, ", name, " from ", text(figures.back().value_ns), " to ",
                                      text(worst_ns)));
  } else if (alike == 1) {
    limit.set_cause(v1::LIMIT_CAUSE_HOST_PATH);
    limit.set_host(figures[0].label);
    limit.set_cause_text(absl::StrCat(at, figures[0].label, " has a ", name, " of ", text(worst_ns), ", the other ",
                                      hosts, " at most ", text(figures[1].value_ns)));
  } else {
    limit.set_cause(v1::LIMIT_CAUSE_UNDETERMINED);
    limit.set_cause_text(absl::StrCat("storage or path: ", at, alike, " of ", figures.size(), " hosts are affected, ",
                                      name, " of at least ", text(figures[alike - 1].value_ns)));
  }
}

}  // namespace plimsoll
