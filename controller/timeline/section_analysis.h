// The analysis of a journal for kinds of run that have a section of their own in plan, journal and report.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/timeline/timeline.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// A pure function of the records. Not thread-safe.
class SectionAnalysis {
 public:
  virtual ~SectionAnalysis() = default;

  // Every record of the journal, in order; the timeline has those before it. INVALID_ARGUMENT: the record contradicts
  // another one and is left out, with a reason for INCONCLUSIVE.
  virtual absl::Status Take(const v1::JournalRecord& record, const Timeline& timeline) = 0;

  // Whether its run has steps, whose frames are analysed as those of a log run.
  virtual bool HasSteps() const { return false; }
  // Called for each frame that went into the running step's report. `operation` is the name of the part; empty for
  // whole writes.
  virtual void OnFrame(uint32_t /*host*/, const v1::Frame& /*frame*/, const std::string& /*operation*/) {}
  // A step is over, at this moment of the timeline. `criteria`: what is known of each by then, with its steps.
  virtual void OnStep(const v1::StepReport& /*report*/, const std::vector<v1::CriterionReport>& /*criteria*/,
                      int64_t /*now_ns*/) {}
  // What to measure after the steps so far, where they decide it; nothing: the run is over.
  virtual std::optional<v1::LogStep> NextStep() const { return std::nullopt; }

  // Result of the last step, as a line of progress; empty: nothing.
  virtual std::string LastStepText() const { return ""; }
  // For steps that are chosen: what the next one is, with what is known by now, and how much of the run's time is left
  // before it.
  struct Outlook {
    std::string text;
    int64_t left_ns = 0;
  };
  virtual std::optional<Outlook> NextStepOutlook() const { return std::nullopt; }

  // Results of a drill's last round so far, as a line of progress; empty: nothing.
  virtual std::string LastRoundText(const Timeline& /*timeline*/) const { return ""; }

  // Before Finish: hosts' clocks were wrong, as said by `what`. What was measured with them decides nothing.
  virtual void DistrustClocks(const std::string& /*what*/) {}

  // Once, after the last record: sets `report`'s section, and adds to `reasons` what prevents a PASS.
  virtual void Finish(const Timeline& timeline, const std::function<std::string(uint32_t host)>& label_of,
                      v1::Report& report, std::vector<std::string>& reasons) = 0;

  // After Finish. FAIL where a criterion fails; else INCONCLUSIVE where there are `reasons` or a criterion cannot be
  // decided; else PASS.
  virtual v1::VerdictReport Judge(const std::vector<std::string>& reasons) const = 0;
};

}  // namespace plimsoll
