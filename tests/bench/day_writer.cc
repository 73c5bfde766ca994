#include "tests/bench/day_writer.h"

#include <algorithm>

#include "common/units.h"

namespace plimsoll::tests {
namespace {

constexpr uint64_t kExtentBytes = uint64_t{64} << 20;
constexpr uint64_t kExtents = 3;

Sample SampleOf(const DayWrite& write, int64_t shift_ns) {
  return {write.start_ns + shift_ns, static_cast<uint64_t>(write.latency_ns)};
}

}  // namespace

BlockPlace DayPlace(uint64_t number) {
  const uint64_t byte = number * DayLoad::kBlockBytes % (kExtents * kExtentBytes);
  BlockPlace place;
  place.extent = static_cast<uint32_t>(byte / kExtentBytes);
  place.offset_bytes = byte % kExtentBytes;
  return place;
}

DayWrite DayWriter::Begin(int64_t due_ns) {
  DayWrite write{due_ns, std::max(due_ns, previous_end_ns_), 0};
  if (next_stall_ < stalls_.size() && due_ns >= stalls_[next_stall_].begin_ns) {
    write.latency_ns = stalls_[next_stall_++].length_ns;
  } else {
    write.latency_ns = load_.LateLatencyNs(host_, qm_, next_write_);
  }
  return write;
}

void DayWriter::Advance() {
  ++second_;
  const int64_t begin_ns = second_ * kNsPerSecond;
  const int64_t end_ns = begin_ns + kNsPerSecond;
  const uint64_t rate = load_.size().rate;
  writes_.clear();
  first_write_ = next_write_;
  const bool stalls = next_stall_ < stalls_.size() && stalls_[next_stall_].begin_ns < end_ns;
  if (!stalls && !in_flight_ && next_write_ == static_cast<uint64_t>(second_) * rate && previous_end_ns_ <= begin_ns) {
    usual_ = load_.UsualOf(host_, qm_, second_);
    next_write_ += rate;
    previous_end_ns_ = begin_ns + phase_ns_ + load_.usual_seconds()[*usual_].writes.back().end_ns();
    return;
  }
  usual_.reset();
  while (true) {
    if (!in_flight_) {
      const int64_t due_ns = next_due_ns();
      if (std::max(due_ns, previous_end_ns_) >= end_ns) return;
      in_flight_ = Begin(due_ns);
    }
    if (in_flight_->end_ns() >= end_ns) return;
    writes_.push_back(*in_flight_);
    previous_end_ns_ = in_flight_->end_ns();
    in_flight_.reset();
    ++next_write_;
  }
}

DayFrames::DayFrames(const DayLoad& load, const DayWriter& writer, int64_t start_ns, int64_t reported_from_ns,
                     uint32_t intervals_per_second)
    : load_(load),
      start_ns_(start_ns),
      intervals_per_second_(intervals_per_second),
      stalls_(reported_from_ns, RateSchedule(start_ns + writer.phase_ns(), load.size().rate), kNsPerSecond) {
  totals_.set_first_start_ns(0);
}

void DayFrames::Offer(const DayWrite& write, uint64_t number, int64_t shift_ns) {
  const int64_t response_ns = static_cast<int64_t>(write.response_ns());
  if (!slow_.Keeps(write.latency_ns) && !slow_responses_.Keeps(response_ns)) return;
  SlowestWrites::Entry entry{number + 1, SampleOf(write, shift_ns), DayPlace(number), write.due_ns + shift_ns,
                             write.latency_ns};
  slow_.Offer(entry);
  entry.time_ns = response_ns;
  slow_responses_.Offer(entry);
}

void DayFrames::ReportSlow(const SlowestWrites& slow, uint64_t first_seq,
                           google::protobuf::RepeatedPtrField<v1::WriteSample>& samples) const {
  slow.ForEachFrom(first_seq, [&](const SlowestWrites::Entry& entry) {
    v1::WriteSample& sample = *samples.Add();
    sample.set_seq(entry.seq);
    sample.set_start_ns(entry.sample.start_ns);
    sample.set_latency_ns(entry.sample.latency_ns());
    sample.set_extent(entry.place.extent);
    sample.set_offset_bytes(entry.place.offset_bytes);
    sample.set_response_ns(static_cast<uint64_t>(entry.sample.end_ns() - entry.due_ns));
  });
}

void DayFrames::CutUsual(const DayWriter& writer, v1::Frame& frame) {
  const UsualSecond& usual = load_.usual_seconds()[*writer.usual()];
  const int64_t shift_ns = start_ns_ + writer.second() * kNsPerSecond + writer.phase_ns();
  frame = usual.frame;
  frame.set_first_seq(writer.first_write() + 1);
  frame.set_first_start_ns(shift_ns + frame.first_start_ns());
  frame.set_last_end_ns(shift_ns + frame.last_end_ns());
  frame.set_fastest_seq(writer.first_write() + frame.fastest_seq());
  frame.mutable_slowest()->set_seq(writer.first_write() + frame.slowest().seq());
  frame.mutable_slowest()->set_start_ns(shift_ns + frame.slowest().start_ns());
  frame.set_between_ns(usual.between_ns + frame.first_start_ns() - start_ns_ - previous_end_ns_);
  for (const uint32_t place : usual.slow) Offer(usual.writes[place], writer.first_write() + place, shift_ns);
  stalls_.Take(writer.next_write(), SampleOf(usual.writes.back(), shift_ns), usual.writes.back().due_ns + shift_ns);
}

void DayFrames::CutOther(const DayWriter& writer, v1::Frame& frame) {
  FillDayFrame(writer.writes(), writer.first_write(), frame);
  int64_t between_ns = 0;
  int64_t before_ns = previous_end_ns_;
  uint64_t number = writer.first_write();
  for (const DayWrite& write : writer.writes()) {
    between_ns += write.start_ns - before_ns;
    before_ns = write.end_ns();
    Offer(write, number++, start_ns_);
    stalls_.Take(number, SampleOf(write, start_ns_), write.due_ns + start_ns_);
  }
  frame.set_between_ns(between_ns);
  if (writer.writes().empty()) return;
  frame.set_first_start_ns(start_ns_ + frame.first_start_ns());
  frame.set_last_end_ns(start_ns_ + frame.last_end_ns());
  frame.mutable_slowest()->set_start_ns(start_ns_ + frame.slowest().start_ns());
}

void DayFrames::Cut(const DayWriter& writer, int64_t cut_ns, v1::Frame& frame) {
  const bool first = totals_.writes() == 0;
  if (writer.usual()) {
    CutUsual(writer, frame);
  } else {
    CutOther(writer, frame);
  }
  if (frame.latency().count() > 0) {
    const BlockPlace slowest = DayPlace(frame.slowest().seq() - 1);
    frame.mutable_slowest()->set_extent(slowest.extent);
    frame.mutable_slowest()->set_offset_bytes(slowest.offset_bytes);
    ReportSlow(slow_, frame.first_seq(), *frame.mutable_slow());
    ReportSlow(slow_responses_, frame.first_seq(), *frame.mutable_slow_responses());
    previous_end_ns_ = frame.last_end_ns() - start_ns_;
    if (first) {
      frame.set_first_phase_ns(writer.phase_ns());
      totals_.set_first_start_ns(frame.first_start_ns());
    }
    totals_.set_last_end_ns(frame.last_end_ns());
  }
  const int64_t end_ns = start_ns_ + (writer.second() + 1) * kNsPerSecond;
  stalls_.Report(end_ns, frame);
  const auto& in_flight = writer.in_flight();
  const int64_t in_flight_since_ns = in_flight ? start_ns_ + in_flight->start_ns : 0;
  stalls_.ReportGrowing(end_ns, {writer.next_write() + 1, start_ns_ + writer.next_due_ns(), in_flight_since_ns}, frame);
  frame.set_in_flight_since_ns(in_flight_since_ns);
  frame.set_cut_ns(cut_ns);
  frame.set_first_interval(static_cast<int32_t>(writer.second() * intervals_per_second_));
  frame.set_interval_count(intervals_per_second_);
  const v1::Distribution& latency = frame.latency();
  totals_.set_writes(totals_.writes() + latency.count());
  totals_.set_due(totals_.writes());
  totals_.set_bytes(totals_.bytes() + frame.bytes());
  totals_.set_latency_sum_ns(totals_.latency_sum_ns() + latency.sum_ns());
  totals_.set_latency_max_ns(std::max(totals_.latency_max_ns(), latency.max_ns()));
  if (latency.count() > 0) {
    // A write starts at most as late as the longest response time.
    totals_.set_max_behind_ns(std::max(totals_.max_behind_ns(), frame.response().max_ns() - latency.min_ns()));
    totals_.set_max_behind_writes(totals_.max_behind_ns() * load_.size().rate / static_cast<uint64_t>(kNsPerSecond));
  }
}

}  // namespace plimsoll::tests
