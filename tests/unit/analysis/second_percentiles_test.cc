#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "controller/analysis/seconds.h"
#include "tests/random_seed.h"

namespace plimsoll {
namespace {

Histogram Of(uint64_t value_ns, uint64_t count) {
  Histogram histogram;
  histogram.RecordN(value_ns, count);
  return histogram;
}

// Two hosts, and what they hand on to.
struct TwoHostsPercentiles {
  Histogram host_scratch;
  Histogram qm_scratch;
  MergedPercentiles cluster;
  HostPercentiles a{1, {nullptr, &cluster, &host_scratch, &qm_scratch}};
  HostPercentiles b{2, {nullptr, &cluster, &host_scratch, &qm_scratch}};
};

TEST(SecondPercentiles, AHostsSecondIsHandedOnWhenAllWritersHavePassedIt) {
  TwoHostsPercentiles hosts;
  hosts.a.Add(1, 0, Of(1'000, 60).ToProto());
  hosts.b.Add(1, 0, Of(2'000, 40).ToProto());
  hosts.a.CloseBelow(1);
  EXPECT_EQ(hosts.a.host().Get(0, 1'000).p50_ns, 1'000);
  EXPECT_EQ(hosts.b.host().Get(0, 2'000).p50_ns, 0);
  hosts.b.CloseBelow(1);
  hosts.cluster.Finish();
  EXPECT_EQ(hosts.cluster.table().Get(0, 2'000).p50_ns, 1'000);
  EXPECT_EQ(hosts.cluster.table().Get(0, 2'000).p99_ns, 2'000);
}

TEST(SecondPercentiles, EachWriterHasItsOwn) {
  TwoHostsPercentiles hosts;
  hosts.b.Add(2, 3, Of(5'000, 10).ToProto());
  hosts.b.Add(1, 3, Of(1'000, 60).ToProto());
  hosts.b.Add(2, 3, Of(7'000, 20).ToProto());
  hosts.b.Finish();
  EXPECT_EQ(hosts.b.qm(1).Get(3, 1'000).p99_9_ns, 1'000);
  EXPECT_EQ(hosts.b.qm(2).Get(3, 7'000).p50_ns, 7'000);
  EXPECT_EQ(hosts.b.host().Get(3, 7'000).p50_ns, 1'000);
  // A host's one writer is the host.
  EXPECT_EQ(&hosts.a.qm(1), &hosts.a.host());
}

TEST(SecondPercentiles, WhatComesTooLateMakesItsSecondUnknown) {
  TwoHostsPercentiles hosts;
  hosts.b.Add(1, 0, Of(1'000, 60).ToProto());
  hosts.b.Add(2, 0, Of(2'000, 60).ToProto());
  hosts.b.CloseBelow(1);
  hosts.b.Add(2, 0, Of(9'000, 60).ToProto());
  hosts.b.Finish();
  hosts.cluster.Finish();
  EXPECT_EQ(hosts.b.qm(1).Get(0, 1'000).p50_ns, 1'000);
  EXPECT_EQ(hosts.b.qm(2).Get(0, 9'000).p50_ns, 0);
  EXPECT_EQ(hosts.b.host().Get(0, 9'000).p50_ns, 0);
  EXPECT_EQ(hosts.cluster.table().Get(0, 9'000).p50_ns, 0);
}

TEST(SecondPercentiles, OldSecondsAreClosedWhenTooManyAreOpen) {
  TwoHostsPercentiles hosts;
  for (uint32_t second = 0; second <= HostPercentiles::kOpenSeconds; ++second) {
    hosts.a.Add(1, second, Of(1'000 + second, 1).ToProto());
  }
  EXPECT_EQ(hosts.a.host().Get(0, 1'000).p50_ns, 1'000);
  EXPECT_EQ(hosts.a.host().Get(1, 1'001).p50_ns, 0);
}

// The table keeps buckets; what it tells must be what the histogram tells, from any distribution.
TEST(SecondPercentiles, TheTableReportsWhatTheHistogramDoes) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  SecondTable table;
  for (uint32_t second = 0; second < 3'000; ++second) {
    Histogram histogram;
    const uint64_t values = 1 + random() % 1'500;
    // From a few ns to beyond the layout's end.
    const auto octaves = static_cast<uint32_t>(2 + random() % 41);
    for (uint64_t i = 0; i < values; ++i) histogram.Record(random() % (uint64_t{2} << (random() % octaves)));
    table.Close(second, histogram);
    const SecondQuantiles quantiles = table.Get(second, histogram.max_ns());
    ASSERT_EQ(quantiles.p50_ns, histogram.PercentileNs(50)) << second;
    ASSERT_EQ(quantiles.p99_ns, histogram.PercentileNs(99)) << second;
    ASSERT_EQ(quantiles.p99_9_ns, histogram.PercentileNs(99.9)) << second;
  }
}

TEST(StepPercentiles, ASecondIsClosedWhenAllThatStillRunHavePassedIt) {
  StepPercentiles step(false);
  step.Expect({{0, 1}, {1, 1}, {2, 2}});
  HostPercentiles a(1, step.SinksOf(0));
  HostPercentiles b(1, step.SinksOf(1));
  a.Add(1, 0, Of(1'000, 10).ToProto());
  a.Finish();
  step.Pass(0, 1);
  b.Add(1, 0, Of(3'000, 90).ToProto());
  b.Finish();
  step.Pass(1, 1);
  EXPECT_FALSE(step.cluster().closed(0)) << "the third has told nothing yet";
  step.Leave(2);
  EXPECT_TRUE(step.cluster().closed(0));
  EXPECT_EQ(step.cluster().Get(0, 3'000).p50_ns, 3'000);
  const SecondTable* storage = step.Storage({0, 1});
  ASSERT_NE(storage, nullptr);
  EXPECT_EQ(storage->Get(0, 3'000).p50_ns, 3'000);
}

TEST(StepPercentiles, NoStorageIsAddedUpForTheSecondTime) {
  StepPercentiles one(false);
  one.Expect({{0, 1}, {1, 1}});
  EXPECT_EQ(one.SinksOf(0).storage, nullptr) << "its storage is the cluster";
  StepPercentiles two(false);
  two.Expect({{0, 1}, {1, 2}, {2, 2}, {3, 0}});
  EXPECT_EQ(two.SinksOf(0).storage, nullptr) << "its storage is the host";
  EXPECT_NE(two.SinksOf(1).storage, nullptr);
  EXPECT_EQ(two.SinksOf(1).storage, two.SinksOf(2).storage);
  EXPECT_EQ(two.SinksOf(3).storage, nullptr) << "its storage is not known";
}

TEST(LowestMark, FollowsTheLastOne) {
  LowestMark mark;
  EXPECT_EQ(mark.lowest(), INT64_MAX);
  mark.Expect(1);
  mark.Expect(2);
  mark.Pass(1, 5);
  EXPECT_EQ(mark.lowest(), 0);
  mark.Pass(2, 3);
  mark.Pass(2, 2);
  mark.Pass(7, 1);
  EXPECT_EQ(mark.lowest(), 3);
  mark.Leave(2);
  EXPECT_EQ(mark.lowest(), 5);
  mark.Leave(1);
  EXPECT_TRUE(mark.empty());
}

}  // namespace
}  // namespace plimsoll
