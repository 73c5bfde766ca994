// `plimsoll list`: the results below a directory.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "controller/cli/result_list.h"
#include "controller/fleet/exit_code.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"

namespace plimsoll {
namespace {

constexpr uint64_t kListFormat = 1;

struct ListFlags {
  std::string directory = kResultsDirectory;
  bool json = false;
};

const char* StateName(ResultState state) {
  return state == ResultState::kComplete ? "complete" : state == ResultState::kUnfinished ? "unfinished" : "unreadable";
}

// "INCONCLUSIVE", "COMPLETED", "UNFINISHED".
std::string VerdictWord(const ListedResult& result) {
  if (result.state != ResultState::kComplete) return absl::AsciiStrToUpper(StateName(result.state));
  if (result.outcome.empty()) return kDash;
  return result.outcome == "done" ? "COMPLETED" : SanitizeForTerminal(absl::AsciiStrToUpper(result.outcome));
}

google::protobuf::Timestamp BeginMoment(const ListedResult& result) {
  google::protobuf::Timestamp moment;
  moment.set_seconds(result.begin_s);
  return moment;
}

// "2026-11-20 19:20".
std::string BeginText(const ListedResult& result) {
  const std::string text = FormatDateTime(BeginMoment(result));
  return text.substr(0, text.rfind(':'));
}

// Title and what else belongs to the row, in lines below it.
std::vector<std::string> MoreOf(const ListedResult& result, size_t indent) {
  std::vector<std::string> lines;
  for (const std::string* text : {&result.title, &result.scope, &result.reason}) {
    if (text->empty()) continue;
    for (const std::string& line : Wrap(SanitizeForTerminal(*text), kTextWidth - indent)) {
      lines.push_back(std::string(indent, ' ') + line);
    }
  }
  return lines;
}

std::vector<std::string> ListLines(const std::vector<ListedResult>& results) {
  std::vector<std::vector<std::string>> rows = {{"N", "verdict", "begin (UTC)", "command", "hosts", "directory"}};
  for (size_t i = 0; i < results.size(); ++i) {
    const ListedResult& result = results[i];
    rows.push_back({absl::StrCat(i), VerdictWord(result), BeginText(result),
                    result.command.empty() ? kDash : result.command,
                    result.hosts == 0 ? kDash : absl::StrCat(result.hosts), SanitizeForTerminal(result.name)});
  }
  const std::vector<std::string> aligned = AlignColumns(rows, "rlllrl");
  std::vector<std::string> lines = {aligned.front()};
  // Below the verdict.
  const size_t indent = aligned.front().find("verdict");
  for (size_t i = 0; i < results.size(); ++i) {
    lines.push_back(aligned[i + 1]);
    AppendLines(MoreOf(results[i], indent), lines);
  }
  return lines;
}

std::string ListJson(const std::string& directory, const std::vector<ListedResult>& results) {
  JsonWriter json;
  json.BeginObject();
  json.Key("format").UInt(kListFormat);
  json.Key("directory").String(directory);
  json.Key("results").BeginArray();
  for (const ListedResult& result : results) {
    json.BeginObject();
    json.Key("name").String(result.name);
    json.Key("path").String(result.path);
    json.Key("state").String(StateName(result.state));
    json.Key("outcome").String(result.outcome);
    json.Key("scope").String(result.scope);
    json.Key("title").String(result.title);
    json.Key("command").String(result.command);
    json.Key("run_id").String(result.run_id);
    json.Key("hosts").UInt(result.hosts);
    json.Key("begin").String(FormatMoment(BeginMoment(result)));
    json.Key("reason").String(result.reason);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return json.Take();
}

int ListMain(const ListFlags& flags, CommandLine& line) {
  const absl::StatusOr<std::vector<ListedResult>> results = ListResults(flags.directory);
  if (!results.ok()) return PrintError(line, results.status(), Exit::kWrong);
  if (flags.json) {
    line.out << ListJson(flags.directory, *results);
    return static_cast<int>(Exit::kOk);
  }
  if (results->empty()) {
    line.out << SanitizeForTerminal(flags.directory) << " holds no results\n";
    return static_cast<int>(Exit::kOk);
  }
  for (const std::string& text : ListLines(*results)) line.out << text << "\n";
  return static_cast<int>(Exit::kOk);
}

}  // namespace

void AddListCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<ListFlags>();
  CLI::App* command = app.add_subcommand("list", "List results, the newest first");
  command->add_option("DIR", flags->directory, "Directory that the results are in")->capture_default_str();
  command->add_flag("--json", flags->json, "Print the list as JSON instead of text");
  command->footer(
      "Verdicts are shown as they were recorded; `plimsoll verify` checks one. N is the number behind\n"
      "`latest~`, which names a result of plimsoll-results wherever a command takes one.\n"
      "Examples:\n  plimsoll list\n  plimsoll compare latest~1 latest");
  command->callback([flags, &line] { line.action = [flags, &line] { return ListMain(*flags, line); }; });
}

}  // namespace plimsoll
