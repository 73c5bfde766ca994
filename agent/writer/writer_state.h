// What a writer's thread shows to the recorder and to the session while it runs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "common/protocol.h"

namespace plimsoll {

// One completed write or read, or a part of a write: the part comes before the write, and ends with it.
class Sample {
 public:
  Sample() = default;
  // `latency_ns`: of the system call(s). `operation`: its place in the step's list, below 32. `size`: place of its size
  // in the step's list, below 2,048. Costs a comparison, two shifts and two ors.
  Sample(int64_t start, uint64_t latency_ns, uint32_t operation = kMainOperation, uint32_t size = 0)
      : start_ns(start),
        packed_(std::min(latency_ns, kLongestLatencyNs) | uint64_t{size} << kSizeShift |
                uint64_t{operation} << kOperationShift) {}

  int64_t start_ns = 0;  // CLOCK_MONOTONIC
  uint64_t latency_ns() const { return packed_ & kLongestLatencyNs; }
  uint32_t operation() const { return static_cast<uint32_t>(packed_ >> kOperationShift); }
  uint32_t size() const { return static_cast<uint32_t>(packed_ >> kSizeShift) & kMostSizes; }
  int64_t end_ns() const { return start_ns + static_cast<int64_t>(latency_ns()); }

 private:
  static constexpr int kSizeShift = 48;
  static constexpr int kOperationShift = 59;
  static constexpr uint32_t kMostSizes = (1U << (kOperationShift - kSizeShift)) - 1;
  // The latency's 48 bits, the size's 11, and the operation's 5.
  uint64_t packed_ = 0;
};
static_assert(sizeof(Sample) == 16);

// Bounded queue of samples. One thread pushes, one thread drains; everything is allocated at construction, so that a
// push touches no memory that was not touched before.
class SampleRing {
 public:
  // 16 ms at a million writes a second: four times the recorder's tick.
  static constexpr size_t kDefaultCapacity = size_t{16} * 1024;

  // `capacity` is a power of two.
  explicit SampleRing(size_t capacity = kDefaultCapacity)
      : mask_(capacity - 1), slots_(std::make_unique<Sample[]>(capacity)) {}
  SampleRing(const SampleRing&) = delete;
  SampleRing& operator=(const SampleRing&) = delete;

  size_t capacity() const { return mask_ + 1; }

  // Producer. False, and nothing is changed, where the ring is full.
  bool TryPush(const Sample& sample) {
    // Relaxed: only this thread stores head_.
    const uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - known_tail_ > mask_) {
      // Acquire, with Drain's release: the consumer has read a slot before we write it again.
      known_tail_ = tail_.load(std::memory_order_acquire);
      if (head - known_tail_ > mask_) return false;
    }
    slots_[head & mask_] = sample;
    // The consumer's CPU has the next line: asked back while the next write runs, it costs that write nothing.
    __builtin_prefetch(&slots_[(head + kLineSlots) & mask_], 1);
    // Release, with Drain's acquire: who sees the new head sees the slot.
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  // Consumer. Hands what has been pushed before the call to `take(const Sample&)`, oldest first; returns how many.
  template <typename Take>
  size_t Drain(Take&& take) {
    const uint64_t head = head_.load(std::memory_order_acquire);
    uint64_t tail = tail_.load(std::memory_order_relaxed);
    const uint64_t first = tail;
    while (tail != head) {
      take(slots_[tail & mask_]);
      ++tail;
      // Room is given back in portions, so that a full ring's writer need not wait for the whole of it.
      if (tail % kPortion == 0 || tail == head) tail_.store(tail, std::memory_order_release);
    }
    return static_cast<size_t>(head - first);
  }

 private:
  static constexpr uint64_t kPortion = 256;
  static constexpr size_t kCacheLine = 64;
  static constexpr uint64_t kLineSlots = kCacheLine / sizeof(Sample);

  const size_t mask_;
  const std::unique_ptr<Sample[]> slots_;
  // The producer's line, then the consumer's: neither disturbs the other but where it must.
  alignas(kCacheLine) std::atomic<uint64_t> head_{0};  // pushed so far
  uint64_t known_tail_ = 0;                            // producer's last look at tail_
  alignas(kCacheLine) std::atomic<uint64_t> tail_{0};  // drained so far
};

// Why a writer left its loop.
enum class LoopEnd : uint8_t {
  kRanToEnd,  // the step was over
  kStopped,   // a stop was requested
  kLease,     // the lease had run out
  kFailed,    // its write or read failed: see WriteFailure
};

// A write or read that failed.
struct WriteFailure {
  enum class Kind : uint8_t { kNone, kWrite, kShortWrite, kSync, kRead, kShortRead };
  Kind kind = Kind::kNone;
  int error_number = 0;  // of kWrite, kSync and kRead
  uint32_t extent = 0;
  uint64_t offset_bytes = 0;
  uint64_t asked_bytes = 0;
  uint64_t done_bytes = 0;
  // When it started; 0: not known.
  int64_t start_ns = 0;
};

// Written by the writer's thread alone, with plain stores: single writer, so no read-modify-write is needed. The cells
// may be read at any time by any thread; each comment states what a reader may conclude from several of them.
//
// Fields are cleared by Reset between steps, when the writer waits at the start gate.
struct WriterState {
  // Values of `mark` that are no start times.
  static constexpr int64_t kIdle = 0;
  static constexpr int64_t kReturned = -1;

  // What the writer is at: the start of the write or read in the system call; kReturned between the call's return and
  // the publication of its sample; kIdle when nothing is in flight and everything is published.
  //
  // The writer stores kReturned before it reads the clock for the write's end, and a new mark only after it has pushed
  // the sample (release). So a recorder that reads a mark other than kReturned (acquire), and drains the ring after
  // that, has every write that ended before that mark was current. See WriterTally.
  std::atomic<int64_t> mark{kIdle};

  // Extent of the write or read that `mark` shows; relaxed.
  std::atomic<uint32_t> extent{0};

  // The writer's own count of its step; relaxed, each cell is independent. Exact once `finished` is seen.
  std::atomic<uint64_t> writes{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint64_t> latency_sum_ns{0};
  std::atomic<uint64_t> latency_max_ns{0};
  std::atomic<int64_t> first_start_ns{0};
  std::atomic<int64_t> last_end_ns{0};
  std::atomic<uint64_t> max_behind_writes{0};
  std::atomic<uint64_t> max_behind_ns{0};
  // Stored before the sample that had to wait is pushed, so they belong to the frame that holds it.
  std::atomic<uint64_t> ring_full_waits{0};
  std::atomic<uint64_t> ring_full_wait_ns{0};

  // The writer's own count of the parts of its writes (WriteLoopParams::measure_parts): the call that writes, and the
  // sync.
  struct PartCount {
    std::atomic<uint64_t> latency_sum_ns{0};
    std::atomic<uint64_t> latency_max_ns{0};
  };
  PartCount write_call;
  PartCount sync;

  // The writer's own count of its reads beside writes, with the guarantees of its count of writes. last_end_ns and the
  // backlog cover reads and writes.
  std::atomic<uint64_t> reads{0};
  std::atomic<uint64_t> read_bytes{0};
  std::atomic<uint64_t> read_latency_sum_ns{0};
  std::atomic<uint64_t> read_latency_max_ns{0};
  std::atomic<int64_t> read_first_start_ns{0};

  // The writer's own count of the commits that its writes completed, of its own copy of the model, with the guarantees
  // of its count of writes.
  struct CommitCount {
    std::atomic<uint64_t> commits{0};
    std::atomic<uint64_t> bytes{0};
    std::atomic<uint64_t> latency_sum_ns{0};
    std::atomic<uint64_t> latency_max_ns{0};
    std::atomic<int64_t> first_start_ns{0};
  };
  CommitCount commits;

  // How the loop ended. Valid when `finished` was seen (acquire); the writer does not touch this object after it.
  LoopEnd end = LoopEnd::kRanToEnd;
  WriteFailure failure;
  int64_t finished_ns = 0;
  std::atomic<bool> finished{false};

  SampleRing ring;

  explicit WriterState(size_t ring_capacity = SampleRing::kDefaultCapacity) : ring(ring_capacity) {}

  // The ring must be drained.
  void Reset() {
    mark.store(kIdle, std::memory_order_relaxed);
    for (std::atomic<uint64_t>* cell : {&writes,
                                        &bytes,
                                        &latency_sum_ns,
                                        &latency_max_ns,
                                        &max_behind_writes,
                                        &max_behind_ns,
                                        &ring_full_waits,
                                        &ring_full_wait_ns,
                                        &write_call.latency_sum_ns,
                                        &write_call.latency_max_ns,
                                        &sync.latency_sum_ns,
                                        &sync.latency_max_ns,
                                        &reads,
                                        &read_bytes,
                                        &read_latency_sum_ns,
                                        &read_latency_max_ns,
                                        &commits.commits,
                                        &commits.bytes,
                                        &commits.latency_sum_ns,
                                        &commits.latency_max_ns}) {
      cell->store(0, std::memory_order_relaxed);
    }
    extent.store(0, std::memory_order_relaxed);
    first_start_ns.store(0, std::memory_order_relaxed);
    read_first_start_ns.store(0, std::memory_order_relaxed);
    commits.first_start_ns.store(0, std::memory_order_relaxed);
    last_end_ns.store(0, std::memory_order_relaxed);
    end = LoopEnd::kRanToEnd;
    failure = {};
    finished_ns = 0;
    finished.store(false, std::memory_order_relaxed);
  }
};

// What stops all writers of a host before their step is over. Thread-safe.
class StopControl {
 public:
  // `lease_deadline_ns`: no write starts at or after it.
  explicit StopControl(const std::atomic<int64_t>& lease_deadline_ns) : lease_deadline_ns_(lease_deadline_ns) {}

  // No write starts at or after `moment_ns`. An earlier moment that was set before is kept.
  void StopAt(int64_t moment_ns) {
    int64_t before = stop_at_ns_.load(std::memory_order_relaxed);
    while (moment_ns < before && !stop_at_ns_.compare_exchange_weak(before, moment_ns, std::memory_order_relaxed)) {
    }
  }
  // For the next step, between steps.
  void Clear() { stop_at_ns_.store(kNever, std::memory_order_relaxed); }

  // Relaxed: a moment is independent, nothing else is read through it.
  int64_t stop_at_ns() const { return stop_at_ns_.load(std::memory_order_relaxed); }
  int64_t lease_deadline_ns() const { return lease_deadline_ns_.load(std::memory_order_relaxed); }
  // The first moment at which no write may start.
  int64_t limit_ns() const { return std::min(stop_at_ns(), lease_deadline_ns()); }

  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

 private:
  std::atomic<int64_t> stop_at_ns_{kNever};
  const std::atomic<int64_t>& lease_deadline_ns_;
};

}  // namespace plimsoll
