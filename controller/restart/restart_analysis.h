// From the records of a measurement of restart I/O to its section of the report.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/timeline/section_analysis.h"
#include "controller/timeline/timeline.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/report.pb.h"
#include "plimsoll/v1/restart.pb.h"

namespace plimsoll {

// Times are differences on the agent's own clock: no clock offset is in them.
class RestartAnalysis final : public SectionAnalysis {
 public:
  explicit RestartAnalysis(const v1::TestPlan& plan) : plan_(plan) {}

  absl::Status Take(const v1::JournalRecord& record, const Timeline& timeline) override;
  void Finish(const Timeline& timeline, const std::function<std::string(uint32_t host)>& label_of, v1::Report& report,
              std::vector<std::string>& reasons) override;
  v1::VerdictReport Judge(const std::vector<std::string>& reasons) const override;

 private:
  struct Trial {
    uint32_t round = 0;
    v1::RestartTrial order;
    v1::RestartTrialDone done;
  };

  absl::Status TakeDone(const v1::RestartTrialDone& done);
  v1::RestartSide SideOf(uint32_t side) const;
  // The side's trials that are complete, and of which `wanted` is true.
  std::vector<const Trial*> TrialsOf(uint32_t side, const std::function<bool(const v1::RestartTrial&)>& wanted) const;
  void AddRedo(uint32_t side, v1::RestartSide& report) const;
  void AddLoad(uint32_t side, v1::RestartSide& report) const;
  void AddUndo(uint32_t side, v1::RestartSide& report) const;
  void AddReasons(std::vector<std::string>& reasons) const;

  const v1::TestPlan plan_;
  // The host's part of the plan, and what it said of its directories.
  v1::RestartWork work_;
  v1::HostDescription host_;
  // Those that were ordered, by number; and those that were answered.
  std::map<uint32_t, Trial> ordered_;
  std::map<uint32_t, Trial> answered_;
};

}  // namespace plimsoll
