// Finds the figures of a scope in a report, and which of them are known.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <algorithm>
#include <ranges>
#include <string>

#include "common/protocol.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// The entries of one kind among a step's scopes, series or distributions, in their order.
template <typename Entry>
auto OfKind(const google::protobuf::RepeatedPtrField<Entry>& entries, v1::ScopeKind kind) {
  return std::views::filter(entries, [kind](const Entry& entry) { return entry.kind() == kind; });
}

// The cluster's entry among a step's scopes, series or distributions; null if there is none.
template <typename Entry>
const Entry* ClusterOf(const google::protobuf::RepeatedPtrField<Entry>& entries) {
  for (const Entry& entry : OfKind(entries, v1::SCOPE_KIND_CLUSTER)) return &entry;
  return nullptr;
}

// The cluster's figures of a step; null if there are none.
inline const v1::ScopeReport* ClusterOf(const v1::StepReport& step) {
  return ClusterOf(step.scopes());
}

// Whether an operation's figures are those of the scope.
inline bool IsSameScope(const v1::OperationScopeReport& one, const v1::ScopeReport& scope) {
  return one.kind() == scope.kind() && one.qm() == scope.qm() && one.host() == scope.host() &&
         (scope.kind() != v1::SCOPE_KIND_STORAGE || one.storage() == scope.storage());
}

// The figures of an operation in a scope; null if there are none. Looks through all of the operation's.
inline const v1::OperationScopeReport* FindScope(const v1::OperationReport& operation, const v1::ScopeReport& scope) {
  const auto found = std::ranges::find_if(
      operation.scopes(), [&scope](const v1::OperationScopeReport& one) { return IsSameScope(one, scope); });
  return found == operation.scopes().end() ? nullptr : &*found;
}

// The reads of a step that writes as well; null if there are none.
inline const v1::OperationReport* ReadsOf(const v1::StepReport& step) {
  const auto found = std::ranges::find(step.operations(), kReadName, &v1::OperationReport::name);
  return found == step.operations().end() ? nullptr : &*found;
}

// Whether that is the name of a part of a write: of its call, or of the sync behind it.
inline bool IsPartName(const std::string& name) {
  return name == "write_call" || name == "sync";
}

// The commits of a step's simulated clients; null if there are none.
inline const v1::OperationReport* CommitsOf(const v1::StepReport& step) {
  const auto found = std::ranges::find(step.operations(), kCommitName, &v1::OperationReport::name);
  return found == step.operations().end() ? nullptr : &*found;
}

// Whether an operation beside the main one has a throughput of its own, as reads and calls have, and parts have not.
inline bool IsWhole(const v1::OperationReport& operation) {
  return operation.name() == kReadName ||
         std::ranges::any_of(operation.scopes(), &v1::OperationScopeReport::has_throughput);
}

// The report's step with that number; null if there is none.
inline const v1::StepReport* StepByNumber(const v1::Report& report, uint32_t number) {
  for (const v1::StepReport& step : report.steps()) {
    if (step.number() == number) return &step;
  }
  return nullptr;
}

// Whether the load generator of a host may have been CPU-bound in a step.
inline bool IsCpuBound(const v1::StepReport& step) {
  return std::ranges::any_of(step.load(), [](const v1::HostLoadReport& load) { return !load.bottleneck().empty(); });
}

// What a caller felt: the response time if there is a target rate, otherwise the service time, which is then the same.
inline const v1::LatencyReport& FeltLatency(const v1::ScopeReport& scope) {
  return scope.has_rate() ? scope.rate().response() : scope.latency();
}

// Whether too few values lie beyond a percentile (IsKnown in common/histogram.h). `figure`: its name in the message
// without its unit, such as "p99_9".
template <typename Latency>
bool IsThin(const Latency& latency, const std::string& figure) {
  return std::find(latency.thin().begin(), latency.thin().end(), figure) != latency.thin().end();
}

// Whether a latency is known: something was measured, and a percentile is not thin.
template <typename Latency>
bool IsKnown(const Latency& latency, const std::string& figure) {
  if constexpr (requires { latency.count(); }) {
    return latency.count() > 0 && !IsThin(latency, figure);
  } else {
    return latency.max_ns() > 0 && !IsThin(latency, figure);
  }
}

}  // namespace plimsoll
