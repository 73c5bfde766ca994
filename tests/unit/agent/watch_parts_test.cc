// What watching reads of files: ini files, /proc, symbols; and what a plan may ask of it.
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "agent/host/storage_stack.h"
#include "agent/watch/function_symbols.h"
#include "agent/watch/processes.h"
#include "agent/watch/queue_managers.h"
#include "agent/watch/watch_setup.h"
#include "common/units.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

// Number of the file system, as mountinfo has it.
dev_t DeviceOf(const std::string& path) {
  const std::vector<Mount> mounts = ParseMountInfo(ReadTextFile("/proc/self/mountinfo"));
  const Mount* const mount = FindMount(mounts, 0, 0, std::filesystem::canonical(path).string());
  return mount == nullptr ? 0 : mount->device;
}

TEST(QueueManagerPaths, FollowsMqsIniAndQmIni) {
  const TempDirectory temp;
  const std::string data = temp.MakeDirectory("shared/QM2");
  std::ofstream(temp.Sub("mqs.ini")) << "#comment\nAllQueueManagers:\n   DefaultPrefix=/var/mqm\n\nQueueManager:\n   "
                                        "Name=QM1\n   Prefix=/var/mqm\n   Directory=QM1\nQueueManager:\n   Name=QM2\n"
                                        "   Prefix=/var/mqm\n   Directory=QM2\n   DataPath="
                                     << data << "\n";
  std::ofstream(data + "/qm.ini") << "Log:\n   LogPath=/MQHA/logs/QM2/\nService:\n   Name=AuthorizationService\n";
  const auto paths = FindQueueManagerPaths("QM2", temp.Sub("mqs.ini"));
  ASSERT_THAT(paths, IsOk());
  EXPECT_EQ(paths->data_dir, data);
  EXPECT_EQ(paths->log_dir, "/MQHA/logs/QM2/active");
  EXPECT_THAT(FindQueueManagerPaths("QM3", temp.Sub("mqs.ini")),
              StatusIs(absl::StatusCode::kNotFound, "has no queue manager QM3: check the name, or name the directory"));
  EXPECT_THAT(FindQueueManagerPaths("QM1", temp.Sub("none")), StatusIs(absl::StatusCode::kNotFound, "--log-dir"));
}

// A file of which the kernel shows the path, and maybe more.
OpenedFile Opened(const std::string& path, uint64_t inode = 0, dev_t device = 0) {
  return {path, inode, [device] { return device; }};
}

TEST(LogDirectory, HoldsWhatLiesBelowItAndNothingElse) {
  LogDirectory log("/log/active");
  EXPECT_TRUE(log.Holds(Opened("/log/active/S0000001.LOG")));
  EXPECT_FALSE(log.Holds(Opened("/log/active2/S0000001.LOG")));
  EXPECT_FALSE(log.Holds(Opened("/log/active")));
  EXPECT_EQ(log.ExtentOf("/log/active/S0000012.LOG"), 12U);
}

TEST(LogDirectory, KnowsItsFilesUnderAnotherPathByNameAndInode) {
  const TempDirectory temp;
  std::ofstream(temp.Sub("S0000000.LOG")) << "x";
  LogDirectory log(temp.path());
  log.List();
  struct stat info{};
  ASSERT_EQ(stat(temp.Sub("S0000000.LOG").c_str(), &info), 0);
  const dev_t device = DeviceOf(temp.path());
  EXPECT_FALSE(log.Holds(Opened("/in/a/container/S0000001.LOG", info.st_ino, device)));
  EXPECT_FALSE(log.Holds(Opened("/in/a/container/S0000000.LOG", info.st_ino + 1, device)));
  EXPECT_FALSE(log.Holds(Opened("/other/S0000000.LOG", info.st_ino, device + 1)))
      << "a new file system often has the same inodes";
  EXPECT_FALSE(log.Holds(Opened("/other/S0000000.LOG", info.st_ino)));
  EXPECT_TRUE(log.Holds(Opened("/in/a/container/S0000000.LOG", info.st_ino, device)));
  EXPECT_TRUE(log.Holds(Opened("/in/a/container/S0000007.LOG", info.st_ino + 7, device))) << "an extent made since";
  EXPECT_FALSE(log.Holds(Opened("/in/a/container/S0000007.LOG", info.st_ino + 7, device + 1)));
  EXPECT_FALSE(log.FileOfName("/in/a/container/S0000000.LOG").has_value());
  EXPECT_FALSE(log.FileOfName("errors/AMQERR01.LOG").has_value());
  EXPECT_FALSE(log.FileOfName("/var/mqm/errors/AMQERR01.LOG")->log);
  EXPECT_TRUE(log.FileOfName(temp.Sub("S0000001.LOG"))->log);
}

TEST(LogDirectory, LeavesADirectoryOfTheSameNameOnAnotherFileSystemOut) {
  const TempDirectory temp;
  LogDirectory log(temp.path());
  log.List();
  const dev_t device = DeviceOf(temp.path());
  EXPECT_TRUE(log.Holds(Opened(temp.Sub("S0000000.LOG"), 7, device)));
  EXPECT_FALSE(log.Holds(Opened(temp.Sub("S0000000.LOG"), 7, device + 1))) << "of a container";
  LogDirectory own(temp.path(), LogDirectory::Named::kByProcess);
  own.List();
  EXPECT_TRUE(own.Holds(Opened(temp.Sub("S0000000.LOG"), 7, device + 1)));
}

TEST(LogDirectory, FollowsTheLinksInItsPath) {
  const TempDirectory temp;
  const std::string real = temp.MakeDirectory("real");
  std::filesystem::create_symlink(real, temp.Sub("link"));
  LogDirectory log(temp.Sub("link"));
  log.List();
  // Made after the watch began; the kernel shows the path without links.
  EXPECT_TRUE(log.Holds(Opened(std::filesystem::canonical(real).string() + "/S0000009.LOG", 7, DeviceOf(real))));
}

TEST(Processes, DistinguishMemoryThatMayChangeFromConstants) {
  static const char constant[] = "/log/active/S0000000.LOG";
  const std::string variable(100, 'x');
  const auto address = [](const char* text) { return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(text)); };
  const auto self = static_cast<uint32_t>(getpid());
  EXPECT_TRUE(IsConstant(self, address(constant)));
  EXPECT_FALSE(IsConstant(self, address(variable.c_str())));
  EXPECT_FALSE(IsConstant(self, 1));
}

TEST(Processes, ReadsFdinfo) {
  const FdInfo info = ParseFdInfo("pos:\t8192\nflags:\t02150002\nmnt_id:\t29\nino:\t77\n");
  EXPECT_EQ(info.position, 8192U);
  EXPECT_EQ(info.flags, 02150002);
  EXPECT_EQ(info.inode, 77U);
  EXPECT_EQ(info.mount_id, 29U);
}

TEST(Processes, NamesLocksThatAreHeldAndWaitedFor) {
  const std::string locks =
      "1: POSIX  ADVISORY  WRITE 4711 fd:00:77 0 EOF\n1: -> POSIX  ADVISORY  READ 4712 fd:00:77 0 EOF\n"
      "2: FLOCK  ADVISORY  WRITE 1 00:19:8 0 EOF\n";
  EXPECT_THAT(DescribeLocks(locks, {{77, "master"}}),
              ElementsAre("master: POSIX read, pid 4712, waiting", "master: POSIX write, pid 4711, held"));
}

TEST(Processes, RefusesWhatIsNoProcess) {
  EXPECT_THAT(WatchedProcess::Open(4'194'303), StatusIs(absl::StatusCode::kNotFound, "another PID namespace"));
  const auto self = WatchedProcess::Open(static_cast<uint32_t>(getpid()));
  ASSERT_THAT(self, IsOk());
  EXPECT_FALSE(self->ended());
}

TEST(FunctionName, ReadsMqCallsAndNamesWithALibrary) {
  const auto put = FunctionName::Parse("MQPUT");
  ASSERT_THAT(put, IsOk());
  EXPECT_TRUE(put->MayBeIn("/opt/mqm/lib64/libmqm_r.so"));
  EXPECT_TRUE(put->MayBeIn("/opt/mqm/lib64/libmqic.so.9"));
  EXPECT_FALSE(put->MayBeIn("/opt/mqm/lib64/libmqmcs_r.so"));
  const auto other = FunctionName::Parse("/opt/x/libx.so:begin");
  ASSERT_THAT(other, IsOk());
  EXPECT_TRUE(other->MayBeIn("/opt/x/libx.so"));
  EXPECT_FALSE(other->MayBeIn("/opt/y/libx.so"));
  EXPECT_THAT(FunctionName::Parse("begin"), StatusIs(absl::StatusCode::kInvalidArgument, "LIBRARY:FUNCTION"));
}

TEST(FunctionSymbols, FindsAFunctionOfTheCLibrary) {
  const std::set<MappedFile> mapped = ReadMappedFiles(static_cast<uint32_t>(getpid()));
  const auto library = std::ranges::find_if(
      mapped, [](const MappedFile& file) { return file.path.find("libc.so") != std::string::npos; });
  if (library == mapped.end()) GTEST_SKIP() << "linked statically";
  const auto offset = FindFunction(library->open_path, "getpid");
  ASSERT_THAT(offset, IsOk());
  EXPECT_TRUE(offset->has_value());
  EXPECT_FALSE(FindFunction(library->open_path, "no_such_function")->has_value());
  EXPECT_THAT(FindFunction("/proc/self/maps", "x"), StatusIs(absl::StatusCode::kFailedPrecondition, "neither"));
}

// A library in this machine's byte order, with one function at address 0x10000100.
struct TinyLibrary {
  Elf64_Ehdr header{};
  Elf64_Phdr segment{};
  std::array<Elf64_Shdr, 3> sections{};
  std::array<Elf64_Sym, 2> symbols{};
  std::array<char, 8> names{"\0MQPUT"};

  TinyLibrary(uint16_t machine, unsigned char other) {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = machine;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof(header);
    header.e_phoff = offsetof(TinyLibrary, segment);
    header.e_phentsize = sizeof(segment);
    header.e_phnum = 1;
    header.e_shoff = offsetof(TinyLibrary, sections);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<uint16_t>(sections.size());
    segment.p_type = PT_LOAD;
    segment.p_vaddr = 0x10000000;
    segment.p_filesz = 0x1000;
    sections[1].sh_type = SHT_SYMTAB;
    sections[1].sh_offset = offsetof(TinyLibrary, symbols);
    sections[1].sh_size = sizeof(symbols);
    sections[1].sh_entsize = sizeof(Elf64_Sym);
    sections[1].sh_link = 2;
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_offset = offsetof(TinyLibrary, names);
    sections[2].sh_size = sizeof(names);
    symbols[1].st_name = 1;
    symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbols[1].st_other = other;
    symbols[1].st_shndx = 1;
    symbols[1].st_value = 0x10000100;
  }
};

TEST(FunctionSymbols, OnPowerAFunctionStartsWhereCallersOfItsOwnFileEnter) {
  const TempDirectory temp;
  const auto offset_in = [&temp](uint16_t machine, unsigned char other) {
    const TinyLibrary library(machine, other);
    std::ofstream(temp.Sub("library"), std::ios::binary)
        .write(reinterpret_cast<const char*>(&library), sizeof(library));
    return FindFunction(temp.Sub("library"), "MQPUT").value().value_or(0);
  };
  // Bits 5 to 7 hold the binary logarithm of the distance in bytes, below 2 for none.
  EXPECT_EQ(offset_in(EM_PPC64, 3 << 5), 0x108U);
  EXPECT_EQ(offset_in(EM_PPC64, 4 << 5), 0x110U);
  EXPECT_EQ(offset_in(EM_PPC64, 1 << 5), 0x100U);
  EXPECT_EQ(offset_in(EM_PPC64, 0), 0x100U);
  EXPECT_EQ(offset_in(EM_X86_64, 3 << 5), 0x100U);
  EXPECT_EQ(offset_in(EM_S390, 3 << 5), 0x100U);
}

TEST(FunctionSymbols, ForeseesTheLibrariesOfAProgram) {
  const std::set<MappedFile> needed = FindNeededFiles("/proc/self/exe", static_cast<uint32_t>(getpid()));
  EXPECT_GE(needed.size(), 1U);
}

v1::HostPlan WatchPlanOf(uint32_t pid) {
  v1::HostPlan plan;
  plan.set_frame_interval_ns(250 * kNsPerMs);
  plan.mutable_watch()->mutable_watch()->set_pid(pid);
  v1::LogStep& step = *plan.mutable_watch()->add_steps();
  step.set_duration_ns(kNsPerSecond);
  step.add_operations()->set_name("write");
  return plan;
}

void AddCallTo(const std::string& name, v1::HostPlan& plan) {
  v1::Operation& operation = *plan.mutable_watch()->mutable_steps(0)->add_operations();
  operation.set_name(name);
  operation.set_kind(v1::OPERATION_CALL);
}

TEST(WatchSetup, MatchesOperationsWithCalls) {
  v1::HostPlan plan = WatchPlanOf(1);
  AddCallTo("MQPUT", plan);
  AddCallTo("sync", plan);
  AddCallTo("MQGET", plan);
  plan.mutable_watch()->mutable_watch()->add_calls("MQPUT");
  EXPECT_THAT(MakeWatchSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, "'MQGET' cannot be watched"));
  plan.mutable_watch()->mutable_watch()->add_calls("MQGET");
  const auto setup = MakeWatchSetup(plan);
  ASSERT_THAT(setup, IsOk());
  EXPECT_EQ(setup->write_operation, 0U);
  EXPECT_EQ(setup->sync_operation, 2U);
  EXPECT_THAT(setup->function_operations, ElementsAre(1U, 3U));
}

TEST(WatchSetup, RefusesPlansThatNameNothingOrTooMuch) {
  v1::HostPlan plan = WatchPlanOf(1);
  plan.mutable_watch()->mutable_watch()->add_queue_managers("QM1");
  EXPECT_THAT(MakeWatchSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, "not both"));
  plan.mutable_watch()->mutable_watch()->clear_pid();
  EXPECT_THAT(MakeWatchSetup(plan), IsOk());
  plan.mutable_watch()->mutable_watch()->set_log_dir("relative");
  EXPECT_THAT(MakeWatchSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, "absolute"));
  plan.mutable_watch()->mutable_watch()->set_log_dir("/log");
  plan.mutable_watch()->mutable_watch()->add_queue_managers("QM2");
  EXPECT_THAT(MakeWatchSetup(plan), StatusIs(absl::StatusCode::kInvalidArgument, "one queue manager"));
  EXPECT_THAT(MakeWatchSetup(v1::HostPlan()), StatusIs(absl::StatusCode::kInvalidArgument, "does not ask"));
}

TEST(WatchSetup, AsksForTimeAndNothingElse) {
  const WorkDemand demand = WatchDemand(WatchPlanOf(1));
  EXPECT_EQ(demand.duration_ns.value, static_cast<uint64_t>(kNsPerSecond));
  EXPECT_EQ(demand.threads.value, 0U);
  EXPECT_EQ(demand.bytes.value, 0U);
}

}  // namespace
}  // namespace plimsoll
