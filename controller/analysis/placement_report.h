// Whether a cluster carries its load with all hosts up and with any one host down.
#pragma once

#include <google/protobuf/repeated_field.h>

#include "plimsoll/v1/log_step.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// The answer to a placement, from a report that has its steps and its verdict. `steps` are those of the plan: one that
// was not played, or not to its end by all writers, decides nothing, and leaves no PASS. A pure function.
v1::PlacementReport MakePlacementReport(const v1::Report& report,
                                        const google::protobuf::RepeatedPtrField<v1::LogStep>& steps);

}  // namespace plimsoll
