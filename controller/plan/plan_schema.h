// What a plan can hold, read by reflection from the proto and its field rules: keys, kinds of values, limits; one value
// from its text to its field; and a problem of a plan with the keys that it names.
//
// There is no other table of options. YAML, command line, checks, example and reference all come through here.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/field_rules.h"

namespace plimsoll {

// Longest text that a value may be.
inline constexpr size_t kMaxTextBytes = 4096;

// Keys of a message in the proto's order. A field that has none (FieldRule.no_key) is not among them.
std::vector<std::string> FieldKeys(const google::protobuf::Descriptor& message);

// The field with that key; null where the message has none.
const google::protobuf::FieldDescriptor* FindField(const google::protobuf::Descriptor& message, const std::string& key);

// The field of a plan that holds one message of that type, its workload or a section; null: there is none.
const google::protobuf::FieldDescriptor* SectionField(const google::protobuf::Descriptor& message);

// A key of a plan as a problem names it.
struct PlanKey {
  // Named with its option, "--file-size (workload.file_size)"; alone where it has none.
  explicit PlanKey(const std::string& path);
  // Named in other words: PlanKey("workload.direct", "--direct off").
  PlanKey(std::string path, std::string words) : key(std::move(path)), text(std::move(words)) {}

  std::string key;
  std::string text;
};

// What keeps a plan from being run, in one line.
struct PlanProblem {
  // The line begins with the key that it is about; the parts are other keys, and what absl::StrCat takes.
  template <typename... Parts>
  explicit PlanProblem(const PlanKey& about, const Parts&... parts) : key(about.key), text(about.text) {
    (Append(parts), ...);
  }

  std::string key;
  // Other keys that the line names: it may only follow from a problem of theirs.
  std::vector<std::string> mentions;
  std::string text;

 private:
  void Append(const PlanKey& part) {
    mentions.push_back(part.key);
    text += part.text;
  }
  template <typename Part>
  void Append(const Part& part) {
    absl::StrAppend(&text, part);
  }
};

// Sets every field of the message that has a default and was not given.
void FillMessage(google::protobuf::Message& message);

// Spellings of an enum's values, lower case, without the prefix and without UNSPECIFIED.
std::vector<std::string> EnumWords(const google::protobuf::EnumDescriptor& type);

// What the field accepts, limits included: "a size from 4k to 2t", "one of dsync, sync, fdatasync, none".
std::string Expected(const google::protobuf::FieldDescriptor& field);

// Default and limits for help texts, "default 16m, from 4k to 2t"; empty where there is neither.
std::string Summary(const google::protobuf::FieldDescriptor& field);

// Number of an enum's value.
struct EnumNumber {
  int value = 0;
  friend auto operator<=>(const EnumNumber& a, const EnumNumber& b) = default;
};

// A value in the unit of its field: sizes and unsigned integers, times and signed integers, numbers, booleans, text,
// enums.
using FieldValue = std::variant<uint64_t, int64_t, double, bool, std::string, EnumNumber>;

// Reads one value and checks its range. INVALID_ARGUMENT, on one line, with what was expected. Not for messages.
absl::StatusOr<FieldValue> ParseValue(const google::protobuf::FieldDescriptor& field, const std::string& text);

// The values in `text`: comma-separated where the field is repeated, one otherwise; none where the text is empty.
std::vector<std::string> SplitList(const google::protobuf::FieldDescriptor& field, const std::string& text);

// Reads the values of SplitList and sets them in `message`, whose type holds `field`, in place of what was there.
// INVALID_ARGUMENT as ParseValue; the message is then as before.
absl::Status SetFromText(const google::protobuf::FieldDescriptor& field, const std::string& text,
                         google::protobuf::Message& message);

// Sets the field, or adds to it where it is repeated.
void StoreValue(const google::protobuf::FieldDescriptor& field, const FieldValue& value,
                google::protobuf::Message& message);

// How often the field occurs in the message: 0 or 1 where it is not repeated.
int CountOf(const google::protobuf::FieldDescriptor& field, const google::protobuf::Message& message);

}  // namespace plimsoll
