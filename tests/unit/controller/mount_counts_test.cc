// What a protected mount's counters say, second by second.
#include "controller/app/mount_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/units.h"
#include "tests/testing.h"

namespace plimsoll::tests {
namespace {

constexpr uint64_t kDevice = 0xfe00;

v1::MountCounters Disk(uint64_t writes, uint64_t write_ms, uint64_t flush_ms = 0, bool idle = false) {
  v1::MountCounters mount;
  mount.set_device(kDevice);
  mount.set_idle(idle);
  mount.set_fs_type("ext4");
  mount.mutable_disk()->set_device("sda1");
  mount.mutable_disk()->set_writes(writes);
  mount.mutable_disk()->set_write_time_ms(write_ms);
  mount.mutable_disk()->set_flush_time_ms(flush_ms);
  return mount;
}

v1::MountCounters Nfs(uint64_t writes, uint64_t execute_ms, uint64_t commit_ms) {
  v1::MountCounters mount;
  mount.set_device(41);
  mount.set_fs_source("filer:/mq");
  mount.mutable_nfs()->mutable_write()->set_operations(writes);
  mount.mutable_nfs()->mutable_write()->set_execute_ms(execute_ms);
  mount.mutable_nfs()->mutable_commit()->set_execute_ms(commit_ms);
  return mount;
}

ProtectedSecond Taken(MountCounts& counts, std::vector<v1::MountCounters> readings) {
  const absl::StatusOr<ProtectedSecond> second = counts.Add(std::move(readings));
  EXPECT_THAT(second, IsOk());
  return second.value_or(ProtectedSecond{});
}

TEST(MountCounts, ASecondIsWhatAllHostsWroteInItWithFlushesAndCommits) {
  MountCounts counts({"a", "b"}, {Disk(100, 200, 10), Nfs(7, 70, 7)});
  const ProtectedSecond second = Taken(counts, {Disk(110, 230, 14), Nfs(9, 90, 9)});
  EXPECT_EQ(second.writes, 12U);
  EXPECT_EQ(second.latency_sum_ns, (34 + 22) * 1.0 * kNsPerMs);
  EXPECT_EQ(counts.Where(), "filer:/mq of b and sda1 of a");
  EXPECT_EQ(counts.ErrorNs(), 4.0 * kNsPerMs);
}

TEST(MountCounts, TheTimeOfASecondWithoutAWriteCountsWithTheNextWrite) {
  MountCounts counts({"a", "b"}, {Disk(100, 200), Disk(0, 0)});
  const ProtectedSecond second = Taken(counts, {Disk(100, 200, 5), Disk(3, 4, 5)});
  EXPECT_EQ(second.writes, 3U);
  EXPECT_EQ(second.latency_sum_ns, 9.0 * kNsPerMs) << "of b alone";
  const ProtectedSecond next = Taken(counts, {Disk(101, 201, 5), Disk(3, 4, 5)});
  EXPECT_EQ(next.writes, 1U);
  EXPECT_EQ(next.latency_sum_ns, 6.0 * kNsPerMs);
  EXPECT_EQ(Taken(counts, {Disk(102, 202, 5), Disk(3, 4, 5)}).latency_sum_ns, 1.0 * kNsPerMs) << "once";
}

TEST(MountCounts, OfALongSilenceTheLastFourSecondsCount) {
  MountCounts counts({"a"}, {Disk(100, 200, 0, true)});
  uint64_t flush_ms = 0;
  for (int i = 0; i < 60; ++i) {
    flush_ms += 7;
    EXPECT_EQ(Taken(counts, {Disk(100, 200, flush_ms, true)}).latency_sum_ns, 0);
  }
  EXPECT_EQ(Taken(counts, {Disk(101, 203, flush_ms + 2, true)}).latency_sum_ns, (4 * 7 + 3 + 2) * 1.0 * kNsPerMs);
}

TEST(MountCounts, AFlushThatEndsInALaterSecondThanItsWriteIsSlowed) {
  MountCounts counts({"a"}, {Disk(0, 0, 0)});
  SlowdownRule rule(2, counts.ErrorNs());
  uint64_t writes = 0;
  uint64_t flush_ms = 0;
  // A write of 1 ms and its flush of 9 ms, in each second.
  for (uint32_t i = 0; i < SlowdownRule::kBaselineSeconds; ++i) {
    ++writes;
    flush_ms += 9;
    rule.Add(Taken(counts, {Disk(writes, writes, flush_ms)}));
  }
  ASSERT_TRUE(rule.can_compare());
  // Flushes of 1 s: each ends in a second in which no write does.
  for (uint32_t i = 0; i < 6; ++i) {
    ++writes;
    rule.Add(Taken(counts, {Disk(writes, writes, flush_ms)}));
    flush_ms += 1'000;
    rule.Add(Taken(counts, {Disk(writes, writes, flush_ms)}));
  }
  EXPECT_TRUE(rule.slowed());
}

TEST(MountCounts, RequestsThatWereSentAgainMakeAnNfsMountBusyForHalfAMinuteOnly) {
  const auto reading = [](uint64_t writes, uint64_t unanswered) {
    v1::MountCounters mount = Nfs(writes, writes, 0);
    mount.set_nfs_unanswered(unanswered);
    return mount;
  };
  MountCounts counts({"a"}, {reading(0, 3)});
  uint64_t writes = 0;
  for (int i = 0; i < 10; ++i) Taken(counts, {reading(++writes, 3)});
  // Three were sent again before: nothing is in flight.
  for (int i = 0; i < 20; ++i) Taken(counts, {reading(writes, 3)});
  for (int i = 0; i < 30; ++i) Taken(counts, {reading(++writes, 4)});
  for (int i = 0; i < 20; ++i) Taken(counts, {reading(writes, 4)});
  // One more, which hangs.
  for (int i = 0; i < 4; ++i) Taken(counts, {reading(writes, 5)});
  EXPECT_THAT(std::string(counts.Add({reading(writes, 5)}).status().message()), HasSubstr("for 5 s"));
}

TEST(MountCounts, AnotherFileSystemOrNoneIsReported) {
  const auto after = [](v1::MountCounters reading) {
    MountCounts counts({"node1"}, {Disk(100, 200)});
    return std::string(counts.Add({std::move(reading)}).status().message());
  };
  EXPECT_EQ(after(Disk(101, 201)), "");
  v1::MountCounters gone;
  gone.set_error("nothing is mounted on /mnt");
  EXPECT_EQ(after(gone), "node1: nothing is mounted on /mnt");
  EXPECT_THAT(after(Disk(1, 201)), HasSubstr("node1: its counters do not continue"));
  EXPECT_THAT(after(Disk(101, 1)), HasSubstr("its counters do not continue"));
  v1::MountCounters other = Disk(101, 201);
  other.set_device(kDevice + 1);
  EXPECT_THAT(after(other), HasSubstr("its counters do not continue"));
}

// Counts on, with so many writes of 1 ms in each second; returns the first second that is refused, from 1, or 0.
class Course {
 public:
  explicit Course(MountCounts& counts) : counts_(counts) {}
  void Seconds(int seconds, uint64_t writes, bool idle = false) {
    for (int i = 0; i < seconds; ++i) {
      ++second_;
      total_ += writes;
      const absl::StatusOr<ProtectedSecond> taken = counts_.Add({Disk(total_, total_, 0, idle)});
      if (!taken.ok() && refused_ == 0) {
        refused_ = second_;
        why_ = std::string(taken.status().message());
      }
    }
  }
  int refused() const { return refused_; }
  const std::string& why() const { return why_; }

 private:
  MountCounts& counts_;
  uint64_t total_ = 0;
  int second_ = 0;
  int refused_ = 0;
  std::string why_;
};

TEST(MountCounts, AHostThatWroteInEverySecondIsSilentForFiveAtMost) {
  MountCounts counts({"node1"}, {Disk(0, 0)});
  Course course(counts);
  course.Seconds(10, 100);
  course.Seconds(20, 100);
  course.Seconds(4, 0);
  EXPECT_EQ(course.refused(), 0);
  course.Seconds(1, 0);
  EXPECT_EQ(course.refused(), 35);
  EXPECT_EQ(course.why(),
            "node1: no write to it has ended for 5 s, and requests may be in flight; before the run the longest such "
            "time was 0 s");
}

TEST(MountCounts, AHostMayBeSilentForFiveSecondsLongerThanItWas) {
  MountCounts counts({"node1"}, {Disk(0, 0)});
  Course course(counts);
  course.Seconds(3, 100);
  course.Seconds(4, 0);
  course.Seconds(3, 100);
  course.Seconds(8, 0);
  EXPECT_EQ(course.refused(), 0);
  course.Seconds(1, 0);
  EXPECT_EQ(course.refused(), 19);
}

TEST(MountCounts, AHostWithNothingInFlightIsIdleForAsLongAsItLikes) {
  MountCounts counts({"node1"}, {Disk(0, 0)});
  Course course(counts);
  course.Seconds(10, 100);
  course.Seconds(4, 0);
  course.Seconds(1, 0, /*idle=*/true);
  course.Seconds(4, 0);
  course.Seconds(1000, 0, /*idle=*/true);
  EXPECT_EQ(course.refused(), 0);
}

TEST(MountCounts, AHostThatHangsIsNotHiddenByAnother) {
  MountCounts counts({"a", "b"}, {Disk(0, 0), Disk(0, 0)});
  absl::Status status;
  int second = 0;
  while (status.ok() && second < 100) {
    ++second;
    const auto b = static_cast<uint64_t>(std::min(second, 12));
    status = counts.Add({Disk(100 * static_cast<uint64_t>(second), 100), Disk(b, b)}).status();
  }
  EXPECT_EQ(second, 17);
  EXPECT_THAT(std::string(status.message()), HasSubstr("b: no write to it has ended for 5 s"));
}

class Shared : public ::testing::Test {
 protected:
  Shared() {
    directory_.set_path("/data");
    directory_.set_fs_type("ext4");
    directory_.set_device(kDevice + 16);
    directory_.add_block_layers()->set_name("dm-3");
    directory_.add_block_layers()->set_name("sdb");
  }
  v1::DirectoryDescription directory_;
};

TEST_F(Shared, ADirectoryOnOtherDevicesIsApart) {
  EXPECT_EQ(SharedWith(Disk(1, 1), directory_), "");
  EXPECT_EQ(SharedWith(Nfs(1, 1, 1), directory_), "");
}

TEST_F(Shared, ADirectoryOfTheMountOrOnItsDeviceIsNot) {
  directory_.set_device(kDevice);
  EXPECT_EQ(SharedWith(Disk(1, 1), directory_), "/data is on it (sda1)");
  directory_.set_device(kDevice + 16);
  directory_.add_block_layers()->set_name("sda1");
  EXPECT_EQ(SharedWith(Disk(1, 1), directory_), "/data is on it (sda1)");
  v1::DirectoryDescription nfs;
  nfs.set_path("/mnt/mq");
  nfs.set_remote("filer:/mq");
  nfs.set_device(41);
  EXPECT_EQ(SharedWith(Nfs(1, 1, 1), nfs), "/mnt/mq is on it (filer:/mq)");
  EXPECT_EQ(SharedWith(Disk(1, 1), nfs), "");
}

TEST_F(Shared, ADirectoryOnTheDiskOfAPartitionIsOnIt) {
  v1::MountCounters mount = Disk(1, 1);
  mount.mutable_disk()->set_device("sdb2");
  EXPECT_EQ(SharedWith(mount, directory_), "");
  mount.set_partitioned_disk("sdb");
  EXPECT_EQ(SharedWith(mount, directory_), "/data is on its disk (sdb)");
}

TEST_F(Shared, StorageThatIsNotKnownMayBeTheMount) {
  directory_.mutable_block_layers(0)->set_name("loop3");
  EXPECT_THAT(SharedWith(Disk(1, 1), directory_), HasSubstr("the storage below /data (ext4) is not known"));
  directory_.clear_block_layers();
  directory_.set_fs_type("overlay");
  EXPECT_THAT(SharedWith(Nfs(1, 1, 1), directory_), HasSubstr("(overlay) is not known"));
  directory_.set_fs_type("tmpfs");
  EXPECT_EQ(SharedWith(Disk(1, 1), directory_), "");
  directory_.clear_device();
  directory_.set_error("permission denied");
  EXPECT_EQ(SharedWith(Disk(1, 1), directory_), "what is below /data is not known (permission denied)");
}

}  // namespace
}  // namespace plimsoll::tests
