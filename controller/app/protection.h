// A live queue manager whose log writes are watched while a run loads the storage below them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <variant>

#include "common/mutex.h"
#include "controller/app/runs.h"
#include "controller/run/run_guard.h"

namespace plimsoll {

// The log writes of a second: how many ended, and how long they took together. Where none ended on a host and one is in
// flight there, that one counts with the time for which it has been.
struct ProtectedSecond {
  uint64_t writes = 0;
  double latency_sum_ns = 0;
};

// Compares what log writes take with what they took before. One thread.
class SlowdownRule {
 public:
  // Of the seconds before the run, and of the latest ones.
  static constexpr uint32_t kBaselineSeconds = 10;
  static constexpr uint32_t kRecentSeconds = 5;

  // `factor`: how many times as long as before they may take.
  explicit SlowdownRule(double factor) : factor_(factor) {}

  // The first kBaselineSeconds are the baseline.
  void Add(const ProtectedSecond& second);
  bool has_baseline() const { return seen_ >= kBaselineSeconds; }
  // Mean of the baseline; 0: nothing was written.
  double baseline_ns() const { return Mean(baseline_); }
  // Mean of the last kRecentSeconds after the baseline, once they are there; 0: nothing was written in them.
  double recent_ns() const { return recent_.size() < kRecentSeconds ? 0 : Mean(recent_sum_); }
  // Whether the recent ones take longer than they may.
  bool slowed() const { return has_baseline() && recent_ns() > factor_ * baseline_ns(); }
  // Mean of all seconds after the baseline, and the largest recent_ns() of them.
  double since_ns() const { return Mean(since_); }
  double worst_ns() const { return worst_ns_; }

 private:
  static double Mean(const ProtectedSecond& sum) {
    return sum.writes == 0 ? 0 : sum.latency_sum_ns / static_cast<double>(sum.writes);
  }

  const double factor_;
  uint32_t seen_ = 0;
  ProtectedSecond baseline_;
  ProtectedSecond since_;
  std::deque<ProtectedSecond> recent_;
  ProtectedSecond recent_sum_;
  double worst_ns_ = 0;
};

// A watch of the queue manager in a thread of its own, whose results are in a directory of their own. Its sessions are
// held beside those of the run. Thread-safe.
class Protection {
 public:
  struct Options {
    // Of the run; it has `protect`.
    v1::TestPlan plan;
    AgentAccess access;
    RunSurroundings around;
    // How long the run may take, as far as it is known.
    int64_t length_ns = 0;
    // Where the results of the watch go; empty: the default directory.
    std::string out;
  };

  // Watches until there is a baseline. A failure, with what the watch said, where there is none.
  static std::variant<Failure, std::unique_ptr<Protection>> Start(Options options);
  // Ends the watch, and waits for it.
  ~Protection();
  Protection(const Protection&) = delete;
  Protection& operator=(const Protection&) = delete;

  // How the run's sessions are held beside the watch's.
  RunBeside ForRun() const { return {"", "", beside_.run_id, beside_.own_key}; }
  // Why the run must end; empty: it need not.
  std::string MustStop(MonotonicNs now) const;
  // "QM1: its log writes took 1.552 ms on average in the 10 s before the run".
  std::string BaselineText() const;
  // BaselineText, and what the log writes took since.
  std::string SummaryText() const;

 private:
  class Seconds;

  explicit Protection(Options options);
  void Run();
  std::optional<Failure> AwaitBaseline();

  const Options options_;
  const std::string name_;
  const double factor_;
  RunBeside beside_;
  EventQueue events_;
  std::ostringstream report_;
  std::ostringstream errors_;
  PartEnd end_;

  mutable Mutex mutex_;
  CondVar changed_;
  SlowdownRule rule_ ABSL_GUARDED_BY(mutex_);
  // When a second came last.
  MonotonicNs last_ ABSL_GUARDED_BY(mutex_);
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  // The exit code of the watch, once it is over.
  int code_ ABSL_GUARDED_BY(mutex_) = 0;

  std::thread thread_;  // last: starts when everything else is there
};

// The guard (null: the plan has no other), which asks the protection, too, and has a note about it at the end.
std::shared_ptr<RunGuard> WithProtection(std::shared_ptr<RunGuard> guard, Protection& protection);

// As RunPlan, of a plan with `protect`.
int RunProtected(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, Console& console,
                 const RunSurroundings& around);

}  // namespace plimsoll
