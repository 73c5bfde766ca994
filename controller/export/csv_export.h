// Every write as one line of CSV.
#pragma once

#include "absl/status/status.h"
#include "controller/export/output.h"
#include "controller/export/write_stream.h"

namespace plimsoll {

// RFC 4180, with a heading; one line a write, in the order of WriteStream. Columns: timeline_ns, utc, host, qm, step,
// seq, latency_ns, bytes, error_ns; with the warm-up also part (warmup or measured). Returns how many lines.
absl::StatusOr<uint64_t> ExportCsv(const RunIndex& index, const WriteFilter& filter, WriteStream& writes,
                                   Output& output);

}  // namespace plimsoll
