// The phases of a restart, each as what it reads and writes: redo, the loading of queues, and undo.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "agent/restart/restart_calls.h"
#include "agent/restart/restart_files.h"
#include "agent/restart/restart_layout.h"
#include "agent/restart/restart_pages.h"
#include "agent/restart/restart_setup.h"
#include "agent/writer/writer_state.h"
#include "plimsoll/v1/restart.pb.h"

namespace plimsoll {

// What the threads of a work do while trials run, as errors name it.
inline constexpr char kMeasuring[] = "measuring";

// What a phase uses. All of it outlives the phase.
struct TrialParts {
  const RestartSetup& setup;
  const RestartFiles& files;
  const StopControl& control;
  std::atomic<uint64_t>& progress;
  // One for each queue, of which the first is `caller`'s.
  std::vector<CallSlot>& slots;
  RestartCaller& caller;
  TrialTally& tally;
};

// The constructor allocates all memory (std::bad_alloc). One thread uses the object.
class TrialPhase {
 public:
  virtual ~TrialPhase() = default;
  // Makes what the measured part needs beside memory.
  virtual absl::Status Prepare() { return absl::OkStatus(); }
  // The measured part, once. The first error ends it: of a call, of a page that is not what was written there
  // (DATA_LOSS), CANCELLED once the work was stopped, DEADLINE_EXCEEDED at the end of the lease.
  virtual absl::Status Run() = 0;
};

// The trial was checked (CheckTrial).
std::unique_ptr<TrialPhase> MakeRedo(const TrialParts& parts, const v1::RestartRedo& redo);
std::unique_ptr<TrialPhase> MakeLoad(const TrialParts& parts, const v1::RestartLoad& load);
// `key`: of the order in which messages are backed out.
std::unique_ptr<TrialPhase> MakeUndo(const TrialParts& parts, const v1::RestartUndo& undo, uint64_t key);

// Reads, changes and writes pages of queue files, one range at a time, and flushes the files that were written. Not
// thread-safe.
class QueueAccess {
 public:
  // `most_pages`: of a range. Throws std::bad_alloc.
  QueueAccess(const TrialParts& parts, uint64_t most_pages)
      : parts_(parts), buffer_(most_pages * kStampedPageBytes), written_(parts.files.queues().size()) {}

  // Reads the range in one call, and checks its pages.
  absl::Status Read(const QueueRange& range) {
    const RestartFile& file = parts_.files.queues()[range.queue];
    const std::span<std::byte> pages = buffer_.First(range.pages * kStampedPageBytes);
    const absl::Status status =
        parts_.caller.Read(file, range.first * kStampedPageBytes, pages, parts_.tally.queue_reads);
    return status.ok() ? CheckPages(file, range.first, pages) : status;
  }
  // Changes the pages that the last Read has read, of the same range, and writes them in one call.
  absl::Status ChangeAndWrite(const QueueRange& range) {
    const RestartFile& file = parts_.files.queues()[range.queue];
    const std::span<std::byte> pages = buffer_.First(range.pages * kStampedPageBytes);
    ChangePages(file, range.first, pages);
    written_[range.queue] = true;
    return parts_.caller.Write(file, range.first * kStampedPageBytes, pages, parts_.tally.queue_writes);
  }
  // One fdatasync of each file that was written.
  absl::Status FlushWritten();

 private:
  const TrialParts& parts_;
  const PageBuffer buffer_;
  std::vector<bool> written_;
};

}  // namespace plimsoll
