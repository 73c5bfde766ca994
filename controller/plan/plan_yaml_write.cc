#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_schema.h"
#include "controller/plan/plan_value.h"
#include "controller/plan/plan_yaml.h"

namespace plimsoll {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kIndent = 2;

// Text that YAML, of any version, takes as it stands and as text.
bool IsPlain(const std::string& text) {
  const auto is_plain = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_./:-", std::string(1, c));
  };
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_plain)) return false;
  if (!absl::ascii_isalpha(static_cast<unsigned char>(text[0])) && text[0] != '/') return false;
  const std::string lower = absl::AsciiStrToLower(text);
  return text.back() != ':' && lower != "null" && lower != "true" && lower != "false" && lower != "yes" &&
         lower != "no" && lower != "on" && lower != "off" && lower != "y" && lower != "n";
}

std::string Value(const FieldDescriptor& field, const Message& message, int index) {
  const std::string text = FormatValue(field, message, index);
  return KindOf(field) == ValueKind::kText ? YamlText(text) : text;
}

class PlanWriter {
 public:
  // Writes the fields that are set.
  void Write(const Message& message, int indent) {
    const Descriptor& type = *message.GetDescriptor();
    const Reflection& reflection = *message.GetReflection();
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      const int count = CountOf(field, message);
      if (count == 0) continue;
      const std::string head = absl::StrCat(std::string(static_cast<size_t>(indent), ' '), FieldKey(field), ":");
      if (KindOf(field) != ValueKind::kMessage) {
        absl::StrAppend(&text_, head, Values(field, message, count, indent), "\n");
      } else if (field.is_repeated()) {
        absl::StrAppend(&text_, head, "\n");
        for (int n = 0; n < count; ++n) WriteItem(reflection.GetRepeatedMessage(message, &field, n), indent + kIndent);
      } else {
        absl::StrAppend(&text_, head, "\n");
        Write(reflection.GetMessage(message, &field), indent + kIndent);
      }
    }
  }

  const std::string& text() const { return text_; }

 private:
  // What follows the key and its colon.
  static std::string Values(const FieldDescriptor& field, const Message& message, int count, int indent) {
    if (!field.is_repeated()) return " " + Value(field, message, 0);
    if (KindOf(field) != ValueKind::kText) {
      std::vector<std::string> values;
      values.reserve(static_cast<size_t>(count));
      for (int n = 0; n < count; ++n) values.push_back(Value(field, message, n));
      return absl::StrCat(" [", absl::StrJoin(values, ", "), "]");
    }
    std::string lines;
    for (int n = 0; n < count; ++n) {
      absl::StrAppend(&lines, "\n", std::string(static_cast<size_t>(indent + kIndent), ' '), "- ",
                      Value(field, message, n));
    }
    return lines;
  }

  // An element of a list: its first key stands behind the dash.
  void WriteItem(const Message& message, int indent) {
    const size_t begin = text_.size();
    Write(message, indent + kIndent);
    if (text_.size() == begin) {
      absl::StrAppend(&text_, std::string(static_cast<size_t>(indent), ' '), "- {}\n");
    } else {
      text_[begin + static_cast<size_t>(indent)] = '-';
    }
  }

  std::string text_;
};

}  // namespace

std::string YamlText(const std::string& text) {
  if (IsPlain(text)) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  return quoted + "\"";
}

std::string WritePlan(const v1::TestPlan& plan) {
  v1::TestPlan filled = plan;
  FillDefaults(filled);
  PlanWriter writer;
  writer.Write(filled, 0);
  return writer.text();
}

}  // namespace plimsoll
