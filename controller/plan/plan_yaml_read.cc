#include <google/protobuf/descriptor.h>

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "controller/plan/host_list.h"
#include "controller/plan/plan_schema.h"
#include "controller/plan/plan_value.h"
#include "controller/plan/plan_yaml.h"
#include "controller/plan/text.h"
#include "controller/plan/text_file.h"
#include "controller/plan/yaml_tree.h"

namespace plimsoll {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string KindWord(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kText:
      return "text";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      break;
  }
  return "a map";
}

std::string ExpectedFor(const FieldDescriptor& field) {
  if (!field.is_repeated()) return Expected(field);
  return absl::StrCat("a list; each one ", Expected(field));
}

// Key of the field that has `word` as its flag or as another spelling of it; empty where there is none.
std::string KeyOfFlag(const Descriptor& message, const std::string& word) {
  for (int i = 0; i < message.field_count(); ++i) {
    const v1::FieldRule& rule = RuleOf(*message.field(i));
    if (rule.flag() == word) return FieldKey(*message.field(i));
    for (const std::string& alias : rule.alias()) {
      if (alias == word) return FieldKey(*message.field(i));
    }
  }
  return "";
}

// Where a key that stands in the wrong place belongs; empty where no place has it.
std::string HomeOf(const std::string& key) {
  const Descriptor& plan = *v1::TestPlan::descriptor();
  if (FindField(plan, key) != nullptr) return "the plan itself";
  for (int i = 0; i < plan.field_count(); ++i) {
    const FieldDescriptor& field = *plan.field(i);
    if (KindOf(field) == ValueKind::kMessage && FindField(*field.message_type(), key) != nullptr) {
      return FieldKey(field);
    }
  }
  return "";
}

// Puts a tree into a plan.
class PlanReader {
 public:
  explicit PlanReader(const std::string& file_name) : file_name_(file_name) {}

  // `place` names the message for people.
  absl::Status ReadMessage(const YamlNode& node, const std::string& place, Message& message) {
    if (node.kind != YamlNode::Kind::kMap) {
      return Error(node, absl::StrCat("expected keys of ", place, " with their values, not ", KindWord(node.kind)));
    }
    const Descriptor& type = *message.GetDescriptor();
    std::map<std::string, const YamlNode*> seen;
    for (size_t i = 0; i + 1 < node.items.size(); i += 2) {
      const YamlNode& key = node.items[i];
      if (key.kind != YamlNode::Kind::kText) {
        return Error(key, absl::StrCat("expected a key of ", place, ", not ", KindWord(key.kind)));
      }
      const FieldDescriptor* field = FindField(type, key.text);
      if (field == nullptr) return UnknownKey(key, place, type);
      if (const auto [first, is_new] = seen.emplace(key.text, &key); !is_new) {
        return Error(key, absl::StrCat("'", key.text, "' is given twice; first in line ", first->second->line));
      }
      PLIMSOLL_RETURN_IF_ERROR(ReadField(key, node.items[i + 1], *field, message));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Error(const YamlNode& node, const std::string& text) const {
    return YamlError(file_name_, node.line, node.column, text);
  }

  absl::Status UnknownKey(const YamlNode& key, const std::string& place, const Descriptor& type) const {
    std::string text = absl::StrCat(Quoted(key.text), " is not a key of ", place, "; expected one of ",
                                    absl::StrJoin(FieldKeys(type), ", "));
    std::string meant = KeyOfFlag(type, key.text);
    const std::string home = HomeOf(key.text);
    if (meant.empty() && home.empty()) meant = ClosestWord(key.text, FieldKeys(type));
    if (!meant.empty()) {
      absl::StrAppend(&text, "; did you mean '", meant, "'?");
    } else if (!home.empty()) {
      absl::StrAppend(&text, "; '", key.text, "' is a key of ", home);
    }
    return Error(key, text);
  }

  absl::Status ReadField(const YamlNode& key, const YamlNode& value, const FieldDescriptor& field, Message& message) {
    const bool empty_list = value.kind == YamlNode::Kind::kList && value.items.empty();
    if (value.kind == YamlNode::Kind::kNull || (empty_list && !RuleOf(field).default_value().empty())) {
      return Error(key, absl::StrCat("'", key.text, "' has no value; expected ", ExpectedFor(field)));
    }
    if (field.message_type() == v1::HostSpec::descriptor()) {
      return ReadHosts(value, static_cast<v1::TestPlan&>(message));
    }
    if (KindOf(field) == ValueKind::kMessage) {
      return ReadMessage(value, key.text, *message.GetReflection()->MutableMessage(&message, &field));
    }
    if (field.is_repeated() && value.kind == YamlNode::Kind::kList) {
      for (const YamlNode& item : value.items) {
        PLIMSOLL_RETURN_IF_ERROR(CheckText(item, field));
        const absl::StatusOr<FieldValue> parsed = ParseValue(field, item.text);
        if (!parsed.ok()) return ValueError(item, field, parsed.status());
        StoreValue(field, *parsed, message);
      }
      return absl::OkStatus();
    }
    PLIMSOLL_RETURN_IF_ERROR(CheckText(value, field));
    const absl::Status status = SetFromText(field, value.text, message);
    return status.ok() ? status : ValueError(value, field, status);
  }

  absl::Status CheckText(const YamlNode& node, const FieldDescriptor& field) const {
    if (node.kind == YamlNode::Kind::kText) return absl::OkStatus();
    return Error(node, absl::StrCat(FieldKey(field), ": expected ", Expected(field), ", not ", KindWord(node.kind)));
  }

  absl::Status ValueError(const YamlNode& node, const FieldDescriptor& field, const absl::Status& status) const {
    return Error(node, absl::StrCat(FieldKey(field), ": ", status.message()));
  }

  absl::Status ReadHosts(const YamlNode& node, v1::TestPlan& plan) {
    if (node.kind == YamlNode::Kind::kText) return AddHosts(node, node.text, v1::HostSpec(), plan);
    if (node.kind != YamlNode::Kind::kList) {
      return Error(node, absl::StrCat("hosts: expected a list of hosts, not ", KindWord(node.kind)));
    }
    for (const YamlNode& item : node.items) {
      if (item.kind == YamlNode::Kind::kText) {
        PLIMSOLL_RETURN_IF_ERROR(AddHosts(item, item.text, v1::HostSpec(), plan));
        continue;
      }
      v1::HostSpec host;
      PLIMSOLL_RETURN_IF_ERROR(ReadMessage(item, "a host", host));
      if (!host.has_address()) return Error(item, "a host without its address; expected the key 'address'");
      PLIMSOLL_RETURN_IF_ERROR(AddHosts(item, host.address(), host, plan));
    }
    return absl::OkStatus();
  }

  // Adds every host that `list` names, each with the rest of `host`.
  absl::Status AddHosts(const YamlNode& node, const std::string& list, const v1::HostSpec& host,
                        v1::TestPlan& plan) const {
    const absl::StatusOr<std::vector<std::string>> addresses = ParseHostList(list);
    if (!addresses.ok()) return Error(node, absl::StrCat("hosts: ", addresses.status().message()));
    if (static_cast<size_t>(plan.hosts_size()) + addresses->size() > kMaxHosts) {
      return Error(node, absl::StrCat("hosts: more than ", kMaxHosts, " hosts"));
    }
    for (const std::string& address : *addresses) {
      v1::HostSpec& added = *plan.add_hosts();
      added = host;
      added.set_address(address);
    }
    return absl::OkStatus();
  }

  const std::string& file_name_;
};

}  // namespace

absl::StatusOr<v1::TestPlan> ReadPlan(const std::string& text, const std::string& file_name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const YamlNode root, ParseYaml(text, file_name));
  v1::TestPlan plan;
  PLIMSOLL_RETURN_IF_ERROR(PlanReader(file_name).ReadMessage(root, "the plan", plan));
  return plan;
}

absl::StatusOr<v1::TestPlan> ReadPlanFile(const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxYamlBytes));
  return ReadPlan(text, path);
}

}  // namespace plimsoll
