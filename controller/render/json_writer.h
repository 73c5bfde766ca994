// Writes JSON, one value after another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
  void Key(const std::string& key);

  // Escaped as JSON demands, and control characters of every kind besides; what is not UTF-8 becomes U+FFFD.
  void String(const std::string& text);
  void Null() { Value("null"); }
  void Bool(bool value) { Value(value ? "true" : "false"); }
  void Int(int64_t value) { Value(std::to_string(value)); }
  void UInt(uint64_t value) { Value(std::to_string(value)); }
  // The shortest spelling that reads back the same; null where it is no finite number, which JSON cannot say.
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

}  // namespace plimsoll
