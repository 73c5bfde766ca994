#include "controller/plan/plan_schema.h"

#include <google/protobuf/descriptor.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

std::string WithRange(const std::string& what, const FieldDescriptor& field) {
  const std::string range = RangeText(field);
  return range.empty() ? what : absl::StrCat(what, " ", range);
}

}  // namespace

std::vector<std::string> FieldKeys(const Descriptor& message) {
  std::vector<std::string> keys;
  for (const FieldDescriptor& field : FieldsOf(message)) {
    if (!RuleOf(field).no_key()) keys.push_back(FieldKey(field));
  }
  return keys;
}

PlanKey::PlanKey(const std::string& path) : key(path), text(path) {
  const Descriptor* type = v1::TestPlan::descriptor();
  const FieldDescriptor* field = nullptr;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(path, '.'))) {
    field = type == nullptr ? nullptr : FindField(*type, part);
    if (field == nullptr) return;
    type = field->message_type();
  }
  if (!RuleOf(*field).flag().empty()) text = absl::StrCat("--", RuleOf(*field).flag(), " (", path, ")");
}

const FieldDescriptor* FindField(const Descriptor& message, const std::string& key) {
  for (const FieldDescriptor& field : FieldsOf(message)) {
    if (FieldKey(field) == key && !RuleOf(field).no_key()) return &field;
  }
  return nullptr;
}

std::vector<std::string> EnumWords(const EnumDescriptor& type) {
  std::vector<std::string> words;
  for (int i = 1; i < type.value_count(); ++i) words.push_back(EnumWord(*type.value(i)));
  return words;
}

std::string Expected(const FieldDescriptor& field) {
  switch (KindOf(field)) {
    case ValueKind::kSize:
      return WithRange("a size", field);
    case ValueKind::kTime:
      return WithRange("a time", field);
    case ValueKind::kInteger:
      return WithRange("a whole number", field);
    case ValueKind::kNumber:
      return WithRange("a number", field);
    case ValueKind::kEnum:
      return absl::StrCat("one of ", absl::StrJoin(EnumWords(*field.enum_type()), ", "));
    case ValueKind::kBool:
      return "true or false";
    case ValueKind::kText:
      return absl::StrCat("text of at most ", kMaxTextBytes, " bytes");
    case ValueKind::kMessage:
      break;
  }
  return absl::StrCat("keys with values, such as ", absl::StrJoin(FieldKeys(*field.message_type()), ", "));
}

std::string Summary(const FieldDescriptor& field) {
  const std::string& default_value = RuleOf(field).default_value();
  std::string range = RangeText(field);
  if (default_value.empty()) return range;
  const std::string& bare = RuleOf(field).bare_flag();
  return absl::StrCat("default ", default_value, range.empty() ? "" : ", ", range,
                      bare.empty() ? "" : absl::StrCat("; without a value ", bare));
}

const FieldDescriptor* SectionField(const Descriptor& message) {
  for (const FieldDescriptor& field : FieldsOf(*v1::TestPlan::descriptor())) {
    if (field.message_type() == &message && !field.is_repeated()) return &field;
  }
  return nullptr;
}

namespace {

using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::array<const char*, 3> kTrueWords = {"true", "yes", "on"};
constexpr std::array<const char*, 3> kFalseWords = {"false", "no", "off"};
// No size, time or number needs more letters.
constexpr size_t kMaxValueLength = 64;

// `hint` follows what the field accepts.
absl::Status BadValue(const FieldDescriptor& field, const std::string& text, const std::string& problem,
                      const std::string& hint = "") {
  return absl::InvalidArgumentError(absl::StrCat(Quoted(text), " ", problem, ": expected ", Expected(field), hint));
}

// Nanoseconds of a time without a unit.
int64_t BareUnitNs(const FieldDescriptor& field) {
  const std::string& unit = RuleOf(field).bare_unit();
  const absl::StatusOr<int64_t> one = ParseDuration("1" + unit);
  return one.ok() ? *one : kNsPerSecond;
}

template <typename T>
absl::StatusOr<FieldValue> ParseNumber(const FieldDescriptor& field, const std::string& text, const char* problem) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range && rest == end) return BadValue(field, text, "is out of range");
  if (error != std::errc() || rest != end) return BadValue(field, text, problem);
  return FieldValue(value);
}

absl::StatusOr<FieldValue> ParseInteger(const FieldDescriptor& field, const std::string& text) {
  constexpr const char* kProblem = "is not a whole number";
  PLIMSOLL_ASSIGN_OR_RETURN(FieldValue value, ParseNumber<int64_t>(field, text, kProblem));
  const int64_t number = std::get<int64_t>(value);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return value;
    case FieldDescriptor::CPPTYPE_INT32:
      if (number < std::numeric_limits<int32_t>::min() || number > std::numeric_limits<int32_t>::max()) break;
      return value;
    case FieldDescriptor::CPPTYPE_UINT32:
      if (number < 0 || number > std::numeric_limits<uint32_t>::max()) break;
      return FieldValue(static_cast<uint64_t>(number));
    default:
      if (number < 0) break;
      return FieldValue(static_cast<uint64_t>(number));
  }
  return BadValue(field, text, "is out of range");
}

// FieldRule.bare_unit of numbers that may be written in thousands and millions.
constexpr char kCountUnit[] = "count";

// "250k" as "250000", "1m" as "1000000"; other text as it is.
std::string InUnits(const std::string& text) {
  for (const auto& [suffix, zeros] : {std::pair('k', "000"), std::pair('m', "000000")}) {
    if (text.size() > 1 && absl::ascii_tolower(static_cast<unsigned char>(text.back())) == suffix) {
      return absl::StrCat(text.substr(0, text.size() - 1), zeros);
    }
  }
  return text;
}

absl::StatusOr<FieldValue> ParseReal(const FieldDescriptor& field, const std::string& text) {
  constexpr const char* kProblem = "is not a number";
  // "5%" and "5" are the same of what is in percent.
  const bool percent = absl::EndsWith(field.name(), "_percent") && absl::EndsWith(text, "%");
  PLIMSOLL_ASSIGN_OR_RETURN(FieldValue value,
                            ParseNumber<double>(field, percent ? text.substr(0, text.size() - 1) : text, kProblem));
  const double number = std::get<double>(value);
  if (!std::isfinite(number)) return BadValue(field, text, kProblem);
  // One zero only, so that equal plans are equal byte for byte.
  if (number == 0) value = 0.0;
  return value;
}

absl::StatusOr<FieldValue> ParseEnum(const FieldDescriptor& field, const std::string& text) {
  const EnumDescriptor& type = *field.enum_type();
  const std::vector<std::string> words = EnumWords(type);
  const std::string word = absl::AsciiStrToLower(text);
  for (size_t i = 0; i < words.size(); ++i) {
    // EnumWords leaves out value 0 alone, which comes first.
    if (word == words[i]) return FieldValue(EnumNumber{type.value(static_cast<int>(i) + 1)->number()});
  }
  return BadValue(field, text, "is not known");
}

absl::StatusOr<FieldValue> ParseBool(const FieldDescriptor& field, const std::string& text) {
  const std::string word = absl::AsciiStrToLower(text);
  for (const char* known : kTrueWords) {
    if (word == known) return FieldValue(true);
  }
  for (const char* known : kFalseWords) {
    if (word == known) return FieldValue(false);
  }
  return BadValue(field, text, "is not a yes or no");
}

absl::StatusOr<FieldValue> ParseText(const FieldDescriptor& field, const std::string& text) {
  if (text.size() > kMaxTextBytes) return BadValue(field, text, "is too long");
  if (FindInvalidUtf8(text) != std::string::npos) return BadValue(field, text, "is not UTF-8");
  if (HasControl(text)) return BadValue(field, text, "holds a character that does not show");
  return FieldValue(text);
}

// The value without a look at its range.
absl::StatusOr<FieldValue> ParseUnchecked(const FieldDescriptor& field, const std::string& text) {
  const ValueKind kind = KindOf(field);
  if (kind == ValueKind::kText) return ParseText(field, text);
  if (text.size() > kMaxValueLength || FindInvalidUtf8(text) != std::string::npos || HasControl(text)) {
    return BadValue(field, text, "is not a value");
  }
  switch (kind) {
    case ValueKind::kSize: {
      const absl::StatusOr<uint64_t> size = ParseSize(text);
      if (!size.ok()) return BadValue(field, text, "is not a size", ", such as 4096, 64k or 16m");
      return FieldValue(*size);
    }
    case ValueKind::kTime: {
      const absl::StatusOr<int64_t> time = ParseDuration(text, BareUnitNs(field));
      if (!time.ok())
        return BadValue(field, text, "is not a time", "; units are ns, us, ms, s, m, h and d, such as 250us or 1h30m");
      return FieldValue(*time);
    }
    case ValueKind::kInteger:
      return ParseInteger(field, RuleOf(field).bare_unit() == kCountUnit ? InUnits(text) : text);
    case ValueKind::kNumber:
      return ParseReal(field, text);
    case ValueKind::kEnum:
      return ParseEnum(field, text);
    case ValueKind::kBool:
      return ParseBool(field, text);
    case ValueKind::kText:
    case ValueKind::kMessage:
      break;
  }
  return BadValue(field, text, "is not a value");
}

}  // namespace

absl::StatusOr<FieldValue> ParseValue(const FieldDescriptor& field, const std::string& text) {
  PLIMSOLL_ASSIGN_OR_RETURN(FieldValue value, ParseUnchecked(field, text));
  const bool in_range = std::visit(
      [&field](const auto& typed) {
        using T = std::decay_t<decltype(typed)>;
        if constexpr (std::is_constructible_v<FieldNumber, T> && !std::is_same_v<T, bool>) {
          return InRange(field, FieldNumber(typed));
        } else {
          return true;
        }
      },
      value);
  if (!in_range) return BadValue(field, text, "is out of range");
  return value;
}

std::vector<std::string> SplitList(const FieldDescriptor& field, const std::string& text) {
  if (text.empty()) return {};
  if (!field.is_repeated()) return {text};
  std::vector<std::string> parts = absl::StrSplit(text, ',');
  for (std::string& part : parts) part = std::string(absl::StripAsciiWhitespace(part));
  return parts;
}

absl::Status SetFromText(const FieldDescriptor& field, const std::string& text, Message& message) {
  std::vector<FieldValue> values;
  std::vector<std::string> parts = SplitList(field, text);
  // Nothing is a value of its own: empty text, and no size.
  if (parts.empty()) parts.emplace_back();
  for (const std::string& part : parts) {
    PLIMSOLL_ASSIGN_OR_RETURN(FieldValue value, ParseValue(field, part));
    values.push_back(std::move(value));
  }
  message.GetReflection()->ClearField(&message, &field);
  for (const FieldValue& value : values) StoreValue(field, value, message);
  return absl::OkStatus();
}

void StoreValue(const FieldDescriptor& field, const FieldValue& value, Message& message) {
  const Reflection& reflection = *message.GetReflection();
  const bool add = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT64: {
      const uint64_t v = std::get<uint64_t>(value);
      return add ? reflection.AddUInt64(&message, &field, v) : reflection.SetUInt64(&message, &field, v);
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      const auto v = static_cast<uint32_t>(std::get<uint64_t>(value));
      return add ? reflection.AddUInt32(&message, &field, v) : reflection.SetUInt32(&message, &field, v);
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      const int64_t v = std::get<int64_t>(value);
      return add ? reflection.AddInt64(&message, &field, v) : reflection.SetInt64(&message, &field, v);
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const double v = std::get<double>(value);
      return add ? reflection.AddDouble(&message, &field, v) : reflection.SetDouble(&message, &field, v);
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      const bool v = std::get<bool>(value);
      return add ? reflection.AddBool(&message, &field, v) : reflection.SetBool(&message, &field, v);
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int v = std::get<EnumNumber>(value).value;
      return add ? reflection.AddEnumValue(&message, &field, v) : reflection.SetEnumValue(&message, &field, v);
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string& v = std::get<std::string>(value);
      return add ? reflection.AddString(&message, &field, v) : reflection.SetString(&message, &field, v);
    }
    default:
      break;
  }
  // A test (plan_schema_test.cc) finds fields of another type.
  std::abort();
}

int CountOf(const FieldDescriptor& field, const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) return reflection.FieldSize(message, &field);
  return reflection.HasField(message, &field) ? 1 : 0;
}

// Lists of messages get none: each of their elements stands for itself.
void FillMessage(Message& message) {
  for (const FieldDescriptor& field : FieldsOf(*message.GetDescriptor())) {
    if (KindOf(field) == ValueKind::kMessage) {
      if (field.is_repeated() || (RuleOf(field).section() && CountOf(field, message) == 0)) continue;
      FillMessage(*message.GetReflection()->MutableMessage(&message, &field));
      continue;
    }
    if (CountOf(field, message) > 0) continue;
    for (const std::string& text : SplitList(field, RuleOf(field).default_value())) {
      // A test (plan_schema_test.cc) finds defaults that their own field refuses.
      StoreValue(field, ParseValue(field, text).value(), message);
    }
  }
}

}  // namespace plimsoll
