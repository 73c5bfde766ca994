// Agents that live in the test's own process: each answers the controller's core as its script says.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/histogram.h"
#include "tests/direct_agent.h"

namespace plimsoll::tests {

// What one fake agent does. Every field is read when the call that it concerns comes.
struct FakeScript {
  std::string name = "alpha";
  // Agent's clock minus the controller's.
  int64_t clock_offset_ns = 0;
  absl::Status describe_error;
  bool answer_probes = true;
  // A probe that goes out by itself is answered only when the next burst is asked for, so long did the way take.
  bool hold_single_probe = false;
  // Once a step is done, probes are answered only with the next heartbeat: the way back is slow.
  bool answers_probes_late = false;
  // How long the answers to the first single probes were under way, in this order; those to later ones not at all.
  std::deque<int64_t> probe_delays_ns;
  // Heartbeats after which the extents are filled.
  int prepares_after_heartbeats = 0;
  // Replies to probes that were sent before the requests came.
  bool contradictory_clock = false;
  // What is sent to it no longer arrives, though what it sends does.
  bool deaf = false;
  bool answer_renewals = false;
  std::function<void()> on_renewed = [] {};
  absl::Status prepare_fault;
  // How many Arm messages are answered with late.
  int late_arms = 0;
  // The session breaks when it is armed for this step.
  int break_at_step = -1;
  std::string break_message = "connection reset";
  absl::StatusCode break_code = absl::StatusCode::kUnavailable;
  // Says nothing any more once it has been armed for this step, as an agent that was frozen.
  int silent_from_step = -1;
  // Steps end only when Stop comes.
  bool run_until_stopped = false;
  // Steps end with the first heartbeat so long after they were to start; 0: at once.
  int64_t step_ns = 0;
  // A call to its storage does not return: it answers heartbeats, and gets nothing done from there on.
  enum class Hang { kNever, kPreparing, kInStep, kReadingBack, kReleasing };
  Hang hang = Hang::kNever;
  // It gets on all the same, however slowly.
  bool gets_on = false;
  // Not empty: steps end early for this reason, and the Fault comes only with the heartbeat after StepDone.
  std::string ends_early;
  // Why it takes no further step; empty: it does.
  std::string refuses_steps;
  // Why it does not read its files back; empty: it does.
  std::string refuses_read_back;
  // Each sends a frame, and its own count.
  uint32_t writers = 1;
  // Of each frame's trace.
  size_t trace_bytes = 1'000;
  // Called when the agent has been armed and has sent its first frame.
  std::function<void()> on_running = [] {};
  // Called when a heartbeat comes.
  std::function<void()> on_heartbeat = [] {};
  std::vector<std::string> visible_hosts;
  // Of its kernel and its directory.
  std::string boot_id;
  uint64_t device = 1;
  // What it says of the space; total_bytes 0: nothing.
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t min_free_bytes = 0;
  // When parts of a recording leave the controller for it: at once, with the next heartbeat, or never.
  enum class Chunks { kAtOnce, kWithHeartbeat, kNever };
  Chunks chunks = Chunks::kAtOnce;
  // Called with each of them.
  std::function<void(const v1::PatternChunk& chunk)> on_chunk = [](const v1::PatternChunk&) {};
  // Called with "prepare", "look" and "fill" when that comes.
  std::function<void(const std::string& what)> on_preparing = [](const std::string&) {};
};

// Everything that a fake agent was told, in order, in a word each: "prepare", "arm 0", "stop", "release".
using FakeDiary = std::vector<std::string>;

class FakeAgent final : public DirectAgent {
 public:
  FakeAgent(FakeScript& script, FakeDiary& diary, const Clock& clock, AgentListener& listener)
      : DirectAgent(clock, listener), script_(script), diary_(diary) {}

  void Describe(v1::DescribeRequest request, int64_t /*timeout_ns*/) override {
    if (!script_.describe_error.ok()) {
      listener_.OnDescribed(script_.describe_error);
      return;
    }
    v1::HostDescription description = DescriptionOf(script_.name, request, script_.device);
    description.set_boot_id(script_.boot_id);
    // Some are of one name.
    description.set_instance_id(absl::StrCat("instance-", reinterpret_cast<uintptr_t>(this)));
    listener_.OnDescribed(std::move(description));
  }

  void Probe(int count) override {
    if (!script_.answer_probes) return;
    const int64_t now_ns = clock_.Now().value;
    if (script_.hold_single_probe && count == 1) {
      held_probe_ns_ = now_ns;
      return;
    }
    if (script_.answers_probes_late && done_) {
      late_probes_ns_.insert(late_probes_ns_.end(), static_cast<size_t>(count), now_ns);
      return;
    }
    if (count == 1 && !script_.probe_delays_ns.empty()) {
      const int64_t delay_ns = script_.probe_delays_ns.front();
      script_.probe_delays_ns.pop_front();
      return AnswerProbes(1, now_ns - delay_ns);
    }
    if (held_probe_ns_ != 0) AnswerProbes(1, std::exchange(held_probe_ns_, 0));
    AnswerProbes(count, now_ns);
  }

  void ReadOn() override {
    held_ = false;
    while (!held_ && !unread_.empty()) {
      v1::AgentMessage message = std::move(unread_.front());
      unread_.pop_front();
      held_ = !listener_.OnMessage(std::move(message));
    }
    if (!held_ && closed_unread_.has_value()) listener_.OnSessionClosed(*std::exchange(closed_unread_, {}));
  }
  void OpenSession() override { diary_.emplace_back("open"); }
  void CloseSession() override { diary_.emplace_back("close"); }
  void Renew(v1::RenewRequest /*request*/, int64_t /*timeout_ns*/) override {
    diary_.emplace_back("renew");
    if (!script_.answer_renewals) return;
    listener_.OnRenewed();
    script_.on_renewed();
  }

  void Send(v1::ControllerMessage message) override {
    if (silent_) return;
    switch (message.message_case()) {
      case v1::ControllerMessage::kPrepare:
        diary_.emplace_back("prepare");
        script_.on_preparing("prepare");
        if (script_.prepares_after_heartbeats > 0) return;
        return Prepare();
      case v1::ControllerMessage::kLook:
        script_.on_preparing("look");
        return Place(message.look().round());
      case v1::ControllerMessage::kFill:
        script_.on_preparing("fill");
        return Fill();
      case v1::ControllerMessage::kPatternChunk:
        script_.on_chunk(message.pattern_chunk());
        if (script_.chunks == FakeScript::Chunks::kAtOnce) return listener_.OnChunkSent();
        if (script_.chunks == FakeScript::Chunks::kWithHeartbeat) ++unsent_chunks_;
        return;
      case v1::ControllerMessage::kArm:
        diary_.push_back(absl::StrCat("arm ", message.arm().step()));
        return Arm(message.arm());
      case v1::ControllerMessage::kStop:
        diary_.emplace_back("stop");
        if (script_.hang == FakeScript::Hang::kInStep) return;
        return FinishStep("stopped");
      case v1::ControllerMessage::kRelease:
        diary_.emplace_back("release");
        if (script_.hang == FakeScript::Hang::kReleasing) return;
        Answer([](v1::AgentMessage& m) { m.mutable_released(); });
        return EndSession(absl::OkStatus());
      case v1::ControllerMessage::kCommand:
        if (message.command().has_read_back()) return ReadBack(message.command());
        if (message.command().has_add_step()) {
          diary_.push_back(absl::StrCat("add ", message.command().add_step().step()));
        } else {
          diary_.emplace_back("stop trace");
        }
        return Answer([&](v1::AgentMessage& m) {
          m.mutable_command_done()->set_id(message.command().id());
          if (!message.command().has_add_step() || script_.refuses_steps.empty()) return;
          m.mutable_command_done()->set_code(static_cast<int32_t>(absl::StatusCode::kInvalidArgument));
          m.mutable_command_done()->set_message(script_.refuses_steps);
        });
      case v1::ControllerMessage::kHeartbeat:
        std::function(script_.on_heartbeat)();  // A copy: it may put another in its own place.
        for (const int64_t sent_ns : std::exchange(late_probes_ns_, {})) AnswerProbes(1, sent_ns);
        for (; unsent_chunks_ > 0; --unsent_chunks_) listener_.OnChunkSent();
        if (fault_due_) Answer([&](v1::AgentMessage& m) { m.mutable_fault()->set_message(script_.ends_early); });
        fault_due_ = false;
        if (script_.step_ns > 0 && clock_.Now().value + script_.clock_offset_ns >= armed_start_ns_ + script_.step_ns) {
          FinishStep("");
        }
        if (script_.prepares_after_heartbeats > 0 && --script_.prepares_after_heartbeats == 0) Prepare();
        if (script_.deaf) return Answer([](v1::AgentMessage& m) { m.mutable_prepare_progress(); });
        return Answer(message.heartbeat().id());
      case v1::ControllerMessage::MESSAGE_NOT_SET:
        return;
    }
  }

 private:
  using DirectAgent::Answer;
  using DirectAgent::AnswerProbes;

  void EndSession(const absl::Status& status) {
    if (!held_) return listener_.OnSessionClosed(status);
    closed_unread_ = status;
  }

  // Keeps what comes after the listener had enough, as a transport that is not read from.
  void Give(v1::AgentMessage message) override {
    if (held_) {
      unread_.push_back(std::move(message));
    } else {
      held_ = !listener_.OnMessage(std::move(message));
    }
  }

  // The answers come now, whenever the probes were sent.
  void AnswerProbes(int count, int64_t sent_ns) {
    AnswerProbes(count, [&](v1::ProbeResult& probe) {
      probe.set_sent_ns(sent_ns);
      probe.set_agent_received_ns(clock_.Now().value + script_.clock_offset_ns);
      // A reply that was sent before its request came contradicts itself.
      probe.set_agent_sent_ns(clock_.Now().value + script_.clock_offset_ns -
                              (script_.contradictory_clock ? 1'000'000 : 0));
      probe.set_received_ns(clock_.Now().value);
    });
  }

  void Answer(uint64_t id) {
    Answer([&](v1::AgentMessage& m) {
      m.mutable_alive()->set_id(id);
      if (script_.gets_on) m.mutable_alive()->set_progress(++progress_);
      if (script_.hang == FakeScript::Hang::kNever) return;
      v1::InFlight& write = *m.mutable_alive()->add_in_flight();
      write.set_qm(1);
      write.set_since_ns(clock_.Now().value + script_.clock_offset_ns - 1'500'000'000);
      write.set_age_ns(1'500'000'000);
      write.set_path("/fake/qm1/active/S0000001.LOG");
      write.set_filling(script_.hang == FakeScript::Hang::kPreparing);
    });
    if (script_.gets_on && progress_ == kEnough) FinishStep("");
  }

  void Prepare() {
    if (!script_.prepare_fault.ok()) {
      Answer([&](v1::AgentMessage& m) {
        m.mutable_fault()->set_code(static_cast<int32_t>(script_.prepare_fault.code()));
        m.mutable_fault()->set_message(std::string(script_.prepare_fault.message()));
      });
      return EndSession(script_.prepare_fault);
    }
    Place(0);
  }

  void Place(uint32_t round) {
    Answer([&](v1::AgentMessage& m) {
      m.mutable_placed()->set_round(round);
      m.mutable_placed()->set_total_bytes(script_.total_bytes);
      m.mutable_placed()->set_free_bytes(script_.free_bytes);
      m.mutable_placed()->set_min_free_bytes(script_.min_free_bytes);
      // Before the others have made theirs there is nothing to see.
      if (round == 0) return;
      for (const std::string& label : script_.visible_hosts) m.mutable_placed()->add_visible_hosts(label);
    });
  }

  void Fill() {
    if (script_.hang == FakeScript::Hang::kPreparing) return;
    Answer([&](v1::AgentMessage& m) {
      m.mutable_prepared()->set_directory("/fake");
      for (const std::string& label : script_.visible_hosts) m.mutable_prepared()->add_visible_hosts(label);
    });
  }

  void Arm(const v1::Arm& arm) {
    const bool late = script_.late_arms > 0;
    if (late) --script_.late_arms;
    armed_start_ns_ = arm.start_ns();
    step_ = arm.step();
    armed_ = !late;
    Answer([&](v1::AgentMessage& m) {
      m.mutable_armed()->set_step(arm.step());
      m.mutable_armed()->set_start_ns(arm.start_ns());
      m.mutable_armed()->set_late(late);
    });
    if (late) return;
    SendFrame();
    if (script_.break_at_step == static_cast<int>(arm.step())) {
      armed_ = false;
      return EndSession(absl::Status(script_.break_code, script_.break_message));
    }
    silent_ = script_.silent_from_step == static_cast<int>(arm.step());
    script_.on_running();
    if (!script_.ends_early.empty()) {
      fault_due_ = true;
      return FinishStep(script_.ends_early);
    }
    if (!silent_ && !script_.run_until_stopped && script_.step_ns == 0 && script_.hang != FakeScript::Hang::kInStep)
      FinishStep("");
  }

  void ReadBack(const v1::Command& command) {
    diary_.push_back(absl::StrCat("read back ", command.read_back().step()));
    if (script_.hang == FakeScript::Hang::kReadingBack) return;
    Answer([&](v1::AgentMessage& m) {
      m.mutable_command_done()->set_id(command.id());
      if (script_.refuses_read_back.empty()) return;
      m.mutable_command_done()->set_code(static_cast<int32_t>(absl::StatusCode::kFailedPrecondition));
      m.mutable_command_done()->set_message(script_.refuses_read_back);
    });
    if (!script_.refuses_read_back.empty()) return;
    Answer([&](v1::AgentMessage& m) {
      m.mutable_read_back()->set_step(command.read_back().step());
      for (uint32_t qm = 1; qm <= script_.writers; ++qm) {
        v1::WriterReadBack& writer = *m.mutable_read_back()->add_writers();
        writer.set_qm(qm);
        writer.set_acknowledged_writes(10);
        writer.set_direct(true);
      }
    });
  }

  // One interval with ten writes of 1 ms of each writer.
  void SendFrame() {
    v1::AgentMessage message;
    Histogram latency;
    latency.RecordN(1'000'000, 10);
    for (uint32_t qm = 1; qm <= script_.writers; ++qm) {
      v1::Frame& frame = *message.mutable_frames()->add_frames();
      frame.set_step(step_);
      frame.set_qm(qm);
      frame.set_interval_count(1);
      *frame.mutable_latency() = latency.ToProto();
      frame.set_bytes(40'960);
      frame.set_first_seq(1);
      frame.set_first_start_ns(armed_start_ns_);
      frame.set_last_end_ns(armed_start_ns_ + 10'000'000);
      frame.add_trace(std::string(script_.trace_bytes, 't'));
    }
    Give(std::move(message));
  }

  void FinishStep(const std::string& stopped) {
    if (!armed_) return;
    armed_ = false;
    done_ = true;
    Answer([&](v1::AgentMessage& m) {
      v1::StepDone& done = *m.mutable_step_done();
      done.set_step(step_);
      done.set_stopped(stopped);
      for (uint32_t qm = 1; qm <= script_.writers; ++qm) {
        v1::WriterTotals& totals = *done.add_writers();
        totals.set_qm(qm);
        totals.set_writes(10);
        totals.set_bytes(40'960);
        totals.set_latency_sum_ns(10'000'000);
        totals.set_latency_max_ns(1'000'000);
        totals.set_first_start_ns(armed_start_ns_);
        totals.set_last_end_ns(armed_start_ns_ + 10'000'000);
      }
    });
  }

  bool held_ = false;
  std::deque<v1::AgentMessage> unread_;
  std::optional<absl::Status> closed_unread_;
  FakeScript& script_;
  FakeDiary& diary_;
  // Heartbeats after which an agent that gets on is done.
  static constexpr uint64_t kEnough = 10;

  int64_t held_probe_ns_ = 0;
  std::vector<int64_t> late_probes_ns_;
  size_t unsent_chunks_ = 0;
  bool done_ = false;
  bool fault_due_ = false;
  bool armed_ = false;
  uint64_t progress_ = 0;
  bool silent_ = false;
  uint32_t step_ = 0;
  int64_t armed_start_ns_ = 0;
};

}  // namespace plimsoll::tests
