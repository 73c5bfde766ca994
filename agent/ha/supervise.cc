// The thread of HaWork that starts instances, listens to them and buries them.
#include <poll.h>
#include <sys/eventfd.h>

#include <utility>

#include "agent/ha/ha_work.h"
#include "agent/writer/file_env.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// How often the lease is handed on, and a stopped process is looked at, where nothing else happens.
constexpr int kLeaseTickMs = 10;
constexpr int kStopTickMs = 1;
// An instance that is still there so long after the lease is stopped or hangs, and cannot end by itself.
constexpr int64_t kOverdueNs = 2 * kNsPerSecond;

}  // namespace

void HaWork::Supervise() {
  while (true) {
    AwaitNews();
    std::deque<v1::HaCommand> commands;
    bool stop = false;
    {
      const MutexLock lock(mutex_);
      commands.swap(commands_);
      stop = stop_supervising_;
    }
    const int64_t lease_ns = lease_deadline_ns_.load(std::memory_order_relaxed);
    for (const auto& instance : instances_) instance->SetLease(lease_ns);
    for (const v1::HaCommand& command : commands) CarryOut(command);
    LookAtInstances();
    if (MonotonicNowNs() - kOverdueNs > lease_ns) KillAll();
    if (stop && instances_.empty()) return;
  }
}

void HaWork::AwaitNews() const {
  std::vector<pollfd> waits = {{wake_fd_.get(), POLLIN, 0}};
  int timeout_ms = instances_.empty() ? -1 : kLeaseTickMs;
  for (const auto& instance : instances_) {
    waits.push_back({instance->socket(), POLLIN, 0});
    if (instance->stopping()) timeout_ms = kStopTickMs;
  }
  poll(waits.data(), waits.size(), timeout_ms);
  eventfd_t ignored = 0;
  if ((waits.front().revents & POLLIN) != 0) eventfd_read(wake_fd_.get(), &ignored);
}

void HaWork::CarryOut(const v1::HaCommand& command) {
  const auto signal = [this](uint32_t number, v1::HaSignalled::Signal which) {
    for (const auto& instance : instances_) {
      if (instance->number() != number) continue;
      std::vector<v1::AgentMessage> messages;
      instance->Signal(which, messages);
      PassOn(std::move(messages));
    }
  };
  switch (command.order_case()) {
    case v1::HaCommand::kStart:
      return StartInstance(command.start(), /*scan=*/false);
    case v1::HaCommand::kScan: {
      v1::HaStart start;
      start.set_instance(command.scan().instance());
      start.set_qm(command.scan().qm());
      return StartInstance(start, /*scan=*/true);
    }
    case v1::HaCommand::kEnd:
      for (const auto& instance : instances_) {
        // One that cannot be reached has ended, or ends by the lease.
        if (instance->number() == command.end().instance()) instance->OrderEnd().IgnoreError();
      }
      return;
    case v1::HaCommand::kKill:
      return signal(command.kill().instance(), v1::HaSignalled::SIGNAL_KILL);
    case v1::HaCommand::kHang:
      return signal(command.hang().instance(), v1::HaSignalled::SIGNAL_STOP);
    case v1::HaCommand::kResume:
      return signal(command.resume().instance(), v1::HaSignalled::SIGNAL_RESUME);
    case v1::HaCommand::kFinish:
      return KillAll();
    default:
      return;
  }
}

void HaWork::KillAll() {
  std::vector<v1::AgentMessage> messages;
  for (const auto& instance : instances_) {
    if (!instance->killed()) instance->Signal(v1::HaSignalled::SIGNAL_KILL, messages);
  }
  PassOn(std::move(messages));
}

void HaWork::StartInstance(const v1::HaStart& start, bool scan) {
  {
    // A stop came between the command and now.
    const MutexLock lock(mutex_);
    if (phase_ == Phase::kEnded) give_up_.store(true, std::memory_order_relaxed);
  }
  absl::StatusOr<std::unique_ptr<InstanceHandle>> instance = absl::CancelledError("the drill is over");
  if (!give_up_.load(std::memory_order_relaxed)) {
    v1::HaInstanceSetup setup = instance_setup_;
    *setup.mutable_start() = start;
    setup.set_scan(scan);
    instance = InstanceHandle::Start(program_, std::move(setup), lease_deadline_ns_.load(std::memory_order_relaxed));
  }
  if (!instance.ok()) return TellNotStarted(start, instance.status());
  const MutexLock lock(mutex_);
  instances_.push_back(*std::move(instance));
}

void HaWork::TellNotStarted(const v1::HaStart& start, const absl::Status& status) {
  std::vector<v1::AgentMessage> messages(1);
  v1::HaEvent& event = *messages.front().mutable_ha()->add_events();
  event.set_instance(start.instance());
  event.set_qm(start.qm());
  event.set_at_ns(MonotonicNowNs());
  event.mutable_ended()->set_reason(v1::HaEnded::REASON_FAILED);
  event.mutable_ended()->set_message(std::string(status.message()));
  event.mutable_ended()->set_exit_code(-1);
  PassOn(std::move(messages));
  OnEnded(start.instance());
}

void HaWork::LookAtInstances() {
  std::vector<std::shared_ptr<InstanceHandle>> left;
  std::vector<uint32_t> ended;
  for (const auto& instance : instances_) {
    PassOn(instance->Look());
    if (instance->ended()) {
      ended.push_back(instance->number());
    } else {
      left.push_back(instance);
    }
  }
  if (ended.empty()) return;
  {
    const MutexLock lock(mutex_);
    instances_.swap(left);
  }
  for (const uint32_t number : ended) OnEnded(number);
}

void HaWork::PassOn(std::vector<v1::AgentMessage> messages) {
  for (v1::AgentMessage& message : messages) {
    messages_.fetch_add(1, std::memory_order_relaxed);
    if (message.has_frames()) {
      sink_.OnFrames(std::move(*message.mutable_frames()));
    } else {
      sink_.OnMessage(std::move(message));
    }
  }
}

void HaWork::OnEnded(uint32_t number) {
  const MutexLock lock(mutex_);
  numbers_[number] = false;
  --running_;
  changed_.NotifyAll();
}

}  // namespace plimsoll
