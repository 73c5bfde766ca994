#include "controller/run/terminal_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace plimsoll {
namespace {

// The other screen, no cursor; and back.
constexpr char kEnterScreen[] = "\033[?1049h\033[?25l\033[2J";
constexpr char kLeaveScreen[] = "\033[0m\033[?25h\033[?1049l";

// Those that end a process, where it does not handle them itself.
constexpr int kEnding[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV};
constexpr size_t kEndings = std::size(kEnding);

// What the handlers of signals look at, as those may.
// Of the screen that is shown; -1: none is.
volatile std::sig_atomic_t g_screen_fd = -1;
// What is on the screen is not known any more.
volatile std::sig_atomic_t g_screen_spoilt = 0;
struct sigaction g_actions_before[kEndings];
struct sigaction g_stop_before{};

void PutOnScreen(const char* text) {
  if (g_screen_fd >= 0 && write(g_screen_fd, text, strlen(text)) < 0) return;
}

// Async-signal-safe.
void OnEndingSignal(int signal) {
  PutOnScreen(kLeaveScreen);
  g_screen_fd = -1;
  for (size_t i = 0; i < kEndings; ++i) {
    if (kEnding[i] == signal) sigaction(signal, &g_actions_before[i], nullptr);
  }
  // Comes when this returns.
  raise(signal);
}

void OnStopSignal(int /*signal*/) {
  const int error = errno;
  PutOnScreen(kLeaveScreen);
  raise(SIGSTOP);
  // Continued.
  PutOnScreen(kEnterScreen);
  g_screen_spoilt = 1;
  errno = error;
}

}  // namespace

ScreenSize TerminalScreen::Size() const {
  winsize size{};
  if (ioctl(fileno(out_), TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

void TerminalScreen::Enter() {
  shown_ = true;
  lines_.clear();
  std::fputs(kEnterScreen, out_);
  g_screen_fd = fileno(out_);
  struct sigaction action{};
  action.sa_handler = OnEndingSignal;
  for (size_t i = 0; i < kEndings; ++i) sigaction(kEnding[i], &action, &g_actions_before[i]);
  action.sa_handler = OnStopSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTSTP, &action, &g_stop_before);
}

void TerminalScreen::Draw(const std::vector<std::string>& lines) {
  if (!TakesOutput(out_)) return;
  if (!shown_) Enter();
  const ScreenSize size = Size();
  std::string text;
  if (size.columns != size_.columns || size.rows != size_.rows || g_screen_spoilt != 0) {
    g_screen_spoilt = 0;
    lines_.clear();
    text = "\033[2J";
  }
  size_ = size;
  for (size_t row = 0; row < lines.size(); ++row) {
    if (row < lines_.size() && lines_[row] == lines[row]) continue;
    absl::StrAppend(&text, "\033[", row + 1, ";1H", lines[row], "\033[K");
  }
  if (lines.size() < lines_.size()) absl::StrAppend(&text, "\033[", lines.size() + 1, ";1H\033[J");
  lines_ = lines;
  if (text.empty()) return;
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

void TerminalScreen::Leave() {
  if (!shown_) return;
  shown_ = false;
  for (size_t i = 0; i < kEndings; ++i) sigaction(kEnding[i], &g_actions_before[i], nullptr);
  sigaction(SIGTSTP, &g_stop_before, nullptr);
  std::fputs(kLeaveScreen, out_);
  std::fflush(out_);
  g_screen_fd = -1;
}

bool TakesOutput(std::FILE* out) {
  pollfd waits{fileno(out), POLLOUT, 0};
  return poll(&waits, 1, 0) > 0;
}

bool IsScreen(std::FILE* out) {
  const char* term = std::getenv("TERM");
  return isatty(fileno(out)) != 0 && term != nullptr && *term != '\0' && std::strcmp(term, "dumb") != 0;
}

}  // namespace plimsoll
