// The page's data of a step whose frames were folded by age.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "controller/page/report_page.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "tests/testing.h"
#include "tests/unit/page/report_builder.h"
#include "tests/unit/page/unpack.h"

namespace plimsoll {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

Struct PageOf(const v1::Report& report) {
  Struct parsed;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(ReportPageData(report), &parsed).ok());
  return parsed;
}

const Value& At(const Struct& object, const std::string& name) {
  static const Value kNothing;
  const auto found = object.fields().find(name);
  return found == object.fields().end() ? kNothing : found->second;
}

const Struct& FirstStep(const Struct& data) {
  return At(data, "steps").list_value().values(0).struct_value();
}

TEST(PageMinutes, AreDrawnInPlaceOfSeconds) {
  const v1::Report report = tests::MinutesReport();
  const v1::StepReport& step = report.steps(0);
  const Struct data = PageOf(report);
  EXPECT_EQ(At(FirstStep(data), "row_seconds").number_value(), 60);
  size_t compared = 0;
  for (const Value& value : At(FirstStep(data), "series").list_value().values()) {
    const Struct& packed = value.struct_value();
    for (const v1::SeriesReport& series : step.minutes()) {
      const bool cluster = series.kind() == v1::SCOPE_KIND_CLUSTER && At(packed, "kind").string_value() == "cluster";
      const bool host = series.kind() == v1::SCOPE_KIND_HOST && At(packed, "kind").string_value() == "host" &&
                        At(packed, "host").string_value() == series.host();
      if (!cluster && !host) continue;
      ++compared;
      for (const auto& [name, column] : {std::pair{"writes", &series.writes()}, {"p99_ns", &series.p99_ns()}}) {
        const std::vector<double> drawn = tests::Unpack(At(packed, name).string_value());
        EXPECT_TRUE(std::equal(drawn.begin(), drawn.end(), column->begin(), column->end())) << name;
      }
      EXPECT_EQ(tests::Unpack(At(packed, "second").string_value())[1], 60);
    }
  }
  EXPECT_EQ(compared, 4U);
  const Struct& of_call = At(FirstStep(data), "operations").list_value().values(0).struct_value();
  EXPECT_GT(At(of_call, "series").list_value().values_size(), 0);
  const Struct& distributions = At(FirstStep(data), "seconds").struct_value();
  EXPECT_EQ(tests::Unpack(At(distributions, "second").string_value()).size(),
            static_cast<size_t>(step.minute_distributions().second_size()));
}

TEST(PageMinutes, AreNotInTheReportBesideTheColumns) {
  const Struct data = PageOf(tests::MinutesReport());
  const Struct& bare = FirstStep(At(data, "report").struct_value());
  EXPECT_EQ(At(bare, "whole_seconds").number_value(), 3'600);
  for (const char* const left_out : {"minutes", "minute_distributions"}) {
    EXPECT_EQ(bare.fields().count(left_out), 0U) << left_out;
  }
}

TEST(PageMinutes, AreNotInAnotherStep) {
  EXPECT_EQ(FirstStep(PageOf(tests::MakeReport({}))).fields().count("row_seconds"), 0U);
}

}  // namespace
}  // namespace plimsoll
