// Calls to the storage, one at a time: begun only while the work may, timed, counted, and seen by others while they
// last.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "agent/restart/restart_pages.h"
#include "agent/writer/file_env.h"
#include "agent/writer/writer_state.h"
#include "plimsoll/v1/restart.pb.h"

namespace plimsoll {

// Calls of one kind. Not thread-safe.
struct CallTally {
  uint64_t count = 0;
  uint64_t bytes = 0;
  int64_t sum_ns = 0;
  int64_t max_ns = 0;

  void Take(uint64_t call_bytes, int64_t took_ns) {
    ++count;
    bytes += call_bytes;
    sum_ns += took_ns;
    max_ns = std::max(max_ns, took_ns);
  }
  // Adds the calls of another thread.
  void Add(const CallTally& more);
  v1::RestartCalls ToMessage() const;
};

// Every kind of call of a trial (v1::RestartTrialDone).
struct TrialTally {
  CallTally log_reads;
  CallTally queue_reads;
  CallTally queue_writes;
  CallTally log_writes;
  CallTally flushes;
};

// What one thread shows of its call in flight. Cells are read by any thread; one thread writes them.
struct alignas(64) CallSlot {
  static constexpr int64_t kIdle = 0;

  // When the call began; kIdle: no call is in flight.
  std::atomic<int64_t> since_ns{kIdle};
  // Valid as long as the work, since files are not removed from their lists.
  std::atomic<const RestartFile*> file{nullptr};
  std::atomic<bool> reads{false};
};

// Makes the calls of one thread. A call begins only before the moment at which the work was stopped and before the
// lease's deadline: CANCELLED, DEADLINE_EXCEEDED. Errors name the call, the file and the offset.
//
// Beside the call itself, Read, Write and Flush cost two readings of the clock and five atomic operations, together
// less than 0.1 us. Nothing is allocated unless a call fails.
class RestartCaller {
 public:
  // `doing`: what the work does, for errors: "measuring". `progress` is raised with every call. All but `doing`
  // outlive the object.
  RestartCaller(std::string doing, const StopControl& control, std::atomic<uint64_t>& progress, CallSlot& slot)
      : doing_(std::move(doing)), control_(control), progress_(progress), slot_(slot) {}

  // OK while a call may begin.
  absl::Status MayCall() const { return WhyNoCall(MonotonicNowNs()); }

  // One preadv2, pwritev2 or fdatasync. Offset and size are whole pages. DATA_LOSS where fewer bytes than that were
  // transferred.
  absl::Status Read(const RestartFile& file, uint64_t offset_bytes, std::span<std::byte> into, CallTally& tally);
  absl::Status Write(const RestartFile& file, uint64_t offset_bytes, std::span<const std::byte> data, CallTally& tally);
  absl::Status Flush(const RestartFile& file, CallTally& tally);

  // One syncfs of the file system that the file is on. Not counted.
  absl::Status SyncFileSystem(const RestartFile& file);

 private:
  absl::Status WhyNoCall(int64_t now_ns) const;
  // Makes the call, which returns bytes or -errno, and sets `result` and `took_ns`. An error means that no call was
  // made.
  template <typename Call>
  absl::Status Time(const RestartFile& file, bool reads, Call call, int64_t& result, int64_t& took_ns);

  const std::string doing_;
  const StopControl& control_;
  std::atomic<uint64_t>& progress_;
  CallSlot& slot_;
};

}  // namespace plimsoll
