#include "controller/plan/plan_example.h"

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/plan/plan_schema.h"
#include "controller/plan/plan_value.h"
#include "controller/plan/plan_yaml.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr char kExampleHead[] =
    "# A plan for 'plimsoll run PLAN.yaml'. Every key may be left out but 'dir'; options override the plan.\n"
    "# Sizes: bytes, or k, m, g, t (base 1024). Times: ns, us, ms, s, m, h, d; a bare number is in seconds unless "
    "told.\n";

// Text of the values, as a plan holds them.
std::string ExampleValue(const FieldDescriptor& field) {
  const v1::FieldRule& rule = RuleOf(field);
  const std::string& text = rule.default_value().empty() ? rule.example() : rule.default_value();
  std::vector<std::string> values = field.is_repeated() ? SplitList(field, text) : std::vector<std::string>{text};
  if (KindOf(field) == ValueKind::kText) {
    for (std::string& value : values) value = YamlText(value);
  }
  return field.is_repeated() ? absl::StrCat("[", absl::StrJoin(values, ", "), "]") : values.front();
}

class ExampleWriter {
 public:
  // `in_list`: the message is an element of a list, and its first key stands behind a dash. `brief`: only what has an
  // example, since the same message is shown in full elsewhere.
  void Write(const Descriptor& message, int indent, bool in_list, bool brief) {
    bool first = true;
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor& field = *message.field(i);
      if (brief && RuleOf(field).example().empty()) continue;
      WriteField(field, indent, in_list && first, in_list);
      first = false;
    }
  }

  const std::string& text() const { return text_; }

 private:
  void WriteField(const FieldDescriptor& field, int indent, bool dash, bool in_list) {
    const std::string margin(static_cast<size_t>(dash ? indent - 2 : indent), ' ');
    const std::string summary = Summary(field);
    const std::string& flag = RuleOf(field).flag();
    if (indent == 0) text_ += "\n";
    absl::StrAppend(&text_, margin, "# ", RuleOf(field).help(), "\n");
    if (!flag.empty() || !summary.empty()) {
      absl::StrAppend(&text_, margin, "#   ", flag.empty() ? "" : absl::StrCat("--", flag),
                      flag.empty() || summary.empty() ? "" : ": ", summary, "\n");
    }
    absl::StrAppend(&text_, margin, dash ? "- " : "", FieldKey(field), ":");
    if (KindOf(field) != ValueKind::kMessage) {
      absl::StrAppend(&text_, " ", ExampleValue(field), "\n");
    } else {
      text_ += "\n";
      Write(*field.message_type(), indent + (field.is_repeated() ? 4 : 2), field.is_repeated(), in_list);
    }
  }

  std::string text_;
};

}  // namespace

std::string ExamplePlan() {
  ExampleWriter writer;
  writer.Write(*v1::TestPlan::descriptor(), 0, false, false);
  return kExampleHead + writer.text();
}

}  // namespace plimsoll
