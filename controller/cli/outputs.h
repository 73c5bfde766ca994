// Where a report goes: the files of a result directory.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Writes report.txt, report.json, report.csv, timeline.csv and report.html into `directory`. Goes on past a failure and
// returns the first.
absl::Status WriteReportFiles(const std::string& directory, const v1::Report& report);

}  // namespace plimsoll
