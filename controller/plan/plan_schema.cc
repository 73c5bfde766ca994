#include "controller/plan/plan_schema.h"

#include <array>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "controller/plan/plan_value.h"

namespace plimsoll {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;

constexpr std::array<const char*, 4> kUnitSuffixes = {"_bytes", "_ns", "_per_second", "_ppm"};

std::string WithRange(const std::string& what, const FieldDescriptor& field) {
  const std::string range = RangeText(field);
  return range.empty() ? what : absl::StrCat(what, " ", range);
}

bool IsKnownType(const FieldDescriptor& field) {
  if (field.type() == FieldDescriptor::TYPE_BYTES) return false;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT64:
      return KindOf(field) != ValueKind::kTime;
    case FieldDescriptor::CPPTYPE_INT64:
      return KindOf(field) != ValueKind::kSize;
    case FieldDescriptor::CPPTYPE_UINT32:
      return KindOf(field) == ValueKind::kInteger;
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_BOOL:
    case FieldDescriptor::CPPTYPE_ENUM:
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return field.real_containing_oneof() == nullptr && !field.is_map();
    default:
      return false;
  }
}

// Collects the problems of a message and those below it, each message once.
class RuleChecker {
 public:
  void Check(const Descriptor& message) {
    if (!seen_.insert(&message).second) return;
    std::set<std::string> keys;
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      if (!keys.insert(FieldKey(field)).second) Add(field, "has the key of another field");
      CheckField(field);
      if (KindOf(field) == ValueKind::kMessage) Check(*field.message_type());
    }
  }

  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void Add(const FieldDescriptor& field, const std::string& problem) {
    problems_.push_back(absl::StrCat(field.full_name(), " ", problem));
  }

  void CheckField(const FieldDescriptor& field) {
    const v1::FieldRule& rule = RuleOf(field);
    if (!IsKnownType(field)) return Add(field, "has a type that a plan cannot hold");
    if (rule.help().empty()) Add(field, "has no help");
    if (KindOf(field) == ValueKind::kMessage) return;
    if (!field.is_repeated() && !field.has_presence()) Add(field, "has no presence");
    CheckFlags(field, rule);
    for (const std::string& texts : {rule.min(), rule.max(), rule.default_value(), rule.example()}) {
      for (const std::string& text : SplitList(field, texts)) {
        const absl::StatusOr<FieldValue> value = ParseValue(field, text);
        if (!value.ok()) Add(field, absl::StrCat("does not keep its own rule: ", value.status().message()));
      }
    }
  }

  void CheckFlags(const FieldDescriptor& field, const v1::FieldRule& rule) {
    if (rule.flag().empty() && rule.alias_size() > 0) Add(field, "has an alias and no flag");
    std::vector<std::string> flags(rule.alias().begin(), rule.alias().end());
    if (!rule.flag().empty()) flags.push_back(rule.flag());
    for (const std::string& flag : flags) {
      if (!flags_.insert(flag).second) Add(field, absl::StrCat("has the flag --", flag, " of another field"));
    }
  }

  std::vector<std::string> problems_;
  std::set<const Descriptor*> seen_;
  std::set<std::string> flags_;
};

}  // namespace

const v1::FieldRule& RuleOf(const FieldDescriptor& field) {
  return field.options().GetExtension(v1::rule);
}

std::string FieldKey(const FieldDescriptor& field) {
  for (const char* suffix : kUnitSuffixes) {
    if (absl::EndsWith(field.name(), suffix)) return std::string(absl::StripSuffix(field.name(), suffix));
  }
  return field.name();
}

std::vector<std::string> FieldKeys(const Descriptor& message) {
  std::vector<std::string> keys;
  keys.reserve(static_cast<size_t>(message.field_count()));
  for (int i = 0; i < message.field_count(); ++i) keys.push_back(FieldKey(*message.field(i)));
  return keys;
}

const FieldDescriptor* FindField(const Descriptor& message, const std::string& key) {
  for (int i = 0; i < message.field_count(); ++i) {
    if (FieldKey(*message.field(i)) == key) return message.field(i);
  }
  return nullptr;
}

ValueKind KindOf(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ValueKind::kMessage;
    case FieldDescriptor::CPPTYPE_ENUM:
      return ValueKind::kEnum;
    case FieldDescriptor::CPPTYPE_BOOL:
      return ValueKind::kBool;
    case FieldDescriptor::CPPTYPE_STRING:
      return ValueKind::kText;
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return ValueKind::kNumber;
    default:
      break;
  }
  if (absl::EndsWith(field.name(), "_bytes")) return ValueKind::kSize;
  return absl::EndsWith(field.name(), "_ns") ? ValueKind::kTime : ValueKind::kInteger;
}

std::string EnumWord(const EnumValueDescriptor& value) {
  // The prefix is what comes before UNSPECIFIED in the name of value 0.
  const std::string prefix(absl::StripSuffix(value.type()->value(0)->name(), "UNSPECIFIED"));
  std::string word = absl::AsciiStrToLower(std::string(absl::StripPrefix(value.name(), prefix)));
  return absl::StrJoin(absl::StrSplit(word, '_'), "-");
}

std::vector<std::string> EnumWords(const EnumDescriptor& type) {
  std::vector<std::string> words;
  for (int i = 1; i < type.value_count(); ++i) words.push_back(EnumWord(*type.value(i)));
  return words;
}

std::string RangeText(const FieldDescriptor& field) {
  const v1::FieldRule& rule = RuleOf(field);
  if (rule.min().empty() && rule.max().empty()) return "";
  if (rule.max().empty()) return absl::StrCat("from ", rule.min());
  if (rule.min().empty()) return absl::StrCat("up to ", rule.max());
  return absl::StrCat("from ", rule.min(), " to ", rule.max());
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
  return absl::StrCat("default ", default_value, range.empty() ? "" : ", ", range);
}

std::vector<std::string> SchemaProblems(const Descriptor& message) {
  RuleChecker checker;
  checker.Check(message);
  return checker.problems();
}

}  // namespace plimsoll
