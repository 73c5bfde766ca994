#include "controller/launch/ssh_words.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/protocol.h"
#include "controller/fleet/agent_trust.h"

namespace plimsoll {
namespace {

// The host as ssh's command line takes it: "node1", "-p 2222 node1".
std::string Destination(const std::string& name) {
  const size_t colon = name.rfind(':');
  const bool has_port = colon != std::string::npos && name.find(']', colon) == std::string::npos;
  std::string host = has_port ? name.substr(0, colon) : name;
  if (host.size() > 1 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return absl::StrCat(has_port ? absl::StrCat("-p ", name.substr(colon + 1), " ") : "", host);
}

std::string WithEvidence(const SshEvidence& evidence, const std::string& words) {
  const std::string last = LastLine(evidence.errors);
  if (last.empty() && !evidence.printed.empty()) {
    return absl::StrCat(evidence.name, ": ", words, " (it printed: ", evidence.printed, ")");
  }
  if (last.empty()) {
    return absl::StrCat(evidence.name, ": ", words,
                        evidence.ended.empty() ? "" : absl::StrCat(" (ssh ended with ", evidence.ended, ")"));
  }
  return absl::StrCat(evidence.name, ": ", words, " (ssh: ", last, ")");
}

struct Cause {
  const char* text;
  const char* words;
};

// In the order of looking: the more special before the more general. "{}" is the destination.
constexpr std::array<Cause, 13> kCauses = {{
    {"REMOTE HOST IDENTIFICATION HAS CHANGED",
     "its host key is not the one that this user knows: if the host was installed anew, run `ssh-keygen -R {}` and "
     "connect once by hand; otherwise another machine answers in its place"},
    {"Host key verification failed",
     "its host key is unknown: connect once by hand, `ssh {}`, and compare the fingerprint"},
    {"Permission denied (",
     "ssh cannot log in without asking for a password: set up a key with `ssh-copy-id {}`, or load it with `ssh-add`"},
    {"Too many authentication failures",
     "ssh offers too many keys: name the right one with IdentityFile and IdentitiesOnly in ~/.ssh/config"},
    {"Could not resolve hostname", "name not found: check --hosts, and `Host` in ~/.ssh/config"},
    {"Connection refused", "no ssh server listens there: start sshd, or check the port (Port in ~/.ssh/config)"},
    {"No route to host", "cannot be reached: check the network and the host's name"},
    {"Network is unreachable", "cannot be reached: check the network and the host's name"},
    {"timed out", "does not answer: check the network and the host's name"},
    {"Bad configuration option", "ssh does not know an option: OpenSSH 7.6 or newer is needed, on this machine"},
    {"Connection closed by",
     "the ssh server closed the connection: its log has the reason; with many hosts behind one jump host, raise "
     "MaxStartups there"},
    {"Connection reset by", "the ssh server closed the connection: its log has the reason"},
    {"Broken pipe", "the connection broke"},
}};

// A line that ssh wrote itself; on its standard error are banners and what the host's shell prints, too.
bool IsFromSsh(const std::string& line) {
  constexpr std::array<const char*, 14> kBegins = {"ssh: ",
                                                   "Connection closed by ",
                                                   "Connection reset by ",
                                                   "Connection timed out",
                                                   "kex_exchange_identification: ",
                                                   "ssh_exchange_identification: ",
                                                   "client_loop: ",
                                                   "channel ",
                                                   "Received disconnect from ",
                                                   "Disconnected from ",
                                                   "Host key verification failed",
                                                   "Could not request ",
                                                   "@ ",
                                                   "command-line"};
  if (std::ranges::any_of(kBegins, [&](const char* begin) { return absl::StartsWith(line, begin); })) {
    return true;
  }
  // "mqm@node1: Permission denied (publickey).", "/home/mqm/.ssh/config: line 3: Bad configuration option: x",
  // "Connection to 10.0.0.1 port 22 timed out"
  const size_t blank = line.find(' ');
  return absl::StartsWith(line.substr(blank == std::string::npos ? 0 : blank), " Permission denied (") ||
         absl::StrContains(line, ": Bad configuration option: ") ||
         (absl::StartsWith(line, "Connection to ") && absl::StrContains(line, " port "));
}

std::string CauseOf(const SshEvidence& evidence) {
  std::vector<std::string> lines = absl::StrSplit(evidence.errors, absl::ByAnyChar("\r\n"));
  std::erase_if(lines, [](const std::string& line) { return !IsFromSsh(line); });
  for (const Cause& cause : kCauses) {
    if (std::ranges::none_of(lines, [&](const std::string& line) { return absl::StrContains(line, cause.text); })) {
      continue;
    }
    std::string words = cause.words;
    const size_t place = words.find("{}");
    if (place == std::string::npos) return words;
    return absl::StrCat(words.substr(0, place), Destination(evidence.name), words.substr(place + 2));
  }
  return "";
}

HostFailure Fails(const std::string& name, Exit code, const std::string& words) {
  return {name, code, absl::StrCat(name, ": ", words)};
}

// `text` is "/mnt/x: No such file or directory", with the system's words last.
HostFailure DirectoryFailure(const std::string& name, const std::string& text, const std::vector<AgentRoot>& roots) {
  const size_t colon = text.rfind(": ");
  const std::string path = text.substr(0, colon);
  const auto root = std::ranges::find_if(roots, [&path](const AgentRoot& each) { return each.path == path; });
  const std::string option = root == roots.end() ? "" : root->option;
  const std::string why = colon == std::string::npos ? "" : text.substr(colon + 2);
  if (why == "No such file or directory") {
    return {name, Exit::kWrong, DirectoryInWords(name, absl::StrCat(path, " does not exist"), option)};
  }
  const std::string where = absl::StrCat(option, option.empty() ? "" : ": ", path);
  if (why == "Not a directory") return {name, Exit::kWrong, absl::StrCat(where, " is not a directory on ", name)};
  if (why == "Permission denied") {
    return {name, Exit::kWrong, absl::StrCat(where, " cannot be entered on ", name, " by the user of ssh (", why, ")")};
  }
  // A file system in trouble: the command line is not what is wrong.
  return Fails(name, Exit::kCannotRun, absl::StrCat(where, " cannot be used (", why, ")"));
}

// A line of an agent's log about an error.
bool IsLogged(const std::vector<std::string>& words) {
  return words.size() == 3 && absl::StrContains(words[0], 'T') && (words[1] == "error" || words[1] == "critical");
}

// "2026-11-23T10:00:00.000 error /x does not exist" without what a log puts first.
std::string WithoutLogPrefix(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 2));
  if (IsLogged(words)) return words[2];
  return std::string(absl::StripPrefix(line, "plimsoll-agent: "));
}

}  // namespace

std::string LastLine(const std::string& text) {
  std::string last;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, absl::ByAnyChar("\r\n")))) {
    if (line.find_first_not_of(" \t") != std::string::npos) last = line;
  }
  return last;
}

std::string AgentsLine(const std::string& errors) {
  std::string last;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(errors, absl::ByAnyChar("\r\n")))) {
    if (absl::StartsWith(line, "plimsoll-agent: ") || IsLogged(absl::StrSplit(line, absl::MaxSplits(' ', 2)))) {
      last = line;
    }
  }
  return last;
}

HostFailure SshFailure(const SshEvidence& evidence) {
  std::string words = CauseOf(evidence);
  if (words.empty()) {
    words = evidence.connected ? "ssh ended before the agent ran"
                               : "no POSIX shell answers there: `sh` must start, without a menu or a forced command";
    // ssh's own exit code for its own errors.
    if (!evidence.connected && evidence.ended == "exit code 255") words = "ssh could not connect";
  }
  return {evidence.name, Exit::kCannotRun, WithEvidence(evidence, words)};
}

HostFailure HostSideFailure(const std::string& name, const std::string& kind, const std::string& text,
                            const SshWays& ways, const std::vector<AgentRoot>& roots) {
  const std::string found = text.empty() ? "" : absl::StrCat(" (", text, ")");
  if (kind == "directory") return DirectoryFailure(name, text, roots);
  if (kind == "system") return Fails(name, Exit::kCannotRun, absl::StrCat("it runs ", text, "; agents run on Linux"));
  if (kind == "machine") {
    const std::vector<std::string> words = absl::StrSplit(text, absl::MaxSplits(' ', 1));
    return Fails(name, Exit::kCannotRun,
                 absl::StrCat("it is ", words[0], ", the agent is for ", ways.machine, ": build plimsoll-agent ",
                              kVersion, " for that architecture, and put it there as ", words.back(), ", mode 0700"));
  }
  if (kind == "tmp") {
    return Fails(name, Exit::kCannotRun,
                 absl::StrCat("cannot make a directory in /tmp for an agent without --dir: free some space there, let "
                              "this user write there, or pass --dir",
                              found));
  }
  if (kind == "missing") {
    return Fails(name, Exit::kCannotRun,
                 absl::StrCat("it has no agent ", kVersion, " in ", text, ": ",
                              ways.no_agent.empty() ? "leave out --no-copy, or put one there" : ways.no_agent));
  }
  if (kind == "private") {
    return Fails(name, Exit::kCannotRun,
                 absl::StrCat("the cache directory ", text,
                              " belongs to another user, or others may write there: pass another --launch-cache"));
  }
  if (kind == "above") {
    return Fails(name, Exit::kCannotRun,
                 absl::StrCat(text,
                              ", above the cache directory, belongs to another user, or others may write there and "
                              "could replace what is below it: pass another --launch-cache"));
  }
  if (kind == "sum") {
    return Fails(
        name, Exit::kCannotRun,
        absl::StrCat("the copied agent has another SHA-256, or neither sha256sum nor openssl is there", found));
  }
  if (kind == "other") {
    return Fails(name, Exit::kCannotRun,
                 absl::StrCat("the agent in its cache is another version than ", kVersion, found,
                              ": leave out --no-copy, or pass the right one with --launch-agent"));
  }
  if (kind == "write") {
    if (absl::StrContains(text, "No space left") || absl::StrContains(text, "quota")) {
      return Fails(name, Exit::kCannotRun,
                   absl::StrCat("no space for the agent: free some, or pass another --launch-cache", found));
    }
    return Fails(name, Exit::kCannotRun,
                 absl::StrCat("the agent cannot be stored: pass another --launch-cache", found));
  }
  if (kind == "run") {
    if (absl::StrContains(text, "Permission denied")) {
      return Fails(name, Exit::kCannotRun,
                   absl::StrCat("programs may not run in the cache directory (noexec?): pass a --launch-cache on "
                                "another file system",
                                found));
    }
    return Fails(name, Exit::kCannotRun,
                 absl::StrCat("the agent does not run there",
                              ways.dynamic ? "; it is linked dynamically: scripts/portable builds one that runs on any "
                                             "Linux"
                                           : "",
                              found));
  }
  return Fails(name, Exit::kCannotRun, absl::StrCat("the agent could not be started: ", kind, found));
}

HostFailure AgentFailure(const std::string& name, int exit_code, const std::string& printed) {
  const std::string reason = WithoutLogPrefix(printed);
  return Fails(
      name, exit_code == static_cast<int>(Exit::kWrong) ? Exit::kWrong : Exit::kCannotRun,
      reason.empty() ? absl::StrCat("the agent ended before it listened (exit code ", exit_code, ")") : reason);
}

}  // namespace plimsoll
