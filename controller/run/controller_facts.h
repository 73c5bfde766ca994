// What results record of the controller that makes them.
#pragma once

#include "plimsoll/v1/controller.pb.h"

namespace plimsoll {

// This process as a controller: its program, its command line, and its host's wall clock now. Hashes the program at the
// first call.
v1::ControllerFacts DescribeController();

}  // namespace plimsoll
