#include "controller/compare/report_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "controller/render/json.h"
#include "google/protobuf/timestamp.pb.h"
#include "tests/random_seed.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Random = std::mt19937_64;

template <typename Value>
Value OneOf(const std::vector<Value>& values, Random& random) {
  return values[random() % values.size()];
}

// Fills every field of a message with something odd, repeated ones with up to three.
void Fill(Message& message, Random& random);

void FillField(const FieldDescriptor& field, Message& message, Random& random) {
  const Reflection& reflection = *message.GetReflection();
  const bool many = field.is_repeated();
  const auto whole =
      OneOf<uint64_t>({0, 1, 999, INT32_MAX, UINT32_MAX, (1ULL << 53) + 1, INT64_MAX, 1ULL << 63, UINT64_MAX}, random);
  const auto real = OneOf<double>({0.0, -0.0, 1.0, -2.5, 0.1, 1e300, 5e-324, 12345678901234567890.0, -1e15, 1e22,
                                   std::numeric_limits<double>::infinity(), std::nan("")},
                                  random);
  const auto text =
      OneOf<std::string>({"", "plain", "\"quoted\\\"", "a\nb\tc\x01", "\x1b[31m", "\xff\xfe", "\u00e9\u20ac\U0001F600",
                          "<script>", "\u202e", "\U000E0041tag", "\xed\xa0\x80", std::string("nul\0", 4)},
                         random);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return many ? reflection.AddInt32(&message, &field, static_cast<int32_t>(whole))
                  : reflection.SetInt32(&message, &field, static_cast<int32_t>(whole));
    case FieldDescriptor::CPPTYPE_INT64:
      return many ? reflection.AddInt64(&message, &field, static_cast<int64_t>(whole))
                  : reflection.SetInt64(&message, &field, static_cast<int64_t>(whole));
    case FieldDescriptor::CPPTYPE_UINT32:
      return many ? reflection.AddUInt32(&message, &field, static_cast<uint32_t>(whole))
                  : reflection.SetUInt32(&message, &field, static_cast<uint32_t>(whole));
    case FieldDescriptor::CPPTYPE_UINT64:
      return many ? reflection.AddUInt64(&message, &field, whole) : reflection.SetUInt64(&message, &field, whole);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return many ? reflection.AddDouble(&message, &field, real) : reflection.SetDouble(&message, &field, real);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return many ? reflection.AddFloat(&message, &field, static_cast<float>(real))
                  : reflection.SetFloat(&message, &field, static_cast<float>(real));
    case FieldDescriptor::CPPTYPE_BOOL:
      return many ? reflection.AddBool(&message, &field, whole % 2 == 1)
                  : reflection.SetBool(&message, &field, whole % 2 == 1);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto index = static_cast<int>(random() % static_cast<uint64_t>(field.enum_type()->value_count()));
      const int number = field.enum_type()->value(index)->number();
      return many ? reflection.AddEnumValue(&message, &field, number)
                  : reflection.SetEnumValue(&message, &field, number);
    }
    case FieldDescriptor::CPPTYPE_STRING:
      return many ? reflection.AddString(&message, &field, text) : reflection.SetString(&message, &field, text);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Fill(many ? *reflection.AddMessage(&message, &field) : *reflection.MutableMessage(&message, &field),
                  random);
  }
}

void Fill(Message& message, Random& random) {
  if (message.GetDescriptor() == google::protobuf::Timestamp::descriptor()) {
    google::protobuf::Timestamp moment;
    moment.set_seconds(OneOf<int64_t>({0, 1, 951'782'400, 1'795'202'411, 9'000'000'000}, random));
    moment.set_nanos(static_cast<int32_t>(random() % 1'000'000'000));
    message.CopyFrom(moment);
    return;
  }
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    // Some stay away.
    const uint64_t count = field.is_repeated() ? random() % 4 : random() % 8 == 0 ? 0 : 1;
    for (uint64_t element = 0; element < count; ++element) FillField(field, message, random);
  }
}

TEST(ReportJsonProperty, WhatWasRenderedIsReadBack) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int round = 0; round < 300; ++round) {
    v1::Report report;
    Fill(report, random);
    report.set_format(1);
    report.mutable_run();
    const std::string json = RenderJson(report);
    const absl::StatusOr<v1::Report> again = ParseReportJson(json);
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << json;
    ASSERT_EQ(RenderJson(*again), json);
  }
}

std::string ErrorOf(const std::string& json) {
  const absl::StatusOr<v1::Report> report = ParseReportJson(json);
  return report.ok() ? "no error" : std::string(report.status().message());
}

constexpr char kLeast[] = R"({"format": 1, "run": {}, "steps": []})";

TEST(ReportJson, FilesThatAreNoReportsAreRefusedInOneSentence) {
  EXPECT_EQ(ErrorOf(kLeast), "no error");
  EXPECT_THAT(ErrorOf(""), HasSubstr("is not JSON: parse error at line 1, column 1"));
  EXPECT_THAT(ErrorOf("{\"format\": 1,\n}"), HasSubstr("is not JSON: parse error at line 2"));
  EXPECT_THAT(ErrorOf("\xff"), HasSubstr("is not JSON"));
  EXPECT_EQ(ErrorOf("[]"), "is not the report of a run (report.json)");
  EXPECT_EQ(ErrorOf("17"), "is not the report of a run (report.json)");
  EXPECT_EQ(ErrorOf(R"({"fio version": "fio-3.33", "jobs": []})"), "is not the report of a run (report.json)");
  EXPECT_EQ(ErrorOf(R"({"format": "1", "run": {}, "steps": []})"), "is not the report of a run (report.json)");
}

TEST(ReportJson, NewerFormatsAreDistinguishedFromBrokenOnes) {
  const absl::StatusOr<v1::Report> report = ParseReportJson(R"({"format": 2, "run": 1, "steps": {}})");
  EXPECT_EQ(report.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(report.status().message(), "has format 2; this version of plimsoll reads format 1");
}

TEST(ReportJson, WrongMembersAreNamed) {
  const auto with_step = [](const std::string& member) {
    return ErrorOf(R"({"format": 1, "run": {}, "steps": [{}, {)" + member + "}]}");
  };
  EXPECT_EQ(with_step(R"("number": -1)"), "steps[1].number is not a whole number of at least 0 and 32 bits");
  EXPECT_EQ(with_step(R"("number": 4294967296)"), "steps[1].number is not a whole number of at least 0 and 32 bits");
  EXPECT_EQ(with_step(R"("number": 1.5)"), "steps[1].number is not a whole number of at least 0 and 32 bits");
  EXPECT_EQ(with_step(R"("measured_ns": 9223372036854775808)"),
            "steps[1].measured_ns is not a whole number of 64 bits");
  EXPECT_EQ(with_step(R"("measured_ns": -9223372036854775808)"), "no error");
  EXPECT_EQ(with_step(R"("cut_short": 7)"), "steps[1].cut_short is not a string");
  EXPECT_EQ(with_step(R"("start": "yesterday")"), "steps[1].start is not a moment");
  EXPECT_EQ(with_step(R"("series": {})"), "steps[1].series is not an array");
  EXPECT_EQ(with_step(R"("series": [3])"), "steps[1].series[0] is not an object");
  EXPECT_EQ(with_step(R"("scopes": [{"kind": "galaxy"}])"),
            "steps[1].scopes[0].kind is not a ScopeKind that this version knows");
  EXPECT_EQ(with_step(R"("scopes": [{"iops": "fast"}])"), "steps[1].scopes[0].iops is not a number");
  EXPECT_EQ(with_step(R"("in_flight": null)"), "steps[1].in_flight is not an array");
}

TEST(ReportJson, MembersOfOtherVersionsAreNoErrors) {
  EXPECT_EQ(ErrorOf(R"({"format": 1, "run": {"colour": "red"}, "steps": [], "more": [1, 2]})"), "no error");
}

// A text of a million things that take three bytes each.
std::string Million(const std::string& before, const std::string& thing, const std::string& after) {
  std::string text = before + thing;
  for (int i = 1; i < 1'000'000; ++i) text.append(",").append(thing);
  return text + after;
}

TEST(ReportJson, MoreObjectsThanItsSizeJustifiesAreRefused) {
  for (const std::string& text : {Million(R"({"format": 1, "run": {}, "steps": [)", "{}", "]}"),
                                  Million(R"({"format": 1, "run": {}, "steps": [{"scopes": [)", "{}", "]}]}"),
                                  Million(R"({"format": 1, "run": {}, "steps": [], "hosts": [)", "{}", "]}")}) {
    const absl::StatusOr<v1::Report> report = ParseReportJson(text);
    EXPECT_EQ(report.status().code(), absl::StatusCode::kResourceExhausted) << report.status();
  }
  EXPECT_THAT(ErrorOf(Million(R"({"format": 1, "run": {}, "steps": [], "hosts": [)", "{}", "]}")),
              ::testing::MatchesRegex(R"(hosts\[[0-9]+\]: the report has more objects and strings than a report .*)"));
}

TEST(ReportJson, NumbersAreNotCountedAsObjects) {
  const absl::StatusOr<v1::Report> report =
      ParseReportJson(Million(R"({"format": 1, "run": {}, "steps": [{"series": [{"writes": [)", "10", "]}]}]}"));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->steps(0).series(0).writes_size(), 1'000'000);
}

TEST(ParseMoment, ReadsWhatIsWrittenAndNothingElse) {
  const auto parsed = [](const std::string& text) {
    const absl::StatusOr<google::protobuf::Timestamp> moment = ParseMoment(text);
    return moment.ok() ? FormatMoment(*moment) : "no moment";
  };
  EXPECT_EQ(parsed("2026-11-20T19:20:11.000000042Z"), "2026-11-20T19:20:11.000000042Z");
  EXPECT_EQ(parsed("2024-02-29T23:59:59Z"), "2024-02-29T23:59:59.000000000Z");
  EXPECT_EQ(parsed("1970-01-01T00:00:00.5Z"), "1970-01-01T00:00:00.500000000Z");
  for (const char* wrong :
       {"", "Z", "2026-11-20", "2026-11-20 19:20:11Z", "2026-11-20T19:20:11", "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00.0000000001Z", "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00.1x2Z"}) {
    EXPECT_EQ(parsed(wrong), "no moment") << wrong;
  }
}

}  // namespace
}  // namespace plimsoll
