// What an agent tells of the machine that the test runs on.
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <iostream>

#include "agent/host/describe.h"
#include "agent/host/storage_stack.h"
#include "common/protocol.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

v1::HostDescription Describe(const std::vector<std::string>& roots, const std::vector<std::string>& directories,
                             const std::vector<std::string>& targets = {}, const std::vector<std::string>& asked = {}) {
  const auto sandbox = Sandbox::Create(roots, "aa");
  EXPECT_THAT(sandbox, tests::IsOk());
  if (!sandbox.ok()) return {};
  const auto files = TargetFiles::Create(**sandbox, {false, targets});
  EXPECT_THAT(files, tests::IsOk());
  v1::DescribeRequest request;
  for (const std::string& path : asked) request.add_files(path);
  for (const std::string& path : directories) request.add_directories(path);
  return DescribeHost("alpha", "i-1", **sandbox, **files, request, [] { return false; });
}

TEST(DescribeHost, ReportsWhatTheAgentAndItsHostAre) {
  const TempDirectory temp;
  const v1::HostDescription host = Describe({temp.path()}, {});
  EXPECT_EQ(host.version(), kVersion);
  EXPECT_EQ(host.protocol_version(), kProtocolVersion);
  EXPECT_EQ(host.name(), "alpha");
  EXPECT_EQ(host.instance_id(), "i-1");
  EXPECT_THAT(host.boot_id(), MatchesRegex("[0-9a-f-]{36}"));
  EXPECT_THAT(host.kernel(), MatchesRegex("Linux [0-9]+\\..+ .+"));
  EXPECT_GE(host.cpus(), 1U);
  EXPECT_GE(host.usable_cpus(), 1U);
  EXPECT_GT(host.memory_bytes(), uint64_t{16} << 20);
  EXPECT_FALSE(host.clock_source().empty());
  EXPECT_GT(host.clock_read_ns(), 0U);
  EXPECT_GT(host.clock_resolution_ns(), 0U);
  // Later than this was written.
  EXPECT_GT(host.wall_clock_ns(), int64_t{1'600'000'000} * 1'000'000'000);
  EXPECT_THAT(host.roots(), ElementsAre(temp.path()));
  EXPECT_EQ(host.directories_size(), 0);
  EXPECT_FALSE(host.has_holder());
}

TEST(DescribeHost, CountsTheCpusThatItMayUse) {
  EXPECT_EQ(InChild([] {
              cpu_set_t one;
              if (sched_getaffinity(0, sizeof(one), &one) != 0) return kBroken;
              for (size_t cpu = 0, kept = 0; cpu < CPU_SETSIZE; ++cpu) {
                if (CPU_ISSET(cpu, &one) && kept++ > 0) CPU_CLR(cpu, &one);
              }
              if (sched_setaffinity(0, sizeof(one), &one) != 0) return kBroken;
              return Describe({"/tmp"}, {}).usable_cpus() == 1 ? kHeld : kBroken;
            }),
            kHeld);
}

TEST(DescribeHost, DescribesADirectory) {
  const TempDirectory temp;
  const std::string directory = temp.MakeDirectory("data");
  const v1::HostDescription host = Describe({temp.path()}, {directory});
  ASSERT_EQ(host.directories_size(), 1);
  const v1::DirectoryDescription& described = host.directories(0);
  EXPECT_EQ(described.path(), directory);
  EXPECT_EQ(described.error(), "");
  EXPECT_EQ(described.error_code(), 0);
  struct stat info{};
  ASSERT_EQ(stat(directory.c_str(), &info), 0);
  EXPECT_EQ(described.device(), info.st_dev);
  struct statvfs space{};
  ASSERT_EQ(statvfs(directory.c_str(), &space), 0);
  EXPECT_EQ(described.total_bytes(), uint64_t{space.f_blocks} * space.f_frsize);
  EXPECT_LE(described.free_bytes(), described.total_bytes());
  EXPECT_FALSE(described.fs_type().empty());
  EXPECT_EQ(directory.compare(0, described.mount_point().size(), described.mount_point()), 0);
  EXPECT_THAT(described.mount_options(), HasSubstr("rw"));
  // Nothing was left behind by looking.
  EXPECT_TRUE(fs::is_empty(directory));
}

TEST(DescribeHost, KnowsWhatProcIs) {
  const v1::HostDescription host = Describe({"/proc"}, {"/proc"});
  ASSERT_EQ(host.directories_size(), 1);
  EXPECT_EQ(host.directories(0).fs_type(), "proc");
  EXPECT_EQ(host.directories(0).mount_point(), "/proc");
  EXPECT_EQ(host.directories(0).direct_offset_align(), 0U);
  EXPECT_EQ(host.directories(0).remote(), "");
}

TEST(DescribeHost, SaysWhyADirectoryCannotBeUsedAndNothingMore) {
  const TempDirectory temp;
  const v1::HostDescription host = Describe({temp.path()}, {"/", temp.Sub("missing")});
  ASSERT_EQ(host.directories_size(), 2);
  EXPECT_THAT(host.directories(0).error(), HasSubstr("--root"));
  EXPECT_EQ(host.directories(0).error_code(), static_cast<int>(absl::StatusCode::kPermissionDenied));
  EXPECT_EQ(host.directories(0).fs_type(), "");
  EXPECT_EQ(host.directories(0).total_bytes(), 0U);
  EXPECT_THAT(host.directories(1).error(), HasSubstr("missing"));
  EXPECT_EQ(host.directories(1).error_code(), static_cast<int>(absl::StatusCode::kNotFound));
}

TEST(DescribeHost, DescribesFilesAndTheDirectoriesOfTargets) {
  const TempDirectory temp;
  const std::string root = temp.MakeDirectory("root");
  const std::string outside = temp.MakeDirectory("outside");
  WriteText(outside + "/file", "content");
  const std::string missing = outside + "/missing";
  const v1::HostDescription host = Describe({root}, {outside}, {outside}, {outside + "/file", missing, "/etc/passwd"});
  ASSERT_EQ(host.directories_size(), 1);
  EXPECT_EQ(host.directories(0).error(), "");
  EXPECT_NE(host.directories(0).device(), 0U);
  ASSERT_EQ(host.files_size(), 3);
  EXPECT_EQ(host.files(0).error(), "");
  EXPECT_EQ(host.files(0).size_bytes(), 7U);
  EXPECT_EQ(host.files(1).path(), missing);
  EXPECT_EQ(host.files(1).error_code(), static_cast<int>(absl::StatusCode::kNotFound));
  EXPECT_EQ(host.files(2).error_code(), static_cast<int>(absl::StatusCode::kPermissionDenied));
  const v1::HostDescription without = Describe({root}, {outside}, {}, {outside + "/file"});
  EXPECT_THAT(without.directories(0).error(), HasSubstr("--root"));
  EXPECT_EQ(without.directories(0).device(), 0U);
  EXPECT_THAT(without.files(0).error(), HasSubstr("--allow-target"));
}

TEST(DescribeHost, BoundsTheNumberOfFiles) {
  const TempDirectory temp;
  const v1::HostDescription host = Describe({temp.path()}, {}, {}, std::vector<std::string>(5000, "/x"));
  EXPECT_EQ(host.files_size(), 4096);
}

TEST(DescribeHost, WarnsOfMemoryAndReportsAReadOnlyMount) {
  const TempDirectory temp;
  const std::string mount_point = temp.MakeDirectory("shm");
  const int result = InChild([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("memory", mount_point.c_str(), "tmpfs", 0, "size=1m") != 0) {
      return kNotPermitted;
    }
    const v1::DirectoryDescription memory = Describe({temp.path()}, {mount_point}).directories(0);
    if (mount(nullptr, mount_point.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return kNotPermitted;
    const v1::DirectoryDescription read_only = Describe({temp.path()}, {mount_point}).directories(0);
    std::cerr << memory.DebugString() << read_only.DebugString();
    const bool held = memory.error().empty() && memory.fs_type() == "tmpfs" && memory.fs_source() == "memory" &&
                      memory.mount_point() == mount_point && memory.total_bytes() == 1 << 20 &&
                      memory.caveat().find("memory") != std::string::npos &&
                      read_only.error().find("Read-only") != std::string::npos && read_only.fs_type() == "tmpfs";
    return held ? kHeld : kBroken;
  });
  if (result == kNotPermitted) GTEST_SKIP() << "SKIPPED: mounts of one's own are not permitted here";
  EXPECT_EQ(result, kHeld);
}

}  // namespace
}  // namespace plimsoll
