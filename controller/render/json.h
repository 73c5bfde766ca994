// Reports and comparisons as JSON, and the schema of that JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/timestamp.pb.h"

namespace plimsoll {

// JSON with its members in the order in which they are written: indented, or (compact) without a blank or line break.
// The caller balances begin and end, and writes a key before every member of an object. Not thread-safe.
class JsonWriter {
 public:
  explicit JsonWriter(bool compact = false) : compact_(compact) {}

  void BeginObject() { Begin('{', false); }
  void EndObject() { End('}'); }
  // `one_line`: without line breaks; for columns of numbers.
  void BeginArray(bool one_line = false) { Begin('[', one_line); }
  void EndArray() { End(']'); }
  // Returns the writer, for the value: json.Key("qm").UInt(3).
  JsonWriter& Key(const std::string& key);

  // Escaped as JSON demands, and control characters of every kind besides; what is not UTF-8 becomes U+FFFD.
  void String(const std::string& text);
  void Null() { Value("null"); }
  void Bool(bool value) { Value(value ? "true" : "false"); }
  void Int(int64_t value) { Value(std::to_string(value)); }
  void UInt(uint64_t value) { Value(std::to_string(value)); }
  // The shortest spelling that reads back the same; null where it is not a finite number, which JSON does not have.
  void Double(double value);

  // The text; indented, with a line break at its end.
  std::string Take();

 private:
  struct Level {
    bool one_line = false;
    bool empty = true;
  };
  void Begin(char bracket, bool one_line);
  void End(char bracket);
  // Comma, line break and indentation before a member.
  void Separate();
  void Value(const std::string& text);
  void Quote(const std::string& text);

  bool compact_;
  std::string out_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

// Field names as in the message's proto and in its order, zeros printed, absent fields with presence left out,
// 64-bit numbers as numbers, moments as RFC 3339 with nine digits, enums in lower case without their prefix, bytes as
// hex.
std::string RenderJson(const google::protobuf::Message& message);

// Any message in the same way, as one value of a JSON text.
void WriteJson(const google::protobuf::Message& message, JsonWriter& json);

// How an enum value is spelled in JSON and CSV: SYNC_MODE_DSYNC is "dsync". Unknown numbers are "unspecified".
std::string EnumName(const google::protobuf::EnumDescriptor& type, int number);

// RFC 3339 in UTC with nine digits of the second. Moments that 64 bits of nanoseconds cannot hold are clamped.
std::string FormatMoment(const google::protobuf::Timestamp& moment);

}  // namespace plimsoll
