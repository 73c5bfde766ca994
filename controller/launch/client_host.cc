#include "controller/launch/client_host.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// Without anything from the client, from the host while the agent is copied, and from the agent that starts.
constexpr int64_t kConnectLimitNs = 60 * kNsPerSecond;
constexpr int64_t kCopyLimitNs = 60 * kNsPerSecond;
constexpr int64_t kStartLimitNs = 45 * kNsPerSecond;
// For the client to end after a failure; after a signal as long again.
constexpr int64_t kClientEndLimitNs = 2 * kNsPerSecond;
// What is kept of the client's standard error, and of what garbles its output.
constexpr size_t kMostErrors = 32 << 10;
constexpr size_t kMostGarbled = 4 << 10;
constexpr size_t kStreams = 4;
constexpr int kBacklog = 16;

// Bytes that are there now, so many that others get their turn; false where the pipe has ended.
bool ReadSome(int fd, std::string& text) {
  std::array<char, 16 << 10> buffer{};
  for (int turn = 0; turn < 4; ++turn) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got > 0) {
      text.append(buffer.data(), static_cast<size_t>(got));
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      return false;
    } else if (errno == EAGAIN) {
      return true;
    }
  }
  return true;
}

}  // namespace

std::string NameOfAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  return address.substr(colon + 1) == absl::StrCat(kDefaultPort) ? address.substr(0, colon) : address;
}

ClientHost::ClientHost(const Clock& clock, std::string name, std::string local_socket)
    : clock_(clock), name_(std::move(name)), local_socket_(std::move(local_socket)) {}

void ClientHost::StartClient(const std::vector<std::string>& command, State state, const std::string& way_out) {
  auto started = PipedProcess::Start(command, PipedProcess::Life::kEndsWithThread);
  if (!started.ok()) {
    Fail({name_, Exit::kCannotRun, absl::StrCat(name_, ": ", std::string(started.status().message()), ": ", way_out)});
    return;
  }
  client_ = *std::move(started);
  Enter(state);
}

int64_t ClientHost::StartLimitNs() const {
  return kStartLimitNs;
}

void ClientHost::Enter(State state) {
  const MonotonicNs now = clock_.Now();
  switch (state) {
    case State::kConnecting:
      deadline_ = now + kConnectLimitNs;
      break;
    case State::kCopying:
      deadline_ = now + kCopyLimitNs;
      break;
    case State::kStarting:
      deadline_ = now + StartLimitNs();
      break;
    default:
      deadline_.reset();
      break;
  }
  state_ = state;
}

size_t ClientHost::AddWaits(std::vector<pollfd>& waits) {
  if (client_ == nullptr) return 0;
  const size_t before = waits.size();
  const bool reads = !LinkRuns() || link_->wants_to_receive();
  const bool sends = !unsent_.empty() || file_ != nullptr || (link_.has_value() && link_->wants_to_send());
  waits.push_back({reads ? client_->output() : -1, POLLIN, 0});
  waits.push_back({client_->errors(), POLLIN, 0});
  waits.push_back({sends ? client_->input() : -1, POLLOUT, 0});
  waits.push_back({std::exchange(accept_paused_, false) ? -1 : listener_.get(), POLLIN, 0});
  if (link_.has_value()) link_->AddWaits(waits);
  return waits.size() - before;
}

void ClientHost::Serve(std::span<const pollfd> found) {
  if (client_ == nullptr) return;
  if (found.size() >= kStreams) {
    if (link_.has_value()) link_->Serve(found.subspan(kStreams));
    // Standard error first: what it says explains what the others do.
    if (found[1].revents != 0) ReadErrors();
    if (found[0].revents != 0) ReadOutput();
    if (found[3].revents != 0) Accept();
    Send();
  }
  CheckEnd();
  CheckTime();
}

void ClientHost::ReadErrors() {
  if (client_->errors() < 0) return;
  if (!ReadSome(client_->errors(), errors_)) client_->CloseErrors();
  if (errors_.size() > kMostErrors) errors_.erase(0, errors_.size() - kMostErrors);
}

void ClientHost::ReadOutput() {
  if (client_->output() < 0) return;
  std::string bytes;
  const bool more = ReadSome(client_->output(), bytes);
  Take(bytes);
  if (more) return;
  client_->CloseOutput();
  CloseLink();
}

void ClientHost::Take(std::string_view bytes) {
  if (bytes.empty()) return;
  if (!LinkRuns()) {
    TakeText(bytes);
    return;
  }
  const auto took = link_->Receive(bytes);
  if (!took.ok()) return TakeLinkError(took.status());
  if (link_->state() == StdioLink::State::kUp && state_ == State::kStarting) Listen();
  if (LinkRuns()) return;
  listener_.Reset();
  if (EndsWithLink()) AgentEnded();
  Take(bytes.substr(*took));
}

void ClientHost::TakeLinkError(const absl::Status& error) {
  listener_.Reset();
  const std::string refused = link_->refused();
  if (absl::IsInvalidArgument(error) && state_ == State::kStarting) {
    garbled_ = refused.substr(0, kMostGarbled);
    FailAtEnd();
    return;
  }
  // The host may report the end of an agent that was killed.
  TakeText(refused);
}

void ClientHost::SendText(const std::string& text) {
  unsent_ += text;
  Send();
}

void ClientHost::Send() {
  while (client_->input() >= 0 && (!unsent_.empty() || file_ != nullptr)) {
    const bool text = !unsent_.empty();
    const std::string& from = text ? unsent_ : *file_;
    const size_t begin = text ? 0 : copied_;
    const ssize_t sent = write(client_->input(), from.data() + begin, from.size() - begin);
    if (sent < 0) {
      if (errno == EINTR) continue;
      // The end of the client is found by its exit status.
      if (errno != EAGAIN) client_->CloseInput();
      return;
    }
    if (text) {
      unsent_.erase(0, static_cast<size_t>(sent));
    } else {
      copied_ += static_cast<size_t>(sent);
      if (copied_ == from.size()) file_ = nullptr;
      Enter(State::kCopying);
    }
  }
  if (link_.has_value() && client_->input() >= 0 && !link_->Send(client_->input()).ok()) client_->CloseInput();
  if (close_when_sent_ && unsent_.empty()) client_->CloseInput();
}

void ClientHost::Listen() {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::memcpy(where.sun_path, local_socket_.data(), std::min(local_socket_.size(), sizeof(where.sun_path) - 1));
  UniqueFd made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Its directory is this user's alone.
  if (!made.valid() || bind(made.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0 ||
      listen(made.get(), kBacklog) != 0) {
    const int error = errno;
    return Fail({name_, Exit::kCannotRun,
                 absl::StrCat(name_, ": ", std::string(PosixError("listen on", local_socket_, error).message()))});
  }
  listener_ = std::move(made);
  Enter(State::kUp);
}

void ClientHost::Accept() {
  while (listener_.valid()) {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      // The connection stays in the queue, so that poll(2) would find it at once, again and again.
      accept_paused_ = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      return;
    }
    link_->Open(std::move(socket));
  }
}

void ClientHost::CheckEnd() {
  const std::optional<int> ended = client_->Poll();
  if (!ended.has_value()) return;
  // What it printed before.
  for (size_t kept = std::string::npos; client_->errors() >= 0 && kept != errors_.size();) {
    kept = errors_.size();
    ReadErrors();
  }
  ReadOutput();
  how_ended_ = HowItEnded(*ended);
  const bool early = fails_at_end_ || (state_ != State::kEnding && state_ != State::kUp);
  if (!failure_.has_value() && early) failure_ = EndedEarly();
  CloseLink();
  client_.reset();
  Enter(State::kEnded);
}

void ClientHost::CheckTime() {
  if (client_ == nullptr || !deadline_.has_value() || clock_.Now() < *deadline_) return;
  if (state_ == State::kEnding) {
    Kill();
    return;
  }
  const std::string words =
      state_ == State::kStarting
          ? absl::StrCat("its agent did not start within ", FormatDuration(StartLimitNs()), ": ", WhyNoStart())
          : absl::StrCat(NoAnswer(), " within ", FormatDuration(kConnectLimitNs),
                         ": is the host, or a file system there, hung?");
  Fail({name_, Exit::kCannotRun, absl::StrCat(name_, ": ", words)});
}

void ClientHost::End() {
  if (state_ == State::kEnding || state_ == State::kEnded) return;
  if (client_ == nullptr) {
    Enter(State::kEnded);
    return;
  }
  const bool agent_runs = state_ == State::kStarting || state_ == State::kUp;
  const bool waits = state_ == State::kReady;
  Enter(State::kEnding);
  if (agent_runs) {
    if (!LinkRuns()) BeginLink();
    link_->SendEnd();
    Send();
  } else if (waits) {
    // Nothing runs: what follows the agent's end can follow at once.
    AgentEnded();
  } else {
    Kill();
  }
}

void ClientHost::Finish(bool remove) {
  if (client_ == nullptr) return;
  CloseLink();
  close_when_sent_ = true;
  SendText(FarewellText(remove));
}

void ClientHost::Kill() {
  if (client_ == nullptr) return;
  // The end of its input is what ends the agent; a client that hangs does not pass it on.
  CloseInput();
  client_->Signal(std::exchange(next_signal_, SIGKILL));
  deadline_ = clock_.Now() + kClientEndLimitNs;
}

void ClientHost::Fail(HostFailure failure) {
  if (!failure_.has_value()) failure_ = std::move(failure);
  if (client_ == nullptr) {
    Enter(State::kEnded);
    return;
  }
  // What runs there ends, and the client with it; where the host hangs, neither does.
  Enter(State::kEnding);
  CloseInput();
  CloseLink();
  deadline_ = clock_.Now() + kClientEndLimitNs;
}

void ClientHost::FailAtEnd() {
  fails_at_end_ = true;
  Enter(State::kEnding);
  CloseInput();
  deadline_ = clock_.Now() + kClientEndLimitNs;
}

void ClientHost::CloseInput() {
  file_ = nullptr;
  unsent_.clear();
  client_->CloseInput();
}

void ClientHost::CloseLink() {
  listener_.Reset();
  if (link_.has_value()) link_->Break();
}

std::string ClientHost::LastWords() const {
  const std::string last = LastLine(errors_);
  return absl::StrCat(how_ended_.empty() ? "" : absl::StrCat("ended with ", how_ended_),
                      last.empty() || how_ended_.empty() ? "" : ": ", last);
}

}  // namespace plimsoll
