#include "controller/export/moment_map.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace plimsoll {
namespace {

// Errors beyond 36 years are all one: sums stay within 64 bits.
constexpr int64_t kMaxErrorNs = int64_t{1} << 60;
// For the divisions, which round down.
constexpr int64_t kRoundingNs = 2;

}  // namespace

MomentMap::MomentMap(const Timeline& timeline, uint32_t host, int64_t offset_ns)
    : timeline_(timeline), host_(host), offset_ns_(offset_ns) {
  known_ = timeline.ToTimeline(host, 0).has_value();
  // Of the host's time; the slew is told of the timeline's.
  const double slew = timeline.max_slew_ppm() / 1e6;
  slack_ns_ = static_cast<int64_t>(std::ceil(static_cast<double>(kCellNs) * slew / (1 - slew)));
}

MappedMoment MomentMap::BeginOf(int64_t number) {
  const Cell& before = Slot(number - 1);
  if (before.number == number - 1) return before.end;
  return timeline_.ToTimeline(host_, number << kCellBits).value_or(MappedMoment{});
}

const MomentMap::Cell& MomentMap::Fill(int64_t number) {
  const MappedMoment from = BeginOf(number);
  const MappedMoment to = timeline_.ToTimeline(host_, (number + 1) << kCellBits).value_or(MappedMoment{});
  Cell& cell = Slot(number);
  cell.end = to;
  cell.number = number;
  cell.from_ns = from.local_ns;
  cell.length_ns = to.local_ns - from.local_ns;
  // What each end's bound is at the other one: as far away as the cell is long, and wider by the slack.
  const int64_t from_error_ns = std::min(from.error_ns, kMaxErrorNs);
  const int64_t to_error_ns = std::min(to.error_ns, kMaxErrorNs);
  const int64_t astray_ns = std::abs(cell.length_ns - kCellNs) + slack_ns_;
  cell.error_ns = std::max(from_error_ns, to_error_ns + astray_ns) + kRoundingNs;
  cell.error_growth_ns = std::max(to_error_ns, from_error_ns + astray_ns) + kRoundingNs - cell.error_ns;
  return cell;
}

}  // namespace plimsoll
