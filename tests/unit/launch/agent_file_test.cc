#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <tuple>

#include "common/integers.h"
#include "controller/launch/ssh_host.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using absl::StatusCode;

// A field of a program in that byte order.
template <typename T>
T Field(T value, unsigned char byte_order) {
  return byte_order == ELFDATA2LSB ? LittleEndian(value) : Turned(LittleEndian(value));
}

// A program with one segment of that type.
std::string Program(uint16_t machine, uint32_t segment, unsigned char byte_order = ELFDATA2LSB) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = byte_order;
  header.e_machine = Field(machine, byte_order);
  header.e_phoff = Field(uint64_t{sizeof(header)}, byte_order);
  header.e_phentsize = Field(uint16_t{sizeof(Elf64_Phdr)}, byte_order);
  header.e_phnum = Field(uint16_t{1}, byte_order);
  Elf64_Phdr program{};
  program.p_type = Field(segment, byte_order);
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) +
         std::string(reinterpret_cast<const char*>(&program), sizeof(program));
}

absl::StatusOr<AgentFile> Read(const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "/program";
  std::ofstream(path, std::ios::binary) << bytes;
  return ReadAgentFile(path);
}

TEST(AgentFile, KnowsWhatItRunsOnAndHowItIsLinked) {
  const auto fixed = Read(Program(EM_X86_64, PT_LOAD));
  ASSERT_THAT(fixed, IsOk());
  EXPECT_EQ(fixed->machine, "x86_64");
  EXPECT_FALSE(fixed->dynamic);
  const auto dynamic = Read(Program(EM_AARCH64, PT_INTERP));
  ASSERT_THAT(dynamic, IsOk());
  EXPECT_EQ(dynamic->machine, "aarch64");
  EXPECT_TRUE(dynamic->dynamic);
}

TEST(AgentFile, IsReadInTheByteOrderOfItsMachine) {
  for (const auto& [machine, byte_order, name] :
       {std::tuple(EM_PPC64, ELFDATA2LSB, "ppc64le"), std::tuple(EM_PPC64, ELFDATA2MSB, "ppc64"),
        std::tuple(EM_S390, ELFDATA2MSB, "s390x")}) {
    for (const uint32_t segment : {uint32_t{PT_LOAD}, uint32_t{PT_INTERP}}) {
      const auto file = Read(Program(static_cast<uint16_t>(machine), segment, static_cast<unsigned char>(byte_order)));
      ASSERT_THAT(file, IsOk()) << name;
      EXPECT_EQ(file->machine, name);
      EXPECT_EQ(file->dynamic, segment == PT_INTERP) << name;
    }
  }
  EXPECT_THAT(Read(Program(EM_S390, PT_LOAD)), StatusIs(StatusCode::kInvalidArgument, "ELF machine 22"));
}

TEST(AgentFile, RefusesWhatIsNoProgram) {
  EXPECT_THAT(Read(""), StatusIs(StatusCode::kInvalidArgument, "is not a program for Linux"));
  EXPECT_THAT(Read("#!/bin/sh\nexec plimsoll-agent\n" + std::string(100, '#')),
              StatusIs(StatusCode::kInvalidArgument, "is not a program for Linux"));
  EXPECT_THAT(Read(Program(EM_SPARC, PT_LOAD)), StatusIs(StatusCode::kInvalidArgument, "ELF machine 2"));
  EXPECT_THAT(Read(Program(EM_X86_64, PT_LOAD).substr(0, sizeof(Elf64_Ehdr) + 10)),
              StatusIs(StatusCode::kInvalidArgument, "is cut off"));
  EXPECT_THAT(ReadAgentFile("/nonexistent"), StatusIs(StatusCode::kNotFound, "/nonexistent"));
  EXPECT_THAT(ReadAgentFile("/usr"), StatusIs(StatusCode::kInvalidArgument, "/usr is a directory; name a file in it"));
  EXPECT_THAT(ReadAgentFile("/dev/zero"), StatusIs(StatusCode::kInvalidArgument, "/dev/zero is not a regular file"));
}

TEST(AgentFile, ItsSumIsThatOfSha256sum) {
  const auto file = Read(Program(EM_X86_64, PT_LOAD));
  ASSERT_THAT(file, IsOk());
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("sha256sum " + file->path).c_str(), "r"), pclose);
  std::string sum(64, ' ');
  ASSERT_EQ(std::fread(sum.data(), 1, sum.size(), pipe.get()), sum.size());
  EXPECT_EQ(file->sum, sum);
}

}  // namespace
}  // namespace plimsoll
