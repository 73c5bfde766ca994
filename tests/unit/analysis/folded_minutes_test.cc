// What reports of steps whose frames are folded by age have by minute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/histogram.h"
#include "controller/analysis/analyzer.h"
#include "controller/report/scopes.h"
#include "tests/random_seed.h"
#include "tests/unit/analysis/journal_builder.h"
#include "tests/unit/analysis/random_numbers.h"

namespace plimsoll::tests {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Records = std::vector<v1::JournalRecord>;

constexpr int64_t kNsPerMinute = 60 * kNsPerSecond;

// Two or three hosts, of which two share a storage, with one or two queue managers each, over some minutes.
SimRun SomeMinutes(Random& random, bool rated) {
  SimRun run;
  run.duration_ns = Between(random, 130, 310) * kNsPerSecond;
  run.interval_ns = 500 * kNsPerMs;
  for (int64_t number = Between(random, 1, 2); number >= 0; --number) {
    SimHost host;
    host.label = "host" + std::to_string(run.hosts.size());
    if (run.hosts.size() < 2) host.sees = {"host0", "host1"};
    host.clock_ahead_ns = Between(random, 0, 1'000) * kNsPerSecond;
    host.rate_per_second = rated ? 10 : 0;
    host.steps.resize(1);
    for (int64_t qm = Between(random, 1, 2); qm > 0; --qm) {
      const auto seed = static_cast<uint64_t>(Between(random, 1, 1'000'000));
      const int64_t at_ns = Between(random, 1, run.duration_ns - 5 * kNsPerSecond);
      host.steps[0].push_back(ClosedLoop(
          run.duration_ns, Between(random, 50, 150) * kNsPerMs,
          WithStalls(
              [seed](uint64_t n, int64_t) { return static_cast<int64_t>(200'000 + (n * 7'919 + seed) % 1'800'000); },
              {{at_ns, at_ns + Between(random, 100, 4'000) * kNsPerMs}})));
    }
    run.hosts.push_back(std::move(host));
  }
  return run;
}

// Distributions of the frames of a journal by scope and minute: of (host, 0) for a host, ("", 0) for the cluster.
using Distributions = std::map<std::tuple<std::string, uint32_t, int64_t>, Histogram>;
Distributions ByMinute(const Records& records, const SimRun& run, bool response) {
  Distributions all;
  for (const v1::JournalRecord& record : records) {
    if (!record.has_frames()) continue;
    const std::string& host = run.hosts[record.frames().host()].label;
    for (const v1::Frame& frame : record.frames().frames()) {
      if (frame.first_interval() < 0 || frame.closing() || frame.operation() != 0) continue;
      const int64_t minute = frame.first_interval() * run.interval_ns / kNsPerMinute;
      const v1::Distribution& times = response ? frame.response() : frame.latency();
      for (const auto& [name, qm] : {std::pair{host, frame.qm()}, std::pair{host, 0U}, std::pair{std::string(), 0U}}) {
        const absl::Status added = all[{name, qm, minute}].Merge(times);
        EXPECT_TRUE(added.ok());
      }
    }
  }
  return all;
}

void ExpectMinutes(const google::protobuf::RepeatedPtrField<v1::SeriesReport>& minutes,
                   const Distributions& distributions, int64_t duration_ns) {
  for (const v1::SeriesReport& series : minutes) {
    if (series.kind() == v1::SCOPE_KIND_STORAGE) continue;
    int64_t expected = 0;
    for (int row = 0; row < series.second_size(); ++row) {
      const bool irregular = std::ranges::any_of(
          series.irregular(), [row](const v1::IrregularRow& each) { return static_cast<int>(each.row()) == row; });
      if (series.second(row) * kNsPerSecond >= duration_ns) break;  // what was in flight at the end
      ASSERT_EQ(series.second(row), expected);
      EXPECT_EQ(irregular, duration_ns < (expected + 60) * kNsPerSecond);
      expected += 60;
      const auto found = distributions.find({series.host(), series.qm(), series.second(row) / 60});
      ASSERT_NE(found, distributions.end()) << series.host() << " " << series.qm() << " " << series.second(row);
      const Histogram& latency = found->second;
      EXPECT_EQ(series.writes(row), latency.count());
      EXPECT_EQ(series.latency_sum_ns(row), absl::Uint128Low64(latency.sum_ns()));
      EXPECT_EQ(series.latency_max_ns(row), latency.max_ns());
      EXPECT_EQ(series.p50_ns(row), latency.PercentileNs(50));
      EXPECT_EQ(series.p99_ns(row), latency.PercentileNs(99));
      EXPECT_EQ(series.p99_9_ns(row), latency.PercentileNs(99.9));
    }
    EXPECT_GE(expected * kNsPerSecond, duration_ns);
  }
}

constexpr int kMinuteRuns = 5;

// A minute of which some seconds stayed whole has the distribution of all its parts, and the first minutes, which were
// not folded, are there as well.
TEST(FoldedMinutesProperty, HaveSumsAndPercentilesOfAllTheirFrames) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int i = 0; i < kMinuteRuns; ++i) {
    const bool rated = i % 2 == 1;
    const SimRun run = SomeMinutes(random, rated);
    const Records records = MakeJournal(run);
    const v1::Report report = Analyze(WithFold(records));
    const v1::StepReport& step = report.steps(0);
    EXPECT_EQ(step.whole_seconds(), 60U);
    EXPECT_EQ(step.minutes_size(), step.scopes_size());
    EXPECT_FALSE(step.has_seconds());
    ExpectMinutes(step.minutes(), ByMinute(records, run, false), run.duration_ns);
    EXPECT_EQ(step.response().minutes_size(), rated ? step.scopes_size() : 0);
    if (rated) ExpectMinutes(step.response().minutes(), ByMinute(records, run, true), run.duration_ns);
  }
}

// Rows of a storage are the sums of its hosts' rows.
TEST(FoldedMinutesProperty, OfAStorageAreThoseOfItsHosts) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int i = 0; i < kMinuteRuns; ++i) {
    const v1::Report report = Analyze(WithFold(MakeJournal(SomeMinutes(random, false))));
    std::map<std::pair<uint32_t, uint32_t>, std::pair<uint64_t, uint64_t>> of_hosts;
    std::map<std::pair<uint32_t, uint32_t>, std::pair<uint64_t, uint64_t>> of_storages;
    std::map<std::string, uint32_t> storages;
    for (const v1::ScopeReport& scope : OfKind(report.steps(0).scopes(), v1::SCOPE_KIND_HOST)) {
      storages[scope.host()] = scope.storage();
    }
    for (const v1::SeriesReport& series : report.steps(0).minutes()) {
      const bool storage = series.kind() == v1::SCOPE_KIND_STORAGE;
      if (!storage && series.kind() != v1::SCOPE_KIND_HOST) continue;
      for (int row = 0; row < series.second_size(); ++row) {
        if (series.writes(row) == 0) continue;
        auto& [writes, bytes] = storage ? of_storages[{series.storage(), series.second(row)}]
                                        : of_hosts[{storages.at(series.host()), series.second(row)}];
        writes += series.writes(row);
        bytes += series.bytes(row);
      }
    }
    EXPECT_EQ(of_hosts, of_storages);
  }
}

TEST(FoldedMinutes, HaveTheDistributionOfTheCluster) {
  Random random(7);
  const SimRun run = SomeMinutes(random, false);
  const v1::Report report = Analyze(WithFold(MakeJournal(run)));
  const v1::SecondDistributionsReport& minutes = report.steps(0).minute_distributions();
  const v1::SeriesReport& cluster = *ClusterOf(report.steps(0).minutes());
  ASSERT_GE(minutes.second_size(), 3);
  int next = 0;
  for (int row = 0; row < minutes.second_size(); ++row) {
    EXPECT_EQ(minutes.second(row), static_cast<uint32_t>(60 * row));
    uint64_t writes = 0;
    for (uint32_t i = 0; i < minutes.buckets(row); ++i) writes += minutes.count(next++);
    EXPECT_EQ(writes, cluster.writes(row));
  }
}

// A step that has nothing to fold.
TEST(FoldedMinutes, AreNotInAStepThatIsNoLongerThanTheWholeSeconds) {
  SimRun run = TwoHosts(60 * kNsPerSecond);
  for (SimHost& host : run.hosts) {
    for (SimWriter& writer : host.steps[0]) writer = Steady(run.duration_ns, 2'000'000, 98'000'000);
  }
  const Records records = MakeJournal(run);
  EXPECT_TRUE(Analyze(records).SerializeAsString() == Analyze(WithFold(records)).SerializeAsString());
}

// A step that was to be longer, and ended early.
TEST(FoldedMinutes, AreNotInAStepThatEndedWithinTheWholeSeconds) {
  SimRun run = TwoHosts(200 * kNsPerSecond);
  for (SimHost& host : run.hosts) {
    for (SimWriter& writer : host.steps[0]) writer = Steady(run.duration_ns, 2'000'000, 98'000'000);
  }
  Records records = MakeJournal(run);
  std::erase_if(records, [&run](const v1::JournalRecord& record) {
    return record.has_step_done() || record.has_step_end() || record.has_run_end() ||
           (record.has_frames() && !record.frames().frames().empty() &&
            record.frames().frames(0).first_interval() * run.interval_ns >= 40 * kNsPerSecond);
  });
  EXPECT_TRUE(Analyze(records).SerializeAsString() == Analyze(WithFold(records)).SerializeAsString());
}

v1::Report AnalyzeWithin(uint64_t series_rows, const Records& records) {
  Analyzer analyzer(series_rows);
  for (const v1::JournalRecord& record : records) analyzer.Add(record);
  return analyzer.Finish();
}

// With many writers, a report has no room for single seconds, and the analysis no memory for them. The worst second
// stays exact.
TEST(FoldedMinutesProperty, StayWhereSeriesBySecondHaveNoRoom) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int i = 0; i < kMinuteRuns; ++i) {
    const SimRun run = SomeMinutes(random, false);
    const Records records = MakeJournal(run);
    const v1::Report all = Analyze(records);
    // Every second of the cluster, and all minutes; but not 60 seconds of four hosts and storages.
    const auto rows = static_cast<uint64_t>(run.duration_ns / kNsPerSecond) + 150;
    const v1::Report report = AnalyzeWithin(rows, WithFold(records));
    const v1::StepReport& step = report.steps(0);
    EXPECT_EQ(step.minutes_size(), step.scopes_size());
    EXPECT_EQ(step.series_size(), 1);
    EXPECT_THAT(report.notes(), Contains(HasSubstr("the per-second series of single hosts and QMs are left out")));
    EXPECT_THAT(report.notes(), Not(Contains(HasSubstr("per-minute series"))));
    for (int scope = 0; scope < step.scopes_size(); ++scope) {
      EXPECT_EQ(step.scopes(scope).bandwidth().SerializeAsString(),
                all.steps(0).scopes(scope).bandwidth().SerializeAsString());
    }
  }
}

TEST(FoldedMinutes, AreAnnounced) {
  Random random(11);
  const v1::Report report = Analyze(WithFold(MakeJournal(SomeMinutes(random, false))));
  EXPECT_THAT(report.notes(), Contains(HasSubstr("from second 60 on, percentiles are those of minutes")));
}

}  // namespace
}  // namespace plimsoll::tests
