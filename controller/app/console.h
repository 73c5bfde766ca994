// Where a command prints: results on standard output, progress and errors, a line each, on standard error.
#pragma once

#include <iosfwd>
#include <string>

#include "absl/status/status.h"
#include "controller/fleet/exit_code.h"

namespace plimsoll {

struct Console {
  // Results.
  std::ostream& out;
  // Progress and errors.
  std::ostream& err;
  // Whether colours go to standard output and standard error.
  bool color_out = false;
  bool color_err = false;
  // Whether WroteOutput has reported a failure.
  bool output_failed = false;
};

// Writes "plimsoll: <message>" as one line and returns the exit code.
int PrintError(Console& console, const std::string& message, Exit exit);

// PrintError with the status' message.
int PrintError(Console& console, const absl::Status& status, Exit exit);

// Calls PrintError for each line of a status with several lines, such as the problems of a plan.
int PrintErrors(Console& console, const absl::Status& status, Exit exit);

// PrintError for each line of a failure; returns its exit code.
int PrintFailure(Console& console, const Failure& failure);

// Flushes standard output; false where it took not everything, which is reported once, with what `more` adds. A reader
// that went away, such as `| head`, has seen enough: nothing failed then.
bool WroteOutput(Console& console, const std::string& more = "");

// The report with its verdicts, as words of their own in the verdict's line and the table of criteria, in colour.
std::string PaintVerdicts(const std::string& report, bool color);

}  // namespace plimsoll
