// The kernel's counters, read from fixed texts and from this machine.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "agent/host/counters.h"
#include "agent/host/storage_stack.h"
#include "common/clock.h"
#include "common/posix.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll {
namespace {

constexpr char kDiskStats[] =
    "   7       0 loop0 1 2 3 4 5 6 7 8 9 10 11\n"
    " 254       0 vda 1000 10 2000 300 4000 40 64000 5500 3 6000 7000 0 0 0 0 800 90\n"
    " 254       1 vda1 900 9 1900 290 3900 39 63000 5400 2 5900 6900 0 0 0 0 0 0\n"
    " 254      16 vdb too short\n";

constexpr char kMountStats[] =
    "device proc mounted on /proc with fstype proc\n"
    "device filer:/mq mounted on /mnt/my\\040mq with fstype nfs4 statvers=1.1\n"
    "\topts:\trw,vers=4.2,rsize=1048576,wsize=1048576,sec=sys,local_lock=none\n"
    "\tage:\t3721\n"
    "\tevents:\t1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27\n"
    "\tbytes:\t0 0 0 2097152 0 2097152 0 512\n"
    "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
    "\txprt:\ttcp 809 0 2 0 12 1000 999 1 5000 0 2 10 20\n"
    "\tper-op statistics\n"
    "\t        NULL: 1 1 0 44 24 0 0 0 0\n"
    "\t        READ: 7 7 0 1 1 1 1 1 0\n"
    "\t   READ_PLUS: 5 6 1 1 1 2 30 33 0\n"
    "\t       WRITE: 500 503 2 2097488 88000 12 340 360 0\n"
    "\t      COMMIT: 20 20 0 3400 2080 1 55 57 0\n"
    "\n"
    "device filer:/v3 mounted on /mnt/v3 with fstype nfs statvers=1.0\n"
    "\tper-op statistics\n"
    "\t       WRITE: 11 12 1 100 100 2 3 6\n"
    "device /dev/vda1 mounted on / with fstype ext4\n";

TEST(ParseDiskStats, ReadsTheLineOfTheDevice) {
  const auto disk = ParseDiskStats(kDiskStats, makedev(254, 0));
  ASSERT_TRUE(disk.has_value());
  EXPECT_EQ(disk->device(), "vda");
  EXPECT_EQ(disk->reads(), 1000U);
  EXPECT_EQ(disk->read_bytes(), 2000U * 512);
  EXPECT_EQ(disk->read_time_ms(), 300U);
  EXPECT_EQ(disk->writes(), 4000U);
  EXPECT_EQ(disk->written_bytes(), 64000U * 512);
  EXPECT_EQ(disk->write_time_ms(), 5500U);
  EXPECT_EQ(disk->in_flight(), 3U);
  EXPECT_EQ(disk->busy_ms(), 6000U);
  EXPECT_EQ(disk->flushes(), 800U);
  EXPECT_EQ(disk->flush_time_ms(), 90U);
  EXPECT_EQ(ParseDiskStats(kDiskStats, makedev(254, 1))->device(), "vda1");
}

TEST(ParseDiskStats, AcceptsOldKernelsWithoutFlushes) {
  const auto disk = ParseDiskStats(kDiskStats, makedev(7, 0));
  ASSERT_TRUE(disk.has_value());
  EXPECT_EQ(disk->writes(), 5U);
  EXPECT_EQ(disk->flushes(), 0U);
}

TEST(ParseDiskStats, FindsNothingForAnUnknownDeviceOrABrokenLine) {
  EXPECT_FALSE(ParseDiskStats(kDiskStats, makedev(8, 0)).has_value());
  EXPECT_FALSE(ParseDiskStats(kDiskStats, makedev(254, 16)).has_value());
  EXPECT_FALSE(ParseDiskStats("", makedev(254, 0)).has_value());
}

TEST(ParseMountStats, ReadsTheOperationsOfItsMountOnly) {
  const auto nfs = ParseMountStats(kMountStats, "/mnt/my mq");
  ASSERT_TRUE(nfs.has_value());
  EXPECT_EQ(nfs->write().operations(), 500U);
  EXPECT_EQ(nfs->write().transmissions(), 503U);
  EXPECT_EQ(nfs->write().timeouts(), 2U);
  EXPECT_EQ(nfs->write().queue_ms(), 12U);
  EXPECT_EQ(nfs->write().round_trip_ms(), 340U);
  EXPECT_EQ(nfs->write().execute_ms(), 360U);
  EXPECT_EQ(nfs->commit().operations(), 20U);
  EXPECT_EQ(nfs->commit().execute_ms(), 57U);
}

TEST(ParseMountStats, AddsUpTheTwoOperationsThatRead) {
  const v1::NfsOperation read = ParseMountStats(kMountStats, "/mnt/my mq")->read();
  EXPECT_EQ(read.operations(), 12U);
  EXPECT_EQ(read.transmissions(), 13U);
  EXPECT_EQ(read.timeouts(), 1U);
  EXPECT_EQ(read.queue_ms(), 3U);
  EXPECT_EQ(read.round_trip_ms(), 31U);
  EXPECT_EQ(read.execute_ms(), 34U);
}

TEST(ParseNfsReadBytes, AreThoseThatItsMountReadFromTheServer) {
  const std::string text =
      "device filer:/a mounted on /mnt/a with fstype nfs4 statvers=1.1\n"
      "\tbytes:\t1 2 3 4 5000 6 7 8\n"
      "device filer:/b mounted on /mnt/b with fstype nfs4 statvers=1.1\n"
      "\tbytes:\t1 2 3 4\n"
      "device filer:/c mounted on /mnt/a with fstype nfs4 statvers=1.1\n"
      "\tbytes:\t1 2 3 4 7000 6 7 8\n";
  // The uppermost of two mounts.
  EXPECT_EQ(ParseNfsReadBytes(text, "/mnt/a"), 7000U);
  EXPECT_EQ(ParseNfsReadBytes(text, "/mnt/b"), std::nullopt);
  EXPECT_EQ(ParseNfsReadBytes(text, "/mnt/c"), std::nullopt);
  EXPECT_EQ(ParseNfsReadBytes(kMountStats, "/mnt/my mq"), 0U);
  EXPECT_EQ(ParseNfsReadBytes(kMountStats, "/mnt/v3"), std::nullopt);
}

TEST(ParseMountStats, AcceptsTheOlderFormatAndAMissingOperation) {
  const auto nfs = ParseMountStats(kMountStats, "/mnt/v3");
  ASSERT_TRUE(nfs.has_value());
  EXPECT_EQ(nfs->write().execute_ms(), 6U);
  EXPECT_FALSE(nfs->has_commit());
  EXPECT_FALSE(nfs->has_read());
}

TEST(ParseMountStats, FindsNothingForOtherMounts) {
  for (const char* mount_point : {"/", "/proc", "/mnt", "/mnt/my\\040mq", ""}) {
    EXPECT_FALSE(ParseMountStats(kMountStats, mount_point).has_value()) << mount_point;
  }
}

TEST(ParseMountStats, TakesTheUppermostOfTwoMountsOnOnePlace) {
  const std::string text = std::string(kMountStats) +
                           "device filer:/new mounted on /mnt/v3 with fstype nfs4 statvers=1.1\n"
                           "\t       WRITE: 1 1 0 1 1 1 1 1 0\n";
  EXPECT_EQ(ParseMountStats(text, "/mnt/v3")->write().operations(), 1U);
}

TEST(ParseRunDelay, TakesTheSecondNumber) {
  EXPECT_EQ(ParseRunDelayNs("123456 7890 42\n"), 7890U);
  EXPECT_FALSE(ParseRunDelayNs("").has_value());
  EXPECT_FALSE(ParseRunDelayNs("1 x 3\n").has_value());
  EXPECT_FALSE(ParseRunDelayNs("1 2\n").has_value());
}

TEST(DiskSince, SubtractsCountersAndKeepsGauges) {
  v1::DiskCounters then = *ParseDiskStats(kDiskStats, makedev(254, 0));
  v1::DiskCounters now = then;
  now.set_writes(4010);
  now.set_written_bytes(then.written_bytes() + 4096);
  now.set_in_flight(1);
  now.set_flushes(805);
  now.set_reads(1007);
  now.set_read_bytes(then.read_bytes() + 3584);
  now.set_read_time_ms(302);
  const v1::DiskCounters since = DiskSince(now, then);
  EXPECT_EQ(since.device(), "vda");
  EXPECT_EQ(since.writes(), 10U);
  EXPECT_EQ(since.written_bytes(), 4096U);
  EXPECT_EQ(since.in_flight(), 1U);
  EXPECT_EQ(since.flushes(), 5U);
  EXPECT_EQ(since.reads(), 7U);
  EXPECT_EQ(since.read_bytes(), 3584U);
  EXPECT_EQ(since.read_time_ms(), 2U);
  EXPECT_EQ(since.busy_ms(), 0U);
}

TEST(DiskSince, FollowsMillisecondsThatWrapAndNotCountersThatGoBack) {
  v1::DiskCounters then;
  then.set_busy_ms(0xffff'fff0);
  then.set_writes(10);
  v1::DiskCounters now;
  now.set_busy_ms(0x10);
  now.set_writes(5);
  EXPECT_EQ(DiskSince(now, then).busy_ms(), 0x20U);
  EXPECT_EQ(DiskSince(now, then).writes(), 0U);
}

TEST(NfsSince, SubtractsEveryCounter) {
  const v1::NfsCounters then = *ParseMountStats(kMountStats, "/mnt/my mq");
  v1::NfsCounters now = then;
  now.mutable_write()->set_operations(510);
  now.mutable_write()->set_transmissions(514);
  now.mutable_write()->set_round_trip_ms(350);
  now.mutable_read()->set_operations(20);
  const v1::NfsCounters since = NfsSince(now, then);
  EXPECT_EQ(since.write().operations(), 10U);
  EXPECT_EQ(since.write().transmissions(), 11U);
  EXPECT_EQ(since.write().round_trip_ms(), 10U);
  EXPECT_EQ(since.write().queue_ms(), 0U);
  EXPECT_EQ(since.commit().operations(), 0U);
  EXPECT_TRUE(since.has_commit());
  EXPECT_EQ(since.read().operations(), 8U);
  const v1::NfsCounters less = NfsSince(*ParseMountStats(kMountStats, "/mnt/v3"), {});
  EXPECT_FALSE(less.has_commit());
  EXPECT_FALSE(less.has_read());
}

TEST(SumOf, AddsUpDevicesButNotTheTimeThatEachWasBusy) {
  const v1::DiskCounters first = ParseDiskStats(kDiskStats, makedev(254, 0)).value();
  const v1::DiskCounters second = ParseDiskStats(kDiskStats, makedev(254, 1)).value();
  const v1::DiskCounters sum = SumOf(std::vector<v1::DiskCounters>{first, second});
  EXPECT_EQ(sum.device(), "vda,vda1");
  EXPECT_EQ(sum.writes(), first.writes() + second.writes());
  EXPECT_EQ(sum.written_bytes(), first.written_bytes() + second.written_bytes());
  EXPECT_EQ(sum.write_time_ms(), first.write_time_ms() + second.write_time_ms());
  EXPECT_EQ(sum.reads(), first.reads() + second.reads());
  EXPECT_EQ(sum.read_bytes(), first.read_bytes() + second.read_bytes());
  EXPECT_EQ(sum.read_time_ms(), first.read_time_ms() + second.read_time_ms());
  EXPECT_EQ(sum.busy_ms(), first.busy_ms()) << "a share of the time";
}

TEST(BusiestTime, IsThatOfTheDeviceThatWasBusyInEachInterval) {
  const auto at = [](uint64_t first_ms, uint64_t second_ms) {
    std::vector<v1::DiskCounters> disks(2);
    disks[0].set_busy_ms(first_ms);
    disks[1].set_busy_ms(second_ms);
    return disks;
  };
  BusiestTime busiest;
  EXPECT_EQ(busiest.Add(at(900, 10)), 900U);
  EXPECT_EQ(busiest.Add(at(910, 810)), 1700U) << "the second one, though it was busy for less in all";
  EXPECT_EQ(busiest.Add(at(910, 810)), 1700U);
  BusiestTime one;
  one.Add({at(300, 0).front()});
  EXPECT_EQ(one.Add({at(450, 0).front()}), 450U) << "of one device its own time";
}

TEST(SumOf, AddsUpMountsAndKeepsOneAsItIs) {
  v1::NfsCounters first;
  first.mutable_write()->set_operations(10);
  first.mutable_write()->set_transmissions(12);
  v1::NfsCounters second = first;
  second.mutable_commit()->set_operations(3);
  second.mutable_read()->set_operations(4);
  EXPECT_EQ(SumOf(std::vector<v1::NfsCounters>{first}).SerializeAsString(), first.SerializeAsString());
  const v1::NfsCounters sum = SumOf(std::vector<v1::NfsCounters>{first, second});
  EXPECT_EQ(sum.write().operations(), 20U);
  EXPECT_EQ(sum.write().transmissions(), 24U);
  EXPECT_EQ(sum.commit().operations(), 3U);
  EXPECT_EQ(sum.read().operations(), 4U);
}

TEST(HostCounters, CountsTheProcessesCpuTimeFromReset) {
  HostCounters counters(std::vector<std::string>{"/proc"});
  // Until the process has visibly used some.
  while (counters.Sample().agent_cpu_ns() < 5'000'000) {
  }
  const uint64_t before = counters.Sample().agent_cpu_ns();
  counters.Reset({});
  EXPECT_LT(counters.Sample().agent_cpu_ns(), before);
}

TEST(HostCounters, KeepsTheWaitsOfAWriterThatHasEnded) {
  // A busy thread beside this one on one CPU must wait for it.
  EXPECT_EQ(tests::InChild([] {
              cpu_set_t one;
              CPU_ZERO(&one);
              CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
              if (sched_setaffinity(0, sizeof(one), &one) != 0) return 2;
              std::atomic<bool> stop = false;
              std::atomic<int> tid = 0;
              std::thread busy([&] {
                tid = gettid();
                while (!stop) {
                }
              });
              while (tid == 0) std::this_thread::yield();
              HostCounters counters(std::vector<std::string>{"/proc"});
              counters.Reset({tid});
              uint64_t waited_ns = 0;
              while (waited_ns == 0) waited_ns = counters.Sample().writer_cpu_wait_ns();
              stop = true;
              busy.join();
              const uint64_t afterwards_ns = counters.Sample().writer_cpu_wait_ns();
              counters.Reset({});
              return afterwards_ns >= waited_ns && counters.Sample().writer_cpu_wait_ns() == 0 ? 0 : 1;
            }),
            0);
}

TEST(HostCounters, CountsTheWritesOfTheDeviceBelow) {
  const TempDirectory temp;
  struct stat info{};
  ASSERT_EQ(stat(temp.path().c_str(), &info), 0);
  if (!FindBlockDevice(info.st_dev).has_value()) GTEST_SKIP() << "SKIPPED: no block device below " << temp.path();
  HostCounters counters(std::vector<std::string>{temp.path()});
  const UniqueFd file(open(temp.Sub("file").c_str(), O_RDWR | O_CREAT | O_DSYNC | O_CLOEXEC, 0600));
  const std::string block(65536, 'x');
  ASSERT_EQ(write(file.get(), block.data(), block.size()), static_cast<ssize_t>(block.size()));
  const v1::HostSample sample = counters.Sample();
  ASSERT_TRUE(sample.has_disk());
  EXPECT_FALSE(sample.has_nfs());
  EXPECT_GE(sample.disk().writes(), 1U);
  EXPECT_GE(sample.disk().written_bytes(), block.size());
}

TEST(HostCounters, CountsTheReadsOfTheDeviceBelow) {
  struct alignas(4096) Block {
    char bytes[65536];
  };
  const TempDirectory temp;
  struct stat info{};
  ASSERT_EQ(stat(temp.path().c_str(), &info), 0);
  if (!FindBlockDevice(info.st_dev).has_value()) GTEST_SKIP() << "SKIPPED: no block device below " << temp.path();
  const std::string path = temp.Sub("file");
  {
    const UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_DSYNC | O_CLOEXEC, 0600));
    const std::string block(sizeof(Block), 'x');
    ASSERT_EQ(write(file.get(), block.data(), block.size()), static_cast<ssize_t>(block.size()));
  }
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  if (!file.valid()) GTEST_SKIP() << "SKIPPED: the file system of " << temp.path() << " refuses O_DIRECT";
  HostCounters counters(std::vector<std::string>{temp.path()});
  const auto block = std::make_unique<Block>();
  ASSERT_EQ(read(file.get(), block->bytes, sizeof(Block)), static_cast<ssize_t>(sizeof(Block)));
  const v1::HostSample sample = counters.Sample();
  ASSERT_TRUE(sample.has_disk());
  EXPECT_GE(sample.disk().reads(), 1U);
  EXPECT_GE(sample.disk().read_bytes(), sizeof(Block));
}

TEST(HostCounters, LeavesOutWhatItDoesNotKnow) {
  for (const char* directory : {"/proc", "/no such directory"}) {
    const v1::HostSample sample = HostCounters(std::vector<std::string>{directory}).Sample();
    EXPECT_FALSE(sample.has_disk());
    EXPECT_FALSE(sample.has_nfs());
    EXPECT_EQ(sample.writer_cpu_wait_ns(), 0U);
  }
}

}  // namespace
}  // namespace plimsoll
