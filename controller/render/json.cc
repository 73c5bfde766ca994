#include "controller/render/json.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "common/units.h"
#include "google/protobuf/timestamp.pb.h"
#include "plimsoll/v1/options.pb.h"

namespace plimsoll {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Timestamp;

// Element `index` of a repeated field, or a singular one's value.
void WriteValue(const Message& message, const FieldDescriptor& field, int index, JsonWriter& json) {
  const Reflection& reflection = *message.GetReflection();
  const bool many = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return json.Int(many ? reflection.GetRepeatedInt32(message, &field, index)
                           : reflection.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_INT64:
      return json.Int(many ? reflection.GetRepeatedInt64(message, &field, index)
                           : reflection.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return json.UInt(many ? reflection.GetRepeatedUInt32(message, &field, index)
                            : reflection.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return json.UInt(many ? reflection.GetRepeatedUInt64(message, &field, index)
                            : reflection.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return json.Double(many ? reflection.GetRepeatedDouble(message, &field, index)
                              : reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return json.Double(many ? reflection.GetRepeatedFloat(message, &field, index)
                              : reflection.GetFloat(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return json.Bool(many ? reflection.GetRepeatedBool(message, &field, index) : reflection.GetBool(message, &field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return json.String(EnumName(*field.enum_type(), many ? reflection.GetRepeatedEnumValue(message, &field, index)
                                                           : reflection.GetEnumValue(message, &field)));
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text =
          many ? reflection.GetRepeatedString(message, &field, index) : reflection.GetString(message, &field);
      return json.String(field.type() == FieldDescriptor::TYPE_BYTES ? absl::BytesToHexString(text) : text);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return WriteJson(
          many ? reflection.GetRepeatedMessage(message, &field, index) : reflection.GetMessage(message, &field), json);
  }
}

}  // namespace

std::string EnumName(const google::protobuf::EnumDescriptor& type, int number) {
  // The prefix is the type's name: SyncMode makes SYNC_MODE_.
  std::string prefix;
  for (const char letter : type.name()) {
    if (absl::ascii_isupper(static_cast<unsigned char>(letter)) && !prefix.empty()) prefix += '_';
    prefix += absl::ascii_toupper(static_cast<unsigned char>(letter));
  }
  prefix += '_';
  const google::protobuf::EnumValueDescriptor* value = type.FindValueByNumber(number);
  if (value == nullptr) value = type.value(0);
  const std::string& name = value->name();
  return absl::AsciiStrToLower(name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name);
}

std::string FormatMoment(const Timestamp& moment) {
  constexpr int64_t kMaxSeconds = INT64_MAX / kNsPerSecond - 1;
  const int64_t seconds = std::clamp<int64_t>(moment.seconds(), 0, kMaxSeconds);
  return FormatUtc(seconds * kNsPerSecond + std::clamp<int64_t>(moment.nanos(), 0, kNsPerSecond - 1));
}

void WriteJson(const Message& message, JsonWriter& json) {
  if (message.GetDescriptor() == Timestamp::descriptor()) {
    Timestamp moment;
    moment.CopyFrom(message);
    json.String(FormatMoment(moment));
    return;
  }
  const Reflection& reflection = *message.GetReflection();
  json.BeginObject();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    if (field.is_repeated()) {
      json.Key(field.name());
      // Numbers stay on one line: a series is easier to read, and smaller, that way.
      const bool numbers =
          field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE && field.cpp_type() != FieldDescriptor::CPPTYPE_STRING;
      json.BeginArray(numbers);
      const int count = reflection.FieldSize(message, &field);
      for (int index = 0; index < count; ++index) WriteValue(message, field, index, json);
      json.EndArray();
    } else if (!field.has_presence() || reflection.HasField(message, &field)) {
      json.Key(field.name());
      WriteValue(message, field, 0, json);
    } else if (field.options().GetExtension(v1::nullable)) {
      json.Key(field.name());
      json.Null();
    }
  }
  json.EndObject();
}

std::string RenderJson(const Message& message) {
  JsonWriter json;
  WriteJson(message, json);
  return json.Take();
}

}  // namespace plimsoll
