// What the command lines of controller and agent share: errors, TLS options, manual pages and completion.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/tls/tls.h"

namespace plimsoll {

// The words of a command line (without the program's name) as the parser of `app` takes them. The value of an option
// that may do without one can follow a blank: "--until-steady 10m" becomes "--until-steady=10m". INVALID_ARGUMENT where
// an option has no value, because another option follows or the value is empty, and where an option that takes one
// value is there twice; the parser would take any word for a value, and name the option that follows.
absl::StatusOr<std::vector<std::string>> PrepareWords(const CLI::App& app, std::vector<std::string> words);

// What words that PrepareWords has returned give.
struct GivenWords {
  // The command that they choose.
  const CLI::App* command = nullptr;
  // Its options that are given, with their last values; empty for a flag.
  std::map<const CLI::Option*, std::string> options;
  // Words that are neither options nor their values stand behind the command.
  bool has_arguments = false;

  // Whether an option of that name, without its dashes, is given; and its value, empty if it is not.
  bool Has(const std::string& name) const;
  std::string Value(const std::string& name) const;
};
GivenWords ReadWords(const CLI::App& app, const std::vector<std::string>& words);

// What is wrong with a command line that `app` refused with `error`, in one line: an option that there is not comes
// before one that is missing, and the nearest one is suggested.
std::string CommandLineError(const CLI::App& app, const CLI::ParseError& error);

// That `app` has no command of this name, with the nearest one, or none at all.
std::string UnknownCommand(const CLI::App& app, const std::string& word);

// Checks with messages of ours, which the parser puts after the option's name. Accepts one of `words`.
CLI::Validator OneOf(const std::vector<std::string>& words);

// Accepts a number of the range; `expected` ends the message: "expected a number above 0".
CLI::Validator NumberIn(const CLI::Range& range, const std::string& expected);

// Accepts a number from `least` to `most`.
template <typename Number>
CLI::Validator NumberFrom(Number least, Number most) {
  return NumberIn(CLI::Range(least, most), absl::StrCat("from ", least, " to ", most));
}

// How to get the help of the command that the parser had reached: "plimsoll plan --help".
std::string HelpCommand(const CLI::App& app);

// Makes --help break the descriptions of options and commands between words, so that its lines stay within 100 columns,
// and name the options that exclude each other in the description: for `app` and for the commands that are added to it
// afterwards.
void WrapHelp(CLI::App& app);

// Adds --tls-ca, --tls-cert and --tls-key, which every program and command that uses the network has; they fill
// `paths`, which must outlive the parsing. CheckTlsPaths checks them.
void AddTlsFlags(CLI::App& app, TlsPaths& paths);

// Makes a program write its manual below the directory that follows, as the build does.
inline constexpr char kManualOption[] = "--manual";

// Below `directory`, which is made where it is missing: man/man1 with a page for the program and one for each command,
// bash-completion/completions/NAME and zsh/site-functions/_NAME. Hidden commands and options are left out.
absl::Status WriteManual(CLI::App& app, const std::string& directory);

}  // namespace plimsoll
