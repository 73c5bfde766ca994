#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "controller/export/output.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

size_t FilesIn(const std::string& directory) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
}

TEST(FileOutput, AppearsWholeAndReplacesWhatWasThere) {
  const tests::TempDirectory directory;
  const std::string path = directory.Sub("out");
  std::ofstream(path) << "old";
  auto output = OpenFileOutput(path);
  ASSERT_THAT(output, IsOk());
  std::string wanted;
  for (int i = 0; i < 100'000; ++i) {
    const std::string piece = std::to_string(i) + "\n";
    wanted += piece;
    ASSERT_THAT((*output)->Append(piece), IsOk());
  }
  EXPECT_EQ(ReadFile(path), "old");
  ASSERT_THAT((*output)->Finish(), IsOk());
  EXPECT_EQ((*output)->written(), wanted.size());
  output->reset();
  EXPECT_EQ(ReadFile(path), wanted);
  EXPECT_EQ(FilesIn(directory.path()), 1U);
}

TEST(FileOutput, ThatIsNotFinishedLeavesNothing) {
  const tests::TempDirectory directory;
  const std::string path = directory.Sub("out");
  std::ofstream(path) << "old";
  {
    auto output = OpenFileOutput(path);
    ASSERT_THAT(output, IsOk());
    ASSERT_THAT((*output)->Append(std::string(1'000'000, 'x')), IsOk());
  }
  EXPECT_EQ(ReadFile(path), "old");
  EXPECT_EQ(FilesIn(directory.path()), 1U);
}

TEST(FileOutput, ThatCannotGrowNamesItselfAndLeavesNothing) {
  const tests::TempDirectory directory;
  const std::string path = directory.Sub("out");
  {
    auto output = OpenFileOutput(path);
    ASSERT_THAT(output, IsOk());
    const tests::FileSizeLimit limit(300'000);
    absl::Status status;
    for (int i = 0; i < 10 && status.ok(); ++i) status = (*output)->Append(std::string(100'000, 'x'));
    EXPECT_NE(std::string(status.message()).find(path), std::string::npos) << status;
    EXPECT_FALSE((*output)->Finish().ok()) << "what failed once cannot be finished";
  }
  EXPECT_EQ(FilesIn(directory.path()), 0U);
}

TEST(FileOutput, OfADeviceIsWrittenInPlace) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  auto output = OpenFileOutput("/dev/full");
  ASSERT_THAT(output, IsOk());
  ASSERT_THAT((*output)->Append("x"), IsOk());
  EXPECT_THAT((*output)->Finish(), StatusIs(absl::StatusCode::kResourceExhausted, "/dev/full: No space left"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(FileOutput, OfAPipeOrALinkIsWrittenThrough) {
  const tests::TempDirectory directory;
  const std::string pipe = directory.Sub("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = ReadFile(pipe); });
  {
    auto output = OpenFileOutput(pipe);
    ASSERT_THAT(output, IsOk());
    ASSERT_THAT((*output)->Append("through the pipe"), IsOk());
    ASSERT_THAT((*output)->Finish(), IsOk());
  }
  reader.join();
  EXPECT_EQ(got, "through the pipe");

  std::filesystem::create_symlink(directory.Sub("target"), directory.Sub("link"));
  auto output = OpenFileOutput(directory.Sub("link"));
  ASSERT_THAT(output, IsOk());
  ASSERT_THAT((*output)->Append("behind the link"), IsOk());
  ASSERT_THAT((*output)->Finish(), IsOk());
  EXPECT_TRUE(std::filesystem::is_symlink(directory.Sub("link")));
  EXPECT_EQ(ReadFile(directory.Sub("target")), "behind the link");
}

TEST(FileOutput, LeavesAFileThatIsCalledAlikeAlone) {
  const tests::TempDirectory directory;
  std::ofstream(directory.Sub("out.new")) << "mine";
  {
    auto output = OpenFileOutput(directory.Sub("out"));
    ASSERT_THAT(output, IsOk());
    ASSERT_THAT((*output)->Append("text"), IsOk());
    ASSERT_THAT((*output)->Finish(), IsOk());
  }
  EXPECT_EQ(ReadFile(directory.Sub("out.new")), "mine");
  EXPECT_EQ(ReadFile(directory.Sub("out")), "text");
}

TEST(FileOutput, BehindALinkAppearsWholeToo) {
  const tests::TempDirectory directory;
  const std::string target = directory.MakeDirectory("elsewhere") + "/target";
  std::ofstream(target) << "old";
  chmod(target.c_str(), 0600);
  std::filesystem::create_symlink("elsewhere/target", directory.Sub("link"));
  std::filesystem::create_symlink("link", directory.Sub("link to it"));
  for (const bool finish : {false, true}) {
    auto output = OpenFileOutput(directory.Sub("link to it"));
    ASSERT_THAT(output, IsOk());
    ASSERT_THAT((*output)->Append(std::string(1'000'000, 'x')), IsOk());
    EXPECT_EQ(ReadFile(target), "old") << "what was there stays until the file is whole";
    if (finish) {
      ASSERT_THAT((*output)->Finish(), IsOk());
    }
  }
  EXPECT_EQ(ReadFile(target).size(), 1'000'000U);
  EXPECT_TRUE(std::filesystem::is_symlink(directory.Sub("link")));
  EXPECT_EQ(std::filesystem::status(target).permissions(), std::filesystem::perms(0600));
  EXPECT_EQ(FilesIn(directory.Sub("elsewhere")), 1U);

  std::filesystem::create_symlink("round", directory.Sub("round"));
  EXPECT_FALSE(OpenFileOutput(directory.Sub("round")).ok()) << "it leads to itself";
}

TEST(FileOutput, WhereNothingCanBeIsRefused) {
  const tests::TempDirectory directory;
  EXPECT_THAT(OpenFileOutput(directory.Sub("missing/out")), StatusIs(absl::StatusCode::kNotFound, "missing/out"));
  EXPECT_FALSE(OpenFileOutput(directory.path()).ok());
}

TEST(StreamOutput, ReportsWhereItCannotBeWritten) {
  std::ostringstream stream;
  auto output = MakeStreamOutput(stream);
  EXPECT_THAT(output->Append("text"), IsOk());
  EXPECT_THAT(output->Finish(), IsOk());
  EXPECT_EQ(stream.str(), "text");
  stream.setstate(std::ios::badbit);
  output = MakeStreamOutput(stream);
  EXPECT_THAT(output->Append("text"), IsOk());
  EXPECT_THAT(output->Finish(), StatusIs(absl::StatusCode::kUnavailable, "standard output"));
}

}  // namespace
}  // namespace plimsoll
