// Runs with a planted fault, each with the verdict that it deserves.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "common/units.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll::tests {

inline constexpr int64_t kMs = kNsPerMs;
inline constexpr int64_t kSecond = kNsPerSecond;

using Records = std::vector<v1::JournalRecord>;

struct Scenario {
  std::string name;
  std::function<Records()> make;
  v1::Outcome outcome;
  // Each is in a criterion's reason, value or place, in a reason or in the remark.
  std::vector<std::string> words;
};

void PrintTo(const Scenario& scenario, std::ostream* out);

// Those in which PASS would be wrong, and those in which FAIL would be.
std::vector<Scenario> PassWouldBeWrong();
std::vector<Scenario> FailWouldBeWrong();

// `hosts` hosts on one storage, named h1, h2, ..., with `qms` writers each; every write takes `latency_ns`.
SimRun Fleet(int hosts, int qms, int64_t duration_ns, int64_t latency_ns, std::vector<std::string> criteria);

// What the run leaves behind: whole, with each record edited, or without those that are dropped.
Records Journal(const SimRun& run);
Records Edited(const SimRun& run, const std::function<void(v1::JournalRecord&)>& edit);
Records Without(const SimRun& run, const std::function<bool(const v1::JournalRecord&)>& drop);

// One of 200 hosts takes 100 ms a write, the others 2 ms.
Records SickHost(const std::string& criterion);

// Writes of 1 ms, of which one in `every` takes 20 ms; the first of those is number `first`.
SimWriter OneIn(uint64_t every, int64_t duration_ns, uint64_t first = 1);

// Two hosts with a target of 1,000 writes/s each; a write takes 0.3 ms, but for `issued` of them nobody got to the
// rest.
SimRun OpenLoop(int64_t issued_per_second, std::vector<std::string> criteria);

// The second host falls behind its rate of 1,000 writes/s, and its load generator says by how much it started them
// late.
Records NotIssuedByAStartDelay(int64_t issued_per_second, int64_t delay_ns, std::vector<std::string> criteria);

// One queue manager with a target rate, on storage that serves one write after another: written by the agent's own
// write loop, and counted by its own recorder.
struct OpenLoopRun {
  double rate_per_second = 0;
  v1::Arrival arrival = v1::ARRIVAL_EVEN;
  int64_t warmup_ns = 0;
  int64_t duration_ns = 0;
  // Of a write that starts so long after the step's start.
  std::function<int64_t(int64_t since_start_ns)> service_ns;
  // For how long a writer whose wait ends then has no CPU.
  std::function<int64_t(int64_t since_start_ns)> late_ns = [](int64_t) { return int64_t{0}; };
  std::vector<std::string> criteria;
};
Records Written(const OpenLoopRun& run);
// 20 writes/s for 20 s, each of `service_ns`; something else has the CPU for the first 18 ms of every quarter of a
// second.
Records SometimesWithoutACpu(int64_t service_ns, std::vector<std::string> criteria);
// 20,000 writes/s on storage that serves 3,800/s, for 4 s.
Records OverloadedOpenLoop(std::vector<std::string> criteria);
// Storage that serves half of the target rate in a warm-up of one second, and a little more than it for 4 s afterwards.
Records BacklogOfTheWarmup(v1::Arrival arrival);

// h2's frame of interval `interval` is made such that it is refused.
Records WithRefusedFrame(const SimRun& run, int interval);

// Of three hosts h2 is lost after a second of two.
SimRun OneLost(std::vector<std::string> criteria);
// The same, but a write of h2 fails then, and the others go on.
Records OneFailed(std::vector<std::string> criteria);

// Hosts with NFS mounts whose kernels sent `again(host, second)` calls again by the end of that second of the step.
SimRun OverNfs(int hosts, std::function<uint64_t(int host, int64_t second)> again, std::vector<std::string> criteria);

// Two hosts with a target rate of 500 writes/s each, whose starts are 15 ms apart on purpose.
Records SpreadStarts(std::vector<std::string> criteria, bool first_frame_refused);

// h1's writes stop from 1.5 s to 2.0 s of 3 s; those of all hosts if `all`.
SimRun Stalled(bool all, std::vector<std::string> criteria);

// Writes that take 1 ms in the first half of 10 s, and `later_ns` in the second.
SimRun Slower(int64_t later_ns, std::vector<std::string> criteria);

// Two hosts, 2 s: h1 writes in 1 ms, h2 in 8 ms; its writer waited for a CPU for half of the time.
SimRun ShortOfCpu(std::vector<std::string> criteria);
// ShortOfCpu, where a CPU limit of the agent's cgroup throttles it for that half of the time.
SimRun Throttled(std::vector<std::string> criteria);

// The writers of h2 waited for their recorder a tenth of the time, which they would have written in.
Records SlowGenerator(std::vector<std::string> criteria);

// h2's frames cover eight intervals each: two seconds.
SimRun Averaged(std::vector<std::string> criteria);

// 1,600 queue managers of 1,000 writes each, of which one in a hundred is slow, by chance.
Records ManyAtTheLimit();

}  // namespace plimsoll::tests
