#include "agent/watch/watch_work.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/writer/worker_threads.h"
#include "common/clock.h"
#include "common/status_macros.h"

namespace plimsoll {

absl::StatusOr<std::unique_ptr<WatchWork>> WatchWork::Create(const v1::HostPlan& plan,
                                                             const std::atomic<int64_t>& lease_deadline_ns,
                                                             WorkSink& sink, const std::string& mqs_ini) {
  PLIMSOLL_ASSIGN_OR_RETURN(WatchSetup setup, MakeWatchSetup(plan));
  return std::unique_ptr<WatchWork>(
      new WatchWork(std::move(setup), plan.watch().held_program(), mqs_ini, lease_deadline_ns, sink));
}

WorkKind WatchWork::Kind(bool allowed) {
  return {WatchDemand,
          [allowed](const v1::HostPlan& plan, const std::atomic<int64_t>& lease_deadline_ns,
                    WorkSink& sink) -> absl::StatusOr<std::unique_ptr<Work>> {
            if (!allowed) {
              return absl::PermissionDeniedError(
                  "this agent does not let plans watch processes of its host; start plimsoll-agent with --allow-watch");
            }
            return Create(plan, lease_deadline_ns, sink);
          }};
}

WatchWork::WatchWork(WatchSetup setup, std::string held_program, std::string mqs_ini,
                     const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink)
    : setup_(std::move(setup)),
      held_program_(std::move(held_program)),
      mqs_ini_(std::move(mqs_ini)),
      sink_(sink),
      control_(lease_deadline_ns) {}

WatchWork::~WatchWork() {
  Stop("the session ended");
  EndThreads();
}

absl::StatusOr<v1::Prepared> WatchWork::Prepare(const std::function<void(uint64_t, uint64_t)>& /*progress*/) {
  {
    const MutexLock lock(mutex_);
    if (phase_ != Phase::kNew) return absl::FailedPreconditionError("prepared already");
    phase_ = Phase::kPreparing;
  }
  absl::StatusOr<v1::Prepared> result = v1::Prepared();
  absl::StatusOr<std::unique_ptr<WatchTargets>> targets = WatchTargets::Create(setup_, held_program_, mqs_ini_);
  if (targets.ok()) {
    targets_ = *std::move(targets);
    targets_->Describe(*result);
    std::vector<std::string> paths;
    for (const WatchedLog& log : targets_->logs()) {
      if (log.log != nullptr) paths.push_back(log.log->path());
    }
    counters_ = std::make_unique<HostCounters>(paths);
    try {
      settled_ = std::make_unique<SettledTime>();
      thread_ = StartThread("watch", [this] { Run(); });
    } catch (const std::exception& error) {
      result = absl::ResourceExhaustedError(absl::StrCat("no thread for watching: ", error.what()));
    }
  } else {
    result = targets.status();
  }
  const MutexLock lock(mutex_);
  phase_ = result.ok() ? Phase::kReady : Phase::kEnded;
  changed_.NotifyAll();
  return result;
}

int64_t WatchWork::StepNs(uint32_t step) const {
  return step < setup_.steps.size() ? plimsoll::StepNs(setup_.steps[step]) : 0;
}

v1::Armed WatchWork::Arm(const v1::Arm& arm) {
  const MutexLock lock(mutex_);
  v1::Armed armed;
  armed.set_step(arm.step());
  armed.set_start_ns(arm.start_ns());
  const int64_t now_ns = SystemClock::Read().value;
  armed.set_now_ns(now_ns);
  armed.set_late(true);
  const bool open = phase_ == Phase::kReady || (phase_ == Phase::kArmed && now_ns < arming_.start_ns);
  if (!open || arm.step() >= setup_.steps.size()) return armed;
  // Differences are not made: they may not fit in 64 bits.
  if (arm.start_ns() < now_ns + StartGate::kLeastLeadNs || arm.start_ns() > now_ns + StartGate::kMostLeadNs) {
    return armed;
  }
  arming_ = {arming_.number + 1, arm.step(), arm.start_ns()};
  phase_ = Phase::kArmed;
  stop_reason_.clear();
  step_end_ns_ = setup_.TimesOf(arm.step(), arm.start_ns()).end_ns();
  armed.set_late(false);
  changed_.NotifyAll();
  return armed;
}

absl::Status WatchWork::Do(const v1::Command& command) {
  if (!command.has_stop_trace()) return SteppedWork::Do(command);
  stop_trace_at_ns_.store(command.stop_trace().at_ns(), std::memory_order_relaxed);
  return absl::OkStatus();
}

void WatchWork::Stop(const std::string& reason) {
  const MutexLock lock(mutex_);
  if (phase_ != Phase::kArmed) return;
  if (stop_reason_.empty()) stop_reason_ = reason;
  control_.StopAt(SystemClock::Read().value);
}

std::string WatchWork::State() const {
  const MutexLock lock(mutex_);
  const int64_t now_ns = SystemClock::Read().value;
  switch (phase_) {
    case Phase::kNew:
    case Phase::kPreparing:
      return "preparing";
    case Phase::kArmed:
      if (now_ns < std::min(arming_.start_ns, control_.limit_ns())) return "armed";
      return now_ns < std::min(step_end_ns_, control_.limit_ns()) ? "running" : "draining";
    default:
      return "ready";
  }
}

std::vector<v1::InFlight> WatchWork::InFlight(int64_t min_age_ns) const {
  const MutexLock lock(mutex_);
  std::vector<v1::InFlight> in_flight = in_flight_;
  const int64_t now_ns = SystemClock::Read().value;
  std::erase_if(in_flight, [&](const v1::InFlight& entry) { return now_ns - entry.since_ns() < min_age_ns; });
  for (v1::InFlight& entry : in_flight) entry.set_age_ns(now_ns - entry.since_ns());
  return in_flight;
}

bool WatchWork::WaitIdle(int64_t timeout_ns) {
  const auto now = std::chrono::steady_clock::now();
  const auto longest = std::chrono::steady_clock::time_point::max() - now;
  const auto deadline = now + std::min<std::chrono::nanoseconds>(std::chrono::nanoseconds(timeout_ns), longest);
  const MutexLock lock(mutex_);
  while (phase_ == Phase::kPreparing || phase_ == Phase::kArmed || delivering_) {
    if (!changed_.WaitUntil(mutex_, deadline) && std::chrono::steady_clock::now() >= deadline) return false;
  }
  return true;
}

v1::Released WatchWork::Release(bool /*keep_files*/) {
  EndThreads();
  return {};
}

void WatchWork::EndThreads() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  {
    const MutexLock lock(mutex_);
    phase_ = Phase::kEnded;
  }
  settled_.reset();
  targets_.reset();
}

std::optional<WatchWork::Arming> WatchWork::AwaitArming(uint64_t after) {
  const MutexLock lock(mutex_);
  while (!closed_ && (phase_ != Phase::kArmed || arming_.number <= after)) changed_.Wait(mutex_);
  if (closed_ && (phase_ != Phase::kArmed || arming_.number <= after)) return std::nullopt;
  return arming_;
}

bool WatchWork::Replaced(const Arming& arming) const {
  const MutexLock lock(mutex_);
  return arming_.number != arming.number;
}

void WatchWork::Run() {
  uint64_t taken = 0;
  while (const std::optional<Arming> arming = AwaitArming(taken)) {
    taken = arming->number;
    // From the arming on, so that calls in flight at the start are known.
    settled_->Run(true);
    targets_->Begin();
    counters_->Reset({});
    const bool recorded = Record(*arming);
    targets_->End();
    settled_->Run(false);
    if (!recorded) continue;
    const MutexLock lock(mutex_);
    delivering_ = false;
    changed_.NotifyAll();
  }
}

bool WatchWork::Record(const Arming& arming) {
  WatchRecorder recorder({.setup = setup_,
                          .targets = *targets_,
                          .settled = *settled_,
                          .control = control_,
                          .stop_trace_at_ns = stop_trace_at_ns_,
                          .sink = sink_,
                          .sample_host = [this] { return counters_->Sample(); }},
                         arming.step, arming.start_ns);
  int64_t wake_ns = SystemClock::Read().value;
  while (!recorder.done()) {
    SystemClock().SleepUntil({wake_ns});
    const int64_t now_ns = SystemClock::Read().value;
    if (now_ns < arming.start_ns && Replaced(arming)) return false;
    wake_ns = recorder.Poll(now_ns, now_ns - wake_ns);
    progress_.fetch_add(1, std::memory_order_relaxed);
    const MutexLock lock(mutex_);
    in_flight_ = recorder.in_flight();
  }
  std::string reason;
  {
    const MutexLock lock(mutex_);
    reason = stop_reason_;
  }
  v1::StepDone done = recorder.Finish(reason);
  {
    const MutexLock lock(mutex_);
    in_flight_.clear();
    control_.Clear();
    // Before the message, so that an Arm that answers it is taken.
    phase_ = Phase::kReady;
    delivering_ = true;
  }
  sink_.OnStepDone(std::move(done));
  return true;
}

}  // namespace plimsoll
