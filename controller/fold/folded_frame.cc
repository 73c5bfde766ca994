#include "controller/fold/folded_frame.h"

#include <algorithm>
#include <utility>

#include "common/algorithm.h"
#include "common/integers.h"
#include "common/protocol.h"
#include "google/protobuf/unknown_field_set.h"

namespace plimsoll {
namespace {

using WriteSamples = google::protobuf::RepeatedPtrField<v1::WriteSample>;

// A writer's slowest writes that are kept, as an agent reports them.
constexpr size_t kSlowestOfFold = 10;
// No amount of a frame that is folded is larger, so that no sum over a minute's frames overflows: 2^46 ns are 19 hours.
constexpr uint64_t kMostOfFrame = uint64_t{1} << 46U;
constexpr int64_t kMostMomentNs = int64_t{1} << 61;

bool IsMoment(int64_t moment_ns) {
  return moment_ns >= 0 && moment_ns <= kMostMomentNs;
}

int64_t IntervalsOf(const v1::Frame& frame) {
  return std::max<int64_t>(frame.interval_count(), 1);
}

bool AreFine(const v1::Frame& frame, const WriteSamples& slow) {
  uint64_t last_seq = 0;
  for (const v1::WriteSample& write : slow) {
    if (write.seq() <= last_seq || write.seq() - frame.first_seq() >= frame.latency().count() ||
        write.latency_ns() > frame.latency().max_ns() || write.response_ns() > frame.response().max_ns() ||
        !IsMoment(write.start_ns())) {
      return false;
    }
    last_seq = write.seq();
  }
  return true;
}

bool StallsAreFine(const v1::Frame& frame) {
  int64_t last_end_ns = 0;
  const auto fine = [&last_end_ns](const v1::StalledInterval& stall) {
    return IsMoment(stall.begin_ns()) && IsMoment(stall.end_ns()) && stall.begin_ns() < stall.end_ns() &&
           stall.begin_ns() >= last_end_ns;
  };
  for (const v1::StalledInterval& stall : frame.stalls()) {
    if (!fine(stall)) return false;
    last_end_ns = stall.end_ns();
  }
  return frame.stalls_left_out() == 0 && (!frame.has_growing_stall() || fine(frame.growing_stall()));
}

bool AmountsAreFine(const v1::Frame& frame) {
  const v1::Distribution& latency = frame.latency();
  const auto between_ns = static_cast<uint64_t>(frame.between_ns());
  const uint64_t between_size_ns = frame.between_ns() < 0 ? uint64_t{0} - between_ns : between_ns;
  for (const uint64_t amount : {latency.count(), latency.sum_ns(), frame.bytes(), frame.ring_full_waits(),
                                frame.ring_full_wait_ns(), between_size_ns}) {
    if (amount > kMostOfFrame) return false;
  }
  const v1::StartDelay& delay = frame.start_delay();
  return latency.sum_ns_high() == 0 && frame.untraced_writes() <= latency.count() &&
         (frame.response().count() == 0 || frame.response().count() == latency.count()) &&
         delay.late_writes() <= latency.count() && (delay.late_writes() > 0) == (delay.max_ns() > kPromptStartNs);
}

// The slowest writes by `time_ns` of two frames of which the second one follows, in the order of their numbers; of
// equal ones the earlier.
void MergeSlow(const WriteSamples& later, uint64_t (v1::WriteSample::*time_ns)() const, WriteSamples& slow) {
  if (later.empty()) return;
  std::vector<v1::WriteSample> all(slow.begin(), slow.end());
  all.insert(all.end(), later.begin(), later.end());
  StableSort(all,
             [time_ns](const v1::WriteSample& a, const v1::WriteSample& b) { return (a.*time_ns)() > (b.*time_ns)(); });
  if (all.size() > kSlowestOfFold) all.resize(kSlowestOfFold);
  StableSort(all, [](const v1::WriteSample& a, const v1::WriteSample& b) { return a.seq() < b.seq(); });
  slow.Clear();
  for (v1::WriteSample& write : all) *slow.Add() = std::move(write);
}

}  // namespace

bool CanFold(const v1::Frame& frame, int64_t intervals_per_second) {
  const int64_t first = frame.first_interval();
  if (frame.has_aged() || frame.closing() || first < 0 ||
      first / intervals_per_second != (first + IntervalsOf(frame) - 1) / intervals_per_second ||
      !frame.GetReflection()->GetUnknownFields(frame).empty()) {
    return false;
  }
  for (const int64_t moment_ns : {frame.first_start_ns(), frame.last_end_ns(), frame.in_flight_since_ns(),
                                  frame.cut_ns(), frame.slowest().start_ns(), frame.first_phase_ns()}) {
    if (!IsMoment(moment_ns)) return false;
  }
  const bool any = frame.latency().count() > 0;
  if (any != (frame.first_seq() > 0)) return false;
  if (!any && (frame.first_start_ns() != 0 || frame.last_end_ns() != 0 || frame.has_slowest())) return false;
  if (any && frame.has_slowest() && frame.slowest().latency_ns() != frame.latency().max_ns()) return false;
  if (any && frame.operation() == kMainOperation && !ServedBy(frame)) return false;
  Histogram whole;
  return AmountsAreFine(frame) && StallsAreFine(frame) && AreFine(frame, frame.slow()) &&
         AreFine(frame, frame.slow_responses()) && whole.Merge(frame.latency()).ok() &&
         whole.Merge(frame.response()).ok();
}

bool FoldedFrame::Continues(const v1::Frame& frame, const std::optional<ServedSpan>& served) const {
  if (frame.first_interval() != next_interval_) return false;
  if (!frame.stalls().empty() && frame.stalls(0).begin_ns() < last_stall_end_ns_) return false;
  if (frame.has_growing_stall() && frame.growing_stall().begin_ns() < last_stall_end_ns_) return false;
  if (frame.latency().count() == 0 || next_seq_ == 0) return true;
  const bool responses = frame.response().count() > 0;
  return frame.first_seq() == next_seq_ && responses == (response_.count() > 0) &&
         frame.has_slowest() == sum_.has_slowest() &&
         (!served || !served_ || served->first_start_ns >= served_->last_end_ns);
}

bool FoldedFrame::Add(const v1::Frame& frame) {
  const std::optional<ServedSpan> served =
      frame.operation() == kMainOperation ? ServedBy(frame) : std::optional<ServedSpan>();
  if (empty()) {
    sum_.set_step(frame.step());
    sum_.set_qm(frame.qm());
    sum_.set_operation(frame.operation());
    sum_.set_first_interval(frame.first_interval());
  } else if (!Continues(frame, served)) {
    return false;
  }
  ++frames_;
  next_interval_ = frame.first_interval() + IntervalsOf(frame);
  const v1::Distribution& latency = frame.latency();
  if (latency.count() > 0) {
    if (next_seq_ == 0) {
      sum_.set_first_seq(frame.first_seq());
      sum_.set_first_start_ns(frame.first_start_ns());
      sum_.set_first_phase_ns(frame.first_phase_ns());
    }
    if (next_seq_ == 0 || latency.min_ns() < latency_.min_ns()) sum_.set_fastest_seq(frame.fastest_seq());
    if (frame.has_slowest() && (next_seq_ == 0 || latency.max_ns() > latency_.max_ns())) {
      *sum_.mutable_slowest() = frame.slowest();
    }
    next_seq_ = frame.first_seq() + latency.count();
  }
  AddToSecond(frame);
  // CanFold has merged them once.
  latency_.Merge(latency).IgnoreError();
  response_.Merge(frame.response()).IgnoreError();
  if (served && served_) {
    served_->Append(*served);
  } else if (served) {
    served_ = served;
  }
  sum_.set_bytes(sum_.bytes() + frame.bytes());
  sum_.set_between_ns(sum_.between_ns() + frame.between_ns());
  sum_.set_last_end_ns(std::max(sum_.last_end_ns(), frame.last_end_ns()));
  sum_.set_ring_full_waits(sum_.ring_full_waits() + frame.ring_full_waits());
  sum_.set_ring_full_wait_ns(sum_.ring_full_wait_ns() + frame.ring_full_wait_ns());
  sum_.set_in_flight_since_ns(frame.in_flight_since_ns());
  sum_.set_cut_ns(frame.cut_ns());
  sum_.mutable_trace()->MergeFrom(frame.trace());
  sum_.set_untraced_writes(sum_.untraced_writes() + frame.untraced_writes());
  MergeSlow(frame.slow(), &v1::WriteSample::latency_ns, *sum_.mutable_slow());
  MergeSlow(frame.slow_responses(), &v1::WriteSample::response_ns, *sum_.mutable_slow_responses());
  sum_.mutable_stalls()->MergeFrom(frame.stalls());
  if (!frame.stalls().empty()) last_stall_end_ns_ = frame.stalls(frame.stalls_size() - 1).end_ns();
  sum_.clear_growing_stall();
  if (frame.has_growing_stall()) *sum_.mutable_growing_stall() = frame.growing_stall();
  if (frame.has_start_delay()) AddStartDelay(frame.start_delay(), *sum_.mutable_start_delay());
  return true;
}

void FoldedFrame::AddToSecond(const v1::Frame& frame) {
  const int64_t first = sum_.first_interval() / intervals_per_second_;
  const auto place = static_cast<size_t>(frame.first_interval() / intervals_per_second_ - first);
  if (place >= seconds_.size()) seconds_.resize(place + 1);
  AgedSecond& second = seconds_[place];
  second.writes += frame.latency().count();
  second.bytes += frame.bytes();
  second.latency_sum_ns += frame.latency().sum_ns();
  second.latency_max_ns = std::max(second.latency_max_ns, frame.latency().max_ns());
  const v1::Distribution& response = frame.response();
  second.response_sum_ns =
      SaturatingAdd(second.response_sum_ns, response.sum_ns_high() > 0 ? UINT64_MAX : response.sum_ns());
  second.response_max_ns = std::max(second.response_max_ns, response.max_ns());
}

void FoldedFrame::SetAged(v1::AgedSeconds& aged) const {
  const bool responses = response_.count() > 0;
  uint64_t bytes_per_write = 0;
  bool same_size = true;
  for (const AgedSecond& second : seconds_) {
    if (second.writes > 0 && bytes_per_write == 0) bytes_per_write = second.bytes / second.writes;
    same_size = same_size && second.bytes == second.writes * bytes_per_write;
    aged.add_writes(second.writes);
    aged.add_latency_sum_ns(second.latency_sum_ns);
    aged.add_latency_max_ns(second.latency_max_ns);
    if (!responses) continue;
    aged.add_response_sum_above_ns(static_cast<int64_t>(second.response_sum_ns - second.latency_sum_ns));
    aged.add_response_max_above_ns(static_cast<int64_t>(second.response_max_ns - second.latency_max_ns));
  }
  if (same_size) {
    aged.set_bytes_per_write(bytes_per_write);
  } else {
    for (const AgedSecond& second : seconds_) aged.add_bytes(second.bytes);
  }
  aged.set_frames(frames_);
  if (!served_) return;
  aged.set_first_end_after_ns(served_->first_end_ns - served_->first_start_ns);
  aged.set_last_start_before_ns(served_->last_end_ns - served_->last_start_ns);
  aged.set_longest_gap_ns(served_->longest_gap_ns);
}

v1::Frame FoldedFrame::Take() {
  v1::Frame frame = std::move(sum_);
  frame.set_interval_count(static_cast<uint32_t>(next_interval_ - frame.first_interval()));
  *frame.mutable_latency() = latency_.ToProto();
  if (response_.count() > 0) *frame.mutable_response() = response_.ToProto();
  SetAged(*frame.mutable_aged());
  sum_.Clear();
  latency_.Clear();
  response_.Clear();
  seconds_.clear();
  frames_ = 0;
  next_seq_ = 0;
  last_stall_end_ns_ = 0;
  served_.reset();
  return frame;
}

}  // namespace plimsoll
