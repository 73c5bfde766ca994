// What follows from the steps of a run together: rounds of them until they are steady (--until-steady), whether a
// cluster carries its load with all hosts up and with any one host down, and which created files are not full.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plimsoll/v1/log_step.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// A pure function of the steps' reports: given the same ones, it asks for the same steps, in a run as from its journal.
// A round measures every step of the plan once; the first round is the plan's own. Rounds go on until SNIA's rule
// (JudgeSteady) holds for IO/s of the last kSteadyFigures rounds of every step, or there were as many as may be. A step
// that was cut short counts as none. Not thread-safe.
class SteadyRounds {
 public:
  // The steps of the plan, and for how long each may be measured (--until-steady).
  SteadyRounds(const google::protobuf::RepeatedPtrField<v1::LogStep>& steps, int64_t until_steady_ns);

  // The report of each step, in order.
  void OnStep(const v1::StepReport& report);

  // What to measure next; nothing: all steps are steady, or were measured for as long as they may be.
  std::optional<v1::LogStep> NextStep() const;
  // Result of the last step, as a line of progress; empty before the first.
  const std::string& last_text() const { return last_text_; }

  // A sentence for each step of the plan that is steady; and for each that is not, which prevents a PASS.
  void Finish(std::vector<std::string>& notes, std::vector<std::string>& reasons) const;

 private:
  // One step of the plan, with what its rounds showed.
  struct Course {
    v1::LogStep step;
    std::vector<double> iops;
    bool steady = false;
    double range_percent = 0;
    double slope_percent = 0;
  };

  bool AllSteady() const;
  std::string NameOf(const Course& course) const;
  // "IO/s of the last 5 have a range of 4.2 % of their mean (limit 20) and a slope of 1.1 % (limit 10)"
  static std::string Figures(const Course& course);

  size_t most_rounds_ = 1;
  std::vector<Course> courses_;
  // Steps that were measured, in whole or in part.
  size_t steps_ = 0;
  std::string last_text_;
};

// The answer to a placement, from a report that has its steps and its verdict. `steps` are those of the plan: one that
// did not run, or not to its end by all writers, decides nothing, and prevents a PASS. A pure function.
v1::PlacementReport MakePlacementReport(const v1::Report& report,
                                        const google::protobuf::RepeatedPtrField<v1::LogStep>& steps);

// Returns a sentence for each host with files that the run created (--create) and did not write full, which names them,
// for some three hosts at most. Of a report that has its steps and hosts.
std::vector<std::string> UnfilledFiles(const v1::Report& report);

}  // namespace plimsoll
