// What a simulated fleet does in its day: how long its writes take, when they stall, how its clocks drift, which host
// is lost. Everything follows from the sizes and the seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll::tests {

struct DaySize {
  uint32_t hosts = 200;
  uint32_t queue_managers = 8;
  int64_t length_s = 86'400;
  // Writes per second of each queue manager.
  uint32_t rate = 300;
  uint64_t seed = 1;

  uint64_t writers() const { return uint64_t{hosts} * queue_managers; }
};

// A host's clock: ahead of the world's by a constant, and by what it has gained at a constant rate and in slow waves,
// as of a room's temperature.
class DriftingClock {
 public:
  DriftingClock(uint64_t seed, uint32_t host);

  int64_t AtWorld(MonotonicNs moment) const { return moment.value + AheadNs(moment.value); }
  // The inverse, to the nanosecond.
  MonotonicNs InWorld(int64_t moment_ns) const;

 private:
  int64_t AheadNs(int64_t world_ns) const;

  int64_t ahead_ns_;
  double drift_;
  double wave_ns_;
  double wave_phase_;
};

// One write, in nanoseconds from the step's start on its host's clock.
struct DayWrite {
  int64_t due_ns = 0;
  int64_t start_ns = 0;
  int64_t latency_ns = 0;

  int64_t end_ns() const { return start_ns + latency_ns; }
  uint64_t response_ns() const { return static_cast<uint64_t>(end_ns() - due_ns); }
};

// A second of which all writes end in it: what most seconds of most writers are like. Nothing waits when it begins.
struct UsualSecond {
  // From the second's begin, of a writer whose first write is due there.
  std::vector<DayWrite> writes;
  // The frame of such a second, as if it were the step's first.
  v1::Frame frame;
  // Time between its writes.
  int64_t between_ns = 0;
  // The ten slowest writes by service time and the ten by response time, in the order of the writes.
  std::vector<uint32_t> slow;
};

// One write of each writer that it affects lasts that long.
struct DayStall {
  // From the step's start: on the world's clock.
  int64_t begin_ns = 0;
  int64_t length_ns = 0;
  // Nothing: every host, or every queue manager.
  std::optional<uint32_t> host;
  std::optional<uint32_t> qm;

  bool Affects(uint32_t of_host, uint32_t of_qm) const { return (!host || *host == of_host) && (!qm || *qm == of_qm); }
};

// Hosts count from 0, queue managers from 1, seconds and writes from 0.
class DayLoad {
 public:
  static constexpr uint64_t kBlockBytes = 4096;
  static constexpr int64_t kShortestS = 120;
  static constexpr uint32_t kHighestRate = 4000;

  // At least kShortestS long; the rate is from 1 to kHighestRate.
  explicit DayLoad(const DaySize& size);

  const DaySize& size() const { return size_; }
  const std::vector<UsualSecond>& usual_seconds() const { return usual_; }
  // Which of the usual seconds a writer has where nothing is in its way.
  size_t UsualOf(uint32_t host, uint32_t qm, int64_t second) const;
  // When the writer's first write is due.
  int64_t PhaseNs(uint32_t host, uint32_t qm) const;
  // When a write is due.
  int64_t DueNs(uint32_t host, uint32_t qm, uint64_t write) const;
  // How long a write takes among those that a stall made late.
  int64_t LateLatencyNs(uint32_t host, uint32_t qm, uint64_t write) const;
  // In their order; none overlap, and all end well before the step does.
  const std::vector<DayStall>& stalls() const { return stalls_; }
  // The host that falls silent, and the seconds of it that are reported before. A fleet of one host loses none.
  std::optional<uint32_t> lost_host() const;
  int64_t lost_after_s() const { return size_.length_s * 6 / 10; }

 private:
  void MakeUsualSeconds();
  void PlanStalls();

  const DaySize size_;
  std::vector<UsualSecond> usual_;
  std::vector<DayStall> stalls_;
};

// Sets what a frame says of its writes, all but which of them are the step's slowest and the time between them. The
// moments are those of `writes`; `first_write`: number of the first one, from 0.
void FillDayFrame(const std::vector<DayWrite>& writes, uint64_t first_write, v1::Frame& frame);

}  // namespace plimsoll::tests
