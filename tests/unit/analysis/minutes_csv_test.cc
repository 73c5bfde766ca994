// The rows of a step whose frames are folded by age, by second and by minute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/units.h"
#include "controller/render/csv.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

using Row = std::map<std::string, std::string>;

// The rows of a kind of scope, by the names of their columns.
std::vector<Row> RowsOfKind(const std::string& csv, const std::string& kind) {
  const std::vector<std::string> lines = absl::StrSplit(csv, "\r\n");
  const std::vector<std::string> names = absl::StrSplit(lines.front(), ',');
  std::vector<Row> rows;
  for (size_t i = 1; i + 1 < lines.size(); ++i) {
    const std::vector<std::string> cells = absl::StrSplit(lines[i], ',');
    EXPECT_EQ(cells.size(), names.size());
    Row row;
    for (size_t cell = 0; cell < names.size(); ++cell) row[names[cell]] = cells[cell];
    if (row["kind"] == kind) rows.push_back(std::move(row));
  }
  return rows;
}

// Three minutes and ten seconds of two hosts, of which the first minute is whole.
v1::Report ThreeMinutes(double rate_per_second = 0) {
  SimRun run = tests::TwoHosts(190 * kNsPerSecond);
  for (SimHost& host : run.hosts) {
    host.rate_per_second = rate_per_second;
    for (SimWriter& writer : host.steps[0]) writer = Steady(run.duration_ns, 2'000'000, 48'000'000);
  }
  return Analyze(WithFold(MakeJournal(run)));
}

TEST(MinutesCsv, TheSecondsThatAreNotWholeHaveEverythingButPercentiles) {
  const std::vector<Row> rows = RowsOfKind(RenderTimelineCsv(ThreeMinutes()), "cluster");
  ASSERT_GE(rows.size(), 190);
  for (size_t second = 0; second < 190; ++second) {
    Row row = rows[second];
    EXPECT_EQ(row["second"], std::to_string(second));
    EXPECT_NE(row["writes"], "0");
    EXPECT_NE(row["latency_avg_ns"], "");
    EXPECT_NE(row["latency_max_ns"], "");
    for (const char* const percentile : {"latency_p50_ns", "latency_p99_ns", "latency_p99_9_ns"}) {
      EXPECT_EQ(row[percentile].empty(), second >= 60) << second << ": " << row[percentile];
    }
  }
}

TEST(MinutesCsv, HostsAndQueueManagersHaveMinutesOverTheWholeStep) {
  const v1::Report report = ThreeMinutes(20);
  ASSERT_TRUE(HasMinutes(report));
  for (const char* const kind : {"cluster", "host", "qm"}) {
    std::map<std::pair<std::string, std::string>, std::vector<std::string>> seconds;
    for (Row& row : RowsOfKind(RenderMinutesCsv(report), kind)) {
      if (row["irregular"] == "closing") continue;
      seconds[{row["host"], row["qm"]}].push_back(row["second"]);
      EXPECT_EQ(row["length_ns"], row["second"] == "180" ? "10000000000" : "60000000000");
      EXPECT_EQ(row["irregular"], row["second"] == "180" ? "partial" : "");
      for (const char* const figure : {"latency_avg_ns", "latency_p50_ns", "latency_p99_ns", "latency_max_ns",
                                       "response_avg_ns", "response_p99_ns"}) {
        EXPECT_NE(row[figure], "") << kind << " " << figure << " " << row["second"];
      }
    }
    EXPECT_EQ(seconds.size(), kind == std::string("qm") ? 4U : kind == std::string("host") ? 2U : 1U);
    for (const auto& [scope, each] : seconds) EXPECT_THAT(each, ElementsAre("0", "60", "120", "180"));
  }
  for (Row& row : RowsOfKind(RenderTimelineCsv(report), "host")) EXPECT_LT(std::stoi(row["second"]), 60);
}

TEST(MinutesCsv, IsNotOfAStepWithoutAFold) {
  EXPECT_FALSE(HasMinutes(Analyze(MakeJournal(tests::TwoHosts(10 * kNsPerSecond)))));
}

}  // namespace
}  // namespace plimsoll
