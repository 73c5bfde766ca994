#include "agent/ha/instance_reporter.h"

#include <unistd.h>

#include <functional>
#include <optional>
#include <utility>

#include "agent/writer/file_env.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// For how long an instance that ends waits for the agent to take its last words.
constexpr int64_t kLastWordsNs = 100 * kNsPerMs;

}  // namespace

void InstanceReporter::Stamp(v1::HaEvent& event) const {
  event.set_instance(instance_);
  event.set_qm(qm_);
  if (event.at_ns() == 0) event.set_at_ns(MonotonicNowNs());
}

void InstanceReporter::Send(v1::HaEvent event) {
  Stamp(event);
  v1::AgentMessage message;
  *message.mutable_ha()->add_events() = std::move(event);
  OnMessage(std::move(message));
}

void InstanceReporter::Send(v1::HaLedgerEntry entry) {
  entry.set_instance(instance_);
  entry.set_qm(qm_);
  v1::AgentMessage message;
  *message.mutable_ha()->add_ledger() = std::move(entry);
  OnMessage(std::move(message));
}

void InstanceReporter::OnFrames(v1::FrameBatch frames) {
  v1::AgentMessage message;
  *message.mutable_frames() = std::move(frames);
  OnMessage(std::move(message));
}

void InstanceReporter::OnMessage(v1::AgentMessage message) {
  if (!sender_.Send(message).ok()) _exit(kExitByItself);
}

void InstanceReporter::OnFault(v1::Fault fault) {
  const MutexLock lock(mutex_);
  if (fault_.empty()) fault_ = fault.message();
}

std::string InstanceReporter::fault() const {
  const MutexLock lock(mutex_);
  return fault_;
}

void InstanceReporter::Exit(v1::HaEnded ended, const v1::HaEvent* before) {
  // Another thread ends the process.
  while (ending_.test_and_set()) pause();
  const int code = ended.reason() == v1::HaEnded::REASON_ORDERED ? 0 : kExitByItself;
  v1::AgentMessage message;
  if (before != nullptr) {
    *message.mutable_ha()->add_events() = *before;
    Stamp(*message.mutable_ha()->mutable_events(0));
  }
  v1::HaEvent& event = *message.mutable_ha()->add_events();
  *event.mutable_ended() = std::move(ended);
  Stamp(event);
  // Where it cannot be sent the agent reports how the process ended, without the reason.
  sender_.SendWithin(message, kLastWordsNs).IgnoreError();
  _exit(code);
}

void InstanceReporter::Exit(v1::HaEnded::Reason reason, const std::string& message) {
  v1::HaEnded ended;
  ended.set_reason(reason);
  ended.set_message(message);
  Exit(std::move(ended));
}

v1::HaLedgerEntry MakeLedgerEntry(uint32_t epoch, uint64_t sent, const CompletedWrite& last, int64_t now_ns) {
  v1::HaLedgerEntry entry;
  entry.set_epoch(epoch);
  entry.set_first_sequence(sent + 1);
  entry.set_last_sequence(last.sequence);
  entry.set_last_start_ns(last.start_ns);
  entry.set_last_end_ns(last.end_ns);
  entry.set_sent_ns(now_ns);
  return entry;
}

void Ledger::Flush(const std::function<int64_t()>& now) {
  const std::optional<CompletedWrite> last = LastCompleted(board_);
  if (!last.has_value() || last->sequence <= sent_) return;
  // The clock comes last: a write may complete at any moment, and the entry leaves after all that it names.
  reporter_.Send(MakeLedgerEntry(board_.epoch.load(std::memory_order_relaxed), sent_, *last, now()));
  sent_ = last->sequence;
}

}  // namespace plimsoll
