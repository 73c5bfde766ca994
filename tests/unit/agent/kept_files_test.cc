// The marker of the files that `create` left in a directory, and attempts to forge one.
#include "agent/host/kept_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "agent/host/beneath.h"
#include "common/posix.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
namespace fs = std::filesystem;

class KeptFilesTest : public ::testing::Test {
 protected:
  KeptFile Entry(const std::string& name) const {
    const UniqueFd fd(open((path_ + "/" + name).c_str(), O_PATH | O_CLOEXEC));
    auto entry = KeptEntryOf(fd.get(), tests::kMine, name, name);
    EXPECT_THAT(entry, IsOk());
    return entry.value_or(KeptFile());
  }
  KeptFile Make(const std::string& name) const {
    tests::WriteText(path_ + "/" + name, "data");
    return Entry(name);
  }
  absl::Status Enter(const KeptFile& file) const { return EnterKept(directory_.get(), path_, file); }
  bool Kept(const KeptFile& file) const {
    const auto kept = IsKept(directory_.get(), path_, file);
    EXPECT_THAT(kept, IsOk());
    return kept.value_or(false);
  }

  TempDirectory temp_;
  const std::string path_ = temp_.MakeDirectory("kept");
  const std::string marker_ = path_ + "/" + kKeptMarkerName;
  const UniqueFd directory_{open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
};

TEST(KeptMarker, IsReadAsItWasWritten) {
  const std::vector<KeptFile> files = {{tests::kMine, 2049, 12, 1'700'000'000, 5, "F000"},
                                       {tests::kOther, 7, 13, 0, 0, "a name with blanks"}};
  const auto parsed = ParseKeptMarker(FormatKeptMarker(files));
  ASSERT_THAT(parsed, IsOk());
  EXPECT_EQ(*parsed, files);
  EXPECT_THAT(FormatKeptMarker(files), HasSubstr("\n00000000000000aa 2049 12 1700000000.5 F000\n"));
}

TEST(KeptMarker, IsRefusedUnlessItIsComplete) {
  const std::string text = FormatKeptMarker({{tests::kMine, 2049, 12, 1, 5, "F000"}});
  for (size_t size = 1; size < text.size(); ++size) {
    // A marker of the first line alone names no file, and is complete.
    if (text[size - 1] == '\n') continue;
    EXPECT_THAT(ParseKeptMarker(text.substr(0, size)), StatusIs(StatusCode::kInvalidArgument, "marker")) << size;
  }
  for (const char* wrong :
       {"x", "plimsoll-kept 2\n", "plimsoll-kept 1\nid 1 2 3 F\n", "plimsoll-kept 1\nid 01 2 3.4 F\n",
        "plimsoll-kept 1\n\n", "plimsoll-kept 1\nid -1 2 3.4 F\n", "plimsoll-kept 1\nid 1 2 3.4\n"}) {
    EXPECT_THAT(ParseKeptMarker(wrong), StatusIs(StatusCode::kInvalidArgument, "marker")) << wrong;
  }
}

TEST_F(KeptFilesTest, AFileIsKeptOnceItIsEntered) {
  const KeptFile one = Make("F000");
  EXPECT_FALSE(Kept(one)) << "no marker";
  ASSERT_THAT(Enter(one), IsOk());
  const KeptFile two = Make("F001");
  EXPECT_FALSE(Kept(two));
  ASSERT_THAT(Enter(two), IsOk());
  ASSERT_THAT(Enter(two), IsOk());
  EXPECT_TRUE(Kept(one));
  EXPECT_TRUE(Kept(two));
  EXPECT_THAT(*ParseKeptMarker(tests::ReadText(marker_)), ElementsAre(one, two));
  struct stat info{};
  ASSERT_EQ(stat(marker_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  for (const auto& entry : fs::directory_iterator(path_)) {
    EXPECT_THAT(entry.path().filename().string(), AnyOf("F000", "F001", kKeptMarkerName));
  }
}

TEST_F(KeptFilesTest, AnythingElseOfTheNameIsNotKept) {
  const KeptFile one = Make("F000");
  ASSERT_THAT(Enter(one), IsOk());
  KeptFile other = one;
  other.agent_id = tests::kOther;
  EXPECT_FALSE(Kept(other)) << "another agent's";
  other = one;
  ++other.inode;
  EXPECT_FALSE(Kept(other)) << "another inode";
  other = one;
  ++other.device;
  EXPECT_FALSE(Kept(other)) << "another device";
  other = one;
  ++other.birth_ns;
  EXPECT_FALSE(Kept(other)) << "an inode that was given again";
  other = one;
  other.name = "F00";
  EXPECT_FALSE(Kept(other)) << "a part of the name";
}

TEST_F(KeptFilesTest, ANewFileTakesTheEntryOfItsName) {
  const KeptFile before = Make("F000");
  ASSERT_THAT(Enter(before), IsOk());
  fs::rename(path_ + "/F000", path_ + "/aside");
  const KeptFile now = Make("F000");
  ASSERT_THAT(Enter(now), IsOk());
  EXPECT_TRUE(Kept(now));
  EXPECT_FALSE(Kept(before));
}

TEST_F(KeptFilesTest, AnEntryIsForgottenAndTheMarkerWithTheLast) {
  const KeptFile one = Make("F000");
  const KeptFile two = Make("F001");
  EXPECT_THAT(ForgetKept(directory_.get(), path_, one), IsOk()) << "no marker";
  ASSERT_THAT(Enter(one), IsOk());
  ASSERT_THAT(Enter(two), IsOk());
  KeptFile other = one;
  ++other.inode;
  EXPECT_THAT(ForgetKept(directory_.get(), path_, other), IsOk());
  EXPECT_TRUE(Kept(one));
  EXPECT_THAT(ForgetKept(directory_.get(), path_, one), IsOk());
  EXPECT_FALSE(Kept(one));
  EXPECT_TRUE(Kept(two));
  EXPECT_THAT(ForgetKept(directory_.get(), path_, two), IsOk());
  EXPECT_FALSE(fs::exists(marker_));
}

TEST_F(KeptFilesTest, AMarkerThatOthersCanHaveWrittenIsRefused) {
  const KeptFile one = Make("F000");
  const std::string text = FormatKeptMarker({one});
  const std::vector<std::function<void()>> plants = {
      [&] { chmod(marker_.c_str(), 0620); },
      [&] { chmod(marker_.c_str(), 0602); },
      [&] { fs::create_hard_link(marker_, path_ + "/another"); },
      [&] {
        fs::rename(marker_, path_ + "/elsewhere");
        fs::create_symlink(path_ + "/elsewhere", marker_);
      },
      [&] {
        fs::remove(marker_);
        fs::create_directory(marker_);
      },
      [&] {
        fs::remove(marker_);
        mkfifo(marker_.c_str(), 0600);
      },
      [&] {
        if (geteuid() == 0) {
          EXPECT_EQ(chown(marker_.c_str(), 65534, 65534), 0);
        }
        if (geteuid() != 0) chmod(marker_.c_str(), 0666);
      },
  };
  for (size_t i = 0; i < plants.size(); ++i) {
    tests::WriteText(marker_, text);
    chmod(marker_.c_str(), 0600);
    ASSERT_TRUE(Kept(one)) << i;
    plants[i]();
    EXPECT_THAT(IsKept(directory_.get(), path_, one), StatusIs(StatusCode::kFailedPrecondition, kKeptMarkerName)) << i;
    EXPECT_THAT(Enter(one), StatusIs(StatusCode::kFailedPrecondition, kKeptMarkerName)) << i;
    fs::remove_all(marker_);
    fs::remove(path_ + "/another");
  }
}

TEST_F(KeptFilesTest, AMarkerThatIsNoneIsNamedAndStays) {
  const KeptFile one = Make("F000");
  tests::WriteText(marker_, "my notes\n");
  chmod(marker_.c_str(), 0600);
  EXPECT_THAT(IsKept(directory_.get(), path_, one), StatusIs(StatusCode::kInvalidArgument, marker_));
  EXPECT_THAT(Enter(one), StatusIs(StatusCode::kInvalidArgument, marker_));
  EXPECT_EQ(tests::ReadText(marker_), "my notes\n");
}

TEST_F(KeptFilesTest, WhatAKilledAgentLeftOfAMarkerIsReplacedAndNothingElse) {
  const KeptFile one = Make("F000");
  const std::string staged = marker_ + "~" + tests::kMine;
  tests::WriteText(staged, "half");
  ASSERT_THAT(Enter(one), IsOk());
  EXPECT_FALSE(fs::exists(staged));
  EXPECT_TRUE(Kept(one));
  const KeptFile two = Make("F001");
  tests::WriteText(temp_.path() + "/precious", "precious");
  fs::create_symlink(temp_.path() + "/precious", staged);
  EXPECT_THAT(Enter(two), StatusIs(StatusCode::kFailedPrecondition, "in the way"));
  EXPECT_EQ(tests::ReadText(temp_.path() + "/precious"), "precious");
  EXPECT_FALSE(Kept(two));
  EXPECT_TRUE(Kept(one));
}

TEST_F(KeptFilesTest, ThreadsThatEnterAtOnceLoseNothing) {
  constexpr int kThreads = 8;
  std::vector<KeptFile> files;
  files.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) files.push_back(Make(absl::StrCat("F00", i)));
  std::vector<std::thread> threads;
  std::vector<absl::Status> entered(kThreads);
  threads.reserve(kThreads);
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { entered[i] = Enter(files[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < kThreads; ++i) {
    EXPECT_THAT(entered[i], IsOk());
    EXPECT_TRUE(Kept(files[i])) << i;
  }
}

}  // namespace
}  // namespace plimsoll
