// A queue manager's log against the storage: intervals of amqsrua's output over the bandwidth that a run measured.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <optional>

#include "plimsoll/v1/mq_log.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// The storage's bandwidth for writes of that size, in megabytes per second: between two sizes that were measured, the
// time of a write grows evenly with its size. Nothing outside of them. `sizes` rise.
std::optional<double> StorageBandwidth(const google::protobuf::RepeatedPtrField<v1::MqSizeReport>& sizes,
                                       uint64_t write_size_bytes);

// From a report that has its plan and its steps. Only steps that ran to their end with the data of all hosts count. A
// pure function, which takes columns of any length.
v1::MqLogReport MakeMqLogReport(const v1::Report& report);

}  // namespace plimsoll
