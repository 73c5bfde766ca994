// Reports of runs that never were, whose seconds follow a known law.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "plimsoll/v1/report.pb.h"

namespace plimsoll::tests {

// How the seconds of a run come about.
struct SimulatedLaw {
  size_t seconds = 60;
  // Latencies of a second are scaled by an AR(1) process around 1 with this autocorrelation and standard deviation.
  double phi = 0;
  double variation = 0.05;
  // Writes of an average second, and the middle of their latencies.
  double writes = 2'000;
  double latency_ns = 400'000;
  // One write in 100 is in a tail of about three times the latency; with this, in as many more or fewer as another
  // AR(1) process (of the same phi) says.
  bool restless_tail = false;
  // One second in 30 has 3 % of its writes at twenty times the latency.
  bool bursts = false;
};

// A complete run with one step a block size, all by the same law: writes of a second are as many as their latency lets
// one writer make, and their distribution has the chance of a sample. Its figures are those of the seconds' histograms.
v1::Report SimulateReport(const SimulatedLaw& law, const std::vector<uint64_t>& block_sizes, std::mt19937_64& random);

// A report without chance in it: every second has a write of each of these latencies.
v1::Report SteadyReport(const std::string& id, const std::vector<uint64_t>& block_sizes, size_t seconds,
                        const std::vector<uint64_t>& latencies_ns);

}  // namespace plimsoll::tests
