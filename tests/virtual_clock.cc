#include "tests/virtual_clock.h"

#include <algorithm>

namespace plimsoll::tests {
namespace {

// The world in which this thread has waited before.
thread_local const VirtualClock* world_of_thread = nullptr;

}  // namespace

void VirtualProcess::Resume() {
  suspended_ = false;
  clock_.Changed();
  for (std::function<void()>& event : std::exchange(held_, {})) clock_.At(clock_.Now(), *this, std::move(event));
}

void VirtualClock::Schedule(MonotonicNs moment, VirtualProcess* process, std::function<void()> event) {
  events_.emplace(std::pair(std::max(moment, Now()).value, ++scheduled_), Event{process, std::move(event)});
}

// The interface is const, as a clock that passes by itself is; this one is moved by those who wait.
void VirtualClock::SleepUntil(MonotonicNs moment) const {
  auto& self = const_cast<VirtualClock&>(*this);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  while (self.Advance(moment)) {
  }
}

bool VirtualClock::WaitUntil(Mutex& mutex, CondVar& /*changed*/, MonotonicNs moment) const {
  auto& self = const_cast<VirtualClock&>(*this);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  // Events may change what the caller waits for.
  mutex.Unlock();
  bool happened = false;
  try {
    happened = self.Advance(moment);
  } catch (...) {
    mutex.Lock();
    throw;
  }
  mutex.Lock();
  return happened;
}

bool VirtualClock::Advance(MonotonicNs moment) {
  if (std::this_thread::get_id() != driver_) throw std::logic_error("a thread of the world needs a ThreadClock");
  bool happened = false;
  do {
    if (killed_) throw VirtualProcessKilled();
    happened = Step(own_process_.suspended() ? INT64_MAX : moment.value);
  } while (own_process_.suspended());
  if (killed_) throw VirtualProcessKilled();
  return happened;
}

bool VirtualClock::RunUntil(MonotonicNs deadline, const std::function<bool()>& done) {
  while (!done()) {
    if (!Step(deadline.value)) return done();
  }
  return true;
}

bool VirtualClock::Step(int64_t until_ns) {
  RunChanged();
  Waiter* waiter = FirstWaiter();
  const int64_t event_ns = events_.empty() ? INT64_MAX : events_.begin()->first.first;
  const int64_t waiter_ns = waiter == nullptr ? INT64_MAX : waiter->deadline_ns;
  const int64_t next_ns = std::min(event_ns, waiter_ns);
  if (next_ns > until_ns || next_ns == INT64_MAX) {
    if (until_ns == INT64_MAX) throw std::logic_error("everything waits, and nothing will ever happen");
    now_ns_.store(std::max(now_ns_.load(), until_ns));
    return false;
  }
  now_ns_.store(std::max(now_ns_.load(), next_ns));
  if (event_ns <= waiter_ns) {
    Event event = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    if (event.process != nullptr && event.process->suspended()) {
      event.process->held_.push_back(std::move(event.happen));
      return true;
    }
    event.happen();
  } else {
    Run(*waiter);
  }
  RunChanged();
  watch_();
  return true;
}

void VirtualClock::RunChanged() {
  while (std::exchange(changed_, false)) {
    std::vector<Waiter*> waiters;
    {
      const MutexLock lock(mutex_);
      waiters = waiters_;
    }
    for (Waiter* waiter : waiters) {
      if (waiter->for_change && !waiter->process.suspended()) Run(*waiter);
    }
  }
}

VirtualClock::Waiter* VirtualClock::FirstWaiter() {
  const MutexLock lock(mutex_);
  Waiter* first = nullptr;
  for (Waiter* waiter : waiters_) {
    if (waiter->process.suspended()) continue;
    if (first == nullptr || waiter->deadline_ns < first->deadline_ns) first = waiter;
  }
  return first;
}

void VirtualClock::Run(Waiter& waiter) {
  const MutexLock lock(mutex_);
  std::erase(waiters_, &waiter);
  other_runs_ = true;
  waiter.may_go = true;
  waiter.go.NotifyOne();
  while (other_runs_) handed_back_.Wait(mutex_);
}

void VirtualClock::Park(const VirtualProcess& process, int64_t deadline_ns, bool for_change) {
  Waiter waiter{.process = process, .deadline_ns = deadline_ns, .for_change = for_change, .may_go = false, .go = {}};
  const MutexLock lock(mutex_);
  waiters_.push_back(&waiter);
  if (std::exchange(world_of_thread, this) == this) {
    other_runs_ = false;
    handed_back_.NotifyOne();
  } else {
    ++threads_;
    arrived_.NotifyOne();
  }
  while (!waiter.may_go) waiter.go.Wait(mutex_);
}

void VirtualClock::AwaitNewThread() {
  const MutexLock lock(mutex_);
  ++known_threads_;
  while (threads_ < known_threads_) arrived_.Wait(mutex_);
}

void VirtualClock::LeaveWorld() {
  const MutexLock lock(mutex_);
  world_of_thread = nullptr;
  other_runs_ = false;
  handed_back_.NotifyOne();
}

void ThreadClock::SleepUntil(MonotonicNs moment) const {
  if (Now() < moment) world_.Park(process_, InWorld(moment).value + late_ns_, false);
}

bool ThreadClock::WaitUntil(Mutex& mutex, CondVar& /*changed*/, MonotonicNs moment) const {
  mutex.Unlock();
  world_.Park(process_, InWorld(moment).value + late_ns_, true);
  mutex.Lock();
  return Now() < moment;
}

}  // namespace plimsoll::tests
