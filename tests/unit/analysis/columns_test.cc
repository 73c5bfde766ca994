// The one list of columns that text, CSV and page take theirs from.
#include "controller/render/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/units.h"
#include "controller/render/csv.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

const ColumnGroup* const kGroups[] = {&kWriteColumns,     &kThroughputColumns, &kLatencyColumns,  &kTimeColumns,
                                      &kBandwidthColumns, &kRateColumns,       &kResponseColumns, &kFeltColumns,
                                      &kRecorderColumns,  &kClosingColumns};

std::string CsvName(const ColumnGroup& group, const FigureColumn& column) {
  return column.csv_name != nullptr ? column.csv_name : absl::StrCat(group.csv_prefix, column.field);
}

std::vector<std::string> CsvHeading() {
  const std::string csv = RenderCsv({});
  return absl::StrSplit(csv.substr(0, csv.find("\r\n")), ',');
}

TEST(Columns, EachNamesANumberOfItsMessage) {
  for (const ColumnGroup* const group : kGroups) {
    for (const FigureColumn& column : group->columns) {
      const auto* const field = group->type()->FindFieldByName(column.field);
      ASSERT_NE(field, nullptr) << group->name << ": " << column.field;
      EXPECT_FALSE(field->is_repeated()) << column.field;
      // FormatCount takes no other type.
      if (column.tables != kCsvOnly && column.format == FigureFormat::kCount) {
        EXPECT_EQ(field->cpp_type(), google::protobuf::FieldDescriptor::CPPTYPE_UINT64) << column.field;
      }
    }
  }
  for (const SeriesColumn& column : SeriesLatencyColumns()) {
    EXPECT_NE(v1::SeriesReport::descriptor()->FindFieldByName(column.field), nullptr) << column.field;
  }
}

TEST(Columns, WhatATableShowsHasAHeadingAndIsInCsvOnce) {
  const std::vector<std::string> csv = CsvHeading();
  EXPECT_EQ(std::set<std::string>(csv.begin(), csv.end()).size(), csv.size());
  for (const ColumnGroup* const group : kGroups) {
    for (const FigureColumn& column : group->columns) {
      EXPECT_TRUE(column.tables == kCsvOnly || *column.heading != '\0') << column.field;
      const auto named = std::count(csv.begin(), csv.end(), CsvName(*group, column));
      EXPECT_EQ(named, group == &kFeltColumns ? 0 : 1) << column.field;
    }
  }
}

// What the page asks for by name, as plimsoll.table takes it.
TEST(Columns, ThePageFindsEachFigureOfTheTextWhereTheJsonHasIt) {
  const nlohmann::json page = nlohmann::json::parse(ColumnsJson());
  for (const ColumnGroup* const group : kGroups) {
    for (const FigureColumn& column : group->columns) {
      if (!column.IsIn(kTextTable | kTextCounts) || group == &kFeltColumns) continue;
      bool found = false;
      for (const nlohmann::json& one : page.at(group->name)) {
        found = found || (one.at("in") == group->json_path && one.at("field") == column.field &&
                          one.at("title") == column.heading && one.at("help") == column.help);
      }
      EXPECT_TRUE(found) << group->name << ": " << column.field;
    }
  }
}

TEST(Columns, ARowHasACellForEachHeadingAndADashForWhatIsNotKnown) {
  v1::ScopeReport scope;
  scope.set_iops(1'200);
  scope.mutable_latency()->set_count(100);
  scope.mutable_latency()->set_avg_ns(1.5e6);
  scope.mutable_latency()->set_p99_9_ns(2'000'000);
  scope.mutable_latency()->add_thin("p99_9");
  const FigureTable table({&kThroughputColumns, nullptr, &kLatencyColumns, nullptr, &kResponseColumns}, kTextSummary);
  std::vector<std::string> headings;
  table.AddHeadings(headings);
  EXPECT_THAT(headings,
              ElementsAre("IO/s", "MB/s", "|", "p50", "p99", "p99.9", "max", "|", "p50", "p99", "p99.9", "max"));
  std::vector<std::string> cells;
  table.AddCells(scope, LatencyUnit{}, cells);
  EXPECT_THAT(cells, ElementsAre("1,200", "0.00", "0.000", "0.000", kDash, "0.000", kDash, kDash, kDash, kDash));
}

TEST(Columns, TheTargetStandsBehindTheRateWhereAStepHasOne) {
  std::vector<std::string> headings;
  FigureTable::Summary(/*paced=*/true).AddHeadings(headings);
  EXPECT_THAT(headings, ElementsAre("IO/s", "target", "MB/s", "|", "p50", "p99", "p99.9", "max"));
}

}  // namespace
}  // namespace plimsoll
