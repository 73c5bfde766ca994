// Every host's clock on the controller's, and the controller's on the calendar; and what is asked of a step, with the
// sums that it may reach.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "common/clock_fit.h"
#include "common/units.h"
#include "google/protobuf/timestamp.pb.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// What a step does: one of the run's list, or one that was added; null where the run has no such step. Refers to the
// two.
inline const v1::LogStep* SpecOf(const v1::RunBegin& run, const v1::StepBegin& begin) {
  if (begin.step() < static_cast<uint32_t>(run.steps_size())) return &run.steps(static_cast<int>(begin.step()));
  return begin.has_added() ? &begin.added() : nullptr;
}

// A step's asked lengths. `interval_ns` divides one second.
struct StepShape {
  uint64_t block_size_bytes = 0;
  int64_t duration_ns = 0;
  int64_t warmup_ns = 0;
  int64_t interval_ns = 250 * kNsPerMs;
  // The plan's shortest stall; 0: the plan sets none.
  int64_t stall_ns = 0;
  // Some queue manager has a target rate, so that callers felt response times.
  bool rated = false;
  // A host's part ends with its last operation; duration_ns is only the limit (LogWorkload.one_pass).
  bool one_pass = false;
  // The operations are those of a watched program: they may overlap, have any size, and are not this run's load. A
  // host's part ends where its frames do, mostly with the step.
  bool watched = false;

  // Numbers of regular intervals are 0 ... measured_intervals() - 1, those of the warm-up -warmup_intervals() ... -1.
  int64_t measured_intervals() const { return (duration_ns + interval_ns - 1) / interval_ns; }
  int64_t warmup_intervals() const { return (warmup_ns + interval_ns - 1) / interval_ns; }
  int64_t SecondOf(int64_t interval) const { return interval / (kNsPerSecond / interval_ns); }
  // How much of the measured time the intervals below `next_interval` cover.
  int64_t CoveredNs(int64_t next_interval) const {
    return next_interval <= 0 ? 0 : std::min(next_interval * interval_ns, duration_ns);
  }
};

// Holds any sum of 64-bit figures.
__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

// Nearest 64-bit value.
inline int64_t Clamp64(Int128 value) {
  return static_cast<int64_t>(std::clamp<Int128>(value, INT64_MIN, INT64_MAX));
}

// Series hold at most this many seconds of a step: ten days.
inline constexpr int64_t kMaxSeriesSeconds = 864'000;

inline uint32_t WholeSecondsIn(int64_t length_ns) {
  return static_cast<uint32_t>(std::clamp<int64_t>(length_ns / kNsPerSecond, 0, kMaxSeriesSeconds));
}

// Moments and lengths that a sane clock can show; beyond them arithmetic could overflow, so that they are refused.
inline constexpr int64_t kMaxMomentNs = int64_t{1} << 61;
inline bool IsSaneMoment(int64_t moment_ns) {
  return moment_ns >= 0 && moment_ns <= kMaxMomentNs;
}

// Admits amounts as long as all of them together stay below 2^63, so that no sum of them over any scope can overflow:
// counts, bytes, and times of which a writer spends each nanosecond once (in writes, between them). 2^63 ns are 292
// years of writing. Response times are none of these: those of a backlog overlap, and their sums have 128 bits.
class SumGuard {
 public:
  // Nothing is changed where it returns false.
  bool Admit(std::initializer_list<Uint128> amounts) {
    Uint128 total = total_;
    for (const Uint128 amount : amounts) {
      if (amount > INT64_MAX) return false;
      total += amount;
    }
    if (total > INT64_MAX) return false;
    total_ = total;
    return true;
  }

 private:
  Uint128 total_ = 0;
};

// Moments of the timeline are the controller's CLOCK_MONOTONIC in nanoseconds. Moments that no clock can show
// (IsSaneMoment) must not be asked for. Not thread-safe.
class Timeline {
 public:
  Timeline();
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // Ties the timeline to the calendar and sets what clocks are trusted with. Called once, before anything else.
  void Begin(int64_t time_ns, int64_t wall_clock_ns, double max_slew_ppm);

  // The host reads the controller's clock (HostJoined.same_clock): its moments have no error, as long as its probes
  // allow that. Before its first probes.
  void ShareClock(uint32_t host) { sharing_.insert(host); }

  // Contact with the host was lost; it may have rebooted by the time of its next probe. It has if its clock went back,
  // and later moments belong to a new clock. Otherwise the host keeps its clock, as after a suspension, and whatever
  // that clock did meanwhile is part of the error.
  void MayHaveRestarted(uint32_t host) { away_.insert(host); }
  // Whether that is still open.
  bool IsAway(uint32_t host) const { return away_.contains(host); }
  // The number, for ToTimeline, of the clock by which the host stamps now. Before the first restart it is the host's
  // own.
  uint32_t ClockOf(uint32_t host) const;

  // Probes with moments that no clock can show are counted and left out.
  void AddProbes(const v1::ProbeBatch& batch);

  // What a host's clock is trusted with: the most by which its rate may differ, in parts per million.
  double max_slew_ppm() const { return max_slew_ppm_; }

  // UTC of a moment of the timeline.
  google::protobuf::Timestamp ToUtc(int64_t timeline_ns) const;
  // A moment of a host's clock (ClockOf) on the timeline; nothing where none of its probes was answered.
  std::optional<MappedMoment> ToTimeline(uint32_t clock, int64_t agent_ns) const;
  // Bound of the error of the host's offset at a moment of the timeline; nothing without probes.
  std::optional<int64_t> ErrorAt(uint32_t host, int64_t timeline_ns) const;

  // How the pace of the host's clock changed around a time of the timeline; no exchanges without probes.
  // `paused_within`: see ClockFit::ChangeOver.
  ClockChange ChangeOver(uint32_t host, int64_t from_ns, int64_t to_ns,
                         const std::function<int64_t(int64_t from_ns, int64_t to_ns)>& paused_within) const;

  // How much of the time lies before the first probe of the host's clock that was answered, or after the last one.
  int64_t UnseenNs(uint32_t host, int64_t from_ns, int64_t to_ns) const;

  // What the probes show of the host's clock at `timeline_ns`. error_ns is the bound there.
  v1::ClockReport MakeClockReport(uint32_t host, int64_t timeline_ns) const;
  // By how much the host's wall clock was set to and fro while it was probed, beside what reading two clocks one after
  // the other takes.
  int64_t WallClockSetNs(uint32_t host) const;

 private:
  struct HostClock;
  static uint32_t ClockNumber(uint32_t host, uint32_t restarts);
  // Looks at the first probes since contact was lost.
  void NoteRestart(const v1::ProbeBatch& batch);
  // The clock if it has a probe that can be used; else null.
  const HostClock* Find(uint32_t clock) const;
  // The last of the host's clocks that was probed; null: none was.
  const HostClock* LastOf(uint32_t host) const;

  int64_t begin_ns_ = 0;
  int64_t begin_wall_clock_ns_ = 0;
  double max_slew_ppm_ = 500;
  std::map<uint32_t, std::unique_ptr<HostClock>> clocks_;
  // By host.
  std::map<uint32_t, uint32_t> restarts_;
  // Hosts that were not probed since contact with them was lost.
  std::set<uint32_t> away_;
  // Hosts that read the controller's clock.
  std::set<uint32_t> sharing_;
};

}  // namespace plimsoll
