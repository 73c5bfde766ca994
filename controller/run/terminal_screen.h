// A terminal's second screen, on which lines are drawn in place.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace plimsoll {

struct ScreenSize {
  size_t columns = 80;
  size_t rows = 24;
};

// While it is shown, the shell's screen and its scrollback stay as they are, and the cursor is hidden; both come back
// with Leave, with the end of the object, when a signal ends the process (all but SIGKILL), and while Ctrl-Z suspends
// it. One may be shown at a time. One thread.
class TerminalScreen {
 public:
  // `out` is a terminal; it outlives the object.
  explicit TerminalScreen(std::FILE* out) : out_(out) {}
  ~TerminalScreen() { Leave(); }
  TerminalScreen(const TerminalScreen&) = delete;
  TerminalScreen& operator=(const TerminalScreen&) = delete;

  bool shown() const { return shown_; }
  // As it is now: a window may have been resized.
  ScreenSize Size() const;
  // Shows the lines, entering the screen where it is not shown; those that are there already are not written again.
  // They fit the size, and hold no control characters but styles. Does nothing while the terminal takes no output.
  void Draw(const std::vector<std::string>& lines);
  void Leave();

 private:
  void Enter();

  std::FILE* out_;
  bool shown_ = false;
  ScreenSize size_;
  std::vector<std::string> lines_;
};

// Whether the terminal takes output now: not after Ctrl-S, nor over a connection that hangs. Writing would block.
bool TakesOutput(std::FILE* out);
// Whether `out` is a terminal that moves its cursor as told: not where TERM is unset or "dumb".
bool IsScreen(std::FILE* out);

}  // namespace plimsoll
