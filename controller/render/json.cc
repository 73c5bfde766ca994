#include "controller/render/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/render/plain_text.h"
#include "google/protobuf/timestamp.pb.h"
#include "plimsoll/v1/options.pb.h"

namespace plimsoll {

void JsonWriter::Separate() {
  if (std::exchange(after_key_, false) || levels_.empty()) return;
  Level& level = levels_.back();
  const bool first = std::exchange(level.empty, false);
  if (compact_) {
    if (!first) out_ += ',';
    return;
  }
  if (level.one_line) {
    if (!first) out_ += ", ";
    return;
  }
  if (!first) out_ += ',';
  out_ += '\n';
  out_.append(2 * levels_.size(), ' ');
}

void JsonWriter::Begin(char bracket, bool one_line) {
  Separate();
  out_ += bracket;
  levels_.push_back({one_line, true});
}

void JsonWriter::End(char bracket) {
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty && !level.one_line && !compact_) {
    out_ += '\n';
    out_.append(2 * levels_.size(), ' ');
  }
  out_ += bracket;
}

JsonWriter& JsonWriter::Key(const std::string& key) {
  Separate();
  Quote(key);
  out_ += compact_ ? ":" : ": ";
  after_key_ = true;
  return *this;
}

void JsonWriter::Value(const std::string& text) {
  Separate();
  out_ += text;
}

void JsonWriter::String(const std::string& text) {
  Separate();
  Quote(text);
}

void JsonWriter::Double(double value) {
  if (!std::isfinite(value)) {
    Value("null");
    return;
  }
  if (value == 0) value = 0;  // "-0" would be read back as a whole number, which has no sign
  std::array<char, 40> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  Value(error == std::errc() ? std::string(digits.data(), end) : "null");
}

void JsonWriter::Quote(const std::string& text) {
  out_ += '"';
  for (size_t pos = 0; pos < text.size();) {
    const CodePoint point = DecodeUtf8(text, pos);
    pos += point.bytes;
    if (point.value == '"' || point.value == '\\') {
      out_ += '\\';
      out_ += static_cast<char>(point.value);
    } else if (point.value == '\n') {
      out_ += "\\n";
    } else if (IsControl(point.value) && point.value >= 0x10000) {
      // JSON escapes characters of that height in two halves.
      out_ +=
          absl::StrFormat("\\u%04x\\u%04x", 0xD800 + ((point.value - 0x10000) >> 10), 0xDC00 + (point.value & 0x3FF));
    } else if (IsControl(point.value)) {
      out_ += absl::StrFormat("\\u%04x", point.value);
    } else {
      AppendUtf8(point.value, out_);
    }
  }
  out_ += '"';
}

std::string JsonWriter::Take() {
  if (!compact_) out_ += '\n';
  return std::exchange(out_, std::string());
}

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
      if (reflection.FieldSize(message, &field) == 0 && field.options().GetExtension(v1::omit_empty)) continue;
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
      json.Key(field.name()).Null();
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
