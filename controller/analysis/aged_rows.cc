// Rows of --interval that hold frames which were folded by age: of a result that is read again.
#include <algorithm>

#include "controller/analysis/live_stats.h"
#include "controller/analysis/scope_sums.h"
#include "controller/analysis/step_stats.h"
#include "controller/fold/aged_seconds.h"

namespace plimsoll {

void IntervalRows::AddAged(const StepStats& step, const HostFacts& facts, const v1::Frame& frame) {
  const StepShape& shape = step.shape();
  const int64_t last_row = LastRow(shape);
  const bool response = step.felt() == TimeKind::kResponse;
  const uint64_t frame_max_ns = TimesOf(frame, step.felt()).max_ns();
  Pending* last = nullptr;
  ForEachAgedSecond(frame, kNsPerSecond / shape.interval_ns, [&](const AgedSecond& second) {
    if (second.writes == 0) return;
    IntervalSums sums;
    sums.writes = second.writes;
    sums.bytes = second.bytes;
    sums.latency_sum_ns = response ? second.response_sum_ns : second.latency_sum_ns;
    sums.latency_max_ns = response ? second.response_max_ns : second.latency_max_ns;
    const int64_t row = second.second / (interval_ns_ / kNsPerSecond);
    Pending& pending = pending_[std::clamp(row, std::min(next_row_, last_row), last_row)];
    if (sums.latency_max_ns > pending.sums.latency_max_ns) {
      const bool known = frame.has_slowest() && sums.latency_max_ns == frame_max_ns;
      pending.max_host = known ? facts.label() : std::string();
      pending.max_qm = known ? frame.qm() : 0;
      pending.max_name = known ? facts.QmName(frame.qm()) : "";
    }
    pending.sums.Merge(sums);
    pending.percentiles_unknown = true;
    last = &pending;
  });
  // In which second it was is not known.
  if (last != nullptr) last->sums.Merge({{}, TimesOf(frame, step.felt()).min_ns()});
}

}  // namespace plimsoll
