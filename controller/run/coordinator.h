// Takes a run from the first session to the last.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "controller/fleet/agent_client.h"
#include "controller/fleet/exit_code.h"
#include "controller/fleet/fleet.h"
#include "controller/live/live_feed.h"
#include "controller/live/run_log.h"
#include "controller/run/disturber.h"
#include "controller/run/fold_choice.h"
#include "controller/run/preparation.h"
#include "controller/run/read_back.h"
#include "controller/run/run_guard.h"
#include "controller/run/session_driver.h"
#include "controller/run/trace_limit.h"
#include "plimsoll/v1/controller.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// One thread, the driver's: it waits for events and handles them in order, so no state of a run needs a lock.
//
// Prepares every host (all make their directories before any fills), then for each step probes the clocks, arms all
// hosts for one moment and waits for the last host's StepDone, then releases all. Steps that are not known beforehand
// are sent to the agents one by one. A host is lost when its stream breaks or its lease expires without a message; what
// it had sent stays. What is received goes to the log before anything else is done with it.
class Coordinator final : private SessionCourse {
 public:
  // kNever: the run has had its last turn, and ends as if it had no further step.
  enum class Turn { kWait, kBegin, kNever };

  struct Options {
    // Checked, every default filled in.
    v1::TestPlan plan;
    std::vector<v1::HostPlan> host_plans;  // by host
    // Steps that are known beforehand.
    std::vector<v1::LogStep> steps;
    // What the journal records of the controller.
    v1::ControllerFacts controller;
    // The step after all those before, asked when the last one's report is made (RunLog::analyzer() has it); nothing:
    // the run is over. Empty: there are no steps but the listed ones.
    std::function<std::optional<v1::LogStep>()> next_step;
    // For a run that takes turns with another: whether the step may begin, all before it being reported. Asked again
    // and again while the answer is kWait; sessions are kept meanwhile. Empty: every step begins at once.
    std::function<Turn(uint32_t step)> turn;
    // SessionDriver::Options::beside_key.
    std::string beside_key;
    // The recording that the host_plans' writers play; without `read` if they play none.
    PatternSource pattern;
    // How long steps fold their frames by age (FoldsFrames); nothing: none does.
    std::optional<v1::StepFoldRules> fold = UsualFold();
    // Ends the run early, or keeps a step from beginning; an observer of `feed`. Null: nothing does.
    RunGuard* guard = nullptr;
    // Disturbs the storage while the run's one step is measured; the hosts read back what they wrote then. Null:
    // nothing does.
    Disturber* disturber = nullptr;
    // Sentences for readers of the run, which the journal has from its beginning.
    std::vector<std::string> notes;
    Fleet* fleet = nullptr;
    EventQueue* events = nullptr;
    const Clock* clock = nullptr;
    RunLog* log = nullptr;
    LiveFeed* feed = nullptr;
  };

  explicit Coordinator(Options options);

  // Runs to the end. A failure means that nothing was measured; without one there is something to report.
  std::optional<Failure> Run();
  // A second interrupt: the caller leaves at once. The agents clean up when their leases run out.
  bool left() const { return driver_.left(); }

 private:
  using Condition = SessionDriver::Condition;
  // What a host does in the step that is being armed, or runs.
  enum class InStep { kNot, kArmed, kRunning };
  struct StepPart {
    InStep phase = InStep::kNot;
    std::optional<v1::Armed> armed;
    bool done = false;
    // Why its writers ended the step early; empty: they did not.
    std::string stopped;

    bool late() const { return armed.has_value() && armed->late(); }
  };

  // What the driver reports of the sessions.
  void OnMessage(Host& host, v1::AgentMessage& message) override;
  void OnProbes(Host& host, v1::ProbeBatch& probes) override;
  void OnClosed(Host& host, const absl::Status& status) override;
  void OnLost(Host& host, const std::string& reason) override;
  std::string Awaited(const Host& host, MonotonicNs now) const override;
  bool Full() override;
  void Note(const std::string& text) override;
  MonotonicNs next_update() const override;
  void Update(MonotonicNs now) override;

  bool PumpUntil(const Condition& done) { return driver_.PumpUntil(done); }
  void Lose(Host& host, const std::string& reason) { driver_.Lose(host, reason); }
  // Sends a command; the journal has it, as it will have the answer.
  uint64_t SendCommand(Host& host, v1::Command command);
  // Every agent stops tracing, at one moment.
  void StopTraces();
  void OnCommandDone(Host& host, const v1::CommandDone& done);
  void LogFrames(Host& host, v1::FrameBatch& frames);

  // Asks every ready host's clock, and waits at most so long for the answers. Returns when it asked.
  MonotonicNs AwaitProbes(int probes, int64_t patience_ns, const Condition& give_up);
  // Asks every ready host's clock before a start, and loses those that do not answer.
  void AskClocks();
  // Until the reports of the steps before `step` are made.
  void AwaitReports(uint32_t step);
  // The time that the plan gives the storage between preparing and the first step.
  void Settle();
  // Handles events and timers until `pause_ns` from now, or until the run must end; sessions are kept.
  void Pause(int64_t pause_ns) {
    driver_.PumpFor(pause_ns, [this] { return !MustStop().empty(); });
  }
  // Waits for the step's turn, or until the run must end; false where it gets none.
  bool AwaitTurn(uint32_t step);
  // The step with this number, where the run has it: one of the list, or one that is added now.
  bool HasStep(uint32_t step);
  // Why the guard keeps the step from beginning; empty: it does not.
  std::string MayNotBegin(uint32_t step) const {
    if (options_.guard == nullptr) return "";
    return options_.guard->MayNotBegin(
        steps_[step].duration_ns() + steps_[step].warmup_ns() + Disturber::AfterStepNs(options_.plan) + ReadBackNs(),
        clock_.Now());
  }
  // How long hosts are expected to read back: as long as they took to write as many bytes before the first step.
  int64_t ReadBackNs() const { return options_.disturber == nullptr ? 0 : preparing_ns_; }
  // Whether a disturbance is under way, or not undone.
  bool IsUndoing() const { return options_.disturber != nullptr && !options_.disturber->idle(); }
  // Why the guard ends the run; empty: it does not.
  std::string StoppedByGuard() const { return options_.guard == nullptr ? "" : options_.guard->MustStop(clock_.Now()); }
  // Gives the step to every ready host, and waits until each has taken it. A host that refuses it is lost.
  void AddStep(uint32_t step);
  // One step, from the probes to the last StepDone. A failure where it could not be started.
  std::optional<Failure> RunStep(uint32_t step);
  enum class ArmResult { kArmed, kLate, kMustStop };
  // With `lead_times` the usual time for the order to arrive: 1 first, up to kLongestLeadTimes where a host got it too
  // late.
  static constexpr int64_t kLongestLeadTimes = 64;
  ArmResult ArmAll(uint32_t step, int64_t lead_times);
  void DisarmAll();
  // Until every host that ended the step by itself has said why, or is lost; at most for a lease.
  void AwaitReasons();
  void StopAll(const std::string& reason);
  // Once the step is over: until everything is undone, and the hosts have read back what they wrote.
  void EndDisturbances(uint32_t step);
  // Each host answers so many probes before its session ends.
  void ReleaseAll(int probes);
  // Why the run must end now; empty: it need not.
  std::string MustStop() const;
  bool All(const std::function<bool(const Host&)>& condition) const;
  // Whether the host is still in session, and so far in the step.
  bool Is(const Host& host, InStep phase) const {
    return host.phase == Host::Phase::kReady && parts_[host.index].phase == phase;
  }
  // Whether the condition holds for every host that Is.
  bool AllThat(InStep phase, const std::function<bool(const Host&, const StepPart&)>& condition) const;
  // No host is in a step any more.
  void LeaveStep();
  bool StepIsDone() const;
  void Send(Host& host, v1::ControllerMessage message);

  const Options options_;
  // So far: those of the list, and those that were added.
  std::vector<v1::LogStep> steps_;
  // Hosts that have not answered AddStep, with the number of the command.
  std::map<size_t, uint64_t> adding_;
  const Clock& clock_;
  Fleet& fleet_;
  RunLog& log_;
  SessionDriver driver_;
  Preparation preparation_;
  std::vector<StepPart> parts_;  // by host
  int32_t step_ = -1;            // that runs; -1: none
  MonotonicNs step_end_;
  // The running step, or one that was armed, was asked to stop.
  bool stopping_ = false;
  // A host was lost or has failed.
  bool trouble_ = false;
  // Frames and StepDones that came before every host was armed: they count only when all are.
  bool hold_ = false;
  std::vector<std::pair<size_t, v1::AgentMessage>> held_;
  TraceLimit trace_limit_;
  ReadBacks read_backs_;
  int64_t preparing_ns_ = 0;
};

}  // namespace plimsoll
