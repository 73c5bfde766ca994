#include "agent/ha/checkpointer.h"

#include <chrono>
#include <optional>
#include <string>

#include "agent/writer/file_env.h"
#include "agent/writer/worker_threads.h"
#include "common/status_macros.h"

namespace plimsoll {

Checkpointer::~Checkpointer() {
  Finish(false);
}

absl::Status Checkpointer::Write(const CheckpointRecord& record) {
  if (MonotonicNowNs() >= board_.lease_deadline_ns.load(std::memory_order_relaxed)) {
    return absl::DeadlineExceededError("the lease is over");
  }
  return file_.Write(record);
}

absl::StatusOr<CheckpointRecord> Checkpointer::RaiseEpoch(uint32_t host_index) {
  PLIMSOLL_ASSIGN_OR_RETURN(const CheckpointRecord newest, file_.Read());
  record_ = {newest.epoch + 1, newest.generation + 1, host_index, newest.sequence};
  PLIMSOLL_RETURN_IF_ERROR(Write(record_));
  sequence_.store(record_.sequence, std::memory_order_relaxed);
  return record_;
}

void Checkpointer::Start(uint64_t replayed_sequence) {
  replayed_sequence_ = replayed_sequence;
  thread_ = StartThread("checkpoint", [this] { Run(); });
}

void Checkpointer::Finish(bool last) {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  if (last) Take();
}

void Checkpointer::Run() {
  TakeUpTo(replayed_sequence_);
  while (true) {
    {
      const auto due = std::chrono::steady_clock::now() + std::chrono::nanoseconds(interval_ns_);
      const MutexLock lock(mutex_);
      while (!stop_ && changed_.WaitUntil(mutex_, due)) {
      }
      if (stop_) return;
    }
    Take();
  }
}

void Checkpointer::Take() {
  const std::optional<CompletedWrite> last = LastCompleted(board_);
  if (last.has_value()) TakeUpTo(last->sequence);
}

void Checkpointer::TakeUpTo(uint64_t sequence) {
  if (sequence <= record_.sequence) return;
  CheckpointRecord record = record_;
  ++record.generation;
  record.sequence = sequence;
  const absl::Status status = Write(record);
  // The lease ends the instance elsewhere.
  if (absl::IsDeadlineExceeded(status)) return;
  if (!status.ok()) reporter_.Exit(v1::HaEnded::REASON_WRITE_FAILED, std::string(status.message()));
  record_ = record;
  // Release: the record is durable.
  sequence_.store(record.sequence, std::memory_order_release);
}

}  // namespace plimsoll
