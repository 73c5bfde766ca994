#include "controller/launch/agent_file.h"

#include <elf.h>
#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/posix.h"

namespace plimsoll {
namespace {

struct Machine {
  uint16_t elf;
  const char* name;
};
constexpr std::array<Machine, 5> kMachines = {
    {{EM_X86_64, "x86_64"}, {EM_AARCH64, "aarch64"}, {EM_PPC64, "ppc64le"}, {EM_S390, "s390x"}, {EM_RISCV, "riscv64"}}};

// A header of the file at `offset`; false where the file is shorter.
template <typename Header>
bool ReadAt(const std::string& bytes, uint64_t offset, Header& header) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(header)) return false;
  std::memcpy(&header, bytes.data() + offset, sizeof(header));
  return true;
}

std::string Sha256(const std::string& bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
  return absl::BytesToHexString(std::string(reinterpret_cast<const char*>(digest.data()), length));
}

}  // namespace

absl::StatusOr<AgentFile> ReadAgentFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return PosixError("open", path, errno);
  AgentFile agent;
  agent.path = path;
  agent.bytes.assign(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) return PosixError("read", path, EIO);
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

}  // namespace plimsoll
