// A world for the write loop in which time passes only where the test says so.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "agent/writer/block_source.h"
#include "agent/writer/write_loop.h"
#include "agent/writer/writer_state.h"

namespace plimsoll::tests {

class FakeEnv {
 public:
  struct Call {
    uint32_t extent = 0;
    uint64_t offset_bytes = 0;
    uint64_t size_bytes = 0;
    int64_t start_ns = 0;  // when the call came
    const std::byte* data = nullptr;
    bool is_read = false;
  };

  int64_t now_ns = 0;
  // Cost of reading the clock; duration of a write or read.
  int64_t clock_ns = 0;
  std::function<int64_t(size_t call)> latency = [](size_t) { return int64_t{100}; };
  // What the n-th write returns; as asked unless told.
  std::function<int64_t(size_t call, uint64_t size_bytes)> result = [](size_t, uint64_t size_bytes) {
    return static_cast<int64_t>(size_bytes);
  };
  int64_t sync_ns = 0;
  int sync_result = 0;
  // The thread loses its CPU: right after it has read the clock, or within a write.
  std::function<void()> after_clock = [] {};
  std::function<void()> in_write = [] {};
  std::function<void()> in_sleep = [] {};
  std::function<void()> await_room = [] {};

  std::vector<Call> calls;
  std::vector<int64_t> sleeps_until_ns;
  int syncs = 0;
  int yields = 0;

  int64_t Now() {
    now_ns += clock_ns;
    const int64_t read_ns = now_ns;
    after_clock();
    return read_ns;
  }
  int64_t Write(uint32_t extent, uint64_t offset_bytes, const std::byte* data, size_t size_bytes) {
    calls.push_back({extent, offset_bytes, size_bytes, now_ns, data});
    now_ns += latency(calls.size() - 1);
    in_write();
    return result(calls.size() - 1, size_bytes);
  }
  int64_t Read(uint32_t extent, uint64_t offset_bytes, std::byte* into, size_t size_bytes) {
    const int64_t done = Write(extent, offset_bytes, into, size_bytes);
    calls.back().is_read = true;
    return done;
  }
  int Sync(uint32_t /*extent*/) {
    ++syncs;
    now_ns += sync_ns;
    return sync_result;
  }
  void SleepUntil(int64_t moment_ns) {
    sleeps_until_ns.push_back(moment_ns);
    if (moment_ns > now_ns) now_ns = moment_ns;
    in_sleep();
  }
  static constexpr int64_t kRoomNs = 1000;
  void AwaitRoom() {
    now_ns += kRoomNs;
    await_room();
  }
  void Yield() { ++yields; }
};

// A writer's whole surroundings but the recorder.
struct FakeWriter {
  explicit FakeWriter(const std::vector<uint64_t>& block_bytes, size_t ring_capacity = SampleRing::kDefaultCapacity)
      : FakeWriter(MakeSource(block_bytes), ring_capacity) {}
  // Making a pool takes a millisecond: tests of many rounds share one.
  FakeWriter(std::shared_ptr<BlockSource> shared_source, size_t ring_capacity)
      : state(ring_capacity), source(std::move(shared_source)) {}

  static std::shared_ptr<BlockSource> MakeSource(const std::vector<uint64_t>& block_bytes) {
    return std::make_shared<BlockSource>(BlockSource::Identity{{1, 2, 3}, 4, 5}, block_bytes);
  }

  void Run(const WriteLoopParams& params) {
    env.now_ns = params.start_ns;
    RunWriteLoop(params, control, *source, state, env);
  }
  std::vector<Sample> Drain() {
    std::vector<Sample> samples;
    state.ring.Drain([&](const Sample& sample) { samples.push_back(sample); });
    return samples;
  }

  WriterState state;
  std::atomic<int64_t> lease_deadline_ns{StopControl::kNever};
  StopControl control{lease_deadline_ns};
  std::shared_ptr<BlockSource> source;
  FakeEnv env;
};

}  // namespace plimsoll::tests
