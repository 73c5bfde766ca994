// Time that passes only where everything waits for it: a wait until a deadline takes none.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "common/units.h"

namespace plimsoll::tests {

class VirtualClock;

// Something with threads and events of its own that can be suspended as a whole, as SIGSTOP suspends a process. Touched
// by whoever runs, see VirtualClock.
class VirtualProcess {
 public:
  explicit VirtualProcess(VirtualClock& clock) : clock_(clock) {}

  // Its events are held back and its threads do not run until Resume.
  void Suspend() { suspended_ = true; }
  // What was held back happens now, in its order.
  void Resume();
  bool suspended() const { return suspended_; }

 private:
  friend class VirtualClock;
  VirtualClock& clock_;
  bool suspended_ = false;
  std::vector<std::function<void()>> held_;
};

// Thrown out of a wait of the clock's own thread: the process that it stands for is killed.
class VirtualProcessKilled : public std::runtime_error {
 public:
  VirtualProcessKilled() : std::runtime_error("the process was killed") {}
};

// The clock of a simulated world.
//
// The thread that makes the clock is the world's own. While it waits (SleepUntil, WaitUntil, RunUntil), the events that
// are due before its deadline happen on it, one after another, each at its moment; then the deadline has come. Nothing
// takes real time.
//
// Other threads may live in the world: each waits through a ThreadClock. Exactly one thread runs at any time, so that
// a run is the same each time: the world's thread hands over to one whose wait is over, and goes on when that one waits
// again or leaves. Who changes what such a thread waits for calls Changed.
class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(WallNs wall = {1'795'202'411 * kNsPerSecond})
      : driver_(std::this_thread::get_id()), wall_offset_ns_(wall.value - now_ns_.load()) {}

  MonotonicNs Now() const override { return {now_ns_.load(std::memory_order_relaxed)}; }
  WallNs WallNow() const override { return {Now().value + wall_offset_ns_}; }
  // By the world's thread alone; so too WaitUntil, which returns true after each event.
  void SleepUntil(MonotonicNs moment) const override;
  bool WaitUntil(Mutex& mutex, CondVar& changed, MonotonicNs moment) const override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // The event happens at the moment, or now where that has passed; those of one moment in the order of the calls.
  void At(MonotonicNs moment, std::function<void()> event) { Schedule(moment, nullptr, std::move(event)); }
  // The same for an event of a process that may be suspended then.
  void At(MonotonicNs moment, VirtualProcess& process, std::function<void()> event) {
    Schedule(moment, &process, std::move(event));
  }
  // Called after each event.
  void Watch(std::function<void()> watch) { watch_ = std::move(watch); }
  // Lets the world go on until the condition holds; false where it does not by the deadline. By the world's thread.
  bool RunUntil(MonotonicNs deadline, const std::function<bool()>& done);

  // The process that the world's own thread stands for: while it is suspended its waits last, whatever their deadlines.
  VirtualProcess& own_process() { return own_process_; }
  // The wait of the world's own thread, under way or next, throws VirtualProcessKilled.
  void KillOwnProcess() { killed_ = true; }

  // What threads wait for may have changed: those that wait for a condition look again.
  void Changed() { changed_ = true; }
  // A thread that the caller has started is about to wait through a ThreadClock: returns when it does.
  void AwaitNewThread() ABSL_LOCKS_EXCLUDED(mutex_);
  // The calling thread, which is not the world's, does nothing more in the world.
  void LeaveWorld() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class ThreadClock;
  friend class VirtualProcess;

  struct Event {
    VirtualProcess* process = nullptr;
    std::function<void()> happen;
  };
  // A thread that waits.
  struct Waiter {
    const VirtualProcess& process;
    int64_t deadline_ns = 0;
    bool for_change = false;
    bool may_go = false;
    CondVar go;
  };

  void Schedule(MonotonicNs moment, VirtualProcess* process, std::function<void()> event);
  // What is due first at or before the moment happens. False where nothing is: time has come to the moment.
  bool Step(int64_t until_ns);
  // Lets every thread that waits for a change look, until nothing changes any more.
  void RunChanged() ABSL_LOCKS_EXCLUDED(mutex_);
  // The waiter that is due first; null where none is.
  Waiter* FirstWaiter() ABSL_LOCKS_EXCLUDED(mutex_);
  void Run(Waiter& waiter) ABSL_LOCKS_EXCLUDED(mutex_);
  // The calling thread waits for its turn.
  void Park(const VirtualProcess& process, int64_t deadline_ns, bool for_change) ABSL_LOCKS_EXCLUDED(mutex_);
  // A wait of the world's own thread; true after an event.
  bool Advance(MonotonicNs moment);

  const std::thread::id driver_;
  std::atomic<int64_t> now_ns_{1'000 * kNsPerSecond};
  const int64_t wall_offset_ns_;
  // Touched by whoever runs.
  std::map<std::pair<int64_t, uint64_t>, Event> events_;
  uint64_t scheduled_ = 0;
  std::function<void()> watch_ = [] {};
  bool changed_ = false;
  bool killed_ = false;
  VirtualProcess own_process_{*this};

  Mutex mutex_;
  CondVar handed_back_;
  CondVar arrived_;
  bool other_runs_ ABSL_GUARDED_BY(mutex_) = false;
  size_t threads_ ABSL_GUARDED_BY(mutex_) = 0;        // that are in the world
  size_t known_threads_ ABSL_GUARDED_BY(mutex_) = 0;  // that were awaited
  std::vector<Waiter*> waiters_ ABSL_GUARDED_BY(mutex_);
};

// The clock of the threads of a process in a virtual world; it may be ahead of or behind the world's, and its wall
// clock may be set.
class ThreadClock final : public Clock {
 public:
  ThreadClock(VirtualClock& world, const VirtualProcess& process, int64_t ahead_ns)
      : world_(world), process_(process), ahead_ns_(ahead_ns) {}

  MonotonicNs Now() const override { return world_.Now() + ahead_ns_; }
  WallNs WallNow() const override { return {world_.WallNow().value + wall_ahead_ns_}; }
  // Both by threads other than the world's own.
  void SleepUntil(MonotonicNs moment) const override;
  bool WaitUntil(Mutex& mutex, CondVar& changed, MonotonicNs moment) const override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // A moment of this clock in the world's.
  MonotonicNs InWorld(MonotonicNs moment) const { return moment - ahead_ns_; }
  void SetWallClock(int64_t ahead_ns) { wall_ahead_ns_ = ahead_ns; }
  // Deadlines wake who waits for them so much later, as on a busy machine.
  void SetLateness(int64_t late_ns) { late_ns_ = late_ns; }

 private:
  VirtualClock& world_;
  const VirtualProcess& process_;
  const int64_t ahead_ns_;
  int64_t wall_ahead_ns_ = 0;
  int64_t late_ns_ = 0;
};

}  // namespace plimsoll::tests
