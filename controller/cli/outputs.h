// The options that say where a report goes, and what is shown of it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/app/runs.h"
#include "controller/cli/metrics_flags.h"
#include "controller/render/text.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Whether a file could be written there, before an hour's run finds out that it cannot. Errors name `option`.
absl::Status CheckWritable(const std::string& option, const std::string& path);

// Adds an option for a file that the command writes; parsing refuses one that could not be written. `path` must outlive
// the command.
CLI::Option* AddOutputFile(CLI::App& command, const std::string& names, std::string& path, const std::string& help);

// Adds --out, the directory of the results; parsing refuses one that could not be made or is in use. `out` must outlive
// the command.
CLI::Option* AddResultsOption(CLI::App& command, std::string& out);

// The options of `run`, `ha` and `report` that only say what is shown, and how.

// Adds --json. `json` must outlive the command.
CLI::Option* AddJsonFlag(CLI::App& command, bool& json);
// Adds --summary; the text is "md" or empty after parsing. `summary` must outlive the command.
CLI::Option* AddSummaryFlag(CLI::App& command, std::string& summary);
// Adds --full. `full` must outlive the command.
CLI::Option* AddFullFlag(CLI::App& command, bool& full);
// Adds --junit, the file of the JUnit XML. `junit` must outlive the command.
CLI::Option* AddJUnitFlag(CLI::App& command, std::string& junit);

// --interval, --histogram, --json, --full, --summary and --junit. The texts are set by parsing; Read makes figures of
// them.
struct ViewFlags {
  // Options of `command`, which must not outlive the object; all but --json. `where`: where the lines of --interval go,
  // for the help.
  void AddTo(CLI::App& command, const std::string& where);

  // INVALID_ARGUMENT "--interval: ..." or "--histogram: ...".
  absl::Status Read();

  // A run that is run like `how`, and shows and keeps of its report what the options ask for. The object outlives it.
  PlanRun Applied(PlanRun how);

  std::string interval_text;
  std::string histogram_text;
  // Once read. Whole seconds, and rows; 0: not asked for.
  int64_t interval_ns = 0;
  uint32_t histogram_rows = 0;
  bool json = false;
  bool full = false;
  // "md", or empty.
  std::string summary;
  // File of the JUnit XML; empty: none.
  std::string junit;
  // Of the commands that run something.
  MetricsFlags metrics;
};

// The report as the options ask for it: as JSON, in Markdown, or RenderBrief; with --histogram the histogram of each
// step before its last line; with --full everything. Ends with ResultsLine.
std::string ReportText(const v1::Report& report, const ViewFlags& view, const ReportPlace& place,
                       const std::vector<std::string>& kept_files = {});

// The note of a report that is made from a damaged journal; `damage` as ReadWholeRecords returns it.
std::string DamageNote(const std::string& damage);

}  // namespace plimsoll
