// Whether a played row went as the table says.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "tests/unit/run/failure_scene.h"

namespace plimsoll::tests {

using OutcomeCheck = std::function<void(FailureScene& scene)>;

// By their names in tests/integration/failures/outcomes.py; each fails the test that calls it where it was not so.
const std::map<std::string, OutcomeCheck>& KeptChecks();
// Lets the world go on after the run.
const std::map<std::string, OutcomeCheck>& CleanedChecks();
const std::map<std::string, OutcomeCheck>& TakesChecks();

// Every entry of the row's `sees` is printed, or logged by the agent that it names.
void ExpectSeen(FailureScene& scene);

}  // namespace plimsoll::tests
