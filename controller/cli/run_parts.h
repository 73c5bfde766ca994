// Several runs as the parts of one command: what they print, and interrupts between them.
#pragma once

#include <ostream>
#include <sstream>
#include <string>

#include "controller/cli/command.h"

namespace plimsoll {

// The command line of a part: its report is swallowed, its errors go on at once, and the first of them is kept. Not
// thread-safe.
class PartLine {
 public:
  explicit PartLine(const CommandLine& line) : errors_(line.err), error_stream_(&errors_) {
    line_.color_err = line.color_err;
  }
  PartLine(const PartLine&) = delete;
  PartLine& operator=(const PartLine&) = delete;

  CommandLine& line() { return line_; }
  // "plimsoll: node1: refused\nplimsoll: ..." as "node1: refused"; "nothing was measured" where there is none.
  std::string FirstError() const;

 private:
  // Takes what is written to it on to `to` at once, and keeps it.
  class CopyingBuffer : public std::stringbuf {
   public:
    explicit CopyingBuffer(std::ostream& to) : to_(to) {}

   protected:
    std::streamsize xsputn(const char* text, std::streamsize size) override;
    int_type overflow(int_type letter) override;

   private:
    std::ostream& to_;
  };

  std::ostringstream report_;
  CopyingBuffer errors_;
  std::ostream error_stream_;
  CommandLine line_{report_, error_stream_, {}, false, false};
};

// An interrupt that came where nothing was watching for one: Interrupts leaves the signals blocked.
bool IsInterruptPending();

}  // namespace plimsoll
