// What a plan can hold, read by reflection from the proto and its field rules: keys, kinds of values, limits.
//
// There is no other table of options. YAML, command line, checks, example and reference all come through here.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <string>
#include <vector>

#include "plimsoll/v1/options.pb.h"

namespace plimsoll {

// What the text of a value means.
enum class ValueKind { kSize, kTime, kInteger, kNumber, kEnum, kBool, kText, kMessage };

// Longest text that a value may be.
inline constexpr size_t kMaxTextBytes = 4096;

// The field's rule; an empty one where it has none.
const v1::FieldRule& RuleOf(const google::protobuf::FieldDescriptor& field);

// YAML key: the name without its unit, `file_size` for file_size_bytes.
std::string FieldKey(const google::protobuf::FieldDescriptor& field);

// Keys of a message in the proto's order.
std::vector<std::string> FieldKeys(const google::protobuf::Descriptor& message);

// The field with that key; null where the message has none.
const google::protobuf::FieldDescriptor* FindField(const google::protobuf::Descriptor& message, const std::string& key);

// Kind of a value, of one element where the field is repeated.
ValueKind KindOf(const google::protobuf::FieldDescriptor& field);

// Spelling of an enum's value, such as "dsync".
std::string EnumWord(const google::protobuf::EnumValueDescriptor& value);

// Spellings of an enum's values, lower case, without the prefix and without UNSPECIFIED.
std::vector<std::string> EnumWords(const google::protobuf::EnumDescriptor& type);

// What the field accepts, limits included: "a size from 4k to 1t", "one of dsync, sync, fdatasync, none".
std::string Expected(const google::protobuf::FieldDescriptor& field);

// "from 4k to 1t"; empty where the rule has no bounds.
std::string RangeText(const google::protobuf::FieldDescriptor& field);

// Default and limits for help texts, "default 16m, from 4k to 1t"; empty where there is neither.
std::string Summary(const google::protobuf::FieldDescriptor& field);

// What is wrong with the rules of a message and those below it: a field without help, a default outside its range, a
// flag that two fields have, a field of a type that a plan cannot hold. Empty: nothing.
std::vector<std::string> SchemaProblems(const google::protobuf::Descriptor& message);

}  // namespace plimsoll
