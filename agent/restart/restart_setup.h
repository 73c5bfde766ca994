// One host's plan for measuring restart I/O, checked, and in the shape that the other parts use.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/restart/restart_layout.h"
#include "common/page_stamp.h"
#include "common/protocol.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/restart.pb.h"

namespace plimsoll {

// Size of the file that transactions which are backed out write to.
inline constexpr uint64_t kRollbackFileBytes = kMostRollbackRecordBytes;

// What lowers the bytes of the files, for messages: "use fewer ...".
inline constexpr char kRestartLessBytes[] = "fewer --records, --depth, --uncommitted or --queues";

struct RestartSetup {
  std::string run_id;
  std::array<uint8_t, 16> run_token{};
  std::string host_label;
  uint32_t host_index = 0;
  v1::RestartWork work;

  // Extents of each directory's log; the last one is shorter where log_bytes is not a multiple of their size.
  uint64_t Extents() const;
  // Files and bytes of each directory.
  uint64_t FilesOfDir() const { return Extents() + work.queues() + 1; }
  uint64_t BytesOfDir() const { return work.log_bytes() + work.queues() * work.queue_bytes() + kRollbackFileBytes; }
  // Free space that filling leaves on a file system of that size.
  uint64_t MinFree(uint64_t total_bytes) const {
    return MinFreeBytes(work.has_min_free_bytes() ? std::optional(work.min_free_bytes()) : std::nullopt, total_bytes);
  }
  // Where the messages begin in each queue file, and how many bytes they have there.
  uint64_t AreaOffset() const { return kStampedPageBytes + work.metadata_bytes(); }
  uint64_t AreaBytes() const { return work.queue_bytes() - AreaOffset(); }
  // Records or messages, as they are dealt to the queues.
  DealtItems Dealt(uint64_t item_bytes) const { return {work.queues(), AreaOffset(), item_bytes}; }
};

// What the plan asks of the host; touches nothing. Takes plans that MakeRestartSetup refuses.
WorkDemand RestartDemand(const v1::HostPlan& plan);

// Checks the plan. INVALID_ARGUMENT names what is wrong with it; PERMISSION_DENIED where it drops caches and
// `allow_drop_caches` is false: the agent was started without that option.
absl::StatusOr<RestartSetup> MakeRestartSetup(const v1::HostPlan& plan, bool allow_drop_caches);

// Whether the trial fits the files. INVALID_ARGUMENT says what does not fit.
absl::Status CheckTrial(const RestartSetup& setup, const v1::RestartTrial& trial);

}  // namespace plimsoll
