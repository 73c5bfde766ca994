// Makes the journals that simulated writers would have left behind.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/units.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll::tests {

// One write or read. Times are of the timeline, from the step's measured start; those of the warm-up are before 0.
struct SimWrite {
  int64_t start_ns = 0;
  int64_t latency_ns = 0;
  int64_t end_ns() const { return start_ns + latency_ns; }
};
using SimWriter = std::vector<SimWrite>;

// Writes one after another with `gap_ns` between them, from -warmup_ns + first_delay_ns on; none starts at or after
// duration_ns. `latency` makes a write's latency from its number, from 1, and its start.
SimWriter ClosedLoop(int64_t duration_ns, int64_t gap_ns, const std::function<int64_t(uint64_t, int64_t)>& latency,
                     int64_t warmup_ns = 0, int64_t first_delay_ns = 0);
// `latency`, but a write that is in flight at a stall's begin, or would start in it, goes on until its end.
struct SimStall {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};
std::function<int64_t(uint64_t, int64_t)> WithStalls(std::function<int64_t(uint64_t, int64_t)> latency,
                                                     std::vector<SimStall> stalls);
// The same latency for every write.
SimWriter Steady(int64_t duration_ns, int64_t latency_ns, int64_t gap_ns = 1'000);

// An interval in which an agent did not run. Times as those of writes.
struct SimPause {
  uint32_t step = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

struct SimHost {
  std::string label;
  // Host's CLOCK_MONOTONIC minus the controller's.
  int64_t clock_ahead_ns = 0;
  // One writer a queue manager, for each step.
  std::vector<std::vector<SimWriter>> steps;
  // Hosts whose directories it sees, besides its own.
  std::vector<std::string> sees;
  double rate_per_second = 0;
  // It is lost in the first step after its frames for this much of the measured time.
  std::optional<int64_t> lost_after_ns;
  // So many intervals make one frame.
  uint32_t coalesce = 1;
  std::vector<SimPause> pauses = {};
  // What its kernel says in a step, `since_start_ns` after its start: once a second, with the first frame after the
  // second's end, and 2 ms later than that, as the recorder cannot do it earlier. The builder adds step and moment.
  // Empty: nothing.
  std::function<v1::HostSample(uint32_t step, int64_t since_start_ns)> sample = nullptr;
  // With a rate: how long after its scheduled start each write was issued, and, of each writer, the writes, and the
  // reads beside them, that were due and never issued.
  int64_t schedule_lag_ns = 1'000;
  uint64_t not_issued = 0;
  uint64_t reads_not_issued = 0;
  // The age of each of these when the step ended.
  int64_t not_issued_age_ns = kNsPerSecond;
  uint64_t clock_resolution_ns = 1;
  // Of a placement: what its writers play, by number; the run's `down` says which of them write.
  std::vector<v1::LogQueueManager> queue_managers = {};
  // With fdatasync: how much of a write's latency was its sync, by the write's number in its step. Empty: O_DSYNC.
  std::function<int64_t(uint64_t number)> sync_ns = nullptr;
  // What its probes show in addition, by the time since the run began. Empty: nothing.
  std::function<int64_t(int64_t since_begin_ns)> clock_gain_ns = nullptr;
  // Operations of each writer and step that read before the first one writes, in a run that reads and writes.
  uint64_t reads_first = 0;
  // Whether the host's files were opened with O_DIRECT.
  bool direct = true;
};

struct SimRun {
  std::vector<SimHost> hosts;
  std::vector<uint64_t> block_sizes = {4096};
  int64_t duration_ns = kNsPerSecond;
  int64_t warmup_ns = 0;
  int64_t interval_ns = 250 * kNsPerMs;
  std::vector<std::string> criteria;
  std::string cut_short;
  // RunBegin::verdict_rules.
  uint32_t verdict_rules = 3;
  // What may be a stall: agents tell from half of it on; 0: of none. With the plan saying so, or saying nothing.
  int64_t stall_ns = 100 * kNsPerMs;
  bool stall_given = false;
  // Of a placement: the host that is down in each step, by its number.
  std::vector<std::optional<uint32_t>> down = {};
  // Number of reads in each hundred operations of a writer, spread evenly, with a write first. At 100 all read.
  uint32_t read_percent = 0;
};

// Whether a writer of host number `number` writes in a step, and in blocks of which size. `qm` from 1.
bool Writes(const SimRun& run, uint32_t number, uint32_t step, uint32_t qm);
uint64_t BlockOf(const SimRun& run, const SimHost& host, uint32_t step, uint32_t qm);

// Place of the reads in the steps' list of operations; kMainOperation where there are none beside writes.
uint32_t ReadOperation(const SimRun& run);
// Whether an operation is a read of a run that writes as well, by its number in the step of its writer, from 1.
bool IsRead(const SimRun& run, const SimHost& host, uint64_t number);
// The writer's operations that are writes, or those that are reads, in their order. A run whose operations all read has
// them where other runs have writes (`reads` false).
SimWriter OperationsOf(const SimRun& run, const SimHost& host, uint32_t step, uint32_t qm, bool reads);

// alpha and beta, each with a queue manager that writes 1,000 times a second and one that writes 500 times.
SimRun TwoHosts(int64_t duration_ns = 2 * kNsPerSecond);

// Three hosts, alpha, beta and gamma, that play a placement for a step with all up and one with each down: PAYMENTS
// (alpha, standby beta; 16 KiB, 100 writes/s), ORDERS (beta, standby gamma; 4 KiB, 50 writes/s) and STOCK (beta,
// standby alpha; 4 KiB, 200 writes/s). Every write takes 1 ms.
SimRun Placement(int64_t duration_ns = 2 * kNsPerSecond);

// The records of the run, in order. Probes take 80 us there and back, and the host's side is exactly in the middle.
std::vector<v1::JournalRecord> MakeJournal(const SimRun& run);

// The records with steps that fold their frames by age from the second `whole_seconds` on, a multiple of 60.
std::vector<v1::JournalRecord> WithFold(std::vector<v1::JournalRecord> records, int64_t whole_seconds = 60);

// What the analysis makes of records.
v1::Report Analyze(const std::vector<v1::JournalRecord>& records);

// The row of a scope; it must be there. Host and QM as in ScopeReport.
const v1::ScopeReport& Scope(const v1::StepReport& step, v1::ScopeKind kind, const std::string& host = "",
                             uint32_t qm = 0);
const v1::SeriesReport& Series(const v1::StepReport& step, v1::ScopeKind kind, const std::string& host = "",
                               uint32_t qm = 0);
// What a step has of the operation with that name, and the outcome of a criterion; they must be there.
const v1::OperationReport& OperationOf(const v1::StepReport& step, const std::string& name);
v1::Outcome OutcomeOf(const v1::Report& report, const std::string& criterion);

}  // namespace plimsoll::tests
