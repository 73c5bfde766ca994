#include "controller/launch/kubernetes_pods.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace plimsoll {
namespace {

using google::protobuf::Struct;

// A field of an object; null: it has none.
const google::protobuf::Value* FieldOf(const Struct& object, const std::string& name) {
  const auto found = object.fields().find(name);
  return found == object.fields().end() ? nullptr : &found->second;
}

// A text in an object of an object; empty: there is none.
std::string TextIn(const Struct& object, const std::string& name, const std::string& inner) {
  const google::protobuf::Value* field = FieldOf(object, name);
  if (field == nullptr || !field->has_struct_value()) return "";
  const google::protobuf::Value* text = FieldOf(field->struct_value(), inner);
  return text == nullptr ? "" : text->string_value();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> RunningPods(const std::string& json) {
  Struct list;
  const google::protobuf::Value* items = nullptr;
  if (google::protobuf::util::JsonStringToMessage(json, &list).ok()) items = FieldOf(list, "items");
  if (items == nullptr || !items->has_list_value()) {
    return absl::UnavailableError(absl::StrCat("the list of pods is not JSON with items: ", Quoted(json)));
  }
  std::vector<std::string> pods;
  for (const google::protobuf::Value& item : items->list_value().values()) {
    const Struct& pod = item.struct_value();
    const std::string name = TextIn(pod, "metadata", "name");
    if (name.empty() || TextIn(pod, "status", "phase") != "Running") continue;
    if (!TextIn(pod, "metadata", "deletionTimestamp").empty()) continue;
    pods.push_back(name);
  }
  std::ranges::sort(pods);
  return pods;
}

}  // namespace plimsoll
