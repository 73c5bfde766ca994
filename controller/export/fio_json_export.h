// The report in the keys of fio's json+.
#pragma once

#include "absl/status/statusor.h"
#include "controller/export/output.h"
#include "controller/export/run_index.h"
#include "controller/export/write_stream.h"

namespace plimsoll {

// One job for each step and writer ("alpha/qm1"), behind those of a step one for all of them ("All clients", as fio's
// own client has it); groupid is the step's number from 0. Figures are the report's; bins and standard deviation come
// from the frames' histograms. Both clat_ns and lat_ns are the time of the system call. The warm-up is in none of it.
// Returns how many writes the jobs of single writers hold.
absl::StatusOr<uint64_t> ExportFioJson(const RunIndex& index, const WriteFilter& filter, Output& output);

}  // namespace plimsoll
