// Runs the commands that a user gave for faults, on the controller's host.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace plimsoll {

// One program that was started. The destructor kills it where it still runs.
class RunningCommand {
 public:
  virtual ~RunningCommand() = default;
  // Why it counts as failed once it has ended: "" where it succeeded. Nothing while it runs.
  virtual std::optional<std::string> Poll() = 0;
  // 0 where it succeeded; -1: none, or it did not end.
  virtual int exit_code() const = 0;
  virtual void Kill() = 0;
};

class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  // Starts a program with its arguments, the first of which is looked up in PATH. No shell sees them.
  virtual absl::StatusOr<std::unique_ptr<RunningCommand>> Start(const std::vector<std::string>& arguments) = 0;
};

// In a process group of its own, so that Ctrl-C at the terminal does not end it, with standard input from /dev/null and
// its output on our standard error.
std::unique_ptr<CommandRunner> MakeCommandRunner();

}  // namespace plimsoll
