#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "controller/run/progress.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

constexpr uint32_t kAlpha = 1;
constexpr uint32_t kBeta = 2;

LiveStall StallOf(int64_t begin_ns, int64_t end_ns, std::initializer_list<std::pair<uint32_t, int64_t>> parts) {
  LiveStall stall;
  stall.begin_ns = begin_ns;
  stall.end_ns = end_ns;
  for (const auto& [host, part_begin_ns] : parts) stall.keys.emplace_back(host, 1, part_begin_ns);
  return stall;
}

TEST(SettledStalls, EachIsShownOnce) {
  SettledStalls settled;
  EXPECT_TRUE(settled.Take(StallOf(100, 200, {{kAlpha, 100}})));
  EXPECT_FALSE(settled.Take(StallOf(100, 200, {{kAlpha, 100}})));
  EXPECT_TRUE(settled.Take(StallOf(300, 400, {{kAlpha, 300}, {kBeta, 310}})));
  EXPECT_FALSE(settled.Take(StallOf(300, 400, {{kAlpha, 300}, {kBeta, 310}})));
  EXPECT_EQ(settled.count(), 2U);
}

TEST(SettledStalls, WhatASilentHostAddsIsShownInPlaceOfWhatWasKnownBefore) {
  SettledStalls settled;
  EXPECT_TRUE(settled.Take(StallOf(100, 200, {{kAlpha, 100}})));
  EXPECT_TRUE(settled.Take(StallOf(300, 400, {{kAlpha, 300}})));
  EXPECT_TRUE(settled.Take(StallOf(900, 950, {{kAlpha, 900}})));
  // Beta was frozen, and tells only now of its stall, over both of alpha's.
  EXPECT_TRUE(settled.Take(StallOf(50, 500, {{kBeta, 50}, {kAlpha, 100}, {kAlpha, 300}})));
  EXPECT_EQ(settled.count(), 2U);
  EXPECT_THAT(settled.latest(), ElementsAre(Field(&LiveStall::begin_ns, 900), Field(&LiveStall::begin_ns, 50)));
}

}  // namespace
}  // namespace plimsoll
