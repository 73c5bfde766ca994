// The two sides of `plimsoll ab`: its options, the plans of both sides, the command that it runs before each, and a
// run that takes turns with that of the other side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "controller/cli/asked_agents.h"
#include "controller/cli/command.h"
#include "controller/cli/compare_command.h"
#include "controller/cli/plan_flags.h"
#include "controller/cli/run_command.h"
#include "controller/compare/comparable.h"
#include "controller/fleet/agent_client.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

struct AbFlags {
  std::vector<std::string> plans;
  std::unique_ptr<PlanFlags> plan;
  std::string vary;
  uint32_t rounds = 8;
  std::optional<uint64_t> order_seed;
  std::string stop_on = "iops,avg,p50,p99";
  bool all_rounds = false;
  bool anew = false;
  std::string toggle;
  std::string between;
  bool allow_commands = false;
  std::string between_limit = "5m";
  std::string out;
  bool quiet = false;
  bool dry_run = false;
  AccessFlags access;
  CompareFlags compare;
};

struct AbSide {
  std::string name;
  v1::TestPlan plan;
};

// Both sides with their plans, checked: those of two plan files, of one with --vary, or of one with --toggle.
// `differs` gets the option that varies. The errors of reading them, or the plans' problems, a line each.
absl::StatusOr<std::vector<AbSide>> LoadSides(const AbFlags& flags, StatedDifferences& differs);

// FAILED_PRECONDITION where the plans alone make the sides impossible to compare, before anything is measured.
absl::Status CheckPlansComparable(const std::vector<AbSide>& sides, const StatedDifferences& differs);

// The command that `plimsoll ab` runs on this machine before each side of each round: a program with its arguments;
// without --between there is none. Not thread-safe.
class Between {
 public:
  // What Run returns where it was stopped.
  static constexpr char kStopped[] = "stopped";

  // INVALID_ARGUMENT where the command or the limit cannot be read, or commands are not allowed.
  static absl::StatusOr<Between> Create(const AbFlags& flags);

  // Runs it for that side of the round, numbered from 1, until it ends or `stop` returns true, which is asked again and
  // again and whenever an interrupt comes to `events`. Returns why the side cannot be measured; "" where it can.
  std::string Run(const AbSide& side, char letter, size_t round, const Clock& clock, EventQueue& events,
                  const std::function<bool()>& stop) const;

 private:
  std::vector<std::string> arguments_;
  int64_t limit_ns_ = 0;
};

// A run that takes turns with another one: it prepares once, and keeps its sessions and files while the other measures.
// Measures the steps of its plan once a turn, in a thread of its own. All calls from one thread.
class TurnRun {
 public:
  struct Options {
    // Without --repeat and --until-steady.
    v1::TestPlan plan;
    // Directory of the results; not there yet.
    std::string out;
    bool quiet = false;
    // Without the warnings that another run of this plan has given.
    bool repeated = false;
    // As in RunInTurn.
    uint32_t turns = 1;
    int64_t others_ns = 0;
    // Another one whose sessions the same agents may hold already; it has prepared. Null: there is none.
    const TurnRun* beside = nullptr;
    AgentAccess access;
    RunSurroundings around;
  };

  // Begins to prepare. What the options refer to outlives the object.
  explicit TurnRun(Options options);
  // Waits for its end, which Finish or Interrupt brings about.
  ~TurnRun();
  TurnRun(const TurnRun&) = delete;
  TurnRun& operator=(const TurnRun&) = delete;

  // Whether it waits for a turn: it has prepared, and reported the turn before.
  bool waiting() const;
  // Whether it has ended, by itself or not.
  bool over() const;

  // Its turn: it measures its steps once more. Only while it waits.
  void Grant();
  // What it reports of its last turn: facts and steps, no verdict. While it waits.
  v1::Report LastTurn() const;
  // Index of the last turn's first step, and the number of its steps.
  uint32_t first_step() const {
    MutexLock lock(mutex_);
    return granted_steps_ - steps_per_turn();
  }
  uint32_t steps_per_turn() const { return static_cast<uint32_t>(steps_.size()); }

  // It has had its last turn: it cleans up, and writes its report where it has measured anything.
  void Finish();
  // Ctrl-C: the first ends it early, the second leaves at once (RunPlan).
  void Interrupt() { events_.Interrupt(); }
  int interrupts() const { return events_.interrupts(); }
  // Waits for its end.
  void Join();

  // Once it has ended: the exit code, how it ended, and its errors as lines for standard error.
  int code() const { return code_; }
  const PartEnd& end() const { return end_; }
  std::string errors() const { return errors_.str(); }

 private:
  void Run();
  Coordinator::Turn TurnOf(uint32_t step, const Analyzer& analyzer);
  std::optional<v1::LogStep> NextStep() const;

  const Options options_;
  // Of one turn.
  const std::vector<v1::LogStep> steps_;
  EventQueue events_;
  RunInTurn turn_;
  std::ostringstream report_;
  std::ostringstream errors_;
  PartEnd end_;
  int code_ = 0;

  mutable Mutex mutex_;
  // Steps that may begin.
  uint32_t granted_steps_ ABSL_GUARDED_BY(mutex_) = 0;
  // The step that it asked for last; those before it are reported. Nothing: it prepares.
  std::optional<uint32_t> asked_step_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  v1::Report last_turn_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace plimsoll
