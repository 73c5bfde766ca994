// Runs the commands of a plan's disturbances at their times, and undoes what was done in any case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "controller/live/live_feed.h"
#include "controller/live/run_log.h"
#include "controller/run/process.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// One command runs at a time, in the order of the plan: what is due while another one runs starts after it. A command
// that takes longer than its limit is killed. Once `do` was started, `undo` is started, too, whatever became of `do`:
// at its time, or as soon as the step is over or must end. An `undo` that cannot be started, for lack of memory or
// because the storage does not answer, is tried again until its limit. The journal has each command before it starts
// and after it has ended.
//
// Nothing here waits: the run calls Update when next_update has come. One thread.
class Disturber {
 public:
  struct Options {
    // Checked, every default filled in.
    v1::TestPlan plan;
    CommandRunner* commands = nullptr;
    const Clock* clock = nullptr;
    RunLog* log = nullptr;
    LiveFeed* feed = nullptr;
    // A line of progress.
    std::function<void(const std::string& text)> say;
  };

  explicit Disturber(Options options) : options_(std::move(options)) {}
  // Leave, where something has to be undone: an exception ends the run.
  ~Disturber();
  Disturber(const Disturber&) = delete;
  Disturber& operator=(const Disturber&) = delete;

  // The measured time of the step lasts from `start` to `end`.
  void Begin(MonotonicNs start, MonotonicNs end);
  // The step is over, or must end: no further `do` is started, and `undo` does not wait for its time.
  void Finish();
  // Whether nothing runs, and nothing has to be undone.
  bool idle() const { return phase_ == Phase::kWaiting; }
  // The program is about to exit: a `do` that runs is killed, and an `undo` that has not ended runs on by itself.
  void Leave();

  // What was not undone, as far as is known, a line each with the command to run by hand.
  const std::vector<std::string>& not_undone() const { return not_undone_; }

  // Most time that commands of the plan take after the end of its step.
  static int64_t AfterStepNs(const v1::TestPlan& plan);

  MonotonicNs next_update() const;
  void Update(MonotonicNs now);

 private:
  enum class Phase { kWaiting, kDoing, kHolding, kUndoing };

  const v1::Disturbance& current() const { return options_.plan.disturb(next_); }
  std::string Name() const;
  // Starts `do` or `undo` of the current disturbance; false where it cannot be started. An `undo` may have to wait for
  // the next try.
  bool Start(bool undo);
  bool TryStart();
  // The running command has ended, or was killed: `error` says why it counts as failed.
  void End(const std::string& error);
  // Kills the running command, and does not wait for its end, which a call to hung storage may delay.
  void Kill();
  // The current disturbance is over.
  void Next();

  const Options options_;
  MonotonicNs start_{INT64_MAX};
  MonotonicNs end_{INT64_MAX};
  bool finishing_ = false;
  // Number of the current disturbance, or of the one that comes next.
  int next_ = 0;
  Phase phase_ = Phase::kWaiting;
  // Left: the program exits, and nothing waits any more.
  bool left_ = false;
  std::vector<std::string> not_undone_;
  // Null while an `undo` waits for another try to start it.
  std::unique_ptr<RunningCommand> running_;
  // When the running command is looked at, or tried, next, when it started, and when it is killed.
  MonotonicNs next_poll_;
  MonotonicNs started_;
  MonotonicNs deadline_;
  // When `undo` starts.
  MonotonicNs hold_until_;
};

}  // namespace plimsoll
