// What it costs to record a write, over the same loop without clock and record.
//
// The two loops run in turn, slice by slice over the same extents, so that a machine that is slow for a while is slow
// for both; the figure is the median of the slices' differences, in time that the writer's thread had a CPU (what other
// processes take from it is not the recording's) and in elapsed time. Extents lie in /dev/shm (tmpfs), 256 MiB of them,
// where a write costs about a microsecond: the harshest place for a recorder.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "agent/writer/block_source.h"
#include "agent/writer/file_env.h"
#include "agent/writer/step_recorder.h"
#include "agent/writer/write_loop.h"
#include "agent/writer/writer_tally.h"
#include "common/posix.h"

namespace plimsoll {
namespace {

constexpr uint64_t kBlockBytes = 4096;
constexpr uint64_t kFileBytes = 64U << 20U;
constexpr uint32_t kFiles = 4;
// Long against a time slice of the kernel, short against what else goes on in the machine.
constexpr int64_t kSliceNs = 60'000'000;
constexpr BlockSource::Identity kIdentity{{1, 2, 3}, 0, 1};

// Extents in memory, written full once; they have no name.
class MemoryExtents {
 public:
  MemoryExtents() {
    const std::vector<std::byte> chunk(1U << 20U, std::byte{0x5a});
    for (uint32_t i = 0; i < kFiles; ++i) {
      files_.emplace_back(open("/dev/shm", O_TMPFILE | O_RDWR, 0600));
      if (!files_.back().valid()) std::abort();
      fds_.push_back(files_.back().get());
      for (uint64_t at = 0; at < kFileBytes; at += chunk.size()) {
        if (WriteAt(fds_.back(), at, chunk.data(), chunk.size()) != static_cast<int64_t>(chunk.size())) std::abort();
      }
    }
  }
  const std::vector<int>& fds() const { return fds_; }

 private:
  std::vector<UniqueFd> files_;
  std::vector<int> fds_;
};

class NullSink final : public WorkSink {
 public:
  void OnFrames(v1::FrameBatch frames) override { benchmark::DoNotOptimize(frames); }
  void OnStepDone(v1::StepDone /*done*/) override {}
  void OnMessage(v1::AgentMessage /*message*/) override {}
  void OnFault(v1::Fault /*fault*/) override { std::abort(); }
};

// Elapsed time and the calling thread's CPU time.
class Stopwatch {
 public:
  // Nanoseconds a write.
  struct Reading {
    double elapsed_ns = 0;
    double cpu_ns = 0;
  };
  Reading Per(uint64_t writes) const {
    const auto n = static_cast<double>(writes);
    return {static_cast<double>(MonotonicNowNs() - start_ns_) / n, static_cast<double>(CpuNowNs() - cpu_start_ns_) / n};
  }

 private:
  static int64_t CpuNowNs() {
    timespec ts{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return int64_t{ts.tv_sec} * kNsPerSecond + ts.tv_nsec;
  }
  int64_t start_ns_ = MonotonicNowNs();
  int64_t cpu_start_ns_ = CpuNowNs();
};

struct SliceResult {
  uint64_t writes = 0;
  Stopwatch::Reading cost;
};

// The loop as the agent runs it, its recorder on a thread of its own.
SliceResult RecordedSlice(const MemoryExtents& extents, BlockSource& source, WriterState& state) {
  const ExtentLayout layout(kFileBytes, kFiles, kBlockBytes);
  const int64_t start_ns = MonotonicNowNs();
  const StepTimes times(start_ns, 0, kSliceNs, 250'000'000);
  const std::atomic<int64_t> never{StopControl::kNever};
  StopControl control(never);
  NullSink sink;
  const std::vector<TallyParams> params = {{.step = 0,
                                            .qm = 1,
                                            .times = times,
                                            .layout = layout,
                                            .schedule = std::nullopt,
                                            .trace = true,
                                            .stall_ns = 100'000'000}};
  const std::vector<WriterState*> states = {&state};
  StepRecorder::Hooks hooks;
  hooks.sample_host = [] { return v1::HostSample(); };
  StepRecorder recorder(params, states, control, never, hooks, sink);
  std::thread thread([&] {
    for (int64_t wake_ns = start_ns; !recorder.done();) {
      SleepUntilNs(wake_ns);
      wake_ns = recorder.Poll(MonotonicNowNs(), 0);
    }
  });
  FileEnv env(extents.fds());
  const WriteLoopParams loop{.epoch = 1,
                             .layout = layout,
                             .start_ns = start_ns,
                             .end_ns = times.end_ns(),
                             .delay_ns = 0,
                             .sync_each_write = false,
                             .schedule = std::nullopt};
  const Stopwatch stopwatch;
  RunWriteLoop(loop, control, source, state, env);
  const SliceResult result = {state.writes.load(), stopwatch.Per(state.writes.load())};
  thread.join();
  state.Reset();
  return result;
}

// Stamps and writes only.
Stopwatch::Reading BareSlice(const MemoryExtents& extents, BlockSource& source, uint64_t writes) {
  const ExtentLayout layout(kFileBytes, kFiles, kBlockBytes);
  source.StartEpoch(1, kBlockBytes, layout.blocks_per_lap());
  ExtentWalk places(layout, 0);
  const FileEnv env(extents.fds());
  const Stopwatch stopwatch;
  for (uint64_t seq = 1; seq <= writes; ++seq) {
    const BlockPlace place = places.Take(kBlockBytes);
    const std::byte* block = source.Next(seq);
    if (env.Write(place.extent, place.offset_bytes, block, kBlockBytes) != static_cast<int64_t>(kBlockBytes)) {
      std::abort();
    }
  }
  return stopwatch.Per(writes);
}

// The value below which `share` of the values lie.
double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

// Each iteration is one pair of slices; the order changes from pair to pair.
void RecordedWriteOverBareWrite(benchmark::State& state) {
  const MemoryExtents extents;
  const std::vector<uint64_t> sizes = {kBlockBytes};
  BlockSource source(kIdentity, sizes);
  WriterState writer;
  uint64_t writes = RecordedSlice(extents, source, writer).writes;
  std::vector<double> bare_cpu;
  std::vector<double> cpu;
  std::vector<double> elapsed;
  for ([[maybe_unused]] auto iteration : state) {
    const bool bare_first = cpu.size() % 2 == 0;
    Stopwatch::Reading bare;
    if (bare_first) bare = BareSlice(extents, source, writes);
    const SliceResult slice = RecordedSlice(extents, source, writer);
    writes = slice.writes;
    if (!bare_first) bare = BareSlice(extents, source, writes);
    bare_cpu.push_back(bare.cpu_ns);
    cpu.push_back(slice.cost.cpu_ns - bare.cpu_ns);
    elapsed.push_back(slice.cost.elapsed_ns - bare.elapsed_ns);
  }
  state.counters["bare_cpu_ns"] = Quantile(bare_cpu, 0.5);
  state.counters["cpu_over_bare_ns"] = Quantile(cpu, 0.5);
  state.counters["cpu_over_bare_p25_ns"] = Quantile(cpu, 0.25);
  state.counters["cpu_over_bare_p75_ns"] = Quantile(cpu, 0.75);
  state.counters["elapsed_over_bare_ns"] = Quantile(elapsed, 0.5);
}
BENCHMARK(RecordedWriteOverBareWrite)->Iterations(100)->Unit(benchmark::kMillisecond)->UseRealTime();

// The world without its writes: what is left is the loop's own work, two clock reads included. Disturbed by nothing but
// the caches, so it tells a change of the loop where the machine is too busy for the pairs above.
class WritelessEnv {
 public:
  explicit WritelessEnv(SampleRing& ring) : ring_(ring) {}
  static int64_t Now() { return FileEnv::Now(); }
  int64_t Write(uint32_t /*extent*/, uint64_t /*offset_bytes*/, const std::byte* data, size_t size_bytes) const {
    benchmark::DoNotOptimize(data);
    return static_cast<int64_t>(size_bytes);
  }
  static int Sync(uint32_t /*extent*/) { return 0; }
  static void SleepUntil(int64_t /*moment_ns*/) {}
  void AwaitRoom() {
    ring_.Drain([](const Sample&) {});
  }
  static void Yield() {}

 private:
  SampleRing& ring_;
};

// Each iteration is a slice; the counters tell nanoseconds of CPU time a write.
void LoopWithoutItsWrites(benchmark::State& state) {
  const ExtentLayout layout(kFileBytes, kFiles, kBlockBytes);
  const std::vector<uint64_t> sizes = {kBlockBytes};
  BlockSource source(kIdentity, sizes);
  const std::atomic<int64_t> never{StopControl::kNever};
  WriterState writer;
  std::vector<double> loop_ns;
  std::vector<double> stamp_ns;
  for ([[maybe_unused]] auto iteration : state) {
    StopControl control(never);
    WritelessEnv env(writer.ring);
    const int64_t start_ns = MonotonicNowNs();
    const WriteLoopParams loop{.epoch = 1,
                               .layout = layout,
                               .start_ns = start_ns,
                               .end_ns = start_ns + 5'000'000,
                               .delay_ns = 0,
                               .sync_each_write = false,
                               .schedule = std::nullopt};
    const Stopwatch stopwatch;
    RunWriteLoop(loop, control, source, writer, env);
    const uint64_t writes = writer.writes.load();
    loop_ns.push_back(stopwatch.Per(writes).cpu_ns);
    env.AwaitRoom();
    writer.Reset();
    source.StartEpoch(1, kBlockBytes, layout.blocks_per_lap());
    const Stopwatch stamps;
    for (uint64_t seq = 1; seq <= writes; ++seq) benchmark::DoNotOptimize(source.Next(seq));
    stamp_ns.push_back(stamps.Per(writes).cpu_ns);
  }
  state.counters["loop_cpu_ns"] = Quantile(loop_ns, 0.5);
  state.counters["stamp_cpu_ns"] = Quantile(stamp_ns, 0.5);
}
BENCHMARK(LoopWithoutItsWrites)->Iterations(200)->Unit(benchmark::kMillisecond);

// The part of the cost that nothing takes away: the two readings of the clock.
void TwoClockReads(benchmark::State& state) {
  for ([[maybe_unused]] auto iteration : state) {
    benchmark::DoNotOptimize(FileEnv::Now());
    benchmark::DoNotOptimize(FileEnv::Now());
  }
}
BENCHMARK(TwoClockReads);

void RingPush(benchmark::State& state) {
  SampleRing ring;
  int64_t pushed = 0;
  while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(ring.capacity()))) {
    for (size_t i = 0; i < ring.capacity(); ++i) benchmark::DoNotOptimize(ring.TryPush({++pushed, 1000}));
    state.PauseTiming();
    ring.Drain([](const Sample& sample) { benchmark::DoNotOptimize(&sample); });
    state.ResumeTiming();
  }
}
BENCHMARK(RingPush);

void StampBlock(benchmark::State& state) {
  const auto block_bytes = static_cast<uint64_t>(state.range(0));
  const std::vector<uint64_t> sizes = {block_bytes};
  BlockSource source(kIdentity, sizes);
  source.StartEpoch(1, block_bytes, 12'288);
  uint64_t seq = 0;
  for ([[maybe_unused]] auto iteration : state) benchmark::DoNotOptimize(source.Next(++seq));
  state.counters["ns_per_page"] =
      benchmark::Counter(static_cast<double>(block_bytes) / 4096.0 * 1e-9,
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(StampBlock)->Arg(4096)->Arg(65536)->Arg(1 << 20);

// What the recorder does with one sample: interval, histogram, trace.
void TallySample(benchmark::State& state) {
  const ExtentLayout layout(kFileBytes, kFiles, kBlockBytes);
  const std::atomic<int64_t> never{StopControl::kNever};
  const TallyParams params{.step = 0,
                           .qm = 1,
                           .times = StepTimes(1, 0, int64_t{1} << 60, 250'000'000),
                           .layout = layout,
                           .schedule = std::nullopt,
                           .trace = true,
                           .stall_ns = 100'000'000};
  WriterState writer;
  WriterTally tally(params, writer, never);
  google::protobuf::RepeatedPtrField<v1::Frame> frames;
  int64_t now_ns = 1;
  while (state.KeepRunningBatch(4096)) {
    state.PauseTiming();
    for (int i = 0; i < 4096; ++i) {
      writer.ring.TryPush({now_ns, static_cast<uint64_t>(900 + i % 200)});
      now_ns += 1100;
    }
    state.ResumeTiming();
    tally.Poll(now_ns, frames);
    frames.Clear();
  }
}
BENCHMARK(TallySample);

}  // namespace
}  // namespace plimsoll

BENCHMARK_MAIN();
