#include "controller/cli/run_parts.h"

#include <signal.h>

#include "absl/strings/strip.h"

namespace plimsoll {

std::streamsize PartLine::CopyingBuffer::xsputn(const char* text, std::streamsize size) {
  to_.write(text, size).flush();
  return std::stringbuf::xsputn(text, size);
}

PartLine::CopyingBuffer::int_type PartLine::CopyingBuffer::overflow(int_type letter) {
  if (letter != traits_type::eof()) to_.put(traits_type::to_char_type(letter)).flush();
  return std::stringbuf::overflow(letter);
}

std::string PartLine::FirstError() const {
  const std::string errors = errors_.str();
  const std::string line = errors.substr(0, errors.find('\n'));
  return line.empty() ? "nothing was measured" : std::string(absl::StripPrefix(line, "plimsoll: "));
}

bool IsInterruptPending() {
  sigset_t pending;
  sigemptyset(&pending);
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
         sigismember(&pending, SIGHUP) == 1;
}

}  // namespace plimsoll
