// A plan as YAML. Keys are the proto's field names without their units; values are written as on the command line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Lines of keys such as "workload.file_size" in a plan's text.
class PlanPlaces {
 public:
  // `place` is "plan.yaml:12".
  void Set(const std::string& key, const std::string& place) { places_[key] = place; }
  // Forgets the keys whose values options have changed since `read`.
  void ForgetChanged(const v1::TestPlan& read, const v1::TestPlan& now);
  // The problems of PlanProblems, each with the place of the key that it names first, where that was written.
  std::vector<std::string> Locate(const std::vector<std::string>& problems) const;

 private:
  std::map<std::string, std::string> places_;
};

// Reads a plan: only what the text contains, no defaults. A list may be a YAML list or comma-separated text; `hosts`
// may hold ranges (controller/plan/host_list.h), with or without a workload, and is expanded here. An unknown or
// repeated key, a wrong type and a value out of its range are INVALID_ARGUMENT, all of them (up to 20), a line each;
// text that is no YAML is the only one:
//   plan.yaml:12:5: 'qmm' is not a key of workload; expected one of dir, qm, ...; did you mean 'qm'?
// `places`, if given, receives the lines of the keys of the plan and its sections.
absl::StatusOr<v1::TestPlan> ReadPlan(const std::string& text, const std::string& file_name,
                                      PlanPlaces* places = nullptr);

// Reads the file at `path`. Beyond the errors of ReadPlan: the system's error for the file, with its path.
absl::StatusOr<v1::TestPlan> ReadPlanFile(const std::string& path, PlanPlaces* places = nullptr);

// The plan with every default filled in, in the proto's order; ReadPlan reads it back to the same filled-in plan.
std::string WritePlan(const v1::TestPlan& plan);

// A text value as YAML, in quotes where it needs them.
std::string YamlText(const std::string& text);

// A plan in YAML with every key, each under a comment with its meaning, its default and its limits. It reads
// back, and CheckPlan passes it.
std::string ExamplePlan();

// A placement in YAML, with its keys explained. It reads back, and CheckPlan passes it.
std::string ExamplePlacement();

// The same of a plan for `plimsoll accept`, with its sections.
std::string ExampleAcceptPlan();

// Markdown reference of every key and option, docs/plan.md.
std::string PlanReference();

}  // namespace plimsoll
