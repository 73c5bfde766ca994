// Cost of probes and questions of the clock fit; the argument is the number of seconds with ten probes each.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "common/clock_fit.h"
#include "tests/testing.h"
#include "tests/unit/common/simulated_clock.h"

namespace plimsoll {
namespace {

std::vector<ClockExchange> Exchanges(int64_t seconds) {
  std::mt19937_64 random(1);
  tests::SimulatedClock clock(0, 100'000 * kSecond);
  clock.Slew(1, 20);
  const tests::Network network;
  std::vector<ClockExchange> exchanges;
  for (int64_t now_ns = 0; now_ns < seconds * kSecond; now_ns += kSecond / 10) {
    exchanges.push_back(network.Probe(clock, now_ns, random));
  }
  return exchanges;
}

ClockFit Fitted(int64_t seconds) {
  ClockFit fit(500);
  for (const ClockExchange& exchange : Exchanges(seconds)) fit.Add(exchange);
  return fit;
}

void Add(benchmark::State& state) {
  const std::vector<ClockExchange> exchanges = Exchanges(state.range(0));
  size_t kept = 0;
  for ([[maybe_unused]] auto unused : state) {
    ClockFit fit(500);
    for (const ClockExchange& exchange : exchanges) fit.Add(exchange);
    kept = fit.kept();
  }
  state.SetItemsProcessed(static_cast<int64_t>(exchanges.size()) * state.iterations());
  state.counters["kept"] = static_cast<double>(kept);
}
BENCHMARK(Add)->Arg(60)->Arg(86'400)->Unit(benchmark::kMillisecond);

void Ask(benchmark::State& state, bool offset) {
  const ClockFit fit = Fitted(state.range(0));
  std::mt19937_64 random(2);
  std::vector<int64_t> moments_ns(4096);
  const auto span_ns = static_cast<uint64_t>(state.range(0) * kSecond);
  for (int64_t& moment_ns : moments_ns) {
    moment_ns = static_cast<int64_t>(random() % span_ns) + (offset ? 0 : 100'000 * kSecond);
  }
  size_t at = 0;
  for ([[maybe_unused]] auto unused : state) {
    if (offset) {
      benchmark::DoNotOptimize(fit.OffsetAtLocal(moments_ns[at]));
    } else {
      benchmark::DoNotOptimize(fit.ToLocal(moments_ns[at]));
    }
    at = (at + 1) % moments_ns.size();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(Ask, offset_at_local, true)->Arg(60)->Arg(3'600);
BENCHMARK_CAPTURE(Ask, to_local, false)->Arg(60)->Arg(3'600);

}  // namespace
}  // namespace plimsoll

BENCHMARK_MAIN();
