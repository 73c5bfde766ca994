// How each fault of the table goes wrong in a simulated world.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/unit/run/failure_scene.h"

namespace plimsoll::tests {

// By the keys of the table, as tests/integration/failures/faults.py has them for real processes.
const std::map<std::string, FailureScene::Fault>& SimulatedFaults();

// The courses that a row is played in, one after another: whatever decides between them is a race in a real run.
std::vector<Course> CoursesOf(const FailureRow& row);

}  // namespace plimsoll::tests
