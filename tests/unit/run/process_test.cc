// What the controller does with its own process: signals and limits.
#include "controller/run/process.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "common/clock.h"

namespace plimsoll {
namespace {

// Sends SIGHUP and SIGINT, and returns how many of them were interrupts.
int CountInterrupts() {
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  const SystemClock clock;
  EventQueue events(clock);
  {
    const Interrupts interrupts(events);
    kill(getpid(), SIGHUP);
    kill(getpid(), SIGINT);
    // The lower number is read first: once SIGINT is, both are.
    sigset_t pending;
    do {
      std::this_thread::yield();
      sigpending(&pending);
    } while (sigismember(&pending, SIGINT) != 0 || events.interrupts() == 0);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return events.interrupts();
}

TEST(Interrupts, AHangUpThatIsIgnoredIsNone) {
  std::signal(SIGHUP, SIG_IGN);
  EXPECT_EQ(CountInterrupts(), 1);
  std::signal(SIGHUP, SIG_DFL);
  EXPECT_EQ(CountInterrupts(), 2);
}

TEST(DescriptorLimit, IsRaisedToWhatTheSystemAllows) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  RaiseDescriptorLimit();
  rlimit now{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace plimsoll
