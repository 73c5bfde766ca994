#include "controller/report/swept_load.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/report/main_operation.h"

namespace plimsoll {
namespace {

template <typename Step>
std::vector<std::string> PartsOf(const Step& step, uint32_t qm, uint32_t read_percent) {
  std::vector<std::string> parts;
  if (step.purpose() != v1::STEP_PURPOSE_UNSPECIFIED) return parts;
  if (step.has_rate_per_second()) {
    const double rate = step.rate_per_second();
    parts.push_back(rate > 0 ? absl::StrCat(FormatTargetRate(rate), " ", AnyOperation(read_percent), "s/s per QM")
                             : "closed loop");
  }
  if (qm > 0) parts.push_back(absl::StrCat(Counted(qm, "QM"), " per host"));
  return parts;
}

}  // namespace

uint64_t ListedSteps(const v1::TestPlan& plan) {
  const auto count = [](int values) { return static_cast<uint64_t>(std::max(values, 1)); };
  const auto sizes =
      static_cast<uint64_t>(plan.has_block_size_mix() || plan.has_group_commit() ? 1 : plan.block_size_bytes_size());
  return sizes * count(plan.sweep().rate_per_second_size()) * count(plan.sweep().qm_size());
}

std::vector<std::string> SweptParts(const v1::LogStep& step) {
  return PartsOf(step, step.qm(), step.read_percent());
}

std::vector<std::string> SweptParts(const v1::StepReport& step, const v1::TestPlan& plan) {
  return PartsOf(step, step.queue_managers(), plan.read_percent());
}

}  // namespace plimsoll
