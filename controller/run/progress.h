// What a person sees while a run is under way, on standard error.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/analysis/live_stats.h"
#include "controller/run/fleet.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// In place on a terminal, one line a second otherwise, nothing but warnings where quiet. One thread.
class Progress {
 public:
  // `out` is borrowed. `in_place` rewrites one line (a terminal).
  Progress(std::FILE* out, bool in_place, bool quiet) : out_(out), in_place_(in_place), quiet_(quiet) {}

  // When Update wants to be called next.
  MonotonicNs next_update() const { return next_update_; }
  void Update(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts, const LiveStats& live);

  void Preparing();
  // Waits for the storage; StepEnds ends it.
  void Settling(MonotonicNs now, int64_t length_ns);
  void StepStarts(uint32_t step, uint32_t steps, const v1::LogStep& spec, MonotonicNs now);
  void Draining(const std::string& reason);
  void StepEnds();
  void Releasing();
  // A line that stays, also where quiet.
  void Warn(const std::string& line);
  // The same as it is, without the program's name.
  void Line(const std::string& line);
  // While a step runs, no line a second: somebody else tells how it goes. One in place stays.
  void LeaveOutRunningLines() { running_lines_ = false; }
  // Takes the line in place away.
  void Clear();

 private:
  enum class Phase { kIdle, kPreparing, kSettling, kRunning, kDraining, kReleasing };

  std::string PreparingLine(const std::vector<std::unique_ptr<Host>>& hosts) const;
  std::string RunningLine(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts,
                          const LiveStats& live) const;
  static std::string InFlightText(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts);
  void Show(const std::string& line);

  std::FILE* out_;
  const bool in_place_;
  const bool quiet_;
  bool line_shown_ = false;
  bool running_lines_ = true;
  Phase phase_ = Phase::kIdle;
  std::string step_text_;
  std::string drain_reason_;
  int64_t step_length_ns_ = 0;
  MonotonicNs step_start_;
  MonotonicNs next_update_;
};

}  // namespace plimsoll
