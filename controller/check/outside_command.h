// A command of the user's own, run on the controller's host.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll {

// Splits at blanks, without a shell: no quotes, no variables, no wildcards. Then fills in "{host}" in every argument.
std::vector<std::string> CommandArguments(const std::string& text, const std::string& host);

// One process of the command, in a process group of its own. Its standard input is empty, its output is ours (standard
// error).
class OutsideCommand {
 public:
  // INVALID_ARGUMENT where there are no arguments; what the system says where the program cannot be started.
  static absl::StatusOr<std::unique_ptr<OutsideCommand>> Start(const std::vector<std::string>& arguments);
  // Kills what still runs of the group.
  ~OutsideCommand();
  OutsideCommand(const OutsideCommand&) = delete;
  OutsideCommand& operator=(const OutsideCommand&) = delete;

  // None while it runs; OK for exit code 0, ABORTED with how it ended for any other. Does not wait.
  std::optional<absl::Status> Poll();

 private:
  OutsideCommand(pid_t pid, std::string name) : pid_(pid), name_(std::move(name)) {}

  pid_t pid_;
  const std::string name_;
  std::optional<absl::Status> ended_;
};

}  // namespace plimsoll
