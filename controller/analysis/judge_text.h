// How a verdict writes values and places.
#pragma once

#include <cstdint>
#include <string>

#include "controller/plan/metrics.h"

namespace plimsoll {

// A value of the metric with its unit: "14.211 ms", "2 stalls", "99.98 %".
std::string FormatMetricValue(const MetricInfo& info, double value);

// "step 2, beta/qm2". Step 0 is the run; an empty host names the storage instead; queue manager 0 and storage 0: none.
std::string FormatPlace(uint32_t step, const std::string& host, uint32_t qm, uint32_t storage);

}  // namespace plimsoll
