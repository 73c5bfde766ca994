// Rounds of each step until the last ones are steady (--until-steady).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/plan/plan_defaults.h"
#include "plimsoll/v1/log_step.pb.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// A pure function of the steps' reports: given the same ones, it asks for the same steps, in a run as from its journal.
// Each step of the plan is measured again until SNIA's rule (JudgeSteady) holds for IO/s of its last kSteadyRounds
// rounds, or it has been measured MostRounds times. A round that was cut short counts as none. Not thread-safe.
class SteadyRounds {
 public:
  // The plan has its defaults, and --until-steady.
  explicit SteadyRounds(const v1::TestPlan& plan);

  // The report of the step that NextStep asked for; the first one is the plan's first step.
  void OnStep(const v1::StepReport& report);

  // What to measure next; nothing: every step of the plan is steady, or was measured for as long as it may.
  std::optional<v1::LogStep> NextStep() const;
  // What the last round has shown, as a line of progress; empty before the first.
  const std::string& last_text() const { return last_text_; }

  // A sentence for each step of the plan that became steady; and for each that did not, which prevents a PASS.
  void Finish(std::vector<std::string>& notes, std::vector<std::string>& reasons) const;

 private:
  // One step of the plan, with its rounds so far.
  struct Group {
    v1::LogStep step;
    // Numbers of the first and the last step, from 1; 0: none was measured.
    uint32_t first = 0;
    uint32_t last = 0;
    std::vector<double> iops;
    bool steady = false;
    double range_percent = 0;
    double slope_percent = 0;
  };

  std::string NameOf(const Group& group) const;
  // "IO/s of the last 5 within 4.2 % of their mean (limit 20), slope 1.1 % (limit 10)"
  static std::string Figures(const Group& group);

  const size_t most_rounds_;
  std::vector<Group> groups_;
  // The one that is measured.
  size_t current_ = 0;
  std::string last_text_;
};

}  // namespace plimsoll
