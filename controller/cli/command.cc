#include "controller/cli/command.h"

#include <algorithm>
#include <ostream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/terminal_text.h"
#include "controller/plan/text.h"

namespace plimsoll {
namespace {

// 100 columns less the 30 in which the parser prints an option's names.
constexpr size_t kHelpWidth = 70;

// The command that the parser had reached.
const CLI::App& Innermost(const CLI::App& app) {
  const CLI::App* innermost = &app;
  while (!innermost->get_subcommands().empty()) innermost = innermost->get_subcommands().back();
  return *innermost;
}

std::string ClosestHint(const std::string& word, const std::vector<std::string>& words) {
  const std::string closest = ClosestWord(word, words);
  return closest.empty() ? "" : absl::StrCat("; did you mean ", closest, "?");
}

// What is wrong with the arguments that no option took. `app` has parsed as far as it could.
std::string DescribeExtras(const CLI::App& app) {
  const CLI::App& command = Innermost(app);
  const std::vector<std::string> extras = app.remaining(true);
  if (extras.empty()) return "an argument too many";
  const auto option =
      std::find_if(extras.begin(), extras.end(), [](const auto& text) { return absl::StartsWith(text, "-"); });
  if (option == extras.end()) {
    const auto commands = command.get_subcommands([](const CLI::App* /*each*/) { return true; });
    if (commands.empty()) return absl::StrCat("unexpected argument ", Quoted(extras.front()));
    std::vector<std::string> names;
    names.reserve(commands.size());
    for (const CLI::App* each : commands) names.push_back(each->get_name());
    return absl::StrCat("unknown command ", Quoted(extras.front()), ClosestHint(extras.front(), names));
  }
  const std::string name = option->substr(0, option->find('='));
  std::vector<std::string> names;
  for (const CLI::Option* known : command.get_options()) {
    for (const std::string& long_name : known->get_lnames()) names.push_back("--" + long_name);
  }
  return absl::StrCat("unknown option ", Quoted(name), ClosestHint(name, names));
}

}  // namespace

int PrintError(CommandLine& line, const std::string& message, Exit exit) {
  std::string one_line = message;
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  line.err << "plimsoll: " << SanitizeForTerminal(one_line) << '\n';
  return static_cast<int>(exit);
}

int PrintError(CommandLine& line, const absl::Status& status, Exit exit) {
  return PrintError(line, std::string(status.message()), exit);
}

std::string WrapHelp(const std::string& text) {
  std::string wrapped;
  size_t column = 0;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(text, ' '))) {
    const bool fits = column + 1 + word.size() <= kHelpWidth;
    if (column > 0) wrapped += fits ? ' ' : '\n';
    column = (column > 0 && fits ? column + 1 : 0) + word.size();
    wrapped += word;
  }
  return wrapped;
}

int ParseAndRun(CLI::App& app, const std::vector<std::string>& args, CommandLine& line) {
  line.action = nullptr;
  try {
    // The parser takes its arguments from the back.
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::ExtrasError&) {
    return PrintError(line, DescribeExtras(app), Exit::kWrong);
  } catch (const CLI::ParseError& error) {
    // Help and version are thrown as errors of code 0.
    if (error.get_exit_code() == 0) return app.exit(error, line.out, line.err);
    return PrintError(line, error.what(), Exit::kWrong);
  }
  if (!line.action) return PrintError(line, "no command; see plimsoll --help", Exit::kWrong);
  return line.action();
}

}  // namespace plimsoll
