#include "controller/launch/kubernetes_pods.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace plimsoll {
namespace {

using google::protobuf::Struct;

// What Kubernetes allows: a DNS subdomain.
constexpr size_t kLongestNodeName = 253;

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

std::map<std::string, std::string> NodesOfPods(const std::string& json) {
  std::map<std::string, std::string> nodes;
  const auto add = [&nodes](const Struct& pod) {
    const std::string name = TextIn(pod, "metadata", "name");
    const std::string node = TextIn(pod, "spec", "nodeName");
    if (!name.empty() && !node.empty() && node.size() <= kLongestNodeName) nodes[name] = node;
  };
  Struct read;
  if (!google::protobuf::util::JsonStringToMessage(json, &read).ok()) return nodes;
  add(read);
  const google::protobuf::Value* items = FieldOf(read, "items");
  if (items == nullptr) return nodes;
  for (const google::protobuf::Value& item : items->list_value().values()) add(item.struct_value());
  return nodes;
}

}  // namespace plimsoll
