#include "controller/disturb/load_seconds.h"

#include <algorithm>
#include <map>

#include "controller/report/scopes.h"
#include "controller/timeline/timeline.h"

namespace plimsoll {

std::vector<LoadSecond> LoadSecondsOf(const v1::StepReport& step) {
  std::vector<LoadSecond> seconds(WholeSecondsIn(step.measured_ns()));
  const auto& all = step.has_response() ? step.response().series() : step.series();
  for (const v1::SeriesReport& series : OfKind(all, v1::SCOPE_KIND_CLUSTER)) {
    std::map<uint32_t, const v1::IrregularRow*> irregular;
    for (const v1::IrregularRow& row : series.irregular()) irregular[row.row()] = &row;
    for (int row = 0; row < series.second_size(); ++row) {
      const auto found = irregular.find(static_cast<uint32_t>(row));
      const v1::IrregularRow* const one = found == irregular.end() ? nullptr : found->second;
      if (one != nullptr && one->closing()) continue;
      const bool averaged = one != nullptr && one->coalesced();
      const auto count = averaged ? std::max<uint64_t>(1, WholeSecondsIn(one->length_ns())) : uint64_t{1};
      const uint64_t writes = series.writes(row);
      for (uint64_t i = series.second(row); i < series.second(row) + count && i < seconds.size(); ++i) {
        seconds[i].averaged = averaged;
        seconds[i].writes = writes / count;
        if (writes > 0)
          seconds[i].average_ns = static_cast<double>(series.latency_sum_ns(row)) / static_cast<double>(writes);
      }
    }
  }
  return seconds;
}

std::optional<LoadBaseline> BaselineOf(const std::vector<LoadSecond>& seconds, int64_t until_ns) {
  LoadBaseline baseline;
  const size_t end = std::min<size_t>(seconds.size(), WholeSecondsIn(until_ns));
  for (size_t i = 0; i < end; ++i) {
    if (seconds[i].averaged) continue;
    if (seconds[i].writes == 0) return std::nullopt;
    baseline.least_writes =
        baseline.seconds == 0 ? seconds[i].writes : std::min(baseline.least_writes, seconds[i].writes);
    baseline.most_average_ns = std::max(baseline.most_average_ns, seconds[i].average_ns);
    baseline.writes_per_second += static_cast<double>(seconds[i].writes);
    ++baseline.seconds;
  }
  if (baseline.seconds < kCalmSeconds) return std::nullopt;
  baseline.writes_per_second /= baseline.seconds;
  return baseline;
}

bool IsAsBefore(const LoadSecond& second, const LoadBaseline& baseline) {
  constexpr double kWhole = 100;
  // Of averaged seconds each one may have been without a write.
  return !second.averaged && !second.paused && second.writes > 0 &&
         static_cast<double>(second.writes) * kWhole >=
             static_cast<double>(baseline.least_writes) * kLeastWritesPercent &&
         second.average_ns * kWhole <= baseline.most_average_ns * kMostLatencyPercent;
}

bool IsLongEnough(const std::vector<LoadSecond>& seconds, StepTime phase) {
  const size_t end = std::min<size_t>(seconds.size(), WholeSecondsIn(phase.end_ns));
  return phase.begin_ns >= 0 && WholeSecondsIn(phase.begin_ns) + kCalmSeconds < end;
}

std::optional<int64_t> RecoveryOf(const std::vector<LoadSecond>& seconds, const LoadBaseline& baseline, StepTime phase,
                                  StepTime pause) {
  const auto second_of = [](int64_t moment_ns) { return static_cast<size_t>(WholeSecondsIn(moment_ns)); };
  const size_t first = second_of(phase.begin_ns);
  const size_t end = std::min(seconds.size(), second_of(phase.end_ns));
  if (!IsLongEnough(seconds, phase)) return std::nullopt;
  std::optional<size_t> affected;
  bool in_pause = false;
  for (size_t i = first; i < end; ++i) {
    if (IsAsBefore(seconds[i], baseline)) continue;
    if (!affected.has_value()) affected = i;
    in_pause = in_pause || (second_of(pause.begin_ns) <= i && i <= second_of(pause.end_ns));
  }
  if (!affected.has_value()) return 0;
  size_t from = *affected + 1;
  if (in_pause) from = std::max(from, second_of(pause.end_ns) + 1);
  size_t calm = 0;
  for (size_t i = from; i < end; ++i) {
    calm = IsAsBefore(seconds[i], baseline) ? calm + 1 : 0;
    if (calm < kCalmSeconds) continue;
    const auto since = static_cast<int64_t>(i + 1 - kCalmSeconds);
    return since * kNsPerSecond - phase.begin_ns;
  }
  return std::nullopt;
}

}  // namespace plimsoll
