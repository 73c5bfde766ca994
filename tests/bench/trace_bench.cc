// Cost of packing, unpacking and merging traces; items are writes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "common/trace.h"

namespace plimsoll {
namespace {

constexpr double kFrameNs = 250e6;

struct Traffic {
  double latency_ns;
  double latency_sd_ns;
  double gap_ns;
  double gap_spread_ns;
};
constexpr Traffic kClosedLoop{300e3, 60e3, 1.25e3, 0.75e3};
constexpr Traffic kPaced{300e3, 60e3, 700e3, 100e3};

// One writer's trace in frames of 250 ms; two writes in a thousand take about 10 ms.
std::vector<std::vector<TracedWrite>> Frames(const Traffic& traffic, size_t frames, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> latency(traffic.latency_ns, traffic.latency_sd_ns);
  std::uniform_real_distribution<double> gap(traffic.gap_ns - traffic.gap_spread_ns,
                                             traffic.gap_ns + traffic.gap_spread_ns);
  std::uniform_real_distribution<double> chance(0, 1);
  std::vector<std::vector<TracedWrite>> made(frames);
  double now = 5e12 + static_cast<double>(seed) * 1e3;
  for (std::vector<TracedWrite>& frame : made) {
    for (const double end = now + kFrameNs; now < end;) {
      const double took = chance(random) < 0.002 ? 10e6 * (0.5 + chance(random)) : std::max(1e3, latency(random));
      frame.push_back({static_cast<int64_t>(now), static_cast<uint64_t>(took)});
      now += took + gap(random);
    }
  }
  return made;
}

std::vector<std::string> Blocks(const std::vector<std::vector<TracedWrite>>& frames, TraceEncoder& encoder) {
  std::vector<std::string> blocks;
  for (const std::vector<TracedWrite>& frame : frames) {
    for (const TracedWrite& write : frame) encoder.Add(write.start_ns, write.latency_ns);
    blocks.push_back(encoder.Finish());
  }
  return blocks;
}

double Count(const std::vector<std::vector<TracedWrite>>& frames) {
  size_t writes = 0;
  for (const std::vector<TracedWrite>& frame : frames) writes += frame.size();
  return static_cast<double>(writes);
}

void Encode(benchmark::State& state, const Traffic& traffic) {
  const auto frames = Frames(traffic, 200, 1);
  TraceEncoder encoder;
  double bytes = 0;
  for ([[maybe_unused]] auto unused : state) {
    bytes = 0;
    for (const std::string& block : Blocks(frames, encoder)) bytes += static_cast<double>(block.size());
  }
  state.SetItemsProcessed(static_cast<int64_t>(Count(frames)) * state.iterations());
  state.counters["bytes/write"] = bytes / Count(frames);
}
BENCHMARK_CAPTURE(Encode, closed_loop, kClosedLoop);
BENCHMARK_CAPTURE(Encode, paced, kPaced);

void Decode(benchmark::State& state, const Traffic& traffic) {
  const auto frames = Frames(traffic, 200, 1);
  TraceEncoder encoder;
  const std::vector<std::string> blocks = Blocks(frames, encoder);
  std::vector<TracedWrite> writes;
  for ([[maybe_unused]] auto unused : state) {
    for (const std::string& block : blocks) {
      writes.clear();
      if (!DecodeTrace(block, writes).ok()) std::abort();
      benchmark::DoNotOptimize(writes.data());
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(Count(frames)) * state.iterations());
}
BENCHMARK_CAPTURE(Decode, closed_loop, kClosedLoop);
BENCHMARK_CAPTURE(Decode, paced, kPaced);

// A block at a time.
class BlockSource : public TraceSource {
 public:
  explicit BlockSource(const std::vector<std::string>& blocks) : blocks_(blocks) {}
  absl::Status Next(std::vector<TracedWrite>& writes) override {
    writes.clear();
    return at_ == blocks_.size() ? absl::OkStatus() : DecodeTrace(blocks_[at_++], writes);
  }

 private:
  const std::vector<std::string>& blocks_;
  size_t at_ = 0;
};

// What the budget is about: from packed blocks of many writers to one sequence, on one core.
void DecodeAndMerge(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  TraceEncoder encoder;
  std::vector<std::vector<std::string>> traces;
  double writes = 0;
  for (size_t w = 0; w < count; ++w) {
    const auto frames = Frames(kClosedLoop, 100, w + 1);
    writes += Count(frames);
    traces.push_back(Blocks(frames, encoder));
  }
  std::vector<MergedWrite> merged;
  for ([[maybe_unused]] auto unused : state) {
    std::vector<BlockSource> sources;
    sources.reserve(count);
    std::vector<TraceMerge::Writer> writers;
    for (size_t w = 0; w < count; ++w) {
      sources.emplace_back(traces[w]);
      writers.push_back({static_cast<uint32_t>(w / 4), static_cast<uint32_t>(w % 4 + 1), &sources.back()});
    }
    TraceMerge merge(writers);
    do {
      merged.clear();
      if (!merge.Next(4096, merged).ok()) std::abort();
      benchmark::DoNotOptimize(merged.data());
    } while (!merged.empty());
  }
  state.SetItemsProcessed(static_cast<int64_t>(writes) * state.iterations());
}
BENCHMARK(DecodeAndMerge)->Arg(1)->Arg(16)->Arg(64);

}  // namespace
}  // namespace plimsoll

BENCHMARK_MAIN();
