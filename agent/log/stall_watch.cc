#include "agent/log/stall_watch.h"

#include <limits>

namespace plimsoll {

StallWatch::StallWatch(int64_t stall_ns, const std::optional<RateSchedule>& schedule, int64_t interval_ns)
    : stall_ns_(stall_ns > 0 ? stall_ns : std::numeric_limits<int64_t>::max()), schedule_(schedule) {
  // Stretches of a writer are disjoint; one may have begun before the frame, and one may be told late.
  over_.reserve(static_cast<size_t>(interval_ns / stall_ns_) + 3);
}

void StallWatch::TakeLate(uint64_t seq, const Sample& sample, int64_t due_ns) {
  const int64_t begin_ns = std::min(due_ns, sample.start_ns);
  const auto latency_ns = static_cast<int64_t>(sample.latency_ns);
  const bool stood = latency_ns >= stall_ns_ || sample.start_ns - due_ns >= stall_ns_;
  if (growing_ && begin_ns >= open_.end_ns) Close();
  if (growing_) {
    ++writes_since_;
    in_flight_since_ns_ += latency_ns;
    if (stood) {
      open_.end_ns = sample.end_ns();
      open_.writes += writes_since_;
      open_.in_flight_ns += in_flight_since_ns_;
      writes_since_ = 0;
      in_flight_since_ns_ = 0;
    }
  } else if (stood) {
    // Where the write was due before the one before it had ended, the writer was behind and wrote without a pause.
    open_ = {begin_ns, sample.end_ns(), seq, 1, latency_ns + std::max<int64_t>(previous_end_ns_ - begin_ns, 0)};
    growing_ = true;
  }
  previous_end_ns_ = sample.end_ns();
  // The next write cannot overlap what was over when it was due.
  if (growing_ && (!schedule_ || schedule_->DueAt(seq) >= open_.end_ns)) Close();
}

void StallWatch::Finish(int64_t due_ns, int64_t until_ns) {
  if (until_ns - due_ns >= stall_ns_) {
    if (growing_ && due_ns < open_.end_ns) {
      open_.end_ns = std::max(open_.end_ns, until_ns);
      open_.writes += writes_since_;
      open_.in_flight_ns += in_flight_since_ns_;
    } else {
      if (growing_) Close();
      open_ = {due_ns, until_ns, 0, 0, std::clamp<int64_t>(previous_end_ns_ - due_ns, 0, until_ns - due_ns)};
      growing_ = true;
    }
  }
  if (growing_) Close();
}

void StallWatch::Close() {
  over_.push_back(open_);
  growing_ = false;
  writes_since_ = 0;
  in_flight_since_ns_ = 0;
}

void StallWatch::Tell(int64_t until_ns, google::protobuf::RepeatedPtrField<v1::StalledStretch>& stalls) {
  size_t told = 0;
  for (; told < over_.size() && over_[told].end_ns <= until_ns; ++told) {
    const Stretch& stretch = over_[told];
    v1::StalledStretch& stall = *stalls.Add();
    stall.set_begin_ns(stretch.begin_ns);
    stall.set_end_ns(stretch.end_ns);
    stall.set_first_seq(stretch.first_seq);
    stall.set_writes(stretch.writes);
    stall.set_in_flight_ns(stretch.in_flight_ns);
  }
  over_.erase(over_.begin(), over_.begin() + static_cast<std::ptrdiff_t>(told));
}

}  // namespace plimsoll
