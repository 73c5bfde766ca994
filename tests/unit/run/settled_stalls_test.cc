#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "controller/live/live_feed.h"
#include "controller/live/views.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

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

// What is shown off a terminal while the hosts have prepared so many of 4 MiB each.
std::string ShownWhilePreparing(std::initializer_list<uint64_t> done_bytes) {
  std::vector<std::unique_ptr<Host>> hosts;
  for (const uint64_t done : done_bytes) {
    hosts.push_back(std::make_unique<Host>());
    hosts.back()->label = std::string(1, static_cast<char>('a' + static_cast<int>(hosts.size()) - 1));
    hosts.back()->prepare_done_bytes = done;
    hosts.back()->prepare_total_bytes = 4 << 20;
  }
  std::FILE* out = std::tmpfile();
  LiveFeed feed;
  feed.Add(std::make_shared<PlainLines>(out, PlainLines::Of::kSteps));
  feed.Preparing();
  feed.Update(MonotonicNs{1}, hosts);
  std::rewind(out);
  std::array<char, 200> text{};
  const size_t size = std::fread(text.data(), 1, text.size(), out);
  std::fclose(out);
  return {text.data(), size};
}

TEST(PlainLines, WhilePreparingItShowsHowFarAllHostsAreAndTheSlowest) {
  EXPECT_EQ(ShownWhilePreparing({1 << 20}), "preparing  1 MiB of 4 MiB (25 %)\n");
  EXPECT_EQ(ShownWhilePreparing({3 << 20, 1 << 20, 4 << 20}), "preparing  8 MiB of 12 MiB (67 %)  slowest b: 25 %\n");
  EXPECT_EQ(ShownWhilePreparing({4 << 20, 4 << 20}), "preparing  8 MiB of 8 MiB (100 %)\n");
}

// Keeps every moment that it is given.
class Keeper final : public LiveObserver {
 public:
  void OnMoment(const std::shared_ptr<const LiveMoment>& moment) override { moments.push_back(moment); }
  std::vector<std::shared_ptr<const LiveMoment>> moments;
};

TEST(LiveFeed, GivesAllViewsOneMomentThatNeverChanges) {
  std::vector<std::unique_ptr<Host>> hosts;
  hosts.push_back(std::make_unique<Host>());
  hosts.back()->prepare_total_bytes = 4 << 20;
  const auto first = std::make_shared<Keeper>();
  const auto second = std::make_shared<Keeper>();
  LiveFeed feed;
  feed.Add(first);
  feed.Add(second);
  feed.Preparing();
  feed.Update(MonotonicNs{1}, hosts);
  hosts.back()->prepare_done_bytes = 1 << 20;
  feed.Update(MonotonicNs{2}, hosts);
  ASSERT_EQ(first->moments.size(), 3U);
  EXPECT_EQ(first->moments, second->moments);
  EXPECT_TRUE(first->moments[0]->begins);
  EXPECT_EQ(first->moments[1]->text, "preparing  0 B of 4 MiB (0 %)");
  EXPECT_EQ(first->moments[2]->text, "preparing  1 MiB of 4 MiB (25 %)");
}

TEST(LiveFeed, AtTheEndOfAWatchItShowsThatAgentsDetachAndNoRemovalOfFiles) {
  const std::vector<std::unique_ptr<Host>> no_hosts;
  const auto keeper = std::make_shared<Keeper>();
  LiveFeed feed;
  feed.Add(keeper);
  feed.Releasing("detaching");
  feed.Update(MonotonicNs{1}, no_hosts);
  feed.Releasing();
  feed.Update(MonotonicNs{2}, no_hosts);
  ASSERT_EQ(keeper->moments.size(), 4U);
  EXPECT_EQ(keeper->moments[1]->text, "detaching");
  EXPECT_EQ(keeper->moments[3]->text, "removing the files");
}

}  // namespace
}  // namespace plimsoll
