// Descriptors of a watched process, followed through its calls.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "agent/watch/watched_files.h"
#include "tests/testing.h"
#include "tests/unit/agent/watch_records.h"

namespace plimsoll {
namespace {

constexpr uint32_t kThread = 1;

class WatchedFilesTest : public ::testing::Test {
 protected:
  using Outcome = FileAccess::Outcome;

  static DescriptorFile LogFile(uint32_t extent) {
    return {.log = true, .path = "/log/S" + std::to_string(extent), .extent = extent, .position = 0};
  }

  CompletedCall Call(int64_t start_ns, int64_t number, std::array<uint64_t, 6> args, int64_t result) const {
    return {.number = number,
            .pid = kPid,
            .tid = kThread,
            .start_ns = start_ns,
            .end_ns = start_ns + 5,
            .args = args,
            .result = result};
  }
  FileAccess Take(const CompletedCall& call, const std::vector<PerfRecord>& upcoming = {}) {
    return files_.Take(call, upcoming);
  }
  FileAccess WriteAt(int64_t start_ns, int fd, uint64_t offset = 0) {
    return Take(Call(start_ns, SYS_pwrite64, {static_cast<uint64_t>(fd), 0, 4096, offset, 0, 0}, 4096));
  }
  // Opens a file as descriptor `fd`; /proc is read right after that.
  void Open(int64_t start_ns, int fd, const std::vector<PerfRecord>& upcoming = {}) {
    const CompletedCall call = Call(start_ns, SYS_openat, {0, 0xabc, O_RDWR, 0, 0, 0}, fd);
    now_ns_ = call.end_ns + 3;
    const std::vector<PerfRecord> drained = {Exit(call.end_ns, kThread, SYS_openat, fd),
                                             Enter(start_ns, kThread, SYS_openat, 0, 0xabc)};
    files_.LookAt(drained);
    now_ns_ = int64_t{1} << 40;
    Take(call, upcoming);
  }

  std::map<int, DescriptorFile> proc_;
  int64_t now_ns_ = int64_t{1} << 40;
  // What the name at 0xabc stands for.
  std::optional<DescriptorFile> named_;
  WatchedFiles files_{[this](uint32_t pid, int fd) -> std::optional<DescriptorFile> {
                        const auto found = proc_.find(fd);
                        if (pid != kPid || found == proc_.end()) return std::nullopt;
                        return found->second;
                      },
                      [this](uint32_t /*pid*/, uint64_t address) { return address == 0xabc ? named_ : std::nullopt; },
                      [this] { return now_ns_; }};
};

TEST_F(WatchedFilesTest, KnowsTheDescriptorsThatWereOpenAtTheStart) {
  files_.AddProcess(kPid, {{5, LogFile(3)}, {6, {}}}, 0);
  EXPECT_EQ(WriteAt(10, 5, 8192).outcome, Outcome::kLog);
  EXPECT_EQ(WriteAt(10, 5, 8192).extent, 3U);
  EXPECT_EQ(WriteAt(10, 5, 8192).offset_bytes, 8192U);
  EXPECT_EQ(WriteAt(20, 6).outcome, Outcome::kOther);
}

TEST_F(WatchedFilesTest, FollowsOpenDupAndClose) {
  proc_[7] = LogFile(1);
  Open(100, 7);
  EXPECT_EQ(WriteAt(110, 7).extent, 1U);
  Take(Call(120, SYS_dup, {7}, 8));
  Take(Call(130, SYS_close, {7}, 0));
  proc_.clear();
  EXPECT_EQ(WriteAt(140, 8).extent, 1U);
  EXPECT_EQ(WriteAt(150, 7).outcome, Outcome::kUnknown);
  Take(Call(160, SYS_dup3, {8, 9}, 9));
  EXPECT_EQ(WriteAt(170, 9).outcome, Outcome::kLog);
  Take(Call(180, SYS_fcntl, {9, F_DUPFD_CLOEXEC, 50}, 50));
  EXPECT_EQ(WriteAt(190, 50).outcome, Outcome::kLog);
  Take(Call(200, SYS_fcntl, {9, F_SETLKW, 0}, 0));
  EXPECT_EQ(WriteAt(210, 50).outcome, Outcome::kLog);
}

TEST_F(WatchedFilesTest, RefusesWhatProcShowsOfADescriptorThatMayHaveChangedSince) {
  proc_[7] = LogFile(2);
  // Closed and opened anew before /proc was read.
  Open(100, 7, {Enter(106, 2, SYS_close, 7), Exit(107, 2, SYS_openat, 7)});
  proc_.clear();
  EXPECT_EQ(WriteAt(105, 7).outcome, Outcome::kUnknown);
}

TEST_F(WatchedFilesTest, AcceptsItWhereTheChangeCameLater) {
  proc_[7] = LogFile(2);
  Open(100, 7, {Enter(109, 2, SYS_close, 7)});
  EXPECT_EQ(WriteAt(105, 7).outcome, Outcome::kLog);
}

TEST_F(WatchedFilesTest, NeedsAllRecordsUntilProcWasRead) {
  now_ns_ = 108;
  const std::vector<PerfRecord> drained = {Exit(105, kThread, SYS_openat, 7)};
  files_.LookAt(drained);
  EXPECT_EQ(files_.NeededUntil(drained[0]), 108);
  files_.Forget(drained[0]);
  EXPECT_EQ(files_.NeededUntil(drained[0]), 0);
}

TEST_F(WatchedFilesTest, LeavesAFileUnknownWhoseNameMayHaveChangedSinceItWasOpened) {
  // Two files by one buffer: it holds the second one's name when the first one's is looked for.
  named_ = std::nullopt;
  Open(100, 7);
  Take(Call(110, SYS_close, {7}, 0));
  Open(120, 7);
  EXPECT_EQ(WriteAt(130, 7).outcome, Outcome::kUnknown);
}

TEST_F(WatchedFilesTest, LooksForTheNameOfTheFileThatACallOpenedNotOfTheThreadsLastOne) {
  named_ = LogFile(6);
  const CompletedCall call = Call(100, SYS_openat, {0, 0xabc, O_RDWR, 0, 0, 0}, 7);
  now_ns_ = 300;
  // The thread opened another file, by a name elsewhere, before /proc was read.
  files_.LookAt(std::vector<PerfRecord>{Exit(105, kThread, SYS_openat, 7), Enter(100, kThread, SYS_openat, 0, 0xabc),
                                        Enter(200, kThread, SYS_openat, 0, 0xdef)});
  Take(call);
  EXPECT_EQ(WriteAt(110, 7).extent, 6U);
}

TEST_F(WatchedFilesTest, FollowsWhereAppendedWritesAndThoseAtThePositionGo) {
  DescriptorFile appended = LogFile(1);
  appended.position = std::nullopt;
  files_.AddProcess(kPid, {{5, LogFile(0)}, {6, appended}}, 0);
  const auto write = [&](uint64_t fd, uint64_t offset, uint64_t flags) {
    return Take(Call(10, SYS_pwritev2, {fd, 0, 1, offset, 0, flags}, 4096)).offset_bytes;
  };
  constexpr uint64_t kAtPosition = ~uint64_t{0};
  EXPECT_EQ(write(5, kAtPosition, 0), 0U);
  EXPECT_EQ(write(5, kAtPosition, 0), 4096U);
  EXPECT_EQ(write(5, 512, 0), 512U);
  EXPECT_EQ(write(5, 512, 0x10), std::nullopt) << "RWF_APPEND";
  // A file that was opened with O_APPEND grows, whatever offset a write names and where the descriptor is.
  EXPECT_EQ(WriteAt(20, 6, 512).offset_bytes, std::nullopt);
  Take(Call(30, SYS_lseek, {6, 0, SEEK_SET}, 512));
  EXPECT_EQ(Take(Call(40, SYS_write, {6, 0, 4096}, 4096)).offset_bytes, std::nullopt);
}

TEST_F(WatchedFilesTest, DecidesByTheNameWhereTheDescriptorHasChangedAlready) {
  named_ = DescriptorFile{};
  Open(100, 7);
  EXPECT_EQ(WriteAt(110, 7).outcome, Outcome::kOther);
  named_ = LogFile(6);
  proc_[8] = LogFile(2);
  Open(200, 8, {Enter(206, 2, SYS_close, 8)});
  EXPECT_EQ(WriteAt(205, 8).extent, 6U);
}

TEST_F(WatchedFilesTest, LearnsTheFileOfACopyAndOfAllOthers) {
  Open(100, 7);
  Take(Call(110, SYS_dup, {7}, 8));
  EXPECT_EQ(WriteAt(120, 7).outcome, Outcome::kUnknown);
  proc_[8] = LogFile(3);
  EXPECT_EQ(WriteAt(125, 8).outcome, Outcome::kUnknown);
  now_ns_ += 100'000'000;
  EXPECT_EQ(WriteAt(130, 8).extent, 3U);
  EXPECT_EQ(WriteAt(140, 7).extent, 3U);
}

TEST_F(WatchedFilesTest, CloseDoesNotEndADescriptorThatCameToBeDuringTheCall) {
  proc_[7] = LogFile(1);
  // Another thread opened a file with the number that the close had freed, before the close returned.
  Open(102, 7);
  Take(Call(104, SYS_close, {7}, 0));
  CompletedCall close = Call(100, SYS_close, {7}, 0);
  close.end_ns = 110;
  Open(103, 7);
  Take(close);
  EXPECT_EQ(WriteAt(120, 7).outcome, Outcome::kLog);
}

TEST_F(WatchedFilesTest, ReadsProcForADescriptorThatCameByAnUnknownWay) {
  proc_[30] = LogFile(4);
  EXPECT_EQ(WriteAt(100, 30).extent, 4U);
  EXPECT_EQ(WriteAt(110, 31).outcome, Outcome::kUnknown);
}

TEST_F(WatchedFilesTest, FollowsThePositionOfWritesWithoutAnOffset) {
  files_.AddProcess(kPid, {{5, LogFile(0)}}, 0);
  const auto write = [&](int64_t start_ns) { return Take(Call(start_ns, SYS_write, {5, 0, 4096}, 4096)).offset_bytes; };
  EXPECT_EQ(write(10), 0U);
  EXPECT_EQ(write(20), 4096U);
  Take(Call(30, SYS_lseek, {5, 0, SEEK_SET}, 512));
  EXPECT_EQ(write(40), 512U);
}

TEST_F(WatchedFilesTest, CloseRangeEndsEachDescriptorInIt) {
  files_.AddProcess(kPid, {{5, LogFile(0)}, {6, LogFile(1)}, {9, LogFile(2)}}, 0);
  Take(Call(10, SYS_close_range, {5, 7, 0}, 0));
  EXPECT_EQ(WriteAt(20, 6).outcome, Outcome::kUnknown);
  EXPECT_EQ(WriteAt(30, 9).outcome, Outcome::kLog);
}

}  // namespace
}  // namespace plimsoll
