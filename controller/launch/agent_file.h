// The agent's program as a file of this machine that can be copied to others.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace plimsoll {

struct AgentFile {
  std::string path;
  std::string bytes;
  // SHA-256, in hexadecimal digits.
  std::string sum;
  // What it runs on, as `uname -m` prints it there.
  std::string machine;
  // Whether it needs the C library of the system where it runs.
  bool dynamic = false;
};

// Reads a program. The system's error where it cannot be read; INVALID_ARGUMENT where it is no program for Linux (ELF,
// 64 bits), or for a machine that Plimsoll does not know.
absl::StatusOr<AgentFile> ReadAgentFile(const std::string& path);

}  // namespace plimsoll
