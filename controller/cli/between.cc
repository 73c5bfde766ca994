#include "controller/cli/between.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/command_line.h"
#include "common/units.h"
#include "controller/plan/ha_plan.h"
#include "controller/run/command_runner.h"

namespace plimsoll {

absl::StatusOr<Between> Between::Create(const AbFlags& flags) {
  Between between;
  if (flags.between.empty()) return between;
  if (!flags.allow_commands) {
    return absl::InvalidArgumentError("--between runs a command on this machine: read it, and give --allow-commands");
  }
  absl::StatusOr<std::vector<std::string>> arguments = SplitCommand(flags.between);
  if (!arguments.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--between: ", std::string(arguments.status().message())));
  }
  between.arguments_ = *std::move(arguments);
  const absl::StatusOr<int64_t> limit_ns = ParseDuration(flags.between_limit);
  if (!limit_ns.ok() || *limit_ns < kNsPerSecond || *limit_ns > 3600 * kNsPerSecond) {
    return absl::InvalidArgumentError(
        absl::StrCat("--between-limit: \"", flags.between_limit, "\" is not a time from 1s to 1h"));
  }
  between.limit_ns_ = *limit_ns;
  return between;
}

std::string Between::Run(const AbSide& side, char letter, size_t round, const Clock& clock, EventQueue& events,
                         const std::function<bool()>& stop) const {
  if (arguments_.empty()) return "";
  std::vector<std::string> arguments = arguments_;
  for (std::string& argument : arguments) {
    argument = absl::StrReplaceAll(
        argument, {{"{side}", side.name}, {"{letter}", std::string(1, letter)}, {"{round}", absl::StrCat(round)}});
  }
  const absl::StatusOr<std::unique_ptr<RunningCommand>> command = MakeCommandRunner()->Start(arguments);
  if (!command.ok()) return std::string(command.status().message());
  constexpr int64_t kPollNs = 20 * kNsPerMs;
  const MonotonicNs deadline = clock.Now() + limit_ns_;
  while (clock.Now() < deadline) {
    if (const std::optional<std::string> ended = (*command)->Poll(); ended.has_value()) return *ended;
    events.WaitUntil(clock.Now() + kPollNs);
    if (stop()) {
      (*command)->Kill();
      return kStopped;
    }
  }
  (*command)->Kill();
  return absl::StrCat("it did not end within ", FormatDuration(limit_ns_));
}

}  // namespace plimsoll
