// The write loop's world in an instance: the kernel's files, a shared memory that shows each write, and a log that may
// be full.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/ha/instance_channel.h"
#include "agent/writer/file_env.h"
#include "agent/writer/writer_state.h"

namespace plimsoll {

// See RunWriteLoop. Beside FileEnv it stores, with plain stores, the start of a write before its system call and its
// completion at the clock reading behind it: a process that is killed between the two leaves one write in doubt.
class HaEnv {
 public:
  struct Log {
    std::span<const int> fds;
    // Blocks until the first place comes again.
    uint64_t blocks_per_lap = 0;
    uint64_t first_sequence = 1;
    // Completion is that of the sync.
    bool sync_each_write = false;
  };

  // Blocks up to `checkpointed` need no replay, those up to `read_back` were read back: a place is free to be written
  // again once its block is among both. What is referred to must outlive the object.
  HaEnv(const Log& log, const std::atomic<uint64_t>& checkpointed, const std::atomic<uint64_t>& read_back,
        const StopControl& control, InstanceBoard& board)
      : files_(log.fds),
        log_(log),
        checkpointed_(checkpointed),
        read_back_(read_back),
        control_(control),
        board_(board),
        next_(log.first_sequence) {}

  int64_t Now() {
    now_ns_ = MonotonicNowNs();
    if (returned_) Publish();
    return now_ns_;
  }

  int64_t Write(uint32_t extent, uint64_t offset_bytes, const std::byte* data, size_t size_bytes) {
    start_ns_ = now_ns_;
    // Release: whoever sees it sees the write before it.
    board_.in_flight_since_ns.store(start_ns_, std::memory_order_release);
    const int64_t written = files_.Write(extent, offset_bytes, data, size_bytes);
    returned_ = !log_.sync_each_write && written == static_cast<int64_t>(size_bytes);
    return written;
  }

  int Sync(uint32_t extent) {
    const int result = files_.Sync(extent);
    returned_ = result == 0;
    return result;
  }

  static void SleepUntil(int64_t moment_ns) { SleepUntilNs(moment_ns); }
  static void AwaitRoom() { FileEnv::AwaitRoom(); }
  void Yield() { files_.Yield(); }

  // Waits while the block in the place of this one is needed for replay, or was not read back.
  void AwaitPlace(uint64_t sequence) {
    if (HasPlace(sequence)) [[likely]]
      return;
    constexpr auto kRelaxed = std::memory_order_relaxed;
    const int64_t since_ns = MonotonicNowNs();
    const uint64_t before_ns = board_.full_wait_ns.load(kRelaxed);
    board_.full_sequence.store(sequence, kRelaxed);
    // Release: who sees the new count sees the block.
    board_.full_waits.store(board_.full_waits.load(kRelaxed) + 1, std::memory_order_release);
    int64_t now_ns = since_ns;
    while (!HasPlace(sequence) && now_ns < control_.limit_ns()) {
      SleepUntilNs(now_ns + kPlaceSleepNs);
      now_ns = MonotonicNowNs();
      board_.full_wait_ns.store(before_ns + static_cast<uint64_t>(now_ns - since_ns), kRelaxed);
    }
  }

 private:
  static constexpr int64_t kPlaceSleepNs = 200'000;

  bool HasPlace(uint64_t sequence) const {
    // Acquire: the checkpoint is durable, and what was read back is reported.
    return sequence <= checkpointed_.load(std::memory_order_acquire) + log_.blocks_per_lap &&
           sequence <= read_back_.load(std::memory_order_acquire) + log_.blocks_per_lap;
  }

  void Publish() {
    returned_ = false;
    const uint64_t sequence = next_++;
    InstanceBoard::Moments& moments = board_.moments[sequence % InstanceBoard::kMoments];
    moments.start_ns.store(start_ns_, std::memory_order_relaxed);
    moments.end_ns.store(now_ns_, std::memory_order_relaxed);
    if (sequence == log_.first_sequence) [[unlikely]] {
      board_.first_start_ns.store(start_ns_, std::memory_order_relaxed);
      board_.first_end_ns.store(now_ns_, std::memory_order_relaxed);
    }
    // Release: the moments are there.
    board_.completed.store(sequence, std::memory_order_release);
    board_.in_flight_since_ns.store(0, std::memory_order_relaxed);
  }

  FileEnv files_;
  const Log log_;
  const std::atomic<uint64_t>& checkpointed_;
  const std::atomic<uint64_t>& read_back_;
  const StopControl& control_;
  InstanceBoard& board_;
  uint64_t next_;
  int64_t now_ns_ = 0;
  int64_t start_ns_ = 0;
  bool returned_ = false;
};

}  // namespace plimsoll
