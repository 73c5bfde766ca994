#include "common/command_line.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace plimsoll {
namespace {

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

// What is wrong with the arguments that no option took; empty where all were taken. `app` has parsed as far as it
// could.
std::string DescribeExtras(const CLI::App& app) {
  const CLI::App& command = Innermost(app);
  const std::vector<std::string> extras = app.remaining(true);
  if (extras.empty()) return "";
  const auto option =
      std::find_if(extras.begin(), extras.end(), [](const auto& text) { return absl::StartsWith(text, "-"); });
  if (option == extras.end()) {
    const bool has_commands = !command.get_subcommands([](const CLI::App* /*each*/) { return true; }).empty();
    return has_commands ? UnknownCommand(command, extras.front())
                        : absl::StrCat("unexpected argument ", Quoted(extras.front()));
  }
  const std::string name = option->substr(0, option->find('='));
  std::vector<std::string> names;
  for (const CLI::Option* known : command.get_options()) {
    for (const std::string& long_name : known->get_lnames()) names.push_back("--" + long_name);
  }
  return absl::StrCat("unknown option ", Quoted(name), ClosestHint(name, names));
}

}  // namespace

std::string UnknownCommand(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App* /*each*/) { return true; })) {
    names.push_back(each->get_name());
  }
  return absl::StrCat("unknown command ", Quoted(word), ClosestHint(word, names));
}

std::string CommandLineError(const CLI::App& app, const CLI::ParseError& error) {
  const bool of_extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool of_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const std::string extras = of_extras || of_missing ? DescribeExtras(app) : "";
  if (!extras.empty()) return extras;
  return of_extras ? "an argument too many" : error.what();
}

void AddTlsFlags(CLI::App& app, TlsPaths& paths) {
  struct Flag {
    const char* name;
    std::string* path;
    const char* help;
  };
  const Flag flags[] = {
      {"--tls-ca", &paths.ca, "CA certificate to verify the other side with"},
      {"--tls-cert", &paths.cert, "Certificate of this side"},
      {"--tls-key", &paths.key, "Private key of that certificate"},
  };
  for (const Flag& flag : flags) app.add_option(flag.name, *flag.path, flag.help)->type_name("FILE")->group("TLS");
}

}  // namespace plimsoll
