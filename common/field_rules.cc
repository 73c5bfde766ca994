#include "common/field_rules.h"

#include <array>
#include <charconv>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// A whole number up to here prints without an exponent and reads back the same.
constexpr double kMaxPlainNumber = 1e15;
constexpr std::array<const char*, 5> kUnitSuffixes = {"_bytes", "_ns", "_per_second", "_ppm", "_percent"};

// A bound of a rule in the unit of its field; nothing where it is empty or none.
std::optional<FieldNumber> BoundOf(const FieldDescriptor& field, const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (KindOf(field) == ValueKind::kSize) {
    const auto size = ParseSize(text);
    return size.ok() ? std::optional<FieldNumber>(*size) : std::nullopt;
  }
  if (KindOf(field) == ValueKind::kTime) {
    const auto time = ParseDuration(text);
    return time.ok() ? std::optional<FieldNumber>(*time) : std::nullopt;
  }
  if (KindOf(field) == ValueKind::kNumber) {
    double number = 0;
    return absl::SimpleAtod(text, &number) ? std::optional<FieldNumber>(number) : std::nullopt;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64 || field.cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
    int64_t number = 0;
    return absl::SimpleAtoi(text, &number) ? std::optional<FieldNumber>(number) : std::nullopt;
  }
  uint64_t number = 0;
  return absl::SimpleAtoi(text, &number) ? std::optional<FieldNumber>(number) : std::nullopt;
}

// The field's number in `message`, number `index` of a list; nothing where it is none.
std::optional<FieldNumber> NumberIn(const Message& message, const FieldDescriptor& field, int index = 0) {
  const Reflection& reflection = *message.GetReflection();
  const bool list = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT64:
      return list ? reflection.GetRepeatedUInt64(message, &field, index) : reflection.GetUInt64(message, &field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return uint64_t{list ? reflection.GetRepeatedUInt32(message, &field, index)
                           : reflection.GetUInt32(message, &field)};
    case FieldDescriptor::CPPTYPE_INT64:
      return list ? reflection.GetRepeatedInt64(message, &field, index) : reflection.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_INT32:
      return int64_t{list ? reflection.GetRepeatedInt32(message, &field, index) : reflection.GetInt32(message, &field)};
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return list ? reflection.GetRepeatedDouble(message, &field, index) : reflection.GetDouble(message, &field);
    default:
      return std::nullopt;
  }
}

std::string FormatNumber(double value) {
  const bool plain = std::abs(value) < kMaxPlainNumber && value == std::floor(value);
  std::array<char, 64> buffer{};
  char* end = buffer.data() + buffer.size();
  const auto result = plain ? std::to_chars(buffer.data(), end, value, std::chars_format::fixed)
                            : std::to_chars(buffer.data(), end, value);
  return {buffer.data(), result.ptr};
}

std::string TextOf(const FieldDescriptor& field, const FieldNumber& number) {
  if (const auto* unsigned_number = std::get_if<uint64_t>(&number)) {
    return KindOf(field) == ValueKind::kSize ? FormatSize(*unsigned_number) : absl::StrCat(*unsigned_number);
  }
  if (const auto* signed_number = std::get_if<int64_t>(&number)) {
    return KindOf(field) == ValueKind::kTime ? FormatDuration(*signed_number) : absl::StrCat(*signed_number);
  }
  return absl::StrCat(std::get<double>(number));
}

bool IsZero(const FieldNumber& number) {
  return std::visit([](auto value) { return value == 0; }, number);
}

}  // namespace

ValueKind KindOf(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ValueKind::kMessage;
    case FieldDescriptor::CPPTYPE_ENUM:
      return ValueKind::kEnum;
    case FieldDescriptor::CPPTYPE_BOOL:
      return ValueKind::kBool;
    case FieldDescriptor::CPPTYPE_STRING:
      return ValueKind::kText;
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return ValueKind::kNumber;
    default:
      break;
  }
  if (absl::EndsWith(field.name(), "_bytes")) return ValueKind::kSize;
  return absl::EndsWith(field.name(), "_ns") ? ValueKind::kTime : ValueKind::kInteger;
}

const v1::FieldRule& RuleOf(const FieldDescriptor& field) {
  return field.options().GetExtension(v1::rule);
}

const FieldDescriptor& PlanField(int number) {
  return *v1::TestPlan::descriptor()->FindFieldByNumber(number);
}

std::string FieldKey(const FieldDescriptor& field) {
  for (const char* suffix : kUnitSuffixes) {
    if (absl::EndsWith(field.name(), suffix)) return std::string(absl::StripSuffix(field.name(), suffix));
  }
  return field.name();
}

std::string EnumWord(const EnumValueDescriptor& value) {
  // The prefix is what comes before UNSPECIFIED in the name of value 0.
  const std::string prefix(absl::StripSuffix(value.type()->value(0)->name(), "UNSPECIFIED"));
  std::string word = absl::AsciiStrToLower(std::string(absl::StripPrefix(value.name(), prefix)));
  return absl::StrJoin(absl::StrSplit(word, '_'), "-");
}

std::string FormatValue(const FieldDescriptor& field, const Message& message, int index) {
  if (const std::optional<FieldNumber> number = NumberIn(message, field, index)) {
    const auto* real = std::get_if<double>(&*number);
    return real != nullptr ? FormatNumber(*real) : TextOf(field, *number);
  }
  const Reflection& reflection = *message.GetReflection();
  const bool list = field.is_repeated();
  switch (KindOf(field)) {
    case ValueKind::kBool:
      return (list ? reflection.GetRepeatedBool(message, &field, index) : reflection.GetBool(message, &field))
                 ? "true"
                 : "false";
    case ValueKind::kEnum: {
      const int number =
          list ? reflection.GetRepeatedEnumValue(message, &field, index) : reflection.GetEnumValue(message, &field);
      const auto* value = field.enum_type()->FindValueByNumber(number);
      return value == nullptr ? absl::StrCat(number) : EnumWord(*value);
    }
    case ValueKind::kText:
      return list ? reflection.GetRepeatedString(message, &field, index) : reflection.GetString(message, &field);
    default:
      return "";
  }
}

std::string RangeText(const FieldDescriptor& field) {
  const v1::FieldRule& rule = RuleOf(field);
  if (rule.min().empty() && rule.max().empty()) return "";
  const std::string zero = rule.or_zero() ? ", or 0" : "";
  if (rule.max().empty()) return absl::StrCat("from ", rule.min(), zero);
  if (rule.min().empty()) return absl::StrCat("up to ", rule.max(), zero);
  return absl::StrCat("from ", rule.min(), " to ", rule.max(), zero);
}

bool InRange(const FieldDescriptor& field, const FieldNumber& number) {
  const v1::FieldRule& rule = RuleOf(field);
  if (const auto* real = std::get_if<double>(&number); real != nullptr && !std::isfinite(*real)) return false;
  if (rule.or_zero() && IsZero(number)) return true;
  for (const bool is_min : {true, false}) {
    const std::string& text = is_min ? rule.min() : rule.max();
    if (text.empty()) continue;
    const std::optional<FieldNumber> bound = BoundOf(field, text);
    if (!bound.has_value() || bound->index() != number.index()) return false;
    if (is_min ? number < *bound : *bound < number) return false;
  }
  return true;
}

std::optional<FieldNumber> LargestOf(const FieldDescriptor& field) {
  return BoundOf(field, RuleOf(field).max());
}

uint32_t LargestOfWorkload(int number) {
  const FieldDescriptor& field = *v1::LogWorkload::descriptor()->FindFieldByNumber(number);
  return static_cast<uint32_t>(std::get<uint64_t>(LargestOf(field).value()));
}

absl::Status CheckRange(const FieldDescriptor& field, const FieldNumber& number) {
  if (InRange(field, number)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(FieldKey(field), " must be ", RangeText(field), "; it is ", TextOf(field, number)));
}

absl::Status CheckRanges(const Message& message) {
  for (const FieldDescriptor& field : FieldsOf(*message.GetDescriptor())) {
    if (field.is_repeated()) continue;
    const std::optional<FieldNumber> number = NumberIn(message, field);
    if (number.has_value()) PLIMSOLL_RETURN_IF_ERROR(CheckRange(field, *number));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll
