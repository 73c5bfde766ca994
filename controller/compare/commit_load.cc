#include "controller/compare/commit_load.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/field_rules.h"

namespace plimsoll {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Digits of a digest by which files are distinguished.
constexpr size_t kDigestDigits = 16;

}  // namespace

std::string SpelledOption(const Message& message, const FieldDescriptor& field) {
  if (field.is_repeated() || !message.GetReflection()->HasField(message, &field)) return "";
  return KindOf(field) == ValueKind::kNumber ? absl::StrCat(message.GetReflection()->GetDouble(message, &field))
                                             : FormatValue(field, message);
}

std::set<std::string> CommitFlags() {
  std::set<std::string> flags;
  for (const FieldDescriptor& field : FieldsOf(*v1::GroupCommit::descriptor())) {
    if (!RuleOf(field).flag().empty()) flags.insert(RuleOf(field).flag());
  }
  return flags;
}

std::string CommitOption(const v1::TestPlan& plan, const FieldDescriptor& field) {
  const v1::GroupCommit& commits = plan.group_commit();
  if (field.number() == v1::GroupCommit::kPatternFieldNumber && commits.has_pattern_sha256()) {
    return absl::StrCat("sha256 ", commits.pattern_sha256().substr(0, kDigestDigits), "...");
  }
  return SpelledOption(commits, field);
}

std::string CommitLoad(const v1::TestPlan& plan) {
  if (!plan.has_group_commit()) return "none";
  std::vector<std::string> parts;
  for (const FieldDescriptor& field : FieldsOf(*v1::GroupCommit::descriptor())) {
    const std::string text = RuleOf(field).flag().empty() ? "" : CommitOption(plan, field);
    if (!text.empty()) parts.push_back(absl::StrCat("--", RuleOf(field).flag(), " ", text));
  }
  return absl::StrJoin(parts, " ");
}

}  // namespace plimsoll
