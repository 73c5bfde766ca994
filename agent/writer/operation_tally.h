// What a frame holds of a writer's operations: their figures, the slowest of them, and their trace.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "agent/writer/log_files.h"
#include "agent/writer/writer_state.h"
#include "common/histogram.h"
#include "common/protocol.h"
#include "common/trace.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Keeps the ten slowest of the operations that were offered, by service time or by response time; of equally slow ones,
// the earlier. Allocates nothing, and costs one comparison for a write that is not among them. Not thread-safe.
class SlowestWrites {
 public:
  static constexpr size_t kKept = 10;

  struct Entry {
    uint64_t seq = 0;
    Sample sample;
    BlockPlace place;
    // When the operation was due, and how slow it was.
    int64_t due_ns = 0;
    int64_t time_ns = 0;
  };

  // Whether an operation that took `time_ns` is among the slowest so far.
  bool Keeps(int64_t time_ns) const { return time_ns > floor_ns_; }
  // Operations must be offered in the order of their sequence numbers.
  void Offer(const Entry& entry) {
    if (Keeps(entry.time_ns)) Insert(entry);
  }

  // Calls `use(const Entry&)` for those with sequence numbers from `seq` on, in that order.
  template <typename Use>
  void ForEachFrom(uint64_t seq, Use&& use) const {
    std::array<Entry, kKept> found;
    size_t count = 0;
    for (size_t i = 0; i < count_; ++i) {
      if (entries_[i].seq >= seq) found[count++] = entries_[i];
    }
    std::sort(found.begin(), found.begin() + count, [](const Entry& a, const Entry& b) { return a.seq < b.seq; });
    for (size_t i = 0; i < count; ++i) use(found[i]);
  }

 private:
  void Insert(const Entry& entry) {
    size_t place = count_ < kKept ? count_++ : kKept - 1;
    for (; place > 0 && entries_[place - 1].time_ns < entry.time_ns; --place) {
      entries_[place] = entries_[place - 1];
    }
    entries_[place] = entry;
    if (count_ == kKept) floor_ns_ = entries_.back().time_ns;
  }

  // The slowest first.
  std::array<Entry, kKept> entries_;
  size_t count_ = 0;
  // The time that a write must exceed to be kept; negative while there is room.
  int64_t floor_ns_ = -1;
};

// What a frame holds of one operation. Allocates nothing after its construction. Not thread-safe.
class OperationTally {
 public:
  // Takes one more operation: a write, a read or a part of a write. `seq` is its number among those of its kind.
  void Take(uint64_t seq, const Sample& sample, BlockPlace place, int64_t due_ns) {
    latency_.Record(sample.latency_ns());
    if (first_seq_ == 0) {
      first_seq_ = seq;
      first_start_ns_ = sample.start_ns;
      first_due_ns_ = due_ns;
    }
    if (slowest_.seq == 0 || sample.latency_ns() > slowest_.sample.latency_ns()) {
      slowest_ = {seq, sample, place, due_ns, 0};
    }
    if (fastest_seq_ == 0 || sample.latency_ns() < fastest_ns_) {
      fastest_seq_ = seq;
      fastest_ns_ = sample.latency_ns();
    }
    last_end_ns_ = sample.end_ns();
  }
  void Clear() {
    latency_.Clear();
    first_seq_ = slowest_.seq = fastest_seq_ = 0;
  }

  uint64_t count() const { return latency_.count(); }
  // 0: nothing was taken.
  uint64_t first_seq() const { return first_seq_; }
  int64_t first_due_ns() const { return first_due_ns_; }
  // Undefined if count() is 0.
  const SlowestWrites::Entry& slowest() const { return slowest_; }
  // Sets the frame's figures, all but the slowest.
  void Report(v1::Frame& frame) const;

 private:
  Histogram latency_;
  uint64_t first_seq_ = 0;
  int64_t first_start_ns_ = 0;
  int64_t first_due_ns_ = 0;
  int64_t last_end_ns_ = 0;
  SlowestWrites::Entry slowest_;
  uint64_t fastest_seq_ = 0;
  uint64_t fastest_ns_ = 0;
};

// What a frame holds of writes, or of reads: operations with bytes, a schedule and a trace. Allocates for the trace
// alone. Not thread-safe.
class WholeTally {
 public:
  WholeTally(std::vector<uint64_t> sizes_bytes, bool parts) : trace_(std::move(sizes_bytes), parts) {}

  struct Taken {
    Sample sample = {};
    BlockPlace place = {};
    uint64_t bytes = 0;
    int64_t due_ns = 0;
    // Duration of the write call; 0 if parts are not measured.
    uint64_t call_ns = 0;
    bool warmup = false;
    bool traced = false;
  };
  // Takes the next operation. Returns its number, from 1. Inlined, since `taken` would else go through memory: 5 ns.
  [[gnu::always_inline]] uint64_t Take(const Taken& taken) {
    const Sample& sample = taken.sample;
    const uint64_t seq = ++taken_;
    figures_.Take(seq, sample, taken.place, taken.due_ns);
    bytes_ += taken.bytes;
    const auto latency_ns = static_cast<int64_t>(sample.latency_ns());
    if (slowest_.Keeps(latency_ns) && !taken.warmup) [[unlikely]] {
      slowest_.Offer({seq, sample, taken.place, taken.due_ns, latency_ns});
    }
    if (taken.traced) {
      trace_.Add(sample.start_ns, sample.latency_ns(), sample.size(), std::min(taken.call_ns, sample.latency_ns()));
    } else {
      ++untraced_;
    }
    return seq;
  }
  // Takes the response time of the last operation, and how long the load generator delayed its end.
  void TakeResponse(const Taken& taken, int64_t response_ns, uint64_t delay_ns) {
    response_.Record(static_cast<uint64_t>(response_ns));
    if (slowest_responses_.Keeps(response_ns) && !taken.warmup) [[unlikely]] {
      slowest_responses_.Offer({taken_, taken.sample, taken.place, taken.due_ns, response_ns});
    }
    max_start_delay_ns_ = std::max(max_start_delay_ns_, delay_ns);
    if (delay_ns > kPromptStartNs) ++late_;
  }

  const OperationTally& figures() const { return figures_; }
  // Adds everything but figures() to the frame and starts the next one. `set` fills in a slow operation.
  void Report(bool rated, const std::function<void(const SlowestWrites::Entry&, v1::WriteSample&)>& set,
              v1::Frame& frame);

 private:
  OperationTally figures_;
  Histogram response_;
  uint64_t taken_ = 0;
  uint64_t bytes_ = 0;
  uint64_t untraced_ = 0;
  uint64_t max_start_delay_ns_ = 0;
  uint64_t late_ = 0;
  TraceEncoder trace_;
  // The slowest operations of the measured part, by service time and by response time.
  SlowestWrites slowest_;
  SlowestWrites slowest_responses_;
};

}  // namespace plimsoll
