// Serial writers on one server that serves their writes and reads in turn, in virtual time, and a search over them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll::tests {

// One host each with one queue manager. A writer has one write in flight; the server takes them in the order in which
// they are issued, each for `service_ns`. A write call takes `write_call_ns` of the service time; the sync
// takes the rest, in which the server may serve other writers.
struct SimulatedQueue {
  uint32_t writers = 1;
  int64_t service_ns = 1'000'000;
  // At random moments, so often on average, the server pauses for so long; 0: never.
  int64_t pause_every_ns = 0;
  int64_t pause_ns = 0;
  // Less than service_ns.
  int64_t write_call_ns = 50'000;
  // Percentage of each writer's operations that read, at random; the server takes `read_ns` for each.
  uint32_t read_percent = 0;
  int64_t read_ns = 100'000;
};

// A writer's step: response times from the scheduled start (service times in a closed loop) of the operations that were
// due in the step.
struct SimulatedWriter {
  // Times of the writes, or of the reads where all operations read.
  std::vector<int64_t> response_ns;
  // Times of the reads beside the writes.
  std::vector<int64_t> read_response_ns;
  // Operations that ended after the step.
  uint64_t late = 0;
  // How long the sync of each of these writes took.
  std::vector<int64_t> sync_ns;
};

// `rate_per_second` of each writer, at random moments; 0: closed loop. The first `warmup_ns` are not in the result.
std::vector<SimulatedWriter> RunQueue(const SimulatedQueue& queue, double rate_per_second, int64_t warmup_ns,
                                      int64_t duration_ns, uint64_t seed);

// The share of a writer's writes that take longer than `limit_ns` in the long run.
double ShareBeyond(const SimulatedQueue& queue, double rate_per_second, int64_t limit_ns);
// The same for one writer, by Erlang's formula for the waiting time with constant service.
double ShareBeyondOfOne(int64_t service_ns, double rate_per_second, int64_t limit_ns);
// Mean response time in the long run.
double MeanResponse(const SimulatedQueue& queue, double rate_per_second);
// The rate of each writer at which it is `mean_ns`.
double RateAtMean(const SimulatedQueue& queue, double mean_ns);
// The rate of each writer at which `share` of its writes take longer than `limit_ns`.
double RateAt(const SimulatedQueue& queue, double share, int64_t limit_ns);

// A search with the production code from the step's figures on: criteria, search, report. `plan` has its defaults.
struct SimulatedSearch {
  v1::TestPlan plan;
  SimulatedQueue queue;
  uint64_t seed = 1;
  // RunBegin::verdict_rules.
  uint32_t verdict_rules = 5;
  // Where the plan plays a recording: writes per second of each queue manager in it, at random moments.
  double recorded_per_second = 0;
  // Changes the storage before the step of that number, from 1.
  std::function<void(uint32_t number, SimulatedQueue& queue)> change = [](uint32_t /*number*/,
                                                                          SimulatedQueue& /*queue*/) {};
  // Above this rate, writers start every tenth write start_delay_ns late, in a mixed run every tenth read; 0: never.
  double generator_rate = 0;
  int64_t start_delay_ns = 100'000'000;
  // Changes a step's report before it is judged: what was planted.
  std::function<void(v1::StepReport&)> plant = [](v1::StepReport& /*report*/) {};
};
v1::Report RunSearch(const SimulatedSearch& search);

// "p99<5ms", over the rate, and the lengths of a simulated search.
v1::TestPlan SearchPlan(const std::string& criterion);

}  // namespace plimsoll::tests
