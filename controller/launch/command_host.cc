#include "controller/launch/command_host.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/link/frame.h"
#include "common/units.h"
#include "controller/launch/command_words.h"

namespace plimsoll {
namespace {

// Kept of what garbles the output, for a message.
constexpr size_t kMostShown = 4 << 10;
// Of an agent that is only asked: it writes nothing.
constexpr char kAnyDirectory[] = "/tmp";
// A command may wait in a queue, or pull an image.
constexpr int64_t kCommandStartLimitNs = 5 * 60 * kNsPerSecond;
// An agent that has started waits for those that have not.
constexpr char kSessionWait[] = "--session-wait";
constexpr char kSessionWaitTime[] = "6m";

}  // namespace

CommandHost::CommandHost(const HostCommand& command, const Clock& clock, const std::string& address,
                         std::string local_socket)
    : ClientHost(clock, NameOfAddress(address), std::move(local_socket)), command_(command) {}

void CommandHost::Start(const std::vector<AgentRoot>& roots, const std::vector<std::string>& more) {
  roots_ = roots;
  for (const std::string& word : command_.words) arguments_.push_back(absl::StrReplaceAll(word, {{"{host}", name_}}));
  arguments_.insert(arguments_.end(), {"plimsoll-agent", "--stdio", "--log-level", "error"});
  for (const AgentRoot& root : roots_) arguments_.insert(arguments_.end(), {"--root", root.path});
  if (roots_.empty()) arguments_.insert(arguments_.end(), {"--root", kAnyDirectory});
  const auto waits = [](const std::string& option) { return option.starts_with(kSessionWait); };
  if (std::ranges::none_of(more, waits)) arguments_.insert(arguments_.end(), {kSessionWait, kSessionWaitTime});
  arguments_.insert(arguments_.end(), more.begin(), more.end());
  std::string problem = ProblemOfWord("the name of the host", name_);
  if (name_.starts_with('-')) problem = "the name of a host cannot begin with '-'";
  for (const AgentRoot& root : roots_) {
    if (problem.empty()) problem = ProblemOfWord(root.option.empty() ? "the directory" : root.option, root.path);
  }
  for (const std::string& option : more) {
    if (problem.empty()) problem = ProblemOfWord("the agent's option", option);
  }
  if (!problem.empty()) {
    Fail({name_, Exit::kWrong, absl::StrCat(name_, ": ", problem)});
    return;
  }
  Enter(State::kReady);
}

void CommandHost::Go() {
  StartClient(arguments_, State::kStarting, command_.way_out);
  if (client_ != nullptr) BeginLink();
}

void CommandHost::TakeText(std::string_view text) {
  if (state_ == State::kUp && !agent_ended()) {
    Fail({name_, Exit::kCannotRun, absl::StrCat(name_, ": ", GarbledInWords(text))});
  } else if (!garbled_.empty()) {
    garbled_.append(text.substr(0, kMostShown - std::min(kMostShown, garbled_.size())));
  }
}

HostFailure CommandHost::EndedEarly() const {
  return CommandFailure({name_, command_.client, errors_, garbled_, how_ended_}, roots_);
}

int64_t CommandHost::StartLimitNs() const {
  return kCommandStartLimitNs;
}

std::string CommandHost::WhyNoStart() const {
  return absl::StrCat("is ", command_.client, " waiting for something?");
}

std::string CommandHost::NoAnswer() const {
  return absl::StrCat("no answer over ", command_.client);
}

}  // namespace plimsoll
