#include "controller/analysis/host_stalls.h"

#include <algorithm>
#include <cstddef>

#include "common/status_macros.h"
#include "controller/fold/served_span.h"

namespace plimsoll {

CoveredTime::CoveredTime(std::vector<TimeRange> intervals) {
  std::ranges::sort(intervals, [](const TimeRange& a, const TimeRange& b) { return a.begin_ns < b.begin_ns; });
  for (const TimeRange& interval : intervals) {
    if (interval.end_ns <= interval.begin_ns) continue;
    if (!intervals_.empty() && interval.begin_ns <= intervals_.back().end_ns) {
      intervals_.back().end_ns = std::max(intervals_.back().end_ns, interval.end_ns);
    } else {
      intervals_.push_back(interval);
    }
  }
  int64_t sum_ns = 0;
  for (const TimeRange& interval : intervals_) {
    before_ns_.push_back(sum_ns);
    sum_ns += interval.end_ns - interval.begin_ns;
  }
}

int64_t CoveredTime::Before(int64_t moment_ns) const {
  const auto next = std::ranges::partition_point(
      intervals_, [moment_ns](const TimeRange& interval) { return interval.begin_ns < moment_ns; });
  if (next == intervals_.begin()) return 0;
  const auto last = static_cast<size_t>(next - intervals_.begin()) - 1;
  return before_ns_[last] + std::min(moment_ns, intervals_[last].end_ns) - intervals_[last].begin_ns;
}

int64_t CoveredTime::Within(int64_t from_ns, int64_t to_ns) const {
  return from_ns < to_ns ? Before(to_ns) - Before(from_ns) : 0;
}

void ServiceGaps::Take(const v1::Frame& frame) {
  const std::optional<ServedSpan> served = ServedBy(frame);
  if (!served || served->first_start_ns < last_end_ns_) return;
  if (last_end_ns_ == 0) {
    first_end_ns_ = served->first_end_ns;
  } else {
    // From the start of the last write before to the end of the first one here.
    Keep(last_start_ns_, served->first_end_ns, served->first_end_ns - last_start_ns_);
  }
  Keep(served->first_start_ns, served->last_end_ns, served->longest_gap_ns);
  last_start_ns_ = served->last_start_ns;
  last_end_ns_ = served->last_end_ns;
}

void ServiceGaps::Keep(int64_t begin_ns, int64_t end_ns, int64_t longest_ns) {
  if (longest_ns < least_ns_) return;
  while (gaps_.size() >= kMostGaps) {
    least_ns_ *= 2;
    std::erase_if(gaps_, [this](const ServiceGap& gap) { return gap.longest_ns < least_ns_; });
  }
  if (longest_ns >= least_ns_) gaps_.push_back({begin_ns, end_ns, longest_ns});
}

namespace {

// Beside a median of so many writes an interval of less than three halves of it is not kept for itself: for it not to
// be usual in the end the median of the whole step would have to be a quarter less, and a tenth of what it is for it to
// be a stall by medians.
constexpr uint64_t kWritesForMedian = 100;

bool IsHardlyUnusual(const WriterStallInterval& interval, int64_t median_ns, uint64_t writes) {
  return writes >= kWritesForMedian && interval.length_ns() < median_ns + median_ns / 2;
}

// A count that others only claim is not added beyond this.
constexpr uint64_t kMostLeftOut = uint64_t{1} << 62;

// Spans of time with omitted stall intervals that are kept separately for a host; the others are merged.
constexpr size_t kMostLeftOutSpans = 1'000;

// How many lengths of missing intervals are distinguished.
constexpr size_t kMostMissing = 100;

bool IsSaneStallInterval(int64_t begin_ns, int64_t end_ns) {
  return IsSaneMoment(begin_ns) && IsSaneMoment(end_ns) && begin_ns < end_ns;
}

WriterStallInterval FromProto(const v1::StalledInterval& reported) {
  WriterStallInterval interval;
  interval.begin_ns = reported.begin_ns();
  interval.end_ns = reported.end_ns();
  interval.first_seq = reported.first_seq();
  interval.in_flight_ns = reported.in_flight_ns();
  interval.writes = reported.writes();
  interval.longest_ns =
      reported.longest_ns() > 0 ? std::min(reported.longest_ns(), interval.length_ns()) : interval.length_ns();
  return interval;
}

absl::Status CheckStallInterval(const v1::StalledInterval& stall, int64_t last_end_ns) {
  if (!IsSaneStallInterval(stall.begin_ns(), stall.end_ns()))
    return absl::InvalidArgumentError("a stall at a time that no clock shows");
  if (stall.begin_ns() < last_end_ns) return absl::InvalidArgumentError("stalls of one writer that overlap");
  if (stall.in_flight_ns() < 0 || stall.in_flight_ns() > stall.end_ns() - stall.begin_ns()) {
    return absl::InvalidArgumentError("a stall with a write in flight for longer than it lasts");
  }
  return absl::OkStatus();
}

// Makes one that follows a part of the row, where it touches it. A null row: there is none.
bool JoinRow(const WriterStallInterval& interval, WriterStallInterval* last) {
  if (last == nullptr || !last->in_a_row || interval.begin_ns > last->end_ns) return false;
  WriterStallInterval& row = *last;
  row.end_ns = interval.end_ns;
  row.in_flight_ns += interval.in_flight_ns;
  row.writes += interval.writes;
  row.longest_ns = std::max(row.longest_ns, interval.longest_ns);
  return true;
}

}  // namespace

absl::Status HostStalls::Check(const v1::Frame& frame) const {
  const auto writer = writers_.find(frame.qm());
  int64_t last_end_ns = writer == writers_.end() ? 0 : writer->second.last_end_ns;
  for (const v1::StalledInterval& stall : frame.stalls()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckStallInterval(stall, last_end_ns));
    last_end_ns = stall.end_ns();
  }
  return frame.has_growing_stall() ? CheckStallInterval(frame.growing_stall(), last_end_ns) : absl::OkStatus();
}

void HostStalls::Writer::Miss(int64_t begin_ns, int64_t length_ns) {
  if (!missing.empty() && length_ns <= missing.back().length_ns) return;
  if (missing.size() < kMostMissing) {
    missing.push_back({begin_ns, length_ns});
  } else {
    missing.back().length_ns = length_ns;
  }
}

void HostStalls::Keep(const WriterStallInterval& interval, uint32_t qm, Writer& writer) {
  if (budget_->intervals_left == 0) {
    ++budget_->intervals_left_out;
    if (!MakeRoomFor(interval.length_ns())) return LeaveOut(interval);
  }
  --budget_->intervals_left;
  budget_->kept.push({interval.length_ns(), budget_->next_number++, this, qm, interval.begin_ns});
  writer.intervals.emplace(interval.begin_ns, interval);
}

bool HostStalls::MakeRoomFor(int64_t length_ns) {
  auto& kept = budget_->kept;
  while (!kept.empty()) {
    KeptInterval shortest = kept.top();
    auto& intervals = shortest.host->writers_.at(shortest.qm).intervals;
    const auto interval = intervals.find(shortest.begin_ns);
    const int64_t now_ns = interval->second.length_ns();
    if (now_ns == shortest.length_ns && now_ns >= length_ns) return false;
    kept.pop();
    if (now_ns != shortest.length_ns) {
      shortest.length_ns = now_ns;
      kept.push(shortest);
      continue;
    }
    shortest.host->LeaveOut(interval->second);
    intervals.erase(interval);
    ++budget_->intervals_left;
    return true;
  }
  return false;
}

void HostStalls::LeaveOut(const WriterStallInterval& interval) {
  TimeRange span{interval.begin_ns, interval.end_ns};
  // Intervals that it overlaps or touches.
  const auto first =
      std::ranges::partition_point(left_out_, [&](const TimeRange& each) { return each.end_ns < span.begin_ns; });
  auto last = first;
  for (; last != left_out_.end() && last->begin_ns <= span.end_ns; ++last) {
    span.begin_ns = std::min(span.begin_ns, last->begin_ns);
    span.end_ns = std::max(span.end_ns, last->end_ns);
  }
  left_out_.insert(left_out_.erase(first, last), span);
  if (left_out_.size() <= kMostLeftOutSpans) return;
  // The two that are closest become one.
  size_t closest = 1;
  for (size_t i = 2; i < left_out_.size(); ++i) {
    const auto apart_ns = [this](size_t at) { return left_out_[at].begin_ns - left_out_[at - 1].end_ns; };
    if (apart_ns(i) < apart_ns(closest)) closest = i;
  }
  left_out_[closest - 1].end_ns = left_out_[closest].end_ns;
  left_out_.erase(left_out_.begin() + static_cast<std::ptrdiff_t>(closest));
}

void HostStalls::Take(const v1::Frame& frame, int64_t median_ns, uint64_t writes) {
  service_[frame.qm()].Take(frame);
  const bool has_stalls = !frame.stalls().empty() || frame.has_growing_stall() || frame.stalls_left_out() > 0;
  const auto known = writers_.find(frame.qm());
  if (!has_stalls && known == writers_.end()) return;
  Writer& writer = known == writers_.end() ? writers_[frame.qm()] : known->second;
  for (const v1::StalledInterval& stall : frame.stalls()) {
    WriterStallInterval interval = FromProto(stall);
    writer.last_end_ns = interval.end_ns;
    if (!IsHardlyUnusual(interval, median_ns, writes)) {
      Keep(interval, frame.qm(), writer);
    } else if (stall_ns_ > 0 && interval.longest_ns >= stall_ns_) {
      interval.in_a_row = true;
      WriterStallInterval* last = writer.intervals.empty() ? nullptr : &writer.intervals.rbegin()->second;
      if (!JoinRow(interval, last)) Keep(interval, frame.qm(), writer);
    } else {
      ++writer.not_kept;
      writer.longest_not_kept_ns = std::max(writer.longest_not_kept_ns, interval.longest_ns);
      writer.Miss(interval.begin_ns, interval.length_ns());
    }
  }
  if (frame.stalls_left_out() > 0) {
    const uint64_t left_out = std::min(frame.stalls_left_out(), kMostLeftOut - budget_->intervals_left_out);
    budget_->intervals_left_out += left_out;
    // They came after those that were reported.
    writer.Miss(writer.last_end_ns, INT64_MAX);
  }
  writer.growing.reset();
  if (frame.has_growing_stall()) writer.growing = FromProto(frame.growing_stall());
}

absl::Status HostStalls::AddPauses(const v1::HostSample& sample) {
  for (const v1::RecorderPause& pause : sample.pauses()) {
    if (!IsSaneStallInterval(pause.begin_ns(), pause.end_ns()))
      return absl::InvalidArgumentError("a pause at a time that no clock shows");
  }
  budget_->pauses_left_out += std::min(sample.pauses_left_out(), kMostLeftOut - budget_->pauses_left_out);
  for (const v1::RecorderPause& pause : sample.pauses()) {
    if (budget_->pauses_left == 0) {
      ++budget_->pauses_left_out;
      continue;
    }
    --budget_->pauses_left;
    pauses_.push_back({pause.begin_ns(), pause.end_ns()});
  }
  return absl::OkStatus();
}

HostStalls::Intervals HostStalls::OfWriter(uint32_t qm, int64_t threshold_ns, int64_t median_ns) {
  Intervals found;
  const auto known = writers_.find(qm);
  if (known == writers_.end()) return found;
  Writer& writer = known->second;
  const int64_t usual_ns = kMediansUsual * median_ns;
  for (const auto& [begin_ns, kept] : writer.intervals) {
    WriterStallInterval interval = kept;
    const bool usual = interval.in_a_row || interval.length_ns() < usual_ns;
    if (interval.longest_ns < threshold_ns) {
      if (!usual) found.others.push_back(interval);
      continue;
    }
    interval.in_a_row = usual;
    WriterStallInterval* last = found.stalls.empty() ? nullptr : &found.stalls.back();
    if (!usual || !JoinRow(interval, last)) found.stalls.push_back(interval);
  }
  for (WriterStallInterval& interval : found.stalls) interval.in_a_row = interval.in_a_row && interval.writes > 1;
  if (writer.longest_not_kept_ns >= threshold_ns) budget_->intervals_left_out += writer.not_kept;
  writer.not_kept = 0;
  const int64_t matters_ns = std::min(threshold_ns, usual_ns);
  const auto first =
      std::ranges::find_if(writer.missing, [&](const Missing& missing) { return missing.length_ns >= matters_ns; });
  if (first != writer.missing.end()) found.complete_until_ns = first->begin_ns;
  return found;
}

std::vector<WriterStallInterval> HostStalls::EndedAfter(uint32_t qm, int64_t moment_ns) const {
  std::vector<WriterStallInterval> ended;
  const auto found = writers_.find(qm);
  if (found == writers_.end()) return ended;
  const auto& intervals = found->second.intervals;
  for (auto each = intervals.rbegin(); each != intervals.rend() && each->second.end_ns > moment_ns; ++each) {
    ended.push_back(each->second);
  }
  return ended;
}

std::optional<WriterStallInterval> HostStalls::GrowingOf(uint32_t qm) const {
  const auto writer = writers_.find(qm);
  return writer == writers_.end() ? std::nullopt : writer->second.growing;
}

const ServiceGaps* HostStalls::ServiceOf(uint32_t qm) const {
  const auto writer = service_.find(qm);
  return writer == service_.end() ? nullptr : &writer->second;
}

}  // namespace plimsoll
