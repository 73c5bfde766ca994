// Every host's clock on the controller's, and the controller's on the calendar.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "common/clock_fit.h"
#include "google/protobuf/timestamp.pb.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

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

  // Probes with moments that no clock can show are counted and left out.
  void AddProbes(const v1::ProbeBatch& batch);

  // What a host's clock is trusted with: the most by which its rate may differ, in parts per million.
  double max_slew_ppm() const { return max_slew_ppm_; }

  // UTC of a moment of the timeline.
  google::protobuf::Timestamp ToUtc(int64_t timeline_ns) const;
  // A moment of a host's clock on the timeline; nothing where no probe of the host was answered.
  std::optional<MappedMoment> ToTimeline(uint32_t host, int64_t agent_ns) const;
  // Bound of the error of the host's offset at a moment of the timeline; nothing without probes.
  std::optional<int64_t> ErrorAt(uint32_t host, int64_t timeline_ns) const;

  // What the probes tell of the host's clock at `timeline_ns`. error_ns is the bound there.
  v1::ClockReport MakeClockReport(uint32_t host, int64_t timeline_ns) const;
  // By how much the host's wall clock was set to and fro while it was probed, beside what reading two clocks one after
  // the other takes.
  int64_t WallClockSetNs(uint32_t host) const;

 private:
  struct HostClock;
  // The host's clock if it has a probe that can be used; else null.
  const HostClock* Find(uint32_t host) const;

  int64_t begin_ns_ = 0;
  int64_t begin_wall_clock_ns_ = 0;
  double max_slew_ppm_ = 500;
  std::map<uint32_t, std::unique_ptr<HostClock>> hosts_;
};

}  // namespace plimsoll
