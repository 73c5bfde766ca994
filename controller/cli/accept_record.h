// What `plimsoll accept` keeps in its directory beside the results of its parts: `accept.json`, and what is made of it.
//
// A run of a part is sealed when it ends: with its outcome, and the SHA-256 of the file that the outcome follows from.
// Read back, no verdict is taken from accept.json: each run is derived again from that file, and one whose file is
// missing, has another digest or gives another outcome is INCONCLUSIVE.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/cli/command.h"
#include "controller/journal/digest.h"
#include "controller/journal/results.h"
#include "plimsoll/v1/accept_report.pb.h"

namespace plimsoll {

// Value of an acceptance's record_sha256 for which WriteAcceptRecord writes a seal anew; any other stays as it is.
inline constexpr char kRenewedSeal[] = "renewed";

// Whether the directory holds the record of an acceptance.
bool IsAcceptDirectory(const std::string& directory);

// The acceptance of the directory, derived again. A run that was under way when the acceptance was cut off has what its
// journal shows. Storage and fsck of a version that sealed nothing keep their result, with a note. INVALID_ARGUMENT
// where accept.json is not such a record.
absl::StatusOr<v1::AcceptReport> LoadAcceptDirectory(const std::string& directory);

// What of the acceptance that LoadAcceptDirectory derives is not as accept.json has it, in clauses; empty: its verdict
// follows from its parts. `outcome`: the derived one.
absl::StatusOr<std::vector<std::string>> AcceptDifferences(const std::string& directory, v1::Outcome& outcome);

// Seals the run with its outcome and its results, where it has any. `run_id`: of its journal, or empty. Makes the run
// INCONCLUSIVE where its results cannot be read.
void SealRun(const std::string& directory, const std::string& run_id, v1::AcceptRun& run);

// How it is shown.
struct AcceptView {
  bool json = false;
  // All of accept.txt, and not the most important lines.
  bool full = false;
  // "md", or empty.
  std::string summary;
  // File of the JUnit XML; empty: none.
  std::string junit;
};

// Writes accept.json alone: the record while the acceptance goes on.
absl::Status WriteAcceptRecord(const ResultsDirectory& results, const v1::AcceptReport& report);
// Writes accept.json, accept.txt and accept.html, and digest.txt over the first two and what the parts list. Goes on
// past a failure and returns the first. `digest_text` gets DigestText.
absl::Status WriteAcceptFiles(const ResultsDirectory& results, Seal seal, const v1::AcceptReport& report,
                              std::string* digest_text);

// Where the results are, and their digest as people see it; empty: not shown.
struct AcceptPlace {
  std::string path;
  std::string digest;
};

// Prints the report and writes the JUnit XML. Returns the exit code: INCONCLUSIVE in place of OK where something could
// not be kept, in `written` or here.
int PrintAcceptance(const v1::AcceptReport& report, const AcceptPlace& place, const AcceptView& view,
                    const absl::Status& written, CommandLine& line);

}  // namespace plimsoll
