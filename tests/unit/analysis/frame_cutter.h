// Cuts a simulated writer's writes and reads into the frames that an agent would send.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "common/histogram.h"
#include "common/protocol.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll::tests {

inline constexpr uint64_t kExtentBytes = 16 << 20;

inline int64_t FloorDivide(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

// Makes the frames of one writer in one step.
class FrameCutter {
 public:
  FrameCutter(const SimRun& run, const SimHost& host, uint32_t step, uint32_t qm, int64_t agent_start_ns)
      : run_(run),
        host_(host),
        step_(step),
        qm_(qm),
        agent_start_ns_(agent_start_ns),
        previous_end_ns_(-run.warmup_ns) {}

  // Frame of intervals [first, first + count), or the closing one.
  v1::Frame Cut(int64_t first, uint32_t count, bool closing) {
    const SimWriter& operations = host_.steps[step_][qm_ - 1];
    const int64_t end_ns = closing ? INT64_MAX : std::min((first + count) * run_.interval_ns, run_.duration_ns);
    v1::Frame frame;
    frame.set_step(step_);
    frame.set_qm(qm_);
    frame.set_first_interval(static_cast<int32_t>(first));
    frame.set_interval_count(count);
    frame.set_closing(closing);
    frame.set_cut_ns(agent_start_ns_ + (closing ? run_.duration_ns : end_ns));
    v1::Frame read = frame;
    read.set_operation(ReadOperation(run_));
    others_.clear();
    Times of_writes;
    Times of_reads;
    Histogram parts[2];
    v1::WriteSample slowest[2];
    for (; next_ < operations.size() && operations[next_].end_ns() < end_ns; ++next_) {
      const SimWrite& operation = operations[next_];
      if (operation.end_ns() >= 0 && previous_end_ns_ < 0) previous_end_ns_ = 0;
      frame.set_between_ns(frame.between_ns() + operation.start_ns - previous_end_ns_);
      previous_end_ns_ = operation.end_ns();
      if (IsRead(run_, host_, next_ + 1)) {
        Take(operation, reads_, of_reads, read);
      } else {
        Take(operation, writes_, of_writes, frame);
        if (host_.sync_ns) TakeParts(operation, parts, slowest);
      }
      WatchStall(operation, frame);
    }
    Finish(writes_, of_writes, frame);
    if (!closing && next_ < operations.size() && operations[next_].start_ns < end_ns) {
      frame.set_in_flight_since_ns(agent_start_ns_ + operations[next_].start_ns);
    }
    const bool has_parts = host_.sync_ns && run_.read_percent < kOnlyReads;
    if (has_parts && (!closing || of_writes.latency.count() > 0)) MakeParts(frame, parts, slowest);
    if (read.operation() != kMainOperation && (!closing || of_reads.latency.count() > 0)) {
      Finish(reads_, of_reads, read);
      others_.push_back(read);
    }
    return frame;
  }
  // The frames of the other operations that belong to the last frame: the parts of its writes, and the reads.
  const std::vector<v1::Frame>& others() const { return others_; }

 private:
  // The writes so far, or the reads beside them: how many, and the ten slowest by number.
  struct Taken {
    uint64_t taken = 0;
    std::map<uint64_t, SimWrite> slow;
  };
  // Times of one kind of operations in the open frame.
  struct Times {
    Histogram latency;
    Histogram response;
  };

  void Take(const SimWrite& operation, Taken& kind, Times& times, v1::Frame& frame) const {
    const auto latency_ns = static_cast<uint64_t>(operation.latency_ns);
    const uint64_t seq = ++kind.taken;
    Histogram& latency = times.latency;
    if (latency.count() == 0) {
      frame.set_first_seq(seq);
      frame.set_first_start_ns(agent_start_ns_ + operation.start_ns);
    }
    frame.set_last_end_ns(agent_start_ns_ + operation.end_ns());
    if (latency.count() == 0 || latency_ns > latency.max_ns()) *frame.mutable_slowest() = Sample(seq, operation);
    if (latency.count() == 0 || latency_ns < latency.min_ns()) frame.set_fastest_seq(seq);
    latency.Record(latency_ns);
    if (operation.end_ns() >= 0) OfferSlow(seq, operation, kind.slow);
    if (host_.rate_per_second > 0) times.response.Record(latency_ns + static_cast<uint64_t>(host_.schedule_lag_ns));
  }
  // Sets the figures that a frame has of all its operations.
  void Finish(const Taken& kind, const Times& times, v1::Frame& frame) const {
    for (const auto& [seq, slow] : kind.slow) {
      if (times.latency.count() == 0 || seq < frame.first_seq()) continue;
      *frame.add_slow() = Sample(seq, slow);
      // All operations of a host have the same lag, so the slowest are slowest by response time, too.
      if (host_.rate_per_second > 0) *frame.add_slow_responses() = Sample(seq, slow);
    }
    frame.set_bytes(times.latency.count() * BlockOf(run_, host_, step_, qm_));
    *frame.mutable_latency() = times.latency.ToProto();
    if (host_.rate_per_second > 0) *frame.mutable_response() = times.response.ToProto();
  }
  // Takes the parts of the write that was taken last.
  void TakeParts(const SimWrite& write, Histogram* parts, v1::WriteSample* slowest) const {
    const uint64_t seq = writes_.taken;
    const int64_t sync_ns = host_.sync_ns(seq);
    const int64_t times_ns[2] = {write.latency_ns - sync_ns, sync_ns};
    for (size_t part = 0; part < 2; ++part) {
      const auto time_ns = static_cast<uint64_t>(times_ns[part]);
      if (parts[part].count() == 0 || time_ns > parts[part].max_ns()) {
        slowest[part] = Sample(seq, {part == 0 ? write.start_ns : write.end_ns() - sync_ns, times_ns[part]});
        slowest[part].clear_response_ns();
      }
      parts[part].Record(time_ns);
    }
  }
  void MakeParts(const v1::Frame& whole, const Histogram* parts, const v1::WriteSample* slowest) {
    for (uint32_t part = 0; part < 2; ++part) {
      v1::Frame& frame = others_.emplace_back();
      frame.set_step(whole.step());
      frame.set_qm(whole.qm());
      frame.set_operation(part + 1);
      frame.set_first_interval(whole.first_interval());
      frame.set_interval_count(whole.interval_count());
      frame.set_closing(whole.closing());
      frame.set_first_seq(whole.first_seq());
      frame.set_first_start_ns(whole.first_start_ns());
      frame.set_last_end_ns(whole.last_end_ns());
      frame.set_cut_ns(whole.cut_ns());
      *frame.mutable_latency() = parts[part].ToProto();
      if (parts[part].count() > 0) *frame.mutable_slowest() = slowest[part];
    }
  }
  v1::WriteSample Sample(uint64_t seq, const SimWrite& write) const {
    const uint64_t block = BlockOf(run_, host_, step_, qm_);
    v1::WriteSample sample;
    sample.set_seq(seq);
    sample.set_start_ns(agent_start_ns_ + write.start_ns);
    sample.set_latency_ns(static_cast<uint64_t>(write.latency_ns));
    sample.set_extent(static_cast<uint32_t>((seq - 1) * block / kExtentBytes % 3));
    sample.set_offset_bytes((seq - 1) * block % kExtentBytes);
    if (host_.rate_per_second > 0) {
      sample.set_response_ns(static_cast<uint64_t>(write.latency_ns + host_.schedule_lag_ns));
    }
    return sample;
  }
  // Keeps the ten slowest so far, of equal ones the earlier.
  static void OfferSlow(uint64_t seq, const SimWrite& operation, std::map<uint64_t, SimWrite>& kept) {
    kept[seq] = operation;
    if (kept.size() <= 10) return;
    auto least = kept.begin();
    for (auto slow = kept.begin(); slow != kept.end(); ++slow) {
      if (slow->second.latency_ns <= least->second.latency_ns) least = slow;
    }
    kept.erase(least);
  }
  // A write is due when the one before it has ended.
  void WatchStall(const SimWrite& write, v1::Frame& frame) {
    const int64_t due_ns = due_ns_;
    due_ns_ = write.end_ns();
    if (run_.stall_ns == 0) return;
    const int64_t stalled_ns = std::max(write.latency_ns, write.start_ns - due_ns);
    if (stalled_ns < run_.stall_ns / 2) return;
    v1::StalledInterval& stall = *frame.add_stalls();
    stall.set_begin_ns(agent_start_ns_ + due_ns);
    stall.set_end_ns(agent_start_ns_ + write.end_ns());
    stall.set_first_seq(next_ + 1);
    stall.set_writes(1);
    stall.set_in_flight_ns(write.latency_ns);
    stall.set_longest_ns(stalled_ns);
  }

  const SimRun& run_;
  const SimHost& host_;
  uint32_t step_;
  uint32_t qm_;
  int64_t agent_start_ns_;
  size_t next_ = 0;
  int64_t previous_end_ns_;
  int64_t due_ns_ = previous_end_ns_;
  Taken writes_;
  Taken reads_;
  std::vector<v1::Frame> others_;
};

}  // namespace plimsoll::tests
