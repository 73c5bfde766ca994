// Whatever bytes come as a plan: no crash, no hang, at most 20 problems, a line each; and what reads, writes and reads
// back the same.
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "controller/criteria/criteria.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_yaml.h"

namespace plimsoll {
namespace {

void Require(bool holds, const char* what, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

void TryCriterion(const std::string& text) {
  const auto criterion = ParseCriterion(text);
  if (!criterion.ok()) return;
  const std::string canonical = FormatCriterion(*criterion);
  const auto again = ParseCriterion(canonical);
  Require(again.ok() && FormatCriterion(*again) == canonical, "a criterion does not read back", canonical);
}

void TryPlan(const std::string& text) {
  const auto plan = ReadPlan(text, "plan.yaml");
  if (!plan.ok()) {
    const std::string message(plan.status().message());
    Require(static_cast<size_t>(std::count(message.begin(), message.end(), '\n')) <= kMaxPlanProblems,
            "more problems than are reported at once", message);
    return;
  }
  for (const std::string& criterion : plan->criteria()) TryCriterion(criterion);
  const std::string written = WritePlan(*plan);
  const auto again = ReadPlan(written, "written.yaml");
  Require(again.ok(), "a written plan does not read back", written + std::string(again.status().message()));
  v1::TestPlan filled = *plan;
  FillDefaults(filled);
  Require(google::protobuf::util::MessageDifferencer::Equals(*again, filled), "a plan comes back changed", written);
  Require(WritePlan(*again) == written, "a plan is written in two ways", written);
  for (const PlanProblem& problem : PlanProblems(*plan)) {
    Require(problem.text.find('\n') == std::string::npos, "a problem of several lines", problem.text);
  }
}

}  // namespace
}  // namespace plimsoll

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  plimsoll::TryCriterion(text);
  plimsoll::TryPlan(text);
  return 0;
}
