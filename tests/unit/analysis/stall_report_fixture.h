// Runs with stalls, from their journals to their reports.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll::tests {

inline constexpr int64_t kMs = kNsPerMs;

inline std::function<int64_t(uint64_t, int64_t)> Usually(int64_t latency_ns) {
  return [latency_ns](uint64_t, int64_t) { return latency_ns; };
}

// Two hosts with two writers each on one storage, whose clocks are 100,000 s apart; writes take 1 ms.
class StallReportTest : public ::testing::Test {
 protected:
  StallReportTest() {
    run_.duration_ns = 3 * kNsPerSecond;
    for (const char* label : {"alpha", "beta"}) {
      SimHost host;
      host.label = label;
      host.clock_ahead_ns = run_.hosts.empty() ? 7 : 100'000 * kNsPerSecond;
      host.sees = {"alpha", "beta"};
      host.steps = {{Writer({}), Writer({})}};
      run_.hosts.push_back(host);
    }
  }
  SimWriter Writer(std::vector<SimStall> stalls, int64_t latency_ns = kMs) const {
    return ClosedLoop(run_.duration_ns, 0, WithStalls(Usually(latency_ns), std::move(stalls)), run_.warmup_ns);
  }
  void Stall(size_t host, size_t writer, std::vector<SimStall> stalls) {
    run_.hosts[host].steps[0][writer] = Writer(std::move(stalls));
  }
  v1::StepReport Step() { return Report().steps(0); }
  v1::Report Report() { return Analyze(MakeJournal(run_)); }

  SimRun run_;
};

}  // namespace plimsoll::tests
