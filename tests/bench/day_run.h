// One simulated day: `plimsoll run` with a fleet that is not there, in virtual time, and what it cost.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controller/run/fold_choice.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"
#include "tests/bench/day_load.h"
#include "tests/bench/day_recount.h"

namespace plimsoll::tests {

// Where a day ends early, so that the machine is not harmed: the run is interrupted as by Ctrl-C.
struct DayLimits {
  // Real time from the start of the run.
  int64_t machine_ns = INT64_MAX;
  // This process' memory, and the space that is left free where the results are.
  uint64_t memory_bytes = UINT64_MAX;
  uint64_t free_bytes = 0;
};

struct DayHour {
  // Number of the hour in the step; the last hour may be a part of one.
  int64_t hour = 0;
  // Memory of this process: its peak in this hour, and what it has at its end.
  uint64_t peak_bytes = 0;
  uint64_t resident_bytes = 0;
  // Real time since the run began, and the size of the journal.
  double machine_s = 0;
  uint64_t journal_bytes = 0;
};

struct DayResult {
  // Why the run failed or ended early; empty: it did not.
  std::string trouble;
  // Seconds of the step that were reported by the host that reported most.
  int64_t played_s = 0;
  uint64_t writer_seconds = 0;
  v1::Report report;
  std::vector<std::string> differences;
  DayColumns columns;
  // Memory of this process before the run: most of it is the fleet's.
  uint64_t before_bytes = 0;
  std::vector<DayHour> hours;
  // Peak from the last host's end until all outputs were written.
  uint64_t outputs_peak_bytes = 0;
  double outputs_s = 0;
  double machine_s = 0;
  uint64_t journal_bytes = 0;
  uint64_t page_bytes = 0;
};

// Size of all files of a directory of results whose names begin with "journal".
uint64_t JournalBytes(const std::string& results);

// Plays the day with results in the directory `out`, which is not there yet. `progress`: a line at each hour. `plant`
// changes the report before it is compared with the fleet's counts; empty: nothing does. `fold`: as in RunSurroundings.
DayResult PlayDay(const DaySize& size, const DayLimits& limits, const std::string& out, bool progress,
                  const std::function<void(v1::Report& report)>& plant = {},
                  const std::optional<v1::StepFoldRules>& fold = UsualFold());

}  // namespace plimsoll::tests
