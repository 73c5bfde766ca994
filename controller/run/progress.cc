#include "controller/run/progress.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/render/plain_text.h"

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

constexpr int64_t kInPlacePeriodNs = 250 * kNsPerMs;
constexpr int64_t kLinePeriodNs = kNsPerSecond;
// A second's figures come up to half a second after its end.
constexpr int64_t kLongestWithoutLineNs = 1'600 * kNsPerMs;
// The analysis is awaited for so long: while a step runs, and at its end.
constexpr int64_t kPatienceNs = 20 * kNsPerMs;
constexpr int64_t kPatienceAtEndNs = 200 * kNsPerMs;
// What other hosts have to add to a stall has come by then.
constexpr int64_t kSettledNs = 700 * kNsPerMs;
constexpr size_t kSecondsKept = 600;
constexpr size_t kStallsKept = 50;
constexpr size_t kMessagesKept = 20;
constexpr size_t kWritesNamed = 3;

std::string Seconds(int64_t ns) {
  return absl::StrFormat("%.0f s", static_cast<double>(std::max<int64_t>(ns, 0)) / 1e9);
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

void Progress::Update(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts, LiveReader& live) {
  // Lines of a step come when its seconds are complete.
  const bool often = in_place_ || phase_ == Phase::kRunning;
  next_update_ = now + (often ? kInPlacePeriodNs : kLinePeriodNs);
  if (quiet_ || (in_place_ && !TakesOutput(out_))) return;
  switch (phase_) {
    case Phase::kIdle:
      return;
    case Phase::kPreparing:
      return Show(PreparingLine(hosts));
    case Phase::kSettling:
      return Show(absl::StrCat("settling  ", Seconds(std::clamp<int64_t>(now - settle_start_, 0, settle_length_ns_)),
                               "/", Seconds(settle_length_ns_), " before the first step (--settle)"));
    case Phase::kRunning:
      if ((in_place_ || running_lines_) && Read(now, hosts, live, kPatienceNs)) ShowRunning(now);
      return;
    case Phase::kDraining:
      view_.phase = absl::StrCat("stopping (", drain_reason_, "): waiting for the last writes");
      if (!screen_.shown()) return Show(absl::StrCat(view_.phase, InFlightText(now, hosts)));
      Read(now, hosts, live, kPatienceNs);
      return DrawTable();
    case Phase::kBetween:
      if (screen_.shown()) DrawTable();
      return;
    case Phase::kReleasing:
      if (screen_.shown()) Clear();
      return Show(absl::StrCat("removing the files", InFlightText(now, hosts)));
  }
}

void Progress::Preparing() {
  phase_ = Phase::kPreparing;
}

void Progress::Settling(MonotonicNs now, int64_t length_ns) {
  Clear();
  phase_ = Phase::kSettling;
  settle_start_ = now;
  settle_length_ns_ = length_ns;
  next_update_ = now;
}

void Progress::StepStarts(uint32_t step, uint32_t steps, uint32_t round_steps, const v1::LogStep& spec,
                          MonotonicNs now) {
  phase_ = Phase::kRunning;
  std::vector<std::string> messages = std::move(view_.messages);
  view_ = {};
  view_.messages = std::move(messages);
  view_.outlook = std::exchange(outlook_, "");
  view_.left_ns = left_ns_;
  view_.now.step = step + 1;
  view_.now.steps = steps;
  view_.now.round_steps = round_steps;
  view_.now.block_size_bytes = spec.block_size_bytes();
  seconds_printed_ = 0;
  settled_ = SettledStalls();
  // Not at once: the first figures come with the first frames.
  next_update_ = now + (table_ ? kInPlacePeriodNs : kLinePeriodNs);
  next_waiting_line_ = now + kLinePeriodNs;
}

void Progress::Draining(const std::string& reason) {
  phase_ = Phase::kDraining;
  drain_reason_ = reason;
  if (!screen_.shown()) Clear();
}

void Progress::StepMeasured(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts, LiveReader& live) {
  if (quiet_ || !(in_place_ || running_lines_)) return;
  if (!Read(now, hosts, live, kPatienceAtEndNs)) return;
  SettleStalls(/*all=*/true);
  // The second whose line was shown in place is the last one; the lines have a line more.
  if (ShowsLines() || table_) ShowRunning(now);
}

void Progress::StepEnds() {
  if (screen_.shown()) {
    phase_ = Phase::kBetween;
    view_.phase =
        view_.now.round_steps == 0 && view_.now.step < view_.now.steps ? "ended, the next step follows" : "ended";
    return;
  }
  Clear();
  phase_ = Phase::kIdle;
}

void Progress::Releasing() {
  // A terminal that takes nothing must not keep the run from its end.
  if (!in_place_ || TakesOutput(out_)) Clear();
  phase_ = Phase::kReleasing;
}

void Progress::Warn(const std::string& line) {
  Line("plimsoll: " + SanitizeForTerminal(line));
}

void Progress::Line(const std::string& line) {
  if (screen_.shown()) {
    held_lines_.push_back(line);
    view_.messages.push_back(line);
    if (view_.messages.size() > kMessagesKept) view_.messages.erase(view_.messages.begin());
    return DrawTable();
  }
  Clear();
  std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
}

void Progress::ShowOutlook(const std::string& text, int64_t left_ns) {
  outlook_ = text;
  left_ns_ = left_ns;
  if (!table_ && !quiet_) Line(SanitizeForTerminal(absl::StrCat("next, ", text, "; ", BudgetText(left_ns))));
}

void Progress::Clear() {
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

bool Progress::Read(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts, LiveReader& live,
                    int64_t patience_ns) {
  const int64_t known = view_.seconds.empty() ? -1 : view_.seconds.back().number;
  std::optional<LiveSnapshot> snapshot = live.Read(now.value, known, patience_ns);
  if (!snapshot || snapshot->step != view_.now.step) return false;
  view_.now = *std::move(snapshot);
  for (LiveSecond& second : view_.now.seconds) view_.seconds.push_back(std::move(second));
  if (view_.seconds.size() > kSecondsKept) {
    const size_t dropped = view_.seconds.size() - kSecondsKept;
    view_.seconds.erase(view_.seconds.begin(), view_.seconds.begin() + static_cast<std::ptrdiff_t>(dropped));
    seconds_printed_ -= std::min(dropped, seconds_printed_);
  }
  for (size_t i = 0; i < std::min(hosts.size(), view_.now.hosts.size()); ++i) {
    LiveHost& host = view_.now.hosts[i];
    if (!host.lost && !host.done) host.silent_ns = std::max<int64_t>(now - hosts[i]->last_message, 0);
  }
  if (table_) view_.criteria = live.Criteria();
  SettleStalls(/*all=*/false);
  return true;
}

bool SettledStalls::Take(const LiveStall& stall) {
  const auto shown = [this](const auto& key) { return keys_.contains(key); };
  if (std::all_of(stall.keys.begin(), stall.keys.end(), shown)) return false;
  const size_t replaced = std::erase_if(latest_, [&](const LiveStall& part) {
    return std::find_first_of(part.keys.begin(), part.keys.end(), stall.keys.begin(), stall.keys.end()) !=
           part.keys.end();
  });
  count_ = count_ + 1 - replaced;
  keys_.insert(stall.keys.begin(), stall.keys.end());
  latest_.push_back(stall);
  if (latest_.size() > kStallsKept) latest_.pop_front();
  return true;
}

void Progress::SettleStalls(bool all) {
  view_.stalls.clear();
  for (LiveStall& stall : view_.now.stalls) {
    const bool over = all || (!stall.open && stall.end_ns + kSettledNs < view_.now.elapsed_ns);
    if (!over) {
      view_.stalls.push_back(stall);
      continue;
    }
    if (settled_.Take(stall) && ShowsLines()) Show(StallLine(stall));
  }
  if (all) view_.now.stalls.clear();
  view_.stalls_so_far = settled_.count();
  view_.stalls.insert(view_.stalls.begin(), settled_.latest().begin(), settled_.latest().end());
}

void Progress::ShowRunning(MonotonicNs now) {
  if (table_) return DrawTable();
  if (in_place_) {
    return Show(view_.seconds.empty() ? WaitingLine(view_.now) : SecondLine(view_.now, view_.seconds.back()));
  }
  const bool any_new = seconds_printed_ < view_.seconds.size();
  for (; seconds_printed_ < view_.seconds.size(); ++seconds_printed_) {
    Show(SecondLine(view_.now, view_.seconds[seconds_printed_]));
  }
  // The first second's figures come soon after its end.
  const int64_t begun_ns = view_.now.elapsed_ns + view_.now.warmup_ns;
  if (!any_new && view_.seconds.empty() && begun_ns >= 0 && begun_ns < kLongestWithoutLineNs) return;
  if (!any_new && now >= next_waiting_line_) Show(WaitingLine(view_.now));
  if (any_new || now >= next_waiting_line_) {
    next_waiting_line_ = now + (any_new ? kLongestWithoutLineNs : kLinePeriodNs);
  }
}

void Progress::DrawTable() {
  const ScreenSize size = screen_.Size();
  std::vector<std::string> lines;
  if (whole_ && size.rows > 1) lines.push_back(Shorten(SanitizeForTerminal(whole_()), size.columns));
  for (const LiveLine& line : DrawLive(view_, size.columns, size.rows - lines.size()))
    lines.push_back(EncodeLine(line, color_));
  if (line_shown_) Clear();
  screen_.Draw(lines);
}

void Progress::Show(const std::string& text) {
  if (quiet_) return;
  const std::string line = SanitizeForTerminal(in_place_ && whole_ ? absl::StrCat(whole_(), ": ", text) : text);
  if (in_place_) {
    const size_t columns = screen_.Size().columns;
    std::fprintf(out_, "\r\033[K%s", Shorten(line, columns > 1 ? columns - 1 : 1).c_str());
    line_shown_ = true;
  } else {
    std::fprintf(out_, "%s\n", line.c_str());
  }
  std::fflush(out_);
}

std::string Progress::PreparingLine(const std::vector<std::unique_ptr<Host>>& hosts) {
  uint64_t done = 0;
  uint64_t total = 0;
  const Host* slowest = nullptr;
  const auto share = [](const Host& host) {
    return 100 * static_cast<double>(host.prepare_done_bytes) / static_cast<double>(host.prepare_total_bytes);
  };
  for (const auto& host : hosts) {
    done += host->prepare_done_bytes;
    total += host->prepare_total_bytes;
    if (host->prepare_total_bytes == 0 || host->prepare_done_bytes == host->prepare_total_bytes) continue;
    if (slowest == nullptr || share(*host) < share(*slowest)) slowest = host.get();
  }
  if (total == 0) return "preparing";
  std::string line =
      absl::StrFormat("preparing  %s of %s (%.0f %%)", FormatSizeForPeople(done), FormatSizeForPeople(total),
                      100 * static_cast<double>(done) / static_cast<double>(total));
  if (hosts.size() > 1 && slowest != nullptr) {
    absl::StrAppend(&line, absl::StrFormat("  slowest %s: %.0f %%", slowest->label, share(*slowest)));
  }
  return line;
}

std::string Progress::InFlightText(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts) {
  std::string text;
  size_t writes = 0;
  for (const auto& host : hosts) {
    if (host->clock.empty()) continue;
    for (const v1::InFlight& write : host->in_flight) {
      const int64_t age_ns = host->clock.ToRemote(now.value) - write.since_ns();
      if (age_ns < kLongInFlightNs || ++writes > kWritesNamed) continue;
      absl::StrAppend(&text, "  ", InOneWriteText(host->WriterName(write.qm()), age_ns));
    }
  }
  if (writes > kWritesNamed) absl::StrAppend(&text, "  and ", writes - kWritesNamed, " more");
  return text;
}

}  // namespace plimsoll
