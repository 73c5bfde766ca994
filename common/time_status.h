// How far this host's wall clock is from UTC, as its kernel knows it.
#pragma once

#include <optional>
#include <string>

#include "plimsoll/v1/controller.pb.h"

namespace plimsoll {

// What adjtimex reports, and which time service runs, where its process is visible. Needs no privilege. Nothing where a
// container forbids the call.
std::optional<v1::TimeStatus> ReadTimeStatus();

// The time service among the processes of `proc`, a directory in the form of /proc: "chronyd". Empty if there is none.
std::string TimeServiceIn(const std::string& proc);

}  // namespace plimsoll
