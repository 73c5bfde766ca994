// Where a report goes: the files of a result directory.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "controller/analysis/analyzer.h"
#include "controller/cli/command.h"
#include "controller/journal/results.h"
#include "controller/render/live_view.h"
#include "controller/render/text.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Writes report.txt, report.json, report.csv, timeline.csv and report.html into `results`, of a search curve.csv, too.
// Goes on past a failure and returns the first.
absl::Status WriteReportFiles(const ResultsDirectory& results, const v1::Report& report);

// The report as JUnit XML in the file `path`; nothing where that is empty.
absl::Status WriteJUnit(const std::string& path, const v1::Report& report);

// The same before there is a report: an error, so that a file of an earlier run does not pass for one of this. Shows,
// too, whether the file can be written. Pipes and devices are left alone.
absl::Status WriteUnfinishedJUnit(const std::string& path);

// Whether a file could be written there, before an hour's run finds out that it cannot. Errors name `option`.
absl::Status CheckWritable(const std::string& option, const std::string& path);

// Adds an option for a file that the command writes; parsing refuses one that could not be written. `path` must outlive
// the command.
CLI::Option* AddOutputFile(CLI::App& command, const std::string& names, std::string& path, const std::string& help);

// Adds --out, the directory of the results; parsing refuses one that could not be made or is in use. `out` must outlive
// the command.
CLI::Option* AddResultsOption(CLI::App& command, std::string& out);

// Where a run keeps what it measures.
struct OpenResults {
  ResultsDirectory directory;
  std::unique_ptr<JournalWriter> journal;
};

// Makes the directory `out` (empty: the default one of this run), with the plan and an empty journal in it.
absl::StatusOr<OpenResults> CreateResults(const std::string& out, WallNs now, const std::string& run_id,
                                          const v1::TestPlan& plan);

// Prints the report as `text`, and returns the report's exit code; INCONCLUSIVE in place of OK where the journal or a
// file could not be kept (`kept`): the measurement stands, but that must not look like success.
int PrintReport(CommandLine& line, const std::string& text, const v1::Report& report, const std::string& results_path,
                const std::vector<absl::Status>& kept);

// The options of `run`, `ha` and `report` that only say what is shown, and how.

// Adds --summary; the text is "md" or empty after parsing. `summary` must outlive the command.
CLI::Option* AddSummaryFlag(CLI::App& command, std::string& summary);
// Adds --full. `full` must outlive the command.
CLI::Option* AddFullFlag(CLI::App& command, bool& full);
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
};

// The report as the options ask for it: RenderBrief; with --histogram the histogram of each step before its last line;
// with --full everything. Ends with ResultsLine.
std::string ReportText(const v1::Report& report, const ViewFlags& view, const ReportPlace& place,
                       const std::vector<std::string>& kept_files = {});

// Prints the lines of --interval. The analysis makes them on its own thread; they are printed on the caller's.
class IntervalPrinter {
 public:
  // `analyzer` has taken no record, and takes none after the object's end. `print` takes one line, without its break.
  IntervalPrinter(Analyzer& analyzer, int64_t interval_ns, std::function<void(const std::string& line)> print);

  // Prints the lines that were made since the last call.
  void Print();

 private:
  const std::function<void(const std::string& line)> print_;
  Mutex mutex_;
  IntervalLines lines_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> made_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll
