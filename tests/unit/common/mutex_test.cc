#include "common/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace plimsoll {
namespace {

struct Shared {
  Mutex mutex;
  CondVar changed;
  int value ABSL_GUARDED_BY(mutex) = 0;
};

TEST(Mutex, LetsOneThreadInAtATime) {
  Shared shared;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&shared] {
      for (int n = 0; n < 10'000; ++n) {
        const MutexLock lock(shared.mutex);
        ++shared.value;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const MutexLock lock(shared.mutex);
  EXPECT_EQ(shared.value, 40'000);
}

TEST(CondVar, WakesWhoWaitsAndHoldsTheMutexAgain) {
  Shared shared;
  std::thread other([&shared] {
    const MutexLock lock(shared.mutex);
    while (shared.value != 1) shared.changed.Wait(shared.mutex);
    shared.value = 2;
    shared.changed.NotifyAll();
  });
  {
    const MutexLock lock(shared.mutex);
    shared.value = 1;
    shared.changed.NotifyOne();
    while (shared.value != 2) shared.changed.Wait(shared.mutex);
    EXPECT_EQ(shared.value, 2);
  }
  other.join();
}

TEST(CondVar, ReportsThatTheDeadlinePassed) {
  Shared shared;
  const MutexLock lock(shared.mutex);
  EXPECT_FALSE(shared.changed.WaitUntil(shared.mutex, std::chrono::steady_clock::time_point()));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
  while (shared.changed.WaitUntil(shared.mutex, deadline)) {
  }
  EXPECT_GE(std::chrono::steady_clock::now(), deadline);
}

}  // namespace
}  // namespace plimsoll
