// What the getters of metrics make readings with.
#pragma once

#include <string>

#include "controller/analysis/metric_values.h"

namespace plimsoll {

// The doubt of readings that what is missing could change.
inline constexpr char kDataMissing[] = "data are missing: some were refused or never came";

// A reading of the scope, without a value yet.
Reading ReadingAt(const v1::ScopeReport& scope);

// The reading, with `why` it has no value.
Reading Without(Reading reading, const std::string& why);

// Sets a value that is known for certain.
void SetExact(double value, Reading& reading);

// Moves the bounds of `reading` apart to hold `least` and `most`. `why` is the reading's doubt where something moved
// and there is none yet.
void Widen(double least, double most, const std::string& why, Reading& reading);

}  // namespace plimsoll
