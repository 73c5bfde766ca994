// The command that `plimsoll ab` runs on this machine before each side of each round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "controller/cli/ab_sides.h"
#include "controller/run/event_queue.h"

namespace plimsoll {

// A program with its arguments; without --between there is none. Not thread-safe.
class Between {
 public:
  // What Run returns where it was stopped.
  static constexpr char kStopped[] = "stopped";

  // INVALID_ARGUMENT where the command or the limit cannot be read, or commands are not allowed.
  static absl::StatusOr<Between> Create(const AbFlags& flags);

  // Runs it for that side of the round, numbered from 1, until it ends or `stop` returns true, which is asked again and
  // again and whenever an interrupt comes to `events`. Returns why the side cannot be measured; "" where it can.
  std::string Run(const AbSide& side, char letter, size_t round, const Clock& clock, EventQueue& events,
                  const std::function<bool()>& stop) const;

 private:
  std::vector<std::string> arguments_;
  int64_t limit_ns_ = 0;
};

}  // namespace plimsoll
