// How far this host's wall clock is from UTC, as its kernel knows it.
#pragma once

#include <optional>
#include <string>

#include "plimsoll/v1/controller.pb.h"

namespace plimsoll {

// What adjtimex reports, and which time service runs. Needs no privilege. Nothing where a container forbids the call. A
// status without a synchronised clock has no process of a time service if none is visible, as in a container.
std::optional<v1::TimeStatus> ReadTimeStatus();

// The same of a process list in the form of /proc: "chronyd" if a process of that name runs; empty: no time service is
// among them.
std::string TimeServiceIn(const std::string& proc);

}  // namespace plimsoll
