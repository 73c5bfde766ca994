#include "controller/cli/color.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace plimsoll {
namespace {

constexpr char kColorOption[] = "--color";
constexpr char kGreen[] = "\033[32m";
constexpr char kRed[] = "\033[31m";
constexpr char kYellow[] = "\033[33m";
constexpr char kNoColor[] = "\033[0m";

void SetColors(const std::string& when, CommandLine& line) {
  const char* none = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool wanted = (none == nullptr || *none == '\0') && (term == nullptr || std::strcmp(term, "dumb") != 0);
  const auto decide = [&](int fd) { return when == "always" || (when == "auto" && wanted && isatty(fd) != 0); };
  line.color_out = decide(STDOUT_FILENO);
  line.color_err = decide(STDERR_FILENO);
}

// The first verdict of the line that stands between blanks, in its colour.
void PaintFirst(std::string& line) {
  static const std::vector<std::pair<std::string, const char*>> kWords = {
      {"PASS", kGreen}, {"FAIL", kRed}, {"INCONCLUSIVE", kYellow}, {"NOT TESTED", kYellow}};
  size_t first = std::string::npos;
  const std::pair<std::string, const char*>* found = nullptr;
  for (const auto& word : kWords) {
    const size_t at = line.find(absl::StrCat(" ", word.first));
    if (at == std::string::npos || at >= first) continue;
    const size_t end = at + 1 + word.first.size();
    if (end < line.size() && line[end] != ' ') continue;
    first = at;
    found = &word;
  }
  if (found == nullptr) return;
  line.insert(first + 1 + found->first.size(), kNoColor);
  line.insert(first + 1, found->second);
}

}  // namespace

void AddColorOption(CLI::App& app, CommandLine& line) {
  SetColors("auto", line);
  app.add_option_function<std::string>(
         kColorOption, [&line](const std::string& when) { SetColors(when, line); },
         "Colour verdicts, errors and the live table: auto (on a terminal, unless\n"
         "NO_COLOR is set), always or never; may stand anywhere on the line")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}));
}

std::vector<std::string> ColorFirst(const std::vector<std::string>& args) {
  std::vector<std::string> first;
  std::vector<std::string> rest;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--") {
      rest.insert(rest.end(), args.begin() + static_cast<std::ptrdiff_t>(i), args.end());
      break;
    }
    const bool alone = args[i] == kColorOption;
    if (!alone && !absl::StartsWith(args[i], absl::StrCat(kColorOption, "="))) {
      rest.push_back(args[i]);
      continue;
    }
    first.push_back(args[i]);
    if (alone && i + 1 < args.size()) first.push_back(args[++i]);
  }
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

size_t ColorWords(const std::vector<std::string>& args) {
  size_t words = 0;
  while (words < args.size() && absl::StartsWith(args[words], kColorOption))
    words += args[words] == kColorOption ? 2U : 1U;
  return words;
}

std::string PaintVerdicts(const std::string& report, bool color) {
  if (!color) return report;
  std::string painted;
  bool in_table = false;
  const std::vector<std::string> lines = absl::StrSplit(report, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string line = lines[i];
    if (absl::StartsWith(line, "Criteria") || line == "Requirements") {
      in_table = true;
    } else if (line.empty()) {
      in_table = false;
    } else if (in_table || absl::StartsWith(line, "Verdict ")) {
      PaintFirst(line);
    }
    absl::StrAppend(&painted, i > 0 ? "\n" : "", line);
  }
  return painted;
}

}  // namespace plimsoll
