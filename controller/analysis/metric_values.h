// The values of metrics: one getter for each entry of controller/criteria/criteria.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/histogram.h"
#include "controller/analysis/cpu_wait.h"
#include "controller/analysis/scope_sums.h"
#include "controller/analysis/seconds.h"
#include "controller/criteria/criteria.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Writes beyond a criterion's limit, for percentiles.
struct BeyondLimit {
  // Writes, and those of them that lie beyond the limit for certain, and perhaps: in flight still, or nearer to it than
  // the clock can resolve.
  uint64_t writes = 0;
  uint64_t certain = 0;
  uint64_t possible = 0;
  // Writes that are known to be missing; UINT64_MAX if their number is not known.
  uint64_t missing = 0;
  int64_t measured_ns = 0;
};

// A figure of one place.
struct Reading {
  v1::ScopeKind kind = v1::SCOPE_KIND_CLUSTER;
  std::string host;
  uint32_t qm = 0;
  uint32_t storage = 0;
  // Name of the queue manager, in a placement; else empty.
  std::string queue_manager = {};
  // As measured; nothing where there is none.
  std::optional<double> value;
  // The truth lies between these for certain.
  double least = 0;
  double most = 0;
  // Why there is no value, or why the bounds differ; a half-sentence.
  std::string doubt;
  // It is of a lost host alone: where the plan accepts lost hosts, doubts about it do not count.
  bool of_lost_host = false;
  // A host that was lost would have added to it: where the plan does not accept that, `most` has no bound.
  bool lost_more = false;
  std::optional<BeyondLimit> beyond;
};

// One scope of one step.
struct ScopeFigures {
  const v1::ScopeReport& scope;
  const ScopeSums& sums;
  // What callers felt: response times of writers with a rate, service times of the others.
  const Histogram& response;
  const SecondExtremes& extremes;
  // The step ended early.
  bool cut_short = false;
  // The operation that all of these are about, by its name; empty: the write.
  std::string operation = {};
};

// NFS retransmits of a host in the measured time of a step: the truth lies between these.
struct RetransmitFigures {
  double least = 0;
  double most = 0;
  // Why the bounds differ.
  std::string doubt;
};

// One step as a whole. `report` is finished.
struct StepFigures {
  const v1::StepReport& report;
  // Hosts that were measured to the step's end, and those that may have been: the data end before that is known.
  uint64_t hosts_to_end = 0;
  uint64_t hosts_undecided = 0;
  // Data of the step were refused, or are lost.
  bool data_missing = false;
  // By host; those whose kernels report NFS mounts.
  std::map<std::string, RetransmitFigures> retransmits = {};
  // As ScopeSums has them, over all hosts.
  bool generator_bound = false;
  double cpu_wait_ns = 0;
  // Evidence of each stall; empty unless generator_bound.
  std::vector<StallEvidence> stalls = {};
};

using ScopeGetter = Reading (*)(const Criterion& criterion, const ScopeFigures& figures);
// One reading for each place that the criterion looks at.
using StepGetter = std::vector<Reading> (*)(const Criterion& criterion, const StepFigures& figures);
using RunGetter = std::vector<Reading> (*)(const v1::Report& report);

// Exactly one of the three is set.
struct MetricGetter {
  Metric metric;
  ScopeGetter of_scope = nullptr;
  StepGetter of_step = nullptr;
  RunGetter of_run = nullptr;
};

// In the order of the enumeration; every metric once.
const std::vector<MetricGetter>& MetricGetters();

}  // namespace plimsoll
