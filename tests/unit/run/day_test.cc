// Small fleets for some minutes of virtual time: what their reports say is what they did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "controller/analysis/analyzer.h"
#include "controller/journal/recent_frames.h"
#include "controller/journal/results.h"
#include "tests/bench/day_run.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr DaySize kSmall{.hosts = 4, .queue_managers = 2, .length_s = 180, .rate = 300, .seed = 1};

v1::ScopeReport& ScopeOf(v1::Report& report, v1::ScopeKind kind) {
  for (v1::ScopeReport& scope : *report.mutable_steps(0)->mutable_scopes()) {
    if (scope.kind() == kind) return scope;
  }
  ADD_FAILURE() << "the report has no such scope";
  return *report.mutable_steps(0)->add_scopes();
}

TEST(Day, TheReportIsThatOfTheFleetsOwnCounts) {
  const TempDirectory directory;
  const DayResult result = PlayDay(kSmall, {}, directory.Sub("day"), /*progress=*/false);
  EXPECT_THAT(result.trouble, IsEmpty());
  EXPECT_THAT(result.differences, IsEmpty());
  EXPECT_EQ(result.played_s, kSmall.length_s);
  // The lost host's frames end after three fifths.
  EXPECT_EQ(result.writer_seconds, 2U * (3 * 180 + 108));
  ASSERT_EQ(result.report.hosts_size(), 4);
  EXPECT_TRUE(result.report.hosts(3).has_lost());
  // One stall each of the storage, of a host and of a queue manager.
  EXPECT_EQ(result.report.steps(0).stalls().count(), 3U);
  EXPECT_EQ(result.columns.qm_series, kSmall.writers());
  EXPECT_EQ(result.columns.qm_until_s, kSmall.length_s);
  EXPECT_GT(result.journal_bytes, 0U);
  EXPECT_GT(result.page_bytes, 0U);
}

TEST(Day, AFastFleetIsRecountedToo) {
  const TempDirectory directory;
  const DaySize size{.hosts = 2, .queue_managers = 1, .length_s = 120, .rate = 2000, .seed = 2};
  const DayResult result = PlayDay(size, {}, directory.Sub("day"), /*progress=*/false);
  EXPECT_THAT(result.trouble, IsEmpty());
  EXPECT_THAT(result.differences, IsEmpty());
}

// A whole run whose step folds its frames after a minute.
TEST(Day, AFoldedDayLeavesAJournalThatGivesItsReport) {
  const TempDirectory directory;
  v1::StepFoldRules fold;
  fold.set_whole_seconds(60);
  fold.set_settle_seconds(10);
  fold.set_around_stall_seconds(3);
  fold.set_most_whole_of_hour(10);
  DaySize size = kSmall;
  size.length_s = 600;
  const DayResult whole = PlayDay(size, {}, directory.Sub("whole"), /*progress=*/false);
  const DayResult folded = PlayDay(size, {}, directory.Sub("folded"), /*progress=*/false, {}, fold);
  EXPECT_THAT(folded.trouble, IsEmpty());
  EXPECT_LT(folded.journal_bytes, whole.journal_bytes / 2);
  for (const char* const suffix : kRecentSuffixes) {
    EXPECT_FALSE(std::filesystem::exists(directory.Sub("folded/journal") + suffix));
  }
  Analyzer analyzer;
  uint64_t settled = 0;
  const absl::StatusOr<std::string> damage =
      ReadWholeRecords(directory.Sub("folded/journal"), [&](const v1::JournalRecord& record, const RawRecord& /*raw*/) {
        settled += record.frames().settled() ? 1U : 0U;
        analyzer.Add(record);
      });
  ASSERT_THAT(damage, IsOk());
  EXPECT_EQ(*damage, "");
  EXPECT_GT(settled, 0U);
  EXPECT_TRUE(analyzer.Finish().SerializeAsString() == folded.report.SerializeAsString());
  for (const v1::ScopeReport& scope : whole.report.steps(0).scopes()) {
    if (scope.kind() != v1::SCOPE_KIND_CLUSTER) continue;
    const v1::ScopeReport* const same = [&]() -> const v1::ScopeReport* {
      for (const v1::ScopeReport& other : folded.report.steps(0).scopes()) {
        if (other.kind() == scope.kind()) return &other;
      }
      return nullptr;
    }();
    ASSERT_NE(same, nullptr);
    EXPECT_EQ(scope.writes(), same->writes());
    EXPECT_EQ(scope.latency().sum_ns(), same->latency().sum_ns());
    EXPECT_EQ(scope.latency().max_ns(), same->latency().max_ns());
  }
}

TEST(Day, ADayThatEndsEarlyIsCountedAsFarAsItWent) {
  const TempDirectory directory;
  const DayResult result = PlayDay(kSmall, {.memory_bytes = 1}, directory.Sub("day"), /*progress=*/false);
  EXPECT_THAT(result.trouble, HasSubstr("of memory"));
  EXPECT_THAT(result.differences, IsEmpty());
  EXPECT_GE(result.played_s, 58);
  EXPECT_LE(result.played_s, 62);
}

struct Planted {
  void (*plant)(v1::Report& report);
  const char* what;
};

class DayDifferences : public ::testing::TestWithParam<Planted> {};

TEST_P(DayDifferences, AreFound) {
  const TempDirectory directory;
  const DaySize size{.hosts = 1, .queue_managers = 2, .length_s = 120, .rate = 50, .seed = 3};
  const DayResult result = PlayDay(size, {}, directory.Sub("day"), /*progress=*/false, GetParam().plant);
  EXPECT_THAT(result.differences, ElementsAre(HasSubstr(GetParam().what)));
}

INSTANTIATE_TEST_SUITE_P(
    Planted, DayDifferences,
    ::testing::Values(Planted{[](v1::Report& report) {
                                v1::ScopeReport& scope = ScopeOf(report, v1::SCOPE_KIND_QM);
                                scope.set_writes(scope.writes() + 1);
                              },
                              "day001/qm1, writes is 6001"},
                      Planted{[](v1::Report& report) {
                                v1::LatencyReport& times = *ScopeOf(report, v1::SCOPE_KIND_HOST).mutable_latency();
                                times.set_sum_ns(times.sum_ns() + 1);
                              },
                              "day001, sum"},
                      Planted{[](v1::Report& report) {
                                v1::LatencyReport& times =
                                    *ScopeOf(report, v1::SCOPE_KIND_CLUSTER).mutable_rate()->mutable_response();
                                times.set_p99_9_ns(times.p99_9_ns() * 1003 / 1000);
                              },
                              "the cluster, response, p99.9"},
                      Planted{[](v1::Report& report) {
                                v1::SeriesReport& series = *report.mutable_steps(0)->mutable_series(0);
                                series.set_latency_max_ns(60, series.latency_max_ns(60) + 1);
                              },
                              "row of second 60, maximum"},
                      Planted{[](v1::Report& report) {
                                v1::StallsReport& stalls = *report.mutable_steps(0)->mutable_stalls();
                                stalls.set_count(stalls.count() - 1);
                              },
                              "the number of stalls"}));

}  // namespace
}  // namespace plimsoll::tests
