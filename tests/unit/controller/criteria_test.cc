#include "controller/criteria/criteria.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

Criterion Read(const std::string& text) {
  const absl::StatusOr<Criterion> criterion = ParseCriterion(text);
  EXPECT_THAT(criterion, IsOk()) << text;
  return criterion.ok() ? *criterion : Criterion();
}

TEST(Criteria, APercentileIsALatencyInNanoseconds) {
  const Criterion criterion = Read("p99.9<=2ms");
  EXPECT_EQ(criterion.metric, Metric::kPercentile);
  EXPECT_EQ(criterion.percentile, 99.9);
  EXPECT_EQ(criterion.comparison, Comparison::kLessOrEqual);
  EXPECT_EQ(criterion.limit, 2e6);
  EXPECT_EQ(criterion.scope, CriterionScope::kQm);
  EXPECT_FALSE(criterion.service_time);
  EXPECT_EQ(criterion.block_size_bytes, 0U);
  EXPECT_EQ(InfoOf(criterion.metric).unit, MetricUnit::kNanoseconds);
}

TEST(Criteria, EveryMetricHasItsUnit) {
  EXPECT_EQ(Read("min<1us").metric, Metric::kMin);
  EXPECT_EQ(Read("max<500ms").limit, 5e8);
  EXPECT_EQ(Read("avg<1ms").metric, Metric::kAverage);
  EXPECT_EQ(Read("mean<1ms").metric, Metric::kAverage);
  EXPECT_EQ(Read("wavg<1.5ms").limit, 1.5e6);
  EXPECT_EQ(Read("iops>=2000").limit, 2000);
  EXPECT_EQ(Read("mbps>=50").limit, 5e7);
  EXPECT_EQ(Read("MB/s >= 0.5").limit, 5e5);
  EXPECT_EQ(Read("min_second_iops>0").metric, Metric::kMinWritesPerSecond);
  EXPECT_EQ(Read("min_second_mbps>1").limit, 1e6);
  EXPECT_EQ(Read("writes>=1000000").limit, 1e6);
  EXPECT_EQ(InfoOf(Metric::kMinBytesPerSecond).unit, MetricUnit::kBytesPerSecond);
  EXPECT_EQ(InfoOf(Metric::kMinWritesPerSecond).unit, MetricUnit::kWritesPerSecond);
  EXPECT_EQ(InfoOf(Metric::kWrites).unit, MetricUnit::kCount);
}

TEST(Criteria, ScopeAndBlockSizeFollowTheMetricInAnyOrder) {
  const Criterion criterion = Read(" P99 @ host @ 64K < 10ms ");
  EXPECT_EQ(criterion.scope, CriterionScope::kHost);
  EXPECT_EQ(criterion.block_size_bytes, 65536U);
  EXPECT_EQ(criterion.text, "P99 @ host @ 64K < 10ms");
  EXPECT_EQ(FormatCriterion(criterion), "p99@host@64k<10ms");
  EXPECT_EQ(FormatCriterion(Read("p99@64k@qm<10ms")), "p99@64k<10ms");
  EXPECT_EQ(FormatCriterion(Read("p99@cluster<10ms")), "p99@cluster<10ms");
  EXPECT_EQ(FormatCriterion(Read("iops@cluster>=1")), "iops>=1");
}

TEST(Criteria, TheCanonicalSpellingReadsBackToItself) {
  for (const std::string text : {"p99<10ms",
                                 "p99@storage<10ms",
                                 "p99.99@cluster<=2ms",
                                 "min>=1us",
                                 "max@512<1h",
                                 "avg<1500us",
                                 "wavg<0s",
                                 "iops>=2000",
                                 "mbps>0.5",
                                 "mbps<0.07",
                                 "mbps<=12.3",
                                 "min_second_iops>=1",
                                 "min_second_mbps@host>=12.5",
                                 "writes>=9007199254740992",
                                 "service_p99.9<1ms",
                                 "service_max@host<1s",
                                 "sync_p99.9<1ms",
                                 "write_call_max@host<1s",
                                 "read_p99.9<1ms",
                                 "read_max@host<1s",
                                 "read_wavg@cluster@4k<1ms",
                                 "read_iops>=2000",
                                 "read_mbps@qm>=0.5",
                                 "rate_achieved>=99%",
                                 "not_issued==0",
                                 "stalls==0",
                                 "stalls[one_host]@4k==0",
                                 "longest_stall[all_hosts]<=2s",
                                 "steady==yes",
                                 "drift_iops>=-10%",
                                 "drift_latency<12.5%",
                                 "fairness>=0.95",
                                 "fairness@host>0.9",
                                 "start_skew<5ms",
                                 "clock_error<1ms",
                                 "nfs_retransmits@host==0",
                                 "hosts>=199"}) {
    EXPECT_EQ(FormatCriterion(Read(text)), text);
  }
}

TEST(Criteria, LatenciesAndThroughputCanBeThoseOfReads) {
  const Criterion percentile = Read("read_p99<5ms");
  EXPECT_EQ(percentile.operation, "read");
  EXPECT_EQ(percentile.metric, Metric::kPercentile);
  EXPECT_EQ(percentile.percentile, 99);
  EXPECT_FALSE(percentile.service_time);
  EXPECT_EQ(Read("read_mean<1ms").metric, Metric::kAverage);
  EXPECT_EQ(Read("READ_IOPS>=1").metric, Metric::kWritesPerSecond);
  EXPECT_EQ(Read("read_iops>=1").operation, "read");
  EXPECT_EQ(Read("read_iops>=1").scope, CriterionScope::kCluster);
  EXPECT_EQ(Read("read_mb/s>=0.5").metric, Metric::kBytesPerSecond);
  EXPECT_EQ(Read("read_mbps:0.5").text, "read_mbps>=0.5");
  EXPECT_TRUE(IsReversed(Read("read_p99>5ms")));
  EXPECT_TRUE(IsReversed(Read("read_iops<5")));
  EXPECT_EQ(Read("p99<5ms").operation, "");
  EXPECT_EQ(Read("iops>=1").operation, "");
}

TEST(Criteria, AValueIsComparedAsTheSignSays) {
  EXPECT_TRUE(Fulfils(Read("p99<10ms"), 9'999'999));
  EXPECT_FALSE(Fulfils(Read("p99<10ms"), 10'000'000));
  EXPECT_TRUE(Fulfils(Read("p99<=10ms"), 10'000'000));
  EXPECT_FALSE(Fulfils(Read("p99<=10ms"), 10'000'001));
  EXPECT_FALSE(Fulfils(Read("iops>2000"), 2000));
  EXPECT_TRUE(Fulfils(Read("iops>2000"), 2000.5));
  EXPECT_TRUE(Fulfils(Read("iops>=2000"), 2000));
  EXPECT_FALSE(Fulfils(Read("iops>=2000"), 1999.9));
}

TEST(Criteria, SteadyAloneRequiresIt) {
  EXPECT_EQ(FormatCriterion(Read("steady")), "steady==yes");
  EXPECT_EQ(FormatCriterion(Read("Steady @4k")), "steady@4k==yes");
  EXPECT_EQ(Read("steady==no").limit, 0);
}

TEST(Criteria, ClassesOfStallsHaveTheWordsThatPeopleUse) {
  EXPECT_EQ(Read("stalls[host_path]==0").stall_class, v1::STALL_CLASS_ONE_HOST);
  EXPECT_EQ(Read("stalls[ storage ]<3").stall_class, v1::STALL_CLASS_ALL_HOSTS);
  EXPECT_EQ(Read("stalls<3").stall_class, v1::STALL_CLASS_UNSPECIFIED);
}

// Every name that a criterion can begin with, a limit that suits it, and the comparison that is usual for it.
std::vector<std::tuple<std::string, std::string, std::string>> UsualSpellings() {
  std::vector<std::tuple<std::string, std::string, std::string>> all;
  for (const MetricInfo& info : Metrics()) {
    const std::string limit = info.unit == MetricUnit::kNanoseconds                                          ? "10ms"
                              : info.unit == MetricUnit::kYesNo                                              ? "yes"
                              : info.unit == MetricUnit::kRatio                                              ? "0.9"
                              : info.unit == MetricUnit::kPercent || info.unit == MetricUnit::kSignedPercent ? "9%"
                                                                                                             : "7";
    const std::string sign = info.unit == MetricUnit::kYesNo         ? "=="
                             : info.better == Better::kHigher        ? ">="
                             : info.unit == MetricUnit::kNanoseconds ? "<"
                                                                     : "<=";
    const std::string name = info.metric == Metric::kPercentile ? "p99.9" : info.name;
    all.emplace_back(name, sign, limit);
    if (info.has_service_time) all.emplace_back("service_" + name, sign, limit);
  }
  return all;
}

TEST(Criteria, AColonStandsForTheUsualComparisonOfEveryMetricInEveryScope) {
  for (const auto& [name, sign, limit] : UsualSpellings()) {
    for (const CriterionScope scope : InfoOf(Read(name + sign + limit).metric).scopes) {
      for (const std::string where : {"", "@64k"}) {
        const std::string metric = name + "@" + ScopeName(scope) + where;
        const Criterion old_form = Read(metric + sign + limit);
        const Criterion criterion = Read(metric + ":" + limit);
        EXPECT_EQ(criterion.text, FormatCriterion(old_form));
        EXPECT_EQ(FormatCriterion(criterion), FormatCriterion(old_form));
        EXPECT_FALSE(IsReversed(criterion)) << metric;
      }
    }
  }
  EXPECT_EQ(Read(" P99 : 10ms").text, "p99<10ms");
  EXPECT_EQ(Read("stalls:0").text, "stalls==0");
  EXPECT_EQ(Read("not_issued@host:0").text, "not_issued@host==0");
}

TEST(Criteria, AClassOfStallsNeedsNoBrackets) {
  for (const char* metric : {"stalls", "longest_stall"}) {
    for (const char* stall_class : {"host_paused", "storage", "host_path", "one_qm", "storage_or_path"}) {
      const std::string limit = metric == std::string("stalls") ? "<=3" : "<1s";
      const std::string usual = metric == std::string("stalls") ? ":3" : ":1s";
      const Criterion old_form = Read(absl::StrCat(metric, "[", stall_class, "]@4k", limit));
      EXPECT_EQ(Read(absl::StrCat(metric, "@", stall_class, "@4k", usual)).text, FormatCriterion(old_form));
      EXPECT_EQ(Read(absl::StrCat(metric, "@", stall_class, "@4k", limit)).text, FormatCriterion(old_form));
    }
  }
  EXPECT_THAT(ParseCriterion("stalls[one_host]@storage:0"),
              StatusIs(kInvalid, "expected one class of stalls, not two"));
  EXPECT_THAT(ParseCriterion("p99@one_host:1ms"), StatusIs(kInvalid, "not '@one_host'"));
}

TEST(Criteria, ABoundOnTheWrongSideIsKnownForEveryMetricButChangesAndWrites) {
  for (const auto& [name, sign, limit] : UsualSpellings()) {
    const Criterion criterion = Read(name + sign + limit);
    const MetricUnit unit = InfoOf(criterion.metric).unit;
    EXPECT_FALSE(IsReversed(criterion));
    if (unit == MetricUnit::kYesNo) continue;
    for (const std::string& wrong :
         sign == ">=" ? std::vector<std::string>{"<", "<="} : std::vector<std::string>{">", ">="}) {
      const Criterion reversed = Read(name + wrong + limit);
      EXPECT_EQ(IsReversed(reversed), unit != MetricUnit::kSignedPercent && name != "writes") << reversed.text;
      EXPECT_FALSE(IsReversed(Reversed(reversed))) << reversed.text;
      EXPECT_EQ(Reversed(Reversed(reversed)).text, FormatCriterion(reversed));
    }
  }
  EXPECT_EQ(Reversed(Read("p99@host>=10ms")).text, "p99@host<=10ms");
}

TEST(HaCriteria, AColonStandsForTheUsualComparison) {
  for (const HaMetricInfo& info : HaMetrics()) {
    const auto criterion = ParseHaCriterion(absl::StrCat(info.name, info.is_time ? ":60s" : ":0"));
    ASSERT_THAT(criterion, IsOk());
    EXPECT_EQ(criterion->text, absl::StrCat(info.name, info.is_time ? "<60s" : "==0"));
    EXPECT_EQ(criterion->comparison, info.is_time ? HaComparison::kLess : HaComparison::kEqual);
  }
  const auto late = ParseHaCriterion("late_writers : 2");
  ASSERT_THAT(late, IsOk());
  EXPECT_EQ(late->text, "late_writers<=2");
}

TEST(Criteria, EveryMetricIsListedOnceInTheOrderOfTheEnumeration) {
  for (size_t i = 0; i < Metrics().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(Metrics()[i].metric), i);
    EXPECT_FALSE(Metrics()[i].scopes.empty());
  }
  EXPECT_EQ(Metrics().back().metric, Metric::kHosts);
}

TEST(Criteria, WhatIsWrongIsNamedWithWhatIsExpected) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"",
       "'' is not a criterion: expected a metric, one of < <= > >= == or :, and a limit, such as p99<10ms "
       "or p99:10ms"},
      {"p99", "'p99' is not a criterion: expected a metric, one of < <= > >="},
      {"p99=10ms", "expected a metric, one of < <= > >="},
      {"<10ms", "expected pN (such as p99.9), min, max"},
      {"latency<10ms", "nfs_retransmits or hosts, not 'latency'"},
      {"service_iops>1", "not 'service_iops'"},
      {"sync_iops>1", "not 'sync_iops'"},
      {"read_writes>1", "not 'read_writes'"},
      {"read_min_second_iops>1", "not 'read_min_second_iops'"},
      {"read_rate_achieved>=99%", "not 'read_rate_achieved'"},
      {"read_stalls==0", "not 'read_stalls'"},
      {"read_service_p99<1ms", "not 'read_service_p99'"},
      {"service_read_p99<1ms", "not 'service_read_p99'"},
      {"read_<1ms", "not 'read_'"},
      {"read_p101<1ms", "'p101' is not a percentile between p0 and p100"},
      {"max==1ms", "a latency never equals a limit"},
      {"p99=10ms", "expected a metric, one of < <= > >= =="},
      {"steady>=1", "expected steady alone, or ==yes or ==no behind it"},
      {"p99@4k", "expected a metric, one of < <= > >= =="},
      {"stalls[power]==0", "expected one of the classes host_paused, all_hosts (or storage), "},
      {"p99[one_host]<1ms", "not 'p99[one_host]'"},
      {"iops[one_host]>1", "not 'iops[one_host]'"},
      {"stalls@host==0", "stalls can be looked at @cluster, not @host"},
      {"fairness>=2", "expected a number from 0 to 1"},
      {"rate_achieved>=-1%", "expected a number of percent from 0"},
      {"drift_iops>=x%", "expected a number of percent, such as -10%"},
      {"p0<1ms", "'p0' is not a percentile between p0 and p100"},
      {"p100<1ms", "such as p99.9; the highest latency is max"},
      {"p99x<1ms", "'p99x' is not a percentile"},
      {"p1e1<1ms", "'p1e1' is not a percentile"},
      {"pnan<1ms", "not 'pnan'"},
      {"p99@site<1ms", "expected @cluster, @storage, @host, @qm or a block size such as @4k, not '@site'"},
      {"p99@<1ms", "not '@'"},
      {"p99@0<1ms", "not '@0'"},
      {"p99@host@qm<1ms", "expected one of @cluster, @storage, @host and @qm, not two"},
      {"p99@4k@8k<1ms", "expected one block size, not two"},
      {"p99<10", "expected a time with its unit, such as 10ms, not '10'"},
      {"p99<", "expected a time with its unit, such as 10ms, not ''"},
      {"p99<<10ms", "not '<10ms'"},
      {"p99<-1ms", "expected a time from 0s to 1h, not '-1ms'"},
      {"p99<61m", "expected a time from 0s to 1h, not '61m'; histograms end at 1h"},
      {"iops>=2k", "expected a number from 0, such as 2000, not '2k'"},
      {"iops>=", "expected a number from 0"},
      {"iops>=-5", "expected a number from 0"},
      {"iops>=inf", "expected a number from 0"},
      {"writes>=9007199254740993000", "expected a number from 0"},
      {"mbps>=9007199255", "expected a number from 0"},
      {std::string(201, 'x'), "...' is not a criterion: it is longer than 200 letters"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(ParseCriterion(text), StatusIs(kInvalid, message)) << text;
  }
}

}  // namespace
}  // namespace plimsoll
