#include "controller/cli/turn_run.h"

#include <utility>

#include "controller/plan/plan_defaults.h"

namespace plimsoll {

TurnRun::TurnRun(Options options)
    : options_(std::move(options)), steps_(ExpandSteps(options_.plan)), events_(*options_.around.clock) {
  turn_.run_id = NewRunId();
  turn_.own_key = NewRunToken();
  if (options_.beside != nullptr) {
    turn_.beside_id = options_.beside->turn_.run_id;
    turn_.beside_key = options_.beside->turn_.own_key;
  }
  turn_.turns = options_.turns;
  turn_.others_ns = options_.others_ns;
  turn_.events = &events_;
  turn_.turn = [this](uint32_t step, const Analyzer& analyzer) { return TurnOf(step, analyzer); };
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
  MutexLock lock(mutex_);
  granted_steps_ += steps_per_turn();
}

v1::Report TurnRun::LastTurn() const {
  MutexLock lock(mutex_);
  return last_turn_;
}

void TurnRun::Finish() {
  MutexLock lock(mutex_);
  finished_ = true;
}

Coordinator::Turn TurnRun::TurnOf(uint32_t step, const Analyzer& analyzer) {
  MutexLock lock(mutex_);
  if (asked_step_ != step) {
    asked_step_ = step;
    if (step > 0 && step % steps_per_turn() == 0) last_turn_ = analyzer.SoFar(step - steps_per_turn());
  }
  if (step < granted_steps_) return Coordinator::Turn::kBegin;
  return finished_ ? Coordinator::Turn::kNever : Coordinator::Turn::kWait;
}

std::optional<v1::LogStep> TurnRun::NextStep() const {
  MutexLock lock(mutex_);
  const uint32_t step = *asked_step_;
  v1::LogStep next = steps_[step % steps_per_turn()];
  next.set_repetition(step / steps_per_turn());
  return next;
}

}  // namespace plimsoll
