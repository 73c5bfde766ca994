// What `plimsoll ab` keeps of its rounds beside their runs: `ab.json` in its directory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/compare/comparable.h"
#include "plimsoll/v1/compare.pb.h"

namespace plimsoll {

// Where one side of a round was measured: a run of its own, or some steps of one.
struct AbPart {
  // Result directory, below the record's.
  std::string run;
  // Index of the first step, and how many there are; 0: all steps of the run.
  uint32_t first_step = 0;
  uint32_t steps = 0;
};

// A round whose sides were both measured whole.
struct AbRound {
  // "AB" or "BA": which side came first.
  std::string order;
  AbPart first;
  AbPart second;
};

// What the comparison tests, as values of options; empty: not given.
struct AbJudged {
  std::string fail_if_slower;
  std::string gate;
  std::string times;
};

struct AbRecord {
  std::vector<std::string> names;
  uint32_t planned_rounds = 0;
  uint64_t order_seed = 0;
  std::vector<std::string> differs;
  // As an option's value: "3%".
  std::string min_effect;
  // Absent in records of a version that did not record it.
  std::optional<AbJudged> judged;
  // The complete ones, in their order.
  std::vector<AbRound> rounds;
  // Why there are no more; "" while they are being measured.
  std::string ended;
  // SHA-256 of the journal of each run, by its directory. Empty while journals that all rounds share are being written,
  // and in records of a version that sealed nothing.
  std::map<std::string, std::string> seals;
};

// By round, what the parts (of one side, or of both) have of the report of their run, whose results are in `source`.
std::vector<RunInput> PartInputs(const std::vector<AbPart>& parts, const std::string& source, v1::Report report);

// Whether the report has all steps of the part, each to its end.
bool IsWhole(const AbPart& part, const v1::Report& report);

// How the rounds were made: what a comparison of them needs to know (CompareSettings::paired).
v1::PairedDesign DesignOf(const AbRecord& record);

// Which side comes first in each of the rounds: a fair coin for each, from the seed.
std::vector<std::string> DrawOrder(uint64_t seed, size_t rounds);

// Seals the runs of the rounds that have no seal, in `directory`; one whose journal cannot be read gets none. Their
// journals must be complete.
void SealRuns(const std::string& directory, AbRecord& record);

// The warning that a comparison of the rounds prints where nothing is sealed; empty if they are sealed.
std::string SealWarning(const AbRecord& record);

// With a seal of its own where the runs have theirs.
std::string WriteAbRecord(const AbRecord& record);
// INVALID_ARGUMENT where it is not such a record.
absl::StatusOr<AbRecord> ReadAbRecord(const std::string& text);

// Whether the directory holds a record.
bool IsAbDirectory(const std::string& directory);

// Which journals, and whether the record, are not as they were sealed, in clauses. INVALID_ARGUMENT where ab.json is
// not such a record.
absl::StatusOr<std::vector<std::string>> AbDifferences(const std::string& directory);

// The record of a directory, and the reports of its complete rounds as two named sides. DATA_LOSS where the record or a
// journal is missing or not as it was sealed: nothing can be concluded from it.
struct AbResults {
  AbRecord record;
  std::vector<SideInput> sides;
};
absl::StatusOr<AbResults> LoadAbDirectory(const std::string& directory);

}  // namespace plimsoll
