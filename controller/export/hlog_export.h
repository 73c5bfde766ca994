// The histograms of a run as an HdrHistogram interval log.
#pragma once

#include "absl/status/statusor.h"
#include "controller/export/output.h"
#include "controller/export/run_index.h"
#include "controller/export/write_stream.h"

namespace plimsoll {

// An interval log of version 1.3, one line a second for all writers together and one for each writer; values in ns. It
// is made from the frames' histograms, bucket for bucket, and needs no traces: untraced writes are in it too.
//
// Tags: "alpha/qm1" for a writer; lines of all writers have none. Where several steps are exported, "step2/alpha/qm1"
// and "step2", so that block sizes are not mixed unasked. Warm-up: "warmup/alpha/qm1", "warmup", behind the step. The
// writes that were in flight at a step's end have lines of their own, from there to the end of the longest of them.
// Returns how many writes the lines of all writers hold.
absl::StatusOr<uint64_t> ExportHlog(const RunIndex& index, const WriteFilter& filter, Output& output);

}  // namespace plimsoll
