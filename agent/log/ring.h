// Carries samples from one writer to the recorder: one producer, one consumer, no lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace plimsoll {

// One completed write.
struct Sample {
  int64_t start_ns = 0;     // CLOCK_MONOTONIC
  uint64_t latency_ns = 0;  // of the system call(s)
  int64_t end_ns() const { return start_ns + static_cast<int64_t>(latency_ns); }
};
static_assert(sizeof(Sample) == 16);

// Bounded queue of samples. One thread pushes, one thread drains; everything is allocated at construction, so that a
// push touches no memory that was not touched before.
class SampleRing {  // NOLINT(clang-analyzer-optin.performance.Padding): the two sides have a cache line each
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

}  // namespace plimsoll
