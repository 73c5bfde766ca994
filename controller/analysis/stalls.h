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
  // The truth is both moments shifted by one amount of at most this, the same for all intervals of the host around it.
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
  // How many writes it is made of; 0: not known.
  uint64_t writes = 0;
  // A run of slow writes whose longest took this; 0: not a run of slow writes.
  int64_t row_of_ns = 0;
  // The longest for which one of its writes was in flight, or late to start; 0: as long as the interval.
  int64_t longest_ns = 0;
};

// A host that took part in the step.
struct StallHost {
  // From 1; 0: not known, and not shared with any other host.
  uint32_t storage = 0;
  // Its writers, and the highest of their numbers where some of the host's do not write; 0: `qms`.
  uint32_t qms = 1;
  uint32_t last_qm = 0;
  // Where they write in several directories: the directory of each that writes, by its number. Empty: all in one.
  std::map<uint32_t, size_t> directory_of = {};
  // When all of them are known to have run.
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  // Longest time from one write to when the next is due, for each of its writers.
  int64_t between_writes_ns = 0;
  // When the agent itself did not run.
  CoveredTime paused;
  // Where intervals of it are missing, as wide as the error of its clock makes it.
  CoveredTime left_out = {};
};

// Intervals that belong together.
struct Stall {
  v1::StallClass stall_class = v1::STALL_CLASS_UNSPECIFIED;
  uint32_t storage = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t error_ns = 0;
  bool open = false;
  // Whether a host that is in neither list would be in one if the clocks' errors were zero.
  bool unsure = false;
  // Affected hosts, and unaffected ones of the same storage; ascending.
  std::vector<uint32_t> hosts;
  std::vector<uint32_t> others;
  // Places in the list that was given, the longest first.
  std::vector<size_t> intervals;
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

// Finds the stalls, in the order of time. `hosts` has every host that an interval names. A pure function.
//
// An interval is the host's own if its agent paused for at least half of the time that its slowest write took: the rest
// of the interval may be the backlog that the pause left. A run of slow writes is if half of it is pauses. With others
// of that kind on the host that overlap it, it makes a stall of class HOST_PAUSED. Of the rest, two on one storage
// belong together if they overlap by at least half of the shorter one, whatever the errors of their clocks are within
// their bounds; so do all that are connected in this way. A run of slow writes belongs together only with other runs,
// and only if they overlap by at least half of the longer one: its writers wrote all the time, and any other stall
// concerns a moment of it at most.
//
// The class is decided among the hosts of the storage that can bear witness. A host without a stalled writer witnesses
// that it was unaffected if its data, without pauses of its agent, cover at least half of the stall whatever the clock
// errors are; if writes were due meanwhile; and if no interval of it, even one that does not count or is missing, may
// have been at that time. (A run of slow writes may, if one of its writes can have taken half of the stall.) Whether
// all writers of a host stalled is decided in the same way, among those whose state is known.
//
// A host can also prove that the storage was serving (`served_of`, which may be empty): if one of its writers, whatever
// the clock errors are, had no gap in its service that overlaps the stall by half of the stall's shortest interval.
// Writes to that storage then started and completed in every part of the stall of that length. This outweighs intervals
// of the host that could not belong to the stall if the clocks were exact; if one of the others may belong to it, the
// host stays unsure. A writer of an affected host likewise proves that not the whole host was affected; where its
// writers write in several directories, one that shares the directory, for each directory with a stalled one.
std::vector<Stall> FindStalls(const std::map<uint32_t, StallHost>& hosts, const std::vector<StalledInterval>& intervals,
                              const ClockErrorAt& error_at, const ServedTimeOf& served_of = nullptr);

}  // namespace plimsoll
