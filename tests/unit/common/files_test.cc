#include "common/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <thread>

#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

TEST(Files, AreReadWholeUpToTheLimit) {
  const TempDirectory directory;
  const std::string path = directory.Sub("file");
  // More than one piece.
  const std::string text(50'000, 'x');
  std::ofstream(path) << text;
  EXPECT_EQ(ReadFile(path, text.size()).value(), text);
  EXPECT_THAT(ReadFile(path, text.size() - 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       path + " is larger than 49999 bytes, the most that is read of it; pass a smaller file"));
}

TEST(Files, ThatAreMissingAreNamed) {
  EXPECT_THAT(ReadFile("/nonexistent/file", 10),
              StatusIs(absl::StatusCode::kNotFound, "open /nonexistent/file: No such file or directory (2)"));
  EXPECT_THAT(ReadFile("/nonexistent/file", 10, FileKind::kAny, "--hosts-file"),
              StatusIs(absl::StatusCode::kNotFound, "--hosts-file /nonexistent/file: No such file or directory (2)"));
}

TEST(Files, OfAnotherKindAreRefusedWithoutWaiting) {
  const TempDirectory directory;
  const std::string pipe = directory.Sub("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero")}) {
    EXPECT_THAT(ReadFile(path, 10), StatusIs(absl::StatusCode::kInvalidArgument, path + " is not a regular file"));
  }
  for (const FileKind kind : {FileKind::kRegular, FileKind::kAny}) {
    EXPECT_THAT(ReadFile(directory.path(), 10, kind, "--file"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "--file: " + directory.path() + " is a directory; name a file in it"));
  }
}

TEST(Files, OfAnyKindAreReadUpToTheLimitWhereTheCallerAllowsThem) {
  const TempDirectory directory;
  const std::string pipe = directory.Sub("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << "name: x\n"; });
  EXPECT_EQ(ReadFile(pipe, 10, FileKind::kAny).value(), "name: x\n");
  writer.join();
  EXPECT_THAT(ReadFile("/dev/zero", 1 << 20, FileKind::kAny),
              StatusIs(absl::StatusCode::kInvalidArgument, "/dev/zero is larger than 1048576 bytes"));
}

TEST(Files, OfTheKernelHaveNoSizeAndAreReadAllTheSame) {
  EXPECT_THAT(ReadFile("/proc/self/comm", 100).value(), HasSubstr("files_test"));
}

}  // namespace
}  // namespace plimsoll
