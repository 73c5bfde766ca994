// One value of a plan between its text and its field.
#pragma once

#include <google/protobuf/message.h>

#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll {

// Number of an enum's value.
struct EnumNumber {
  int value = 0;
  friend auto operator<=>(const EnumNumber& a, const EnumNumber& b) = default;
};

// A value in the unit of its field: sizes and unsigned integers, times and signed integers, numbers, booleans, text,
// enums.
using FieldValue = std::variant<uint64_t, int64_t, double, bool, std::string, EnumNumber>;

// Reads one value and checks its range. INVALID_ARGUMENT, on one line, says what was expected. Not for messages.
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

// Value number `index` (0 where the field is not repeated; the field must be set) in plan syntax: what ParseValue reads
// back to the same value.
std::string FormatValue(const google::protobuf::FieldDescriptor& field, const google::protobuf::Message& message,
                        int index = 0);

}  // namespace plimsoll
