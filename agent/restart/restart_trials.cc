#include "agent/restart/restart_trials.h"

#include <memory>
#include <new>
#include <optional>

#include "absl/status/status.h"
#include "agent/restart/restart_counter.h"
#include "agent/restart/restart_phases.h"
#include "agent/writer/file_env.h"
#include "common/integers.h"
#include "common/status_macros.h"

namespace plimsoll {

absl::Status QueueAccess::FlushWritten() {
  for (size_t queue = 0; queue < written_.size(); ++queue) {
    if (!written_[queue]) continue;
    PLIMSOLL_RETURN_IF_ERROR(parts_.caller.Flush(parts_.files.queues()[queue], parts_.tally.flushes));
  }
  return absl::OkStatus();
}

namespace {

// Keeps the order independent of other draws from the same seed.
constexpr uint64_t kUndoSalt = 0x756e646f;

std::unique_ptr<TrialPhase> MakePhase(const TrialParts& parts, const v1::RestartTrial& trial) {
  switch (trial.phase_case()) {
    case v1::RestartTrial::kRedo:
      return MakeRedo(parts, trial.redo());
    case v1::RestartTrial::kLoad:
      return MakeLoad(parts, trial.load());
    default:
      return MakeUndo(parts, trial.undo(), MixBits(MixBits(kUndoSalt ^ parts.setup.work.seed()) ^ trial.trial()));
  }
}

// The counter is read just before and just after the measured part.
absl::Status MeasurePhase(TrialPhase& phase, const StorageReads& storage, v1::RestartTrialDone& done) {
  const std::optional<uint64_t> before = storage.Read();
  done.set_start_ns(MonotonicNowNs());
  const absl::Status status = phase.Run();
  done.set_end_ns(MonotonicNowNs());
  const std::optional<uint64_t> after = storage.Read();
  // A counter that went back is that of another mount.
  if (before.has_value() && after.has_value() && *after >= *before) {
    done.set_storage_read_bytes(*after - *before);
    done.set_counted_at(storage.counted_at());
  }
  return status;
}

absl::Status RunPhase(const TrialSurroundings& around, const RestartFiles& files, const v1::RestartTrial& trial,
                      TrialTally& tally, v1::RestartTrialDone& done) {
  RestartCaller caller(kMeasuring, around.control, around.progress, around.slots.front());
  const TrialParts parts{around.setup, files, around.control, around.progress, around.slots, caller, tally};
  std::unique_ptr<TrialPhase> phase;
  try {
    phase = MakePhase(parts, trial);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("no memory for the trial");
  }
  const StorageReads storage(files.directory().path());
  PLIMSOLL_RETURN_IF_ERROR(files.EmptyCaches(caller, around.drop_caches_path));
  PLIMSOLL_RETURN_IF_ERROR(phase->Prepare());
  return MeasurePhase(*phase, storage, done);
}

}  // namespace

v1::RestartTrialDone RunTrial(const TrialSurroundings& around, const RestartFiles& files,
                              const v1::RestartTrial& trial) {
  v1::RestartTrialDone done;
  done.set_trial(trial.trial());
  TrialTally tally;
  const absl::Status status = RunPhase(around, files, trial, tally, done);
  done.set_code(static_cast<int32_t>(status.code()));
  done.set_message(std::string(status.message()));
  if (tally.log_reads.count > 0) *done.mutable_log_reads() = tally.log_reads.ToMessage();
  if (tally.queue_reads.count > 0) *done.mutable_queue_reads() = tally.queue_reads.ToMessage();
  if (tally.queue_writes.count > 0) *done.mutable_queue_writes() = tally.queue_writes.ToMessage();
  if (tally.log_writes.count > 0) *done.mutable_log_writes() = tally.log_writes.ToMessage();
  if (tally.flushes.count > 0) *done.mutable_flushes() = tally.flushes.ToMessage();
  return done;
}

}  // namespace plimsoll
