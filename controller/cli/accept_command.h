// What `plimsoll accept` keeps in its directory beside the results of its parts: `accept.json`, and what is made of it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/cli/command.h"
#include "controller/run/results.h"
#include "plimsoll/v1/accept_report.pb.h"

namespace plimsoll {

// Whether the directory holds the record of an acceptance.
bool IsAcceptDirectory(const std::string& directory);

// The record, judged again; a run that was under way when the acceptance was cut off has what its journal shows.
// INVALID_ARGUMENT where it is not such a record.
absl::StatusOr<v1::AcceptReport> LoadAcceptDirectory(const std::string& directory);

// How it is shown.
struct AcceptView {
  bool json = false;
  // "md", or empty.
  std::string summary;
  // File of the JUnit XML; empty: none.
  std::string junit;
};

// Writes accept.json alone: the record while the acceptance goes on.
absl::Status WriteAcceptRecord(const ResultsDirectory& results, const v1::AcceptReport& report);
// Writes accept.json, accept.txt and accept.html. Goes on past a failure and returns the first.
absl::Status WriteAcceptFiles(const ResultsDirectory& results, const v1::AcceptReport& report);

// Prints the report and writes the JUnit XML. Returns the exit code: INCONCLUSIVE in place of OK where something could
// not be kept, in `written` or here.
int PrintAcceptance(const v1::AcceptReport& report, const std::string& path, const AcceptView& view,
                    const absl::Status& written, CommandLine& line);

}  // namespace plimsoll
