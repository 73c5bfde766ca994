// What an acceptance found, in the few lines that are signed: its criteria, outages, restart and limit; and its notes.
#pragma once

#include <string>
#include <vector>

#include "plimsoll/v1/accept_report.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// A criterion in the run of its part that did worst by it. Refers to the report.
struct WorstCriterion {
  const v1::AcceptRun* run = nullptr;
  const v1::CriterionReport* criterion = nullptr;
};

// Each criterion of each part once, those that did not pass first.
std::vector<WorstCriterion> WorstCriteria(const v1::AcceptReport& report);
// "step 2, beta/qm2"; where the criterion has its value.
std::string PlaceOf(const v1::CriterionReport& criterion);

// An answer to what is asked of the storage.
struct AcceptAnswer {
  // Of at most nine characters, and as a title.
  std::string heading;
  std::string title;
  std::string text;
};

// The limit, the longest time without a queue manager in drills and under disturbances, and the restart, for each part
// that the plan has.
std::vector<AcceptAnswer> AcceptAnswers(const v1::AcceptReport& report);

// What runs have to say beside their result and the warnings of the verdict.
struct AcceptNote {
  // "load, run 2", or how many runs: "3 runs".
  std::string runs;
  std::string text;
};

// Alike ones once, in the order in which they come.
std::vector<AcceptNote> AcceptNotes(const v1::AcceptReport& report);

}  // namespace plimsoll
