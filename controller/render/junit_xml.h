// A report as JUnit XML, and the format: one test suite, with the attributes that GitLab and Jenkins read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

struct JUnitCase {
  enum class Kind { kPassed, kFailure, kError, kSkipped };

  std::string class_name;
  std::string name;
  int64_t duration_ns = 0;
  Kind kind = Kind::kPassed;
  // Why it did not pass.
  std::string message;
  // Standard output, line by line; mostly empty.
  std::vector<std::string> output;
};

struct JUnitSuite {
  std::string name;
  int64_t duration_ns = 0;
  // "2026-11-20T19:20:11"; empty: not known.
  std::string timestamp;
  std::vector<std::pair<std::string, std::string>> properties;
  std::vector<JUnitCase> cases;
};

// A case for each step that the criterion was held against, and one of class `whole` where those do not show that it
// did not pass. `place_of` gives a step's class and measured time.
struct JUnitPlace {
  std::string class_name;
  int64_t duration_ns = 0;
};
void AddCriterionCases(const v1::CriterionReport& criterion, const std::string& whole,
                       const std::function<JUnitPlace(uint32_t step)>& place_of, std::vector<JUnitCase>& cases);

// Texts may hold anything: what XML cannot hold becomes U+FFFD.
std::string RenderJUnitSuite(const JUnitSuite& suite);

// One test suite. Each criterion in each step is a test case of class "run.step N (BLOCK)", or "run.drill" for an HA
// drill: a failure where it fails, an error where it is inconclusive. The case "run.conclusive" is an error where the
// verdict is inconclusive for another reason, and where the plan has no criteria. So the suite is green where the
// verdict is PASS, and nowhere else.
std::string RenderReportJUnit(const v1::Report& report);

// The content of the file during a run, which stays if the run ends without a report: an error.
std::string RenderUnfinishedJUnit();

}  // namespace plimsoll
