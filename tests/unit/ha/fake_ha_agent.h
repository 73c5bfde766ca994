// Agents of a drill that live in the test's own process, and the storage that they share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/direct_agent.h"

namespace plimsoll::tests {

// The locks and logs of all queue managers.
struct FakeStorage {
  std::map<uint32_t, uint32_t> holder;  // of `active`, by queue manager; 0: nobody
  std::map<uint32_t, uint64_t> last;    // sequence
  std::map<uint32_t, uint32_t> epoch;
  // The lock of a dead instance stays.
  bool never_releases = false;
  // A second instance gets the lock that the first one has.
  bool grants_twice = false;
  // No write returns.
  bool hangs = false;
};

// What happens to one host.
struct FakeHaHost {
  std::string name;
  int64_t clock_offset_ns = 0;
  // Says nothing, and is not reached.
  bool frozen = false;
  // Its sessions break, and no new one opens.
  bool off = false;
  // An instance that is to start ends at once.
  bool fails_to_start = false;
  // It takes no order to start one.
  bool refuses_to_start = false;
  // It sees its own directory only.
  bool sees_nobody = false;
  // An instance that is resumed stays as it is; or fails at its next write.
  bool ignores_resume = false;
  bool ends_at_resume = false;
  // Before each session.
  std::function<void()> on_open = [] {};
  std::vector<std::string> diary;
};

// Acts when a message comes: its instances write, and take locks, with each heartbeat.
class FakeHaAgent final : public DirectAgent {
 public:
  FakeHaAgent(FakeHaHost& host, FakeStorage& storage, const Clock& clock, AgentListener& listener)
      : DirectAgent(clock, listener), host_(host), storage_(storage) {}

  void Describe(v1::DescribeRequest request, int64_t /*timeout_ns*/) override {
    listener_.OnDescribed(DescriptionOf(host_.name, request));
  }

  void Probe(int count) override {
    if (host_.frozen || host_.off) return;
    AnswerProbes(count, [this](v1::ProbeResult& probe) {
      probe.set_sent_ns(clock_.Now().value);
      probe.set_agent_received_ns(Now());
      probe.set_agent_sent_ns(Now());
      probe.set_received_ns(clock_.Now().value);
    });
  }

  void OpenSession() override {
    host_.diary.emplace_back("open");
    host_.on_open();
    open_ = !host_.off;
    if (!open_) listener_.OnSessionClosed(absl::UnavailableError("no route to host"));
  }
  void CloseSession() override { open_ = false; }
  void Renew(v1::RenewRequest /*request*/, int64_t /*timeout_ns*/) override {}

  // The host loses power: its session breaks, its instances are gone, and with them their locks.
  void SwitchOff() {
    host_.off = true;
    for (auto& [number, instance] : instances_) Release(number);
    instances_.clear();
    if (std::exchange(open_, false)) listener_.OnSessionClosed(absl::UnavailableError("connection reset"));
  }
  // The server gives the locks of a frozen host up.
  void ExpireLocks() {
    for (auto& [number, instance] : instances_) Release(number);
  }

  void Send(v1::ControllerMessage message) override {
    if (!open_ || host_.frozen) return;
    switch (message.message_case()) {
      case v1::ControllerMessage::kPrepare:
        return Answer([](v1::AgentMessage& m) { m.mutable_placed(); });
      case v1::ControllerMessage::kLook:
        return Answer([&](v1::AgentMessage& m) {
          m.mutable_placed()->set_round(message.look().round());
          for (const std::string& label : message.look().hosts()) {
            if (label == host_.name || !host_.sees_nobody) m.mutable_placed()->add_visible_hosts(label);
          }
        });
      case v1::ControllerMessage::kFill:
        return Answer([](v1::AgentMessage& m) { m.mutable_prepared(); });
      case v1::ControllerMessage::kHeartbeat:
        Answer([&](v1::AgentMessage& m) { m.mutable_alive()->set_id(message.heartbeat().id()); });
        return Work();
      case v1::ControllerMessage::kCommand:
        if (host_.refuses_to_start && message.command().ha().has_start()) {
          return Answer([&](v1::AgentMessage& m) {
            m.mutable_command_done()->set_id(message.command().id());
            m.mutable_command_done()->set_code(static_cast<int32_t>(absl::StatusCode::kInvalidArgument));
            m.mutable_command_done()->set_message("the plan has no qm1");
          });
        }
        Carry(message.command().ha());
        return Answer([&](v1::AgentMessage& m) { m.mutable_command_done()->set_id(message.command().id()); });
      case v1::ControllerMessage::kRelease:
        host_.diary.emplace_back("release");
        instances_.clear();
        Answer([](v1::AgentMessage& m) { m.mutable_released(); });
        open_ = false;
        return listener_.OnSessionClosed(absl::OkStatus());
      default:
        return;
    }
  }

  size_t running() const { return instances_.size(); }

 private:
  struct Instance {
    uint32_t qm = 0;
    uint32_t epoch = 0;
    bool active = false;
    bool hung = false;
  };

  int64_t Now() const { return clock_.Now().value + host_.clock_offset_ns; }

  template <typename Fill>
  void Event(uint32_t number, uint32_t qm, const Fill& fill) {
    Answer([&](v1::AgentMessage& m) {
      v1::HaEvent& event = *m.mutable_ha()->add_events();
      event.set_instance(number);
      event.set_qm(qm);
      event.set_at_ns(Now());
      fill(event);
    });
  }
  void Release(uint32_t number) {
    uint32_t& holder = storage_.holder[instances_[number].qm];
    if (holder == number && !storage_.never_releases) holder = 0;
  }
  void Gone(uint32_t number, v1::HaEnded::Reason reason) {
    const Instance instance = instances_[number];
    Release(number);
    instances_.erase(number);
    Event(number, instance.qm, [&](v1::HaEvent& event) {
      event.mutable_ended()->set_reason(reason);
      if (instance.active) event.mutable_ended()->set_last_sequence(last_[number]);
    });
  }

  void Carry(const v1::HaCommand& order) {
    switch (order.order_case()) {
      case v1::HaCommand::kStart: {
        const uint32_t number = order.start().instance();
        host_.diary.push_back(absl::StrCat("start qm", order.start().qm()));
        instances_[number].qm = order.start().qm();
        Event(number, order.start().qm(), [](v1::HaEvent& event) { event.mutable_started()->set_pid(1); });
        if (host_.fails_to_start) return Gone(number, v1::HaEnded::REASON_FAILED);
        if (storage_.holder[order.start().qm()] == 0) return Activate(number);
        return Event(number, order.start().qm(),
                     [](v1::HaEvent& event) { event.mutable_lock_granted()->set_lock(v1::HA_LOCK_STANDBY); });
      }
      case v1::HaCommand::kEnd:
        host_.diary.emplace_back("end");
        if (instances_.contains(order.end().instance())) Gone(order.end().instance(), v1::HaEnded::REASON_ORDERED);
        return;
      case v1::HaCommand::kKill: {
        const uint32_t number = order.kill().instance();
        host_.diary.emplace_back("kill");
        if (!instances_.contains(number)) return;
        Event(number, instances_[number].qm, [this](v1::HaEvent& event) {
          event.mutable_signalled()->set_signal(v1::HaSignalled::SIGNAL_KILL);
          event.mutable_signalled()->set_began_ns(Now());
        });
        return Gone(number, v1::HaEnded::REASON_SIGNAL);
      }
      case v1::HaCommand::kHang:
        host_.diary.emplace_back("hang");
        instances_[order.hang().instance()].hung = true;
        return;
      case v1::HaCommand::kResume:
        host_.diary.emplace_back("resume");
        if (host_.ends_at_resume) return Gone(order.resume().instance(), v1::HaEnded::REASON_WRITE_FAILED);
        instances_[order.resume().instance()].hung = host_.ignores_resume;
        return;
      case v1::HaCommand::kScan: {
        const uint32_t qm = order.scan().qm();
        Event(order.scan().instance(), qm, [&](v1::HaEvent& event) { event.mutable_scanned()->set_pages_checked(1); });
        return Event(order.scan().instance(), qm, [](v1::HaEvent& event) { event.mutable_ended(); });
      }
      case v1::HaCommand::kFinish:
        while (!instances_.empty()) Gone(instances_.begin()->first, v1::HaEnded::REASON_SIGNAL);
        return;
      default:
        return;
    }
  }

  void Activate(uint32_t number) {
    Instance& instance = instances_[number];
    const uint32_t qm = instance.qm;
    storage_.holder[qm] = number;
    instance.active = true;
    instance.epoch = ++storage_.epoch[qm];
    const uint64_t last = storage_.last[qm];
    Event(number, qm, [](v1::HaEvent& event) { event.mutable_lock_granted()->set_lock(v1::HA_LOCK_ACTIVE); });
    Event(number, qm, [&](v1::HaEvent& event) { event.mutable_epoch_raised()->set_epoch(instance.epoch); });
    Event(number, qm, [&](v1::HaEvent& event) { event.mutable_replayed()->set_last_sequence(last); });
    Event(number, qm, [&](v1::HaEvent& event) { event.mutable_writing()->set_first_sequence(last + 1); });
    Event(number, qm, [&](v1::HaEvent& event) { event.mutable_first_write()->set_sequence(last + 1); });
    Write(number);
  }

  void Write(uint32_t number) {
    const Instance& instance = instances_[number];
    if (storage_.hangs) return;
    const uint64_t sequence = ++storage_.last[instance.qm];
    last_[number] = sequence;
    Answer([&](v1::AgentMessage& m) {
      v1::HaLedgerEntry& entry = *m.mutable_ha()->add_ledger();
      entry.set_instance(number);
      entry.set_qm(instance.qm);
      entry.set_epoch(instance.epoch);
      entry.set_first_sequence(sequence);
      entry.set_last_sequence(sequence);
      entry.set_last_start_ns(Now());
      entry.set_last_end_ns(Now());
    });
  }

  void Work() {
    std::vector<uint32_t> lost;
    for (auto& [number, instance] : instances_) {
      if (instance.hung) continue;
      if (instance.active) {
        // Its verification finds out that the lock is another's.
        if (storage_.holder[instance.qm] != number && !storage_.grants_twice) {
          lost.push_back(number);
        } else {
          Write(number);
        }
      } else if (storage_.holder[instance.qm] == 0 || storage_.grants_twice) {
        Activate(number);
      }
    }
    for (const uint32_t number : lost) Gone(number, v1::HaEnded::REASON_LOCK_LOST);
  }

  FakeHaHost& host_;
  FakeStorage& storage_;
  bool open_ = false;
  std::map<uint32_t, Instance> instances_;
  std::map<uint32_t, uint64_t> last_;
};

}  // namespace plimsoll::tests
