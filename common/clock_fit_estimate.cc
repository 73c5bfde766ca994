// The estimate inside the bound: a line through the exchanges around a moment.
#include <algorithm>
#include <cmath>

#include "common/clock_fit.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// Exchanges on each side that the estimate looks at.
constexpr size_t kNeighbours = 8;

}  // namespace

// Least squares over the middles of the bounds, each with the weight of its width, and with a slope that is expected to
// be small: a few probes close together say nothing about the drift.
ClockFit::Line ClockFit::LineAt(size_t index) const {
  const Kept& own = kept_[index];
  const size_t first = index > kNeighbours ? index - kNeighbours : 0;
  const size_t last = std::min(index + kNeighbours, kept_.size() - 1);
  Line line;
  line.base_ns = MiddleNs(own);
  double sum_w = 0;
  double sum_x = 0;
  double sum_y = 0;
  double sum_xx = 0;
  double sum_xy = 0;
  for (size_t i = first; i <= last; ++i) {
    const Kept& node = kept_[i];
    if (node.segment != own.segment) continue;
    const double w = node.weight;
    const auto x = static_cast<double>(node.sent_ns - own.sent_ns);
    const auto y = static_cast<double>(MiddleNs(node) - line.base_ns);
    sum_w += w;
    sum_x += w * x;
    sum_y += w * y;
    sum_xx += w * x * x;
    sum_xy += w * x * y;
  }
  const double mean_x = sum_x / sum_w;
  const double mean_y = sum_y / sum_w;
  const double usual_slope = static_cast<double>(slew_ppb_) / 4e9;
  if (usual_slope > 0) {
    const double expected = 1 / (usual_slope * usual_slope);
    line.slope = (sum_xy - sum_x * mean_y) / (sum_xx - sum_x * mean_x + expected);
  }
  line.offset_ns = mean_y - line.slope * mean_x;
  return line;
}

// The line's offset at the exchange itself, within what the exchange says.
int64_t ClockFit::EstimateAt(size_t index) const {
  const Kept& node = kept_[index];
  const Line line = LineAt(index);
  if (node.low_ns >= node.high_ns) return line.base_ns;
  return std::clamp<int64_t>(line.base_ns + std::llround(line.offset_ns), node.low_ns, node.high_ns);
}

int64_t ClockFit::Estimate(int64_t local_ns) const {
  const std::ptrdiff_t after = StretchOf(local_ns);
  const auto next = static_cast<size_t>(after + 1);
  if (after < 0 || next == kept_.size()) {
    const size_t end = after < 0 ? 0 : next - 1;
    const double away_ns = static_cast<double>(local_ns - kept_[end].sent_ns) * LineAt(end).slope;
    const int64_t offset_ns = EstimateAt(end) + std::llround(away_ns);
    const Bounds bounds = Hull({local_ns, local_ns, after});
    return std::clamp(offset_ns, bounds.low_ns, bounds.high_ns);
  }
  const Kept& left = kept_[next - 1];
  const Kept& right = kept_[next];
  if (left.segment != right.segment) {
    // Somewhere in between it stepped: each side as far as the middle.
    return EstimateAt(local_ns - left.sent_ns < right.sent_ns - local_ns ? next - 1 : next);
  }
  const int64_t from_ns = EstimateAt(next - 1);
  const double part = static_cast<double>(local_ns - left.sent_ns) / static_cast<double>(right.sent_ns - left.sent_ns);
  return from_ns + std::llround(static_cast<double>(EstimateAt(next) - from_ns) * part);
}

double ClockFit::DriftPpm() const {
  if (kept_.empty()) return 0;
  const auto begin = std::partition_point(kept_.begin(), kept_.end(),
                                          [this](const Kept& node) { return node.segment < kept_.back().segment; });
  const Kept& first = *begin;
  const auto count = static_cast<size_t>(kept_.end() - begin);
  if (kept_.back().sent_ns - first.sent_ns < kNsPerSecond) return 0;
  // A few hundred tell as much as all.
  const size_t stride = std::max<size_t>(1, count / 256);
  double sum_w = 0;
  double sum_x = 0;
  double sum_y = 0;
  double sum_xx = 0;
  double sum_xy = 0;
  for (size_t i = (count - 1) % stride; i < count; i += stride) {
    const Kept& node = *(begin + static_cast<std::ptrdiff_t>(i));
    const double w = node.weight;
    const auto x = static_cast<double>(node.sent_ns - first.sent_ns);
    const auto y = static_cast<double>(MiddleNs(node) - first.low_ns);
    sum_w += w;
    sum_x += w * x;
    sum_y += w * y;
    sum_xx += w * x * x;
    sum_xy += w * x * y;
  }
  const double spread = sum_xx - sum_x * sum_x / sum_w;
  return spread <= 0 ? 0 : (sum_xy - sum_x * sum_y / sum_w) / spread * 1e6;
}

}  // namespace plimsoll
