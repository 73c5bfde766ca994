// Where a report goes: the files of a result directory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "controller/cli/command.h"
#include "controller/run/results.h"
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

}  // namespace plimsoll
