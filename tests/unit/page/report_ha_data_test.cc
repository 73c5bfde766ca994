#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
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
using plimsoll::tests::DrillReport;
using plimsoll::tests::MadeUp;
using plimsoll::tests::MakeReport;
using plimsoll::tests::Unpack;

Struct HaOf(const v1::Report& report, int takeovers = 50'000) {
  PageLimits limits;
  limits.takeovers = takeovers;
  Struct data;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(ReportPageData(report, limits), &data).ok());
  return data.fields().at("ha").struct_value();
}

std::vector<double> TakeoverColumn(const Struct& ha, const std::string& name) {
  return Unpack(ha.fields().at("takeovers").struct_value().fields().at(name).string_value());
}

TEST(HaPageData, HasEveryTakeoverInTheOrderOfTheRounds) {
  const v1::Report report = DrillReport(12);
  const Struct ha = HaOf(report);
  const std::vector<double> rounds = TakeoverColumn(ha, "round");
  ASSERT_EQ(rounds.size(), 24U);
  const std::vector<double> gaps = TakeoverColumn(ha, "gap");
  const std::vector<double> lost = TakeoverColumn(ha, "lost");
  const std::vector<double> doubtful = TakeoverColumn(ha, "doubtful");
  for (size_t row = 0; row < rounds.size(); ++row) {
    const v1::HaRoundReport& round = report.ha().rounds(static_cast<int>(row / 2));
    const v1::HaTakeoverReport& one = round.takeovers(static_cast<int>(row % 2));
    EXPECT_EQ(rounds[row], round.number());
    const int64_t gap_us = one.has_gap() ? one.gap().ns() / 1'000 : -1;
    EXPECT_EQ(gaps[row], static_cast<double>(gap_us));
    EXPECT_EQ(lost[row], static_cast<double>(one.findings().lost()));
    EXPECT_EQ(doubtful[row], round.reasons().empty() ? 0 : 1);
  }
  EXPECT_EQ(ha.fields().at("pictures").list_value().values_size(), 2);
  EXPECT_EQ(ha.fields().at("report").struct_value().fields().at("rounds").list_value().values_size(), 0)
      << "the columns have them";
}

TEST(HaPageData, HoldsEveryFieldOfTheSection) {
  v1::Report report = DrillReport(12);
  v1::HaReport& ha = *report.mutable_ha();
  const google::protobuf::Reflection& reflection = *ha.GetReflection();
  const google::protobuf::Descriptor& type = *v1::HaReport::descriptor();
  std::set<std::string> expected;
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor* const field = type.field(i);
    if (field->name() != "rounds" && field->name() != "pictures") expected.insert(field->name());
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (field->is_repeated()) {
      reflection.AddMessage(&ha, field);
    } else {
      reflection.MutableMessage(&ha, field);
    }
  }
  std::set<std::string> held;
  const Struct page = HaOf(report);
  for (const auto& [name, value] : page.fields().at("report").struct_value().fields()) {
    if (value.list_value().values_size() > 0 || value.kind_case() != google::protobuf::Value::kListValue) {
      held.insert(name);
    }
  }
  EXPECT_EQ(held, expected);
}

TEST(HaPageData, OfMoreTakeoversThanThereIsRoomForTheWorstOfEachRoundStays) {
  v1::Report report = DrillReport(12);
  report.mutable_ha()->mutable_rounds(0)->mutable_takeovers(1)->mutable_gap()->set_ns(9'000'000'000);
  const Struct ha = HaOf(report, 23);
  EXPECT_EQ(TakeoverColumn(ha, "round").size(), 12U);
  EXPECT_EQ(TakeoverColumn(ha, "gap")[0], 9e6);
  EXPECT_EQ(TakeoverColumn(ha, "lost")[3], 3) << "what was lost goes before a longer gap";
  EXPECT_EQ(ha.fields().at("takeovers").struct_value().fields().at("of").number_value(), 24);
}

TEST(HaPageData, TenThousandRoundsMakeNoLargePageAndNoNameBecomesMarkup) {
  const std::string hostile = "</script><script>alert(1)</script>";
  const std::string page = RenderReportPage(DrillReport(10'000, hostile));
  EXPECT_LT(page.size(), 2'000'000U);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, HasSubstr("\\u003cscript\\u003ealert(1)"));
}

TEST(HaPageData, TheTitleOfAPassOnOneKernelNamesItsScope) {
  v1::Report report = DrillReport(1);
  report.mutable_run()->set_name("two containers");
  v1::VerdictReport& verdict = *report.mutable_verdict();
  verdict.set_outcome(v1::OUTCOME_PASS);
  verdict.clear_scope();
  EXPECT_THAT(RenderReportPage(report), HasSubstr("<title>PASS HA drill two containers"));
  verdict.set_scope("on one kernel; locks between hosts not tested");
  EXPECT_THAT(RenderReportPage(report),
              HasSubstr("<title>PASS on one kernel; locks between hosts not tested: HA drill two containers"));
}

TEST(HaPageData, ARunThatIsNoDrillHasNone) {
  EXPECT_THAT(ReportPageData(MakeReport(MadeUp())), Not(HasSubstr("\"ha\"")));
}

}  // namespace
}  // namespace plimsoll
