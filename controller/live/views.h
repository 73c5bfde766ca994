// The views of a run that is under way: on a terminal, or as lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "controller/live/live_feed.h"
#include "controller/render/live_view.h"

namespace plimsoll {

struct ScreenSize {
  size_t columns = 80;
  size_t rows = 24;
};

// While it is shown, the shell's screen and its scrollback stay as they are, and the cursor is hidden; both are
// restored by Leave, with the end of the object, when a signal ends the process (all but SIGKILL), and while Ctrl-Z
// suspends it. One may be shown at a time. One thread.
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
// Whether `out` is a terminal with cursor movement: not if TERM is unset or "dumb".
bool IsScreen(std::FILE* out);

// A line for each second of a step and for each stall, for what a run does besides, and the lines for people. No
// terminal is needed.
class PlainLines final : public LiveObserver {
 public:
  // Each includes those before it.
  enum class Of { kWarnings, kPhases, kSteps };
  // `out` is borrowed.
  PlainLines(std::FILE* out, Of of) : out_(out), of_(of) {}
  LiveWant Wants(LivePhase phase) const override;
  void OnMoment(const std::shared_ptr<const LiveMoment>& moment) override;
  void OnLine(const std::string& line) override;
  void OnOutlook(const std::string& text) override;

 private:
  void ShowSeconds(const LiveMoment& moment);

  std::FILE* const out_;
  const Of of_;
  // The last second with a line; -1: none.
  int64_t shown_second_ = -1;
  // When a line is due although there is nothing new to show.
  MonotonicNs next_waiting_line_;
};

// One line of a terminal, rewritten in place, or a table on a screen of its own while steps run. Lines for people that
// come meanwhile are in the table, and below what was there before once it is gone.
class TerminalView final : public LiveObserver {
 public:
  struct Options {
    // Where the run stands in the whole that it is a part of, above everything else; empty: it is alone.
    std::function<std::string()> whole;
    bool table = false;
    bool color = false;
  };
  // `out` is borrowed.
  TerminalView(std::FILE* out, Options options) : out_(out), options_(std::move(options)), screen_(out) {}
  ~TerminalView() override { Clear(); }
  LiveWant Wants(LivePhase phase) const override;
  void OnMoment(const std::shared_ptr<const LiveMoment>& moment) override;
  void OnLine(const std::string& line) override;
  void OnOutlook(const std::string& text) override;

 private:
  // Whether the phase leaves a table that is shown where it is.
  bool StaysShown(LivePhase phase) const;
  // Takes away the line in place, or the table.
  void Clear();
  void ShowInPlace(const std::string& text);
  void DrawTable();

  std::FILE* const out_;
  const Options options_;
  TerminalScreen screen_;
  bool line_shown_ = false;
  std::shared_ptr<const LiveMoment> moment_;
  // Lines that came while the screen was shown: the latest of all, and those since it was entered.
  std::vector<std::string> messages_;
  std::vector<std::string> held_lines_;
};

// The lines of --interval. The analysis makes them on its own thread; they are printed on the run's.
class IntervalView final : public LiveObserver {
 public:
  // `print` takes one line, without its break.
  IntervalView(int64_t interval_ns, std::function<void(const std::string& line)> print)
      : interval_ns_(interval_ns), print_(std::move(print)), lines_(interval_ns) {}
  // `analyzer` takes no record after the object's end.
  void OnBegin(Analyzer& analyzer) override;
  void OnRecord(const v1::JournalRecord& record) override;
  void OnEnd() override { Print(); }

 private:
  // Prints the lines that were made since the last call.
  void Print();

  const int64_t interval_ns_;
  const std::function<void(const std::string& line)> print_;
  Mutex mutex_;
  IntervalLines lines_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> made_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll
