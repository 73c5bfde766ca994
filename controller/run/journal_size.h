// How large the journal of a run becomes, and what ends a run whose journal becomes too large.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// What stands for the rate of writers that have none.
inline constexpr double kUsualWritesPerSecond = 300;

// What writers that are alike put into the journal in a step.
struct JournalLoad {
  uint64_t writers = 0;
  double writes_per_second = kUsualWritesPerSecond;
  int64_t warmup_ns = 0;
  int64_t measured_ns = 0;
  int64_t interval_ns = 0;
  // How the step folds its frames; nothing: it does not.
  std::optional<v1::StepFoldRules> fold;
};

// Bytes of the journal without traces, by what frames have been measured to take.
uint64_t JournalBytesOf(const JournalLoad& load);

// Why the run must end, where its journal has so many bytes and may have at most `limit_bytes`; empty: it need not.
// What remains of the limit is for the end of the run.
std::string OverJournalLimit(uint64_t journal_bytes, uint64_t limit_bytes);

}  // namespace plimsoll
