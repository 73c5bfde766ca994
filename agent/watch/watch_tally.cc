#include "agent/watch/watch_tally.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/algorithm.h"
#include "common/protocol.h"
#include "common/trace.h"

namespace plimsoll {
namespace {

using google::protobuf::RepeatedPtrField;

// Sizes that a block of a trace lists at most.
constexpr size_t kMostTracedSizes = 2'048;

// A writer's first operation has the figures of the writer itself.
constexpr size_t kMain = kMainOperation;

}  // namespace

void OverlappingStalls::Take(uint64_t seq, int64_t start_ns, int64_t end_ns) {
  if (least_ns_ <= 0 || end_ns - start_ns < least_ns_) return;
  const int64_t begin_ns = std::max(start_ns, reported_until_ns_);
  if (begin_ns >= end_ns) return;
  v1::StalledInterval stall;
  stall.set_begin_ns(begin_ns);
  stall.set_end_ns(end_ns);
  stall.set_first_seq(seq);
  stall.set_writes(1);
  stall.set_longest_ns(end_ns - start_ns);
  while (!over_.empty() && over_.back().end_ns() > begin_ns) {
    const v1::StalledInterval& other = over_.back();
    stall.set_begin_ns(std::min(stall.begin_ns(), other.begin_ns()));
    stall.set_first_seq(std::min(stall.first_seq(), other.first_seq()));
    stall.set_writes(stall.writes() + other.writes());
    stall.set_longest_ns(std::max(stall.longest_ns(), other.longest_ns()));
    over_.pop_back();
  }
  // A write was in flight all the time.
  stall.set_in_flight_ns(stall.end_ns() - stall.begin_ns());
  if (over_.size() < StallWatch::kMostStalls) {
    over_.push_back(std::move(stall));
  } else {
    ++left_out_;
  }
}

void OverlappingStalls::Report(int64_t until_ns, int64_t open_start_ns, uint64_t next_seq, v1::Frame& frame) {
  for (v1::StalledInterval& stall : over_) {
    reported_until_ns_ = stall.end_ns();
    *frame.add_stalls() = std::move(stall);
  }
  over_.clear();
  frame.set_stalls_left_out(std::exchange(left_out_, 0));
  if (least_ns_ <= 0 || open_start_ns == 0 || until_ns - open_start_ns < least_ns_) return;
  const int64_t begin_ns = std::max(open_start_ns, reported_until_ns_);
  if (begin_ns >= until_ns) return;
  v1::StalledInterval& growing = *frame.mutable_growing_stall();
  growing.set_begin_ns(begin_ns);
  growing.set_end_ns(until_ns);
  growing.set_first_seq(next_seq);
  growing.set_writes(1);
  growing.set_in_flight_ns(until_ns - begin_ns);
  growing.set_longest_ns(until_ns - open_start_ns);
}

WatchTally::WatchTally(const Params& params)
    : params_(params),
      interval_(params.times.first_interval()),
      parts_(params.operations),
      previous_end_ns_(params.times.start_ns()),
      stalls_(params.stall_ns > 0 ? std::max<int64_t>(params.stall_ns / 2, 1) : 0) {
  for (uint32_t operation = 0; operation < params.operations; ++operation) {
    parts_[operation].totals.set_qm(params.qm);
    parts_[operation].totals.set_operation(operation);
  }
}

void WatchTally::Take(const WatchedOperation& operation, bool traced) {
  Part& part = parts_[operation.operation];
  const auto latency_ns = static_cast<uint64_t>(operation.end_ns - operation.start_ns);
  const Sample sample(operation.start_ns, latency_ns, operation.operation);
  const uint64_t seq = ++part.taken;
  part.figures.Take(seq, sample, operation.place, operation.start_ns);
  part.bytes += operation.bytes;
  if (interval_ >= 0) {
    part.slowest.Offer({seq, sample, operation.place, operation.start_ns, static_cast<int64_t>(sample.latency_ns())});
  }
  if (traced && params_.trace) {
    part.traced.push_back({operation.start_ns, sample.latency_ns(), operation.bytes});
  } else {
    ++part.untraced;
  }

  v1::WriterTotals& totals = part.totals;
  totals.set_writes(totals.writes() + 1);
  totals.set_bytes(totals.bytes() + operation.bytes);
  totals.set_latency_sum_ns(totals.latency_sum_ns() + sample.latency_ns());
  totals.set_latency_max_ns(std::max(totals.latency_max_ns(), sample.latency_ns()));
  if (totals.writes() == 1) totals.set_first_start_ns(operation.start_ns);
  totals.set_last_end_ns(operation.end_ns);

  if (operation.operation != kMain) return;
  stalls_.Take(seq, operation.start_ns, operation.end_ns);
  // What lies before the measured start belongs to the warm-up, so that the measured frames add up.
  const int64_t measured_start_ns = params_.times.measured_start_ns();
  const bool first_measured = previous_end_ns_ < measured_start_ns && operation.end_ns >= measured_start_ns;
  between_ns_ += operation.start_ns - (first_measured ? measured_start_ns : previous_end_ns_);
  previous_end_ns_ = operation.end_ns;
}

void WatchTally::SetSample(const SlowestWrites::Entry& entry, v1::WriteSample& reported) {
  reported.set_seq(entry.seq);
  reported.set_start_ns(entry.sample.start_ns);
  reported.set_latency_ns(entry.sample.latency_ns());
  reported.set_extent(entry.place.extent);
  reported.set_offset_bytes(entry.place.offset_bytes);
}

void WatchTally::AddTrace(Part& part, v1::Frame& frame) const {
  StableSort(part.traced, [](const Traced& a, const Traced& b) { return a.start_ns < b.start_ns; });
  const auto first = std::ranges::find_if(
      part.traced, [&](const Traced& write) { return write.start_ns >= part.last_traced_start_ns; });
  part.untraced += static_cast<uint64_t>(first - part.traced.begin());
  for (auto from = first; from != part.traced.end();) {
    // As many as have no more sizes than a block may list.
    std::map<uint64_t, uint32_t> places;
    auto to = from;
    for (; to != part.traced.end(); ++to) {
      const uint64_t bytes = std::max<uint64_t>(to->bytes, 1);
      if (places.contains(bytes)) continue;
      if (places.size() == kMostTracedSizes) break;
      places.emplace(bytes, 0);
    }
    std::vector<uint64_t> sizes;
    for (auto& [bytes, place] : places) {
      place = static_cast<uint32_t>(sizes.size());
      sizes.push_back(bytes);
    }
    // A block with a single size would not say which.
    if (sizes.size() == 1) sizes.push_back(sizes.front() + 1);
    TraceEncoder encoder(std::move(sizes));
    for (; from != to; ++from) {
      encoder.Add(from->start_ns, from->latency_ns, places[std::max<uint64_t>(from->bytes, 1)]);
      part.last_traced_start_ns = from->start_ns;
    }
    frame.add_trace(encoder.Finish());
  }
  part.traced.clear();
}

void WatchTally::Cut(int64_t now_ns, int64_t in_flight_since_ns, RepeatedPtrField<v1::Frame>& frames) {
  for (uint32_t operation = 0; operation < parts_.size(); ++operation) {
    Part& part = parts_[operation];
    v1::Frame& frame = *frames.Add();
    frame.set_step(params_.step);
    frame.set_qm(params_.qm);
    frame.set_operation(operation);
    frame.set_first_interval(interval_);
    frame.set_interval_count(1);
    part.figures.Report(frame);
    if (const uint64_t first_seq = part.figures.first_seq(); first_seq != 0) {
      SetSample(part.figures.slowest(), *frame.mutable_slowest());
      part.slowest.ForEachFrom(first_seq,
                               [&](const SlowestWrites::Entry& entry) { SetSample(entry, *frame.add_slow()); });
    }
    frame.set_bytes(part.bytes);
    frame.set_cut_ns(now_ns);
    AddTrace(part, frame);
    frame.set_untraced_writes(part.untraced);
    if (operation == kMain) {
      frame.set_between_ns(std::exchange(between_ns_, 0));
      frame.set_in_flight_since_ns(in_flight_since_ns);
      stalls_.Report(interval_end_ns(), in_flight_since_ns, part.taken + 1, frame);
    }
    part.figures.Clear();
    part.bytes = part.untraced = 0;
  }
  ++interval_;
}

void WatchTally::AddTotals(v1::StepDone& done) const {
  for (const Part& part : parts_) *done.add_writers() = part.totals;
}

}  // namespace plimsoll
