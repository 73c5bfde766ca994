#include "controller/plan/plan_yaml.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/algorithm.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "controller/plan/host_list.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_schema.h"
#include "controller/plan/sweep.h"
#include "controller/plan/yaml_tree.h"

namespace plimsoll {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Values by key, "workload.qm"; those of lists of messages as one.
void CollectValues(const Message& message, const std::string& prefix, std::map<std::string, std::string>& values) {
  for (const FieldDescriptor& field : FieldsOf(*message.GetDescriptor())) {
    // The lists of a sweep are values of the workload's keys.
    const std::string key = absl::StrCat(prefix, RuleOf(field).no_key() ? "workload" : FieldKey(field));
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

}  // namespace

void PlanPlaces::Keep(int line, const std::string& text) {
  // A plan of a million mistakes need not be kept to report 20 of them.
  constexpr size_t kMostKept = 1000;
  if (problems_.size() < kMostKept) problems_.push_back({line, text});
}

void PlanPlaces::AddProblem(int line, const std::string& text, const std::string& key) {
  Keep(line, text);
  // Records only that something is wrong with a host, and for a list's element, that something is with the list.
  if (absl::StartsWith(key, "hosts.")) {
    unreadable_.insert({"hosts", key.substr(std::string("hosts.").size())});
  } else if (const size_t bracket = key.find('['); bracket != std::string::npos) {
    unreadable_.insert({key.substr(0, bracket), key.substr(0, key.find(']') + 1)});
  } else {
    unreadable_.insert(key);
  }
}

void PlanPlaces::AddProblem(const std::string& text, const std::string& key) {
  const auto line = lines_.find(key);
  if (line == lines_.end()) return AddProblem(0, text, key);
  AddProblem(line->second, absl::StrCat(file_, ":", line->second, ": ", text), key);
}

void PlanPlaces::AddUnknownKey(int line, const std::string& text) {
  Keep(line, text);
  unknown_keys_ = true;
}

void PlanPlaces::ForgetChanged(const v1::TestPlan& read, const v1::TestPlan& now) {
  std::map<std::string, std::string> before;
  std::map<std::string, std::string> after;
  CollectValues(read, "", before);
  CollectValues(now, "", after);
  for (const auto& [key, value] : after) {
    if (before[key] != value) lines_.erase(key);
  }
}

bool PlanPlaces::IsUnreadable(const std::string& key) const {
  return unreadable_.contains("") || unreadable_.contains(key) || (unknown_keys_ && !lines_.contains(key));
}

std::vector<std::string> PlanPlaces::Locate(const std::vector<PlanProblem>& problems) const {
  std::vector<Problem> all = problems_;
  const auto in_unreadable = [this](const std::string& named) {
    return absl::c_any_of(
        unreadable_, [&named](const std::string& key) { return named == key || absl::StartsWith(named, key + "."); });
  };
  for (const PlanProblem& problem : problems) {
    // What may only follow from a problem of the text.
    if (IsUnreadable(problem.key) || in_unreadable(problem.key) || absl::c_any_of(problem.mentions, in_unreadable)) {
      continue;
    }
    const auto line = lines_.find(problem.key);
    const int number = line == lines_.end() ? 0 : line->second;
    all.push_back({number, number == 0 ? problem.text : absl::StrCat(file_, ":", number, ": ", problem.text)});
  }
  const auto place = [](const Problem& problem) { return std::pair(problem.line == 0, problem.line); };
  StableSort(all, [&place](const Problem& a, const Problem& b) { return place(a) < place(b); });
  std::vector<std::string> located;
  for (const Problem& problem : all) {
    if (located.size() == kMaxPlanProblems) {
      located.push_back(absl::StrCat(file_, file_.empty() ? "" : ": ", "more errors follow; correct these first"));
      break;
    }
    located.push_back(problem.text);
  }
  return located;
}

namespace {

using google::protobuf::Descriptor;
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
  explicit PlanWriter(const v1::TestPlan& plan) : plan_(plan) {}

  // Writes the fields that are set.
  void Write(const Message& message, int indent) {
    const Reflection& reflection = *message.GetReflection();
    for (const FieldDescriptor& field : FieldsOf(*message.GetDescriptor())) {
      const int count = CountOf(field, message);
      if (count == 0 || RuleOf(field).no_key()) continue;
      const std::string head = absl::StrCat(std::string(static_cast<size_t>(indent), ' '), FieldKey(field), ":");
      if (const int swept = &message == &plan_.workload() ? SweptCount(plan_, field) : 0; swept > 0) {
        absl::StrAppend(&text_, head, Values(*SweptListOf(field), plan_.sweep(), swept, indent), "\n");
      } else if (KindOf(field) != ValueKind::kMessage) {
        absl::StrAppend(&text_, head, Values(field, message, count, indent), "\n");
      } else if (field.is_repeated()) {
        absl::StrAppend(&text_, head, "\n");
        for (int n = 0; n < count; ++n) WriteItem(reflection.GetRepeatedMessage(message, &field, n), indent + kIndent);
      } else {
        WriteSection(field, head, reflection.GetMessage(message, &field), indent);
      }
    }
  }

  const std::string& text() const { return text_; }

 private:
  // A message without values is written only where its presence decides what the plan is for.
  void WriteSection(const FieldDescriptor& field, const std::string& head, const Message& message, int indent) {
    const size_t begin = text_.size();
    absl::StrAppend(&text_, head, "\n");
    const size_t values = text_.size();
    Write(message, indent + kIndent);
    if (text_.size() != values) return;
    text_.resize(begin);
    if (RuleOf(field).section()) absl::StrAppend(&text_, head, " {}\n");
  }

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

  const v1::TestPlan& plan_;
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
  PlanWriter writer(filled);
  writer.Write(filled, 0);
  return writer.text();
}

namespace {

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
  for (const FieldDescriptor& field : FieldsOf(message)) {
    const v1::FieldRule& rule = RuleOf(field);
    if (rule.flag() == word || absl::c_linear_search(rule.alias(), word)) return FieldKey(field);
  }
  return "";
}

// "'block_size' is a key of the plan itself", for a key or an option's name in the wrong place; empty if no place has
// it.
std::string HomeOf(const std::string& word) {
  const auto key_of = [&word](const Descriptor& type) {
    return FindField(type, word) != nullptr ? word : KeyOfFlag(type, word);
  };
  if (const std::string key = key_of(*v1::TestPlan::descriptor()); !key.empty())
    return absl::StrCat("'", key, "' is a key of the plan itself");
  for (const FieldDescriptor& field : FieldsOf(*v1::TestPlan::descriptor())) {
    if (KindOf(field) != ValueKind::kMessage) continue;
    const std::string key = key_of(*field.message_type());
    if (!key.empty()) return absl::StrCat("'", key, "' is a key of ", FieldKey(field));
  }
  return "";
}

// Puts a tree into a plan.
class PlanReader {
 public:
  PlanReader(const std::string& file_name, PlanPlaces& places, v1::TestPlan& plan)
      : file_name_(file_name), places_(places), plan_(plan) {}

  // Reads on after a problem, to report all of them at once. `place` names the message for people, `path` is its key,
  // such as "workload" or "placement[2]"; empty: the plan's.
  void ReadMessage(const YamlNode& node, const std::string& place, const std::string& path, Message& message) {
    if (node.kind != YamlNode::Kind::kMap) {
      return Add(node, path, absl::StrCat("expected keys of ", place, " with their values, not ", KindWord(node.kind)));
    }
    const Descriptor& type = *message.GetDescriptor();
    std::map<std::string, const YamlNode*> seen;
    for (size_t i = 0; i + 1 < node.items.size(); i += 2) {
      const YamlNode& key = node.items[i];
      if (key.kind != YamlNode::Kind::kText) {
        places_.AddUnknownKey(key.line,
                              At(key, absl::StrCat("expected a key of ", place, ", not ", KindWord(key.kind))));
        continue;
      }
      const FieldDescriptor* field = FindField(type, key.text);
      const std::string full = absl::StrCat(path, path.empty() ? "" : ".", key.text);
      if (field == nullptr) {
        UnknownKey(key, place, path, type);
      } else if (const auto [first, is_new] = seen.emplace(key.text, &key); !is_new) {
        Add(key, full, absl::StrCat("'", key.text, "' is given twice; first in line ", first->second->line));
      } else {
        // A host's own workload is not the plan's.
        if (!absl::StartsWith(full, "hosts.")) places_.Set(full, key.line);
        ReadField(key, node.items[i + 1], full, *field, message);
      }
    }
  }

 private:
  std::string At(const YamlNode& node, const std::string& text) const {
    return std::string(YamlError(file_name_, node.line, node.column, text).message());
  }

  void Add(const YamlNode& node, const std::string& path, const std::string& text) {
    places_.AddProblem(node.line, At(node, text), path);
  }

  void UnknownKey(const YamlNode& key, const std::string& place, const std::string& path, const Descriptor& type) {
    std::string text = absl::StrCat(Quoted(key.text), " is not a key of ", place, "; expected one of ",
                                    absl::StrJoin(FieldKeys(type), ", "));
    std::string meant = KeyOfFlag(type, key.text);
    const std::string home = HomeOf(key.text);
    if (meant.empty() && home.empty()) meant = ClosestWord(key.text, FieldKeys(type));
    if (!meant.empty()) {
      absl::StrAppend(&text, "; did you mean '", meant, "'?");
      return Add(key, absl::StrCat(path, path.empty() ? "" : ".", meant), text);
    }
    if (!home.empty()) absl::StrAppend(&text, "; ", home);
    if (path == "hosts") return Add(key, path, text);
    places_.AddUnknownKey(key.line, At(key, text));
  }

  void ReadField(const YamlNode& key, const YamlNode& value, const std::string& path, const FieldDescriptor& field,
                 Message& message) {
    const bool empty_list = value.kind == YamlNode::Kind::kList && value.items.empty();
    if (value.kind == YamlNode::Kind::kNull || (empty_list && !RuleOf(field).default_value().empty())) {
      return Add(key, path, absl::StrCat("'", key.text, "' has no value; expected ", ExpectedFor(field)));
    }
    if (field.message_type() == v1::HostSpec::descriptor()) {
      return ReadHosts(value, static_cast<v1::TestPlan&>(message));
    }
    if (KindOf(field) == ValueKind::kMessage && field.is_repeated()) return ReadList(key, value, path, field, message);
    if (KindOf(field) == ValueKind::kMessage) {
      return ReadMessage(value, key.text, path, *message.GetReflection()->MutableMessage(&message, &field));
    }
    if (field.is_repeated() && value.kind == YamlNode::Kind::kList) {
      for (const YamlNode& item : value.items) {
        if (!CheckText(item, path, field)) continue;
        const absl::StatusOr<FieldValue> parsed = ParseValue(field, item.text);
        if (parsed.ok()) {
          StoreValue(field, *parsed, message);
        } else {
          ValueError(item, path, field, parsed.status());
        }
      }
      return;
    }
    if (SweptListOf(field) != nullptr && IsListed(value)) return ReadSwept(value, path, field);
    if (!CheckText(value, path, field)) return;
    const absl::Status status = SetFromText(field, value.text, message);
    if (!status.ok()) ValueError(value, path, field, status);
  }

  static bool IsListed(const YamlNode& value) {
    return value.kind == YamlNode::Kind::kList ||
           (value.kind == YamlNode::Kind::kText && absl::StrContains(value.text, ","));
  }

  // A list of a field of the workload that otherwise has one value.
  void ReadSwept(const YamlNode& value, const std::string& path, const FieldDescriptor& field) {
    if (!absl::StartsWith(path, "workload.")) {
      return Add(value, path,
                 absl::StrCat(FieldKey(field), ": a host has one value; a list is for all hosts, give it in the ",
                              "plan's own workload"));
    }
    std::vector<std::string> texts = SplitList(*SweptListOf(field), value.text);
    for (const YamlNode& item : value.items) {
      if (!CheckText(item, path, field)) return;
      texts.push_back(item.text);
    }
    const absl::Status status = SetWorkloadValues(field, texts, plan_);
    if (!status.ok()) ValueError(value, path, field, status);
  }

  void ReadList(const YamlNode& key, const YamlNode& value, const std::string& path, const FieldDescriptor& field,
                Message& message) {
    if (value.kind != YamlNode::Kind::kList) {
      return Add(value, path, absl::StrCat(key.text, ": expected a list, not ", KindWord(value.kind)));
    }
    for (const YamlNode& item : value.items) {
      const std::string item_path = absl::StrCat(path, "[", CountOf(field, message) + 1, "]");
      places_.Set(item_path, item.line);
      ReadMessage(item, key.text, item_path, *message.GetReflection()->AddMessage(&message, &field));
    }
  }

  bool CheckText(const YamlNode& node, const std::string& path, const FieldDescriptor& field) {
    if (node.kind == YamlNode::Kind::kText) return true;
    Add(node, path, absl::StrCat(FieldKey(field), ": expected ", Expected(field), ", not ", KindWord(node.kind)));
    return false;
  }

  void ValueError(const YamlNode& node, const std::string& path, const FieldDescriptor& field,
                  const absl::Status& status) {
    Add(node, path, absl::StrCat(FieldKey(field), ": ", status.message()));
  }

  void ReadHosts(const YamlNode& node, v1::TestPlan& plan) {
    if (node.kind == YamlNode::Kind::kText) return AddHosts(node, node.text, v1::HostSpec(), plan);
    if (node.kind != YamlNode::Kind::kList) {
      return Add(node, "hosts", absl::StrCat("hosts: expected a list of hosts, not ", KindWord(node.kind)));
    }
    for (const YamlNode& item : node.items) {
      if (item.kind == YamlNode::Kind::kText) {
        AddHosts(item, item.text, v1::HostSpec(), plan);
        continue;
      }
      v1::HostSpec host;
      const size_t problems = places_.problems();
      ReadMessage(item, "a host", "hosts", host);
      if (host.has_address()) {
        AddHosts(item, host.address(), host, plan);
      } else if (places_.problems() == problems) {
        // Where something is wrong with its keys, that may be the address.
        Add(item, "hosts", "a host without its address; expected the key 'address'");
      }
    }
  }

  // Adds every host that `list` names, each with the rest of `host`.
  void AddHosts(const YamlNode& node, const std::string& list, const v1::HostSpec& host, v1::TestPlan& plan) {
    const absl::StatusOr<std::vector<std::string>> addresses = ParseHostList(list);
    if (!addresses.ok()) return Add(node, "hosts", absl::StrCat("hosts: ", addresses.status().message()));
    if (static_cast<size_t>(plan.hosts_size()) + addresses->size() > kMaxHosts) {
      return Add(node, "hosts", absl::StrCat("hosts: more than ", kMaxHosts, " hosts"));
    }
    for (const std::string& address : *addresses) {
      v1::HostSpec& added = *plan.add_hosts();
      added = host;
      added.set_address(address);
    }
  }

  const std::string& file_name_;
  PlanPlaces& places_;
  v1::TestPlan& plan_;
};

}  // namespace

absl::StatusOr<v1::TestPlan> ReadPlan(const std::string& text, const std::string& file_name, PlanPlaces* places) {
  PLIMSOLL_ASSIGN_OR_RETURN(const YamlNode root, ParseYaml(text, file_name));
  v1::TestPlan plan;
  PlanPlaces own;
  PlanPlaces& used = places != nullptr ? *places : own;
  used.SetFile(file_name);
  PlanReader(file_name, used, plan).ReadMessage(root, "the plan", "", plan);
  if (own.problems() > 0) return absl::InvalidArgumentError(absl::StrJoin(own.Locate({}), "\n"));
  return plan;
}

absl::StatusOr<v1::TestPlan> ReadPlanFile(const std::string& path, PlanPlaces* places) {
  const absl::StatusOr<std::string> text = ReadFile(path, kMaxYamlBytes, FileKind::kAny);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(path, " does not exist; `plimsoll plan example` prints a plan"));
  }
  std::error_code error;
  if (!text.ok() && std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is a directory, not a plan; to measure it, use --dir ", path));
  }
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  return ReadPlan(*text, path, places);
}

}  // namespace plimsoll
