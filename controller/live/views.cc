#include "controller/live/views.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/render/plain_text.h"

namespace plimsoll {
namespace {

constexpr int64_t kOftenNs = 250 * kNsPerMs;
// A second's figures come up to half a second after its end.
constexpr int64_t kLongestWithoutLineNs = 1'600 * kNsPerMs;
constexpr size_t kMessagesKept = 20;

// Escape codes: the other screen without a cursor; and back.
constexpr char kEnterScreen[] = "\033[?1049h\033[?25l\033[2J";
constexpr char kLeaveScreen[] = "\033[0m\033[?25h\033[?1049l";

// Signals that end a process, where it does not handle them itself.
constexpr int kEnding[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV};
constexpr size_t kEndings = std::size(kEnding);

// What the handlers of signals look at, as those may.
// Descriptor of the screen that is shown; -1: no screen is.
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

LiveWant PlainLines::Wants(LivePhase phase) const {
  const bool seconds = of_ == Of::kSteps && (phase == LivePhase::kRunning || phase == LivePhase::kMeasured);
  // Lines of a step come when its seconds are complete.
  return {phase == LivePhase::kRunning ? kOftenNs : kNsPerSecond, seconds ? LiveNeed::kFigures : LiveNeed::kPhase};
}

void PlainLines::OnMoment(const std::shared_ptr<const LiveMoment>& moment) {
  if (moment->phase == LivePhase::kStarting) {
    shown_second_ = -1;
    next_waiting_line_ = moment->now + kNsPerSecond;
  }
  if (of_ == Of::kWarnings || moment->begins) return;
  if (!moment->text.empty()) OnLine(SanitizeForTerminal(moment->text));
  if (of_ == Of::kPhases) return;
  for (const LiveStall& stall : moment->settled) OnLine(SanitizeForTerminal(StallLine(stall)));
  if (Wants(moment->phase).need == LiveNeed::kFigures) ShowSeconds(*moment);
}

void PlainLines::OnLine(const std::string& line) {
  std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
}

void PlainLines::OnOutlook(const std::string& text) {
  if (of_ != Of::kWarnings) OnLine(text);
}

void PlainLines::ShowSeconds(const LiveMoment& moment) {
  const LiveView& view = moment.view;
  bool any_new = false;
  for (const LiveSecond& second : view.seconds) {
    if (second.number <= shown_second_) continue;
    OnLine(SanitizeForTerminal(SecondLine(view.now, second, view.read_percent)));
    shown_second_ = second.number;
    any_new = true;
  }
  // The first second's figures come soon after its end.
  const int64_t begun_ns = view.now.elapsed_ns + view.now.warmup_ns;
  if (view.seconds.empty() && begun_ns >= 0 && begun_ns < kLongestWithoutLineNs) return;
  if (!any_new && moment.now < next_waiting_line_) return;
  if (!any_new) OnLine(SanitizeForTerminal(WaitingLine(view.now, view.read_percent)));
  next_waiting_line_ = moment.now + (any_new ? kLongestWithoutLineNs : kNsPerSecond);
}

LiveWant TerminalView::Wants(LivePhase phase) const {
  LiveWant want{!options_.table && phase == LivePhase::kStarting ? kNsPerSecond : kOftenNs};
  const bool draining = phase == LivePhase::kDraining && screen_.shown();
  const bool shows = (phase == LivePhase::kRunning || draining) && TakesOutput(out_);
  if (shows || (phase == LivePhase::kMeasured && options_.table)) {
    want.need = options_.table ? LiveNeed::kCriteria : LiveNeed::kFigures;
  }
  return want;
}

bool TerminalView::StaysShown(LivePhase phase) const {
  return screen_.shown() && (phase == LivePhase::kDraining || phase == LivePhase::kBetween);
}

void TerminalView::OnMoment(const std::shared_ptr<const LiveMoment>& moment) {
  moment_ = moment;
  const LivePhase phase = moment->phase;
  if (moment->begins) {
    if (phase == LivePhase::kPreparing || phase == LivePhase::kStarting || StaysShown(phase)) return;
    // A terminal that takes nothing must not keep the run from its end.
    if (phase != LivePhase::kReleasing || TakesOutput(out_)) Clear();
    return;
  }
  if (phase == LivePhase::kMeasured) {
    // The second whose line was shown in place is the last one.
    if (options_.table) DrawTable();
    return;
  }
  if (!TakesOutput(out_)) return;
  if (StaysShown(phase) || (phase == LivePhase::kRunning && options_.table)) return DrawTable();
  if (screen_.shown()) Clear();
  const LiveView& view = moment->view;
  if (phase == LivePhase::kRunning) {
    ShowInPlace(view.seconds.empty() ? WaitingLine(view.now, view.read_percent)
                                     : SecondLine(view.now, view.seconds.back(), view.read_percent));
  } else if (!moment->text.empty()) {
    ShowInPlace(moment->text);
  }
}

void TerminalView::OnLine(const std::string& line) {
  if (screen_.shown()) {
    held_lines_.push_back(line);
    messages_.push_back(line);
    if (messages_.size() > kMessagesKept) messages_.erase(messages_.begin());
    return DrawTable();
  }
  Clear();
  std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
}

void TerminalView::OnOutlook(const std::string& text) {
  if (!options_.table) OnLine(text);
}

void TerminalView::Clear() {
  if (screen_.shown()) {
    screen_.Leave();
    for (const std::string& line : std::exchange(held_lines_, {})) std::fprintf(out_, "%s\n", line.c_str());
    std::fflush(out_);
  }
  if (!line_shown_) return;
  std::fputs("\r\033[K", out_);
  std::fflush(out_);
  line_shown_ = false;
}

void TerminalView::ShowInPlace(const std::string& text) {
  const std::string whole = options_.whole ? absl::StrCat(options_.whole(), ": ") : "";
  const size_t columns = screen_.Size().columns;
  std::fprintf(out_, "\r\033[K%s",
               Shorten(SanitizeForTerminal(absl::StrCat(whole, text)), columns > 1 ? columns - 1 : 1).c_str());
  line_shown_ = true;
  std::fflush(out_);
}

void TerminalView::DrawTable() {
  const ScreenSize size = screen_.Size();
  std::vector<std::string> lines;
  if (options_.whole && size.rows > 1) {
    lines.push_back(Shorten(SanitizeForTerminal(options_.whole()), size.columns));
  }
  LiveView view = moment_->view;
  view.messages = messages_;
  for (const LiveLine& line : DrawLive(view, size.columns, size.rows - lines.size())) {
    lines.push_back(EncodeLine(line, options_.color));
  }
  if (line_shown_) Clear();
  screen_.Draw(lines);
}

void IntervalView::OnBegin(Analyzer& analyzer) {
  analyzer.SetIntervalListener(interval_ns_, [this](const IntervalRow& row) {
    MutexLock lock(mutex_);
    for (std::string& line : lines_.Add(row)) made_.push_back(std::move(line));
  });
}

void IntervalView::OnRecord(const v1::JournalRecord& record) {
  // The first row comes later, with a frame.
  if (record.has_run_begin()) {
    MutexLock lock(mutex_);
    lines_.SetReadPercent(record.run_begin().plan().read_percent());
  }
  Print();
}

void IntervalView::Print() {
  std::vector<std::string> made;
  {
    MutexLock lock(mutex_);
    made.swap(made_);
  }
  for (const std::string& line : made) print_(line);
}

}  // namespace plimsoll
