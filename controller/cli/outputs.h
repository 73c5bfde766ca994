// Where a report goes: the files of a result directory.
#pragma once

#include "absl/status/status.h"
#include "controller/run/results.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Writes report.txt, report.json, report.csv, timeline.csv and report.html into `results`. Goes on past a failure and
// returns the first.
absl::Status WriteReportFiles(const ResultsDirectory& results, const v1::Report& report);

}  // namespace plimsoll
