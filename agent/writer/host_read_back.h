// Which logs of a host can be read back, and reading them: one host's part of ReadBack.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/writer/log_places.h"
#include "agent/writer/work_setup.h"
#include "agent/writer/writer_state.h"
#include "agent/writer/writer_tally.h"
#include "agent/writer/written_log.h"
#include "common/mutex.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Keeps, for each writer, what its steps have written, and reads its log back.
//
// The caller sees to it that NoteStep and Begin do not overlap, and that no step runs while Run does. The other calls
// are for any thread.
class HostReadBack {
 public:
  // What is referred to must outlive the object.
  HostReadBack(const WorkSetup& setup, const std::vector<LogPlace>& places, const StopControl& control)
      : setup_(setup), places_(places), control_(control) {}

  // Takes down what a step's writers have written. They have left their loops, and their states are not cleared yet.
  // `params` and `states` are those of the writers that wrote.
  void NoteStep(uint32_t step, std::span<const TallyParams> params, std::span<WriterState* const> states);

  // The logs to read for a step, by writer, those that did not write in it too; a Stop from now on ends Run.
  // INVALID_ARGUMENT where the step is not the last one that ran, FAILED_PRECONDITION where none ran, or where the
  // numbers of the writes do not say what the log holds.
  absl::StatusOr<std::vector<WrittenLog>> Begin(uint32_t step);
  // Reads them, one after the other. Blocks; writes nothing. Ends with an error in its result after Stop, and once the
  // lease has run out.
  v1::ReadBackDone Run(uint32_t step, const std::vector<WrittenLog>& logs);
  void Stop(const std::string& reason);

  // Changes whenever a call to the storage is about to be made.
  uint64_t progress() const { return calls_.load(std::memory_order_relaxed); }
  // The call to the storage that is under way; nothing while there is none.
  std::optional<v1::InFlight> InFlight(int64_t now_ns) const;

 private:
  // Why blocks of the step do not lie where their numbers say; empty: they do.
  std::string WhyNotPlain(uint32_t step) const;
  absl::Status MayRead();
  absl::StatusOr<v1::WriterReadBack> ReadOne(const WrittenLog& log);

  const WorkSetup& setup_;
  const std::vector<LogPlace>& places_;
  const StopControl& control_;
  // By writer. Runs of steps that are not plain are left out.
  std::vector<WrittenLog> logs_;
  // By step: in how many of its runs something was written.
  std::vector<uint32_t> writing_runs_;
  std::optional<uint32_t> last_step_;
  bool last_wrote_ = false;

  std::atomic<uint64_t> calls_{0};
  // Start of the call that is under way, 0: none; its writer and extent.
  std::atomic<int64_t> since_ns_{0};
  std::atomic<uint32_t> qm_{0};
  std::atomic<uint32_t> extent_{0};

  mutable Mutex mutex_;
  std::optional<std::string> stop_reason_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll
