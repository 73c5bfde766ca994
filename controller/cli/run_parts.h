// Several runs as the parts of one command: what they print, how they ended, and interrupts between them.
#pragma once

#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "controller/cli/command.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// How a part ended, for the command that it is a part of.
struct PartEnd {
  // An interrupt came while it ran, whether it cut anything short or came too late for that: no other part may begin.
  bool interrupted = false;
  // Why it has no result, or what of it could not be kept; without line ends.
  std::vector<std::string> errors;
  // What it reports, where it has measured anything.
  std::optional<v1::Report> report;

  // All of them; "nothing was measured" where there is none.
  std::string ErrorText() const;
};

// The command line of a part: its report is swallowed, what it prints on standard error goes on as it is. `line`
// outlives it. Not thread-safe.
class PartLine {
 public:
  explicit PartLine(const CommandLine& line) : line_{report_, line.err, {}, false, line.color_err} {}
  PartLine(const PartLine&) = delete;
  PartLine& operator=(const PartLine&) = delete;

  CommandLine& line() { return line_; }

 private:
  std::ostringstream report_;
  CommandLine line_;
};

// An interrupt that came where nothing was watching for one: Interrupts leaves the signals blocked.
bool IsInterruptPending();

}  // namespace plimsoll
