#include "controller/export/shown_commands.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace plimsoll {
namespace {

constexpr char kLeftOut[] = "\u2026";

// An option whose value is a command.
struct CommandOption {
  std::string_view name;
  // The command stands behind the first "=" of the value: "freeze=virsh suspend {host}".
  bool behind_equals = false;
};
constexpr std::array<CommandOption, 10> kCommandOptions = {{{"--between"},
                                                            {"--launch"},
                                                            {"--ssh-command"},
                                                            {"--kubectl"},
                                                            {"--kill-host"},
                                                            {"--restore-host"},
                                                            {"--restart-server"},
                                                            {"--do", true},
                                                            {"--undo", true},
                                                            {"--agent-option", true}}};

// A word of a command line: as it is written there, and without its quotes.
struct Word {
  std::string written;
  std::string text;
};

// Splits what ShellQuoted has put together. The end may be cut off within quotes.
std::vector<Word> WordsOf(const std::string& line) {
  std::vector<Word> words;
  bool in_word = false;
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ' ' && !quoted) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    Word& word = words.back();
    word.written.push_back(line[i]);
    if (line[i] == '\'') {
      quoted = !quoted;
    } else if (line[i] == '\\' && !quoted && i + 1 < line.size()) {
      word.written.push_back(line[++i]);
      word.text.push_back(line[i]);
    } else {
      word.text.push_back(line[i]);
    }
  }
  return words;
}

// The value with its command's arguments left out.
std::string Shortened(const CommandOption& option, const std::string& value) {
  size_t begin = 0;
  if (option.behind_equals) {
    const size_t equals = value.find('=');
    if (equals == std::string::npos) return value;
    begin = equals + 1;
  }
  // An option of the agent has no program in front.
  if (option.name == "--agent-option") return absl::StrCat(value.substr(0, begin), kLeftOut);
  constexpr char kBlanks[] = " \t\r\n";
  begin = std::min(value.find_first_not_of(kBlanks, begin), value.size());
  const char quote = begin < value.size() && (value[begin] == '\'' || value[begin] == '"') ? value[begin] : '\0';
  size_t end = quote == '\0' ? value.find_first_of(kBlanks, begin) : value.find(quote, begin + 1);
  if (end == std::string::npos ||
      value.find_first_not_of(kBlanks, end + (quote == '\0' ? 0 : 1)) == std::string::npos) {
    return value;
  }
  if (quote != '\0') ++end;
  return absl::StrCat(value.substr(0, end), " ", kLeftOut);
}

template <typename Words>
void LeaveProgram(Words& words) {
  if (words.size() < 2) return;
  words.DeleteSubrange(1, words.size() - 1);
  words.Add(kLeftOut);
}

}  // namespace

std::string WithoutArgumentsOfCommands(const std::string& command_line) {
  std::string shown;
  const CommandOption* awaits_value = nullptr;
  for (const Word& word : WordsOf(command_line)) {
    std::string written = word.written;
    if (awaits_value != nullptr) {
      const std::string shortened = Shortened(*awaits_value, word.text);
      if (shortened != word.text) written = ShellQuoted(shortened);
      awaits_value = nullptr;
    } else {
      const size_t equals = word.text.find('=');
      const auto option = std::ranges::find(kCommandOptions, word.text.substr(0, equals), &CommandOption::name);
      if (option != kCommandOptions.end() && equals == std::string::npos) {
        awaits_value = &*option;
      } else if (option != kCommandOptions.end()) {
        const std::string value = word.text.substr(equals + 1);
        const std::string shortened = Shortened(*option, value);
        if (shortened != value) written = ShellQuoted(absl::StrCat(std::string(option->name), "=", shortened));
      }
    }
    absl::StrAppend(&shown, shown.empty() ? "" : " ", written);
  }
  return shown;
}

v1::TestPlan WithoutArgumentsOfCommands(v1::TestPlan plan) {
  for (v1::Disturbance& disturbance : *plan.mutable_disturb()) {
    LeaveProgram(*disturbance.mutable_do_());
    LeaveProgram(*disturbance.mutable_undo());
  }
  if (!plan.has_ha()) return plan;
  for (v1::HaFaultCommands& commands : *plan.mutable_ha()->mutable_commands()) {
    LeaveProgram(*commands.mutable_do_());
    LeaveProgram(*commands.mutable_undo());
  }
  return plan;
}

}  // namespace plimsoll
