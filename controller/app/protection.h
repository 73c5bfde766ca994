// Writes of others that a run must not slow down: what watches them beside it, and what ends it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/mutex.h"
#include "controller/app/runs.h"
#include "controller/app/slowdown_rule.h"
#include "controller/run/run_guard.h"

namespace plimsoll {

// Watches the writes in a thread of its own: WatchProtection those of a live queue manager to its log, MountProtection
// all that a host writes to a mount. Thread-safe.
class Protection {
 public:
  struct Options {
    // Of the runs that it guards, one or the sides of a comparison. They have the same `protect` and factor.
    std::vector<v1::TestPlan> plans;
    AgentAccess access;
    RunSurroundings around;
    // How long the run may take, as far as it is known.
    int64_t length_ns = 0;
    // Where the results of a watch go; empty: the default directory.
    std::string out;
    // Gets the interrupts until there is a baseline. Null: a queue of its own, where `around` catches signals.
    EventQueue* events = nullptr;
  };

  // Watches until there is a baseline. A failure, with its reasons, where there is none, or where an interrupt came.
  static std::variant<Failure, std::unique_ptr<Protection>> Start(const Options& options);
  // Ends watching, and waits for it.
  virtual ~Protection() = default;
  Protection(const Protection&) = delete;
  Protection& operator=(const Protection&) = delete;

  // How the run's sessions are held beside those of the watch.
  virtual RunBeside ForRun() const { return {}; }
  // Why the run must end; empty: it need not. A slowdown that is over, and a time in which nothing was seen, count,
  // too.
  std::string MustStop(MonotonicNs now) const;
  // "QM1: its log writes took 1.552 ms on average in the 10 s before the run".
  std::string BaselineText() const;
  // BaselineText, and what the writes took since.
  std::string SummaryText() const;

 protected:
  struct Words {
    // "its log writes": what took so long.
    std::string writes;
    // Why there is no baseline where nothing was written.
    std::string nothing;
  };
  Protection(const v1::TestPlan& plan, const Clock& clock, Words words);

  // Before the first second: where the writes go, "" where that is not known, and by how much sums of their times may
  // be off.
  void Begin(const std::string& where, double error_ns);
  void Add(const ProtectedSecond& second, MonotonicNs now);
  // A second that does not count, because that host has not reported what it wrote in it.
  void Miss(const std::string& host, MonotonicNs now);
  // Nothing more is seen: why the command fails where there is no baseline yet, and why the run ends where there is.
  void EndWith(Failure failure, const std::string& reason);

  const Clock& clock_;

 private:
  std::optional<Failure> AwaitBaseline(const EventQueue& events);
  bool IsBlind(MonotonicNs now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string BlindText() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Why the run must end at this moment.
  std::string ReasonNow(MonotonicNs now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Name() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Before() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string name_;
  const std::string context_;
  const double factor_;
  const Words words_;

  mutable Mutex mutex_;
  CondVar changed_;
  SlowdownRule rule_ ABSL_GUARDED_BY(mutex_);
  std::string where_ ABSL_GUARDED_BY(mutex_);
  // When a second that counts came last; before there is one, when the first that does not came.
  MonotonicNs last_ ABSL_GUARDED_BY(mutex_);
  // Whether any second has come.
  bool began_ ABSL_GUARDED_BY(mutex_) = false;
  // That of Miss since then; empty: none.
  std::string missing_host_ ABSL_GUARDED_BY(mutex_);
  // Why the run must end, from the second on that showed it, also where no run asked then; empty: it need not.
  std::string stop_ ABSL_GUARDED_BY(mutex_);
  // Once nothing more is seen: why.
  std::optional<Failure> over_ ABSL_GUARDED_BY(mutex_);
  std::string reason_ ABSL_GUARDED_BY(mutex_);
};

// The guard (null: the plan has no other), which asks the protection, too, and has a note about it at the end.
std::shared_ptr<RunGuard> WithProtection(std::shared_ptr<RunGuard> guard, Protection& protection);

// As RunPlan, of a plan with `protect`.
int RunProtected(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, Console& console,
                 const RunSurroundings& around);

}  // namespace plimsoll
