#include "common/cleanup_command.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace plimsoll {
namespace {

// Longer ones come from no agent that a person started.
constexpr size_t kMaxLength = 4096;

bool StartsKnownProgram(const v1::HostDescription& host) {
  const std::string& program = host.cleanup_command(0);
  const std::string first = host.cleanup_command_size() > 1 ? host.cleanup_command(1) : "";
  if (program == "systemctl") {
    return host.cleanup_command_size() == 3 && first == "start" && absl::EndsWith(host.cleanup_command(2), ".service");
  }
  if (!absl::StartsWith(program, "/")) return false;
  return absl::EndsWith(program, "/plimsoll-agent") || (absl::EndsWith(program, "/plimsoll") && first == "clean");
}

}  // namespace

std::string CleanupCommandLine(const v1::HostDescription& host) {
  if (host.cleanup_command_size() == 0 || !StartsKnownProgram(host)) return "";
  std::string line;
  for (const std::string& argument : host.cleanup_command()) {
    absl::StrAppend(&line, line.empty() ? "" : " ", ShellQuoted(argument));
    if (line.size() > kMaxLength) return "";
  }
  return SanitizeForTerminal(line);
}

std::string CleanupAdvice(const std::string& label, const v1::HostDescription& host) {
  const std::string command = CleanupCommandLine(host);
  if (command.empty()) return "";
  return absl::StrCat("if the agent of ", label, " was killed, its files are still there; to remove them, run on ",
                      label, ": ", command);
}

}  // namespace plimsoll
