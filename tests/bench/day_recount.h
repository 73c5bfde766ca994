// The report of a simulated day, recomputed from what the fleet itself did.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/v1/report.pb.h"
#include "tests/bench/day_fleet.h"

namespace plimsoll::tests {

// Where the report differs from the fleet's own counts, a sentence each, at most 50 and then how many more. Counts,
// sums, minima and maxima of every scope and of every row of a series must be equal, percentiles at most 0.1 % above
// the exact value, and stalls as many as there were. `fleet` has played the run that the report is about.
std::vector<std::string> RecountDay(const DayFleet& fleet, const v1::Report& report);

// How much of the day the report's columns show.
struct DayColumns {
  // Series that there are, and the second that the last of their rows ends with; 0: there is none.
  uint64_t qm_series = 0;
  int64_t qm_until_s = 0;
  uint64_t host_series = 0;
  int64_t host_until_s = 0;
  // Hosts with load columns, and the end of the shortest of these.
  uint64_t load_hosts = 0;
  int64_t load_until_s = 0;
};
DayColumns ColumnsOf(const v1::Report& report);

}  // namespace plimsoll::tests
