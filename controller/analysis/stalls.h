// From the stall intervals of single writers to stalls, and to what they show of the cause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "controller/analysis/host_stalls.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// In this header moments are the timeline's, within plus or minus 2^61, and bounds of errors at most 2^59.

// An interval in which one writer stalled.
struct StalledInterval {
  uint32_t host = 0;
  uint32_t qm = 0;
  // After begin_ns.
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  // The truth is both moments shifted by one amount of at most this, the same for all stretches of the host around it.
  int64_t error_ns = 0;
  // Parts of it in which a write was in flight, and in which the agent itself did not run.
  int64_t in_flight_ns = 0;
  int64_t paused_ns = 0;
  // Its first write; 0: not known.
  uint64_t number = 0;
  // Still open when the data end.
  bool open = false;
  // Long enough for a stall. One that is not only keeps its writer from vouching that it was well meanwhile.
  bool counts = true;
  // Of how many writes it is made; 0: not known.
  uint64_t writes = 0;
  // Usual writes one after the other, of which the longest took this; 0: it is no row.
  int64_t row_of_ns = 0;
};

// A host that ran in the step.
struct StallHost {
  // From 1; 0: not known, and not shared with any other host.
  uint32_t storage = 0;
  // Its writers.
  uint32_t qms = 1;
  // When all of them are known to have run.
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  // Longest time from one write to when the next is due, for each of its writers.
  int64_t between_writes_ns = 0;
  // When the agent itself did not run.
  CoveredTime paused;
  // Where stretches of it are missing, as wide as the error of its clock makes it.
  CoveredTime left_out = {};
};

// Stretches that belong together.
struct Stall {
  v1::StallClass stall_class = v1::STALL_CLASS_UNSPECIFIED;
  uint32_t storage = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t error_ns = 0;
  bool open = false;
  // Whether a host that is in neither list would be in one if the clocks' errors were zero.
  bool unsure = false;
  // Those that stood, and those of the same storage that were seen to run; ascending.
  std::vector<uint32_t> hosts;
  std::vector<uint32_t> others;
  // Places in the list that was given, the longest first.
  std::vector<size_t> stretches;
};

// Bound of the error of a host's clock at a moment.
using ClockErrorAt = std::function<int64_t(uint32_t host, int64_t moment_ns)>;

// What a writer's own writes prove of the storage: on the timeline, every gap in its service of at least `least_ns`, in
// the order of time, neither their begins nor their ends ever going back. There is one before the first known write,
// and one after the last. Each is as wide as the error of the host's clock makes it.
struct ServedTime {
  int64_t least_ns = 0;
  std::vector<ServiceGap> gaps;
};

// Null where nothing is known of the writer's writes. Valid while stalls are found.
using ServedTimeOf = std::function<const ServedTime*(uint32_t host, uint32_t qm)>;

// Finds the stalls, in the order of time. `hosts` has every host that a stretch names. A pure function.
//
// A stretch of which at least half is pauses of its agent is the host's own: with others of that kind on the host that
// overlap it it makes a stall of class HOST_PAUSED. Of the rest, two of one storage belong together where they overlap
// by at least half of the shorter one, whatever their clocks' errors are within their bounds; so do all that are
// connected in that way. A row belongs together with other rows alone, and only where they overlap by at least half of
// the longer one: its writers wrote all the time, and what else stood meanwhile has to do with a moment of it at most.
//
// The class is decided among the hosts of the storage that can tell. A host in which no writer stood can tell that it
// was well where its data, without pauses of its agent, cover at least half of the stall whatever the clocks' errors
// are; where writes were due meanwhile; and where no stretch of it, even one that does not count, may have been at that
// time, nor one that is missing. (A row may where one write of it may have taken half of the stall.) Whether all
// writers of a host stalled is decided in the same way, among those whose state is known.
//
// A host can also prove that the storage was well (`served_of`, which may be empty): where one of its writers, whatever
// the clocks' errors are, had no gap in its service that overlaps the stall by half of the stall's shortest stretch.
// Then writes to that storage started and completed in every part of the stall of that length. This outweighs
// stretches of the host that could not belong to the stall with clocks that are exact; where one of the others may
// belong to it, it stays unsure. A writer of the same host proves likewise that it is not the whole host.
std::vector<Stall> FindStalls(const std::map<uint32_t, StallHost>& hosts, const std::vector<StalledInterval>& stretches,
                              const ClockErrorAt& error_at, const ServedTimeOf& served_of = nullptr);

}  // namespace plimsoll
