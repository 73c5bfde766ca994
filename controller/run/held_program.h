// A program that was started for a watch: its process is there, and does nothing before the watch begins.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/posix.h"

namespace plimsoll {

// The process exists from Start on, so that it can be attached to; it executes the program at the moment that Release
// gives. It has this process' standard streams, and stays in its process group: Ctrl-C reaches both. One thread, which
// must be the only one when Start is called.
class HeldProgram {
 public:
  // `arguments`: the program, which is looked up in PATH, and its arguments. No shell sees them. NOT_FOUND where no
  // such program exists, or it cannot be executed.
  static absl::StatusOr<std::unique_ptr<HeldProgram>> Start(const std::vector<std::string>& arguments);
  // A program that was never released is never executed. One that runs goes on.
  ~HeldProgram();
  HeldProgram(const HeldProgram&) = delete;
  HeldProgram& operator=(const HeldProgram&) = delete;

  pid_t pid() const { return pid_; }
  // Absolute path of the program.
  const std::string& path() const { return path_; }
  // Executes the program at that moment of CLOCK_MONOTONIC. Once.
  void Release(int64_t at_ns);
  bool released() const { return released_; }
  // How it ended, "exit code 0" or "signal 9"; nothing while it runs. Its process id is not used again before the first
  // call that returns something.
  std::optional<std::string> End();

 private:
  HeldProgram() = default;

  pid_t pid_ = -1;
  std::string path_;
  // Its other end is what the process waits for.
  UniqueFd gate_;
  bool released_ = false;
  std::optional<std::string> ended_;
};

}  // namespace plimsoll
