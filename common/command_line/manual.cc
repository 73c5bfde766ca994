#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/command_line/command_line.h"
#include "common/command_line/declarations.h"
#include "common/posix.h"
#include "common/protocol.h"

namespace plimsoll {
namespace {

// Text as a line of roff prints it.
std::string Roff(const std::string& text) {
  std::string roff = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}, {"'", "\\(aq"}, {"`", "\\(ga"}});
  return absl::StartsWith(roff, ".") ? "\\&" + roff : roff;
}

std::string OptionPage(const CLI::Option& option, const std::string& name) {
  std::string heading = absl::StrCat("\\fB", Roff(name), "\\fR");
  const std::string value = Placeholder(option);
  if (TakesValue(option) && !value.empty() && (absl::StartsWith(name, "-") || value != "TEXT")) {
    absl::StrAppend(&heading, " \\fI", Roff(value), "\\fR");
  }
  std::string text = Description(option);
  const std::string standard = option.get_default_str();
  if (!standard.empty()) absl::StrAppend(&text, " (default: ", standard, ")");
  if (option.get_required()) absl::StrAppend(&text, " (required)");
  return absl::StrCat(".TP\n", heading, "\n", Roff(text), "\n");
}

// What --help prints below the options: text, then lines after "Example:" that are printed as they are.
std::string FooterPage(const std::string& footer) {
  std::string notes;
  std::string examples;
  bool of_examples = false;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(footer, '\n'))) {
    if (line == "Example:" || line == "Examples:") {
      of_examples = true;
    } else if (!line.empty()) {
      absl::StrAppend(of_examples ? &examples : &notes, Roff(std::string(absl::StripLeadingAsciiWhitespace(line))),
                      "\n");
    }
  }
  std::string page;
  if (!notes.empty()) absl::StrAppend(&page, ".SH NOTES\n", notes);
  if (!examples.empty()) absl::StrAppend(&page, ".SH EXAMPLES\n.nf\n", examples, ".fi\n");
  return page;
}

std::string ManPage(CLI::App& app) {
  const std::string name = FullName(app, "-");
  std::string page = absl::StrCat(".TH ", absl::AsciiStrToUpper(Roff(name)), " 1 \"\" \"plimsoll ", kVersion,
                                  "\" \"User Commands\"\n.nh\n.ad l\n");
  std::string purpose = app.get_description();
  if (absl::EndsWith(purpose, ".")) purpose.pop_back();
  if (purpose.size() > 1 && absl::ascii_islower(static_cast<unsigned char>(purpose[1]))) {
    purpose[0] = absl::ascii_tolower(static_cast<unsigned char>(purpose[0]));
  }
  absl::StrAppend(&page, ".SH NAME\n", Roff(name), " \\- ", Roff(purpose), "\n");
  absl::StrAppend(&page, ".SH SYNOPSIS\n\\fB", Roff(FullName(app)), "\\fR [\\fIOPTIONS\\fR]");
  for (const CLI::Option* positional : ShownOptions(app, false)) {
    const std::string placeholder = absl::StrCat("\\fI", Roff(positional->get_name(true)), "\\fR");
    absl::StrAppend(&page, positional->get_required() ? " " : " [", placeholder, positional->get_required() ? "" : "]");
  }
  if (!Commands(app).empty()) absl::StrAppend(&page, " \\fICOMMAND\\fR");
  page += "\n";
  if (const std::vector<CLI::Option*> positionals = ShownOptions(app, false); !positionals.empty()) {
    page += ".SH ARGUMENTS\n";
    for (const CLI::Option* each : positionals) page += OptionPage(*each, each->get_name(true));
  }
  page += ".SH OPTIONS\n";
  std::vector<std::string> groups;
  for (const CLI::Option* each : ShownOptions(app, true)) {
    if (std::find(groups.begin(), groups.end(), each->get_group()) == groups.end()) groups.push_back(each->get_group());
  }
  for (const std::string& group : groups) {
    if (group != "Options") absl::StrAppend(&page, ".SS ", Roff(group), "\n");
    for (const CLI::Option* each : ShownOptions(app, true)) {
      if (each->get_group() == group) page += OptionPage(*each, absl::StrJoin(Spellings(*each), ", "));
    }
  }
  std::vector<std::string> others;
  if (const CLI::App* parent = app.get_parent(); parent != nullptr) others.push_back(FullName(*parent, "-"));
  if (const std::vector<CLI::App*> commands = Commands(app); !commands.empty()) {
    page += ".SH COMMANDS\n";
    for (const CLI::App* each : commands) {
      absl::StrAppend(&page, ".TP\n\\fB", Roff(each->get_name()), "\\fR\n", Roff(each->get_description()), "\n");
      others.push_back(FullName(*each, "-"));
    }
  }
  page += FooterPage(app.get_footer());
  if (others.empty()) return page;
  page += ".SH SEE ALSO\n";
  for (size_t i = 0; i < others.size(); ++i) {
    absl::StrAppend(&page, ".BR ", Roff(others[i]), " (1)", i + 1 < others.size() ? ",\n" : "\n");
  }
  return page;
}

absl::Status Write(const std::filesystem::path& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) return PosixError("mkdir", path.parent_path().string(), error.value());
  std::ofstream file(path);
  file << text;
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat("cannot write ", path.string()));
}

}  // namespace

absl::Status WriteManual(CLI::App& app, const std::string& directory) {
  const std::filesystem::path place(directory);
  absl::Status status;
  EachCommand(app, [&](CLI::App& each) {
    if (status.ok()) status = Write(place / "man" / "man1" / absl::StrCat(FullName(each, "-"), ".1"), ManPage(each));
  });
  if (status.ok()) status = Write(place / "bash-completion" / "completions" / app.get_name(), BashCompletion(app));
  if (status.ok())
    status = Write(place / "zsh" / "site-functions" / absl::StrCat("_", app.get_name()), ZshCompletion(app));
  return status;
}

}  // namespace plimsoll
