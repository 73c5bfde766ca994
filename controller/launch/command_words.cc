#include "controller/launch/command_words.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/link/frame.h"
#include "common/protocol.h"
#include "common/text.h"
#include "controller/fleet/agent_trust.h"

namespace plimsoll {
namespace {

// The last two lines that are not empty, as one: clients such as kubectl put the exit code below the reason.
std::string LastTwoLines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, absl::ByAnyChar("\r\n"), absl::SkipWhitespace());
  if (lines.size() > 2) lines.erase(lines.begin(), lines.end() - 2);
  return absl::StrJoin(lines, "; ");
}

}  // namespace

std::string ProblemOfWord(const std::string& what, const std::string& word) {
  constexpr std::string_view kPlain = "_./:=,@%+[]-";
  const auto plain = [&kPlain](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || kPlain.find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return "";
  return absl::StrCat(what, ", ", Quoted(word),
                      ", may be read by a shell on its way to the agent: use letters, digits and ", std::string(kPlain),
                      " alone");
}

HostFailure CommandFailure(const CommandEvidence& evidence, const std::vector<AgentRoot>& roots) {
  // With a terminal in between, what the agent writes to standard error is on standard output.
  std::string agents = AgentsLine(evidence.errors);
  if (agents.empty()) agents = AgentsLine(evidence.garbled);
  if (!agents.empty()) {
    for (const AgentRoot& root : roots) {
      const std::string missing = absl::StrCat(root.path, " does not exist");
      if (!absl::StrContains(agents, absl::StrCat("--root: ", missing, ";"))) continue;
      return {evidence.name, Exit::kWrong, DirectoryInWords(evidence.name, missing, root.option)};
    }
    int code = 0;
    if (!absl::SimpleAtoi(absl::StripPrefix(evidence.ended, "exit code "), &code)) code = 0;
    return AgentFailure(evidence.name, code, agents);
  }
  const std::string last = LastTwoLines(evidence.errors);
  const std::string client =
      absl::StrCat(evidence.client, " ended with ", evidence.ended, last.empty() ? "" : absl::StrCat(": ", last));
  const std::string words = evidence.garbled.empty() ? absl::StrCat("no agent answered: plimsoll-agent ", kVersion,
                                                                    " must be in the PATH there (", client, ")")
                                                     : GarbledInWords(evidence.garbled);
  return {evidence.name, Exit::kCannotRun, absl::StrCat(evidence.name, ": ", words)};
}

}  // namespace plimsoll
