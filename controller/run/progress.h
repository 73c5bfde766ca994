// What a person sees while a run is under way, on standard error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "controller/fleet/fleet.h"
#include "controller/render/live_view.h"
#include "controller/run/run_log.h"
#include "plimsoll/v1/agent.pb.h"

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

// The stalls of a step that are over and were shown. One thread.
class SettledStalls {
 public:
  // Takes a stall that is over, and returns whether to show it: false if all of it has been shown. A host that was
  // silent may extend a stall that has been shown; the extended stall replaces the shown one.
  bool Take(const LiveStall& stall);
  // The latest of them, oldest first.
  const std::deque<LiveStall>& latest() const { return latest_; }
  // How many there were.
  uint64_t count() const { return count_; }

 private:
  std::deque<LiveStall> latest_;
  std::set<std::tuple<uint32_t, uint32_t, int64_t>> keys_;
  uint64_t count_ = 0;
};

// On a terminal a table while steps run, and one line in place before and after; otherwise a line for each second of a
// step and for each stall. Nothing but warnings where quiet. One thread.
class Progress {
 public:
  // `out` is borrowed. `in_place` rewrites one line (a terminal).
  Progress(std::FILE* out, bool in_place, bool quiet) : out_(out), in_place_(in_place), quiet_(quiet), screen_(out) {}
  ~Progress() { Clear(); }

  // While steps run: a table on a screen of its own. Lines that come meanwhile are in it, and below what was there
  // before once it is gone.
  void ShowTable(bool color) {
    table_ = in_place_ && !quiet_;
    color_ = color;
  }

  // On a terminal, above everything else: where a run stands in the whole that it is a part of.
  void ShowWhole(std::function<std::string()> whole) { whole_ = std::move(whole); }

  // When Update wants to be called next.
  MonotonicNs next_update() const { return next_update_; }
  void Update(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts, LiveReader& live);

  void Preparing();
  // Waits for the storage; StepEnds ends it.
  void Settling(MonotonicNs now, int64_t length_ns);
  // `round_steps`: steps of a round, where they go on until they are steady; else 0.
  void StepStarts(uint32_t step, uint32_t steps, uint32_t round_steps, const v1::LogStep& spec, MonotonicNs now);
  void Draining(const std::string& reason);
  // All hosts have reported the end of the step: shows what is left to show of it.
  void StepMeasured(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts, LiveReader& live);
  void StepEnds();
  void Releasing();
  // A line that stays, also where quiet.
  void Warn(const std::string& line);
  // The same as it is, without the program's name.
  void Line(const std::string& line);
  // What the next step is, and how much of the run's time is left before it: beside the table while the step runs, or a
  // line.
  void ShowOutlook(const std::string& text, int64_t left_ns);
  // While a step runs, no line per second: somebody else shows its progress. One in place stays.
  void LeaveOutRunningLines() { running_lines_ = false; }
  // Takes the line in place, or the table, away.
  void Clear();
  // The same, and shows nothing until the next step starts.
  void Waiting() {
    Clear();
    phase_ = Phase::kIdle;
  }

 private:
  enum class Phase { kIdle, kPreparing, kSettling, kRunning, kDraining, kBetween, kReleasing };

  bool ShowsLines() const { return !in_place_ && running_lines_; }
  static std::string PreparingLine(const std::vector<std::unique_ptr<Host>>& hosts);
  static std::string InFlightText(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts);
  // Takes in what is new of the step. False where the analysis has not come so far yet.
  bool Read(MonotonicNs now, const std::vector<std::unique_ptr<Host>>& hosts, LiveReader& live, int64_t patience_ns);
  // Stalls that are over, and that no other host can add to any more (`all`: whatever is known).
  void SettleStalls(bool all);
  void ShowRunning(MonotonicNs now);
  void DrawTable();
  void Show(const std::string& line);

  std::FILE* out_;
  const bool in_place_;
  const bool quiet_;
  bool table_ = false;
  bool color_ = false;
  bool line_shown_ = false;
  bool running_lines_ = true;
  std::function<std::string()> whole_;
  Phase phase_ = Phase::kIdle;
  std::string drain_reason_;
  std::string outlook_;
  int64_t left_ns_ = 0;
  int64_t settle_length_ns_ = 0;
  MonotonicNs settle_start_;
  MonotonicNs next_update_;
  // When a line is due although there is nothing new to show.
  MonotonicNs next_waiting_line_;
  TerminalScreen screen_;
  // Lines to be written once the screen is left.
  std::vector<std::string> held_lines_;

  // The step that runs.
  LiveView view_;
  size_t seconds_printed_ = 0;
  SettledStalls settled_;
};

}  // namespace plimsoll
