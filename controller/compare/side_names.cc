// What sides of a comparison and their runs are called, and the options in which they are meant to differ.
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/field_rules.h"
#include "common/text.h"
#include "controller/compare/comparable.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

std::string SideLabel(size_t index) {
  std::string label(1, static_cast<char>('A' + index % 26));
  return index < 26 ? label : SideLabel(index / 26 - 1) + label;
}

std::string SideLabel(const std::vector<SideInput>& sides, size_t index) {
  return sides[index].name.empty() ? SideLabel(index) : sides[index].name;
}

std::string RunLabel(const std::string& side, size_t number) {
  constexpr size_t kLetters = 2;
  return absl::StrCat(side, side.size() > kLetters ? " " : "", number);
}

absl::StatusOr<StatedDifferences> ParseDiffers(const std::string& names) {
  std::set<std::string> options = {"hosts"};
  for (const google::protobuf::Descriptor* message :
       {v1::LogWorkload::descriptor(), v1::TestPlan::descriptor(), v1::GroupCommit::descriptor()}) {
    for (const google::protobuf::FieldDescriptor& field : FieldsOf(*message)) {
      if (!RuleOf(field).flag().empty()) options.insert(RuleOf(field).flag());
    }
  }
  StatedDifferences stated;
  for (const auto& part : absl::StrSplit(names, ',')) {
    const std::string name(absl::StripPrefix(part, "--"));
    if (options.count(name) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(name), " is not an option of a plan; the options are ", absl::StrJoin(options, ", ")));
    }
    stated.insert(name);
  }
  return stated;
}

}  // namespace plimsoll
