// Every write as a slice of a Perfetto trace.
#pragma once

#include "absl/status/statusor.h"
#include "controller/export/output.h"
#include "controller/export/write_stream.h"

namespace plimsoll {

// A trace (perfetto_trace.proto) for ui.perfetto.dev: each host as a process, below it a track a queue manager, on that
// a slice a write, named by step and block size ("step 1: 4 KiB", "warm-up 1: 4 KiB"), with its number in the step, its
// latency and the clock's error in ns as arguments. Packets are in the order of time; every slice begins and ends, and
// those of a track do not overlap: where the clocks' rates make a write's end fall behind the start of the next one (by
// ns), the slice ends there; the latency beside it is the measured one. Returns how many writes.
absl::StatusOr<uint64_t> ExportPerfetto(const RunIndex& index, WriteStream& writes, Output& output);

}  // namespace plimsoll
