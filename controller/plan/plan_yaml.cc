#include "controller/plan/plan_yaml.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "controller/plan/host_list.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_schema.h"
#include "controller/plan/yaml_tree.h"

namespace plimsoll {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Values by key, "workload.qm"; those of lists of messages as one.
void CollectValues(const Message& message, const std::string& prefix, std::map<std::string, std::string>& values) {
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string key = absl::StrCat(prefix, FieldKey(field));
    if (KindOf(field) == ValueKind::kMessage && !field.is_repeated()) {
      CollectValues(message.GetReflection()->GetMessage(message, &field), absl::StrCat(key, "."), values);
      continue;
    }
    for (int n = 0; n < CountOf(field, message); ++n) {
      const std::string text = KindOf(field) == ValueKind::kMessage
                                   ? message.GetReflection()->GetRepeatedMessage(message, &field, n).ShortDebugString()
                                   : FormatValue(field, message, n);
      absl::StrAppend(&values[key], text, ",");
    }
  }
}

// The key in "--file-size (workload.file_size) 5000 ...", or "max_slew: ...".
std::string KeyOf(const std::string& problem) {
  const size_t open = problem.find('(');
  const size_t close = problem.find(')', open == std::string::npos ? 0 : open);
  if (problem.rfind("--", 0) == 0 && close != std::string::npos) return problem.substr(open + 1, close - open - 1);
  return problem.substr(0, problem.find_first_of(": "));
}

}  // namespace

void PlanPlaces::ForgetChanged(const v1::TestPlan& read, const v1::TestPlan& now) {
  std::map<std::string, std::string> before;
  std::map<std::string, std::string> after;
  CollectValues(read, "", before);
  CollectValues(now, "", after);
  for (const auto& [key, value] : after) {
    if (before[key] != value) places_.erase(key);
  }
}

std::vector<std::string> PlanPlaces::Locate(const std::vector<std::string>& problems) const {
  std::vector<std::string> located;
  for (const std::string& problem : problems) {
    const auto place = places_.find(KeyOf(problem));
    located.push_back(place == places_.end() ? problem : absl::StrCat(place->second, ": ", problem));
  }
  return located;
}

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

// "'block_size' is a key of the plan itself", for a key or an option's name in the wrong place; empty if no place has
// it.
std::string HomeOf(const std::string& word) {
  const Descriptor& plan = *v1::TestPlan::descriptor();
  const auto key_of = [&word](const Descriptor& type) {
    return FindField(type, word) != nullptr ? word : KeyOfFlag(type, word);
  };
  if (const std::string key = key_of(plan); !key.empty())
    return absl::StrCat("'", key, "' is a key of the plan itself");
  for (int i = 0; i < plan.field_count(); ++i) {
    const FieldDescriptor& field = *plan.field(i);
    if (KindOf(field) != ValueKind::kMessage) continue;
    const std::string key = key_of(*field.message_type());
    if (!key.empty()) return absl::StrCat("'", key, "' is a key of ", FieldKey(field));
  }
  return "";
}

// Puts a tree into a plan.
class PlanReader {
 public:
  PlanReader(const std::string& file_name, PlanPlaces* places) : file_name_(file_name), places_(places) {}

  // What is wrong, one line each, at most kMaxPlanProblems; empty: nothing.
  const std::vector<std::string>& problems() const { return problems_; }

  // Reads on after a problem, to report all of them at once. `place` names the message for people.
  void ReadMessage(const YamlNode& node, const std::string& place, Message& message) {
    if (node.kind != YamlNode::Kind::kMap) {
      return Add(node, absl::StrCat("expected keys of ", place, " with their values, not ", KindWord(node.kind)));
    }
    const Descriptor& type = *message.GetDescriptor();
    std::map<std::string, const YamlNode*> seen;
    for (size_t i = 0; i + 1 < node.items.size(); i += 2) {
      const YamlNode& key = node.items[i];
      if (key.kind != YamlNode::Kind::kText) {
        Add(key, absl::StrCat("expected a key of ", place, ", not ", KindWord(key.kind)));
        continue;
      }
      const FieldDescriptor* field = FindField(type, key.text);
      if (field == nullptr) {
        UnknownKey(key, place, type);
      } else if (const auto [first, is_new] = seen.emplace(key.text, &key); !is_new) {
        Add(key, absl::StrCat("'", key.text, "' is given twice; first in line ", first->second->line));
      } else {
        KeepPlace(key, type);
        ReadField(key, node.items[i + 1], *field, message);
      }
    }
  }

 private:
  void Add(const YamlNode& node, const std::string& text) {
    if (problems_.size() >= kMaxPlanProblems) return;
    problems_.emplace_back(YamlError(file_name_, node.line, node.column, text).message());
  }

  // Those of the plan, of its sections and of their lists, not of hosts.
  void KeepPlace(const YamlNode& key, const Descriptor& type) {
    if (places_ == nullptr) return;
    const Descriptor& plan = *v1::TestPlan::descriptor();
    std::string prefix;
    if (&type == item_type_) {
      prefix = absl::StrCat(item_, ".");
    } else if (&type != &plan) {
      for (int i = 0; i < plan.field_count(); ++i) {
        const FieldDescriptor& field = *plan.field(i);
        if (!field.is_repeated() && field.message_type() == &type) prefix = absl::StrCat(FieldKey(field), ".");
      }
      // A host's own workload is not the plan's.
      if (prefix.empty() || in_list_) return;
    }
    places_->Set(absl::StrCat(prefix, key.text), absl::StrCat(file_name_, ":", key.line));
  }

  void UnknownKey(const YamlNode& key, const std::string& place, const Descriptor& type) {
    std::string text = absl::StrCat(Quoted(key.text), " is not a key of ", place, "; expected one of ",
                                    absl::StrJoin(FieldKeys(type), ", "));
    std::string meant = KeyOfFlag(type, key.text);
    const std::string home = HomeOf(key.text);
    if (meant.empty() && home.empty()) meant = ClosestWord(key.text, FieldKeys(type));
    if (!meant.empty()) {
      absl::StrAppend(&text, "; did you mean '", meant, "'?");
    } else if (!home.empty()) {
      absl::StrAppend(&text, "; ", home);
    }
    Add(key, text);
  }

  void ReadField(const YamlNode& key, const YamlNode& value, const FieldDescriptor& field, Message& message) {
    const bool empty_list = value.kind == YamlNode::Kind::kList && value.items.empty();
    if (value.kind == YamlNode::Kind::kNull || (empty_list && !RuleOf(field).default_value().empty())) {
      return Add(key, absl::StrCat("'", key.text, "' has no value; expected ", ExpectedFor(field)));
    }
    if (field.message_type() == v1::HostSpec::descriptor()) {
      return ReadHosts(value, static_cast<v1::TestPlan&>(message));
    }
    if (KindOf(field) == ValueKind::kMessage && field.is_repeated()) return ReadList(key, value, field, message);
    if (KindOf(field) == ValueKind::kMessage) {
      return ReadMessage(value, key.text, *message.GetReflection()->MutableMessage(&message, &field));
    }
    if (field.is_repeated() && value.kind == YamlNode::Kind::kList) {
      for (const YamlNode& item : value.items) {
        if (!CheckText(item, field)) continue;
        const absl::StatusOr<FieldValue> parsed = ParseValue(field, item.text);
        if (parsed.ok()) {
          StoreValue(field, *parsed, message);
        } else {
          ValueError(item, field, parsed.status());
        }
      }
      return;
    }
    if (!CheckText(value, field)) return;
    const absl::Status status = SetFromText(field, value.text, message);
    if (!status.ok()) ValueError(value, field, status);
  }

  void ReadList(const YamlNode& key, const YamlNode& value, const FieldDescriptor& field, Message& message) {
    if (value.kind != YamlNode::Kind::kList) {
      return Add(value, absl::StrCat(key.text, ": expected a list, not ", KindWord(value.kind)));
    }
    for (const YamlNode& item : value.items) {
      in_list_ = true;
      item_type_ = field.message_type();
      item_ = absl::StrCat(key.text, "[", CountOf(field, message) + 1, "]");
      if (places_ != nullptr) places_->Set(item_, absl::StrCat(file_name_, ":", item.line));
      ReadMessage(item, key.text, *message.GetReflection()->AddMessage(&message, &field));
      item_type_ = nullptr;
      in_list_ = false;
    }
  }

  bool CheckText(const YamlNode& node, const FieldDescriptor& field) {
    if (node.kind == YamlNode::Kind::kText) return true;
    Add(node, absl::StrCat(FieldKey(field), ": expected ", Expected(field), ", not ", KindWord(node.kind)));
    return false;
  }

  void ValueError(const YamlNode& node, const FieldDescriptor& field, const absl::Status& status) {
    Add(node, absl::StrCat(FieldKey(field), ": ", status.message()));
  }

  void ReadHosts(const YamlNode& node, v1::TestPlan& plan) {
    if (node.kind == YamlNode::Kind::kText) return AddHosts(node, node.text, v1::HostSpec(), plan);
    if (node.kind != YamlNode::Kind::kList) {
      return Add(node, absl::StrCat("hosts: expected a list of hosts, not ", KindWord(node.kind)));
    }
    for (const YamlNode& item : node.items) {
      if (item.kind == YamlNode::Kind::kText) {
        AddHosts(item, item.text, v1::HostSpec(), plan);
        continue;
      }
      v1::HostSpec host;
      const size_t problems = problems_.size();
      in_list_ = true;
      ReadMessage(item, "a host", host);
      in_list_ = false;
      if (host.has_address()) {
        AddHosts(item, host.address(), host, plan);
      } else if (problems_.size() == problems) {
        // Where something is wrong with its keys, that may be the address.
        Add(item, "a host without its address; expected the key 'address'");
      }
    }
  }

  // Adds every host that `list` names, each with the rest of `host`.
  void AddHosts(const YamlNode& node, const std::string& list, const v1::HostSpec& host, v1::TestPlan& plan) {
    const absl::StatusOr<std::vector<std::string>> addresses = ParseHostList(list);
    if (!addresses.ok()) return Add(node, absl::StrCat("hosts: ", addresses.status().message()));
    if (static_cast<size_t>(plan.hosts_size()) + addresses->size() > kMaxHosts) {
      return Add(node, absl::StrCat("hosts: more than ", kMaxHosts, " hosts"));
    }
    for (const std::string& address : *addresses) {
      v1::HostSpec& added = *plan.add_hosts();
      added = host;
      added.set_address(address);
    }
  }

  const std::string& file_name_;
  PlanPlaces* const places_;
  // Reading an element of a list: of which message, and which one, such as "placement[2]"; null and empty for hosts.
  bool in_list_ = false;
  const Descriptor* item_type_ = nullptr;
  std::string item_;
  std::vector<std::string> problems_;
};

}  // namespace

absl::StatusOr<v1::TestPlan> ReadPlan(const std::string& text, const std::string& file_name, PlanPlaces* places) {
  PLIMSOLL_ASSIGN_OR_RETURN(const YamlNode root, ParseYaml(text, file_name));
  v1::TestPlan plan;
  PlanReader reader(file_name, places);
  reader.ReadMessage(root, "the plan", plan);
  if (!reader.problems().empty()) return absl::InvalidArgumentError(absl::StrJoin(reader.problems(), "\n"));
  return plan;
}

absl::StatusOr<v1::TestPlan> ReadPlanFile(const std::string& path, PlanPlaces* places) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxYamlBytes));
  return ReadPlan(text, path, places);
}

}  // namespace plimsoll
