// Cost of recording, merging and asking histograms.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <random>

#include "common/histogram.h"

namespace plimsoll {
namespace {

// Latencies of 300 us +- 60 us, and two in a thousand of 10 ms.
std::array<uint64_t, 4096> Latencies() {
  std::mt19937_64 random(1);
  std::normal_distribution<double> latency(300e3, 60e3);
  std::array<uint64_t, 4096> values{};
  for (uint64_t& value : values) {
    const double drawn = latency(random);
    value = random() % 500 == 0 ? 10'000'000 : static_cast<uint64_t>(drawn < 1e3 ? 1e3 : drawn);
  }
  return values;
}

Histogram Filled() {
  Histogram histogram;
  for (const uint64_t value : Latencies()) histogram.Record(value);
  return histogram;
}

void Record(benchmark::State& state) {
  const auto values = Latencies();
  Histogram histogram;
  size_t at = 0;
  for ([[maybe_unused]] auto unused : state) {
    histogram.Record(values[at]);
    at = (at + 1) % values.size();
  }
  benchmark::DoNotOptimize(histogram.sum_ns());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(Record);

void Percentile(benchmark::State& state) {
  const Histogram histogram = Filled();
  for ([[maybe_unused]] auto unused : state) benchmark::DoNotOptimize(histogram.PercentileNs(99.9));
}
BENCHMARK(Percentile);

void Merge(benchmark::State& state) {
  const Histogram histogram = Filled();
  Histogram sum;
  for ([[maybe_unused]] auto unused : state) sum.Merge(histogram);
  benchmark::DoNotOptimize(sum.count());
}
BENCHMARK(Merge);

void ToWireAndBack(benchmark::State& state) {
  const Histogram histogram = Filled();
  size_t bytes = 0;
  for ([[maybe_unused]] auto unused : state) {
    const v1::Distribution wire = histogram.ToProto();
    bytes = wire.ByteSizeLong();
    Histogram read;
    if (!read.Merge(wire).ok()) std::abort();
    benchmark::DoNotOptimize(read.count());
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(ToWireAndBack);

}  // namespace
}  // namespace plimsoll

BENCHMARK_MAIN();
