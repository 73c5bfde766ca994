#include "agent/log/cpu_pin.h"

#include <gtest/gtest.h>
#include <sched.h>

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

}  // namespace
}  // namespace plimsoll
