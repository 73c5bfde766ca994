#include <gtest/gtest.h>
#include <sched.h>

#include <set>
#include <vector>

#include "agent/writer/worker_threads.h"

namespace plimsoll {
namespace {

cpu_set_t Usable() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

TEST(CpuPin, HoldsNeighboursOnDifferentCpusAndGivesAllBack) {
  const cpu_set_t before = Usable();
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one CPU is nothing to choose from";
  cpu_set_t held[2];
  for (uint32_t index = 0; index < 2; ++index) {
    CpuPin pin;
    pin.Hold(index);
    held[index] = Usable();
    EXPECT_EQ(CPU_COUNT(&held[index]), 1);
    pin.Release();
    const cpu_set_t after = Usable();
    EXPECT_TRUE(CPU_EQUAL(&after, &before));
  }
  EXPECT_FALSE(CPU_EQUAL(&held[0], &held[1]));
}

TEST(CpuPin, GoesRoundWhereThereAreMoreThreadsThanCpus) {
  const cpu_set_t before = Usable();
  const auto usable = static_cast<uint32_t>(CPU_COUNT(&before));
  if (usable < 2) GTEST_SKIP() << "one CPU is nothing to choose from";
  CpuPin pin;
  pin.Hold(0);
  const cpu_set_t first = Usable();
  pin.Release();
  pin.Hold(usable);
  const cpu_set_t round = Usable();
  pin.Release();
  EXPECT_TRUE(CPU_EQUAL(&first, &round));
}

TEST(CpuPin, ASecondHoldForgetsNothing) {
  const cpu_set_t before = Usable();
  CpuPin pin;
  pin.Hold(0);
  pin.Hold(1);
  pin.Release();
  const cpu_set_t after = Usable();
  EXPECT_TRUE(CPU_EQUAL(&after, &before));
}

TEST(CpuPin, NeighbouringProcessesBeginOnDifferentCpus) {
  // Two agents with two writers each on four CPUs, with any numbers that follow one another.
  for (uint64_t process = 1'000; process < 1'010; ++process) {
    std::set<uint64_t> cpus;
    for (const uint64_t agent : {process, process + 1}) {
      for (uint64_t writer = 0; writer < 2; ++writer) cpus.insert((FirstCpuOf(agent, 2) + writer) % 4);
    }
    EXPECT_EQ(cpus.size(), 4U) << process;
  }
}

// A kernel that refuses some calls after the first.
struct Kernel {
  // Sizes of the sets that were asked for.
  std::vector<int> asked;
  int refusals = 0;
};
Kernel& TheKernel() {
  static Kernel kernel;
  return kernel;
}

int Refuse(pid_t /*thread*/, size_t /*size_bytes*/, const cpu_set_t* cpus) {
  Kernel& kernel = TheKernel();
  kernel.asked.push_back(CPU_COUNT(cpus));
  return kernel.asked.size() > 1 && kernel.refusals-- > 0 ? -1 : 0;
}

TEST(CpuPin, WhereItsCpusAreGoneItTakesWhatTheKernelGives) {
  const cpu_set_t before = Usable();
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one CPU is nothing to choose from";
  for (const int refused : {0, 1, 2}) {
    SCOPED_TRACE(refused);
    Kernel& kernel = TheKernel();
    kernel = {.asked = {}, .refusals = refused};
    CpuPin pin(Refuse);
    pin.Hold(0);
    ASSERT_TRUE(pin.held());
    pin.Release();
    EXPECT_EQ(pin.held(), refused == 2) << "what failed may be tried again";
    ASSERT_EQ(kernel.asked.size(), refused == 0 ? 2U : 3U);
    EXPECT_EQ(kernel.asked[1], CPU_COUNT(&before));
    if (refused > 0) {
      EXPECT_EQ(kernel.asked[2], CPU_SETSIZE);
    }
    pin.Release();
    EXPECT_FALSE(pin.held());
  }
}

}  // namespace
}  // namespace plimsoll
