#include "common/clock_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "common/units.h"

namespace plimsoll {
namespace {

constexpr int64_t kBurstNs = 50'000'000;
constexpr size_t kMaxKept = 65'536;
constexpr size_t kKeptWhenThinned = kMaxKept / 4 * 3;
// Inside, moments count from the first exchange on each clock. Exchanges further away than 18 years are nonsense, and
// questions are cut to twice that: no sum below leaves 64 bits.
constexpr int64_t kMaxAwayNs = int64_t{1} << 59;
constexpr int64_t kMaxMomentNs = int64_t{1} << 61;
// An exchange whose bound is so many times wider than its neighbours', widened by the slew up to each other, was
// delayed and adds nothing to what they show. They must not be further apart than this: an HA drill freezes a host for
// longer than its file server's lease, 90 s by default.
constexpr int64_t kDelayedFactor = 2;
constexpr int64_t kMaxGapNs = 120 * kNsPerSecond;
// What an offset is uncertain by even after the shortest round trip: keeps weights finite.
constexpr double kFloorNs = 100;

// `moment_ns` as counted from `origin_ns`, at most 36 years away.
int64_t Away(int64_t moment_ns, int64_t origin_ns) {
  const int64_t low_ns = origin_ns - 2 * kMaxAwayNs;
  const int64_t high_ns = origin_ns + 2 * kMaxAwayNs;
  return std::clamp(moment_ns, low_ns, high_ns) - origin_ns;
}

bool Near(int64_t moment_ns, int64_t origin_ns) {
  return std::abs(Away(moment_ns, origin_ns)) <= kMaxAwayNs;
}

bool Credible(int64_t moment_ns) {
  return moment_ns > -kMaxMomentNs && moment_ns < kMaxMomentNs;
}

}  // namespace

ClockFit::ClockFit(double max_slew_ppm)
    : slew_ppb_(static_cast<int64_t>(std::ceil(std::clamp(max_slew_ppm, 0.0, 500'000.0) * 1000))),
      max_kept_(kMaxKept) {}

// The most that the clocks part in a time, rounded up, and one more for the rounding of the moments themselves.
int64_t ClockFit::Slack(int64_t duration_ns) const {
  const int64_t seconds = duration_ns / kNsPerSecond;
  const int64_t rest_ns = duration_ns % kNsPerSecond;
  return seconds * slew_ppb_ + (rest_ns * slew_ppb_ + kNsPerSecond - 1) / kNsPerSecond + 1;
}

bool ClockFit::Usable(const ClockExchange& exchange) const {
  if (!Credible(exchange.local_sent_ns) || !Credible(exchange.remote_received_ns) ||
      !Credible(exchange.remote_sent_ns) || !Credible(exchange.local_received_ns)) {
    return false;
  }
  if (exchange.local_received_ns < exchange.local_sent_ns || exchange.remote_sent_ns < exchange.remote_received_ns) {
    return false;
  }
  const int64_t local_ns = kept_.empty() ? exchange.local_sent_ns : local_origin_ns_;
  const int64_t remote_ns = kept_.empty() ? exchange.remote_received_ns : remote_origin_ns_;
  return Near(exchange.local_sent_ns, local_ns) && Near(exchange.local_received_ns, local_ns) &&
         Near(exchange.remote_received_ns, remote_ns) && Near(exchange.remote_sent_ns, remote_ns) &&
         (kept_.empty() || exchange.local_sent_ns - local_ns >= kept_.back().sent_ns);
}

void ClockFit::Add(const ClockExchange& exchange) {
  if (!Usable(exchange)) {
    ++ignored_;
    return;
  }
  if (kept_.empty()) {
    local_origin_ns_ = exchange.local_sent_ns;
    remote_origin_ns_ = exchange.remote_received_ns;
  }
  if (exchange.remote_received_ns < exchange.local_sent_ns || exchange.remote_sent_ns > exchange.local_received_ns) {
    same_ = false;
  }
  // The remote side read its clock after the sending and before the return: that bounds the offset from both sides.
  Kept node;
  node.sent_ns = exchange.local_sent_ns - local_origin_ns_;
  node.received_ns = exchange.local_received_ns - local_origin_ns_;
  node.high_ns = exchange.remote_received_ns - remote_origin_ns_ - node.sent_ns + 1;
  node.low_ns = exchange.remote_sent_ns - remote_origin_ns_ - node.received_ns - 1;
  if (WidthNs(node) + Slack(node.received_ns - node.sent_ns) < 0) {
    ++ignored_;
    return;
  }
  const double uncertain_ns = std::max(0.0, static_cast<double>(WidthNs(node)) / 2) + kFloorNs;
  node.weight = 1 / (uncertain_ns * uncertain_ns);
  const int64_t round_trip_ns = std::max<int64_t>(0, WidthNs(node) - 2);
  min_round_trip_ns_ = kept_.empty() ? round_trip_ns : std::min(min_round_trip_ns_, round_trip_ns);

  const bool stepped = Stepped(node);
  if (stepped) steps_.push_back(exchange.local_received_ns);
  node.segment = static_cast<uint32_t>(steps_.size());
  if (kept_.empty()) {
    // No burst of its own: the promise begins here, so this one stays.
    kept_.push_back(node);
    return;
  }
  kept_.resize(open_ + 1);
  const Kept& best = kept_[open_];
  if (burst_open_ && !stepped && (node.sent_ns - burst_from_ns_ < kBurstNs || node.sent_ns < best.received_ns)) {
    if (WidthNs(node) <= WidthNs(best)) {
      kept_[open_] = node;
    } else {
      kept_.push_back(node);
    }
    return;
  }
  DropDelayed();
  // Not yet what lies before the open one: that may go as delayed, and what it leaves open would stay in floors_.
  if (open_ >= 1) Settle(open_ - 1);
  if (kept_.size() >= max_kept_) Thin();
  open_ = kept_.size();
  kept_.push_back(node);
  burst_open_ = true;
  burst_from_ns_ = node.sent_ns;
}

bool ClockFit::Stepped(const Kept& exchange) {
  const int64_t held_ns = Slack(exchange.received_ns - exchange.sent_ns);
  bool stepped = false;
  Kept all = exchange;
  if (!kept_.empty()) {
    const int64_t high_ns = seen_.high_ns + Slack(exchange.sent_ns - seen_.sent_ns);
    const int64_t low_ns = seen_.low_ns - Slack(std::abs(exchange.received_ns - seen_.received_ns));
    stepped = exchange.low_ns > high_ns + held_ns || exchange.high_ns < low_ns - held_ns;
    if (!stepped) {
      all.high_ns = std::min(all.high_ns, high_ns);
      all.low_ns = std::max(all.low_ns, low_ns);
    }
  }
  seen_ = all;
  return stepped;
}

void ClockFit::DropDelayed() {
  if (open_ < 2) return;
  const Kept& before = kept_[open_ - 2];
  const Kept& delayed = kept_[open_ - 1];
  const Kept& after = kept_[open_];
  if (before.segment != after.segment || after.received_ns - before.sent_ns > kMaxGapNs) return;
  const int64_t grown_ns = 2 * Slack(after.received_ns - before.sent_ns);
  const int64_t neighbours_ns = std::max(WidthNs(before), WidthNs(after)) + grown_ns;
  if (WidthNs(delayed) <= kDelayedFactor * neighbours_ns) return;
  kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(open_) - 1);
  --open_;
}

void ClockFit::Settle(size_t next) {
  if (next == 0) return;
  const Section section{kept_[next - 1].sent_ns, kept_[next].sent_ns, static_cast<std::ptrdiff_t>(next) - 1};
  const Bounds bounds = Hull(section);
  const int64_t before_ns = next >= 2 ? kept_[next - 2].reach_ns : INT64_MIN;
  kept_[next - 1].reach_ns = std::max(before_ns, section.to_ns + bounds.high_ns);
  const int64_t floor_ns = section.from_ns + bounds.low_ns;
  while (!floors_.empty() && floors_.back().floor_ns >= floor_ns) floors_.pop_back();
  floors_.push_back({floor_ns, next - 1});
}

void ClockFit::Thin() {
  const int64_t length_ns = kept_.back().sent_ns - kept_.front().sent_ns;
  // Where it is steps that leave nothing to thin, longer spans would only cost what is known beside them.
  const int64_t longest_ns = length_ns / static_cast<int64_t>(kMaxKept / 8);
  KeepOneOfEach(span_ns_);
  while (kept_.size() > kKeptWhenThinned && span_ns_ <= longest_ns) {
    span_ns_ *= 2;
    KeepOneOfEach(span_ns_);
  }
  floors_.clear();
  for (size_t i = 1; i < kept_.size(); ++i) Settle(i);
  // A clock that steps all the time leaves little to thin: not to be tried each time.
  max_kept_ = kept_.size() <= kKeptWhenThinned ? kMaxKept : 2 * kept_.size();
}

void ClockFit::KeepOneOfEach(int64_t span_ns) {
  size_t thinned = 1;  // the first stays
  for (size_t i = 1; i < kept_.size(); ++i) {
    Kept& last = kept_[thinned - 1];
    const bool same = thinned > 1 && i + 2 < kept_.size() && last.segment == kept_[i].segment &&
                      last.sent_ns / span_ns == kept_[i].sent_ns / span_ns;
    if (!same) {
      kept_[thinned++] = kept_[i];
    } else if (WidthNs(kept_[i]) < WidthNs(last)) {
      last = kept_[i];
    }
  }
  kept_.resize(thinned);
}

std::ptrdiff_t ClockFit::SectionOf(int64_t local_ns) const {
  const auto next = std::ranges::upper_bound(kept_, local_ns, {}, &Kept::sent_ns);
  return next - kept_.begin() - 1;
}

void ClockFit::Widen(Bounds& bounds, const Kept& exchange, int64_t local_ns) const {
  bounds.low_ns = std::min(bounds.low_ns, exchange.low_ns - Slack(std::abs(local_ns - exchange.received_ns)));
  bounds.high_ns = std::max(bounds.high_ns, exchange.high_ns + Slack(std::abs(local_ns - exchange.sent_ns)));
}

// The hull of all exchanges that may be the only ones that hold somewhere in the section, which lies between two
// neighbouring ones: the next one, the last that had returned, and those under way. What an exchange shows about a
// section is widest at one of the section's ends.
ClockFit::Bounds ClockFit::Hull(const Section& section) const {
  Bounds bounds;
  const auto widen = [&](const Kept& exchange) {
    Widen(bounds, exchange, section.from_ns);
    Widen(bounds, exchange, section.to_ns);
  };
  const auto size = static_cast<std::ptrdiff_t>(kept_.size());
  if (section.after + 1 < size) {
    widen(kept_[static_cast<size_t>(section.after + 1)]);
  } else if (size >= 2 && section.from_ns >= kept_.back().received_ns) {
    // After the end: of the last burst, the exchange that shows more.
    const Kept& other = kept_[kept_.size() - 2];
    const bool burst = kept_.back().sent_ns - other.sent_ns < kBurstNs && kept_.back().segment == other.segment &&
                       section.from_ns >= other.received_ns;
    Bounds mine;
    Bounds others;
    Widen(mine, kept_.back(), section.from_ns);
    Widen(others, other, section.from_ns);
    widen(burst && others.high_ns - others.low_ns < mine.high_ns - mine.low_ns ? other : kept_.back());
    return bounds;
  }
  for (std::ptrdiff_t i = section.after; i >= 0; --i) {
    const Kept& exchange = kept_[static_cast<size_t>(i)];
    widen(exchange);
    if (exchange.received_ns <= section.from_ns) break;
  }
  return bounds;
}

ClockOffset ClockFit::OffsetAtLocal(int64_t local_ns) const {
  if (kept_.empty()) return {0, INT64_MAX};
  if (same()) return {0, 0};
  const int64_t moment_ns = Away(local_ns, local_origin_ns_);
  const Bounds bounds = Hull({moment_ns, moment_ns, SectionOf(moment_ns)});
  const int64_t offset_ns = std::clamp(Estimate(moment_ns), bounds.low_ns, bounds.high_ns);
  return {offset_ns + (remote_origin_ns_ - local_origin_ns_),
          std::max(bounds.high_ns - offset_ns, offset_ns - bounds.low_ns)};
}

int64_t ClockFit::ToRemote(int64_t local_ns) const {
  if (kept_.empty() || same()) return local_ns;
  const int64_t moment_ns = Away(local_ns, local_origin_ns_);
  return moment_ns + OffsetAtLocal(local_ns).offset_ns + local_origin_ns_;
}

// The section after an exchange, as far as `remote_ns` can lie in it: those outside have no end of their own, but there
// the clocks part by at most half of what passes.
ClockFit::Section ClockFit::Whole(std::ptrdiff_t after, int64_t remote_ns) const {
  const auto next = static_cast<size_t>(after + 1);
  if (after < 0) {
    const int64_t to_ns = kept_.front().sent_ns;
    const int64_t back_ns = std::max<int64_t>(0, to_ns + kept_.front().high_ns - remote_ns);
    return {to_ns - 2 * back_ns - 16, to_ns, after};
  }
  const int64_t from_ns = kept_[next - 1].sent_ns;
  if (next < kept_.size()) return {from_ns, kept_[next].sent_ns, after};
  const Bounds bounds = Hull({from_ns, from_ns, after});
  return {from_ns, from_ns + 2 * std::max<int64_t>(0, remote_ns - from_ns - bounds.low_ns) + 16, after};
}

ClockFit::Section ClockFit::Earliest(int64_t remote_ns) const {
  if (remote_ns <= kept_.front().sent_ns + kept_.front().high_ns + 2) return Whole(-1, remote_ns);
  const auto settled = kept_.begin() + std::max<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(open_) - 2);
  const auto found =
      std::partition_point(kept_.begin(), settled, [remote_ns](const Kept& node) { return node.reach_ns < remote_ns; });
  std::ptrdiff_t after = found - kept_.begin();
  if (found != settled) return Whole(after, remote_ns);
  for (const auto last = static_cast<std::ptrdiff_t>(kept_.size()) - 1; after < last; ++after) {
    const Section section = Whole(after, remote_ns);
    if (section.to_ns + Hull(section).high_ns >= remote_ns) return section;
  }
  return Whole(after, remote_ns);
}

ClockFit::Section ClockFit::Latest(int64_t remote_ns) const {
  const std::ptrdiff_t settled = std::max<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(open_) - 2);
  for (auto after = static_cast<std::ptrdiff_t>(kept_.size()) - 1; after >= settled; --after) {
    const Section section = Whole(after, remote_ns);
    if (section.from_ns + Hull(section).low_ns <= remote_ns) return section;
  }
  const auto found =
      std::ranges::partition_point(floors_, [remote_ns](const Floor& floor) { return floor.floor_ns <= remote_ns; });
  if (found == floors_.begin()) return Whole(-1, remote_ns);
  return Whole(static_cast<std::ptrdiff_t>(std::prev(found)->after), remote_ns);
}

ClockFit::Section ClockFit::Narrow(Section section, int64_t remote_ns) const {
  // The first round leaves about as much as the bound is wide; over so short a section the bound hardly changes.
  for (int round = 0; round < 3; ++round) {
    const Bounds bounds = Hull(section);
    const int64_t from_ns = std::clamp(remote_ns - bounds.high_ns, section.from_ns, section.to_ns);
    section.to_ns = std::clamp(remote_ns - bounds.low_ns, section.from_ns, section.to_ns);
    section.from_ns = std::min(from_ns, section.to_ns);
  }
  return section;
}

MappedMoment ClockFit::ToLocal(int64_t remote_ns) const {
  if (kept_.empty()) return {remote_ns, INT64_MAX};
  if (same()) return {remote_ns, 0};
  const int64_t moment_ns = Away(remote_ns, remote_origin_ns_);
  const int64_t a_ns = Narrow(Earliest(moment_ns), moment_ns).from_ns;
  const int64_t b_ns = Narrow(Latest(moment_ns), moment_ns).to_ns;
  const int64_t from_ns = std::min(a_ns, b_ns);
  const int64_t to_ns = std::max(a_ns, b_ns);
  // The estimate hardly changes with time: this closes in by a factor of a thousand a round. Around a step it may not,
  // then the end that fits better counts.
  int64_t local_ns = from_ns;
  int64_t least_miss_ns = INT64_MAX;
  for (int64_t tried_ns : {from_ns, to_ns}) {
    for (int round = 0; round < 4; ++round) {
      const int64_t next_ns = moment_ns - Estimate(tried_ns);
      const int64_t miss_ns = std::abs(next_ns - tried_ns);
      if (miss_ns < least_miss_ns) {
        least_miss_ns = miss_ns;
        local_ns = tried_ns;
      }
      if (miss_ns == 0) break;
      tried_ns = std::clamp(next_ns, from_ns, to_ns);
    }
    if (least_miss_ns <= 1) break;
  }
  return {local_ns + local_origin_ns_, std::max(to_ns - local_ns, local_ns - from_ns)};
}

namespace {

// Exchanges on each side that the estimate looks at.
constexpr size_t kNeighbours = 8;

}  // namespace

// Least squares over the middles of the bounds, each with the weight of its width, and with a slope that is expected to
// be small: a few probes close together show nothing about the drift.
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

// The line's offset at the exchange itself, within the exchange's bounds.
int64_t ClockFit::EstimateAt(size_t index) const {
  const Kept& node = kept_[index];
  const Line line = LineAt(index);
  if (node.low_ns >= node.high_ns) return line.base_ns;
  return std::clamp<int64_t>(line.base_ns + std::llround(line.offset_ns), node.low_ns, node.high_ns);
}

int64_t ClockFit::Estimate(int64_t local_ns) const {
  const std::ptrdiff_t after = SectionOf(local_ns);
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

ClockChange ClockFit::ChangeOver(int64_t from_ns, int64_t to_ns,
                                 const std::function<int64_t(int64_t from_ns, int64_t to_ns)>& paused_within) const {
  ClockChange change;
  if (kept_.empty()) return change;
  const int64_t first_ns = Away(from_ns, local_origin_ns_);
  const int64_t last_ns = Away(to_ns, local_origin_ns_);
  const auto add = [](int64_t more_ns, int64_t& sum_ns) { sum_ns = std::min(sum_ns + more_ns, kMaxMomentNs); };
  auto at = std::ranges::partition_point(kept_, [first_ns](const Kept& node) { return node.received_ns <= first_ns; });
  if (at != kept_.begin()) --at;
  const Kept& first = *at;
  const Kept* before = nullptr;
  // The clock has gained and lost the least so far if the offset is now between these two.
  int64_t least_ns = -kMaxMomentNs;
  int64_t most_ns = kMaxMomentNs;
  for (; at != kept_.end(); ++at) {
    if (before != nullptr) {
      // Exchanges that overlap do not show which of them read the clock first.
      if (at->sent_ns < before->received_ns) continue;
      const int64_t paused_ns = paused_within(before->sent_ns + before->high_ns + remote_origin_ns_,
                                              at->received_ns + at->low_ns + remote_origin_ns_);
      // The clock of a machine stops while that is suspended.
      least_ns = std::max(least_ns - paused_ns, -kMaxMomentNs);
      const int64_t least_change_ns = std::max(at->low_ns - before->high_ns, before->low_ns - paused_ns - at->high_ns);
      if (least_change_ns > change.largest_ns) {
        change.largest_ns = least_change_ns;
        change.largest_within_ns = at->received_ns - before->sent_ns;
      }
      ++change.intervals;
      if (least_change_ns > Slack(at->received_ns - before->sent_ns)) ++change.off_pace;
    }
    // The first reading of the remote clock bounds the offset from above, the second one from below.
    if (at->high_ns < least_ns) add(least_ns - at->high_ns, change.lost_ns);
    least_ns = std::max(std::min(least_ns, at->high_ns), at->low_ns);
    most_ns = std::min(most_ns, at->high_ns);
    if (at->low_ns > most_ns) add(at->low_ns - most_ns, change.gained_ns);
    most_ns = std::max(most_ns, at->low_ns);
    before = &*at;
    if (at->sent_ns >= last_ns) break;
  }
  change.length_ns = before->received_ns - first.sent_ns;
  change.allowed_ns = Slack(change.length_ns);
  change.net_ns = MiddleNs(*before) - MiddleNs(first);
  return change;
}

int64_t ClockFit::UnseenNs(int64_t from_ns, int64_t to_ns) const {
  if (to_ns <= from_ns) return 0;
  const int64_t first_ns = Away(from_ns, local_origin_ns_);
  const int64_t last_ns = Away(to_ns, local_origin_ns_);
  const int64_t length_ns = last_ns - first_ns;
  if (kept_.empty()) return length_ns;
  const int64_t before_ns = std::max<int64_t>(kept_.front().received_ns - first_ns, 0);
  const int64_t after_ns = std::max<int64_t>(last_ns - kept_.back().sent_ns, 0);
  return std::min(before_ns, length_ns) + std::min(after_ns, length_ns - std::min(before_ns, length_ns));
}

double ClockFit::DriftPpm() const {
  if (kept_.empty() || same()) return 0;
  const auto begin =
      std::ranges::partition_point(kept_, [this](const Kept& node) { return node.segment < kept_.back().segment; });
  const Kept& first = *begin;
  const auto count = static_cast<size_t>(kept_.end() - begin);
  if (kept_.back().sent_ns - first.sent_ns < kNsPerSecond) return 0;
  // A few hundred show as much as all.
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
