#include "controller/app/console.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ostream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/text.h"

namespace plimsoll {
namespace {

constexpr char kGreen[] = "\033[32m";
constexpr char kRed[] = "\033[31m";
constexpr char kYellow[] = "\033[33m";
constexpr char kNoColor[] = "\033[0m";

// The first verdict of the line that is a word of its own, in its colour.
void PaintFirst(std::string& line) {
  static const std::vector<std::pair<std::string, const char*>> kWords = {
      {"PASS", kGreen}, {"FAIL", kRed}, {"INCONCLUSIVE", kYellow}, {"NOT TESTED", kYellow}, {"DID NOT RUN", kYellow}};
  size_t first = std::string::npos;
  const std::pair<std::string, const char*>* found = nullptr;
  for (const auto& word : kWords) {
    const size_t at = line.find(absl::StrCat(" ", word.first));
    if (at == std::string::npos || at >= first) continue;
    const size_t end = at + 1 + word.first.size();
    if (end < line.size() && std::strchr(" ,:", line[end]) == nullptr) continue;
    first = at;
    found = &word;
  }
  if (found == nullptr) return;
  line.insert(first + 1 + found->first.size(), kNoColor);
  line.insert(first + 1, found->second);
}

}  // namespace

int PrintError(Console& console, const std::string& message, Exit exit) {
  std::string one_line = message;
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  console.err << (console.color_err ? "\033[31mplimsoll:\033[0m " : "plimsoll: ") << SanitizeForTerminal(one_line)
              << '\n';
  return static_cast<int>(exit);
}

int PrintError(Console& console, const absl::Status& status, Exit exit) {
  return PrintError(console, std::string(status.message()), exit);
}

int PrintErrors(Console& console, const absl::Status& status, Exit exit) {
  for (const std::string& message : std::vector<std::string>(absl::StrSplit(std::string(status.message()), '\n'))) {
    PrintError(console, message, exit);
  }
  return static_cast<int>(exit);
}

int PrintFailure(Console& console, const Failure& failure) {
  for (const std::string& message : failure.lines) PrintError(console, message, failure.code);
  return static_cast<int>(failure.code);
}

bool WroteOutput(Console& console, const std::string& more) {
  console.out.flush();
  if (console.out) return true;
  // A pipe without a reader is in error; a full disk is not.
  pollfd output{STDOUT_FILENO, 0, 0};
  if (poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0) return true;
  if (!console.output_failed)
    PrintError(console, absl::StrCat("standard output could not be written", more), Exit::kOk);
  console.output_failed = true;
  return false;
}

std::string PaintVerdicts(const std::string& report, bool color) {
  if (!color) return report;
  std::string painted;
  bool in_table = false;
  const std::vector<std::string> lines = absl::StrSplit(report, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string line = lines[i];
    if (absl::StartsWith(line, "Criteria") || line == "Requirements" || line == "Parts") {
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
