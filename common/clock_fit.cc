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
// delayed and tells nothing that they do not. They must not be further apart than this.
constexpr int64_t kDelayedFactor = 2;
constexpr int64_t kMaxGapNs = 12 * kNsPerSecond;
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
  Settle(open_);
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
  // What the stretch up to it left in floors_ is lower than what is filed for the longer stretch now: it still holds.
  kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(open_) - 1);
  --open_;
}

void ClockFit::Settle(size_t next) {
  if (next == 0) return;
  const Stretch stretch{kept_[next - 1].sent_ns, kept_[next].sent_ns, static_cast<std::ptrdiff_t>(next) - 1};
  const Bounds bounds = Hull(stretch);
  const int64_t before_ns = next >= 2 ? kept_[next - 2].reach_ns : INT64_MIN;
  kept_[next - 1].reach_ns = std::max(before_ns, stretch.to_ns + bounds.high_ns);
  const int64_t floor_ns = stretch.from_ns + bounds.low_ns;
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

std::ptrdiff_t ClockFit::StretchOf(int64_t local_ns) const {
  const auto next = std::upper_bound(kept_.begin(), kept_.end(), local_ns,
                                     [](int64_t moment_ns, const Kept& node) { return moment_ns < node.sent_ns; });
  return next - kept_.begin() - 1;
}

void ClockFit::Widen(Bounds& bounds, const Kept& exchange, int64_t local_ns) const {
  bounds.low_ns = std::min(bounds.low_ns, exchange.low_ns - Slack(std::abs(local_ns - exchange.received_ns)));
  bounds.high_ns = std::max(bounds.high_ns, exchange.high_ns + Slack(std::abs(local_ns - exchange.sent_ns)));
}

// The hull of all exchanges that may be the only ones that hold somewhere in the stretch, which lies between two
// neighbouring ones: the next one, the last that had returned, and those under way. What an exchange says about a
// stretch is widest at one of the stretch's ends.
ClockFit::Bounds ClockFit::Hull(const Stretch& stretch) const {
  Bounds bounds;
  const auto widen = [&](const Kept& exchange) {
    Widen(bounds, exchange, stretch.from_ns);
    Widen(bounds, exchange, stretch.to_ns);
  };
  const auto size = static_cast<std::ptrdiff_t>(kept_.size());
  if (stretch.after + 1 < size) {
    widen(kept_[static_cast<size_t>(stretch.after + 1)]);
  } else if (size >= 2 && stretch.from_ns >= kept_.back().received_ns) {
    // After the end: of the last burst, the exchange that says more.
    const Kept& other = kept_[kept_.size() - 2];
    const bool burst = kept_.back().sent_ns - other.sent_ns < kBurstNs && kept_.back().segment == other.segment &&
                       stretch.from_ns >= other.received_ns;
    Bounds mine;
    Bounds others;
    Widen(mine, kept_.back(), stretch.from_ns);
    Widen(others, other, stretch.from_ns);
    widen(burst && others.high_ns - others.low_ns < mine.high_ns - mine.low_ns ? other : kept_.back());
    return bounds;
  }
  for (std::ptrdiff_t i = stretch.after; i >= 0; --i) {
    const Kept& exchange = kept_[static_cast<size_t>(i)];
    widen(exchange);
    if (exchange.received_ns <= stretch.from_ns) break;
  }
  return bounds;
}

ClockOffset ClockFit::OffsetAtLocal(int64_t local_ns) const {
  if (kept_.empty()) return {0, INT64_MAX};
  const int64_t moment_ns = Away(local_ns, local_origin_ns_);
  const Bounds bounds = Hull({moment_ns, moment_ns, StretchOf(moment_ns)});
  const int64_t offset_ns = std::clamp(Estimate(moment_ns), bounds.low_ns, bounds.high_ns);
  return {offset_ns + (remote_origin_ns_ - local_origin_ns_),
          std::max(bounds.high_ns - offset_ns, offset_ns - bounds.low_ns)};
}

int64_t ClockFit::ToRemote(int64_t local_ns) const {
  if (kept_.empty()) return local_ns;
  const int64_t moment_ns = Away(local_ns, local_origin_ns_);
  return moment_ns + OffsetAtLocal(local_ns).offset_ns + local_origin_ns_;
}

// The stretch after an exchange, as far as `remote_ns` can lie in it: those outside have no end of their own, but there
// the clocks part by at most half of what passes.
ClockFit::Stretch ClockFit::Whole(std::ptrdiff_t after, int64_t remote_ns) const {
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

ClockFit::Stretch ClockFit::Earliest(int64_t remote_ns) const {
  if (remote_ns <= kept_.front().sent_ns + kept_.front().high_ns + 2) return Whole(-1, remote_ns);
  const auto settled = kept_.begin() + std::max<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(open_) - 1);
  const auto found =
      std::partition_point(kept_.begin(), settled, [remote_ns](const Kept& node) { return node.reach_ns < remote_ns; });
  std::ptrdiff_t after = found - kept_.begin();
  if (found != settled) return Whole(after, remote_ns);
  for (const auto last = static_cast<std::ptrdiff_t>(kept_.size()) - 1; after < last; ++after) {
    const Stretch stretch = Whole(after, remote_ns);
    if (stretch.to_ns + Hull(stretch).high_ns >= remote_ns) return stretch;
  }
  return Whole(after, remote_ns);
}

ClockFit::Stretch ClockFit::Latest(int64_t remote_ns) const {
  const std::ptrdiff_t settled = std::max<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(open_) - 1);
  for (auto after = static_cast<std::ptrdiff_t>(kept_.size()) - 1; after >= settled; --after) {
    const Stretch stretch = Whole(after, remote_ns);
    if (stretch.from_ns + Hull(stretch).low_ns <= remote_ns) return stretch;
  }
  const auto found = std::partition_point(floors_.begin(), floors_.end(),
                                          [remote_ns](const Floor& floor) { return floor.floor_ns <= remote_ns; });
  if (found == floors_.begin()) return Whole(-1, remote_ns);
  return Whole(static_cast<std::ptrdiff_t>(std::prev(found)->after), remote_ns);
}

ClockFit::Stretch ClockFit::Narrow(Stretch stretch, int64_t remote_ns) const {
  // The first round leaves about as much as the bound is wide; over so short a stretch the bound hardly changes.
  for (int round = 0; round < 3; ++round) {
    const Bounds bounds = Hull(stretch);
    const int64_t from_ns = std::clamp(remote_ns - bounds.high_ns, stretch.from_ns, stretch.to_ns);
    stretch.to_ns = std::clamp(remote_ns - bounds.low_ns, stretch.from_ns, stretch.to_ns);
    stretch.from_ns = std::min(from_ns, stretch.to_ns);
  }
  return stretch;
}

MappedMoment ClockFit::ToLocal(int64_t remote_ns) const {
  if (kept_.empty()) return {remote_ns, INT64_MAX};
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

}  // namespace plimsoll
