#include "controller/cli/clusters.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/command_line/command_line.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "controller/cli/command.h"
#include "controller/launch/launcher.h"
#include "controller/plan/yaml_tree.h"

namespace plimsoll {
namespace {

constexpr char kClusterOption[] = "cluster";
constexpr char kConfigOption[] = "config";
constexpr char kClusterVariable[] = "PLIMSOLL_CLUSTER";

// What a key of a cluster is on the command line.
struct ClusterKey {
  std::string option;
  // Its value is a file of this machine.
  bool is_file = false;
  bool is_flag = false;
  // A list has an option for each of its items; else they are joined by commas.
  bool repeated = false;
};

const std::vector<ClusterKey>& ClusterKeys() {
  static const auto* const keys = [] {
    auto* const made = new std::vector<ClusterKey>{
        {"hosts"}, {"hosts-file", true}, {"dir"}, {"tls-ca", true}, {"tls-cert", true}, {"tls-key", true}, {"launch"}};
    for (const LauncherKind* kind : kLaunchers) {
      for (const LaunchOption& option : kind->options) {
        const std::string name(absl::StripPrefix(option.name, "--"));
        if (std::ranges::any_of(*made, [&](const ClusterKey& key) { return key.option == name; })) continue;
        const bool is_file = option.type != nullptr && std::string(option.type) == "FILE";
        made->push_back({name, is_file, option.type == nullptr, option.repeated});
      }
    }
    return made;
  }();
  return *keys;
}

// As a plan spells keys: "tls_ca".
std::string ClusterKeyName(const ClusterKey& key) {
  return absl::StrReplaceAll(key.option, {{"-", "_"}});
}

absl::Status ClusterError(const YamlNode& at, const std::string& path, const std::string& message) {
  return YamlError(path, at.line, at.column, message);
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& words) {
  const std::string closest = ClosestWord(word, words);
  return closest.empty() ? "" : absl::StrCat("; did you mean '", closest, "'?");
}

// The key and its value as options.
absl::Status AddClusterOption(const YamlNode& key, const YamlNode& value, const std::string& path,
                              ClusterOptions& options) {
  const auto& keys = ClusterKeys();
  const auto known =
      std::ranges::find_if(keys, [&](const ClusterKey& each) { return ClusterKeyName(each) == key.text; });
  if (known == keys.end()) {
    std::vector<std::string> names;
    for (const ClusterKey& each : keys) names.push_back(ClusterKeyName(each));
    const std::string meant = DidYouMean(absl::StrReplaceAll(key.text, {{"-", "_"}}), names);
    return ClusterError(
        key, path,
        absl::StrCat("unknown key '", key.text, "'",
                     meant.empty() ? absl::StrCat("; a cluster has ", absl::StrJoin(names, ", ")) : meant));
  }
  std::vector<std::string> texts;
  if (value.kind == YamlNode::Kind::kText) texts.push_back(value.text);
  for (const YamlNode& item : value.items) {
    if (value.kind == YamlNode::Kind::kList && item.kind == YamlNode::Kind::kText) texts.push_back(item.text);
  }
  const bool is_list = value.kind == YamlNode::Kind::kList;
  if (texts.empty() || (is_list && texts.size() != value.items.size()) ||
      std::ranges::any_of(texts, [](const std::string& text) { return text.empty(); })) {
    return ClusterError(value, path, absl::StrCat("'", key.text, "' needs a value"));
  }
  if (is_list && known->option != "hosts" && !known->repeated) {
    return ClusterError(value, path, absl::StrCat("'", key.text, "' takes one value, not a list"));
  }
  if (known->is_flag) {
    if (texts.front() == "false") return absl::OkStatus();
    if (texts.front() != "true") {
      return ClusterError(value, path, absl::StrCat("'", key.text, "' is true or false, not '", texts.front(), "'"));
    }
  }
  if (known->option == "hosts") texts = {absl::StrJoin(texts, ",")};
  for (const std::string& text : texts) {
    options.emplace_back(known->option,
                         known->is_file ? (std::filesystem::path(path).parent_path() / text).string() : text);
  }
  return absl::OkStatus();
}

// The cluster that the line, or the environment, names, and where that is said; empty: there is none.
std::pair<std::string, std::string> ChosenCluster(const GivenWords& given) {
  if (const std::string name = given.Value(kClusterOption); !name.empty()) return {name, "--cluster"};
  const char* const variable = std::getenv(kClusterVariable);
  // An argument of a command without DIR is a plan, which has hosts of its own, or hosts.
  const bool has_plan = given.has_arguments && given.command->get_option_no_throw("DIR") == nullptr;
  const bool has_hosts = given.Has("hosts") || given.Has("hosts-file") || has_plan;
  if (variable == nullptr || has_hosts) return {};
  return {variable, kClusterVariable};
}

// Whether the line itself says what the option of a cluster would.
bool IsReplaced(const std::string& option, const GivenWords& given) {
  if (given.Has(option)) return true;
  if (option == "hosts" || option == "hosts-file")
    return given.Has("hosts") || given.Has("hosts-file") || given.Has("pairs");
  if (option == "dir") {
    return given.Has("qm-dirs") || given.Has("files") || given.Has("files-from") || given.Has("vary");
  }
  return given.Has("launch");
}

}  // namespace

std::string DefaultClustersFile() {
  const char* const config = std::getenv("XDG_CONFIG_HOME");
  const char* const home = std::getenv("HOME");
  // A relative one is ignored, as the specification says.
  if (config != nullptr && config[0] == '/') return absl::StrCat(config, "/plimsoll/clusters.yaml");
  return home == nullptr || *home == '\0' ? "" : absl::StrCat(home, "/.config/plimsoll/clusters.yaml");
}

absl::StatusOr<ClusterOptions> ReadCluster(const std::string& text, const std::string& path, const std::string& name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const YamlNode root, ParseYaml(text, path));
  if (root.kind != YamlNode::Kind::kMap && root.kind != YamlNode::Kind::kNull) {
    return ClusterError(root, path, "clusters are written as NAME: and, below it, hosts and how they are reached");
  }
  std::vector<std::string> names;
  for (size_t i = 0; i + 1 < root.items.size(); i += 2) {
    const YamlNode& key = root.items[i];
    const YamlNode& cluster = root.items[i + 1];
    names.push_back(key.text);
    if (key.text != name) continue;
    if (cluster.kind != YamlNode::Kind::kMap) {
      return ClusterError(cluster, path, absl::StrCat("cluster '", name, "' has no keys; it needs hosts"));
    }
    ClusterOptions options;
    for (size_t j = 0; j + 1 < cluster.items.size(); j += 2) {
      PLIMSOLL_RETURN_IF_ERROR(AddClusterOption(cluster.items[j], cluster.items[j + 1], path, options));
    }
    return options;
  }
  const std::string meant = DidYouMean(name, names);
  return absl::NotFoundError(absl::StrCat(path, " has no cluster ", Quoted(name),
                                          !meant.empty()  ? meant
                                          : names.empty() ? ""
                                                          : absl::StrCat("; it has ", absl::StrJoin(names, ", "))));
}

void AddClusterFlags(CLI::App& command) {
  // Read by WithCluster, from the words.
  command
      .add_option_function<std::string>(
          absl::StrCat("--", kClusterOption), [](const std::string& /*name*/) {},
          "Hosts, directory, TLS and launch options of this cluster of the file of --config, as far as the line does "
          "not "
          "give them (default: PLIMSOLL_CLUSTER)")
      ->type_name("NAME")
      ->group("Agents");
  command
      .add_option_function<std::string>(
          absl::StrCat("--", kConfigOption), [](const std::string& /*path*/) {},
          "File with clusters (if not given: ~/.config/plimsoll/clusters.yaml)")
      ->type_name("FILE")
      ->group("Agents");
}

absl::StatusOr<std::vector<std::string>> WithCluster(const CLI::App& app, std::vector<std::string> words,
                                                     std::string& note) {
  const GivenWords given = ReadWords(app, words);
  if (given.command->get_option_no_throw(absl::StrCat("--", kClusterOption)) == nullptr || given.Has("help")) {
    return words;
  }
  const auto [name, source] = ChosenCluster(given);
  if (name.empty()) {
    if (!given.Has(kConfigOption)) return words;
    return absl::InvalidArgumentError("--config needs --cluster, the name of one of its clusters");
  }
  const std::string path = given.Has(kConfigOption) ? given.Value(kConfigOption) : DefaultClustersFile();
  std::error_code error;
  if (path.empty() || (!given.Has(kConfigOption) && !std::filesystem::exists(path, error))) {
    return absl::NotFoundError(absl::StrCat(
        source, " ", name, ": ", path.empty() ? "there is no home directory" : absl::StrCat(path, " does not exist"),
        "; create it or name another file with --config"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxYamlBytes, FileKind::kRegular, "--config"));
  absl::StatusOr<ClusterOptions> options = ReadCluster(text, path, name);
  if (!options.ok()) return WithContext(source, options.status());
  std::vector<std::string> added;
  for (const auto& [option, value] : *options) {
    const CLI::Option* const known = given.command->get_option_no_throw(absl::StrCat("--", option));
    if (known == nullptr || IsReplaced(option, given) || (known->get_positional() && given.has_arguments)) continue;
    const bool is_flag = known->get_items_expected_min() == 0;
    added.push_back(is_flag ? absl::StrCat("--", option) : absl::StrCat("--", option, "=", value));
  }
  words.insert(std::ranges::find(words, "--"), added.begin(), added.end());
  if (source == kClusterVariable) note = absl::StrCat("the hosts are those of cluster ", name, " (", source, ")");
  return words;
}

}  // namespace plimsoll
