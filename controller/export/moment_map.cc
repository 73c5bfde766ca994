#include "controller/export/moment_map.h"

#include <algorithm>
#include <cmath>

#include "controller/analysis/step_shape.h"

namespace plimsoll {
namespace {

constexpr int kSlewBits = 30;
// Errors beyond 36 years are all one: sums stay within 64 bits.
constexpr int64_t kMaxErrorNs = int64_t{1} << 60;

}  // namespace

MomentMap::MomentMap(const Timeline& timeline, uint32_t host, int64_t offset_ns)
    : timeline_(timeline), host_(host), offset_ns_(offset_ns) {
  known_ = timeline.ToTimeline(host, 0).has_value();
  // Of the host's time; the slew is told of the timeline's.
  const double slew = timeline.max_slew_ppm() / 1e6;
  slew_ = static_cast<int64_t>(std::ceil(std::ldexp(slew / (1 - slew), kSlewBits)));
}

const MomentMap::Cell& MomentMap::Fill(int64_t number) {
  Cell& cell = cells_[static_cast<uint64_t>(number) % kCells];
  const int64_t agent_ns = number << kCellBits;
  const MappedMoment unknown{};
  const MappedMoment from = timeline_.ToTimeline(host_, agent_ns).value_or(unknown);
  const MappedMoment to = timeline_.ToTimeline(host_, agent_ns + kCellNs).value_or(unknown);
  cell.number = number;
  cell.from_ns = from.local_ns;
  cell.to_ns = to.local_ns;
  cell.from_low_ns = from.local_ns - std::min(from.error_ns, kMaxErrorNs);
  cell.from_high_ns = from.local_ns + std::min(from.error_ns, kMaxErrorNs);
  cell.to_low_ns = to.local_ns - std::min(to.error_ns, kMaxErrorNs);
  cell.to_high_ns = to.local_ns + std::min(to.error_ns, kMaxErrorNs);
  return cell;
}

MomentMap::Moment MomentMap::In(const Cell& cell, int64_t agent_ns) const {
  if (!known_) return {agent_ns - offset_ns_, -1};
  const int64_t after_ns = agent_ns & (kCellNs - 1);
  const int64_t before_ns = kCellNs - after_ns;
  const auto part_ns = static_cast<int64_t>((Int128{cell.to_ns - cell.from_ns} * after_ns) >> kCellBits);
  const int64_t timeline_ns = cell.from_ns + part_ns;
  // Rounded up, and one more for the rounding of the division above.
  const int64_t after_slack_ns = ((after_ns * slew_) >> kSlewBits) + 2;
  const int64_t before_slack_ns = ((before_ns * slew_) >> kSlewBits) + 2;
  const int64_t low_ns =
      std::min(cell.from_low_ns + after_ns - after_slack_ns, cell.to_low_ns - before_ns - before_slack_ns);
  const int64_t high_ns =
      std::max(cell.from_high_ns + after_ns + after_slack_ns, cell.to_high_ns - before_ns + before_slack_ns);
  return {timeline_ns, std::max(high_ns - timeline_ns, timeline_ns - low_ns)};
}

}  // namespace plimsoll
