// Words about what was resampled: whole seconds, or whole minutes of steps whose frames were folded by age.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/compare/compare_words.h"
#include "plimsoll/v1/compare.pb.h"

namespace plimsoll {

// "second", or "minute" where the run's observations are minutes.
std::string ObservationName(const v1::RunFigures& run);

// "14 s of A are worth only 7 independent seconds (autocorrelation 0.35): run at least 31 s per side." One run a side,
// with observations of the same length.
std::string NeededInWords(uint32_t needed_seconds, const NamedFigures& first, const NamedFigures& second);

// How the observations of single runs were resampled; and where they are minutes, why and at which block sizes.
std::vector<std::string> ResamplingInWords(const v1::Comparison& comparison);

}  // namespace plimsoll
