// What an instance reports to its agent: events, how it ends, and the ledger of the writes that have completed.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "agent/ha/instance_channel.h"
#include "agent/work/work.h"
#include "common/mutex.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Thread-safe. Every message goes up as it is; the agent passes it on. A socket that cannot be written ends the
// process: the agent is gone.
class InstanceReporter final : public WorkSink {
 public:
  // `sender` must outlive the object.
  InstanceReporter(MessageSender& sender, uint32_t instance, uint32_t qm)
      : sender_(sender), instance_(instance), qm_(qm) {}

  // `event` without its instance; at_ns 0: now.
  void Send(v1::HaEvent event);
  void Send(v1::HaLedgerEntry entry);

  void OnFrames(v1::FrameBatch frames) override;
  void OnMessage(v1::AgentMessage message) override;
  // A step ends with the instance, whose last event has its totals.
  void OnStepDone(v1::StepDone /*done*/) override {}
  // Why a write failed, for Exit.
  void OnFault(v1::Fault fault) override;
  std::string fault() const;

  // Reports why and ends the process at once, whatever its other threads are in. The first call wins. The exit code is
  // 0 with REASON_ORDERED, else kExitByItself.
  static constexpr int kExitByItself = 3;
  // `before`: an event with more detail, sent in one message with the end.
  [[noreturn]] void Exit(v1::HaEnded ended, const v1::HaEvent* before = nullptr);
  [[noreturn]] void Exit(v1::HaEnded::Reason reason, const std::string& message = "");

 private:
  // Of this instance, now where no moment is given.
  void Stamp(v1::HaEvent& event) const;

  MessageSender& sender_;
  const uint32_t instance_;
  const uint32_t qm_;
  std::atomic_flag ending_ = ATOMIC_FLAG_INIT;
  mutable Mutex mutex_;
  std::string fault_ ABSL_GUARDED_BY(mutex_);
};

// Reads what the writer shows, every kTickNs: an entry leaves at most 2 ms after the completion that it reports, where
// the thread that calls Flush gets a CPU. Not thread-safe.
class Ledger {
 public:
  static constexpr int64_t kTickNs = 1'000'000;

  // Both must outlive the object. `last_sequence` is the last block of the log when the epoch began.
  Ledger(const InstanceBoard& board, InstanceReporter& reporter, uint64_t last_sequence)
      : board_(board), reporter_(reporter), sent_(last_sequence) {}

  // Sends what has completed since the call before. `now` is MonotonicNowNs.
  void Flush(const std::function<int64_t()>& now);

 private:
  const InstanceBoard& board_;
  InstanceReporter& reporter_;
  uint64_t sent_;
};

// The entry for the writes after `sent` up to `last`.
v1::HaLedgerEntry MakeLedgerEntry(uint32_t epoch, uint64_t sent, const CompletedWrite& last, int64_t now_ns);

}  // namespace plimsoll
