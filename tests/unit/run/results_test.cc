#include "controller/journal/results.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// What getrandom() gives; nothing: what the kernel does.
std::optional<uint64_t> drawn;

std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Put(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

// The working directory, for as long as it lives.
class WorkingDirectory {
 public:
  explicit WorkingDirectory(const std::string& path) : before_(fs::current_path()) { fs::current_path(path); }
  ~WorkingDirectory() { fs::current_path(before_); }

 private:
  const fs::path before_;
};

TEST(ResultsDirectory, LinksThatWerePlantedInItAreReplacedAndNotFollowed) {
  const tests::TempDirectory base;
  fs::create_directory(base.Sub("results"));
  Put(base.Sub("mine"), "mine");
  for (const char* name : {"report.csv", "report.csv.new", "plan.yaml"}) {
    fs::create_symlink(base.Sub("mine"), base.Sub("results") + "/" + name);
  }
  const auto results = ResultsDirectory::Open(base.Sub("results"));
  ASSERT_THAT(results, IsOk());
  ASSERT_THAT(results->Write("report.csv", "report"), IsOk());
  ASSERT_THAT(results->Write("plan.yaml", "plan"), IsOk());
  EXPECT_EQ(ContentOf(base.Sub("mine")), "mine");
  EXPECT_EQ(ContentOf(base.Sub("results/report.csv")), "report");
  EXPECT_FALSE(fs::is_symlink(base.Sub("results/report.csv")));
}

TEST(ResultsDirectory, StaysTheSameWhenItsPathLeadsElsewhere) {
  const tests::TempDirectory base;
  auto results = ResultsDirectory::Create(base.Sub("results"));
  ASSERT_THAT(results, IsOk());
  fs::create_directory(base.Sub("elsewhere"));
  fs::rename(base.Sub("results"), base.Sub("moved"));
  fs::create_directory_symlink(base.Sub("elsewhere"), base.Sub("results"));
  ASSERT_THAT(results->CreateJournal(), IsOk());
  ASSERT_THAT(results->Restore(), IsOk());
  ASSERT_THAT(results->Write("report.txt", "report"), IsOk());
  EXPECT_TRUE(fs::is_empty(base.Sub("elsewhere")));
  EXPECT_EQ(ContentOf(base.Sub("moved/report.txt")), "report");
  EXPECT_TRUE(fs::exists(base.Sub("moved/journal")));
}

TEST(ResultsDirectory, ThatNobodyNamedIsNotLookedForBehindALink) {
  const tests::TempDirectory base;
  fs::create_directory(base.Sub("elsewhere"));
  fs::create_directory_symlink(base.Sub("elsewhere"), base.Sub("plimsoll-results"));
  const WorkingDirectory inside(base.path());
  EXPECT_THAT(ResultsDirectory::CreateDefault(WallNs{0}, "abc"),
              StatusIs(absl::StatusCode::kFailedPrecondition, "plimsoll-results is a symbolic link"));
  EXPECT_TRUE(fs::is_empty(base.Sub("elsewhere")));
  EXPECT_THAT(ResultsDirectory::Create("plimsoll-results/spelled-out"), IsOk());
  EXPECT_TRUE(fs::exists(base.Sub("elsewhere/spelled-out")));
}

TEST(ResultsDirectory, IsWritableByItsOwnerAloneWhateverTheUmask) {
  const tests::TempDirectory base;
  const WorkingDirectory inside(base.path());
  const mode_t mask = umask(0);
  const auto results = ResultsDirectory::CreateDefault(WallNs{0}, "abc");
  ASSERT_THAT(results, IsOk());
  ASSERT_THAT(results->Write("report.txt", "report"), IsOk());
  umask(mask);
  for (const auto& entry : fs::recursive_directory_iterator(base.path())) {
    EXPECT_EQ(entry.status().permissions() & (fs::perms::group_write | fs::perms::others_write), fs::perms::none)
        << entry.path();
  }
}

TEST(ResultsDirectory, ThatWasRemovedMeanwhileIsMadeAgain) {
  const tests::TempDirectory base;
  auto results = ResultsDirectory::Create(base.Sub("a/results"));
  ASSERT_THAT(results, IsOk());
  fs::remove_all(base.Sub("a"));
  ASSERT_THAT(results->Restore(), IsOk());
  ASSERT_THAT(results->Write("report.txt", "report"), IsOk());
  EXPECT_EQ(ContentOf(base.Sub("a/results/report.txt")), "report");
}

TEST(ResultsDirectory, DiscardRemovesWhatItMadeAndNothingElse) {
  const tests::TempDirectory base;
  {
    const auto results = ResultsDirectory::Create(base.Sub("results/"));
    ASSERT_THAT(results, IsOk());
    const auto journal = results->CreateJournal();
    ASSERT_THAT(journal, IsOk());
    ASSERT_THAT((*journal)->CreateBeside(".recent-0"), IsOk());
    ASSERT_THAT(results->Write("plan.yaml", "plan"), IsOk());
    results->Discard();
  }
  EXPECT_TRUE(fs::is_empty(base.path()));
  fs::create_directory(base.Sub("mine"));
  const auto results = ResultsDirectory::Create(base.Sub("mine"));
  ASSERT_THAT(results, IsOk());
  results->Discard();
  EXPECT_TRUE(fs::exists(base.Sub("mine")));
}

TEST(WriteFile, FollowsALinkThatTheUserSpelledOut) {
  const tests::TempDirectory base;
  Put(base.Sub("target"), "old");
  ASSERT_EQ(chmod(base.Sub("target").c_str(), 0640), 0);
  fs::create_symlink("target", base.Sub("link"));
  ASSERT_THAT(WriteFile(base.Sub("link"), "new"), IsOk());
  EXPECT_TRUE(fs::is_symlink(base.Sub("link")));
  EXPECT_EQ(ContentOf(base.Sub("target")), "new");
  EXPECT_EQ(static_cast<unsigned>(fs::status(base.Sub("target")).permissions()), 0640U);
}

TEST(WriteFile, LeavesALinkBesideItAlone) {
  const tests::TempDirectory base;
  Put(base.Sub("mine"), "mine");
  fs::create_symlink(base.Sub("mine"), base.Sub("out.csv.new"));
  ASSERT_THAT(WriteFile(base.Sub("out.csv"), "text"), IsOk());
  EXPECT_EQ(ContentOf(base.Sub("mine")), "mine");
  EXPECT_EQ(ContentOf(base.Sub("out.csv")), "text");
}

TEST(WriteFile, OpensNothingThatHasItsTemporaryNameAlready) {
  const tests::TempDirectory base;
  Put(base.Sub("mine"), "mine");
  fs::create_symlink(base.Sub("mine"), base.Sub(".plimsoll-00000000000000ab"));
  Put(base.Sub(".plimsoll-00000000000000cd"), "also mine");
  for (const uint64_t name : {0xabU, 0xcdU}) {
    drawn = name;
    EXPECT_THAT(WriteFile(base.Sub("out.csv"), "text"), StatusIs(absl::StatusCode::kAlreadyExists, "out.csv"));
    drawn.reset();
  }
  EXPECT_EQ(ContentOf(base.Sub("mine")), "mine");
  EXPECT_EQ(ContentOf(base.Sub(".plimsoll-00000000000000cd")), "also mine");
  EXPECT_FALSE(fs::exists(base.Sub("out.csv")));
}

TEST(WriteFile, OfStandardOutputIsWrittenToTheStreamItself) {
  const tests::TempDirectory base;
  ::testing::internal::CaptureStdout();
  const absl::Status status = WriteFile("/dev/stdout", "into the stream");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "into the stream");
  EXPECT_THAT(status, IsOk());
}

}  // namespace
}  // namespace plimsoll

// In place of the C library's.
extern "C" ssize_t getrandom(void* buffer, size_t size, unsigned flags) {
  if (!plimsoll::drawn.has_value()) return syscall(SYS_getrandom, buffer, size, flags);
  std::memcpy(buffer, &*plimsoll::drawn, size);
  return static_cast<ssize_t>(size);
}
