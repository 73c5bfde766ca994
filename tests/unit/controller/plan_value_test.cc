#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "controller/plan/plan_schema.h"
#include "plimsoll/v1/plan.pb.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
using google::protobuf::FieldDescriptor;

const FieldDescriptor& Field(const std::string& key) {
  const FieldDescriptor* field = FindField(*v1::TestPlan::descriptor(), key);
  return field != nullptr ? *field : *FindField(*v1::LogWorkload::descriptor(), key);
}

FieldValue Value(const std::string& key, const std::string& text) {
  const auto value = ParseValue(Field(key), text);
  EXPECT_THAT(value, IsOk()) << key << " " << text;
  return value.ok() ? *value : FieldValue();
}

TEST(PlanValue, EveryKindIsReadInItsUnit) {
  EXPECT_EQ(Value("file_size", "64M"), FieldValue(uint64_t{64} << 20U));
  EXPECT_EQ(Value("duration", "1.5s"), FieldValue(int64_t{1'500'000'000}));
  EXPECT_EQ(Value("qm", "10"), FieldValue(uint64_t{10}));
  EXPECT_EQ(Value("rate", "0.5"), FieldValue(0.5));
  EXPECT_EQ(Value("sync", "FDATASYNC"), FieldValue(EnumNumber{v1::SYNC_MODE_FDATASYNC}));
  EXPECT_EQ(Value("trace", "off"), FieldValue(EnumNumber{v1::TOGGLE_OFF}));
  EXPECT_EQ(Value("keep_files", "yes"), FieldValue(true));
  EXPECT_EQ(Value("keep_files", "Off"), FieldValue(false));
  EXPECT_EQ(Value("name", " any text "), FieldValue(std::string(" any text ")));
}

TEST(PlanValue, ABareTimeIsInTheUnitOfItsRule) {
  EXPECT_EQ(Value("duration", "3"), FieldValue(int64_t{3'000'000'000}));
  EXPECT_EQ(Value("delay", "3"), FieldValue(int64_t{3'000}));
  EXPECT_EQ(Value("delay", "3s"), FieldValue(int64_t{3'000'000'000}));
}

TEST(PlanValue, LimitsAreInclusive) {
  EXPECT_EQ(Value("file_size", "4k"), FieldValue(uint64_t{4096}));
  EXPECT_EQ(Value("file_size", "2t"), FieldValue(uint64_t{2} << 40U));
  EXPECT_THAT(ParseValue(Field("file_size"), "4095"), StatusIs(StatusCode::kInvalidArgument, "out of range"));
  EXPECT_THAT(ParseValue(Field("file_size"), "2199023255553"), StatusIs(StatusCode::kInvalidArgument, "out of range"));
}

TEST(PlanValue, WhatIsWrongIsSaidWithWhatIsExpected) {
  const std::string long_time = "0." + std::string(5000, '0') + "1s";
  const std::string long_text(4097, 'x');
  // Views, since the analyzer is slow with lists of many strings.
  struct Case {
    std::string_view key;
    std::string_view text;
    std::string_view message;
  };
  const std::vector<Case> cases = {
      {"file_size", "64q", "'64q' is not a size: expected a size from 4k to 2t, such as 4096, 64k or 16m"},
      {"file_size", "-4k", "'-4k' is not a size"},
      {"file_size", "", "'' is not a size"},
      {"file_size", "99999999999g", "'99999999999g' is not a size"},
      {"duration", "0", "'0' is out of range: expected a time from 100ms to 3650d"},
      {"duration", "-5", "'-5' is out of range"},
      {"duration", "10x",
       "'10x' is not a time: expected a time from 100ms to 3650d; units are ns, us, ms, s, m, h and d, such as 250us "
       "or 1h30m"},
      {"duration", "1e3", "'1e3' is not a time"},
      {"duration", long_time, "is not a value"},
      {"qm", "0", "'0' is out of range: expected a whole number from 1 to 4096"},
      {"qm", "-1", "'-1' is out of range"},
      {"qm", "99999999999999999999", "is out of range"},
      {"qm", "1.5", "'1.5' is not a whole number"},
      {"qm", "4k", "'4k' is not a whole number"},
      {"qm", "two", "'two' is not a whole number"},
      {"rate", "nan", "'nan' is not a number"},
      {"rate", "inf", "'inf' is not a number"},
      {"rate", "1e400", "'1e400' is out of range"},
      {"rate", "-1", "'-1' is out of range: expected a number from 0.001 to 1000000, or 0"},
      {"rate", "0.0005", "'0.0005' is out of range: expected a number from 0.001 to 1000000, or 0"},
      {"sync", "osync", "'osync' is not known: expected one of dsync, sync, fdatasync, none"},
      {"sync", "unspecified", "'unspecified' is not known"},
      {"trace", "true", "'true' is not known: expected one of on, off"},
      {"keep_files", "1", "'1' is not a yes or no: expected true or false"},
      {"qm", "1\n", "'1?' is not a value"},
      {"name", "a\nb", "'a?b' holds a character that does not show"},
      {"name", "a\xFF", "'a?' is not UTF-8"},
      {"name", long_text, "is too long: expected text of at most 4096 bytes"},
  };
  for (const Case& given : cases) {
    EXPECT_THAT(ParseValue(Field(std::string(given.key)), std::string(given.text)),
                StatusIs(StatusCode::kInvalidArgument, given.message))
        << given.key;
  }
}

TEST(PlanValue, AListIsCommaSeparatedAndReplacesWhatWasThere) {
  v1::TestPlan plan;
  plan.add_block_size_bytes(1);
  ASSERT_THAT(SetFromText(Field("block_size"), "5K, 9K", plan), IsOk());
  EXPECT_THAT(plan.block_size_bytes(), ElementsAre(5120, 9216));
}

TEST(PlanValue, AnErrorLeavesTheMessageAsItWas) {
  v1::TestPlan plan;
  plan.add_block_size_bytes(4096);
  EXPECT_THAT(SetFromText(Field("block_size"), "8k,x", plan),
              StatusIs(StatusCode::kInvalidArgument, "'x' is not a size"));
  EXPECT_THAT(SetFromText(Field("block_size"), "", plan), StatusIs(StatusCode::kInvalidArgument, "'' is not a size"));
  EXPECT_THAT(plan.block_size_bytes(), ElementsAre(4096));
}

TEST(PlanValue, EveryKindIsWrittenAsPeopleWriteIt) {
  v1::TestPlan plan;
  plan.add_block_size_bytes(4096);
  plan.add_block_size_bytes(5000);
  plan.set_duration_ns(90'000'000'000);
  plan.set_max_slew_ppm(1e6);
  plan.set_trace(v1::TOGGLE_OFF);
  plan.set_keep_files(true);
  plan.set_repeat(7);
  EXPECT_EQ(FormatValue(Field("block_size"), plan, 0), "4k");
  EXPECT_EQ(FormatValue(Field("block_size"), plan, 1), "5000");
  EXPECT_EQ(FormatValue(Field("duration"), plan), "90s");
  EXPECT_EQ(FormatValue(Field("max_slew"), plan), "1000000");
  EXPECT_EQ(FormatValue(Field("trace"), plan), "off");
  EXPECT_EQ(FormatValue(Field("keep_files"), plan), "true");
  EXPECT_EQ(FormatValue(Field("repeat"), plan), "7");
}

}  // namespace
}  // namespace plimsoll
