// What the analysis of a journal leaves to a kind of run that has a section of its own in plan, journal and report.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/analysis/timeline.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// A pure function of the records. Its run has no steps: frames are not analysed as those of a log run. Not thread-safe.
class SectionAnalysis {
 public:
  virtual ~SectionAnalysis() = default;

  // Every record of the journal, in order; the timeline has those before it. INVALID_ARGUMENT: the record contradicts
  // another one and is left out, with a reason for INCONCLUSIVE.
  virtual absl::Status Take(const v1::JournalRecord& record, const Timeline& timeline) = 0;

  // Once, after the last record: sets `report`'s section, and adds to `reasons` what prevents a PASS.
  virtual void Finish(const Timeline& timeline, const std::function<std::string(uint32_t host)>& label_of,
                      v1::Report& report, std::vector<std::string>& reasons) = 0;

  // After Finish. FAIL where a criterion fails; else INCONCLUSIVE where there are `reasons` or a criterion cannot be
  // decided; else PASS.
  virtual v1::VerdictReport Judge(const std::vector<std::string>& reasons) const = 0;
};

}  // namespace plimsoll
