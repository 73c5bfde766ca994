// The options of `run`, `ha` and `report` that only say what is shown, and how.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "controller/analysis/interval_stats.h"
#include "controller/render/interval_lines.h"
#include "controller/render/text.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// Adds --summary; the text is "md" or empty after parsing. `summary` must outlive the command.
CLI::Option* AddSummaryFlag(CLI::App& command, std::string& summary);
// Adds --junit, the file of the JUnit XML. `junit` must outlive the command.
CLI::Option* AddJUnitFlag(CLI::App& command, std::string& junit);

// --interval, --histogram, --full, --summary and --junit. The texts are set by parsing; Read makes figures of them.
struct ViewFlags {
  // Options of `command`, which must not outlive the object. `where`: where the lines of --interval go, for the help.
  void AddTo(CLI::App& command, const std::string& where);

  // INVALID_ARGUMENT "--interval: ..." or "--histogram: ...".
  absl::Status Read();

  std::string interval_text;
  std::string histogram_text;
  // Once read. Whole seconds, and rows; 0: not asked for.
  int64_t interval_ns = 0;
  uint32_t histogram_rows = 0;
  bool full = false;
  // "md", or empty.
  std::string summary;
  // File of the JUnit XML; empty: none.
  std::string junit;

  TextDetail detail() const { return full ? TextDetail::kFull : TextDetail::kShort; }
};

// From a run's records to the lines of --interval.
class IntervalPrinter {
 public:
  // `print` takes one line, without its break.
  IntervalPrinter(int64_t interval_ns, std::function<void(const std::string& line)> print);

  void Add(const v1::JournalRecord& record) { stats_.Add(record); }
  // After the last record.
  void Finish() { stats_.Finish(); }

 private:
  IntervalLines lines_;
  IntervalStats stats_;
};

}  // namespace plimsoll
