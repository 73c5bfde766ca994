// A plan as YAML. Keys are the proto's field names without their units; values are written as on the command line.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/plan/plan_schema.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Lines of keys such as "workload.file_size" in a plan's text, and what is wrong with the text itself.
class PlanPlaces {
 public:
  // `file` is "plan.yaml".
  void SetFile(const std::string& file) { file_ = file; }
  void Set(const std::string& key, int line) { lines_[key] = line; }
  // Adds what is wrong in a line of the text. The value of `key` is not known then; "": that of no key is.
  void AddProblem(int line, const std::string& text, const std::string& key);
  // Adds what is wrong with the value of `key`, wherever it was given.
  void AddProblem(const std::string& text, const std::string& key);
  // Adds that a key is unknown: any key that is missing may be meant.
  void AddUnknownKey(int line, const std::string& text);
  // Forgets the keys whose values options have changed since `read`.
  void ForgetChanged(const v1::TestPlan& read, const v1::TestPlan& now);
  // Whether the text has a value for the key that could not be read, or may have one.
  bool IsUnreadable(const std::string& key) const;
  size_t problems() const { return problems_.size(); }
  // The problems of the text and those of PlanProblems, these with the line of the key that they are about, where that
  // was written; sorted by line, those without one last. What may only follow from another problem is left out. At most
  // 20, and then a line that says that there are more.
  std::vector<std::string> Locate(const std::vector<PlanProblem>& problems) const;

 private:
  struct Problem {
    int line = 0;
    std::string text;
  };
  void Keep(int line, const std::string& text);

  std::string file_;
  std::map<std::string, int> lines_;
  std::vector<Problem> problems_;
  std::set<std::string> unreadable_;
  bool unknown_keys_ = false;
};

// Reads a plan: only what the text contains, no defaults. A list may be a YAML list or comma-separated text, also that
// of a sweep (controller/plan/sweep.h); `hosts` may hold ranges (controller/plan/host_list.h), with or without a
// workload, and is expanded here. Text that is not YAML is INVALID_ARGUMENT, with the place:
//   plan.yaml:12:5: not YAML: a list is not closed: expected ']'
// An unknown or repeated key, a wrong type and a value out of its range go to `places`, which receives the lines of the
// keys, too: the plan is what could be read, and CheckPlan reports all that is wrong with it. Without `places` they are
// INVALID_ARGUMENT, a line each:
//   plan.yaml:12:5: 'qmm' is not a key of workload; expected one of dir, qm, ...; did you mean 'qm'?
absl::StatusOr<v1::TestPlan> ReadPlan(const std::string& text, const std::string& file_name,
                                      PlanPlaces* places = nullptr);

// Reads the file at `path`. Beyond the errors of ReadPlan: a file that cannot be read, with its path.
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

// A plan for `plimsoll accept` in YAML, with its sections. It reads back, and CheckPlan passes it.
std::string ExampleAcceptPlan();

// Markdown reference of every key and option, docs/plan.md.
std::string PlanReference();

}  // namespace plimsoll
