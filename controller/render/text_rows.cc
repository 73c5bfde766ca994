#include "controller/render/text_rows.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/algorithm/container.h"
#include "common/stable_sort.h"
#include "common/units.h"
#include "controller/render/text_numbers.h"

namespace plimsoll {
namespace {

constexpr uint64_t kMicrosecondsBelowNs = 100'000;
constexpr uint64_t kLargestP99InMicrosecondsNs = 100'000'000;
constexpr uint64_t kLargestInMicrosecondsNs = 10'000'000'000;

uint64_t FeltP99Ns(const v1::ScopeReport& scope) {
  const v1::LatencyReport& latency = FeltLatency(scope);
  return latency.count() == 0 ? std::numeric_limits<uint64_t>::max() : latency.p99_ns();
}

}  // namespace

const v1::LatencyReport& FeltLatency(const v1::ScopeReport& scope) {
  return scope.has_rate() ? scope.rate().response() : scope.latency();
}

bool HasTargetRate(const v1::StepReport& step) {
  return absl::c_any_of(step.scopes(), [](const v1::ScopeReport& scope) { return scope.has_rate(); });
}

const char* FeltName(const v1::StepReport& step) {
  return HasTargetRate(step) ? "response time" : "service time";
}

const v1::ScopeReport* ClusterOf(const v1::StepReport& step) {
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() == v1::SCOPE_KIND_CLUSTER) return &scope;
  }
  return nullptr;
}

std::vector<const v1::ScopeReport*> BestAndWorst(std::vector<const v1::ScopeReport*> scopes) {
  if (scopes.size() <= kMostRows) return scopes;
  StableSort(scopes, [](const v1::ScopeReport* a, const v1::ScopeReport* b) { return FeltP99Ns(*a) < FeltP99Ns(*b); });
  const auto end = static_cast<std::ptrdiff_t>(kRowsOfAnEnd);
  scopes.erase(scopes.begin() + end, scopes.end() - end);
  return scopes;
}

bool IsLarge(const v1::Report& report) {
  return static_cast<size_t>(report.hosts_size()) > kMostRows || report.run().queue_managers() > kMostRows;
}

LatencyUnit UnitFor(const std::vector<const v1::StepReport*>& steps) {
  bool fast = false;
  for (const v1::StepReport* step : steps) {
    for (const v1::ScopeReport& scope : step->scopes()) {
      for (const v1::LatencyReport* latency : {&scope.latency(), &FeltLatency(scope)}) {
        if (latency->p99_ns() >= kLargestP99InMicrosecondsNs || latency->max_ns() >= kLargestInMicrosecondsNs)
          return {};
        fast = fast || (scope.kind() == v1::SCOPE_KIND_CLUSTER && latency->count() > 0 &&
                        latency->p50_ns() < kMicrosecondsBelowNs);
      }
    }
  }
  if (fast) return {kNsPerUs, "us"};
  return {};
}

std::string PercentileCell(const v1::LatencyReport& latency, const char* name, uint64_t value_ns,
                           const LatencyUnit& unit) {
  if (latency.count() == 0 || absl::c_linear_search(latency.thin(), name)) return kDash;
  return FormatLatency(static_cast<double>(value_ns), unit.unit_ns);
}

std::string LatencyCell(const v1::LatencyReport& latency, double value_ns, const LatencyUnit& unit) {
  return latency.count() == 0 ? kDash : FormatLatency(value_ns, unit.unit_ns);
}

}  // namespace plimsoll
