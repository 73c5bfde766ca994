// Conditions of --abort-if, which end a run: `p99>20ms for 5s`, `iops<100 for 10s`, `max>1s`.
//
//   condition = metric [ "@" where ] comparison limit [ "for" time ]
//   metric    = p50 | p99 | p99.9 | max | avg | iops | mbps
//   where     = "cluster" (if not given) | "host", for p99 and max: the host that is worst
//
// The condition holds where it is true of as many whole seconds in a row as the time has; without one, of a second.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "controller/criteria/criteria.h"

namespace plimsoll {

struct AbortCondition {
  // What must be true of a second: its comparison is ">" or ">=" for a latency, "<" or "<=" for a throughput. Its scope
  // is kCluster or kHost.
  Criterion criterion;
  // In a row; 1 or more.
  uint32_t seconds = 1;
  // As it was written, without blanks around it.
  std::string text;
};

// Reads one condition. INVALID_ARGUMENT names what is wrong and what is accepted.
absl::StatusOr<AbortCondition> ParseAbortCondition(const std::string& text);

}  // namespace plimsoll
