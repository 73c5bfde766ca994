// Commands of the user's own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "common/posix.h"
#include "controller/run/process.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using absl::StatusCode;

std::string EndOf(RunningCommand& command) {
  while (true) {
    if (const auto ended = command.Poll(); ended.has_value()) return *ended;
    std::this_thread::yield();
  }
}

TEST(CommandRunnerTest, ReportsHowTheCommandEnded) {
  const auto runner = MakeCommandRunner();
  auto good = runner->Start({"true"});
  ASSERT_THAT(good, IsOk());
  EXPECT_EQ(EndOf(**good), "");
  EXPECT_EQ((*good)->exit_code(), 0);
  auto bad = runner->Start({"sh", "-c", "exit 3"});
  ASSERT_THAT(bad, IsOk());
  EXPECT_EQ(EndOf(**bad), "exit code 3");
  EXPECT_EQ((*bad)->exit_code(), 3);
  auto signalled = runner->Start({"sh", "-c", "kill -TERM $$"});
  ASSERT_THAT(signalled, IsOk());
  EXPECT_EQ(EndOf(**signalled), "ended by signal 15");
  EXPECT_EQ((*signalled)->exit_code(), -1);
  EXPECT_THAT(runner->Start({"/missing/program"}).status(), StatusIs(StatusCode::kNotFound, "/missing/program"));
  EXPECT_THAT(runner->Start({}).status(), StatusIs(StatusCode::kInvalidArgument, "no program"));
}

// Standard error of the test, while it lives.
class StandardError {
 public:
  explicit StandardError(int fd) : before_(dup(STDERR_FILENO)) { dup2(fd, STDERR_FILENO); }
  ~StandardError() { dup2(before_.get(), STDERR_FILENO); }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;

 private:
  UniqueFd before_;
};

TEST(CommandRunnerTest, OutputGoesToStandardErrorInItsOrder) {
  const tests::TempDirectory directory;
  const UniqueFd file(open(directory.Sub("errors").c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  {
    const StandardError errors(file.get());
    auto command = MakeCommandRunner()->Start({"sh", "-c", "echo one; echo two >&2; echo three"});
    ASSERT_THAT(command, IsOk());
    EXPECT_EQ(EndOf(**command), "");
  }
  std::string text(100, '\0');
  text.resize(static_cast<size_t>(pread(file.get(), text.data(), text.size(), 0)));
  EXPECT_EQ(text, "one\ntwo\nthree\n");
}

TEST(CommandRunnerTest, ACommandOutlivesTheReaderOfItsOutput) {
  std::signal(SIGPIPE, SIG_IGN);
  const tests::TempDirectory directory;
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  std::string ended;
  {
    const StandardError errors(writer.get());
    reader.Reset();
    // More than any pipe holds.
    auto command = MakeCommandRunner()->Start(
        {"sh", "-ec", "head -c 1000000 /dev/zero; echo done; : > \"$0\"", directory.Sub("done")});
    ASSERT_THAT(command, IsOk());
    ended = EndOf(**command);
  }
  EXPECT_EQ(ended, "");
  EXPECT_TRUE(std::filesystem::exists(directory.Sub("done")));
}

TEST(CommandRunnerTest, AReaderThatDoesNotReadStopsNoCommand) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  std::string ended;
  {
    const StandardError errors(writer.get());
    auto command = MakeCommandRunner()->Start({"sh", "-ec", "head -c 1000000 /dev/zero; echo done"});
    ASSERT_THAT(command, IsOk());
    ended = EndOf(**command);
  }
  EXPECT_EQ(ended, "");
}

TEST(CommandRunnerTest, CommandsHaveNoTerminalToAskAt) {
  auto command = MakeCommandRunner()->Start(
      {"sh", "-c", "read -r pid name state parent group session rest < /proc/$$/stat && [ \"$session\" = $$ ]"});
  ASSERT_THAT(command, IsOk());
  EXPECT_EQ(EndOf(**command), "") << "it leads a session of its own";
}

TEST(CommandRunnerTest, WhatIsLeftIsNoZombie) {
  const auto runner = MakeCommandRunner();
  const tests::TempDirectory directory;
  auto command = runner->Start({"sh", "-c", "echo $$ > \"$0.new\" && mv \"$0.new\" \"$0\"", directory.Sub("pid")});
  ASSERT_THAT(command, IsOk());
  (*command)->Leave();
  command->reset();
  while (!std::filesystem::exists(directory.Sub("pid"))) std::this_thread::yield();
  pid_t pid = 0;
  std::ifstream(directory.Sub("pid")) >> pid;
  siginfo_t info{};
  // It has ended, and waits to be asked for it.
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  ASSERT_THAT(runner->Start({"true"}), IsOk());
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST(CommandRunnerTest, IsKilledWithItsChildrenWhereNobodyWaitsForItAnyMore) {
  const tests::TempDirectory directory;
  const std::string pipe = directory.Sub("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  // The shell's child reads from the pipe until somebody ends it.
  auto command = MakeCommandRunner()->Start({"sh", "-c", "cat \"$0\" & wait", pipe});
  ASSERT_THAT(command, IsOk());
  // Returns when the child has opened its end.
  const UniqueFd end(open(pipe.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(end.valid());
  EXPECT_FALSE((*command)->Poll().has_value());
  command->reset();
  pollfd reader{end.get(), 0, 0};
  EXPECT_EQ(poll(&reader, 1, 30'000), 1) << "the child still has its end open";
  EXPECT_NE(reader.revents & POLLERR, 0);
}

}  // namespace
}  // namespace plimsoll
