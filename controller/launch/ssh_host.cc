#include "controller/launch/ssh_host.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/integers.h"
#include "common/link/frame.h"
#include "common/protocol.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace plimsoll {
namespace {

struct Machine {
  uint16_t elf;
  unsigned char byte_order;
  const char* name;
};
constexpr std::array<Machine, 6> kMachines = {{{EM_X86_64, ELFDATA2LSB, "x86_64"},
                                               {EM_AARCH64, ELFDATA2LSB, "aarch64"},
                                               {EM_PPC64, ELFDATA2LSB, "ppc64le"},
                                               {EM_PPC64, ELFDATA2MSB, "ppc64"},
                                               {EM_S390, ELFDATA2MSB, "s390x"},
                                               {EM_RISCV, ELFDATA2LSB, "riscv64"}}};

// Several times an agent that is linked statically, with everything that a debugger needs.
constexpr size_t kMostAgentBytes = size_t{1} << 30;

// A header of the file at `offset`; false where the file is shorter.
template <typename Header>
bool ReadAt(const std::string& bytes, uint64_t offset, Header& header) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(header)) return false;
  std::memcpy(&header, bytes.data() + offset, sizeof(header));
  return true;
}

// The value of a field of a program's header. Fields have the byte order of the machine that the program runs on.
template <typename T>
T FieldValue(T field, unsigned char byte_order) {
  const bool own = (byte_order == ELFDATA2LSB) == (std::endian::native == std::endian::little);
  return own ? field : Turned(field);
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
  const unsigned char byte_order = header.e_ident[EI_DATA];
  const uint16_t elf_machine = FieldValue(header.e_machine, byte_order);
  for (const Machine& machine : kMachines) {
    if (machine.elf == elf_machine && machine.byte_order == byte_order) agent.machine = machine.name;
  }
  if (agent.machine.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is a program for a machine that is not known (ELF machine ", elf_machine, ")"));
  }
  const uint64_t table = FieldValue(header.e_phoff, byte_order);
  const uint64_t entry_bytes = FieldValue(header.e_phentsize, byte_order);
  const uint16_t entries = FieldValue(header.e_phnum, byte_order);
  for (uint16_t i = 0; i < entries; ++i) {
    Elf64_Phdr segment{};
    if (!ReadAt(agent.bytes, table + i * entry_bytes, segment)) {
      return absl::InvalidArgumentError(absl::StrCat(path, " is cut off"));
    }
    agent.dynamic = agent.dynamic || FieldValue(segment.p_type, byte_order) == PT_INTERP;
  }
  agent.sum = Sha256(agent.bytes);
  return agent;
}

namespace {

constexpr std::string_view kMark = "plimsoll-launch ";
// What is kept of a line.
constexpr size_t kMostLine = 4 << 10;

// After "its agent ended": its exit code as a shell has it.
std::string AgentsEndInWords(int code) {
  // As agents have it (--session-wait).
  constexpr int kNoSession = 3;
  if (code == kNoSession) return ": no session came in time (exit code 3)";
  return code > 128 ? absl::StrCat(", killed by signal ", code - 128) : absl::StrCat(", with exit code ", code);
}

}  // namespace

SshHost::SshHost(const SshSetup& setup, const Clock& clock, const std::string& address, std::string local_socket,
                 std::string run_directory)
    : ClientHost(clock, NameOfAddress(address), std::move(local_socket)),
      setup_(setup),
      run_directory_(std::move(run_directory)) {
  const size_t colon = address.rfind(':');
  destination_ = address.substr(0, colon);
  if (destination_.size() > 1 && destination_.front() == '[') {
    destination_ = destination_.substr(1, destination_.size() - 2);
  }
  port_ = address.substr(colon + 1);
  if (name_ != address) port_.clear();
}

void SshHost::Start(const std::vector<AgentRoot>& roots, const std::vector<std::string>& more) {
  std::vector<std::string> agent = {"--stdio", "--log-level", "error"};
  roots_ = roots;
  for (const AgentRoot& root : roots_) agent.insert(agent.end(), {"--root", root.path});
  if (roots_.empty()) agent.insert(agent.end(), {"--root", run_directory_});
  agent.insert(agent.end(), more.begin(), more.end());
  std::string text;
  const auto set = [&text](const char* name, const std::string& value) {
    absl::StrAppend(&text, name, "=", ShellQuoted(value), "\n");
  };
  set("version", kVersion);
  set("sum", setup_.agent == nullptr ? "" : setup_.agent->sum);
  set("size", setup_.agent == nullptr ? "" : absl::StrCat(setup_.agent->bytes.size()));
  set("machine", setup_.ways.machine);
  set("cache", setup_.cache);
  set("run", run_directory_);
  absl::StrAppend(&text, kStartAgentText, "main");
  for (const std::string& argument : agent) absl::StrAppend(&text, " ", ShellQuoted(argument));
  text += '\n';

  std::vector<std::string> command = setup_.command;
  // A user's own configuration may hold what an interactive session needs. Of -o ssh takes the first, which is the
  // user's; of the others the last, which are these.
  command.insert(command.end(), {"-T", "-S", "none", "-a", "-x"});
  for (const char* option :
       {"BatchMode=yes", "ClearAllForwardings=yes", "RemoteCommand=none", "ConnectTimeout=15", "LogLevel=INFO"}) {
    command.insert(command.end(), {"-o", option});
  }
  if (!port_.empty()) command.insert(command.end(), {"-p", port_});
  command.insert(command.end(), {"--", destination_, "exec sh"});
  StartClient(command, State::kConnecting, "install OpenSSH's client, or pass another --ssh-command");
  if (client_ != nullptr) SendText(text);
}

void SshHost::TakeText(std::string_view text) {
  while (!text.empty()) {
    // Once: a host that sends one last frame after the other would be taken for as many agents.
    if (state_ == State::kStarting && line_.empty() && !link_begun() && BeginsFrame(text)) {
      BeginLink();
      return Take(text);
    }
    const size_t end = text.find('\n');
    line_.append(text.substr(0, end));
    line_.resize(std::min(line_.size(), kMostLine));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
    TakeLine(std::exchange(line_, {}));
  }
}

void SshHost::TakeLine(const std::string& line) {
  if (!line.starts_with(kMark)) {
    // What a login prints, and what the agent does.
    if (!line.empty()) printed_ = line;
    if (state_ == State::kUp) {
      Fail({name_, Exit::kCannotRun, absl::StrCat(name_, ": what came from its agent broke off: ", Quoted(line))});
    }
    return;
  }
  connected_ = true;
  const std::vector<std::string> words = absl::StrSplit(line.substr(kMark.size()), absl::MaxSplits(' ', 2));
  if (words[0] == "need" && state_ == State::kConnecting && setup_.agent != nullptr) {
    file_ = &setup_.agent->bytes;
    Enter(State::kCopying);
  } else if (words[0] == "ready" && (state_ == State::kConnecting || state_ == State::kCopying)) {
    Enter(State::kReady);
  } else if (words[0] == "fail" && words.size() > 1) {
    Fail(HostSideFailure(name_, words[1], words.size() > 2 ? words[2] : "", setup_.ways, roots_));
  } else if (words[0] == "ended" && words.size() > 1) {
    int code = 0;
    const bool reported = absl::SimpleAtoi(words[1], &code);
    AgentEnded();
    if (reported) TakeAgentsEnd(code);
  }
}

void SshHost::TakeAgentsEnd(int code) {
  if (state_ == State::kEnding && code == 0) return;
  if (state_ != State::kUp && state_ != State::kEnding) {
    // Its reason is on standard error, which may come later.
    exit_code_ = code;
    return FailAtEnd();
  }
  // The shell there waits for what Finish sends.
  if (state_ == State::kUp) Enter(State::kEnding);
  if (failure_.has_value()) return;
  failure_ = {name_, Exit::kCannotRun, absl::StrCat(name_, ": its agent ended", AgentsEndInWords(code))};
}

HostFailure SshHost::EndedEarly() const {
  if (exit_code_.has_value()) return AgentFailure(name_, *exit_code_, AgentsLine(errors_));
  if (!garbled_.empty()) return {name_, Exit::kCannotRun, absl::StrCat(name_, ": ", GarbledInWords(garbled_))};
  return SshFailure({name_, errors_, connected_ ? "" : printed_, how_ended_, connected_});
}

std::string SshHost::FarewellText(bool remove) const {
  if (!remove) return "";
  // A part of a frame may be on the line.
  return went_ ? "\nclean\n" : "clean\n";
}

void SshHost::Go() {
  went_ = true;
  Enter(State::kStarting);
  SendText("go\n");
}

}  // namespace plimsoll
