// What `plimsoll export --format evidence` shows of a run: its slowest writes and reads, and its stalls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/export/run_index.h"
#include "controller/export/write_stream.h"
#include "plimsoll/v1/findings.pb.h"
#include "plimsoll/v1/frame.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// The kernel's counters of a host around a row: the last sample at or before its begin, and the first at or after its
// end. Counters begin with 0 at the step's start.
struct CounterWindow {
  // Where the window begins and ends, on the timeline; its end is the last sample that was looked at.
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  v1::HostSample before;
  v1::HostSample after;
  // Maximum scheduling delay of the recorder within the window.
  uint64_t recorder_late_max_ns = 0;
  // The window covers the row.
  bool closed = false;
};

// A write, a read, or a writer in a stall.
struct EvidenceRow {
  enum class Kind : uint8_t { kWrite, kRead, kStall };

  Kind kind = Kind::kWrite;
  // Place of its writer in RunIndex::writers().
  uint32_t writer = 0;
  // Step, from 0.
  uint32_t step = 0;
  // Begin on the timeline; truth lies within plus or minus error_ns (-1: not known).
  int64_t start_ns = 0;
  int64_t error_ns = -1;
  // Service time of the operation, or length of the stall.
  uint64_t length_ns = 0;
  // Size of the operation; 0: not known.
  uint64_t bytes = 0;
  // Number in the step among the writer's writes, or its reads, from 1; of a stall, that of its first one; 0: not
  // known.
  uint64_t seq = 0;
  // Path of the file, and offset in it, of the operation, or of the stall's first one; empty, and nothing: not known.
  std::string file;
  std::optional<uint64_t> offset;
  // The stall in the report of the step; null unless the row is a stall.
  const v1::StallReport* stall = nullptr;
  const v1::StalledWriterReport* stalled = nullptr;
  // From 1.
  uint32_t stall_number = 0;
  CounterWindow counters;
};

// Where a writer of the host writes, by its number.
const v1::MountReport& MountOfWriter(const v1::HostReport& host, uint32_t qm);

// The `most` slowest writes and reads of the measured part, the slowest first, then the stalls that the report lists,
// in the order of time. Slowest by the traces; of operations without a trace, those that the frames name: the slowest
// ones of each writer and of each interval. The rows refer to the index.
absl::StatusOr<std::vector<EvidenceRow>> CollectEvidence(const RunIndex& index, const WriteFilter& filter,
                                                         WriteStream& writes, size_t most);

// Adds the counters around each row, by reading the journal once more.
absl::Status AddCounters(const RunIndex& index, std::vector<EvidenceRow>& rows);

}  // namespace plimsoll
