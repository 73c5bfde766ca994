#include "controller/cli/turn_run.h"

#include <utility>

#include "controller/plan/plan_defaults.h"

namespace plimsoll {

TurnRun::TurnRun(Options options)
    : options_(std::move(options)), steps_(ExpandSteps(options_.plan)), events_(*options_.around.clock) {
  turn_.run_id = NewRunId();
  turn_.run_token = NewRunToken();
  if (options_.beside != nullptr) {
    turn_.beside_id = options_.beside->turn_.run_id;
    turn_.beside_token = options_.beside->turn_.run_token;
  }
  turn_.turns = options_.turns;
  turn_.events = &events_;
  turn_.may_begin = [this](uint32_t step, const Analyzer& analyzer) { return MayBegin(step, analyzer); };
  turn_.next_step = [this] { return NextStep(); };
  thread_ = std::thread([this] { Run(); });
}

TurnRun::~TurnRun() {
  Join();
}

void TurnRun::Run() {
  PlanRun how;
  how.out = options_.out;
  how.quiet = options_.quiet;
  how.repeated = options_.repeated;
  how.end = &end_;
  how.turn = &turn_;
  // Interrupts come from who gives the turns.
  RunSurroundings around = options_.around;
  around.catches_signals = false;
  CommandLine line{report_, errors_, {}};
  code_ = RunPlan(options_.plan, how, options_.access, line, around);
  MutexLock lock(mutex_);
  over_ = true;
}

void TurnRun::Join() {
  if (thread_.joinable()) thread_.join();
}

bool TurnRun::waiting() const {
  MutexLock lock(mutex_);
  return !over_ && asked_step_ == granted_steps_;
}

bool TurnRun::over() const {
  MutexLock lock(mutex_);
  return over_;
}

void TurnRun::Grant() {
  ++turns_granted_;
  MutexLock lock(mutex_);
  granted_steps_ += steps_per_turn();
}

v1::Report TurnRun::LastTurn() const {
  MutexLock lock(mutex_);
  return last_turn_;
}

void TurnRun::Finish() {
  {
    MutexLock lock(mutex_);
    finished_ = true;
    if (granted_steps_ > 0) return;
  }
  // The steps of the first turn are in its list, and without them it has not run.
  Interrupt();
}

bool TurnRun::MayBegin(uint32_t step, const Analyzer& analyzer) {
  MutexLock lock(mutex_);
  if (asked_step_ != step) {
    asked_step_ = step;
    if (step > 0 && step % steps_per_turn() == 0) last_turn_ = analyzer.SoFar(step - steps_per_turn());
  }
  return step < granted_steps_ || (finished_ && granted_steps_ > 0);
}

std::optional<v1::LogStep> TurnRun::NextStep() const {
  MutexLock lock(mutex_);
  const uint32_t step = *asked_step_;
  if (step >= granted_steps_) return std::nullopt;
  v1::LogStep next = steps_[step % steps_per_turn()];
  next.set_repetition(next.repetition() + step / steps_per_turn() * options_.plan.repeat());
  return next;
}

}  // namespace plimsoll
