#include "common/command_line/command_line.h"

#include <algorithm>
#include <memory>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/command_line/declarations.h"

namespace plimsoll {
namespace {

// The column in which CLI11 starts descriptions, and how wide they may be.
constexpr size_t kHelpColumn = 30;
constexpr size_t kHelpWidth = 100 - kHelpColumn;

std::string Wrap(const std::string& text) {
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

class WrappingFormatter : public CLI::Formatter {
 public:
  WrappingFormatter() { column_width(kHelpColumn); }

  std::string make_option_desc(const CLI::Option* option) const override { return Wrap(Description(*option)); }

  // CLI11 shows the value that an option has without one as "--flag{value}".
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    return absl::StrReplaceAll(CLI::Formatter::make_option_name(option, positional), {{"{", "[="}, {"}", "]"}});
  }

  // Without the excluded options, which stand in the description.
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string text = CLI::Formatter::make_option_opts(option);
    return text.substr(0, text.find(absl::StrCat(" ", get_label("Excludes"), ":")));
  }

  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream text;
    CLI::detail::format_help(text, command->get_name(), Wrap(command->get_description()), kHelpColumn);
    return text.str();
  }
};

}  // namespace

std::string Description(const CLI::Option& option) {
  std::vector<std::string> excluded;
  for (const CLI::Option* other : option.get_excludes()) excluded.push_back(other->get_name());
  std::sort(excluded.begin(), excluded.end());
  return absl::StrCat(option.get_description(), excluded.empty() ? "" : " (not with ", absl::StrJoin(excluded, ", "),
                      excluded.empty() ? "" : ")");
}

std::vector<std::string> Values(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{');
  const size_t close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  return absl::StrSplit(type.substr(open + 1, close - open - 1), ',');
}

bool TakesValue(const CLI::Option& option) {
  return option.get_items_expected_min() > 0;
}

std::vector<std::string> Spellings(const CLI::Option& option) {
  std::vector<std::string> spellings;
  for (const std::string& name : option.get_snames()) spellings.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) spellings.push_back("--" + name);
  return spellings;
}

std::string Placeholder(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.find('{') == std::string::npos ? type : absl::StrJoin(Values(option), "|");
}

std::string FullName(const CLI::App& app, const char* separator) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : absl::StrCat(FullName(*parent, separator), separator, app.get_name());
}

std::vector<CLI::App*> Commands(CLI::App& app) {
  return app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
}

std::vector<CLI::Option*> ShownOptions(CLI::App& app, bool named) {
  return app.get_options([named](const CLI::Option* each) {
    const bool has_name = !each->get_lnames().empty() || !each->get_snames().empty();
    return named ? has_name && !each->get_group().empty() : !has_name || each->get_positional();
  });
}

void EachCommand(CLI::App& app, const std::function<void(CLI::App&)>& visit) {
  visit(app);
  for (CLI::App* command : Commands(app)) EachCommand(*command, visit);
}

void WrapHelp(CLI::App& app) {
  app.formatter(std::make_shared<WrappingFormatter>());
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
