#include "controller/compare/report_json.h"

#include <chrono>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "controller/render/json.h"
#include "google/protobuf/message.h"
#include "google/protobuf/timestamp.pb.h"
#include "plimsoll/v1/options.pb.h"

namespace plimsoll {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Timestamp;
using nlohmann::json;

constexpr uint64_t kFormat = 1;
// Objects and strings of a report may take this much memory, and so many times the bytes of its text. Those of a real
// report take less than their text; an empty object takes three bytes of text and some hundred of memory.
constexpr uint64_t kFreeObjectBytes = uint64_t{64} << 20;
constexpr uint64_t kObjectBytesPerByte = 4;
// A pointer to an element, and a string beside its characters.
constexpr uint64_t kElementBytes = 8;
constexpr uint64_t kStringBytes = 32;

// The memory that a report's objects and strings may still take.
class ObjectBudget {
 public:
  explicit ObjectBudget(size_t text_bytes) : left_(kFreeObjectBytes + kObjectBytesPerByte * text_bytes) {}

  // False where there is not so much left.
  bool SpendOn(const Message& message) {
    const auto [known, added] = sizes_.emplace(message.GetDescriptor(), 0);
    if (added) known->second = message.SpaceUsedLong();  // it is empty
    return Spend(kElementBytes + known->second);
  }
  bool SpendOnString() { return Spend(kElementBytes + kStringBytes); }

 private:
  bool Spend(uint64_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

  uint64_t left_;
  std::map<const google::protobuf::Descriptor*, uint64_t> sizes_;
};

absl::Status TooManyObjects(const std::string& where) {
  return absl::ResourceExhaustedError(
      absl::StrCat(where, ": the report has more objects and strings than a report of its size can have"));
}

absl::Status Wrong(const std::string& where, const std::string& wanted) {
  return absl::InvalidArgumentError(absl::StrCat(where, " is not ", wanted));
}

absl::Status ReadObject(const json& object, const std::string& where, Message& message, ObjectBudget& budget);

template <typename Integer>
absl::StatusOr<Integer> ReadInteger(const json& value, const std::string& where) {
  constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<Integer>::max());
  if (value.is_number_unsigned() && value.get<uint64_t>() <= kLargest) {
    return static_cast<Integer>(value.get<uint64_t>());
  }
  // What is signed here is negative.
  if (std::is_signed_v<Integer> && value.is_number_integer() && !value.is_number_unsigned() &&
      value.get<int64_t>() >= static_cast<int64_t>(std::numeric_limits<Integer>::min())) {
    return static_cast<Integer>(value.get<int64_t>());
  }
  return Wrong(where, absl::StrCat("a whole number of ", std::is_signed_v<Integer> ? "" : "at least 0 and ",
                                   sizeof(Integer) * 8, " bits"));
}

absl::StatusOr<double> ReadDouble(const json& value, const std::string& where) {
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) return Wrong(where, "a number");
  return value.get<double>();
}

absl::StatusOr<int> ReadEnum(const json& value, const FieldDescriptor& field, const std::string& where) {
  const google::protobuf::EnumDescriptor& type = *field.enum_type();
  for (int i = 0; value.is_string() && i < type.value_count(); ++i) {
    if (EnumName(type, type.value(i)->number()) == value.get_ref<const std::string&>()) return type.value(i)->number();
  }
  return Wrong(where, absl::StrCat("a ", type.name(), " that this version knows"));
}

absl::StatusOr<std::string> ReadText(const json& value, const FieldDescriptor& field, const std::string& where) {
  if (!value.is_string()) return Wrong(where, "a string");
  const auto& text = value.get_ref<const std::string&>();
  if (field.type() != FieldDescriptor::TYPE_BYTES) return text;
  const bool hex = text.size() % 2 == 0 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hex) return Wrong(where, "a string of hexadecimal digits");
  return absl::HexStringToBytes(text);
}

// A scalar into a singular field, or at the end of a repeated one.
absl::Status ReadScalar(const json& value, const FieldDescriptor& field, const std::string& where, Message& message,
                        ObjectBudget& budget) {
  const Reflection& reflection = *message.GetReflection();
  const bool many = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      PLIMSOLL_ASSIGN_OR_RETURN(const int32_t number, ReadInteger<int32_t>(value, where));
      many ? reflection.AddInt32(&message, &field, number) : reflection.SetInt32(&message, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      PLIMSOLL_ASSIGN_OR_RETURN(const int64_t number, ReadInteger<int64_t>(value, where));
      many ? reflection.AddInt64(&message, &field, number) : reflection.SetInt64(&message, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      PLIMSOLL_ASSIGN_OR_RETURN(const uint32_t number, ReadInteger<uint32_t>(value, where));
      many ? reflection.AddUInt32(&message, &field, number) : reflection.SetUInt32(&message, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t number, ReadInteger<uint64_t>(value, where));
      many ? reflection.AddUInt64(&message, &field, number) : reflection.SetUInt64(&message, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      PLIMSOLL_ASSIGN_OR_RETURN(const double number, ReadDouble(value, where));
      many ? reflection.AddDouble(&message, &field, number) : reflection.SetDouble(&message, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_FLOAT: {
      PLIMSOLL_ASSIGN_OR_RETURN(const double wide, ReadDouble(value, where));
      const auto number = static_cast<float>(wide);
      many ? reflection.AddFloat(&message, &field, number) : reflection.SetFloat(&message, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      if (!value.is_boolean()) return Wrong(where, "true or false");
      const bool truth = value.get<bool>();
      many ? reflection.AddBool(&message, &field, truth) : reflection.SetBool(&message, &field, truth);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      PLIMSOLL_ASSIGN_OR_RETURN(const int number, ReadEnum(value, field, where));
      many ? reflection.AddEnumValue(&message, &field, number) : reflection.SetEnumValue(&message, &field, number);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      if (!budget.SpendOnString()) return TooManyObjects(where);
      PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadText(value, field, where));
      many ? reflection.AddString(&message, &field, text) : reflection.SetString(&message, &field, text);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      Message& part = many ? *reflection.AddMessage(&message, &field) : *reflection.MutableMessage(&message, &field);
      if (!budget.SpendOn(part)) return TooManyObjects(where);
      if (part.GetDescriptor() != Timestamp::descriptor()) return ReadObject(value, where, part, budget);
      if (!value.is_string()) return Wrong(where, "a moment");
      const absl::StatusOr<Timestamp> moment = ParseMoment(value.get_ref<const std::string&>());
      if (!moment.ok()) return Wrong(where, "a moment");
      part.CopyFrom(*moment);
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

absl::Status ReadObject(const json& object, const std::string& where, Message& message, ObjectBudget& budget) {
  if (!object.is_object()) return Wrong(where.empty() ? "the document" : where, "an object");
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const auto found = object.find(field.name());
    if (found == object.end()) continue;
    if (found->is_null() && field.options().GetExtension(v1::nullable)) continue;
    const std::string name = where.empty() ? field.name() : absl::StrCat(where, ".", field.name());
    if (!field.is_repeated()) {
      PLIMSOLL_RETURN_IF_ERROR(ReadScalar(*found, field, name, message, budget));
      continue;
    }
    if (!found->is_array()) return Wrong(name, "an array");
    size_t index = 0;
    for (const json& element : *found) {
      PLIMSOLL_RETURN_IF_ERROR(ReadScalar(element, field, absl::StrCat(name, "[", index++, "]"), message, budget));
    }
  }
  return absl::OkStatus();
}

// What the parser says, without its own name in front.
std::string Trimmed(const std::string& what) {
  const size_t end = what.find("] ");
  return end == std::string::npos ? what : what.substr(end + 2);
}

}  // namespace

absl::StatusOr<Timestamp> ParseMoment(const std::string& text) {
  absl::Status wrong = absl::InvalidArgumentError(absl::StrCat("\"", text,
                                                               "\" is not a moment such as "
                                                               "2026-11-20T19:20:11.000000000Z"));
  constexpr absl::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (text.size() < kShape.size() + 1 || text.back() != 'Z') return wrong;
  for (size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] == 'd' ? !absl::ascii_isdigit(static_cast<unsigned char>(text[i])) : text[i] != kShape[i]) {
      return wrong;
    }
  }
  const auto number = [&text](size_t pos, size_t length) {
    int value = 0;
    for (size_t i = pos; i < pos + length; ++i) value = 10 * value + (text[i] - '0');
    return value;
  };
  const std::chrono::year_month_day day{std::chrono::year(number(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  if (!day.ok() || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 59) return wrong;

  int nanos = 0;
  const std::string fraction = text.substr(kShape.size(), text.size() - kShape.size() - 1);
  if (!fraction.empty()) {
    if (fraction[0] != '.' || fraction.size() < 2 || fraction.size() > 10 ||
        fraction.find_first_not_of("0123456789", 1) != std::string::npos) {
      return wrong;
    }
    for (size_t i = 1; i <= 9; ++i) nanos = 10 * nanos + (i < fraction.size() ? fraction[i] - '0' : 0);
  }
  Timestamp moment;
  moment.set_seconds(int64_t{std::chrono::sys_days(day).time_since_epoch().count()} * 86'400 + number(11, 2) * 3'600 +
                     number(14, 2) * 60 + number(17, 2));
  moment.set_nanos(nanos);
  return moment;
}

namespace {

absl::Status ParseDocument(const std::string& text, json& document) {
  try {
    document = json::parse(text);
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("is not JSON: ", Trimmed(error.what())));
  }
  return absl::OkStatus();
}

bool HasFormat(const json& document) {
  return document.is_object() && document.contains("format") && document["format"].is_number_unsigned();
}

absl::Status CheckFormat(const json& document, uint64_t format) {
  const auto found = document["format"].get<uint64_t>();
  if (found == format) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("has format ", found, "; this version of plimsoll reads format ", format));
}

}  // namespace

absl::StatusOr<v1::Report> ParseReportJson(const std::string& text) {
  json document;
  PLIMSOLL_RETURN_IF_ERROR(ParseDocument(text, document));
  if (!HasFormat(document) || !document.contains("run") || !document.contains("steps")) {
    return absl::InvalidArgumentError("is not the report of a run (report.json)");
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckFormat(document, kFormat));
  v1::Report report;
  ObjectBudget budget(text.size());
  PLIMSOLL_RETURN_IF_ERROR(ReadObject(document, "", report, budget));
  return report;
}

absl::Status ParseJson(const std::string& text, uint64_t format, const std::string& what, Message& message) {
  json document;
  PLIMSOLL_RETURN_IF_ERROR(ParseDocument(text, document));
  if (!HasFormat(document)) return absl::InvalidArgumentError(absl::StrCat("is not ", what));
  PLIMSOLL_RETURN_IF_ERROR(CheckFormat(document, format));
  ObjectBudget budget(text.size());
  return ReadObject(document, "", message, budget);
}

}  // namespace plimsoll
