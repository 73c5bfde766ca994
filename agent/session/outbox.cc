#include "agent/session/outbox.h"

#include <algorithm>
#include <utility>

#include "agent/writer/operation_tally.h"
#include "agent/writer/stall_watch.h"
#include "common/histogram.h"
#include "common/protocol.h"

namespace plimsoll {
namespace {

void MergeDistribution(const v1::Distribution& later, v1::Distribution& into) {
  if (later.count() == 0) return;
  Histogram sum;
  // Distributions of this agent's own recorder are consistent, so that merging them cannot fail.
  sum.Merge(into).IgnoreError();
  sum.Merge(later).IgnoreError();
  into = sum.ToProto();
}

void DropTrace(v1::Frame& frame) {
  // The parts of a write have neither bytes nor traces.
  if (frame.operation() != kMainOperation && frame.bytes() == 0) return;
  frame.clear_trace();
  frame.set_untraced_writes(frame.latency().count());
}

// Appends what `from` holds, up to `most` entries in all, and returns how many were left out.
template <typename Entry>
uint64_t MoveAll(google::protobuf::RepeatedPtrField<Entry>& from, google::protobuf::RepeatedPtrField<Entry>& into,
                 int most) {
  uint64_t left_out = 0;
  for (Entry& entry : from) {
    if (into.size() < most) {
      *into.Add() = std::move(entry);
    } else {
      ++left_out;
    }
  }
  from.Clear();
  return left_out;
}

// Keeps the slowest by `time_ns` of the writes, which are in the order of their numbers; of equal ones the earlier.
void KeepSlowest(uint64_t (v1::WriteSample::*time_ns)() const,
                 google::protobuf::RepeatedPtrField<v1::WriteSample>& writes) {
  while (writes.size() > static_cast<int>(SlowestWrites::kKept)) {
    auto fastest = writes.begin();
    for (auto write = writes.begin(); write != writes.end(); ++write) {
      if (((*write).*time_ns)() <= ((*fastest).*time_ns)()) fastest = write;
    }
    writes.erase(fastest);
  }
}

void MergeStalls(v1::Frame& later, v1::Frame& frame) {
  // Once one was left out all later ones are: those that are kept show until when nothing is missing.
  const int most = frame.stalls_left_out() > 0 ? 0 : static_cast<int>(StallWatch::kMostStalls);
  const uint64_t left_out = MoveAll(*later.mutable_stalls(), *frame.mutable_stalls(), most);
  frame.set_stalls_left_out(frame.stalls_left_out() + left_out + later.stalls_left_out());
  frame.clear_growing_stall();
  if (later.has_growing_stall()) frame.mutable_growing_stall()->Swap(later.mutable_growing_stall());
}

}  // namespace

void CoalesceFrame(v1::Frame&& later, bool keep_trace, v1::Frame& frame) {
  if (!keep_trace) DropTrace(later);
  frame.set_interval_count(frame.interval_count() + later.interval_count());
  if (later.fastest_seq() != 0 && (frame.fastest_seq() == 0 || later.latency().min_ns() < frame.latency().min_ns())) {
    frame.set_fastest_seq(later.fastest_seq());
  }
  MergeDistribution(later.latency(), *frame.mutable_latency());
  if (later.has_response()) MergeDistribution(later.response(), *frame.mutable_response());
  if (later.has_start_delay()) AddStartDelay(later.start_delay(), *frame.mutable_start_delay());
  frame.set_bytes(frame.bytes() + later.bytes());
  frame.set_between_ns(frame.between_ns() + later.between_ns());
  if (frame.first_seq() == 0) {
    frame.set_first_seq(later.first_seq());
    frame.set_first_start_ns(later.first_start_ns());
    frame.set_first_phase_ns(later.first_phase_ns());
  }
  if (later.last_end_ns() != 0) frame.set_last_end_ns(later.last_end_ns());
  if (later.has_slowest() && (!frame.has_slowest() || later.slowest().latency_ns() > frame.slowest().latency_ns())) {
    frame.mutable_slowest()->Swap(later.mutable_slowest());
  }
  frame.set_ring_full_waits(frame.ring_full_waits() + later.ring_full_waits());
  frame.set_ring_full_wait_ns(frame.ring_full_wait_ns() + later.ring_full_wait_ns());
  frame.set_in_flight_since_ns(later.in_flight_since_ns());
  frame.set_cut_ns(later.cut_ns());
  for (std::string& block : *later.mutable_trace()) *frame.add_trace() = std::move(block);
  frame.set_untraced_writes(frame.untraced_writes() + later.untraced_writes());
  frame.mutable_slow()->MergeFrom(later.slow());
  KeepSlowest(&v1::WriteSample::latency_ns, *frame.mutable_slow());
  frame.mutable_slow_responses()->MergeFrom(later.slow_responses());
  KeepSlowest(&v1::WriteSample::response_ns, *frame.mutable_slow_responses());
  MergeStalls(later, frame);
}

void CoalesceBatch(v1::FrameBatch&& later, bool keep_trace, v1::FrameBatch& batch) {
  // Frames come in the same order in each batch: the search goes on behind the last one that was found.
  int from = 0;
  for (v1::Frame& frame : *later.mutable_frames()) {
    auto* frames = batch.mutable_frames();
    const auto is_same = [&frame](const v1::Frame& other) {
      return other.step() == frame.step() && other.qm() == frame.qm() && other.operation() == frame.operation() &&
             other.closing() == frame.closing() &&
             other.first_interval() + static_cast<int32_t>(other.interval_count()) == frame.first_interval() &&
             // Warm-up and measured intervals stay apart: they are counted apart.
             (other.first_interval() < 0) == (frame.first_interval() < 0);
    };
    auto same = std::find_if(frames->begin() + from, frames->end(), is_same);
    if (same == frames->end()) same = std::find_if(frames->begin(), frames->begin() + from, is_same);
    const bool found = same != frames->end() && is_same(*same);
    if (found) {
      from = static_cast<int>(same - frames->begin()) + 1;
      CoalesceFrame(std::move(frame), keep_trace, *same);
    } else {
      if (!keep_trace) DropTrace(frame);
      *batch.add_frames() = std::move(frame);
    }
  }
  if (!later.has_sample()) return;
  // Counters are those of the later one; what happened since the sample before is that of both.
  v1::HostSample& sample = *batch.mutable_sample();
  const uint64_t left_out = MoveAll(*later.mutable_sample()->mutable_pauses(), *sample.mutable_pauses(), kMostPauses);
  later.mutable_sample()->mutable_pauses()->Swap(sample.mutable_pauses());
  later.mutable_sample()->set_pauses_left_out(sample.pauses_left_out() + left_out + later.sample().pauses_left_out());
  later.mutable_sample()->set_recorder_late_max_ns(
      std::max(later.sample().recorder_late_max_ns(), sample.recorder_late_max_ns()));
  sample.Swap(later.mutable_sample());
}

void CoalesceLedger(v1::HaEvents&& later, v1::HaEvents& events) {
  for (v1::HaLedgerEntry& entry : *later.mutable_ledger()) {
    v1::HaLedgerEntry* last = nullptr;
    for (v1::HaLedgerEntry& known : *events.mutable_ledger()) {
      if (known.instance() == entry.instance()) last = &known;
    }
    const bool follows = last != nullptr && last->epoch() == entry.epoch() && !last->recovered() &&
                         !entry.recovered() && last->last_sequence() + 1 == entry.first_sequence();
    if (follows) {
      entry.set_first_sequence(last->first_sequence());
      *last = std::move(entry);
    } else {
      *events.add_ledger() = std::move(entry);
    }
  }
}

void DropTraces(v1::FrameBatch& batch) {
  for (v1::Frame& frame : *batch.mutable_frames()) DropTrace(frame);
}

namespace {

// It has completed writes only, so further ones may be added.
bool IsLedger(const v1::AgentMessage& message) {
  return message.has_ha() && message.ha().events().empty() && !message.ha().ledger().empty();
}

}  // namespace

void Outbox::Append(v1::AgentMessage message) {
  const size_t bytes = message.ByteSizeLong();
  bytes_ += bytes;
  entries_.push_back({std::move(message), bytes});
}

void Outbox::Resize(Entry& entry) {
  bytes_ -= entry.bytes;
  entry.bytes = entry.message.ByteSizeLong();
  bytes_ += entry.bytes;
}

void Outbox::Push(v1::AgentMessage message) {
  MutexLock lock(mutex_);
  if (closed_) return;
  if (message.has_alive() && Full() && entries_.back().message.has_alive()) {
    entries_.back().message = std::move(message);
    Resize(entries_.back());
    return;
  }
  if (IsLedger(message) && Full()) {
    if (Entry* newest = Newest(IsLedger); newest != nullptr) {
      CoalesceLedger(std::move(*message.mutable_ha()), *newest->message.mutable_ha());
      Resize(*newest);
      return;
    }
  }
  Append(std::move(message));
}

Outbox::Entry* Outbox::Newest(bool (*wanted)(const v1::AgentMessage&)) {
  // Frames, ledgers and signs of life may overtake each other; nothing else may.
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    const v1::AgentMessage& message = entry->message;
    if (wanted(message)) return &*entry;
    if (!message.has_alive() && !message.has_frames() && !IsLedger(message)) break;
  }
  return nullptr;
}

void Outbox::PushFrames(v1::FrameBatch frames) {
  MutexLock lock(mutex_);
  if (closed_) return;
  const bool keep_trace = bytes_ <= limits_.drop_traces_above_bytes;
  const auto is_frames = [](const v1::AgentMessage& message) { return message.has_frames(); };
  if (Entry* newest = Full() ? Newest(is_frames) : nullptr; newest != nullptr) {
    CoalesceBatch(std::move(frames), keep_trace, *newest->message.mutable_frames());
    Resize(*newest);
    return;
  }
  if (!keep_trace) DropTraces(frames);
  v1::AgentMessage message;
  *message.mutable_frames() = std::move(frames);
  Append(std::move(message));
}

std::optional<v1::AgentMessage> Outbox::Pop() {
  MutexLock lock(mutex_);
  if (entries_.empty()) return std::nullopt;
  v1::AgentMessage message = std::move(entries_.front().message);
  bytes_ -= entries_.front().bytes;
  entries_.pop_front();
  return message;
}

bool Outbox::empty() const {
  MutexLock lock(mutex_);
  return entries_.empty();
}

void Outbox::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  entries_.clear();
  bytes_ = 0;
}

size_t Outbox::queued_bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace plimsoll
