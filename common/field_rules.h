// What a field of a plan accepts: the rules beside the fields in proto/plimsoll/v1, by which controller and agent
// check.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "plimsoll/v1/options.pb.h"

namespace plimsoll {

// What the text of a value means.
enum class ValueKind { kSize, kTime, kInteger, kNumber, kEnum, kBool, kText, kMessage };

// Kind of a value, of one element where the field is repeated.
ValueKind KindOf(const google::protobuf::FieldDescriptor& field);

// The fields of a message, in the order of its proto.
inline auto FieldsOf(const google::protobuf::Descriptor& type) {
  return std::views::iota(0, type.field_count()) |
         std::views::transform([&type](int i) -> const google::protobuf::FieldDescriptor& { return *type.field(i); });
}

// The field's rule; an empty one where it has none.
const v1::FieldRule& RuleOf(const google::protobuf::FieldDescriptor& field);

// The field of a TestPlan with that number: its rule holds, too, for what a HostPlan carries of it.
const google::protobuf::FieldDescriptor& PlanField(int number);

// YAML key: the name without its unit, `file_size` for file_size_bytes.
std::string FieldKey(const google::protobuf::FieldDescriptor& field);

// Spelling of an enum's value, such as "dsync".
std::string EnumWord(const google::protobuf::EnumValueDescriptor& value);

// Value number `index` (0 where the field is not repeated; the field must be set) in plan syntax: what ParseValue reads
// back to the same value.
std::string FormatValue(const google::protobuf::FieldDescriptor& field, const google::protobuf::Message& message,
                        int index = 0);

// "from 4k to 2t", "from 0.001 to 1000000, or 0"; empty where the rule has no bounds.
std::string RangeText(const google::protobuf::FieldDescriptor& field);

// A number in the unit of its field: sizes and unsigned integers, times and signed integers, others.
using FieldNumber = std::variant<uint64_t, int64_t, double>;

// Whether the rule accepts the number. Never where the number is none (NaN, infinity).
bool InRange(const google::protobuf::FieldDescriptor& field, const FieldNumber& number);

// The largest number that the rule accepts; nothing where it has no upper bound.
std::optional<FieldNumber> LargestOf(const google::protobuf::FieldDescriptor& field);

// LargestOf a LogWorkload's field with that number, which has no sign and an upper bound: 4096 queue managers on a
// host.
uint32_t LargestOfWorkload(int number);

// INVALID_ARGUMENT unless InRange: "qm must be from 1 to 4096; it is 0".
absl::Status CheckRange(const google::protobuf::FieldDescriptor& field, const FieldNumber& number);

// CheckRange of each number of the message itself that is not repeated, given or not.
absl::Status CheckRanges(const google::protobuf::Message& message);

}  // namespace plimsoll
