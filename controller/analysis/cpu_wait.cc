#include "controller/analysis/cpu_wait.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_format.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/analysis/bottleneck.h"
#include "controller/analysis/host_facts.h"

namespace plimsoll {
namespace {

// The least that the longest write can have taken if the writes waited for a CPU for `wait_ns` in all.
double LeastMax(const Histogram& writes, double wait_ns) {
  if (writes.count() == 0 || wait_ns <= 0) return static_cast<double>(writes.max_ns());
  double level_ns = 0;
  double lowered = 0;
  for (uint32_t index = HistogramLayout::IndexOf(std::min(writes.max_ns(), HistogramLayout::kMaxValueNs)) + 1;
       index-- > 0;) {
    const uint64_t count = writes.CountAt(index);
    if (count == 0) continue;
    const auto lowest_ns = static_cast<double>(HistogramLayout::LowestNs(index));
    const double needed_ns = lowered * (level_ns - lowest_ns);
    if (needed_ns >= wait_ns) break;
    wait_ns -= needed_ns;
    level_ns = lowest_ns;
    lowered += static_cast<double>(count);
  }
  return std::max(level_ns - wait_ns / lowered, 0.0);
}

// Whether the stall is of the class that the criterion counts, where hosts of both kinds stalled perhaps of another.
bool IsOfClass(const Criterion& criterion, const StallEvidence& stall) {
  return criterion.stall_class == v1::STALL_CLASS_UNSPECIFIED || criterion.stall_class == stall.stall_class;
}
bool MayBeOfOthers(const Criterion& criterion, const StallEvidence& stall) {
  return criterion.stall_class != v1::STALL_CLASS_UNSPECIFIED && stall.mixed;
}

}  // namespace

std::optional<double> CpuWaitToAllow(const StepStats& step, uint32_t host, const HostFacts& facts, uint32_t rules,
                                     int64_t measured_ns) {
  // A search looks at the generator itself, and names it as the limit.
  const bool searched = step.step().purpose() != v1::STEP_PURPOSE_UNSPECIFIED;
  if (facts.Placed(1) == nullptr && (rules < 2 || searched)) return std::nullopt;
  const auto load = step.loads().find(host);
  if (load == step.loads().end() || load->second.empty()) return std::nullopt;
  if (BottleneckOf(load->second.Make(), 0).empty()) return std::nullopt;
  const auto start_ns = step.HostMeasuredStartNs(host);
  return start_ns ? load->second.MostCpuWaitNs(*start_ns + measured_ns) : kNoBound;
}

uint64_t CountExplained(const Criterion& criterion, const Histogram& writes, double wait_ns) {
  if (writes.count() == 0 || wait_ns <= 0) return 0;
  const auto index_of = [](double ns) {
    return HistogramLayout::IndexOf(
        static_cast<uint64_t>(std::clamp(ns, 0.0, static_cast<double>(HistogramLayout::kMaxValueNs))));
  };
  const uint32_t last = index_of(static_cast<double>(writes.max_ns()));
  uint64_t explained = 0;
  for (uint32_t index = index_of(criterion.limit); index <= last; ++index) {
    const uint64_t count = writes.CountAt(index);
    if (count == 0) continue;
    const double excess_ns = static_cast<double>(HistogramLayout::LowestNs(index)) - criterion.limit;
    if (excess_ns > 0 && excess_ns * static_cast<double>(count) > wait_ns) {
      return explained + static_cast<uint64_t>(wait_ns / excess_ns);
    }
    explained += count;
    wait_ns -= std::max(excess_ns, 0.0) * static_cast<double>(count);
  }
  return explained;
}

double LeastLatency(const Criterion& criterion, const ScopeSums& sums, double value_ns) {
  const double wait_ns = sums.cpu_wait_ns;
  if (criterion.metric == Metric::kMax) {
    double least_ns = LeastMax(sums.latency, wait_ns);
    for (const int64_t age_ns : sums.in_flight_ages_ns) {
      least_ns = std::max(least_ns, static_cast<double>(age_ns) - wait_ns);
    }
    return least_ns;
  }
  if (wait_ns <= 0) return value_ns;
  if (criterion.metric == Metric::kAverage && sums.latency.count() > 0) {
    return std::max(value_ns - wait_ns / static_cast<double>(sums.latency.count()), 0.0);
  }
  // No weighted average is below the fastest write.
  return std::max(static_cast<double>(sums.latency.min_ns()) - wait_ns, 0.0);
}

double LeastResponse(const Criterion& criterion, const ScopeSums& sums, const Histogram& responses, double least_ns,
                     double least_service_ns) {
  auto delay_ns = static_cast<double>(sums.start_delay.max_ns());
  double floor_ns = least_service_ns;
  if (criterion.metric == Metric::kAverage && responses.count() > 0) {
    const auto all = static_cast<double>(responses.count());
    const double late = std::min(static_cast<double>(sums.start_delay.late_writes()), all);
    delay_ns = (late * delay_ns + (all - late) * std::min(delay_ns, static_cast<double>(kPromptStartNs))) / all;
    // Writes that were not issued have no service time.
    floor_ns *= std::min(static_cast<double>(sums.latency.count()) / all, 1.0);
  } else if (criterion.metric == Metric::kWeightedAverage) {
    // No weighted average is below the fastest write.
    least_ns = std::min(least_ns, static_cast<double>(responses.min_ns()));
    floor_ns = 0;
  }
  return std::max({least_ns - delay_ns, floor_ns, 0.0});
}

std::string StartDelayText(const ScopeSums& sums) {
  return absl::StrFormat("the load generator started writes up to %.3f ms late",
                         static_cast<double>(sums.start_delay.max_ns()) / static_cast<double>(kNsPerMs));
}

StallsByCpuWait CountByCpuWait(const Criterion& criterion, const std::vector<StallEvidence>& stalls, double wait_ns) {
  StallsByCpuWait counts;
  std::vector<double> excesses_ns;
  for (const StallEvidence& stall : stalls) {
    if (IsOfClass(criterion, stall)) {
      excesses_ns.push_back(MayBeOfOthers(criterion, stall) ? 0 : stall.excess_ns);
    } else if (stall.mixed) {
      ++counts.more;
    }
  }
  std::sort(excesses_ns.begin(), excesses_ns.end());
  for (const double excess_ns : excesses_ns) {
    if (!std::isfinite(excess_ns) || excess_ns > wait_ns) break;
    wait_ns -= excess_ns;
    ++counts.none;
  }
  return counts;
}

double LeastLongestStall(const Criterion& criterion, const std::vector<StallEvidence>& stalls) {
  double longest_ns = 0;
  for (const StallEvidence& stall : stalls) {
    if (!IsOfClass(criterion, stall) || MayBeOfOthers(criterion, stall)) continue;
    longest_ns = std::max(longest_ns, stall.least_length_ns);
  }
  return longest_ns;
}

}  // namespace plimsoll
