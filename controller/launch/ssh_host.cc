#include "controller/launch/ssh_host.h"

#include <elf.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/files.h"
#include "common/posix.h"
#include "common/protocol.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"

namespace plimsoll {
namespace {

struct Machine {
  uint16_t elf;
  const char* name;
};
constexpr std::array<Machine, 5> kMachines = {
    {{EM_X86_64, "x86_64"}, {EM_AARCH64, "aarch64"}, {EM_PPC64, "ppc64le"}, {EM_S390, "s390x"}, {EM_RISCV, "riscv64"}}};

// Several times an agent that is linked statically, with everything that a debugger needs.
constexpr size_t kMostAgentBytes = size_t{1} << 30;

// A header of the file at `offset`; false where the file is shorter.
template <typename Header>
bool ReadAt(const std::string& bytes, uint64_t offset, Header& header) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(header)) return false;
  std::memcpy(&header, bytes.data() + offset, sizeof(header));
  return true;
}

}  // namespace

absl::StatusOr<AgentFile> ReadAgentFile(const std::string& path) {
  AgentFile agent;
  agent.path = path;
  PLIMSOLL_ASSIGN_OR_RETURN(agent.bytes, ReadFile(path, kMostAgentBytes));
  Elf64_Ehdr header{};
  if (!ReadAt(agent.bytes, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a program for Linux (ELF, 64 bits)"));
  }
  for (const Machine& machine : kMachines) {
    if (machine.elf == header.e_machine) agent.machine = machine.name;
  }
  if (agent.machine.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is a program for a machine that is not known (ELF machine ", header.e_machine, ")"));
  }
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!ReadAt(agent.bytes, header.e_phoff + uint64_t{i} * header.e_phentsize, segment)) {
      return absl::InvalidArgumentError(absl::StrCat(path, " is cut off"));
    }
    agent.dynamic = agent.dynamic || segment.p_type == PT_INTERP;
  }
  agent.sum = Sha256(agent.bytes);
  return agent;
}

namespace {

constexpr char kMark[] = "plimsoll-launch ";
constexpr char kListening[] = "listening";
// Without anything from ssh, from the host while the agent is copied, and from the agent that starts.
constexpr int64_t kConnectLimitNs = 60 * kNsPerSecond;
constexpr int64_t kCopyLimitNs = 60 * kNsPerSecond;
constexpr int64_t kStartLimitNs = 45 * kNsPerSecond;
// For ssh to end after a failure; after a signal as long again.
constexpr int64_t kSshEndLimitNs = 2 * kNsPerSecond;
// What is kept of ssh's standard error, and of a line.
constexpr size_t kMostErrors = 32 << 10;
constexpr size_t kMostLine = 4 << 10;

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

// After "its agent ended": its exit code as a shell has it.
std::string AgentsEndInWords(int code) {
  // As agents have it (--session-wait).
  constexpr int kNoSession = 3;
  if (code == kNoSession) return ": no session came in time (exit code 3)";
  return code > 128 ? absl::StrCat(", killed by signal ", code - 128) : absl::StrCat(", with exit code ", code);
}

}  // namespace

SshHost::SshHost(const SshSetup& setup, const Clock& clock, const std::string& address, std::string local_socket,
                 std::string remote_directory)
    : setup_(setup),
      clock_(clock),
      local_socket_(std::move(local_socket)),
      remote_directory_(std::move(remote_directory)) {
  const size_t colon = address.rfind(':');
  name_ = address;
  destination_ = address.substr(0, colon);
  if (destination_.size() > 1 && destination_.front() == '[') {
    destination_ = destination_.substr(1, destination_.size() - 2);
  }
  port_ = address.substr(colon + 1);
  if (port_ == absl::StrCat(kDefaultPort)) {
    port_.clear();
    name_ = address.substr(0, colon);
  }
}

void SshHost::Start(const std::vector<AgentRoot>& roots, const std::vector<std::string>& more) {
  std::vector<std::string> agent = {"--exit-with-stdin", "--listen",
                                    absl::StrCat("unix:", remote_directory_, "/agent.sock"), "--log-level", "error"};
  roots_ = roots;
  for (const AgentRoot& root : roots_) agent.insert(agent.end(), {"--root", root.path});
  if (roots_.empty()) agent.insert(agent.end(), {"--root", remote_directory_});
  agent.insert(agent.end(), more.begin(), more.end());
  const auto set = [this](const char* name, const std::string& value) {
    absl::StrAppend(&unsent_, name, "=", ShellQuoted(value), "\n");
  };
  set("version", kVersion);
  set("sum", setup_.agent == nullptr ? "" : setup_.agent->sum);
  set("size", setup_.agent == nullptr ? "" : absl::StrCat(setup_.agent->bytes.size()));
  set("machine", setup_.ways.machine);
  set("cache", setup_.cache);
  set("run", remote_directory_);
  absl::StrAppend(&unsent_, kStartAgentText, "main");
  for (const std::string& argument : agent) absl::StrAppend(&unsent_, " ", ShellQuoted(argument));
  unsent_ += '\n';

  std::vector<std::string> command = setup_.command;
  // A user's own configuration may hold what an interactive session needs. Of -o ssh takes the first, which is the
  // user's; of the others the last, which are these.
  command.insert(command.end(), {"-T", "-S", "none", "-a", "-x"});
  for (const char* option : {"BatchMode=yes", "ExitOnForwardFailure=yes", "StreamLocalBindUnlink=yes",
                             "ClearAllForwardings=no", "RemoteCommand=none", "ConnectTimeout=15", "LogLevel=INFO"}) {
    command.insert(command.end(), {"-o", option});
  }
  command.insert(command.end(), {"-L", absl::StrCat(local_socket_, ":", remote_directory_, "/agent.sock")});
  if (!port_.empty()) command.insert(command.end(), {"-p", port_});
  command.insert(command.end(), {"--", destination_, "exec sh"});
  auto started = PipedProcess::Start(command, PipedProcess::Life::kEndsWithThread);
  if (!started.ok()) {
    Fail({name_, Exit::kCannotRun,
          absl::StrCat(name_, ": ", std::string(started.status().message()),
                       ": install OpenSSH's client, or pass another --ssh-command")});
    return;
  }
  ssh_ = *std::move(started);
  Enter(State::kConnecting);
}

void SshHost::Enter(State state) {
  const MonotonicNs now = clock_.Now();
  switch (state) {
    case State::kConnecting:
      deadline_ = now + kConnectLimitNs;
      break;
    case State::kCopying:
      deadline_ = now + kCopyLimitNs;
      break;
    case State::kStarting:
      deadline_ = now + kStartLimitNs;
      break;
    case State::kForwarding:
      // What is left of the agent's time: agents that serve already wait for a session only so long.
      break;
    default:
      deadline_.reset();
      break;
  }
  state_ = state;
}

SshHost::Descriptors SshHost::Wanted() const {
  Descriptors wanted{};
  for (pollfd& each : wanted) each.fd = -1;
  if (ssh_ == nullptr) return wanted;
  wanted[0] = {ssh_->output(), POLLIN, 0};
  wanted[1] = {ssh_->errors(), POLLIN, 0};
  if (!unsent_.empty() || copying_) wanted[2] = {ssh_->input(), POLLOUT, 0};
  wanted[3] = {first_connection_.get(), POLLIN, 0};
  return wanted;
}

void SshHost::Serve(const Descriptors& found) {
  if (ssh_ == nullptr) return;
  // Standard error first: what it says explains what the others do.
  if (found[1].revents != 0) ReadErrors();
  if (found[0].revents != 0) ReadOutput();
  if (found[2].revents != 0) Send();
  if (found[3].revents != 0) ReadFirstByte();
  CheckEnd();
  CheckTime();
}

void SshHost::ReadErrors() {
  if (ssh_->errors() < 0) return;
  if (!ReadSome(ssh_->errors(), errors_)) ssh_->CloseErrors();
  if (errors_.size() > kMostErrors) errors_.erase(0, errors_.size() - kMostErrors);
}

void SshHost::ReadOutput() {
  if (ssh_->output() < 0) return;
  std::string text = std::exchange(line_, {});
  if (!ReadSome(ssh_->output(), text)) ssh_->CloseOutput();
  size_t begin = 0;
  for (size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    TakeLine(text.substr(begin, end - begin));
  }
  line_ = text.substr(begin, kMostLine);
}

void SshHost::TakeLine(const std::string& line) {
  if (!absl::StartsWith(line, kMark)) {
    // What a login prints, and what the agent does.
    if (state_ == State::kStarting && line == kListening) {
      Connect();
    } else if (!line.empty()) {
      printed_ = line.substr(0, kMostLine);
    }
    return;
  }
  connected_ = true;
  const std::vector<std::string> words = absl::StrSplit(absl::StripPrefix(line, kMark), absl::MaxSplits(' ', 2));
  if (words[0] == "need" && state_ == State::kConnecting && setup_.agent != nullptr) {
    copying_ = true;
    Enter(State::kCopying);
  } else if (words[0] == "ready" && (state_ == State::kConnecting || state_ == State::kCopying)) {
    Enter(State::kReady);
  } else if (words[0] == "fail" && words.size() > 1) {
    Fail(HostSideFailure(name_, words[1], words.size() > 2 ? words[2] : "", setup_.ways, roots_));
  } else if (words[0] == "ended" && words.size() > 1) {
    agent_ended_ = true;
    int code = 0;
    if (!absl::SimpleAtoi(words[1], &code) || (state_ == State::kEnding && code == 0)) return;
    if (state_ != State::kUp && state_ != State::kEnding) return Fail(AgentFailure(name_, code, printed_));
    // The shell there waits for what Finish sends.
    if (state_ == State::kUp) Enter(State::kEnding);
    if (failure_.has_value()) return;
    failure_ = {name_, Exit::kCannotRun, absl::StrCat(name_, ": its agent ended", AgentsEndInWords(code))};
  }
}

void SshHost::Send() {
  while (ssh_->input() >= 0 && (!unsent_.empty() || copying_)) {
    const bool text = !unsent_.empty();
    const std::string& from = text ? unsent_ : setup_.agent->bytes;
    const size_t begin = text ? 0 : copied_;
    const ssize_t sent = write(ssh_->input(), from.data() + begin, from.size() - begin);
    if (sent < 0) {
      if (errno == EINTR) continue;
      // The end of ssh is found by its exit status.
      if (errno != EAGAIN) ssh_->CloseInput();
      return;
    }
    if (text) {
      unsent_.erase(0, static_cast<size_t>(sent));
    } else {
      copied_ += static_cast<size_t>(sent);
      copying_ = copied_ < from.size();
      Enter(State::kCopying);
    }
  }
  if (close_when_sent_ && unsent_.empty()) ssh_->CloseInput();
}

void SshHost::Go() {
  unsent_ += "go\n";
  Enter(State::kStarting);
  Send();
}

void SshHost::Connect() {
  Enter(State::kForwarding);
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::memcpy(where.sun_path, local_socket_.data(), std::min(local_socket_.size(), sizeof(where.sun_path) - 1));
  UniqueFd made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // How HTTP/2 begins: the preface, and an empty SETTINGS frame. The agent answers with its own.
  const std::string hello = absl::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", std::string("\0\0\0\4\0\0\0\0\0", 9));
  if (!made.valid() || connect(made.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) != 0 ||
      send(made.get(), hello.data(), hello.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(hello.size())) {
    // ssh may have been refused already, and has printed why.
    ReadErrors();
    Fail(ForwardingFailure(Evidence()));
    return;
  }
  first_connection_ = std::move(made);
}

void SshHost::ReadFirstByte() {
  if (!first_connection_.valid()) return;
  // Where ssh is refused a channel to the agent, it ends the connection.
  char byte = 0;
  const ssize_t got = read(first_connection_.get(), &byte, 1);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  first_connection_.Reset();
  if (state_ != State::kForwarding) return;
  if (got == 1) {
    Enter(State::kUp);
    return;
  }
  ReadErrors();
  Fail(ForwardingFailure(Evidence()));
}

void SshHost::CheckEnd() {
  const std::optional<int> ended = ssh_->Poll();
  if (!ended.has_value()) return;
  // What it printed before.
  ReadErrors();
  ReadOutput();
  how_ended_ = HowItEnded(*ended);
  if (!failure_.has_value() && state_ != State::kEnding && state_ != State::kUp) failure_ = SshFailure(Evidence());
  ssh_.reset();
  first_connection_.Reset();
  Enter(State::kEnded);
}

void SshHost::CheckTime() {
  if (ssh_ == nullptr || !deadline_.has_value() || clock_.Now() < *deadline_) return;
  if (state_ == State::kEnding) {
    Kill();
    return;
  }
  const bool starts = state_ == State::kStarting || state_ == State::kForwarding;
  const std::string words = starts ? absl::StrCat("its agent did not start within ", FormatDuration(kStartLimitNs),
                                                  ": does a file system there hang?")
                                   : absl::StrCat("no answer over ssh within ", FormatDuration(kConnectLimitNs),
                                                  ": is the host, or a file system there, hung?");
  Fail({name_, Exit::kCannotRun, absl::StrCat(name_, ": ", words)});
}

void SshHost::End() {
  if (ssh_ == nullptr || state_ == State::kEnding || state_ == State::kEnded) return;
  const bool agent_runs = state_ == State::kStarting || state_ == State::kForwarding || state_ == State::kUp;
  const bool waits = state_ == State::kReady;
  Enter(State::kEnding);
  if (agent_runs) {
    unsent_ += "end\n";
    Send();
  } else if (waits) {
    // Nothing runs: what follows the agent's end can follow at once.
    agent_ended_ = true;
  } else {
    Kill();
  }
}

void SshHost::Finish(bool remove) {
  if (ssh_ == nullptr) return;
  if (remove) unsent_ += "clean\n";
  close_when_sent_ = true;
  Send();
}

void SshHost::Kill() {
  if (ssh_ == nullptr) return;
  // The end of its input is what ends the agent; a client that hangs does not pass it on.
  CloseInput();
  ssh_->Signal(std::exchange(next_signal_, SIGKILL));
  deadline_ = clock_.Now() + kSshEndLimitNs;
}

void SshHost::Fail(HostFailure failure) {
  if (!failure_.has_value()) failure_ = std::move(failure);
  if (ssh_ == nullptr) {
    Enter(State::kEnded);
    return;
  }
  // The shell there cleans up and ends, and ssh with it; where the host hangs, neither does.
  Enter(State::kEnding);
  CloseInput();
  deadline_ = clock_.Now() + kSshEndLimitNs;
}

void SshHost::CloseInput() {
  copying_ = false;
  unsent_.clear();
  ssh_->CloseInput();
}

SshEvidence SshHost::Evidence() const {
  return {name_, errors_, connected_ ? "" : printed_, how_ended_, connected_};
}

std::string SshHost::LastWords() const {
  const std::string last = LastLine(errors_);
  return absl::StrCat(how_ended_.empty() ? "" : absl::StrCat("ended with ", how_ended_),
                      last.empty() || how_ended_.empty() ? "" : ": ", last);
}

}  // namespace plimsoll
