#include "controller/launch/command_host.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/link/frame.h"
#include "controller/launch/command_words.h"

namespace plimsoll {
namespace {

// Kept of what garbles the output, for a message.
constexpr size_t kMostShown = 4 << 10;
// Of an agent that is only asked: it writes nothing.
constexpr char kAnyDirectory[] = "/tmp";

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
  arguments_.insert(arguments_.end(), more.begin(), more.end());
  if (name_.starts_with('-')) {
    Fail({name_, Exit::kWrong, absl::StrCat(name_, ": the name of a host cannot begin with '-'")});
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

std::string CommandHost::NoAnswer() const {
  return absl::StrCat("no answer over ", command_.client);
}

}  // namespace plimsoll
