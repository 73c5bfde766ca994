// Clocks that did not keep the pace while a step was measured: latencies come from them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/clock_fit.h"
#include "controller/analysis/host_facts.h"
#include "controller/timeline/timeline.h"

namespace plimsoll {

struct HostClockChange {
  std::string label;
  ClockChange change;
};

// Whether the clock certainly gained and lost more than --max-slew allows.
bool IsWrongPace(const ClockChange& change);
// By how much the clock gains, in parts per million.
double PacePpm(const ClockChange& change);

// Whether so much of a measured time lies outside of the probes that nothing can be said of the clock's speed.
bool IsUnseen(int64_t unseen_ns, int64_t length_ns);

// What is wrong, as half a sentence each: "node2's clock runs at 0.50x the controller's". If most hosts deviate alike,
// the controller's own clock is named in their place.
std::vector<std::string> WrongClocks(const std::vector<HostClockChange>& hosts);

// How the clocks of those hosts changed over a whole drill that were off their pace between most probes: a fault
// suspends hosts, whose clocks stop meanwhile, between two probes each time. No change of the others.
std::map<uint32_t, HostClockChange> ClocksOfDrill(const Timeline& timeline, const HostTable& hosts, int64_t from_ns,
                                                  int64_t to_ns);

// "its clock lost 1.498 s in 3.004 s; --max-slew (500 ppm) allows 0.002 s".
std::string PaceFigures(const ClockChange& change, double max_slew_ppm);

}  // namespace plimsoll
