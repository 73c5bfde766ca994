// What the plan of an acceptance has its parts do, as people read it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "plimsoll/v1/accept_report.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// All of them take a plan that has its defaults.

// What was tested, as names and values: the load, how it writes, the search, the criteria of each. Of the parts that
// the plan has.
std::vector<std::pair<std::string, std::string>> AcceptConfiguration(const v1::AcceptReport& report);

// Target rates of the hosts' queue managers, in writes per second. A placement has none of them.
struct LoadRates {
  // Of the hosts that have one; 0: none has.
  double least = 0;
  double most = 0;
  // Addresses of those that write as fast as possible; "" for this machine.
  std::vector<std::string> unpaced;
};
LoadRates LoadRatesOf(const v1::TestPlan& plan);
// "20 to 200 writes/s of each queue manager, as fast as possible on node2".
std::string RateText(const LoadRates& rates);

// Queue managers of the host that has most.
double MostQueueManagers(const v1::TestPlan& plan);

// How load and search write where that is not as MQ's logger does (O_DSYNC and O_DIRECT), as a sentence; empty: they
// do, or the plan has neither.
std::string UnlikeMqText(const v1::TestPlan& plan);

// "1 host", "1,200 hosts".
std::string CountText(size_t count, const std::string& noun);

}  // namespace plimsoll
