// Cuts a simulated writer's writes into the frames that an agent would send.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "common/histogram.h"
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
    const SimWriter& writes = host_.steps[step_][qm_ - 1];
    const uint64_t block = BlockOf(run_, host_, step_, qm_);
    const int64_t end_ns = closing ? INT64_MAX : std::min((first + count) * run_.interval_ns, run_.duration_ns);
    v1::Frame frame;
    frame.set_step(step_);
    frame.set_qm(qm_);
    frame.set_first_interval(static_cast<int32_t>(first));
    frame.set_interval_count(count);
    frame.set_closing(closing);
    Histogram latency;
    Histogram response;
    parts_.clear();
    Histogram parts[2];
    v1::WriteSample slowest[2];
    for (; next_ < writes.size() && writes[next_].end_ns() < end_ns; ++next_) {
      const SimWrite& write = writes[next_];
      const auto latency_ns = static_cast<uint64_t>(write.latency_ns);
      if (write.end_ns() >= 0 && previous_end_ns_ < 0) previous_end_ns_ = 0;
      frame.set_between_ns(frame.between_ns() + write.start_ns - previous_end_ns_);
      previous_end_ns_ = write.end_ns();
      if (latency.count() == 0) {
        frame.set_first_seq(next_ + 1);
        frame.set_first_start_ns(agent_start_ns_ + write.start_ns);
      }
      frame.set_last_end_ns(agent_start_ns_ + write.end_ns());
      if (latency.count() == 0 || latency_ns > latency.max_ns()) {
        *frame.mutable_slowest() = Sample(next_ + 1, write);
      }
      if (latency.count() == 0 || latency_ns < latency.min_ns()) frame.set_fastest_seq(next_ + 1);
      latency.Record(latency_ns);
      if (host_.sync_ns) TakeParts(write, parts, slowest);
      if (write.end_ns() >= 0) OfferSlow(write);
      WatchStall(write, frame);
      if (host_.rate_per_second > 0) response.Record(latency_ns + static_cast<uint64_t>(host_.schedule_lag_ns));
    }
    for (const auto& [seq, slow] : slow_) {
      if (latency.count() == 0 || seq < frame.first_seq()) continue;
      *frame.add_slow() = Sample(seq, slow);
      // All of a host's writes are as late.
      if (host_.rate_per_second > 0) *frame.add_slow_responses() = Sample(seq, slow);
    }
    frame.set_bytes(latency.count() * block);
    *frame.mutable_latency() = latency.ToProto();
    if (host_.rate_per_second > 0) *frame.mutable_response() = response.ToProto();
    if (!closing && next_ < writes.size() && writes[next_].start_ns < end_ns) {
      frame.set_in_flight_since_ns(agent_start_ns_ + writes[next_].start_ns);
    }
    frame.set_cut_ns(agent_start_ns_ + (closing ? run_.duration_ns : end_ns));
    if (host_.sync_ns) MakeParts(frame, parts, slowest);
    return frame;
  }
  // The frames of the parts of the writes in the last frame; none where no sync follows them.
  const std::vector<v1::Frame>& parts() const { return parts_; }

 private:
  void TakeParts(const SimWrite& write, Histogram* parts, v1::WriteSample* slowest) const {
    const int64_t sync_ns = host_.sync_ns(next_ + 1);
    const int64_t times_ns[2] = {write.latency_ns - sync_ns, sync_ns};
    for (size_t part = 0; part < 2; ++part) {
      const auto time_ns = static_cast<uint64_t>(times_ns[part]);
      if (parts[part].count() == 0 || time_ns > parts[part].max_ns()) {
        slowest[part] = Sample(next_ + 1, {part == 0 ? write.start_ns : write.end_ns() - sync_ns, times_ns[part]});
        slowest[part].clear_response_ns();
      }
      parts[part].Record(time_ns);
    }
  }
  void MakeParts(const v1::Frame& whole, const Histogram* parts, const v1::WriteSample* slowest) {
    for (uint32_t part = 0; part < 2; ++part) {
      v1::Frame& frame = parts_.emplace_back();
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
  void OfferSlow(const SimWrite& write) {
    slow_[next_ + 1] = write;
    if (slow_.size() <= 10) return;
    auto least = slow_.begin();
    for (auto slow = slow_.begin(); slow != slow_.end(); ++slow) {
      if (slow->second.latency_ns <= least->second.latency_ns) least = slow;
    }
    slow_.erase(least);
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
  std::map<uint64_t, SimWrite> slow_;
  std::vector<v1::Frame> parts_;
};

}  // namespace plimsoll::tests
