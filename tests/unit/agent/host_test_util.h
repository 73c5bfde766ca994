// What the tests of agent/host share: a directory on a real file system, and a child process for what needs one.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/page_stamp.h"
#include "tests/temp_directory.h"

namespace plimsoll::tests {

// Ids of the agent under test and of another.
inline constexpr char kMine[] = "00000000000000aa";
inline constexpr char kOther[] = "00000000000000bb";

// What a child process answers: what is tested held, did not, or could not be set up.
inline constexpr int kHeld = 0;
inline constexpr int kBroken = 1;
inline constexpr int kNotPermitted = 77;

inline void WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The first page of an extent of the run with this token.
inline std::string ExtentPage(const std::array<uint8_t, 16>& run_token = {}) {
  std::vector<std::byte> page(kStampedPageBytes, std::byte{0x5a});
  const uint64_t checksum = PayloadChecksum(std::span(page).subspan(kStampBytes));
  WriteStamp({run_token, 0, 1, 0, 0, 1}, checksum, page.data());
  return {reinterpret_cast<const char*>(page.data()), page.size()};
}

// Runs `body` in a child process, for what changes the whole process (user, mounts), and returns its exit status.
inline int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 255;
  return WEXITSTATUS(status);
}

}  // namespace plimsoll::tests
