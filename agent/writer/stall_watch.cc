#include "agent/writer/stall_watch.h"

#include <algorithm>
#include <limits>

namespace plimsoll {

StallWatch::StallWatch(int64_t stall_ns, const std::optional<RateSchedule>& schedule, int64_t interval_ns)
    : stall_ns_(stall_ns > 0 ? stall_ns : std::numeric_limits<int64_t>::max()), schedule_(schedule) {
  // Stall intervals of a writer are disjoint; one may have begun before the frame, and one may be reported late.
  over_.reserve(std::min(static_cast<size_t>(interval_ns / stall_ns_) + 3, kMostStalls));
}

void StallWatch::TakeLate(uint64_t seq, const Sample& sample, int64_t due_ns) {
  const int64_t begin_ns = std::min(due_ns, sample.start_ns);
  const auto latency_ns = static_cast<int64_t>(sample.latency_ns());
  const int64_t stalled_ns = std::max(latency_ns, sample.start_ns - due_ns);
  const bool stalled = stalled_ns >= stall_ns_;
  if (growing_ && begin_ns >= open_.end_ns) Close();
  if (growing_) {
    ++writes_since_;
    in_flight_since_ns_ += latency_ns;
    if (stalled) {
      open_.end_ns = sample.end_ns();
      open_.writes += writes_since_;
      open_.in_flight_ns += in_flight_since_ns_;
      open_.longest_ns = std::max(open_.longest_ns, stalled_ns);
      writes_since_ = 0;
      in_flight_since_ns_ = 0;
    }
  } else if (stalled) {
    // Where the write was due before the one before it had ended, the writer was behind and wrote without a pause.
    open_ = {begin_ns,  sample.end_ns(), seq, 1, latency_ns + std::max<int64_t>(previous_end_ns_ - begin_ns, 0),
             stalled_ns};
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
      // The step's last write may have ended after it.
      const int64_t beyond_ns = std::clamp<int64_t>(previous_end_ns_ - open_.end_ns, 0, in_flight_since_ns_);
      open_.in_flight_ns += in_flight_since_ns_ - beyond_ns;
      open_.longest_ns = std::max(open_.longest_ns, until_ns - due_ns);
    } else {
      if (growing_) Close();
      open_ = {due_ns,           until_ns, 0, 0, std::clamp<int64_t>(previous_end_ns_ - due_ns, 0, until_ns - due_ns),
               until_ns - due_ns};
      growing_ = true;
    }
  }
  if (growing_) Close();
}

void StallWatch::Close() {
  if (over_.size() < kMostStalls) {
    over_.push_back(open_);
  } else {
    ++left_out_;
  }
  growing_ = false;
  writes_since_ = 0;
  in_flight_since_ns_ = 0;
}

void StallWatch::Set(const StallInterval& found, v1::StalledInterval& stall) {
  stall.set_begin_ns(found.begin_ns);
  stall.set_end_ns(found.end_ns);
  stall.set_first_seq(found.first_seq);
  stall.set_writes(found.writes);
  stall.set_in_flight_ns(found.in_flight_ns);
  stall.set_longest_ns(found.longest_ns);
}

void StallWatch::Report(int64_t until_ns, v1::Frame& frame) {
  size_t closed = 0;
  for (; closed < over_.size() && over_[closed].end_ns <= until_ns; ++closed) Set(over_[closed], *frame.add_stalls());
  over_.erase(over_.begin(), over_.begin() + static_cast<std::ptrdiff_t>(closed));
  // They came after all that were kept.
  if (!over_.empty()) return;
  frame.set_stalls_left_out(left_out_);
  left_out_ = 0;
}

void StallWatch::ReportGrowing(int64_t until_ns, const Pending& next, v1::Frame& frame) const {
  // On a schedule the next write was due before the stall interval was over: else it would not be growing.
  StallInterval found = open_;
  // A start that was read before the last write was taken may be that one's.
  const bool started = next.start_ns != 0 && next.start_ns >= previous_end_ns_ && next.start_ns < until_ns;
  const int64_t start_ns = started ? next.start_ns : until_ns;
  const int64_t stalled_ns = std::max(start_ns - next.due_ns, until_ns - start_ns);
  const bool stalled = stalled_ns >= stall_ns_;
  if (!growing_ && !stalled) return;
  if (stalled) {
    const int64_t begin_ns = std::min(next.due_ns, start_ns);
    if (!growing_) {
      found = {begin_ns, until_ns, started ? next.seq : 0, 0, std::max<int64_t>(previous_end_ns_ - begin_ns, 0), 0};
    } else {
      found.writes += writes_since_;
      found.in_flight_ns += in_flight_since_ns_;
    }
    found.end_ns = std::max(found.end_ns, until_ns);
    if (started) ++found.writes;
    found.in_flight_ns += until_ns - start_ns;
    found.longest_ns = std::max(found.longest_ns, stalled_ns);
  }
  Set(found, *frame.mutable_growing_stall());
}

}  // namespace plimsoll
